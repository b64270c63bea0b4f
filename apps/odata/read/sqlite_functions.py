"""What PostgreSQL brings and SQLite is taught: times in the reader's zone, Unicode-wide text functions."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.utils import timezone

from apps.odata.query import functions


def prepare(sender: Any, connection: Any, **_: Any) -> None:
    """Receiver of Django's ``connection_created``."""
    if connection.vendor != "sqlite":
        return
    functions.register(connection)
    connection.connection.create_function("odata_datetime", 1, odata_datetime, deterministic=False)


def odata_datetime(stored: str | None) -> str | None:
    """A stored UTC time as the JSON text of an Edm.DateTimeOffset in the current zone.

    The fraction is shown only when not zero and without trailing zeros, as PostgreSQL writes it.
    """
    if stored is None:
        return None
    moment = dt.datetime.fromisoformat(stored).replace(tzinfo=dt.UTC)
    text = timezone.localtime(moment).isoformat()
    if moment.microsecond:
        whole, _, rest = text.partition(".")
        text = f"{whole}.{rest[:6].rstrip('0')}{rest[6:]}"
    return f'"{text}"'
