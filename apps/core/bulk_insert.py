"""Rows into a table in one statement, however many: COPY on PostgreSQL, one prepared INSERT on SQLite."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from functools import lru_cache
from itertools import chain, islice
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db import connection, models
from psycopg import ClientCursor
from psycopg.types.json import Jsonb

from apps.core.identifiers import normalised
from apps.odata.any_of import array_of_guids
from apps.odata.declaration.schema import final_field

#: So few rows go as a plain INSERT: one round trip, where COPY takes two.
FEW = 3

#: Inserts of few rows that wait to be sent together, within ``at_once``.
_WAITING: ContextVar[list[str] | None] = ContextVar("waiting_inserts", default=None)

Adapter = Callable[[Any], Any]


@contextmanager
def deferred_writes() -> Iterator[None]:
    """Within the block, inserts of few rows and marks wait for its end and go to PostgreSQL in one trip.

    For what is written and not read in the block.
    """
    if connection.vendor != "postgresql" or connection.features.uses_server_side_binding:  # type: ignore[attr-defined]
        yield
        return
    # Statements with their values written in: psycopg takes its time to read a long one with many places.
    waiting: list[str] = []
    token = _WAITING.set(waiting)
    try:
        yield
    finally:
        _WAITING.reset(token)
    if waiting:
        with connection.cursor() as cursor:
            cursor.execute("; ".join(waiting))


def is_deferred(statement: str, params: Sequence[Any]) -> bool:
    """Whether a statement waits for the end of the block; whoever is told that it does not executes it."""
    waiting = _WAITING.get()
    if waiting is None:
        return False
    waiting.append(ClientCursor(connection.connection).mogrify(statement, params))
    return True


def bulk_insert(model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Store rows of Python values; ``columns`` name their fields in the same order (``client_id``).

    Columns that are not named get the field's default, folded twins their text's fold, keys that the
    database numbers their number. Nothing is read back and nobody is told: history is the caller's.
    """
    fields = {field.attname: field for field in model._meta.concrete_fields}
    additions = [*_missing(fields, columns)]
    if additions:
        rows = _with(rows, [make for _, make in additions])
    written = [fields[name] for name in (*columns, *(name for name, _ in additions))]
    write = _copy if connection.vendor == "postgresql" else _execute_many
    write(model._meta.db_table, written, iter(rows))


def _missing(
    fields: dict[str, models.Field], columns: Sequence[str]
) -> Iterator[tuple[str, Callable[[Sequence[Any]], Any]]]:
    """(column, what makes its value of a row) of the columns that the rows lack and cannot do without."""
    for name, field in fields.items():
        of = getattr(field, "of", None)
        if name in columns:
            continue
        if of is not None:
            yield name, _folding(columns.index(of)) if of in columns else _nothing
        elif field.has_default():
            yield name, _defaulting(field)


def _folding(place: int) -> Callable[[Sequence[Any]], Any]:
    text = itemgetter(place)
    return lambda row: normalised(text(row))


def _defaulting(field: models.Field) -> Callable[[Sequence[Any]], Any]:
    if callable(field.default):
        return lambda row: field.get_default()
    constant = plain(field.get_default())
    return lambda row: constant


def _nothing(row: Sequence[Any]) -> None:
    return None


def _with(rows: Iterable[Sequence[Any]], makers: Sequence[Callable[[Any], Any]]) -> Iterator[Sequence[Any]]:
    for row in rows:
        yield (*row, *[make(row) for make in makers])


# --- PostgreSQL -----------------------------------------------------------------------------------------


def _copy(table: str, fields: Sequence[models.Field], rows: Iterator[Sequence[Any]]) -> None:
    adapted = _adapted(rows, [_postgresql_adapter(field) for field in fields])
    head = list(islice(adapted, FEW + 1))
    if not head:
        return
    with connection.cursor() as cursor:
        if len(head) <= FEW:
            _insert_few(cursor, table, tuple(fields), head)
            return
        # Unlike execute, copy would let the driver's own errors through: an IntegrityError is one we catch.
        statement = f"COPY {_quoted(table)} ({_column_list(fields)}) FROM STDIN"
        with connection.wrap_database_errors, cursor.copy(statement) as copy:
            for cells in chain(head, adapted):
                copy.write_row(cells)


