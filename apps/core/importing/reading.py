"""Rows as values: cells cleaned and converted column by column, every faulty cell noted with its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from django.conf import settings

from apps.core.identifiers import normalised
from apps.core.importing.cells import (
    CellReader,
    cell_reader,
    check_no_error_value,
    cleaned,
    cleaned_and_restored,
)
from apps.core.importing.columns import ImportColumn, Member
from apps.core.importing.definition import Cleaner, ImportDefinition
from apps.core.importing.file_declaration import normalised_column
from apps.core.importing.report import RowIssue, quoted
from apps.core.importing.tables import Row, Table
from apps.odata.declaration.schema import StructuralProperty, StructuredType
from apps.odata.read.flattening import LIST_SEPARATOR
from apps.odata.write.bodies import record_reader
from apps.odata.write.drafts import Draft
from apps.odata.write.json_values import JsonValueError, reader_of

#: Set after the service has saved a record, which is not its own to archive.
ARCHIVE_DATE = "archive_date"
#: Texts of a column whose values are remembered; columns of names, states and days have few.
MEMO_SIZE = 10_000


@dataclass(eq=False, slots=True)
class ReadRow:
    """The values of a row: of the record itself, or of an item of its list.

    ``values`` are by attribute, ``None`` for an empty cell; what could not be read is in ``invalid``.
    ``names`` are texts that name a referred record, by column. ``key`` is the record's own key.
    Most rows have no issue: the empty collections are shared and replaced, never changed.
    """

    row: Row
    values: dict[str, Any]
    key: Any = None
    names: Mapping[ImportColumn, Sequence[str]] | None = None
    invalid: frozenset[str] = frozenset()
    errors: tuple[RowIssue, ...] = ()
    warnings: tuple[RowIssue, ...] = ()

    def reject(self, column: ImportColumn | None, code: str, message: str) -> None:
        index = None if column is None else column.index
        self.errors += (RowIssue(self.row, index, code, message),)
        if column is not None:
            self.invalid |= {column.member.attribute}
            self.values.pop(column.member.attribute, None)


@dataclass(frozen=True, slots=True)
class CellIssue:
    """What is wrong with a cell; a warning tells what was corrected, and ``value`` is what the cell gives."""

    code: str
    message: str
    value: Any = None
    is_warning: bool = False


class ColumnReader(dict[str, Any]):
    """The values of one column by its cells; equal cells are converted once."""

    def __init__(
        self, column: ImportColumn, table: Table, cleaner: Cleaner | None = None, day_first: bool = True
    ) -> None:
        self.column = column
        self.clean = cleaned_and_restored if table.has_formula_guards else cleaned
        self.can_have_error_values = table.has_cell_addresses
        self.cleaner = cleaner
        self.convert = converter(column.member, day_first)
        self.has_issues = False

    def __missing__(self, cell: str) -> Any:
        if len(self) >= MEMO_SIZE:
            self.clear()
        value = self[cell] = self.value(cell)
        self.has_issues |= isinstance(value, CellIssue)
        return value

    def value(self, cell: str) -> Any:
        text = self.clean(cell) if cell else ""
        if not text:
            return () if self.column.member.is_list else None
        try:
            if self.can_have_error_values and text[0] == "#":
                check_no_error_value(text)
            if self.cleaner is None:
                return self.convert(text)
            corrected = self.cleaner(text)
            value = self.convert(corrected.text)
        except JsonValueError as error:
            return CellIssue(error.code, f"{self.column.member.name} {error.sentence}")
        if not corrected.code:
            return value
        return CellIssue(corrected.code, corrected.message, value, is_warning=True)


def converter(member: Member, day_first: bool) -> CellReader:
    """What converts the cleaned text of a cell: to a value, a key, a name, or a tuple of keys or names."""
    if member.related is not None:
        return member.related.convert
    if member.record_name is not None:
        convert: CellReader = str
    elif member.is_key or member.navigation is not None:
        convert = key_reader(member.prop)
    else:
        return cell_reader(member.prop, day_first)
    if not member.is_list:
        return convert
    separator = LIST_SEPARATOR.strip()
    return lambda text: tuple(convert(part.strip()) for part in text.split(separator) if part.strip())


def key_reader(prop: StructuralProperty) -> CellReader:
    read = reader_of(prop)
    if prop.edm.name == "Edm.Guid":
        return read

    def read_number(text: str) -> Any:
        if not text.isdecimal() or len(text) > 18:
            raise JsonValueError("InvalidNumber", "must be a whole number.")
        return read(int(text))

    return read_number


class RowReader:
    """Reads the columns of one type from the rows of a file."""

    def __init__(
        self,
        type_: StructuredType,
        columns: Sequence[ImportColumn],
        table: Table,
        definition: ImportDefinition,
        day_first: bool = True,
        past_dates: Sequence[str] = (),
    ) -> None:
        self.columns = columns
        #: Attributes that count as not given, so that no rule about days to come rejects them.
        self.past_dates = frozenset(past_dates)
        self.members = record_reader(type_)
        self.draft_class: type[Draft] = type_.declaration.draft_class or Draft
        self.clean = cleaned_and_restored if table.has_formula_guards else cleaned
        self.required = [
            (member.attribute, member.name) for member in self.members.members if member.required
        ]
        self.readers = [
            ColumnReader(column, table, definition.cleaners.get(column.member.name), day_first)
            for column in columns
        ]
        self.by_attribute: Mapping[str, ImportColumn] = {
            column.member.attribute: column for column in reversed(columns)
        }

    def read(self, rows: Sequence[Row]) -> list[ReadRow]:
        """The values of rows that have a cell for each column; every cell that cannot be read is an error."""
        if not rows:
            return []
        cells = list(zip(*(row.cells for row in rows), strict=True))
        converted = [list(map(reader.__getitem__, cells[reader.column.index])) for reader in self.readers]
        keys: Sequence[Any] = [None] * len(rows)
        columns: dict[str, Sequence[Any]] = {}
        for reader, values in zip(self.readers, converted, strict=True):
            member = reader.column.member
            if member.is_key:
                keys = values
            elif member.record_name is None:
                columns[member.attribute] = values
            else:
                columns.setdefault(member.attribute, [() if member.is_list else None] * len(rows))
        names = tuple(columns)
        by_row = zip(*columns.values(), strict=True) if columns else repeat(())
        found = [
            ReadRow(row, dict(zip(names, values, strict=True)), key)
            for row, values, key in zip(rows, by_row, keys, strict=False)
        ]
        for reader, values in zip(self.readers, converted, strict=True):
            if reader.has_issues:
                note_cell_issues(found, reader.column, values)
            if reader.column.member.record_name is not None:
                note_names(found, reader.column, values)
        return found

    def is_empty(self, row: Row) -> bool:
        """Whether all cells of the columns are empty."""
        return not any(row.cells[column.index] and self.text(row, column) for column in self.columns)

    def text(self, row: Row, column: ImportColumn) -> str:
        """The cleaned cell."""
        return self.clean(row.cells[column.index])

    def check_required(self, one: ReadRow, only_columns: bool) -> None:
        """Reject a row without a required member; ``only_columns`` checks those that have a column."""
        for attribute, name in self.required:
            if one.values.get(attribute) is not None or attribute in one.invalid:
                continue
            column = self.by_attribute.get(attribute)
            if column is not None or not only_columns:
                index = None if column is None else column.index
                one.errors += (RowIssue(one.row, index, "Required", f"{name} is required."),)
                one.invalid |= {attribute}

    def new_draft(self, one: ReadRow) -> Draft:
        """The draft of a new record."""
        given = {name: value for name, value in one.values.items() if value is not None}
        given.pop(ARCHIVE_DATE, None)
        values = {**self.members.defaults(), **given}
        for name in one.invalid:
            values.pop(name, None)
        return self.draft_class(values, given.keys() - self.past_dates, one.invalid)


def note_cell_issues(rows: Sequence[ReadRow], column: ImportColumn, values: Sequence[Any]) -> None:
    """Note the issues among the values of a column; of a corrected cell the row gets the value."""
    for one, issue in zip(rows, values, strict=True):
        if not isinstance(issue, CellIssue):
            continue
        if not issue.is_warning:
            one.reject(column, issue.code, issue.message)
            continue
        one.warnings += (RowIssue(one.row, column.index, issue.code, issue.message, is_warning=True),)
        if column.member.is_key:
            one.key = issue.value
        else:
            one.values[column.member.attribute] = issue.value


def note_names(rows: Sequence[ReadRow], column: ImportColumn, values: Sequence[Any]) -> None:
    """Give the rows the texts by which they name a record."""
    for one, value in zip(rows, values, strict=True):
        if value and not isinstance(value, CellIssue):
            one.names = {**(one.names or {}), column: value if column.member.is_list else (value,)}


# --- the rows of a record -------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Candidate:
    """A record to be imported: what its rows give, the record it was found to be, the draft made of it.

    ``items`` are what was read of the rows of its list, ``existing_items`` of each the item it changes.
    """

    rows: list[Row]
    read: ReadRow
    items: Sequence[ReadRow] = ()
    existing: Any = None
    existing_items: Sequence[Any] = ()
    draft: Draft | None = None

    @property
    def number(self) -> int:
        return self.read.row.number

    @property
    def is_complete(self) -> bool:
        """Whether every row has its form, so that its cells can be read."""
        return (len(self.rows) == 1 and self.read.row.defect is None) or all(
            r.defect is None for r in self.rows
        )

    @property
    def is_rejected(self) -> bool:
        return bool(self.read.errors) or any(item.errors for item in self.items)

    def issues(self) -> list[RowIssue]:
        """The errors, and the warnings of cells that have no error."""
        errors = [error for read in (self.read, *self.items) for error in read.errors]
        faulty = {(id(error.row), error.column) for error in errors}
        return errors + [one for one in self.warnings() if (id(one.row), one.column) not in faulty]

    def warnings(self) -> list[RowIssue]:
        return [warning for read in (self.read, *self.items) for warning in read.warnings]


def read_candidates(
    records: Sequence[tuple[list[Row], bool]], own: RowReader, items: RowReader | None
) -> list[Candidate]:
    """What the rows of each record give, as (rows, whether they are too many) pairs.

    Every cell that cannot be read, or differs from the record's first row, is an error.
    """
    reads = iter(own.read([rows[0] for rows, _ in records if rows[0].defect is None]))
    found = [
        Candidate(rows, next(reads) if rows[0].defect is None else ReadRow(rows[0], {}))
        for rows, _ in records
    ]
    for one in found:
        for row in one.rows:
            if row.defect is not None:
                one.read.errors += (RowIssue(row, None, "InvalidRow", f"The row {row.defect}"),)
    if items is None:
        return found
    for one in found:
        if one.read.row.defect is None:
            check_agreement(own, one)
    item_rows = [
        [row for row in one.rows if not items.is_empty(row)] if one.is_complete else [] for one in found
    ]
    read_items = iter(items.read([row for rows in item_rows for row in rows]))
    for one, rows, (_, too_long) in zip(found, item_rows, records, strict=True):
        one.items = [next(read_items) for _ in rows]
        if too_long or len(one.items) > settings.API_MAX_LINES:
            message = f"A record may have {settings.API_MAX_LINES:,} items at most; divide this one."
            one.read.errors += (RowIssue(one.read.row, None, "TooLong", message),)
    return found


def check_agreement(own: RowReader, one: Candidate) -> None:
    """What a further row gives of the record must be what its first row gives."""
    first = one.rows[0]
    for row in one.rows[1:]:
        if row.defect is not None or row.item is not None:
            continue
        for reader in own.readers:
            column = reader.column
            cell, before = row.cells[column.index], first.cells[column.index]
            if not cell or cell == before:
                continue
            text, other = own.text(row, column), own.text(first, column)
            if text and text != other and not is_same_value(reader, text, other):
                named = quoted(other) if other else "nothing"
                message = f"Row {first.number:,} of the same record says {named}."
                one.read.errors += (RowIssue(row, column.index, "Differs", message),)


def is_same_value(reader: ColumnReader, text: str, other: str) -> bool:
    """Whether two texts are one value: 1/7/2026 and 2026-07-01, a number with blanks and without."""
    if not text or not other:
        return False
    member = reader.column.member
    if member.record_name is not None:
        return member.record_name.compare(text) == member.record_name.compare(other)
    if normalised_column(member.prop.source_field) is not None:
        return normalised(text) == normalised(other)
    values = reader.value(text), reader.value(other)
    return not any(isinstance(value, CellIssue) for value in values) and values[0] == values[1]
