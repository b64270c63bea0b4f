"""Reads values in requests, as texts and in JSON, in all formats that the interface takes."""

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

import msgspec
from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator, MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone

from apps.base.declaration.edm import INTEGER_RANGES, edm_type
from apps.base.declaration.schema import StructuralProperty
from apps.base.texts import composed

#: The most digits, and the greatest exponent, of a number; no column holds more.
MAX_DIGITS = 60


class WireValueError(Exception):
    """An invalid value: a stable code, and the sentence that follows its name ("must be a date.")."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


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
        raise WireValueError("InvalidGuid", "must be a guid, such as 0190163d-8694-739b-aea5-966c26f8ad91.")
    return UUID(text)


def parse_date(text: str) -> dt.date:
    """A date. Of a date-time it is the date in the subscriber's zone; without an offset it is local time."""
    if _DATE.fullmatch(text):
        try:
            return dt.date.fromisoformat(text)
        except ValueError:
            raise _no_such_day() from None
    moment = _date_time(text, "must be a date, such as 2026-07-01.")
    # A clock change skips an hour, never a day: whether the hour exists does not matter here.
    return moment.date() if moment.tzinfo is None else _in_zone(moment).date()


def parse_datetime(text: str) -> dt.datetime:
    """A time in UTC. Without an offset the text is local time, without a time it is midnight.

    It refuses a local time that a clock change skips; one that it repeats is the first of the two.
    """
    if _DATE.fullmatch(text):
        text += "T00:00:00"
    moment = _date_time(text, "must be a date and time, such as 2026-07-01T09:30:00+10:00.")
    if moment.tzinfo is not None:
        _in_zone(moment)  # refused when the subscriber's zone cannot show it
        return moment.astimezone(dt.UTC)
    zone = timezone.get_current_timezone()
    try:
        in_utc = moment.replace(tzinfo=zone).astimezone(dt.UTC)
    except OverflowError:
        raise _too_far() from None
    if _in_zone(in_utc).replace(tzinfo=None) != moment:
        sentence = f"names a local time that does not exist: the clocks of {zone} skip it; give an offset."
        raise WireValueError("InvalidDate", sentence)
    return in_utc


def parse_decimal(text: str, precision: int | None = None, scale: int | None = None) -> Decimal:
    """An exact number; the code is ``OutOfRange`` for more digits than ``precision`` and ``scale`` allow.

    With a ``scale`` the result has exactly that many decimal places.
    """
    match = _NUMBER.fullmatch(text)
    if not match:
        raise WireValueError("InvalidNumber", "must be a number, such as 12.50.")
    if len(text) > MAX_DIGITS or abs(int(match[1] or 0)) > MAX_DIGITS:
        raise WireValueError("OutOfRange", "has too many digits.")
    number = Decimal(text)
    if scale is not None:
        sign, digits, exponent = number.as_tuple()
        surplus = -scale - int(exponent)  # a number: NaN and infinity have another form
        if surplus > 0 and any(digits[-surplus:]):
            raise WireValueError("OutOfRange", f"must have at most {scale} decimal places.")
        digits = digits[:-surplus] or (0,) if surplus > 0 else digits + (0,) * -surplus
        number = Decimal((sign, digits, -scale))
        if precision is not None and number.adjusted() >= precision - scale:
            sentence = f"must have at most {precision - scale} digits before the decimal point."
            raise WireValueError("OutOfRange", sentence)
    return number if number else number.copy_abs()  # minus zero is zero


def parse_integer(text: str, edm: str = "Edm.Int64") -> int:
    """A whole number that the type ``edm`` can hold."""
    if not _INTEGER.fullmatch(text):
        raise WireValueError("InvalidNumber", "must be a whole number, such as 12.")
    least, greatest = INTEGER_RANGES[edm]
    if len(text) > MAX_DIGITS or not least <= int(text) <= greatest:
        raise WireValueError("OutOfRange", f"must lie between {least:,} and {greatest:,}.")
    return int(text)


def parse_boolean(text: str) -> bool:
    """``true`` or ``false`` in lower case."""
    if text not in ("true", "false"):
        raise WireValueError("", "must be true or false.")
    return text == "true"


