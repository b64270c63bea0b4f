"""$orderby, bound to a type: the keys of a total order."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db.models import F
from django.db.models.expressions import OrderBy

from apps.base.declaration.edm import edm_type
from apps.base.declaration.schema import StructuredType, fields_on_path, final_field
from apps.odata.errors import BadQuery
from apps.odata.query import functions as sql
from apps.odata.query.ast import TEXTS, Expression, Path, SortTerm, ValueKind, walk
from apps.odata.query.binding import Binder
from apps.odata.query.operands import KIND_OF_EDM, NO_CONTEXT, KnownValue, RequestContext

#: Terms of one $orderby; each adds a comparison to the condition of the next page.
MAX_SORT_TERMS = 16


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of an order.

    ``value`` is the value of a row, ``ordered`` the value that rows are ordered by (text by code point);
    ``name`` distinguishes the keys of two orders.
    """

    name: str
    kind: ValueKind
    value: Any
    descending: bool
    nullable: bool

    @property
    def ordered(self) -> Any:
        return sql.BY_CODE_POINT(self.value) if self.kind in TEXTS else self.value

    @property
    def order_by(self) -> OrderBy:
        """Null comes before every value (OData 4.01, 11.2.6.2)."""
        if not self.nullable:
            return OrderBy(self.ordered, descending=self.descending)
        if self.descending:
            return OrderBy(self.ordered, descending=True, nulls_last=True)
        return OrderBy(self.ordered, nulls_first=True)


def sort_keys(
    type_: StructuredType,
    terms: Sequence[SortTerm] = (),
    request: RequestContext = NO_CONTEXT,
    target: str = "$orderby",
) -> tuple[SortKey, ...]:
    """The keys of a total order, which the key of the record completes; without terms the declared order."""
    if not terms:
        return tuple(declared_sort_key(type_, term) for term in type_.order)
    if len(terms) > MAX_SORT_TERMS:
        raise BadQuery(
            f"{target} takes at most {MAX_SORT_TERMS} terms.", target=target, code="InvalidOrderby"
        )
    binder = Binder(type_, request, target)
    keys: dict[str, SortKey] = {}
    for term in terms:
        operand = binder.operand(term.expression)
        if request.outer_types and is_of_address(term.expression, binder):
            continue
        # A constant orders nothing, and PostgreSQL would take a number for the position of a column.
        if not isinstance(operand, KnownValue):
            name = repr(term.expression)
            key = SortKey(name, operand.kind, operand.sql, term.descending, operand.nullable)
            keys.setdefault(name, key)
    first = next(iter(keys.values()), None)
    direction = "-" if first is not None and first.descending else ""
    last = declared_sort_key(type_, direction + type_.model._meta.pk.name)
    if any(key.value == last.value for key in keys.values()):
        return tuple(keys.values())
    return (*keys.values(), last)


def is_of_address(expression: Expression, binder: Binder) -> bool:
    """True when the rows of a list have all the same value: one of ``$it``, the record around them."""
    paths = [node for node, _ in walk(expression) if isinstance(node, Path)]
    of_address = [path for path in paths if path.segments[0] == "$it"]
    if of_address and len(of_address) < len(paths):
        # SQLite knows no column of an outer query in the order of an inner one.
        binder.fail("$it cannot be compared with the rows of a list here; $filter compares them.")
    return bool(of_address)


@lru_cache(maxsize=1024)
def declared_sort_key(type_: StructuredType, term: str) -> SortKey:
    """The sort key of an ORM order term of a declaration (``-creation_date``)."""
    path = term.lstrip("-")
    steps = fields_on_path(type_.model, type_.model._meta.pk.name if path == "pk" else path, type_.name)
    kind = KIND_OF_EDM[edm_type(final_field(steps[-1])).name]
    return SortKey(path, kind, F(path), term.startswith("-"), any(step.null for step in steps))
