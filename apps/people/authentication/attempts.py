"""Failed attempts to sign in: what is counted together, and what is refused.

Three limits, each for ``AXES_COOLOFF_TIME``: failures of one login from one address, failures of one device
that has signed in before, failures of one address over all logins. A login alone is never locked: anybody
could then lock out anybody. An address is shared by an office, so its limit does not hold for devices and
logins that have signed in from there before: one colleague's failures lock nobody else out.
"""

import datetime as dt
import math
import secrets
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt, AccessLog
from django.conf import settings
from django.core import signing
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from apps.access.throttling import counted_address
from apps.core.models import normalised

#: How long the signed cookie says that a login has signed in on this device (OWASP: "device cookies").
DEVICE_AGE = dt.timedelta(days=180)
DEVICE_SALT = "people.device"
#: How long a login is known at an address from which it has signed in.
KNOWN_ADDRESS_AGE = dt.timedelta(days=90)
#: The longest span of django-allauth's own limits, which do not say when they end.
LIMIT_SECONDS = 300
MAX_LOGIN = 255  # the column of django-axes


def given_login(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    """The login of an attempt, however it is spelled."""
    login = (credentials or {}).get("username") or request.POST.get(settings.AXES_USERNAME_FORM_FIELD, "")
    return normalised(login) or ""


def counted_login(request: HttpRequest, credentials: dict[str, object] | None) -> str:
    """The name that an attempt is counted under: the login, with the device where it has signed in before."""
    login = given_login(request, credentials)
    device = known_device(request, login)
    return f"{login} {device}"[:MAX_LOGIN] if device else login[:MAX_LOGIN]


def known_device(request: HttpRequest, login: str) -> str | None:
    """The number of the device, when this login has signed in on it before."""
    try:
        signed = signing.loads(
            request.COOKIES.get(settings.DEVICE_COOKIE_NAME, ""), salt=DEVICE_SALT, max_age=DEVICE_AGE
        )
        device: str = signed[login]
    except (signing.BadSignature, KeyError, TypeError):
        return None
    return device


def remember_device(request: HttpRequest, response: HttpResponse, login: str) -> None:
    """Set the cookie of a device on which somebody has just signed in."""
    response.set_cookie(
        settings.DEVICE_COOKIE_NAME,
        signing.dumps({login: known_device(request, login) or secrets.token_hex(8)}, salt=DEVICE_SALT),
        max_age=DEVICE_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


class LoginAttempts(AxesDatabaseHandler):
    """django-axes' counts by login and address, with a limit of an address over all logins."""

    def is_locked(self, request: HttpRequest, credentials: dict[str, object] | None = None) -> bool:
        login = given_login(request, credentials)
        if is_address_locked(request) and not known_device(request, login):
            since = timezone.now() - KNOWN_ADDRESS_AGE
            sign_ins = AccessLog.objects.filter(
                ip_address=counted_address(request), attempt_time__gte=since, username__iexact=login
            )
            if not sign_ins.exists():
                return True
        return bool(super().is_locked(request, credentials))


def is_address_locked(request: HttpRequest) -> bool:
    since = timezone.now() - settings.AXES_COOLOFF_TIME
    recent = AccessAttempt.objects.filter(ip_address=counted_address(request), attempt_time__gte=since)
    failures = recent.aggregate(total=Sum("failures_since_start"))["total"] or 0
    return failures >= settings.LOGIN_FAILURE_LIMIT_PER_ADDRESS


def locked_out_response(
    request: HttpRequest, original_response: HttpResponse, credentials: object, **others: object
) -> HttpResponse:
    """The answer to attempts beyond the limit; the same whether the login exists or not."""
    return wait_response(request, "locked_out.html", int(settings.AXES_COOLOFF_TIME.total_seconds()))


def too_many_response(request: HttpRequest, seconds: int = LIMIT_SECONDS) -> HttpResponse:
    """The answer to too many codes, passkeys, repeated passwords or mails; django-allauth's 429 too."""
    return wait_response(request, "429.html", seconds)


def wait_response(request: HttpRequest, template: str, seconds: int) -> HttpResponse:
    response = render(request, template, {"minutes": math.ceil(seconds / 60)}, status=429)
    response["Retry-After"] = str(seconds)
    response["Cache-Control"] = "no-store"
    return response
