"""Tells who calls the API: by bearer token, by client id and secret, or by a back-office session."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from django.contrib.auth.models import AnonymousUser
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from apps.access.callers import ApplicationCaller, StaffCaller
from apps.access.recognising import application_of_secret, application_of_token
from apps.core import history
from apps.odata.errors import Forbidden, Unauthenticated

#: How one can present oneself, told with every 401 (RFC 9110, 11.6.1).
CHALLENGES = 'Bearer realm="api", Basic realm="api", charset="UTF-8"'

#: Applications are no users: nothing that asks for a user's rights may find any.
NOBODY = AnonymousUser()


class BearerAuthentication(BaseAuthentication):
    """``Authorization: Bearer`` and a token from ``/connect/token`` (RFC 6750)."""

    def authenticate(self, request: Request) -> tuple[Any, ApplicationCaller] | None:
        token = credentials(request, "bearer")
        if token is None:
            return None
        caller = application_of_token(token)
        if caller is None:
            raise not_recognised()
        write_as(caller, request)
        return NOBODY, caller

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGES


class BasicAuthentication(BaseAuthentication):
    """Client id and secret with every request, for programs that can do nothing else: reading only."""

    def authenticate(self, request: Request) -> tuple[Any, ApplicationCaller] | None:
        given = credentials(request, "basic")
        if given is None:
            return None
        caller = application_of_secret(*client_and_secret(given))
        if caller is None:
            raise not_recognised()
        caller.by_token = False
        write_as(caller, request)
        return NOBODY, caller

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGES


class StaffSessionAuthentication(BaseAuthentication):
    """A member of staff signed in to the back office, for the documentation and a look at a record."""

    def authenticate(self, request: Request) -> tuple[Any, StaffCaller] | None:
        staff = getattr(request._request, "user", None)
        if "HTTP_AUTHORIZATION" in request.META or staff is None or not staff.is_authenticated:
            return None
        if not staff.is_active:
            return None
        # So that no other site can make a browser write.
        if request.method not in SAFE_METHODS:
            raise Forbidden("A back-office session may only read here. To write, use an API application.")
        caller = StaffCaller(staff)
        history.set_author(history.Author("API", staff_id=staff.pk, request_id=request_id(request)))
        return staff, caller

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGES


def credentials(request: Request, scheme: str) -> str | None:
    """What stands behind the scheme's name in Authorization; None when another scheme is used."""
    given, _, rest = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    return rest.strip() if given.lower() == scheme else None


def client_and_secret(given: str) -> tuple[str, str]:
    """The two halves of Basic credentials (RFC 7617); two empty ones when it cannot be read."""
    try:
        text = base64.b64decode(given, validate=True).decode()
    except (binascii.Error, ValueError):
        return "", ""
    client_id, _, secret = text.partition(":")
    return client_id, secret


def not_recognised() -> Unauthenticated:
    """The one answer to everything that does not hold, so that it tells nothing about what does."""
    return Unauthenticated(
        "These credentials are not valid, or no longer.",
        headers={"WWW-Authenticate": CHALLENGES},
    )


def write_as(caller: ApplicationCaller, request: Request) -> None:
    """From here on this application is the author of what is written."""
    history.set_author(history.Author("API", application=caller.name, request_id=request_id(request)))


def request_id(request: Request) -> str | None:
    return getattr(request._request, "request_id", None)
