"""The records of a file as values: their rows read, and compared where several are one record."""

from collections.abc import Sequence

from django.conf import settings

from apps.core.importing.record_columns import RecordColumns
from apps.core.importing.records import ReadRecord, RecordRows
from apps.core.importing.report import RowIssue, quoted


def read_records(records: Sequence[RecordRows], columns: RecordColumns) -> list[ReadRecord]:
    """The values that the rows of each record give.

    Every cell that cannot be read, or differs from the record's first row, is an error; a record with a row
    of a wrong form has no items.
    """
    reads = iter(columns.read([source.rows[0] for source in records if source.rows[0].defect is None]))
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
    items = columns.items
    if items is None:
        return found
    item_rows = []
    for record in found:
        is_complete = all(row.defect is None for row in record.rows)
        item_rows.append([row for row in record.rows if not items.is_empty(row)] if is_complete else [])
        if record.row.defect is None:
            check_agreement(columns, record)
    read_items = iter(items.read([row for rows in item_rows for row in rows]))
    for record, rows, source in zip(found, item_rows, records, strict=True):
        record.items = [next(read_items) for _ in rows]
        if source.too_long or len(record.items) > settings.MAX_LINES:
            message = f"A record may have {settings.MAX_LINES:,} items at most; divide this one."
            record.reject(None, "TooLong", message)
    return found


def check_agreement(columns: RecordColumns, record: ReadRecord) -> None:
    """Check that further rows give of the record what its first row gives: 1/7/2026 is 2026-07-01."""
    for row in record.rows[1:]:
        for column in columns.columns if row.defect is None and row.item is None else ():
            cell, first = row.cells[column.index], record.row.cells[column.index]
            if cell and cell != first and column.comparable(cell) not in (None, column.comparable(first)):
                said = column.cleaned(first)
                named = quoted(said) if said else "nothing"
                message = f"Row {record.row.number:,} of the same record says {named}."
                record.errors += (RowIssue(row, column.index, "Differs", message),)
