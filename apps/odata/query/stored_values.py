"""Values that a database returns, as JSON has them; the same from both engines."""

import datetime as dt
import decimal
import json
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.utils import timezone

from apps.odata.query.ast import ValueKind

#: Fractional digits of a quotient, the same on both engines.
QUOTIENT_DIGITS = 12
#: Significant digits of a number without fixed decimal places: the doubles of SQLite have no more.
COMPUTED_DIGITS = 15

#: Computed integers from here on are doubles on SQLite, and shown with as many digits on both engines.
MAX_INTEGER = 2**63
#: Computed numbers from here on are shown as null: doubles end soon behind it.
MAX_NUMBER = Decimal("1e300")

_ENOUGH_DIGITS = decimal.Context(prec=400)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)


def read_value(kind: ValueKind, scale: int | None, stored: Any) -> object:
    """The value of a column or an expression; ``scale`` are the decimal places of a number, if fixed."""
    if stored is None:
        return None
    match kind:
        case ValueKind.DECIMAL | ValueKind.INTEGER if abs(stored) >= MAX_NUMBER:
            return None
        case ValueKind.DECIMAL:
            return read_decimal(stored, scale)
        case ValueKind.INTEGER:
            return int(stored) if abs(stored) < MAX_INTEGER else read_decimal(stored, None)
        case ValueKind.BOOLEAN:
            return bool(stored)
        case ValueKind.GUID:
            return str(UUID(str(stored)))
        case ValueKind.DATETIME:
            return read_datetime(stored)
    return stored if isinstance(stored, str) else stored.isoformat()


def read_datetime(stored: dt.datetime | str | None) -> str | None:
    """A time in the current zone; as in PostgreSQL's JSON, the fraction has no trailing zeros."""
    if stored is None:
        return None
    if isinstance(stored, str):
        stored = dt.datetime.fromisoformat(stored)
    if stored.tzinfo is None:  # SQLite's
        stored = stored.replace(tzinfo=dt.UTC)
    text = timezone.localtime(stored).isoformat()
    if stored.microsecond:
        start, _, fraction = text.partition(".")
        text = f"{start}.{fraction[:6].rstrip('0')}{fraction[6:]}"
    return text


def read_decimal(stored: Decimal | float, scale: int | None) -> Decimal:
    number = stored if isinstance(stored, Decimal) else Decimal(str(stored))
    places = QUOTIENT_DIGITS if scale is None else scale
    number = number.quantize(Decimal(1).scaleb(-places), decimal.ROUND_HALF_UP, _ENOUGH_DIGITS)
    if scale is not None:
        return number
    # As a double on both engines: SQLite's was rounded to one, and rounding twice gives other digits.
    text = format(Decimal(f"{float(number):.{COMPUTED_DIGITS}g}"), "f")
    return Decimal(text.rstrip("0").rstrip(".") if "." in text else text)


def make_etag(modified: dt.datetime) -> str:
    """A weak ETag of the time of the last change, in microseconds; PostgreSQL makes the same one in SQL."""
    return f'W/"{(modified - _EPOCH) // _MICROSECOND:x}"'


# --- functions of SQLite: what PostgreSQL renders in SQL ------------------------------------------------


def value_json(kind: str, scale: int | None, stored: object) -> str | None:
    """The JSON of a computed value."""
    value = read_value(ValueKind[kind], scale, stored)
    return format(value, "f") if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def stored_etag(stored: str) -> str:
    """The ETag of a stored UTC time."""
    return make_etag(dt.datetime.fromisoformat(stored).replace(tzinfo=dt.UTC))