def parse_choice(text: str, choices: Sequence[str], numbers: Mapping[int, str]) -> str:
    """The name of an enumeration member from its exact name or its number."""
    if text in choices:
        return text
    if _INTEGER.fullmatch(text) and len(text) <= MAX_DIGITS and int(text) in numbers:
        return numbers[int(text)]
    raise WireValueError("NotAChoice", f"must be one of {', '.join(choices)}.")


def parse_value(text: str, prop: StructuralProperty) -> object:
    """A value to compare a property with; numbers may have more digits than the property's column."""
    if prop.choices:
        return parse_choice(text, prop.choices, prop.numbers)
    if prop.edm.name in INTEGER_RANGES:
        return parse_integer(text, prop.edm.name)
    return _PARSERS[prop.edm.name](text)


_PARSERS: dict[str, Callable[[str], object]] = {
    "Edm.Guid": parse_guid,
    "Edm.Date": parse_date,
    "Edm.DateTimeOffset": parse_datetime,
    "Edm.Decimal": parse_decimal,
    "Edm.Boolean": parse_boolean,
    "Edm.String": str,
}


def _date_time(text: str, sentence: str) -> dt.datetime:
    """A date and time in microseconds, naive without an offset."""
    match = _DATE_TIME.fullmatch(text)
    if not match:
        raise WireValueError("InvalidDate", sentence)
    day, time, fraction, offset = match.groups()
    if len(time) == 5:
        time += ":00"
    spelled = f"{day}T{time}{(fraction or '')[:7]}{(offset or '').upper()}"
    try:
        return dt.datetime.fromisoformat(spelled)
    except ValueError:
        raise _no_such_day() from None


def _no_such_day() -> WireValueError:
    return WireValueError("InvalidDate", "names a day or a time that does not exist.")


def _in_zone(moment: dt.datetime) -> dt.datetime:
    try:
        return moment.astimezone(dt.UTC).astimezone(timezone.get_current_timezone())
    except OverflowError:
        raise _too_far() from None


def _too_far() -> WireValueError:
    return WireValueError("OutOfRange", "must lie between the years 1 and 9999.")


# --- values in JSON -------------------------------------------------------------------------------------

Reader = Callable[[object], object]

_DIGITS = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def reader_of(prop: StructuralProperty) -> Reader:
    """The function that reads the property from a JSON value that is not null; raises ``WireValueError``.

    Numbers with a fraction or an exponent come as ``Decimal``. A blank text is read as ``None``.
    """
    if prop.choices:
        return choice_reader(prop.choices, prop.numbers)
    make = _READERS.get(prop.edm.name, text_reader)
    return make(prop.field)


@lru_cache(maxsize=1024)
def is_email_domain(domain: str) -> bool:
    return EmailValidator().validate_domain_part(domain)


class CachedEmailValidator(EmailValidator):
    """Django's rule with its pattern at hand and each domain looked at once: twice as fast for files."""

    user_regex = re.compile(EmailValidator.user_regex.pattern, re.IGNORECASE)

    def validate_domain_part(self, domain_part: str) -> bool:
        return is_email_domain(domain_part)


EMAIL = CachedEmailValidator()


def text_reader(field: models.Field) -> Reader:
    limit, is_email = field.max_length, isinstance(field, models.EmailField)

    def read(value: object) -> str | None:
        if not isinstance(value, str):
            raise WireValueError("WrongType", "must be a string.")
        # No printable text holds such a character, and most texts are printable.
        if not value.isprintable() and _UNSTORABLE.search(value):
            raise WireValueError(
                "InvalidText", "holds a character that is none: NUL or half a surrogate pair."
            )
        if not value or value.isspace():
            return None
        if not value.isascii():
            value = composed(value)
        if limit is not None and len(value) > limit:
            raise WireValueError("TooLong", f"may have {limit} characters at most, and has {len(value):,}.")
        if is_email:
            try:
                EMAIL(value)
            except ValidationError:
                raise WireValueError("InvalidEmail", "must be an email address.") from None
        return value

    return read


