"""Search of lists by numbers as people write them: ``430 123 456`` or ``(02) 9000-0000``."""

import re
from collections.abc import Sequence
from typing import Any

from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Replace


def searched_digits(text: str) -> str | None:
    """The digits of a number that is searched for; none when it is a name, or too short for a number.

    A phone number is sought without its leading zero or country code, so either spelling finds both.
    """
    digits = re.sub(r"[\s()+./-]", "", text)
    if not digits.isdecimal() or len(digits) < 4:
        return None
    if len(digits) == 11 and digits.startswith("61"):
        return digits[2:]
    return digits[1:] if len(digits) == 10 and digits.startswith("0") else digits


def with_digits(records: QuerySet[Any], columns: Sequence[str], digits: str) -> QuerySet[Any]:
    """The records with these digits in one of the columns, whatever people put between them."""
    in_any_column = Q()
    for column in columns:
        bare: Any = F(column)
        for mark in (" ", "-", "(", ")"):
            bare = Replace(bare, Value(mark), Value(""))
        records = records.alias(**{f"{column}_digits": bare})
        in_any_column |= Q(**{f"{column}_digits__contains": digits})
    return records.filter(in_any_column)
