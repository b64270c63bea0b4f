"""Writes of many rows in few trips: inserts and statements are collected in a batch, and sent together."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import chain, islice
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db import connection, models
from psycopg.types.json import Jsonb

from apps.base import clock
from apps.base.batched_queries import (
    SqlStatement,
    array_of_guids,
    is_pooled,
    send_through_pooler,
    text_of_trip,
)
from apps.base.declaration.schema import final_field

#: So few rows go as plain INSERTs with the rest of the batch; more go by COPY, each time two trips more.
FEW = 10

#: Keys named in one statement; far below what either engine takes.
BATCH = 2_000

Adapter = Callable[[Any], object]


ValueMaker = Callable[[Sequence[object]], object]


@dataclass(frozen=True, slots=True, eq=False)
class WrittenColumns:
    """The columns of a table that rows are written to; ``statement`` inserts one row.

    Rows may lack normalised texts and columns that have a default: the last ``fields``, by ``makers``.
    ``adapters`` make of the values of each column that are not null what the driver takes.
    """

    table: str
    fields: tuple[models.Field, ...]
    makers: tuple[ValueMaker, ...]
    adapters: tuple[Adapter | None, ...]
    statement: str


@dataclass(frozen=True, slots=True)
class Insert:
    """Rows of Python values for a table."""

    columns: WrittenColumns
    rows: Iterable[Sequence[object]]


class WriteBatch:
    """Inserts and statements that are sent where the code says ``send``, in the order they were added.

    On PostgreSQL statements and inserts of few rows go in one trip, many rows by COPY; on SQLite each goes by
    itself. Nothing is read back, and no history is written: that is the caller's. ``moment`` is the time of
    all of them.
    """

    def __init__(self) -> None:
        self.writes: list[SqlStatement | Insert] = []
        self.vendor = connection.vendor
        # On PostgreSQL as a text: else the driver makes the text for each row.
        self.moment: object = str(clock.now()) if self.vendor == "postgresql" else clock.now()

    def execute(self, sql: str, params: Sequence[object]) -> None:
        """Add a statement."""
        self.writes.append(SqlStatement(sql, params, label=first_words(sql)))

    def insert(
        self, model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[object]]
    ) -> None:
        """Add rows; ``columns`` name their fields in the same order (``client_id``).

        Columns that are not named get the field's default, normalised columns the form of their text, keys
        that the database numbers their number. The rows are taken when the batch is sent.
        """
        written = written_columns(model, tuple(columns), self.vendor)
        if written.makers:
            # All rows are of one moment.
            makers = [(lambda row: self.moment) if make is time_of else make for make in written.makers]
            rows = ((*row, *[make(row) for make in makers]) for row in rows)
        self.writes.append(Insert(written, rows))

    def set_flag(self, model: type[models.Model], column: str, keys: Sequence[UUID]) -> None:
        """Add that a boolean column becomes true in the records with these guids."""
        if not keys:
            return
        key, quote_name = model._meta.pk, connection.ops.quote_name
        assert key is not None
        values, guids = "SELECT value FROM json_each(%s)", json.dumps([guid.hex for guid in keys])
        if self.vendor == "postgresql":
            values, guids = "SELECT unnest(%s::uuid[])", array_of_guids(keys)
        self.execute(
            f"UPDATE {quote_name(model._meta.db_table)} SET {quote_name(column)} = TRUE"  # noqa: S608  our own names
            f" WHERE {quote_name(str(key.column))} IN ({values})",
            [guids],
        )

    def send(self) -> None:
        """Send all that was added."""
        writes, self.writes = self.writes, []
        if self.vendor == "postgresql":
            send_to_postgresql(writes)
        else:
            send_to_sqlite(writes)


def in_batches(keys: Iterable[object], size: int = BATCH) -> Iterator[list[Any]]:
    """The keys in their order, so many at a time."""
    rest = iter(keys)
    while batch := list(islice(rest, size)):
        yield batch


def bulk_insert(model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Insert rows at once: ``WriteBatch.insert`` in a batch of its own."""
    batch = WriteBatch()
    batch.insert(model, columns, rows)
    batch.send()


@lru_cache(maxsize=256)
def written_columns(model: type[models.Model], columns: tuple[str, ...], vendor: str) -> WrittenColumns:
    """The columns that rows with these attributes (``client_id``) are written to."""
    fields = {field.attname: field for field in model._meta.concrete_fields}
    others = {name: value_maker(field, columns) for name, field in fields.items() if name not in columns}
    makers = {name: maker for name, maker in others.items() if maker is not None}
    written = tuple(fields[name] for name in (*columns, *makers))
    table, places = model._meta.db_table, ", ".join(["%s"] * len(written))
    statement = f"INSERT INTO {connection.ops.quote_name(table)} ({column_list(written)}) VALUES ({places})"  # noqa: S608  our own names
    adapters = tuple(adapter_of(final_field(field), vendor) for field in written)
    return WrittenColumns(table, written, tuple(makers.values()), adapters, statement)


