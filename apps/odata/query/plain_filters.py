"""Plain filters: ``?FundingStatus=OnHold&StartDate__ge=2026-07-01``.

Every property of a record and of its nested objects (``Address/Suburb=Perth``) has filters, which a FilterSet
of django-filter applies. Each is bound as the $filter it is short for, so that both have the same result on
every database: ``Gender__ne=Male`` finds records without a gender, ``__contains`` is case-sensitive.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from copy import copy
from functools import lru_cache
from typing import Any

from django import forms
from django.db.models import Model, QuerySet
from django_filters import Filter, FilterSet

from apps.base.declaration.edm import INTEGER_RANGES
from apps.base.declaration.schema import EntitySet, StructuralProperty, StructuredType
from apps.base.declaration.values import WireValueError, parse_boolean, parse_value
from apps.odata.errors import BadQuery
from apps.odata.query.ast import NO_POSITION, Binary, Call, Expression, In, Literal, Path, ValueKind
from apps.odata.query.binding import bind_filter
from apps.odata.query.lexer import IN_ADDRESS
from apps.odata.query.operands import KIND_OF_EDM

EQUAL, ORDERED = ("eq", "ne"), ("gt", "ge", "lt", "le")
LISTED, TEXTUAL, NULL = ("in",), ("contains", "startswith", "endswith"), ("isnull",)

TIMES = ("Edm.Date", "Edm.DateTimeOffset")


def operators_of(prop: StructuralProperty) -> tuple[str, ...]:
    """The operators of a property; the first one is the default."""
    if prop.edm.name == "Edm.Boolean":
        return EQUAL + NULL
    if prop.choices or prop.edm.name == "Edm.Guid":
        return EQUAL + LISTED + NULL
    if prop.edm.name == "Edm.String":
        return EQUAL + LISTED + TEXTUAL + NULL
    return EQUAL + ORDERED + LISTED + NULL


def filterable(type_: StructuredType, path: str = "") -> Iterator[tuple[str, StructuralProperty]]:
    """Every property of a record and of its nested objects, with its path on the wire.

    The items of lists have none: $filter has ``any`` and ``all`` for them.
    """
    for name, prop in type_.readable_properties.items():
        yield path + name, prop
    for name, navigation in type_.navigations.items():
        if not navigation.many and not navigation.item_only:
            yield from filterable(navigation.type, f"{path}{name}/")


class WireField(forms.Field):
    """A form field that parses the value of a property."""

    def __init__(self, *, prop: StructuralProperty, operator: str, **options: Any) -> None:
        super().__init__(**options)
        self.prop, self.operator = prop, operator

    def clean(self, value: Any) -> object:
        try:
            return parse_parameter(value, self.prop, self.operator)
        except WireValueError as error:
            raise forms.ValidationError(str(error), code=error.code) from None


class WireFilter(Filter):
    """One operator of one property, bound as the $filter it is short for."""

    field_class = WireField

    def __init__(self, path: str, prop: StructuralProperty, operator: str) -> None:
        super().__init__(path, operator, label=path, prop=prop, operator=operator)
        self.prop = prop
        self.kind = KIND_OF_EDM[prop.edm.name]

    def __deepcopy__(self, memo: dict[int, object]) -> WireFilter:
        """FilterSets copy their filters for each request; a shallow copy shares the declaration."""
        return copy(self)

    def filter(self, qs: QuerySet[Model], value: object) -> QuerySet[Model]:
        filterset: PlainFilterSet = self.parent
        target = f"{self.field_name}__{self.lookup_expr}"
        return qs.filter(bind_filter(self.expression(value), filterset.type, target=target))

    def expression(self, value: Any) -> Expression:
        path = Path(NO_POSITION, tuple(self.field_name.split("/")))
        operator = self.lookup_expr
        if operator == "isnull":
            null = Literal(NO_POSITION, ValueKind.NULL, None)
            return Binary(NO_POSITION, "eq" if value else "ne", path, null)
        if operator == "in":
            return In(NO_POSITION, path, tuple(Literal(NO_POSITION, self.kind, item) for item in value))
        literal = Literal(NO_POSITION, self.kind, value)
        if operator in TEXTUAL:
            return Call(NO_POSITION, operator, (path, literal))
        return Binary(NO_POSITION, operator, path, literal)


class PlainFilterSet(FilterSet):
    """The filters of one entity set; an instance has only those that the request names."""

    type: StructuredType
    base_filters: dict[str, object]

    def __init__(self, data: Mapping[str, str], queryset: QuerySet[Model]) -> None:
        self.base_filters = {name: self.base_filters[name] for name in data}
        super().__init__(dict(data), queryset)


@lru_cache(maxsize=256)
def filterset_for(entity_set: EntitySet) -> type[PlainFilterSet]:
    """The FilterSet of an entity set: ``Name``, ``Name__eq``, ``Name__ne`` … for every property."""
    members: dict[str, object] = {"type": entity_set.type}
    for path, prop in filterable(entity_set.type):
        members[path] = WireFilter(path, prop, "eq")
        for operator in operators_of(prop):
            members[f"{path}__{operator}"] = WireFilter(path, prop, operator)
    return type(f"{entity_set.name}FilterSet", (PlainFilterSet,), members)


def unknown_parameter(name: str, entity_set: EntitySet) -> BadQuery:
    """The error that names an unknown parameter, with the most similar one that is known."""
    known = {parameter.lower(): parameter for parameter in filterset_for(entity_set).base_filters}
    spelling = re.sub("__([gl])te$", r"__\1e", name[:200].lower())  # Django's names of the operators
    close = difflib.get_close_matches(spelling, known, n=1, cutoff=0.75)
    hint = f" Is {known[close[0]]} meant?" if close else ""
    return BadQuery(f"{entity_set.name} has no parameter {name[:60]}.{hint}", target=name[:60])


# --- values -------------------------------------------------------------------------------------------

#: The codes of parameters that are empty or hold too many values.
_CODES = {
    "Edm.Guid": "InvalidGuid",
    **dict.fromkeys(TIMES, "InvalidDate"),
    **dict.fromkeys((*INTEGER_RANGES, "Edm.Decimal"), "InvalidNumber"),
}


def parse_parameter(text: str, prop: StructuralProperty, operator: str) -> object:
    """The value of a parameter; of the operator ``in`` several values, separated by commas."""
    code = "" if operator == "isnull" else _CODES.get(prop.edm.name, "")
    if not text:
        raise WireValueError(code, "is empty; for null there is the suffix __isnull.")
    if operator == "isnull":
        return parse_boolean(text)
    if operator != "in":
        return parse_value(with_plus_sign(text, prop), prop)
    items = text.split(",")
    if len(items) > IN_ADDRESS.options:
        raise WireValueError(code, f"holds at most {IN_ADDRESS.options} values.")
    return tuple(parse_value(with_plus_sign(item, prop), prop) for item in items)


_BLANK_OFFSET = re.compile(r"(T[0-9:.]+) (?=[0-9]{2}:[0-9]{2}$)")


def with_plus_sign(text: str, prop: StructuralProperty) -> str:
    """A time with the plus sign of its offset, which arrives as a blank when it was not escaped."""
    return _BLANK_OFFSET.sub(r"\1+", text) if prop.edm.name in TIMES else text
