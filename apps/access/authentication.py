"""Authentication of API callers, and their permission to use a resource.

A caller has a bearer token, a client id and secret, or a back-office session. Every request of the API
passes here, so the two queries are written out: Django's query builder would take longer than the database.
"""

import base64
import binascii
import re
import uuid
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import DEFAULT_DB_ALIAS, connection, connections
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from apps.access.callers import (
    READ,
    WRITE,
    ApplicationCaller,
    Limits,
    StaffCaller,
    hash_secret,
    secret_matches,
    split_scope,
)
from apps.access.models import ApiApplication
from apps.access.throttling import count_failure
from apps.base import clock
from apps.base.batched_queries import SqlStatement, fetch_all
from apps.base.errors import Forbidden, Unauthenticated
from apps.core import history

#: The schemes that are accepted, named with every 401 (RFC 9110, 11.6.1).
CHALLENGES = 'Bearer realm="api", Basic realm="api", charset="UTF-8"'

#: Applications are no users: nothing that checks a user's permissions may find any.
NO_USER = AnonymousUser()

_BY_BEARER = """
    SELECT application.guid, application.name, application.scope,
           application.requests_per_minute, application.requests_per_day, application.sees_everybody,
           token.scope
    FROM access_accesstoken token
    JOIN access_apiapplication application ON application.guid = token.application_id
    WHERE token.hash = %s AND token.expires_at > %s AND application.archive_date IS NULL
"""

_BY_CLIENT_ID = """
    SELECT guid, name, scope, requests_per_minute, requests_per_day, sees_everybody, secret_hash,
           CASE WHEN previous_secret_until > %s THEN previous_secret_hash END
    FROM access_apiapplication
    WHERE client_id = %s AND archive_date IS NULL
"""

#: Anything else is no client id, and a NUL among it would be an error to PostgreSQL.
_CLIENT_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ApiAuthentication(BaseAuthentication):
    """The base of the authentication classes: one answer to everything that is not valid."""

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGES

    def accept(self, request: Request, caller: ApplicationCaller | None) -> tuple[object, ApplicationCaller]:
        """Let the application be the author of what is written; refuse when there is none.

        The refusal is the same whatever was wrong, so that it reveals nothing about what would be right.
        """
        if caller is None:
            raise Unauthenticated(
                "These credentials are not valid, or no longer.",
                headers={"WWW-Authenticate": CHALLENGES},
            )
        request_id = getattr(request._request, "request_id", None)
        history.set_author(history.Author("API", application=caller.name, request_id=request_id))
        # The server shares its threads among applications, whatever token each uses (records_site.server).
        request.META["access.application"] = str(caller.guid)
        return NO_USER, caller


class BearerAuthentication(ApiAuthentication):
    """``Authorization: Bearer`` and a token from ``/connect/token`` (RFC 6750)."""

    def authenticate(self, request: Request) -> tuple[object, ApplicationCaller] | None:
        token = authorization(request, "bearer")
        return None if token is None else self.accept(request, find_application_by_token(token))


class BasicAuthentication(ApiAuthentication):
    """Client id and secret with every request, for programs that can do nothing else: reading only."""

    def authenticate(self, request: Request) -> tuple[object, ApplicationCaller] | None:
        credentials = authorization(request, "basic")
        if credentials is None:
            return None
        client_id, secret = split_basic_credentials(credentials)
        caller = find_application_by_secret(client_id, secret)
        if caller is None:
            count_failure(client_id, request._request)
        else:
            caller.has_token = False
        return self.accept(request, caller)


class StaffSessionAuthentication(ApiAuthentication):
    """A member of staff signed in to the back office, for the documentation and a look at a record."""

    def authenticate(self, request: Request) -> tuple[object, StaffCaller] | None:
        staff = getattr(request._request, "user", None)
        if "HTTP_AUTHORIZATION" in request.META or staff is None or not staff.is_authenticated:
            return None
        if not staff.is_active:
            return None
        # So that no other site can make a browser write.
        if request.method not in SAFE_METHODS:
            raise Forbidden("A back-office session may only read here. To write, use an API application.")
        request_id = getattr(request._request, "request_id", None)
        history.set_author(history.Author("API", staff_id=staff.pk, request_id=request_id))
        return staff, StaffCaller(staff)


