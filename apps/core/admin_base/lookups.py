"""Which conditions the address of a list may have: Django takes any lookup of any column there."""

from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db import models

#: Left out are patterns, which are input that can compute for ever, and what fails on some values or engines.
OPERATORS = frozenset(
    {
        *("exact", "iexact", "in", "isnull", "gt", "gte", "lt", "lte"),
        *("contains", "icontains", "startswith", "istartswith", "endswith", "iendswith"),
    }
)
#: Of PostgreSQL's widest whole number, and SQLite's.
LARGEST = 2**63 - 1


def is_condition(model: type[models.Model], lookup: str, text: str) -> bool:
    """True for a condition that both engines can answer; also for a name of no column, which others know."""
    column, rest = find_column(model, lookup)
    if column is None:
        return True
    operator = "__".join(rest) or "exact"
    if operator not in OPERATORS or isinstance(column, models.JSONField | models.BinaryField):
        return False
    if operator == "isnull" or not isinstance(column, models.IntegerField):
        return True
    return not any(is_too_large(each) for each in (text.split(",") if operator == "in" else [text]))


def find_column(model: type[models.Model], lookup: str) -> tuple[Any, list[str]]:
    """The last column of a path, of a reference the key that it holds, and the words behind it."""
    column: Any = None
    names = lookup.split("__")
    while names:
        try:
            found: Any = model._meta.pk if names[0] == "pk" else model._meta.get_field(names[0])
        except FieldDoesNotExist:
            break
        column, names = found, names[1:]
        if not (found.is_relation and found.related_model):
            break
        model = found.related_model
        column = model._meta.pk
    return column, names


def is_too_large(text: str) -> bool:
    """True for a whole number that no column holds; other texts are refused where they are read."""
    try:
        return abs(int(text)) > LARGEST
    except ValueError:
        return False
