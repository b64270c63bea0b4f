"""Rows as values: cells cleaned and converted column by column, every faulty cell noted with its place."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any

from django.conf import settings

from apps.base.cell_texts import LIST_SEPARATOR
from apps.base.declaration.schema import StructuredType
from apps.base.declaration.values import WireValueError
from apps.base.drafts import Draft
from apps.base.new_records import defaults_of, required_members
from apps.core.importing.cells import (
    CellReader,
    cell_reader,
    check_no_error_value,
    cleaned,
    cleaned_and_restored,
)
from apps.core.importing.columns import ImportColumn, Member
from apps.core.importing.days import DayColumn
from apps.core.importing.definition import Cleaner, ImportDefinition
from apps.core.importing.file_declaration import normalised_column
from apps.core.importing.records import CellIssue, ReadRecord, RecordRows
from apps.core.importing.references import NamedReference
from apps.core.importing.report import RowIssue, quoted
from apps.core.models import Subscriber, normalised
from apps.core.table_files.tables import Row, Table

#: Set after the service has saved a record; rules read it of existing ones.
ARCHIVE_DATE = "archive_date"
#: Texts of a column whose values are remembered; columns of names, states and days have few.
MEMO_SIZE = 10_000


class ColumnReader:
    """Reads the cells of one column: ``values`` are what they give, ``None`` or ``()`` for an empty cell.

    ``comparable`` is the same for all spellings of a value, ``None`` for an empty cell.
    """

    def __init__(
        self, column: ImportColumn, table: Table, definition: ImportDefinition, day_first: bool | None = None
    ) -> None:
        self.column, self.index, self.mapped = column, column.index, column.mapped
        self.clean = cleaned_and_restored if table.has_formula_guards else cleaned
        self.can_have_error_values = table.has_cell_addresses
        #: The order of its days, if they are days; every cell is observed before one is read.
        self.days = day_column(column.member, definition, day_first)
        self.cleaner = self.days.read if self.days is not None else cleaner_of(column.member, definition)
        self.convert = converter(column.member)
        self.empty = () if column.member.is_list else None
        self.has_issues = False
        # Equal cells are converted once.
        self.values = lru_cache(MEMO_SIZE)(self.value)
        self.comparable = lru_cache(MEMO_SIZE)(self.comparable_value)

    def text(self, cell: str) -> str:
        """The text of the cell, or the one that the user says in its place."""
        text = self.clean(cell) if cell else ""
        return self.mapped.get(text.casefold(), text) if self.mapped else text

    def value(self, cell: str) -> Any:
        return self.value_of_text(self.text(cell))

    def value_of_text(self, text: str) -> Any:
        if not text:
            return self.empty
        try:
            if self.can_have_error_values and text[0] == "#":
                check_no_error_value(text)
            if self.cleaner is None:
                return self.convert(text)
            corrected = self.cleaner(text)
            value = self.convert(corrected.text) if corrected.text else self.empty
        except WireValueError as error:
            self.has_issues = True
            return CellIssue(error.code, f"{self.column.member.name} {error.sentence}")
        if not corrected.code:
            return value
        self.has_issues = True
        return CellIssue(corrected.code, corrected.message, value, is_warning=True)

    def comparable_value(self, cell: str) -> Any:
        text, member = self.text(cell), self.column.member
        if not text:
            return None
        if member.record_name is not None:
            return member.record_name.compare(text) or text
        if member.is_import_reference or normalised_column(member.prop.source_field) is not None:
            return normalised(text)
        value = self.value_of_text(text)
        if not isinstance(value, CellIssue):
            return value
        return value.value if value.is_warning else text


def day_column(member: Member, definition: ImportDefinition, day_first: bool | None) -> DayColumn | None:
    """How the days of a column are read; ``None`` when it has none."""
    if member.is_reference or member.related is not None or member.is_import_reference:
        return None
    if member.prop.edm.name not in ("Edm.Date", "Edm.DateTimeOffset"):
        return None
    is_birthday = member.attribute in definition.birthdays
    return DayColumn(day_first, Subscriber.current().day_first, is_birthday)


def cleaner_of(member: Member, definition: ImportDefinition) -> Cleaner | None:
    """The function that corrects the texts of a column; one that names a record has its spellings instead."""
    if member.navigation is not None or member.record_name is not None:
        return None
    return definition.cleaners.get(member.attribute)


def converter(member: Member) -> CellReader:
    """The function that converts a cleaned cell: to a value, a key, or a tuple of keys or names."""
    if member.related is not None:
        return member.related.convert
    is_name = member.record_name is not None
    convert: CellReader = str if is_name else cell_reader(member.prop)
    if member.is_list:
        separator = LIST_SEPARATOR.strip()
        return lambda text: tuple(convert(part.strip()) for part in text.split(separator) if part.strip())
    return (lambda text: (text,)) if is_name else convert


class RowReader:
    """Reads the columns of one type from the rows of a file, and makes drafts of what they give."""

    def __init__(
        self,
        type_: StructuredType,
        columns: Sequence[ImportColumn],
        table: Table,
        definition: ImportDefinition,
        day_first: bool | None = None,
        past_dates: Sequence[str] = (),
    ) -> None:
        #: Attributes that count as not given, so that no rule about days to come rejects them.
        self.past_dates = frozenset(past_dates)
        self.defaults = defaults_of(type_)
        self.draft_class: type[Draft] = type_.declaration.draft_class or Draft
        self.required = required_members(type_)
        self.readers = [ColumnReader(column, table, definition, day_first) for column in columns]
        self.by_attribute: Mapping[str, ImportColumn] = {
            column.member.attribute: column for column in reversed(columns)
        }
        self.complete = definition.complete_values
        named: dict[str, list[ColumnReader]] = defaultdict(list)
        for reader in self.readers:
            if reader.column.member.record_name is not None:
                named[reader.column.member.attribute].append(reader)
        self.references = [
            (readers, NamedReference([r.column for r in readers], name in definition.later_references))
            for name, readers in named.items()
        ]

    def read(self, rows: Sequence[Row]) -> list[ReadRecord]:
        """The values of rows that have a cell for each column; every cell that cannot be read is an error."""
        if not rows:
            return []
        cells = list(zip(*(row.cells for row in rows), strict=True))
        keys: Sequence[Any] = [None] * len(rows)
        columns: dict[str, Sequence[Any]] = {}
        converted = {reader: list(map(reader.values, cells[reader.index])) for reader in self.readers}
        issues: list[tuple[int, ImportColumn, CellIssue]] = []
        for reader, values in converted.items():
            member = reader.column.member
            for number, value in enumerate(values) if reader.has_issues else ():
                if isinstance(value, CellIssue):
                    issues.append((number, reader.column, value))
                    values[number] = value.value
            if member.is_key:
                keys = values
            elif member.record_name is None:
                columns[member.attribute] = values
            else:
                columns.setdefault(member.attribute, [reader.empty] * len(rows))
        names = tuple(columns)
        by_row = zip(*columns.values(), strict=True) if columns else repeat(())
        found = [
            ReadRecord(row, dict(zip(names, values, strict=True)), key)
            for row, values, key in zip(rows, by_row, keys, strict=False)
        ]
        if (complete := self.complete) is not None:
            for record in found:
                complete(record.values)
        for number, column, issue in issues:
            found[number].note(column, issue)
        for readers, reference in self.references:
            reference.resolve(found, [converted[reader] for reader in readers])
        return found

    def is_empty(self, row: Row) -> bool:
        """True when all cells of the columns are empty."""
        return not any(reader.clean(row.cells[reader.index]) for reader in self.readers)

    def check_required(self, record: ReadRecord, only_columns: bool, given: str | None = None) -> None:
        """Reject a row without a required member, unless it is ``given`` elsewhere.

        ``only_columns`` checks those that have a column.
        """
        for attribute, name in self.required.items():
            if record.values.get(attribute) is not None or attribute in (given, *record.invalid):
                continue
            column = self.by_attribute.get(attribute)
            if column is not None or not only_columns:
                record.reject(column, "Required", f"{name} is required.")
                record.invalid |= {attribute}

    def new_draft(self, record: ReadRecord) -> Draft:
        """The draft of a new record."""
        given = {name: value for name, value in record.values.items() if value is not None}
        given.pop(ARCHIVE_DATE, None)
        values = {**self.defaults.values(), **given}
        for name in record.invalid:
            values.pop(name, None)
        return self.draft_class(values, given.keys() - self.past_dates, record.invalid)


# --- the rows of a record -------------------------------------------------------------------------------


def read_records(records: Sequence[RecordRows], own: RowReader, items: RowReader | None) -> list[ReadRecord]:
    """The values that the rows of each record give.

    Every cell that cannot be read, or differs from the record's first row, is an error; a record with a row
    of a wrong form has no items.
    """
    reads = iter(own.read([source.rows[0] for source in records if source.rows[0].defect is None]))
    found = []
    for source in records:
        first = source.rows[0]
        record = next(reads) if first.defect is None else ReadRecord(first, {})
        record.source = source
        record.errors += tuple(
            RowIssue(row, None, "InvalidRow", f"The row {row.defect}")
            for row in source.rows
            if row.defect is not None
        )
        found.append(record)
    if items is None:
        return found
    item_rows = []
    for record in found:
        is_complete = all(row.defect is None for row in record.rows)
        item_rows.append([row for row in record.rows if not items.is_empty(row)] if is_complete else [])
        if record.row.defect is None:
            check_agreement(own, record)
    read_items = iter(items.read([row for rows in item_rows for row in rows]))
    for record, rows, source in zip(found, item_rows, records, strict=True):
        record.items = [next(read_items) for _ in rows]
        if source.too_long or len(record.items) > settings.MAX_LINES:
            message = f"A record may have {settings.MAX_LINES:,} items at most; divide this one."
            record.reject(None, "TooLong", message)
    return found


def check_agreement(own: RowReader, record: ReadRecord) -> None:
    """Check that further rows give of the record what its first row gives: 1/7/2026 is 2026-07-01."""
    for row in record.rows[1:]:
        for reader in own.readers if row.defect is None and row.item is None else ():
            cell, first = row.cells[reader.index], record.row.cells[reader.index]
            if cell and cell != first and reader.comparable(cell) not in (None, reader.comparable(first)):
                named = quoted(reader.clean(first)) if reader.clean(first) else "nothing"
                message = f"Row {record.row.number:,} of the same record says {named}."
                record.errors += (RowIssue(row, reader.index, "Differs", message),)
