"""Records as rows of cells, with a column for each nested member (``Address/Suburb``)."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

from apps.base.cell_texts import LIST_SEPARATOR, text_of
from apps.base.declaration.resource import Nesting
from apps.base.declaration.schema import NavigationProperty, StructuralProperty, StructuredType
from apps.odata.read.record_json import Selection


@dataclass(frozen=True, eq=False)
class Column:
    """A column: its name (``Address/Suburb``), its property and the navigation properties on the way to it.

    ``prop`` is ``None`` for a contained list, which one cell holds as JSON. ``row_list`` is the list with a
    row for each item, when the column is of those items; ``navigations`` then begin inside it.
    """

    name: str
    navigations: tuple[NavigationProperty, ...]
    prop: StructuralProperty | None
    row_list: NavigationProperty | None = None

    @property
    def is_flat(self) -> bool:
        """True when its value is one of the record's own columns."""
        is_embedded = all(each.nesting is Nesting.EMBEDDED for each in self.navigations)
        return self.prop is not None and is_embedded and self.row_list is None

    @property
    def many(self) -> bool:
        """True when a cell can hold several values."""
        return any(navigation.many for navigation in self.navigations)

    @cached_property
    def cell(self) -> Callable[[Any], object]:
        """The function that takes the cell from a record, or from an item of the row list.

        Those are decoded from their JSON; an empty cell is ``None``.
        """
        return self.nested_cell if self.prop is None or self.navigations else itemgetter(self.prop.name)

    def nested_cell(self, record: Any) -> object:
        value = record
        for navigation in self.navigations:
            if value is None:
                return None
            if isinstance(value, list):
                inner = [item[navigation.name] for item in value]
                lists = [each if isinstance(each, list) else [each] for each in inner]
                value = [each for items in lists for each in items if each is not None]
            else:
                value = value[navigation.name]
        if self.prop is None:
            return (
                json.dumps(value, default=str, ensure_ascii=False, separators=(",", ":")) if value else None
            )
        if not isinstance(value, list):
            return None if value is None else value[self.prop.name]
        texts = [text_of(item[self.prop.name]) for item in value]
        return LIST_SEPARATOR.join(texts) if texts else None


def columns(
    type_: StructuredType, selection: Selection, row_list: NavigationProperty | None = None
) -> tuple[Column, ...]:
    """The columns of the selected members, in the order declared.

    ``row_list`` is a list of the record whose items have columns of their own, and a row each.
    """

    def columns_of(
        type_: StructuredType,
        selection: Selection,
        prefix: str,
        navigations: tuple[NavigationProperty, ...],
        owner: NavigationProperty | None,
    ) -> Iterator[Column]:
        for name, prop in selection.properties_of(type_):
            yield Column(prefix + name, navigations, prop, owner)
        for name, nested in selection.navigations:
            navigation, path = type_.find_navigation(name), f"{prefix}{name}/"
            assert navigation is not None
            if navigation is row_list:
                yield from columns_of(navigation.type, nested, path, (), row_list)
            elif navigation.nesting is Nesting.CONTAINED:
                yield Column(prefix + name, (*navigations, navigation), None, owner)
            else:
                yield from columns_of(navigation.type, nested, path, (*navigations, navigation), owner)

    return tuple(columns_of(type_, selection, "", (), None))


def rows(record: Mapping[str, Any], selected: Sequence[Column]) -> Iterator[list[object]]:
    """The rows of a record: one for each item of the row list, with the record's own cells in each.

    One row when there is no such list, or no item in it.
    """
    row_list = next((column.row_list for column in selected if column.row_list is not None), None)
    if row_list is None:
        yield [column.cell(record) for column in selected]
        return
    own_cells = [None if column.row_list is row_list else column.cell(record) for column in selected]
    item_columns = [(at, column) for at, column in enumerate(selected) if column.row_list is row_list]
    for item in record[row_list.name] or [None]:
        row = own_cells.copy()
        for at, column in item_columns if item is not None else ():
            row[at] = column.cell(item)
        yield row
