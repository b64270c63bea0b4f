"""Signing in to the back office: who is let in, how guesses are counted, and closing a login."""

from __future__ import annotations

import contextlib
import ipaddress
import math
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.backends import BaseBackend
from django.db import transaction
from django.db.models import Q, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from apps.core.identifiers import normalised
from apps.odata import clock
from apps.people.models import Staff


class StaffBackend(BaseBackend):
    """Staff sign in with their primary email, in any case, while their login is open (decisions.md 6)."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **others: Any,
    ) -> Staff | None:
        if username is None or password is None:
            return None
        person = Staff.objects.select_related("role").filter(primary_email_key=normalised(username)).first()
        if person is None:
            # As slow as for somebody we know: how long an answer takes must not tell who works here.
            Staff().set_password(password)
            return None
        if not person.check_password(password) or not person.is_active:
            return None
        return person

    def get_user(self, user_id: Any) -> Staff | None:
        """Whoever's session it is; nobody once their login is closed, so that the session ends with it."""
        person = Staff.objects.select_related("role").filter(pk=user_id).first()
        return person if person is not None and person.is_active else None

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        return bool(user_obj.has_perm(perm, obj))


# --- guesses ------------------------------------------------------------------------------------------


def counted_name(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    """The login that a failure is counted under: one, however somebody spells it."""
    given = (credentials or {}).get("username") or request.POST.get(settings.AXES_USERNAME_FORM_FIELD, "")
    return (normalised(given) or "")[:255]


def caller_address(request: HttpRequest) -> str | None:
    """The address of whoever calls; behind a proxy that is trusted, the one that the proxy saw."""
    forwarded = request.headers.get("X-Forwarded-For", "") if settings.TRUST_PROXY else ""
    for text in (forwarded.rpartition(",")[2].strip(), request.META.get("REMOTE_ADDR", "")):
        with contextlib.suppress(ValueError):
            return str(ipaddress.ip_address(text))
    return None


class LoginGuard(AxesDatabaseHandler):
    """Counts guesses by login and address, and those of one address over all logins.

    A login alone is never locked: anybody could then lock out anybody.
    """

    def is_locked(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> bool:
        guesses = self._guesses_from(caller_address(request))
        over = guesses >= settings.LOGIN_FAILURE_LIMIT_PER_ADDRESS
        return over or bool(super().is_locked(request, credentials))

    def _guesses_from(self, address: str | None) -> int:
        since = timezone.now() - settings.AXES_COOLOFF_TIME
        recent = AccessAttempt.objects.filter(ip_address=address, attempt_time__gte=since)
        return recent.aggregate(total=Sum("failures_since_start"))["total"] or 0


def locked_out(request: HttpRequest, response: HttpResponse, credentials: Any, **others: Any) -> HttpResponse:
    """The answer to guesses beyond the limit; the same whether the login exists or not."""
    seconds = settings.AXES_COOLOFF_TIME.total_seconds()
    refused = render(request, "locked_out.html", {"minutes": math.ceil(seconds / 60)}, status=429)
    refused["Retry-After"] = str(int(seconds))
    refused["Cache-Control"] = "no-store"
    return refused


# --- open and closed logins ---------------------------------------------------------------------------


@transaction.atomic
def close_logins(staff: QuerySet[Staff]) -> int:
    """Refuse these people from now on, and end their sessions; how many were still let in."""
    now = clock.now()
    still_open = Q(disable_login_date=None) | Q(disable_login_date__gt=now)
    return _set_logins(staff.filter(still_open), now)


@transaction.atomic
def open_logins(staff: QuerySet[Staff]) -> int:
    """Let these people in again; how many were refused, now or from a later day."""
    return _set_logins(staff.exclude(disable_login_date=None), None)


def _set_logins(staff: QuerySet[Staff], moment: Any) -> int:
    found = list(staff.order_by("pk").select_for_update(of=("self",)))
    for person in found:
        person.disable_login_date = moment
        person.save(update_fields=["disable_login_date"])
    return len(found)


def may_do_all_of(person: Any, other: Staff) -> bool:
    """Whether a person's own role covers all that another's allows.

    Nobody sets the password, the login or the role of somebody who may do more than they: that would be
    a way to all of it.
    """
    if person.is_superuser:
        return True
    return not other.role.all_permissions and other.granted <= person.granted
