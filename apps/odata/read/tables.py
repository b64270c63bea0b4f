"""Records as rows of cells, which the database writes; where a column is nested, the JSON has them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

import msgspec
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import Func

from apps.base.cell_texts import FIRST_OF_FORMULA, formula_safe
from apps.base.declaration.schema import EntitySet, StructuralProperty
from apps.base.placeholders import with_today
from apps.odata.read.flattening import Column
from apps.odata.read.record_json import DIALECTS, column_sql

#: The JSON of a record with the digits of its numbers.
decode_record = msgspec.json.Decoder(dict, float_hook=Decimal).decode


class CellText(Func):
    """The text of a property of each record of a queryset; null is an empty cell."""

    def __init__(self, prop: StructuralProperty, alias: str | None = None) -> None:
        super().__init__(output_field=models.TextField())
        self.prop, self.alias = prop, alias

    def resolve_expression(self, query: Any = None, *args: Any, **options: Any) -> "CellText":
        return CellText(self.prop, query.get_initial_alias())

    def as_sql(self, compiler: Any, connection: BaseDatabaseWrapper, **_: object) -> tuple[str, list[object]]:
        column = column_sql(self.prop.steps, compiler.quote_name_unless_alias(self.alias), 1)
        return with_today(DIALECTS[connection.vendor].cell(self.prop, column)), []


class TableColumn(Protocol):
    """A column of records, or of rows that $apply makes."""

    @property
    def name(self) -> str: ...

    @property
    def cell(self) -> Callable[[Any], object]: ...


@dataclass(frozen=True)
class RecordTable:
    """Rows on their way from the database.

    ``json_of`` a row is JSON with its keys, which the read log takes note of; ``cells_of`` it are the cells,
    which no spreadsheet runs as formulas.
    """

    header: Sequence[str]
    rows: Iterable[Any]
    json_of: Callable[[Any], str]
    cells_of: Callable[[Any], Iterable[object]]


def table_from_json(columns: Sequence[TableColumn], records: Iterable[str]) -> RecordTable:
    """A table of records that are read as JSON."""
    cells = [column.cell for column in columns]

    def cells_of(text: str) -> Iterable[object]:
        record = decode_record(text)
        return [formula_safe(cell(record)) for cell in cells]

    return RecordTable([column.name for column in columns], records, str, cells_of)


def table_of_cells(
    entity_set: EntitySet, columns: Sequence[Column], rows: Iterable[Sequence[Any]]
) -> RecordTable:
    """A table whose rows are the cells of flat columns."""
    kinds = [column.prop.edm.name for column in columns if column.prop is not None]
    texts = [at for at, kind in enumerate(kinds) if kind == "Edm.String"]
    names = [column.name for column in columns]
    guids = {names.index(entity_set.key.name), *(at for at, kind in enumerate(kinds) if kind == "Edm.Guid")}
    keys = ",".join(f'"{names[at]}":"{{0[{at}]}}"' for at in sorted(guids))

    def cells_of(row: Sequence[Any]) -> Iterable[object]:
        if FIRST_OF_FORMULA.isdisjoint([text[:1] for at in texts if (text := row[at])]):
            return row
        return [formula_safe(cell) if at in texts else cell for at, cell in enumerate(row)]

    return RecordTable(names, rows, keys.format, cells_of)
