"""Reads single JSON values: in the forms of ``declaration.values``, within the limits of the column."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec
from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator, MaxValueValidator, MinValueValidator
from django.db import models

from apps.odata.declaration.edm import INTEGER_RANGES, edm_type
from apps.odata.declaration.schema import StructuralProperty
from apps.odata.declaration.values import TextValueError, parse_date, parse_datetime, parse_decimal

Reader = Callable[[Any], Any]

_DIGITS = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class JsonValueError(Exception):
    """An invalid value: a stable code, and the sentence that follows the member's name."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


def reader_of(prop: StructuralProperty) -> Reader:
    """The function that reads the property from a JSON value that is not null; raises ``JsonValueError``.

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

    def read(value: Any) -> str | None:
        if not isinstance(value, str):
            raise JsonValueError("WrongType", "must be a string.")
        # No printable text holds such a character, and most texts are printable.
        if not value.isprintable() and _UNSTORABLE.search(value):
            raise JsonValueError(
                "InvalidText", "holds a character that is none: NUL or half a surrogate pair."
            )
        if not value or value.isspace():
            return None
        if limit is not None and len(value) > limit:
            raise JsonValueError("TooLong", f"may have {limit} characters at most, and has {len(value):,}.")
        if is_email:
            try:
                EMAIL(value)
            except ValidationError:
                raise JsonValueError("InvalidEmail", "must be an email address.") from None
        return value

    return read


def choice_reader(names: tuple[str, ...], numbers: Mapping[int, str]) -> Reader:
    """An enumeration's exact name, or one of its numbers as number or string of digits."""
    names_by_spelling: dict[str | int, str] = {name: name for name in names}
    for number, name in numbers.items():
        names_by_spelling[number] = names_by_spelling[str(number)] = name
    choices = ", ".join(names)

    def read(value: Any) -> str | None:
        if isinstance(value, str) and not value.strip():
            return None
        if isinstance(value, str) or (numbers and type(value) is int):
            if value in names_by_spelling:
                return names_by_spelling[value]
            raise JsonValueError("NotAChoice", f"must be one of {choices}.")
        raise JsonValueError("WrongType", f"must be a string: one of {choices}.")

    return read


def boolean_reader(field: models.Field) -> Reader:
    def read(value: Any) -> bool:
        if not isinstance(value, bool):
            raise JsonValueError("WrongType", "must be true or false.")
        return value

    return read


def integer_reader(field: models.Field) -> Reader:
    # What the column can hold on every engine, narrowed by the field's own validators.
    low, high = INTEGER_RANGES[edm_type(field).name]
    least, most = validated_range(field)
    low, high = (low if least is None else max(low, least)), (high if most is None else min(high, most))

    def read(value: Any) -> int:
        if isinstance(value, Decimal):
            raise JsonValueError("InvalidNumber", "must be a whole number.")
        if type(value) is not int:
            raise JsonValueError("WrongType", "must be a number.")
        if not low <= value <= high:
            raise JsonValueError("OutOfRange", f"must be from {low:,} to {high:,}.")
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

    def read(value: Any) -> Decimal:
        if isinstance(value, str):
            if not _DIGITS.fullmatch(value):
                raise JsonValueError("InvalidNumber", "must be a number.")
        elif type(value) not in (int, Decimal):
            raise JsonValueError("WrongType", "must be a number.")
        try:
            number = parse_decimal(str(value), digits, scale)
        except TextValueError as error:
            raise JsonValueError(error.code, f"{error}.") from None
        if least is not None and number < least:
            raise JsonValueError("OutOfRange", f"must be {least} at least.")
        if most is not None and number > most:
            raise JsonValueError("OutOfRange", f"must be {most} at most.")
        return number

    return read


def guid_reader(field: models.Field) -> Reader:
    """A guid in any case, with its hyphens or without them."""

    def read(value: Any) -> uuid.UUID:
        if isinstance(value, uuid.UUID):
            return value
        if not isinstance(value, str):
            raise JsonValueError("WrongType", "must be a guid in a string.")
        try:
            return msgspec.convert(value, uuid.UUID)
        except msgspec.ValidationError:
            raise JsonValueError("InvalidGuid", "must be a guid.") from None

    return read


def time_reader(parse: Callable[[str], Any]) -> Reader:
    """A date or a time in one of the forms that ``parse`` takes."""

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            raise JsonValueError("WrongType", "must be a date in a string.")
        try:
            return parse(value)
        except TextValueError as error:
            raise JsonValueError("InvalidDate", f"{error}.") from None

    return read


_READERS: dict[str, Callable[[models.Field], Reader]] = {
    "Edm.Guid": guid_reader,
    "Edm.Boolean": boolean_reader,
    "Edm.Date": lambda field: time_reader(parse_date),
    "Edm.DateTimeOffset": lambda field: time_reader(parse_datetime),
    "Edm.Decimal": decimal_reader,
    **dict.fromkeys(INTEGER_RANGES, integer_reader),
}
