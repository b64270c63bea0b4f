"""Gives an application a bearer token (decisions.md 8)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from django.conf import settings

from apps.access.callers import ApplicationCaller
from apps.access.credentials import digest, new_secret
from apps.access.models import AccessToken
from apps.access.scopes import spelled
from apps.odata import clock


def issue_token(caller: ApplicationCaller, scope: Iterable[str]) -> str:
    """A token for ``settings.API_TOKEN_SECONDS``; from here on only its hash is known."""
    token = new_secret()
    AccessToken.objects.create(
        hash=digest(token),
        application_id=caller.guid,
        scope=spelled(scope),
        expires_at=clock.now() + dt.timedelta(seconds=settings.API_TOKEN_SECONDS),
    )
    return token