def choice_reader(names: tuple[str, ...], numbers: Mapping[int, str]) -> Reader:
    """An enumeration's exact name, or one of its numbers as number or string of digits."""
    names_by_spelling: dict[str | int, str] = {name: name for name in names}
    for number, name in numbers.items():
        names_by_spelling[number] = names_by_spelling[str(number)] = name
    choices = ", ".join(names)

    def read(value: object) -> str | None:
        if isinstance(value, str) and not value.strip():
            return None
        if isinstance(value, str) or (numbers and type(value) is int):
            if value in names_by_spelling:
                return names_by_spelling[value]
            raise WireValueError("NotAChoice", f"must be one of {choices}.")
        raise WireValueError("WrongType", f"must be a string: one of {choices}.")

    return read


def boolean_reader(field: models.Field) -> Reader:
    def read(value: object) -> bool:
        if not isinstance(value, bool):
            raise WireValueError("WrongType", "must be true or false.")
        return value

    return read


def integer_reader(field: models.Field) -> Reader:
    # What the column can hold on every engine, narrowed by the field's own validators.
    low, high = INTEGER_RANGES[edm_type(field).name]
    least, most = validated_range(field)
    low, high = (low if least is None else max(low, least)), (high if most is None else min(high, most))

    def read(value: object) -> int:
        if isinstance(value, Decimal):
            raise WireValueError("InvalidNumber", "must be a whole number.")
        if type(value) is not int:
            raise WireValueError("WrongType", "must be a number.")
        if not low <= value <= high:
            raise WireValueError("OutOfRange", f"must be from {low:,} to {high:,}.")
        return value

    return read


def validated_range(field: models.Field) -> tuple[Any, Any]:
    """The field's ``MinValueValidator`` and ``MaxValueValidator`` limits, ``None`` where it has none."""
    least = [v.limit_value for v in field.validators if isinstance(v, MinValueValidator)]
    most = [v.limit_value for v in field.validators if isinstance(v, MaxValueValidator)]
    return max(least, default=None), min(most, default=None)


def decimal_reader(field: models.Field) -> Reader:
    """A JSON number or a string of digits, exactly."""
    assert isinstance(field, models.DecimalField)
    digits, scale = field.max_digits, field.decimal_places
    least, most = validated_range(field)

    def read(value: object) -> Decimal:
        if isinstance(value, str):
            if not _DIGITS.fullmatch(value):
                raise WireValueError("InvalidNumber", "must be a number.")
        elif type(value) not in (int, Decimal):
            raise WireValueError("WrongType", "must be a number.")
        number = parse_decimal(str(value), digits, scale)
        if least is not None and number < least:
            raise WireValueError("OutOfRange", f"must be {least} at least.")
        if most is not None and number > most:
            raise WireValueError("OutOfRange", f"must be {most} at most.")
        return number

    return read


def guid_reader(field: models.Field) -> Reader:
    """A guid in any case, with its hyphens or without them."""

    def read(value: object) -> UUID:
        if isinstance(value, UUID):
            return value
        if not isinstance(value, str):
            raise WireValueError("WrongType", "must be a guid in a string.")
        try:
            return msgspec.convert(value, UUID)
        except (msgspec.ValidationError, UnicodeEncodeError):  # the latter of half a character
            raise WireValueError("InvalidGuid", "must be a guid.") from None

    return read


def time_reader(parse: Callable[[str], object]) -> Reader:
    """A date or a time in one of the forms that ``parse`` takes."""

    def read(value: object) -> object:
        if not isinstance(value, str):
            raise WireValueError("WrongType", "must be a date in a string.")
        try:
            return parse(value)
        except WireValueError as error:
            raise WireValueError("InvalidDate", error.sentence) from None

    return read


_READERS: dict[str, Callable[[models.Field], Reader]] = {
    "Edm.Guid": guid_reader,
    "Edm.Boolean": boolean_reader,
    "Edm.Date": lambda field: time_reader(parse_date),
    "Edm.DateTimeOffset": lambda field: time_reader(parse_datetime),
    "Edm.Decimal": decimal_reader,
    **dict.fromkeys(INTEGER_RANGES, integer_reader),
}
