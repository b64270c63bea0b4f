"""Matching of rows with existing records."""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db import models

from apps.base.batched_queries import AnyOf
from apps.core.importing.columns import RecordColumn
from apps.core.importing.record_columns import ItemColumns, RecordColumns
from apps.core.importing.record_names import compared_field
from apps.core.importing.records import ExistingRecord, ReadRecord
from apps.core.importing.references import number_issue
from apps.core.models import normalised

NEW_KEY_ADVICE = "leave it empty for a new one; --by-name reads a file of another database."


class FirstRows:
    """The row of the file in which each value occurs first: on disk, for files longer than the memory."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("CREATE TABLE first_rows (value INTEGER PRIMARY KEY, number INTEGER)")
        self._db.execute("BEGIN")

    def earlier(self, kind: str, values: Sequence[tuple[ReadRecord, object]]) -> list[tuple[ReadRecord, int]]:
        """The records among these whose value occurs in an earlier row, with that row's number."""
        # 64 bits, keyed anew in each process: two of a million values are one once in 40 million imports.
        marks = [hash(f"{kind}\0{value}") for _, value in values]
        before = self._db.total_changes
        self._db.executemany(
            "INSERT OR IGNORE INTO first_rows VALUES (?, ?)",
            [(mark, record.row.number) for mark, (record, _) in zip(marks, values, strict=True)],
        )
        if self._db.total_changes - before == len(values):
            return []
        select = "SELECT number FROM first_rows WHERE value = ?"
        numbers = [self._db.execute(select, [mark]).fetchone()[0] for mark in marks]
        found = ((record, number) for (record, _), number in zip(values, numbers, strict=True))
        return [(record, number) for record, number in found if number != record.row.number]

    def close(self) -> None:
        self._db.close()


def match_records(
    records: Sequence[ReadRecord],
    columns: RecordColumns,
    match_columns: Sequence[RecordColumn],
    first_rows: FirstRows,
    find_references: Callable[[Sequence[ReadRecord]], None],
) -> None:
    """Set the existing record of each record, and the existing items of its items.

    A record is the one that the first of ``match_columns`` finds, which the rows give, else one that equals
    it. A value that an earlier row of the file has is rejected where it identifies a record.
    """
    unique = [c for c in columns.columns if c.normalised_field is not None and c.normalised_field.unique]
    scopes = {column: column.scope for column in match_columns if column.scope in columns.by_attribute}
    compared = {
        column: compared_values(records, column, scopes.get(column))
        for column in dict.fromkeys([*match_columns, *unique])
    }
    matched: dict[RecordColumn, list[tuple[ReadRecord, Any]]] = defaultdict(list)
    unmatched: list[ReadRecord] = []
    for number, record in enumerate(records):
        for column in match_columns:
            if record.invalid and record.invalid & {column.attribute, scopes.get(column)}:
                break
            if (value := compared[column][number]) is not None:
                matched[column].append((record, value))
                break
        else:
            unmatched.append(record)
    for column, values in compared.items():
        given = [pair for pair in zip(records, values, strict=True) if pair[1] is not None]
        identified = {id(record) for record, _ in matched.get(column, ())}
        for record, earlier in first_rows.earlier(column.name, given):
            if column in unique or id(record) in identified:
                record.reject(column, "NotUnique", f"Row {earlier:,} of the file has it already.")
    for column, pairs in matched.items():
        find_by_column(column, scopes.get(column), columns, pairs)
    find_references(records)
    find_equal([record for record in unmatched if not record.is_rejected], columns, first_rows)
    if columns.items is not None:
        for record in records:
            match_items(record, columns.items)


def compared_values(records: Sequence[ReadRecord], column: RecordColumn, scope: str | None) -> list[Any]:
    """The values of a column as compared, with the value that decides among records."""
    values = [record.key if column.is_key else record.values.get(column.attribute) for record in records]
    if column.normalised_field is not None:
        values = [normalised(value) for value in values]
    if scope is None:
        return values
    pairs = zip(records, values, strict=True)
    return [None if value is None else (value, record.values.get(scope)) for record, value in pairs]


