"""Which rows of a file are one record: those of its list stand together and share what it is known by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from django.conf import settings

from apps.core.identifiers import normalised
from apps.core.importing.additions import Importing
from apps.core.importing.cells import CellReader
from apps.core.importing.folding import twin_of
from apps.core.importing.headers import REFERENCE, Column, members
from apps.core.importing.reports import Remark, quoted
from apps.core.importing.rows import ReadRow, RowReader, in_trouble
from apps.core.importing.tables import Row
from apps.odata.declaration.schema import EntitySet
from apps.odata.write.drafts import Draft
from apps.odata.write.json_values import JsonValueError


@dataclass(frozen=True, slots=True)
class Mark:
    """What the rows of a record share: the columns it stands in, and their texts as compared."""

    rank: int
    columns: tuple[Column, ...]
    texts: tuple[str | None, ...]


@dataclass(eq=False, slots=True)
class FileRecord:
    """The rows that are one record. Of one that is ``too_long`` there may be more."""

    rows: list[Row]
    mark: Mark | None = None
    too_long: bool = False


class Together:
    """Puts rows together. Without a list in the file each row is a record.

    A row goes on with the record above when it has the same mark, or none and nothing else of its own.
    """

    def __init__(
        self,
        entity_set: EntitySet,
        importing: Importing,
        columns: Sequence[Column],
        own: RowReader,
        items: RowReader | None,
    ) -> None:
        self.own, self.items = own, items
        known = members(entity_set, importing.finders)
        by_member = {
            name: tuple(column for column in columns if column.member.gives == member.gives)
            for name, member in known.items()
            if not member.is_reference
        }
        by_member[REFERENCE] = tuple(column for column in columns if column.member.is_reference)
        ways = [tuple(by_member[name] for name in names) for names in importing.together]
        #: Each way as its first column, which must be given, and the others, which tell apart.
        self.ways = [tuple(column for some in way for column in some) for way in ways if way[0]]
        self.firsts = [len(way[0]) for way in ways if way[0]]

    def records(self, rows: Iterable[Row]) -> Iterator[FileRecord]:
        """The records in the order of the file, with no more rows in memory than one may have."""
        if self.items is None:
            yield from (FileRecord([row]) for row in rows)
            return
        held: FileRecord | None = None
        for row in rows:
            if held is None or not self.goes_on(held, row):
                if held is not None:
                    yield held
                held = FileRecord([row], None if row.item is not None else self.mark_of(row))
            elif len(held.rows) > 2 * settings.API_MAX_LINES:
                held.too_long = True
                yield held
                held = FileRecord([row], held.mark, too_long=True)
            else:
                held.rows.append(row)
        if held is not None:
            yield held

    def batches(self, rows: Iterable[Row], size: int) -> Iterator[list[FileRecord]]:
        """Records of about so many rows; the rows of one are never in two batches."""
        if self.items is None:
            records = self.records(rows)
            while batch := list(islice(records, size)):
                yield batch
            return
        batch = []
        number = 0
        for record in self.records(rows):
            batch.append(record)
            number += len(record.rows)
            if number >= size:
                yield batch
                batch, number = [], 0
        if batch:
            yield batch

    def mark_of(self, row: Row) -> Mark | None:
        """What the row's record is known by; ``None`` when it says nothing of that."""
        for rank, columns in enumerate(self.ways):
            texts = self.texts(row, columns)
            if any(texts[: self.firsts[rank]]):
                return Mark(rank, columns, texts)
        return None

    def texts(self, row: Row, columns: Iterable[Column]) -> tuple[str | None, ...]:
        # A row in trouble may be shorter than the header.
        width = len(row.cells)
        return tuple(
            as_compared(column, self.own.text(row, column)) if column.index < width else None
            for column in columns
        )

    def goes_on(self, held: FileRecord, row: Row) -> bool:
        first = held.rows[0]
        if row.item is not None or first.item is not None:
            return row.number == first.number
        mark = self.mark_of(row)
        if held.mark is None or mark is None:
            return mark is None and self.says_nothing_else(first, row, held.mark is not None)
        if mark.rank < held.mark.rank:
            return False
        texts = self.texts(row, held.mark.columns)
        number = self.firsts[held.mark.rank]
        if not any(texts[:number]):
            return self.says_nothing_else(first, row, True)
        # What tells apart may be given in the first row only.
        return texts[:number] == held.mark.texts[:number] and all(
            text is None or text == other
            for text, other in zip(texts[number:], held.mark.texts[number:], strict=True)
        )

    def says_nothing_else(self, first: Row, row: Row, may_repeat: bool) -> bool:
        """Whether the row says nothing of the record itself but, where it may, what its first row says."""
        if row.trouble is not None:
            return True  # whatever it is, the record above it is not certain to be whole
        for column in self.own.columns:
            cell = row.cells[column.index]
            if not cell or not self.own.text(row, column):
                continue
            if not may_repeat or [cell] != [*first.cells[column.index : column.index + 1]]:
                return False
        return True


