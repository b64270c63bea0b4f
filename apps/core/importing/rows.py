"""A row as a draft: its cells cleaned and read, every fault noted with its column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.core.importing.additions import Importing
from apps.core.importing.cells import CellReader, cell_reader, cleaned, cleaned_and_restored
from apps.core.importing.headers import Column, Member
from apps.core.importing.reports import Remark
from apps.core.importing.tables import Row
from apps.odata.declaration.schema import StructuralProperty, StructuredType
from apps.odata.read.flattening import LIST_SEPARATOR
from apps.odata.write.bodies import record_reader
from apps.odata.write.drafts import Draft
from apps.odata.write.json_values import JsonValueError, reader_of


@dataclass(slots=True)
class ReadRow:
    """What was read of a row: of the record itself, or of an item of its list.

    ``values`` are the values by attribute, ``None`` for an empty cell; what could not be read is in
    ``faulty``. ``finders`` are texts that name a referred record, by column. ``key`` is the record's own key.
    """

    row: Row
    values: dict[str, Any] = field(default_factory=dict)
    invalid: set[str] = field(default_factory=set)
    finders: dict[Column, list[str]] = field(default_factory=dict)
    faults: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)
    key: Any = None

    def refuse(self, column: Column | None, code: str, message: str) -> None:
        index = None if column is None else column.index
        self.faults.append(Remark(self.row, index, code, message))
        if column is not None:
            self.invalid.add(column.member.attribute)
            self.values.pop(column.member.attribute, None)

    def warn(self, column: Column | None, code: str, message: str) -> None:
        index = None if column is None else column.index
        self.warnings.append(Remark(self.row, index, code, message, is_warning=True))


class RowReader:
    """Reads the columns of one type from the rows of a file."""

    def __init__(
        self,
        type_: StructuredType,
        columns: Sequence[Column],
        importing: Importing,
        day_first: bool = True,
        has_guards: bool = True,
    ) -> None:
        self.columns = columns
        self.record = record_reader(type_)
        self.cleaners = importing.cleaners
        self.clean = cleaned_and_restored if has_guards else cleaned
        self.required = [(member.attribute, member.name) for member in self.record.members if member.required]
        self.readers: list[tuple[Column, CellReader]] = [
            (column, self._reader(column.member, day_first)) for column in columns
        ]
        self.by_attribute: Mapping[str, Column] = {
            column.member.attribute: column for column in reversed(columns)
        }

    def _reader(self, member: Member, day_first: bool) -> CellReader:
        if member.finder is not None:
            return str
        if member.is_key or member.reference is not None:
            return key_reader(member.prop)
        return cell_reader(member.prop, day_first)

    def read(self, row: Row) -> ReadRow:
        """The row's values; every cell that cannot be read is a fault."""
        found = ReadRow(row)
        if row.trouble is not None:
            found.faults.append(in_trouble(row))
            return found
        for column, read in self.readers:
            cell = row.cells[column.index]
            text = self.clean(cell) if cell else ""
            if not text:
                self._empty(found, column)
                continue
            try:
                self._give(found, column, read, text)
            except JsonValueError as fault:
                found.refuse(column, fault.code, f"{column.member.name} {fault.sentence}")
        return found

    def _empty(self, found: ReadRow, column: Column) -> None:
        if not column.member.is_key:
            found.values.setdefault(column.member.attribute, [] if is_list(column.member) else None)

    def _give(self, found: ReadRow, column: Column, read: CellReader, text: str) -> None:
        member = column.member
        clean = self.cleaners.get(member.name)
        if clean is not None:
            cleaning = clean(text)
            if cleaning.code:
                found.warn(column, cleaning.code, cleaning.message)
            text = cleaning.text
        if member.is_key:
            found.key = read(text)
        elif member.finder is not None:
            found.finders[column] = [text]
        elif member.reference is None:
            found.values[member.attribute] = read(text)
        elif member.prop.source_field.primary_key:
            keys = [read(part) for part in parts_of(member, text)]
            found.values[member.attribute] = keys if is_list(member) else keys[0]
        else:
            found.finders[column] = parts_of(member, text)

    def is_empty(self, row: Row) -> bool:
        """Whether none of the columns says anything."""
        return not any(row.cells[column.index] and self.text(row, column) for column in self.columns)

    def text(self, row: Row, column: Column) -> str:
        """The cell, cleaned."""
        return self.clean(row.cells[column.index])

    def missing(self, found: ReadRow, only_told: bool) -> None:
        """Refuse what lacks a required member; ``only_told`` looks only at those that have a column."""
        for attribute, name in self.required:
            column = self.by_attribute.get(attribute)
            if found.values.get(attribute) is not None or attribute in found.invalid:
                continue
            if column is not None or not only_told:
                index = None if column is None else column.index
                found.faults.append(Remark(found.row, index, "Required", f"{name} is required."))
                found.invalid.add(attribute)

    def draft(self, found: ReadRow) -> Draft:
        """The row as a new record would be."""
        given = {name: value for name, value in found.values.items() if value is not None}
        values = {**self.record.defaults(), **given}
        for name in found.invalid:
            values.pop(name, None)
        return Draft(values, given, found.invalid)


def in_trouble(row: Row) -> Remark:
    return Remark(row, None, "InvalidRow", f"The row {row.trouble}")


def key_reader(prop: StructuralProperty) -> CellReader:
    read = reader_of(prop)
    if prop.edm.name == "Edm.Guid":
        return read

    def read_number(text: str) -> Any:
        if not text.isdecimal() or len(text) > 18:
            raise JsonValueError("InvalidNumber", "must be a whole number.")
        return read(int(text))

    return read_number


def is_list(member: Member) -> bool:
    return member.reference is not None and member.reference.many


def parts_of(member: Member, text: str) -> list[str]:
    """The values that a cell of a list holds, or the one of any other."""
    if not is_list(member):
        return [text]
    return [part.strip() for part in text.split(LIST_SEPARATOR.strip()) if part.strip()]
