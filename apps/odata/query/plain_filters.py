"""Filters for people with curl: ``?FundingStatus=OnHold&StartDate__ge=2026-07-01`` (decisions.md 3).

Every declared property has one, and so has what lies in an object of the record (``Address/Suburb=Perth``).
A filter is the $filter it stands for, so that both mean the same on every database:
``Gender__ne=Male`` finds records without a gender, ``__contains`` knows upper and lower case.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from django import forms
from django.db.models import QuerySet
from django_filters import Filter, FilterSet

from apps.odata.declaration.schema import EntitySet, StructuralProperty, StructuredType
from apps.odata.declaration.values import NotAChoice, OutOfRange, parse_boolean, parse_value
from apps.odata.errors import BadQuery
from apps.odata.query.ast import Binary, Call, Expression, In, Literal, Path, ValueKind
from apps.odata.query.binding import bind_filter
from apps.odata.query.parser import MAX_OPTIONS

EQUAL, ORDERED = ("eq", "ne"), ("gt", "ge", "lt", "le")
LISTED, TEXTUAL, NULL = ("in",), ("contains", "startswith", "endswith"), ("isnull",)

TIMES = ("Edm.Date", "Edm.DateTimeOffset")

_KINDS = {
    "Edm.Guid": ValueKind.GUID,
    "Edm.Boolean": ValueKind.BOOLEAN,
    "Edm.Date": ValueKind.DATE,
    "Edm.DateTimeOffset": ValueKind.DATETIME,
    "Edm.Int16": ValueKind.INTEGER,
    "Edm.Int32": ValueKind.INTEGER,
    "Edm.Int64": ValueKind.INTEGER,
    "Edm.Decimal": ValueKind.DECIMAL,
    "Edm.String": ValueKind.STRING,
}


def operators_of(prop: StructuralProperty) -> tuple[str, ...]:
    """The suffixes that make sense for a property; the first is also meant when there is none."""
    if prop.edm.name == "Edm.Boolean":
        return EQUAL + NULL
    if prop.choices or prop.edm.name == "Edm.Guid":
        return EQUAL + LISTED + NULL
    if prop.edm.name == "Edm.String":
        return EQUAL + LISTED + TEXTUAL + NULL
    return EQUAL + ORDERED + LISTED + NULL


def filterable(type_: StructuredType, path: str = "") -> Iterator[tuple[str, StructuralProperty]]:
    """Every property of a record and of the objects in it, with its path on the wire.

    Lists are left out: what is asked of their items is a question for $filter's ``any`` and ``all``.
    """
    for prop in type_.properties.values():
        if not prop.declaration.write_only:
            yield path + prop.name, prop
    for part in type_.navigations.values():
        if not part.many and not part.item_only:
            yield from filterable(part.type, f"{path}{part.name}/")


class WireField(forms.Field):
    """A form field whose text is read as the value of a property."""

    def __init__(self, *, prop: StructuralProperty, operator: str, **options: Any) -> None:
        super().__init__(**options)
        self.prop, self.operator = prop, operator

    def clean(self, value: Any) -> Any:
        try:
            return read(value, self.prop, self.operator)
        except OutOfRange as error:
            raise forms.ValidationError(str(error), code="OutOfRange") from None
        except NotAChoice as error:
            raise forms.ValidationError(str(error), code="NotAChoice") from None
        except ValueError as error:
            code = "" if self.operator == "isnull" else _CODES.get(self.prop.edm.name, "")
            raise forms.ValidationError(str(error), code=code) from None


class WireFilter(Filter):
    """One operator on one property, asked as the $filter it stands for."""

    field_class = WireField

    def __init__(self, path: str, prop: StructuralProperty, operator: str) -> None:
        super().__init__(path, operator, label=path, prop=prop, operator=operator)
        self.prop = prop
        self.kind = _KINDS[prop.edm.name]

    def __deepcopy__(self, memo: dict[int, Any]) -> WireFilter:
        """FilterSets copy their filters for each request; a declaration is shared by all."""
        copied = WireFilter.__new__(WireFilter)
        copied.__dict__.update(self.__dict__)
        return copied

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        filterset: PlainFilterSet = self.parent
        return qs.filter(bind_filter(self.expression(value), filterset.type, target=self.name))

    @property
    def name(self) -> str:
        return f"{self.field_name}__{self.lookup_expr}"

    def expression(self, value: Any) -> Expression:
        path = Path(0, tuple(self.field_name.split("/")))
        operator = self.lookup_expr
        if operator == "isnull":
            return Binary(0, "eq" if value else "ne", path, Literal(0, ValueKind.NULL, None))
        if operator == "in":
            return In(0, path, tuple(Literal(0, self.kind, item) for item in value))
        literal = Literal(0, self.kind, value)
        if operator in TEXTUAL:
            return Call(0, operator, (path, literal))
        return Binary(0, operator, path, literal)


class PlainFilterSet(FilterSet):
    """The filters of one entity set; a request makes only those that it names."""

    type: StructuredType
    base_filters: dict[str, Any]

    def __init__(self, data: Mapping[str, str], queryset: QuerySet[Any]) -> None:
        self.base_filters = {name: found for name, found in self.base_filters.items() if name in data}
        super().__init__(dict(data), queryset)


@lru_cache(maxsize=256)
def filterset_for(entity_set: EntitySet) -> type[PlainFilterSet]:
    """The FilterSet of an entity set: ``Name``, ``Name__eq``, ``Name__ne`` … for every property."""
    members: dict[str, Any] = {"type": entity_set.type}
    for path, prop in filterable(entity_set.type):
        members[path] = WireFilter(path, prop, "eq")
        for operator in operators_of(prop):
            members[f"{path}__{operator}"] = WireFilter(path, prop, operator)
    return type(f"{entity_set.name}FilterSet", (PlainFilterSet,), members)


def apply_plain_filters(
    entity_set: EntitySet, queryset: QuerySet[Any], params: Sequence[tuple[str, str]]
) -> QuerySet[Any]:
    """The rows that every plain filter of a query string leaves.

    ``BadQuery`` names the parameter that is not known or whose value cannot be read.
    """
    filterset_class = filterset_for(entity_set)
    for name, _ in params:
        if name not in filterset_class.base_filters:
            raise unknown_parameter(name, entity_set)
    filterset = filterset_class(dict(params), queryset)
    for name, faults in filterset.errors.as_data().items():
        raise BadQuery(f"{name} {faults[0].message}.", target=name, code=faults[0].code or "")
    return filterset.qs


def unknown_parameter(name: str, entity_set: EntitySet) -> BadQuery:
    """The error that names a parameter nobody knows, with the one that may be meant."""
    known = {found.lower(): found for found in filterset_for(entity_set).base_filters}
    wanted = re.sub("__([gl])te$", r"__\1e", name[:200].lower())  # as Django spells them
    close = difflib.get_close_matches(wanted, known, n=1, cutoff=0.75)
    hint = f" Is {known[close[0]]} meant?" if close else ""
    return BadQuery(f"{entity_set.name} has no parameter {name[:60]}.{hint}", target=name[:60])


# --- values -------------------------------------------------------------------------------------------

_CODES = {
    "Edm.Guid": "InvalidGuid",
    "Edm.Date": "InvalidDate",
    "Edm.DateTimeOffset": "InvalidDate",
    "Edm.Decimal": "InvalidNumber",
    "Edm.Int16": "InvalidNumber",
    "Edm.Int32": "InvalidNumber",
    "Edm.Int64": "InvalidNumber",
}


def read(text: str, prop: StructuralProperty, operator: str) -> Any:
    """The value that a parameter's text is for an operator: one, or for ``in`` several between commas."""
    if not text:
        raise ValueError("is empty; for null there is the suffix __isnull")
    if operator == "isnull":
        return parse_boolean(text)
    if operator != "in":
        return parse_value(unescaped(text, prop), prop)
    items = text.split(",")
    if len(items) > MAX_OPTIONS:
        raise ValueError(f"holds at most {MAX_OPTIONS} values")
    return tuple(parse_value(unescaped(item, prop), prop) for item in items)


_BLANK_OFFSET = re.compile(r"(T[0-9:.]+) (?=[0-9]{2}:[0-9]{2}$)")


def unescaped(text: str, prop: StructuralProperty) -> str:
    """A time whose offset's plus sign was not escaped, and so arrived as a blank, has it again."""
    return _BLANK_OFFSET.sub(r"\1+", text) if prop.edm.name in TIMES else text
