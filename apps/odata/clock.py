"""The zone a request speaks, and its one reading of the clock."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from zoneinfo import ZoneInfo

from django.utils import timezone

_NOW: ContextVar[dt.datetime | None] = ContextVar("odata_now", default=None)
#: The moment that a caller has set; it stands until the caller's block ends.
_SET: ContextVar[dt.datetime | None] = ContextVar("odata_set_now", default=None)


def speak_in(zone: ZoneInfo) -> None:
    """Let every time of this request be told and read in ``zone``; starts a new reading of the clock."""
    timezone.activate(zone)
    _NOW.set(None)


def now() -> dt.datetime:
    """The time of this request: the same at every call, so that rules cannot disagree at midnight."""
    moment = _SET.get() or _NOW.get()
    if moment is None:
        moment = timezone.now()
        _NOW.set(moment)
    return moment


def forget_now() -> None:
    """Read the clock anew at the next ``now()``: at the start of a request, command or batch."""
    _NOW.set(None)


@contextmanager
def set_to(moment: dt.datetime) -> Iterator[None]:
    """Within the block it is that moment: demo data is made on days of the past."""
    token = _SET.set(moment)
    try:
        yield
    finally:
        _SET.reset(token)


def today() -> dt.date:
    """The calendar day of ``now()`` in the zone of this request."""
    return timezone.localtime(now()).date()


def let_database_speak_in_zone(connection: Any) -> None:
    """Make PostgreSQL tell times in the current zone, at no cost when it already does.

    Django reads times as being in the zone it believes the session to have, so the wrapper is told first
    and sets the session itself. The server reports its TimeZone, so that is only asked for when it differs.
    """
    if connection.vendor != "postgresql":
        return
    connection.ensure_connection()
    zone = str(timezone.get_current_timezone())  # its name; Django tells a fixed offset by its sign and hours
    spoken = connection.connection.info.parameter_status("TimeZone")  # a rolled back change is undone there
    if spoken == zone == connection.timezone_name:
        return
    connection.settings_dict["TIME_ZONE"] = zone
    for cached in ("timezone", "timezone_name"):
        connection.__dict__.pop(cached, None)
    connection.ensure_timezone()
