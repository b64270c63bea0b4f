"""Authentication of staff in the back office: logins, failed attempts, disabled logins."""

import math
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from apps.access.throttling import client_address
from apps.core.models import normalised
from apps.people.models import Staff


class StaffBackend(ModelBackend):
    """Staff sign in with their primary email, in any case, while their login is open (decisions.md 6)."""

    def get_user(self, user_id: Any) -> Any:
        """The staff member of a session; none once the login is disabled, so that the session ends."""
        staff = Staff.objects.select_related("role").filter(pk=user_id).first()
        return staff if staff is not None and self.user_can_authenticate(staff) else None


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