def time_of(row: Sequence[object]) -> object:
    """Stands for the moment of a batch, whose rows are all of it."""
    return clock.now()


def value_maker(field: Any, columns: Sequence[str]) -> ValueMaker | None:
    """The maker of the value of a column that rows do not have: from their text, or the default, if any."""
    text_field = getattr(field, "text_field", None)
    if text_field in columns:
        position = columns.index(text_field)
        return lambda row: field.normalise(row[position])
    if not field.has_default():
        return None
    if field.default is clock.now:
        return time_of
    if callable(field.default):
        return lambda row: field.get_default()
    constant = plain(field.get_default())
    return lambda row: constant


# --- PostgreSQL -----------------------------------------------------------------------------------------


def send_to_postgresql(writes: Sequence[SqlStatement | Insert]) -> None:
    waiting: list[SqlStatement] = []
    with connection.cursor() as cursor:
        for write in writes:
            if isinstance(write, SqlStatement):
                waiting.append(write)
                continue
            columns = write.columns
            rows = adapt_rows(write.rows, columns.adapters)
            first = list(islice(rows, FEW + 1))
            if len(first) <= FEW:
                label = first_words(columns.statement)
                waiting += [SqlStatement(columns.statement, row, label=label) for row in first]
                continue
            execute_in_one_trip(cursor, waiting)
            waiting = []
            # Unlike execute, copy would let the driver's own errors through, and callers catch Django's.
            table = connection.ops.quote_name(columns.table)
            statement = f"COPY {table} ({column_list(columns.fields)}) FROM STDIN"
            with connection.wrap_database_errors, cursor.copy(statement) as copy:
                for row in chain(first, rows):
                    copy.write_row(row)
        execute_in_one_trip(cursor, waiting)


def execute_in_one_trip(cursor: Any, statements: Sequence[SqlStatement]) -> None:
    if statements and is_pooled(cursor.db):
        send_through_pooler(cursor.db, statements)
    elif statements:
        cursor.execute(text_of_trip(cursor.db, statements))


@lru_cache(maxsize=256)
def first_words(sql: str) -> str:
    """The words that name a statement in logs: which table it writes, without quotes and values."""
    return sql.replace('"', "").partition("(")[0].partition("%")[0].strip()


# --- SQLite ---------------------------------------------------------------------------------------------


def send_to_sqlite(writes: Sequence[SqlStatement | Insert]) -> None:
    with connection.cursor() as cursor:
        for write in writes:
            if isinstance(write, SqlStatement):
                cursor.execute(write.sql, write.params)
                continue
            if rows := list(adapt_rows(write.rows, write.columns.adapters)):
                cursor.executemany(write.columns.statement, rows)


# --- both -----------------------------------------------------------------------------------------------


def adapter_of(field: models.Field, vendor: str) -> Adapter | None:
    """The function that turns a value that is not null into what the engine stores; none where it does so."""
    if vendor == "postgresql":
        return Jsonb if isinstance(field, models.JSONField) else None
    operations = connection.ops  # taken once: the connection is looked up by thread whenever it is named
    if isinstance(field, models.UUIDField):
        return attrgetter("hex")
    # Few moments and days are many rows': the moment of the write is in each of them.
    if isinstance(field, models.DateTimeField):
        return lru_cache(maxsize=256)(operations.adapt_datetimefield_value)
    if isinstance(field, models.DateField):
        return lru_cache(maxsize=1024)(operations.adapt_datefield_value)
    if isinstance(field, models.DecimalField):
        digits, scale = field.max_digits, field.decimal_places
        return lambda value: operations.adapt_decimalfield_value(value, digits, scale)
    if isinstance(field, models.JSONField):
        return json.dumps
    return None


def adapt_rows(
    rows: Iterable[Sequence[object]], adapters: Sequence[Adapter | None]
) -> Iterator[Sequence[Any]]:
    needed = [(position, adapt) for position, adapt in enumerate(adapters) if adapt is not None]
    if not needed:
        yield from rows
        return
    for row in rows:
        cells = list(row)
        for position, adapt in needed:
            if cells[position] is not None:
                cells[position] = adapt(cells[position])
        yield cells


def plain(value: object) -> object:
    """A member of an enumeration as its text; drivers would write its name."""
    return value.value if isinstance(value, Enum) else value


def column_list(fields: Sequence[models.Field]) -> str:
    return ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