class ResourcePermission(BasePermission):
    """Scopes of API applications, permissions of staff.

    401 without credentials, 403 without the permission.
    """

    def has_permission(self, request: Any, view: object) -> bool:
        caller = request.auth
        if caller is None:
            raise Unauthenticated(
                "The request has no credentials: send Authorization: Bearer and a token from /connect/token.",
                headers={"WWW-Authenticate": CHALLENGES},
            )
        entity_set = getattr(view, "entity_set", None)
        if entity_set is None:
            return True
        is_read = request.method in SAFE_METHODS or getattr(view, "action", None) == "query"
        right = getattr(view, "right", "") or (READ if is_read else WRITE)
        if not caller.may(right, entity_set):
            raise Forbidden(caller.refusal(right, entity_set.name))
        return True


def authorization(request: Request, scheme: str) -> str | None:
    """The credentials in the Authorization header; None when another scheme is used."""
    name, _, credentials = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    return credentials.strip() if name.lower() == scheme else None


def split_basic_credentials(credentials: str) -> tuple[str, str]:
    """Client id and secret of Basic credentials (RFC 7617); two empty texts when they cannot be read."""
    try:
        text = base64.b64decode(credentials, validate=True).decode()
    except (binascii.Error, ValueError):
        return "", ""
    client_id, _, secret = text.partition(":")
    return client_id, secret


def find_application_by_token(token: str) -> ApplicationCaller | None:
    """The application a bearer token was issued to; None for any text that is no valid token.

    The token is looked up by its hash. How far two hashes agree reveals nothing about a token, so the
    comparison in the index need not be in constant time.
    """
    digest = hash_secret(token)
    database: Any = connections[DEFAULT_DB_ALIAS]  # looked up once: ``connection`` does so for each attribute
    # As a text: for psycopg, to adapt a time is more work than all else of this statement.
    now = str(database.ops.adapt_datetimefield_value(clock.now()))
    [rows] = fetch_all([SqlStatement(_BY_BEARER, [digest, now], label="find token")])
    return caller_from_row(*rows[0]) if rows else None


def find_application_by_secret(client_id: str, secret: str) -> ApplicationCaller | None:
    """The application with this client id, when that is its secret (or its previous one, in its time)."""
    with connection.cursor() as cursor:
        now = connection.ops.adapt_datetimefield_value(clock.now())
        cursor.execute(_BY_CLIENT_ID, [now, client_id if _CLIENT_ID.fullmatch(client_id) else ""])
        row = cursor.fetchone()
    *application, secret_hash, previous_hash = row or (None, None)
    # Checked for an unknown client as well, so that it takes as long as a wrong secret.
    if not secret_matches(secret, secret_hash, previous_hash) or row is None:
        return None
    return caller_from_row(*application)


def caller_from_row(
    guid: Any,
    name: str,
    scope: str,
    per_minute: int | None,
    per_day: int | None,
    sees_everybody: bool,
    token_scope: str | None = None,
) -> ApplicationCaller:
    scopes = (scope,) if token_scope is None or token_scope == scope else (scope, token_scope)
    limits = Limits(
        settings.API_REQUESTS_PER_MINUTE if per_minute is None else per_minute,
        settings.API_REQUESTS_PER_DAY if per_day is None else per_day,
    )
    # SQLite stores a guid as text.
    key = guid if isinstance(guid, uuid.UUID) else uuid.UUID(guid)
    sees = None if sees_everybody else ApiApplication(guid=key, sees_everybody=False).caseload
    return ApplicationCaller(key, name, tuple(map(split_scope, scopes)), limits, sees=sees)
