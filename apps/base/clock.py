"""The time of a request: its zone, its one value of the current time, and how long it may take."""

import calendar
import datetime as dt
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

_NOW: ContextVar[dt.datetime | None] = ContextVar("odata_now", default=None)
#: The moment that a caller has set; it stands until the caller's block ends.
_SET: ContextVar[dt.datetime | None] = ContextVar("odata_set_now", default=None)
_DEADLINE: ContextVar[float] = ContextVar("odata_deadline", default=float("inf"))


def activate_zone(zone: str) -> None:
    """Use the zone of that name for every time of this request, and read the clock anew at ``now()``."""
    timezone.activate(zone)
    _NOW.set(None)


def now() -> dt.datetime:
    """The time of this request: the same at every call, so that rules cannot disagree at midnight."""
    moment = _SET.get() or _NOW.get()
    if moment is None:
        moment = timezone.now()
        _NOW.set(moment)
    return moment


def reset_now() -> None:
    """Read the clock again at the next ``now()``: at the start of a request, command or batch."""
    _NOW.set(None)


@contextmanager
def set_to(moment: dt.datetime) -> Iterator[None]:
    """Within the block it is that moment: demo data is made on days of the past."""
    token = _SET.set(moment)
    try:
        yield
    finally:
        _SET.reset(token)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Within the block, statements on SQLite end after so many seconds; 0 is no limit."""
    token = _DEADLINE.set(time.monotonic() + seconds if seconds else float("inf"))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def is_time_over() -> bool:
    """True when the time of this request is over."""
    return time.monotonic() > _DEADLINE.get()


def today() -> dt.date:
    """The calendar day of ``now()`` in the zone of this request."""
    return now().astimezone(timezone.get_current_timezone()).date()


def years_after(day: dt.date, years: int) -> dt.date:
    """The same day so many years later, or earlier below zero; 1 March for a 29 February.

    Beyond the calendar it is the calendar's end.
    """
    year = day.year + years
    if not dt.MINYEAR <= year <= dt.MAXYEAR:
        return dt.date.min if years < 0 else dt.date.max
    try:
        return day.replace(year=year)
    except ValueError:
        return dt.date(year, 3, 1)


def months_after(day: dt.date, months: int) -> dt.date:
    """The same day so many months later, or earlier below zero; the last one of a month that is too short.

    ``OverflowError`` beyond the calendar.
    """
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not dt.MINYEAR <= year <= dt.MAXYEAR:
        raise OverflowError(f"{months} months after {day} lies beyond the calendar")
    return dt.date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def month_end(day: dt.date) -> dt.date:
    """The last day of the month of a day."""
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def start_of_day(day: dt.date) -> dt.datetime:
    """Midnight of a day in the zone of this request, or the nearest moment that the calendar has."""
    return in_utc(dt.datetime.combine(day, dt.time.min), timezone.get_current_timezone())


def in_utc(value: dt.datetime, zone: dt.tzinfo) -> dt.datetime:
    """A time of ``zone`` in UTC, or the nearest one that the calendar has."""
    try:
        return value.replace(tzinfo=zone).astimezone(dt.UTC)
    except OverflowError:
        return (dt.datetime.min if value.year == 1 else dt.datetime.max).replace(tzinfo=dt.UTC)


def ends_of_time(zone: dt.tzinfo) -> tuple[dt.datetime, dt.datetime]:
    """The first and the last moment that has a date in a zone and in UTC."""
    return in_utc(dt.datetime.min, zone), in_utc(dt.datetime.max, zone)


def set_database_zone(connection: BaseDatabaseWrapper) -> None:
    """Set the time zone of PostgreSQL's session to the current zone, at no cost when it has it already.

    Django reads times in the zone that the connection's settings name, so those change first and Django sets
    the session itself. The server reports its TimeZone, so a statement is sent only when it differs.
    """
    if connection.vendor != "postgresql":
        return
    if connection.connection is None:
        connection.ensure_connection()
    zone = str(timezone.get_current_timezone())  # its name; Django names a fixed offset by its sign and hours
    # By libpq, since psycopg makes its ``info`` anew each time. A change that is rolled back is undone there.
    reported = connection.connection.pgconn.parameter_status(b"TimeZone")
    if reported == zone.encode() and zone == connection.timezone_name:
        return
    connection.settings_dict["TIME_ZONE"] = zone
    for cached in ("timezone", "timezone_name"):  # as Django's own receiver of setting_changed does
        with suppress(AttributeError):
            delattr(connection, cached)
    connection.ensure_timezone()
