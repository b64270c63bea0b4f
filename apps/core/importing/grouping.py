"""Grouping of the rows of a file to records: adjacent rows that share what identifies the record."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.conf import settings

from apps.core.importing.columns import RecordColumn
from apps.core.importing.definition import ImportDefinition
from apps.core.importing.records import RecordRows
from apps.core.table_files.tables import Row


class RowGrouper:
    """Groups rows into records. Without a list in the file each row is a record.

    A row belongs to the record above when it has the same key, or none and no other value of its own.
    """

    def __init__(
        self,
        own: Sequence[RecordColumn],
        keys: Sequence[tuple[Sequence[RecordColumn], Sequence[RecordColumn]]],
        has_items: bool,
    ) -> None:
        """``own`` are the record's own columns, ``keys`` the combinations that identify a record.

        Each combination is the columns of its first value, which must be given, and those of the others.
        """
        self.own, self.keys, self.has_items = own, keys, has_items

    def batches(self, rows: Iterable[Row], size: int) -> Iterator[list[RecordRows]]:
        """Records of about so many rows; the rows of one are never in two batches."""
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
            elif len(record.rows) > 2 * settings.MAX_LINES:
                record.too_long = True
                yield record
                record = RecordRows([row], record.key, too_long=True)
            else:
                record.rows.append(row)
        if record is not None:
            yield record

    def key_of(self, row: Row) -> tuple[int, tuple[Any, ...]] | None:
        """The key of the row's record, as ``RecordRows`` has it; ``None`` when the row does not say."""
        for rank, (first, others) in enumerate(self.keys):
            texts = comparable_texts(row, first)
            if any(text is not None for text in texts):
                return rank, texts + comparable_texts(row, others)
        return None

    def continues(self, record: RecordRows, row: Row) -> bool:
        """True when the row belongs to the record."""
        first_row = record.rows[0]
        if row.item is not None or first_row.item is not None:
            return row.number == first_row.number
        key = self.key_of(row)
        if record.key is None or key is None:
            return key is None and self.has_no_other_value(first_row, row, record.key is not None)
        rank, wanted = record.key
        if key[0] < rank:
            return False
        first, others = self.keys[rank]
        texts = comparable_texts(row, first)
        if all(text is None for text in texts):
            return self.has_no_other_value(first_row, row, True)
        # The other members of the combination may be given in the first row only.
        return texts == wanted[: len(first)] and all(
            text in (None, other)
            for text, other in zip(comparable_texts(row, others), wanted[len(first) :], strict=True)
        )

    def has_no_other_value(self, first: Row, row: Row, may_repeat: bool) -> bool:
        """True when the row gives no value of the record itself but, where it may, those of its first row."""
        if row.defect is not None:
            return True  # whatever it is, the record above it may lack a row
        for column in self.own:
            cell = row.cells[column.index]
            if column.comparable(cell) is None:
                continue
            if not may_repeat or [cell] != [*first.cells[column.index : column.index + 1]]:
                return False
        return True


def comparable_texts(row: Row, columns: Iterable[RecordColumn]) -> tuple[Any, ...]:
    # A defective row may be shorter than the header.
    width = len(row.cells)
    return tuple(
        column.comparable(row.cells[column.index]) if column.index < width else None for column in columns
    )


def group_keys(
    definition: ImportDefinition, known: Mapping[str, RecordColumn], columns: Sequence[RecordColumn]
) -> list[tuple[Sequence[RecordColumn], Sequence[RecordColumn]]]:
    """The combinations of a file's columns that identify its records, as ``RowGrouper`` has them.

    ``known`` are all columns that files may have, by their name.
    """
    keys: list[tuple[Sequence[RecordColumn], Sequence[RecordColumn]]] = []
    for names in definition.group_fields:
        targets = [known[name].target for name in names]
        first, *others = [[column for column in columns if column.target == target] for target in targets]
        if first:
            keys.append((first, [column for some in others for column in some]))
    return keys
