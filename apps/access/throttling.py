"""Holds every authenticated request against its caller's limits (decisions.md 8)."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from apps.access.callers import ApplicationCaller
from apps.access.metering import METER, LimitReached, not_in_line_behind_writers
from apps.access.models import ApiApplication
from apps.odata.errors import Forbidden, ODataError, TooManyRequests, plural


class ApplicationThrottle(BaseThrottle):
    """429 above the caller's requests per minute, 403 above its quota, both with Retry-After."""

    def allow_request(self, request: Request, view: Any) -> bool:
        # Without credentials the answer is 401 anyway.
        if request.auth is not None:
            spend_permit(request.auth)
        return True


def spend_permit(caller: Any) -> None:
    """Count one request of the caller, or refuse it; keeps when the application was last used."""
    try:
        first_of_minute = METER.spend(caller.identity, caller.limits)
    except LimitReached as reached:
        raise refused(caller, reached) from None
    if first_of_minute and isinstance(caller, ApplicationCaller):
        with not_in_line_behind_writers():
            ApiApplication.objects.filter(pk=caller.guid).update(last_used_at=timezone.now())


def refused(caller: Any, reached: LimitReached) -> ODataError:
    headers = {"Retry-After": str(reached.retry_after)}
    wait = f"Try again in {plural(reached.retry_after, 'second')}."
    if reached.of_day:
        quota = plural(caller.limits.per_day, "request")
        return Forbidden(
            f"The quota of {quota} in 24 hours is used up. {wait}", code="QuotaExceeded", headers=headers
        )
    rate = plural(caller.limits.per_minute, "request")
    return TooManyRequests(f"The limit is {rate} a minute. {wait}", headers=headers)
