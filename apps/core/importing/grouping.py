"""Which rows of a file are one record: adjacent rows that share what identifies it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from django.conf import settings

from apps.core.identifiers import normalised
from apps.core.importing.columns import IMPORT_REFERENCE, ImportColumn, members_of
from apps.core.importing.definition import ImportDefinition
from apps.core.importing.reading import RowReader
from apps.core.importing.tables import Row
from apps.odata.declaration.schema import EntitySet


@dataclass(frozen=True, slots=True)
class GroupKey:
    """What the rows of a record share: the columns that identify it, and their texts as compared.

    ``rank`` is the place of the columns among the combinations of ``group_fields``.
    """

    rank: int
    columns: tuple[ImportColumn, ...]
    texts: tuple[str | None, ...]


@dataclass(eq=False, slots=True)
class RecordRows:
    """The rows that are one record. Of one that is ``too_long`` there may be more."""

    rows: list[Row]
    key: GroupKey | None = None
    too_long: bool = False


class RowGrouper:
    """Groups rows into records. Without a list in the file each row is a record.

    A row belongs to the record above when it has the same key, or none and no other value of its own.
    """

    def __init__(
        self,
        entity_set: EntitySet,
        definition: ImportDefinition,
        columns: Sequence[ImportColumn],
        own: RowReader,
        has_items: bool,
    ) -> None:
        self.own, self.has_items = own, has_items
        by_member = {
            name: tuple(column for column in columns if column.member.target == member.target)
            for name, member in members_of(entity_set).items()
            if not member.is_import_reference
        }
        by_member[IMPORT_REFERENCE] = tuple(c for c in columns if c.member.is_import_reference)
        groups = [tuple(by_member[name] for name in names) for names in definition.group_fields]
        #: Each combination as the columns of its first member, which must be given, and those of the others.
        self.key_columns = [
            tuple(column for some in group for column in some) for group in groups if group[0]
        ]
        self.required = [len(group[0]) for group in groups if group[0]]

    def batches(self, rows: Iterable[Row], size: int) -> Iterator[list[RecordRows]]:
        """Records of about so many rows; the rows of one are never in two batches."""
        records = self.records(rows)
        if not self.has_items:
            while batch := list(islice(records, size)):
                yield batch
            return
        batch = []
        number = 0
        for record in records:
            batch.append(record)
            number += len(record.rows)
            if number >= size:
                yield batch
                batch, number = [], 0
        if batch:
            yield batch

    def records(self, rows: Iterable[Row]) -> Iterator[RecordRows]:
        """The records in the order of the file, with no more rows in memory than one may have."""
        if not self.has_items:
            yield from (RecordRows([row]) for row in rows)
            return
        record: RecordRows | None = None
        for row in rows:
            if record is None or not self.continues(record, row):
                if record is not None:
                    yield record
                record = RecordRows([row], None if row.item is not None else self.key_of(row))
            elif len(record.rows) > 2 * settings.API_MAX_LINES:
                record.too_long = True
                yield record
                record = RecordRows([row], record.key, too_long=True)
            else:
                record.rows.append(row)
        if record is not None:
            yield record

    def key_of(self, row: Row) -> GroupKey | None:
        """What identifies the row's record; ``None`` when the row does not say."""
        for rank, columns in enumerate(self.key_columns):
            texts = self.texts(row, columns)
            if any(texts[: self.required[rank]]):
                return GroupKey(rank, columns, texts)
        return None

    def texts(self, row: Row, columns: Iterable[ImportColumn]) -> tuple[str | None, ...]:
        # A defective row may be shorter than the header.
        width = len(row.cells)
        return tuple(
            compared_text(column, self.own.text(row, column)) if column.index < width else None
            for column in columns
        )

    def continues(self, record: RecordRows, row: Row) -> bool:
        """Whether the row belongs to the record."""
        first = record.rows[0]
        if row.item is not None or first.item is not None:
            return row.number == first.number
        key = self.key_of(row)
        if record.key is None or key is None:
            return key is None and self.has_no_other_value(first, row, record.key is not None)
        if key.rank < record.key.rank:
            return False
        texts = self.texts(row, record.key.columns)
        number = self.required[record.key.rank]
        if not any(texts[:number]):
            return self.has_no_other_value(first, row, True)
        # The other members of the combination may be given in the first row only.
        return texts[:number] == record.key.texts[:number] and all(
            text is None or text == other
            for text, other in zip(texts[number:], record.key.texts[number:], strict=True)
        )

    def has_no_other_value(self, first: Row, row: Row, may_repeat: bool) -> bool:
        """Whether the row gives no value of the record itself but, where it may, those of its first row."""
        if row.defect is not None:
            return True  # whatever it is, the record above it may lack a row
        for column in self.own.columns:
            cell = row.cells[column.index]
            if not cell or not self.own.text(row, column):
                continue
            if not may_repeat or [cell] != [*first.cells[column.index : column.index + 1]]:
                return False
        return True


def compared_text(column: ImportColumn, text: str) -> str | None:
    """What is the same for all spellings of a text that identifies a record."""
    record_name = column.member.record_name
    return record_name.compare(text) if record_name is not None else normalised(text)