def _insert_few(
    cursor: Any, table: str, fields: tuple[models.Field, ...], rows: Sequence[Sequence[Any]]
) -> None:
    head, row = _insert_texts(table, fields)
    if not all(is_deferred(f"{head}{row}", values) for values in rows):
        cursor.execute(f"{head}{', '.join([row] * len(rows))}", list(chain.from_iterable(rows)))


def set_flag(model: type[models.Model], column: str, keys: Sequence[UUID]) -> None:
    """Set a yes-or-no column to yes in the records with these guids, in one statement.

    Within ``at_once`` it waits as inserts of few rows do. Nobody is told: history is the caller's.
    """
    if not keys:
        return
    key = model._meta.pk
    assert key is not None
    table, where = _quoted(model._meta.db_table), _quoted(str(key.column))
    told = f"UPDATE {table} SET {_quoted(column)} = TRUE WHERE {where} = "  # noqa: S608  our own names
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            cursor.executemany(f"{told}%s", [(guid.hex,) for guid in keys])
        elif not is_deferred(f"{told}ANY(%s::uuid[])", [array_of_guids(keys)]):
            cursor.execute(f"{told}ANY(%s::uuid[])", [array_of_guids(keys)])


@lru_cache(maxsize=256)
def _insert_texts(table: str, fields: tuple[models.Field, ...]) -> tuple[str, str]:
    """An INSERT up to its rows, and one row of it."""
    row = f"({', '.join(['%s'] * len(fields))})"
    return f"INSERT INTO {_quoted(table)} ({_column_list(fields)}) VALUES ", row  # noqa: S608  our own names


def _postgresql_adapter(field: models.Field) -> Adapter | None:
    return Jsonb if isinstance(field, models.JSONField) else None


# --- SQLite ---------------------------------------------------------------------------------------------


def _execute_many(table: str, fields: Sequence[models.Field], rows: Iterator[Sequence[Any]]) -> None:
    adapted = _adapted(rows, [_sqlite_adapter(field) for field in fields])
    places = ", ".join(["%s"] * len(fields))
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {_quoted(table)} ({_column_list(fields)}) VALUES ({places})",  # noqa: S608  our own names
            list(adapted),
        )


def _sqlite_adapter(field: models.Field) -> Adapter | None:
    """What makes of a value that is not null what Django itself stores."""
    # Taken once: the connection is looked up by thread whenever it is named.
    field, operations = final_field(field), connection.ops
    if isinstance(field, models.UUIDField):
        return lambda value: value.hex
    if isinstance(field, models.DateTimeField):
        return operations.adapt_datetimefield_value
    if isinstance(field, models.DateField):
        return operations.adapt_datefield_value
    if isinstance(field, models.DecimalField):
        digits, scale = field.max_digits, field.decimal_places
        return lambda value: operations.adapt_decimalfield_value(value, digits, scale)
    if isinstance(field, models.JSONField):
        return json.dumps
    return None


# --- both -----------------------------------------------------------------------------------------------


def _adapted(rows: Iterable[Sequence[Any]], adapters: Sequence[Adapter | None]) -> Iterator[Sequence[Any]]:
    needed = [(place, adapt) for place, adapt in enumerate(adapters) if adapt is not None]
    if not needed:
        yield from rows
        return
    for row in rows:
        cells = list(row)
        for place, adapt in needed:
            if cells[place] is not None:
                cells[place] = adapt(cells[place])
        yield cells


def plain(value: Any) -> Any:
    """A member of an enumeration as the text it stands for; drivers would write its name."""
    return value.value if isinstance(value, Enum) else value


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)


def _column_list(fields: Sequence[models.Field]) -> str:
    return ", ".join(_quoted(str(field.column)) for field in fields)