def find_by_column(
    column: RecordColumn,
    scope: str | None,
    columns: RecordColumns,
    wanted: Sequence[tuple[ReadRecord, Any]],
) -> None:
    by, meta = compared_field(columns.model, column.attribute), columns.model._meta
    texts = {value if scope is None else value[0] for _, value in wanted}
    is_mergeable = any(field.name == "merged_into" for field in meta.concrete_fields)
    merge_columns = ("archive_date", "merged_into_id") if is_mergeable else ()
    found: dict[Any, list[ExistingRecord]] = defaultdict(list)
    merged: dict[Any, list[ExistingRecord]] = defaultdict(list)
    for existing, (value, *merge) in columns.load(AnyOf(by.name, texts), extra=[by.attname, *merge_columns]):
        several = merged if merge and all(merge) else found
        several[value if scope is None else (value, existing.values[scope])].append(existing)
    for record, value in wanted:
        # A duplicate that was merged into another is found where no other record has the value.
        records = found.get(value) or merged.get(value) or []
        if len(records) > 1:
            record.note(column, number_issue(meta, len(records)))
        elif records:
            record.existing = records[0]
        elif column.is_key:
            message = f"There is no {meta.verbose_name} of this key; {NEW_KEY_ADVICE}"
            record.reject(column, "NotFound", message)


def find_equal(wanted: Sequence[ReadRecord], columns: RecordColumns, first_rows: FirstRows) -> None:
    """Rows without a match value are the records that equal them in every column."""
    values = [(record, [read.sorted_values() for read in (record, *record.items)]) for record in wanted]
    for record, number in first_rows.earlier("", values):
        record.reject(None, "NotUnique", f"Row {number:,} of the file says the same.")
    wanted = [record for record in wanted if not record.is_rejected]
    # Every column narrows the query, so that it gives little more than the records that equal a row.
    given = {name: {record.values.get(name) for record in wanted} for name in columns.fields}
    conditions = [
        any_of_or_null(columns.fields[name], some)
        for name, some in given.items()
        # SQLite has decimals as floating point numbers, which no list of them equals.
        if not isinstance(columns.fields[name], models.DecimalField)
        and not (None in some and name in columns.unchanged_when_empty)
    ]
    if not wanted or not conditions:
        return
    # What an empty cell leaves as it is cannot be part of the key by which records are looked up.
    names = [name for name in given if name not in columns.unchanged_when_empty]
    found: dict[Any, list[ExistingRecord]] = defaultdict(list)
    for existing, _ in sorted(columns.load(*conditions), key=lambda pair: pair[0].key):
        found[tuple(existing.values[name] for name in names)].append(existing)
    for record in wanted:
        for existing in found.get(tuple(record.values.get(name) for name in names), ()):
            record.existing = existing
            if columns.items is not None:
                assign_items(record, columns.items)
            if columns.is_unchanged(record, existing):
                break
            record.existing = None


def match_items(record: ReadRecord, items: ItemColumns) -> None:
    """Find the existing item that each row changes; a key that no item has is rejected."""
    assign_items(record, items)
    key_column = next((column for column in items.columns if column.is_key), None)
    for item in record.items:
        if item.key is not None and item.existing is None:
            name = items.model._meta.verbose_name
            item.reject(key_column, "NotFound", f"The record has no {name} of this key; {NEW_KEY_ADVICE}")


def assign_items(record: ReadRecord, items: ItemColumns) -> None:
    """Set the existing item of each row, ``None`` for a new one.

    That is the one whose key the row gives; else one that equals it; else the next that is left, in
    their order. Items that no row gives are removed.
    """
    left = {item.key: item for item in (record.existing.items if record.existing is not None else ())}
    for item in record.items:
        item.existing = left.pop(item.key, None)
    without_key = [item for item in record.items if item.key is None]
    for item in without_key if left else ():
        same = (key for key, existing in left.items() if items.is_unchanged(item, existing))
        item.existing = left.pop(next(same, None), None)
    rest = iter(left.values())
    for item in without_key:
        item.existing = item.existing or next(rest, None)


def any_of_or_null(field: models.Field, values: Iterable[object]) -> models.Q:
    """The condition that a column has one of the values, ``None`` among them."""
    given = set(values)
    condition = models.Q(AnyOf(field.name, given - {None}))
    return condition | models.Q(**{f"{field.name}__isnull": True}) if None in given else condition
