"""Parsers of values in requests, in all formats of decisions.md 2.

The message of every ``TextValueError`` continues the name of the value: "must be a date, such as 2026-07-01".
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.utils import timezone

from apps.odata.declaration.edm import INTEGER_RANGES
from apps.odata.declaration.schema import StructuralProperty

#: The most digits, and the greatest exponent, of a number; no column holds more.
MAX_DIGITS = 60


class TextValueError(ValueError):
    """A text that is no value of its type: a stable code, and what is wrong with it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


_GUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(\.[0-9]{1,12})?"
    r"([Zz]|[-+][0-9]{2}:[0-9]{2})?"
)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE]([-+]?[0-9]{1,4}))?")
_INTEGER = re.compile(r"-?[0-9]+")


def parse_guid(text: str) -> UUID:
    """Hexadecimal digits of any case with their four hyphens; no braces, no ``urn:``."""
    if not _GUID.fullmatch(text):
        raise TextValueError("InvalidGuid", "must be a guid, such as 0190163d-8694-739b-aea5-966c26f8ad91")
    return UUID(text)


def parse_date(text: str) -> dt.date:
    """A date. Of a date-time it is the date in the subscriber's zone; without an offset it is local time."""
    if _DATE.fullmatch(text):
        try:
            return dt.date.fromisoformat(text)
        except ValueError:
            raise _no_such_day() from None
    moment = _date_time(text, "must be a date, such as 2026-07-01")
    # A clock change skips an hour, never a day: whether the hour exists does not matter here.
    return moment.date() if moment.tzinfo is None else _in_zone(moment).date()


def parse_datetime(text: str) -> dt.datetime:
    """A time in UTC. Without an offset the text is local time, without a time it is midnight.

    It refuses a local time that a clock change skips; one that it repeats is the first of the two.
    """
    if _DATE.fullmatch(text):
        text += "T00:00:00"
    moment = _date_time(text, "must be a date and time, such as 2026-07-01T09:30:00+10:00")
    if moment.tzinfo is not None:
        _in_zone(moment)  # refused when the subscriber's zone cannot show it
        return moment.astimezone(dt.UTC)
    zone = timezone.get_current_timezone()
    try:
        in_utc = moment.replace(tzinfo=zone).astimezone(dt.UTC)
    except OverflowError:
        raise _too_far() from None
    if _in_zone(in_utc).replace(tzinfo=None) != moment:
        message = f"names a local time that does not exist: the clocks of {zone} skip it; give an offset"
        raise TextValueError("InvalidDate", message)
    return in_utc


def parse_decimal(text: str, precision: int | None = None, scale: int | None = None) -> Decimal:
    """An exact number; the code is ``OutOfRange`` for more digits than ``precision`` and ``scale`` allow.

    With a ``scale`` the result has exactly that many decimal places.
    """
    match = _NUMBER.fullmatch(text)
    if not match:
        raise TextValueError("InvalidNumber", "must be a number, such as 12.50")
    if len(text) > MAX_DIGITS or abs(int(match[1] or 0)) > MAX_DIGITS:
        raise TextValueError("OutOfRange", "has too many digits")
    number = Decimal(text)
    if scale is not None:
        sign, digits, exponent = number.as_tuple()
        surplus = -scale - int(exponent)  # a number: NaN and infinity have another form
        if surplus > 0 and any(digits[-surplus:]):
            raise TextValueError("OutOfRange", f"must have at most {scale} decimal places")
        digits = digits[:-surplus] or (0,) if surplus > 0 else digits + (0,) * -surplus
        number = Decimal((sign, digits, -scale))
        if precision is not None and number.adjusted() >= precision - scale:
            message = f"must have at most {precision - scale} digits before the decimal point"
            raise TextValueError("OutOfRange", message)
    return number if number else number.copy_abs()  # minus zero is zero


def parse_integer(text: str, edm: str = "Edm.Int64") -> int:
    """A whole number that the type ``edm`` can hold."""
    if not _INTEGER.fullmatch(text):
        raise TextValueError("InvalidNumber", "must be a whole number, such as 12")
    least, greatest = INTEGER_RANGES[edm]
    if len(text) > MAX_DIGITS or not least <= int(text) <= greatest:
        raise TextValueError("OutOfRange", f"must lie between {least:,} and {greatest:,}")
    return int(text)


def parse_boolean(text: str) -> bool:
    """``true`` or ``false`` in lower case."""
    if text not in ("true", "false"):
        raise TextValueError("", "must be true or false")
    return text == "true"


def parse_choice(text: str, choices: Sequence[str], numbers: Mapping[int, str]) -> str:
    """The name of an enumeration member from its exact name or its number."""
    if text in choices:
        return text
    if _INTEGER.fullmatch(text) and len(text) <= MAX_DIGITS and int(text) in numbers:
        return numbers[int(text)]
    raise TextValueError("NotAChoice", f"must be one of {', '.join(choices)}")


def parse_value(text: str, prop: StructuralProperty) -> Any:
    """A value to compare a property with; numbers may have more digits than the property's column."""
    if prop.choices:
        return parse_choice(text, prop.choices, prop.numbers)
    if prop.edm.name in INTEGER_RANGES:
        return parse_integer(text, prop.edm.name)
    return _PARSERS[prop.edm.name](text)


_PARSERS: dict[str, Callable[[str], Any]] = {
    "Edm.Guid": parse_guid,
    "Edm.Date": parse_date,
    "Edm.DateTimeOffset": parse_datetime,
    "Edm.Decimal": parse_decimal,
    "Edm.Boolean": parse_boolean,
    "Edm.String": str,
}


def _date_time(text: str, message: str) -> dt.datetime:
    """A date and time in microseconds, naive without an offset."""
    match = _DATE_TIME.fullmatch(text)
    if not match:
        raise TextValueError("InvalidDate", message)
    day, time, fraction, offset = match.groups()
    if len(time) == 5:
        time += ":00"
    spelled = f"{day}T{time}{(fraction or '')[:7]}{(offset or '').upper()}"
    try:
        return dt.datetime.fromisoformat(spelled)
    except ValueError:
        raise _no_such_day() from None


def _no_such_day() -> TextValueError:
    return TextValueError("InvalidDate", "names a day or a time that does not exist")


def _in_zone(moment: dt.datetime) -> dt.datetime:
    try:
        return moment.astimezone(dt.UTC).astimezone(timezone.get_current_timezone())
    except OverflowError:
        raise _too_far() from None


def _too_far() -> TextValueError:
    return TextValueError("OutOfRange", "must lie between the years 1 and 9999")