@dataclass(eq=False, slots=True)
class Candidate:
    """A record on its way in: what its rows say, the record it was found to be, the draft made of it.

    ``items`` are what was read of the rows of its list, ``standing`` of each the item it is found to be.
    """

    rows: list[Row]
    read: ReadRow
    items: list[ReadRow] = field(default_factory=list)
    standing: list[Any] = field(default_factory=list)
    record: Any = None
    draft: Draft | None = None

    @property
    def number(self) -> int:
        return self.rows[0].number

    @property
    def is_whole(self) -> bool:
        """Whether every row has its form, so that its cells can be read."""
        return all(row.trouble is None for row in self.rows)

    @property
    def is_faulty(self) -> bool:
        return bool(self.read.faults) or any(item.faults for item in self.items)

    def remarks(self) -> list[Remark]:
        """The faults, and the warnings of cells that have no fault."""
        faults = [fault for read in (self.read, *self.items) for fault in read.faults]
        wrong = {(id(fault.row), fault.column) for fault in faults}
        return faults + [one for one in self.warnings() if (id(one.row), one.column) not in wrong]

    def warnings(self) -> list[Remark]:
        return [warning for read in (self.read, *self.items) for warning in read.warnings]


class Assembler:
    """Reads the rows of a record as one."""

    def __init__(self, own: RowReader, items: RowReader | None) -> None:
        self.own, self.items = own, items

    def read(self, record: FileRecord) -> Candidate:
        """What the rows say; every cell that cannot be read or says another thing is a fault."""
        first = record.rows[0]
        found = Candidate(record.rows, self.own.read(first))
        if self.items is None:
            return found
        for row in record.rows[1:]:
            if row.trouble is not None:
                found.read.faults.append(in_trouble(row))
            elif first.trouble is None and row.item is None:
                self.compare(found, row)
        if found.is_whole:
            found.items = [self.items.read(row) for row in record.rows if not self.items.is_empty(row)]
        if record.too_long or len(found.items) > settings.API_MAX_LINES:
            message = f"A record may have {settings.API_MAX_LINES:,} items at most; divide this one."
            found.read.faults.append(Remark(first, None, "TooLong", message))
        return found

    def compare(self, found: Candidate, row: Row) -> None:
        """What a further row says of the record must be what its first row says."""
        first = found.rows[0]
        for column, read in self.own.readers:
            cell, before = row.cells[column.index], first.cells[column.index]
            if not cell or cell == before:
                continue
            text, other = self.own.text(row, column), self.own.text(first, column)
            if text and text != other and not is_one_value(column, read, text, other):
                message = (
                    f"Row {first.number:,} of the same record says {quoted(other) if other else 'nothing'}."
                )
                found.read.faults.append(Remark(row, column.index, "Differs", message))


def as_compared(column: Column, text: str) -> str | None:
    """What is the same for all spellings of a text that names a record."""
    finder = column.member.finder
    return finder.same(text) if finder is not None else normalised(text)


def is_one_value(column: Column, read: CellReader, text: str, other: str) -> bool:
    """Whether two texts are one value: 1/7/2026 and 2026-07-01, a number with blanks and without."""
    if not text or not other:
        return False
    if column.member.finder is not None or twin_of(column.member.prop.source_field) is not None:
        return as_compared(column, text) == as_compared(column, other)
    try:
        return bool(read(text) == read(other))
    except JsonValueError:
        return False
