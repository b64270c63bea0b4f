"""Authentication of staff in the back office: logins, failed attempts, disabled logins."""

import math
from collections.abc import Collection
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import ValidationError
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from apps.access.throttling import client_address
from apps.core.models import Subscriber, normalised
from apps.people.models import Staff

#: Shorter words of an organisation's name are part of too many others.
MAX_IGNORED_WORD = 3  # characters


class StaffBackend(ModelBackend):
    """Staff sign in with their primary email, in any case, while their login is open (decisions.md 6)."""

    def get_user(self, user_id: Any) -> Any:
        """The staff member of a session; none once the login is disabled, so that the session ends."""
        staff = Staff.objects.select_related("role").filter(pk=user_id).first()
        return staff if staff is not None and self.user_can_authenticate(staff) else None


class ContextWordValidator:
    """Refuses passwords made of the service's own words (a setting) and of the organisation's name.

    Such words count for nothing: the rest of the password is as long as a password has to be.
    """

    def __init__(self, words: Collection[str], min_length: int = 12) -> None:
        self.words, self.min_length = words, min_length

    def validate(self, password: str, user: Any = None) -> None:
        remaining = password.casefold()
        words = {*self.words, *Subscriber.current().name.casefold().split()}
        for word in sorted(words, key=len, reverse=True):
            if len(word) > MAX_IGNORED_WORD:
                remaining = remaining.replace(word, "")
        if len(remaining) < len(password) and len(remaining) < self.min_length:
            raise ValidationError(self.get_help_text(), code="password_context_word")

    def get_help_text(self) -> str:
        return (
            "Your password can't be made of words of this service or of the organisation: "
            f"besides them it needs {self.min_length} characters."
        )


# --- failed attempts ----------------------------------------------------------------------------------


def normalised_login(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    """The login that a failed attempt is counted under, the same however it is spelled."""
    login = (credentials or {}).get("username") or request.POST.get(settings.AXES_USERNAME_FORM_FIELD, "")
    return (normalised(login) or "")[:255]


class LoginAttempts(AxesDatabaseHandler):
    """Counts failed attempts by login and address, and those of one address over all logins.

    A login alone is never locked: anybody could then lock out anybody.
    """

    def is_locked(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> bool:
        since = timezone.now() - settings.AXES_COOLOFF_TIME
        recent = AccessAttempt.objects.filter(ip_address=client_address(request), attempt_time__gte=since)
        failures = recent.aggregate(total=Sum("failures_since_start"))["total"] or 0
        if failures >= settings.LOGIN_FAILURE_LIMIT_PER_ADDRESS:
            return True
        return bool(super().is_locked(request, credentials))


def locked_out_response(
    request: HttpRequest, original_response: HttpResponse, credentials: Any, **others: Any
) -> HttpResponse:
    """The answer to attempts beyond the limit; the same whether the login exists or not."""
    seconds = settings.AXES_COOLOFF_TIME.total_seconds()
    response = render(request, "locked_out.html", {"minutes": math.ceil(seconds / 60)}, status=429)
    response["Retry-After"] = str(int(seconds))
    response["Cache-Control"] = "no-store"
    return response
