"""SQL functions that PostgreSQL has and SQLite does not: decimals, Unicode case mapping, times in a zone."""

import datetime as dt
import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from zoneinfo import ZoneInfo

from django.db.backends.base.base import BaseDatabaseWrapper

from apps.odata.query.stored_values import QUOTIENT_DIGITS, read_datetime, stored_etag, value_json

#: A length that no text reaches.
MAX_TEXT_LENGTH = 2**30


def register_functions(sender: object, connection: BaseDatabaseWrapper, **_: object) -> None:
    """Receiver of Django's ``connection_created``."""
    if connection.vendor != "sqlite":
        return
    driver = connection.connection
    for arguments, functions in _FUNCTIONS.items():
        for name, function in functions.items():
            driver.create_function(name, arguments, function, deterministic=True)
    driver.create_window_function("odata_sum", 1, DecimalSum)
    driver.create_function("odata_datetime", 1, read_datetime, deterministic=False)
    driver.create_function("odata_json", 3, value_json, deterministic=False)
    driver.create_function("odata_etag", 1, stored_etag, deterministic=True)


def part_in_zone(part: str, stored: str | None, zone: str) -> int | str | None:
    """A part of a stored UTC time in the local time of ``zone``; null outside the calendar."""
    if stored is None:
        return None
    try:
        local = dt.datetime.fromisoformat(stored).replace(tzinfo=dt.UTC).astimezone(ZoneInfo(zone))
    except OverflowError:
        return None
    if part in ("date", "time"):
        return str(getattr(local, part)())
    if part == "offset":
        return offset_minutes(local)
    number: int = getattr(local, part)
    return number


def offset_minutes(moment: dt.datetime) -> int:
    """How many minutes a local time is ahead of UTC."""
    return (moment.utcoffset() or dt.timedelta()) // dt.timedelta(minutes=1)


def fraction_of_second(stored: str | None) -> float | None:
    """The fraction of the second of a stored time, or date and time."""
    return None if stored is None else int(stored.partition(".")[2].ljust(6, "0")) / 1_000_000


def moved(stored: str | None, seconds: float | None, least: str, most: str) -> str | None:
    """See ``functions.MOVED``."""
    if stored is None or seconds is None:
        return None
    length = int((Decimal(str(seconds)) * 10**6).to_integral_value())  # in microseconds
    try:
        if len(stored) == len("2026-07-01"):
            end = str(dt.date.fromisoformat(stored) + dt.timedelta(length // _DAY))
        else:
            end = str(dt.datetime.fromisoformat(stored) + dt.timedelta(microseconds=length))
    except OverflowError:
        return None
    return end if least <= end <= most else None


_DAY = 86_400 * 10**6


def difference(later: str | None, earlier: str | None) -> int | float | None:
    """See ``functions.DIFFERENCE``."""
    if later is None or earlier is None:
        return None
    length = dt.datetime.fromisoformat(later) - dt.datetime.fromisoformat(earlier)
    return to_sqlite_number(Decimal(length // dt.timedelta(microseconds=1)).scaleb(-6))


#: Digits enough for any double; a division by zero is an error, not infinity.
_EXACT = decimal.Context(prec=400, traps=[decimal.InvalidOperation, decimal.DivisionByZero])


class DecimalSum:
    """SQLite's sum adds doubles; this one adds the decimals that they stand for, and is null without any."""

    def __init__(self) -> None:
        self.total: Decimal | None = None

    def step(self, number: float | None) -> None:
        if number is not None:
            self.total = _EXACT.add(self.total or Decimal(0), Decimal(str(number)))

    def value(self) -> int | float | None:
        number = None if self.total is None else to_sqlite_number(self.total)
        return number if number is None or math.isfinite(number) else None

    finalize = value

    def inverse(self, number: float | None) -> None:
        """SQLite asks for it when rows leave a window; the windows of $apply only grow."""
        raise NotImplementedError


def with_decimals(compute: Callable[..., Decimal]) -> Callable[..., int | float | None]:
    """A function of SQLite numbers that computes in decimals.

    It is null for null, where the result is undefined, and where it is beyond the numbers of SQLite.
    """

    def function(*numbers: int | float | str | None) -> int | float | None:
        if None in numbers:
            return None
        try:
            number = to_sqlite_number(compute(*(Decimal(str(number)) for number in numbers)))
        except ArithmeticError:
            return None
        return number if math.isfinite(number) else None

    return function


def to_sqlite_number(number: Decimal) -> int | float:
    """A number as SQLite stores it: an integer where possible, else the nearest double."""
    if not number.is_finite() or number.adjusted() > 18 or number != (integer := int(number)):
        return float(number)
    return integer if -(2**63) <= integer < 2**63 else float(number)


def divide(left: Decimal, right: Decimal) -> Decimal:
    """Rounded half away from zero, as PostgreSQL's ROUND does."""
    digits = Decimal(1).scaleb(-QUOTIENT_DIGITS)
    return _EXACT.divide(left, right).quantize(digits, decimal.ROUND_HALF_UP, _EXACT)


def round_to_integer(rounding: str) -> Callable[..., int | float | None]:
    return with_decimals(lambda number: number.quantize(Decimal(1), rounding, _EXACT))


def limit_length(number: float | None, offset: int) -> int | None:
    """See ``functions.LIMITED_LENGTH``."""
    return None if number is None else int(min(max(number, 0), MAX_TEXT_LENGTH)) + offset


def map_case(text: str | None, convert: Callable[[str], str]) -> str | None:
    """Case mapping character by character, as PostgreSQL does it: ``ß`` stays ``ß`` in capitals."""
    if text is None:
        return None
    if text.isascii():
        return convert(text)
    return "".join(new if len(new := convert(old)) == 1 else old for old in text)


#: The functions by the number of their arguments.
_FUNCTIONS: dict[int, dict[str, Callable[..., object]]] = {
    1: {
        "odata_lower": lambda text: map_case(text, str.lower),
        "odata_upper": lambda text: map_case(text, str.upper),
        "odata_negative": with_decimals(_EXACT.minus),
        "odata_round": round_to_integer(decimal.ROUND_HALF_UP),
        "odata_floor": round_to_integer(decimal.ROUND_FLOOR),
        "odata_fraction": fraction_of_second,
        "odata_ceiling": round_to_integer(decimal.ROUND_CEILING),
    },
    2: {
        "odata_difference": difference,
        "odata_length": limit_length,
        "odata_add": with_decimals(_EXACT.add),
        "odata_sub": with_decimals(_EXACT.subtract),
        "odata_mul": with_decimals(_EXACT.multiply),
        "odata_mod": with_decimals(_EXACT.remainder),
        "odata_div": with_decimals(_EXACT.divide_int),
        "odata_divby": with_decimals(divide),
    },
    3: {"odata_part": part_in_zone},
    4: {"odata_moved": moved},
}
