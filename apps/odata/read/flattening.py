"""Records as rows of cells: which columns a type has, and what stands in them (``Address/Suburb``)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from apps.odata.declaration.resource import Nesting
from apps.odata.declaration.schema import NavigationProperty, StructuralProperty, StructuredType
from apps.odata.read.record_json import Selection

#: Between the values of a list of records in one cell: ``Teams/TeamId`` is ``3; 7``.
LIST_SEPARATOR = "; "

# What makes a spreadsheet take a cell for a formula. Apostrophes before it are counted too, so that taking
# one off again gives exactly the text that was there.
_LOOKS_LIKE_FORMULA = re.compile(r"'*[=+\-@\t\r]")


@dataclass(frozen=True, eq=False)
class Column:
    """One column: its name (``Address/Suburb``), the parts it lies in, and its property.

    ``prop`` is ``None`` for a list of contained rows, which one cell holds as JSON. ``within`` is the list
    that has a row for each of its items, when the column shows those; ``navigations`` begin inside it.
    """

    name: str
    navigations: tuple[NavigationProperty, ...]
    prop: StructuralProperty | None
    within: NavigationProperty | None = None

    @property
    def many(self) -> bool:
        """Whether a cell can hold several values."""
        return any(part.many for part in self.navigations)


def columns(
    type_: StructuredType, selection: Selection, spread: NavigationProperty | None = None
) -> tuple[Column, ...]:
    """The columns of what ``selection`` shows, in the order declared.

    ``spread`` is the list of the record whose items have columns of their own, and a row each.
    """
    return tuple(_columns(type_, selection, "", (), spread))


def _columns(
    type_: StructuredType,
    selection: Selection,
    before: str,
    parts: tuple[NavigationProperty, ...],
    spread: NavigationProperty | None = None,
    within: NavigationProperty | None = None,
) -> Iterator[Column]:
    for name, prop in type_.properties.items():
        if selection.shows(name) and not prop.declaration.write_only:
            yield Column(before + name, parts, prop, within)
    for name, inner in selection.navigations:
        part = type_.navigations[name]
        if part is spread:
            yield from _columns(part.type, inner, f"{before}{name}/", (), within=part)
        elif part.nesting is Nesting.CONTAINED:
            yield Column(before + name, (*parts, part), None, within)
        else:
            yield from _columns(part.type, inner, f"{before}{name}/", (*parts, part), within=within)


def rows(record: Mapping[str, Any], wanted: Sequence[Column]) -> Iterator[list[Any]]:
    """The rows of a record: one for each item of the list that is spread, the record's own cells in each.

    One row when there is no such list, or nothing in it.
    """
    spread = next((column.within for column in wanted if column.within is not None), None)
    if spread is None:
        yield cells(record, wanted)
        return
    own = [None if column.within is spread else _cell(record, column) for column in wanted]
    inner = [(at, column) for at, column in enumerate(wanted) if column.within is spread]
    items = record[spread.name]
    for item in items or [None]:
        row = own.copy()
        for at, column in inner if item is not None else ():
            row[at] = _cell(item, column)
        yield row


def cells(record: Mapping[str, Any], wanted: Iterable[Column]) -> list[Any]:
    """What stands in the columns of a record read from its JSON; ``None`` for an empty cell."""
    return [_cell(record, column) for column in wanted]


def _cell(record: Any, column: Column) -> Any:
    if column.prop is None:
        value = _within(record, column.navigations)
        return json.dumps(value, default=str, ensure_ascii=False, separators=(",", ":")) if value else None
    if not column.navigations:
        return record[column.prop.name]
    inside = _within(record, column.navigations)
    if inside is None:
        return None
    if not isinstance(inside, list):
        return inside[column.prop.name]
    texts = [text_of(item[column.prop.name]) for item in inside]
    return LIST_SEPARATOR.join(texts) if texts else None


def _within(record: Any, parts: tuple[NavigationProperty, ...]) -> Any:
    found = record
    for part in parts:
        if found is None:
            return None
        found = [item[part.name] for item in found] if isinstance(found, list) else found[part.name]
    return found


def text_of(value: Any) -> str:
    """A JSON value as the text of a cell, numbers with all their digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)


def formula_safe(value: Any) -> str:
    """The text of a cell that no spreadsheet takes for a formula: an apostrophe stands before it.

    Numbers stay as they are; ``formula_restored`` gives back what was there.
    """
    text = text_of(value)
    if isinstance(value, str) and _LOOKS_LIKE_FORMULA.match(text):
        return f"'{text}"
    return text


def formula_restored(text: str) -> str:
    """The text that ``formula_safe`` was given."""
    return text[1:] if text[:1] == "'" and _LOOKS_LIKE_FORMULA.match(text) else text
