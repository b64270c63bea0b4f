"""Whose credentials these are, in one question to the database each.

Every API request passes here, so the questions are written out: Django's query builder would take
longer than the database does.
"""

from __future__ import annotations

import re
import uuid
from typing import Any

from django.db import connection

from apps.access.callers import ApplicationCaller
from apps.access.credentials import digest, matches
from apps.access.scopes import words
from apps.odata import clock

_BY_BEARER = """
    SELECT application.guid, application.name, application.scope,
           application.requests_per_minute, application.requests_per_day, token.scope
    FROM access_accesstoken token
    JOIN access_apiapplication application ON application.guid = token.application_id
    WHERE token.hash = %s AND token.expires_at > %s AND application.archive_date IS NULL
"""

_BY_CLIENT_ID = """
    SELECT guid, name, scope, requests_per_minute, requests_per_day, secret_hash,
           CASE WHEN previous_secret_until > %s THEN previous_secret_hash END
    FROM access_apiapplication
    WHERE client_id = %s AND archive_date IS NULL
"""

#: Anything else is no client id, and a NUL among it would be an error to PostgreSQL.
_CLIENT_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def application_of_token(token: str) -> ApplicationCaller | None:
    """The application a bearer token was issued to; None for any text that is no token in force.

    The token is looked up by its hash. How far two hashes agree tells nothing about a token, so the
    comparison in the index need not be in constant time.
    """
    row = _one_row(_BY_BEARER, digest(token), _now())
    if row is None:
        return None
    *of_application, narrowed_to = row
    caller = _caller(*of_application)
    if narrowed_to != row[2]:
        caller.scopes = (*caller.scopes, words(narrowed_to))
    return caller


def application_of_secret(client_id: str, secret: str) -> ApplicationCaller | None:
    """The application with this client id, when that is its secret (or its previous one, in its time)."""
    asked = client_id if _CLIENT_ID.fullmatch(client_id) else ""
    row = _one_row(_BY_CLIENT_ID, _now(), asked)
    *of_application, kept, previous = row or (None,) * 7
    if not matches(secret, kept, previous) or row is None:
        return None
    return _caller(*of_application)


def _caller(
    guid: Any, name: str, scope: str, per_minute: int | None, per_day: int | None
) -> ApplicationCaller:
    # SQLite keeps a guid as text.
    key = guid if isinstance(guid, uuid.UUID) else uuid.UUID(guid)
    return ApplicationCaller(key, name, (words(scope),), per_minute, per_day)


def _one_row(sql: str, *parameters: Any) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchone()


def _now() -> Any:
    return connection.ops.adapt_datetimefield_value(clock.now())
