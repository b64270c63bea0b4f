"""Search of lists by numbers as people write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Replace
from django.http import HttpRequest

from apps.core.admin_base import RecordAdmin


class NumberSearchAdmin(RecordAdmin):
    """A list searched by numbers as people write them: ``430 123 456`` or ``(02) 9000-0000``."""

    number_columns: ClassVar[Sequence[str]] = ()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        digits = searched_digits(search_term)
        if digits is None:
            return super().get_search_results(request, queryset, search_term)
        in_any_column = Q()
        for column in self.number_columns:
            queryset = queryset.alias(**{f"{column}_digits": digits_of(column)})
            in_any_column |= Q(**{f"{column}_digits__contains": digits})
        found, _ = super().get_search_results(request, queryset.filter(in_any_column), "")
        return found, False


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


def digits_of(column: str) -> Any:
    """An expression: the column without what people put between digits."""
    digits: Any = F(column)
    for mark in (" ", "-", "(", ")"):
        digits = Replace(digits, Value(mark), Value(""))
    return digits
