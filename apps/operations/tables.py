"""The rows of every table in one text form, the same on both engines.

A row is a line of PostgreSQL's COPY text format, its values as PostgreSQL writes them: moments in UTC,
decimals with their scale, JSON normalised. Rows are in the order of their keys. So a table has one checksum
on both engines, PostgreSQL reads and writes it without a row in Python, and ``psql`` can load it alone.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any, Self

from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper

from apps.core.database.migrations import Migrations, code_migrations, known_migrations

NULL = "\\N"
#: Rows rendered or inserted at a time on SQLite.
BATCH_ROWS = 2_000
#: Bytes of rows that PostgreSQL sends one by one.
BLOCK_BYTES = 256 * 1024


class OperationError(Exception):
    """Raised for what an operator asked for and cannot be done; the text is the reason."""


# --- values on SQLite -----------------------------------------------------------------------------------

_ESCAPED = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\"}
_UNESCAPED = {escape: character for character, escape in _ESCAPED.items()}
_NEEDS_ESCAPE = re.compile(r"[\b\f\n\r\t\v\\]")
_ESCAPE = re.compile(r"\\.")


def escape_text(text: str) -> str:
    return _NEEDS_ESCAPE.sub(lambda found: _ESCAPED[found[0]], text)


def unescape_text(text: str) -> str:
    return _ESCAPE.sub(lambda found: _UNESCAPED[found[0]], text) if "\\" in text else text


def normalised_json(value: object) -> str:
    """JSON as PostgreSQL writes it: members by the length of their names, then by their bytes."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: (len(name.encode()), name.encode()))
        members = (f"{normalised_json(name)}: {normalised_json(value[name])}" for name in names)
        return f"{{{', '.join(members)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(normalised_json, value))}]"
    return format(value, "f") if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class ValueForm:
    """How SQLite's value of a column becomes text, and text SQLite's value."""

    to_text: Callable[[Any], str]
    to_value: Callable[[str], object]


TEXT = ValueForm(escape_text, unescape_text)
INTEGER = ValueForm(str, int)
FORMS = {
    "BinaryField": ValueForm(
        lambda value: "\\\\x" + value.hex(), lambda text: bytes.fromhex(text.removeprefix("\\\\x"))
    ),
    "BooleanField": ValueForm(lambda value: "t" if value else "f", lambda text: int(text == "t")),
    "CharField": TEXT,
    "DateField": TEXT,
    # 2026-07-01 10:00:00.5+00 as text; SQLite compares moments as texts, so its fractions have six digits.
    "DateTimeField": ValueForm(
        lambda moment: (moment.rstrip("0").rstrip(".") if "." in moment else moment) + "+00",
        lambda text: text.removesuffix("+00").ljust(26 if "." in text else 0, "0"),
    ),
    "GenericIPAddressField": TEXT,
    "JSONField": ValueForm(
        lambda text: escape_text(normalised_json(json.loads(text, parse_float=Decimal))), unescape_text
    ),
    "TextField": TEXT,
    "UUIDField": ValueForm(
        lambda digits: f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}",
        lambda text: text.replace("-", ""),
    ),
}
INTEGERS = {
    *("AutoField", "BigAutoField", "BigIntegerField", "IntegerField", "PositiveIntegerField"),
    *("PositiveSmallIntegerField", "SmallIntegerField"),
}


def form_of(column: Any) -> ValueForm:
    """The form of a field's values; that of the referred key for a reference."""
    while column.remote_field:
        column = column.target_field
    kind = column.get_internal_type()
    if kind == "DecimalField":
        # SQLite adds decimals in binary: what is zero but for that may have a sign, which z removes.
        return ValueForm(f"{{:z.{column.decimal_places}f}}".format, str)
    return INTEGER if kind in INTEGERS else FORMS[kind]


# --- tables ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """A table of the schema. ``number_column`` is a key that the database numbers."""

    name: str
    columns: tuple[str, ...]
    forms: tuple[ValueForm, ...]
    key: str
    number_column: str | None
    has_text_key: bool


@cache
def load_tables(migrations: Migrations) -> tuple[DatabaseTable, ...]:
    """The tables of the schema after these migrations, by name.

    Raises ``OperationError`` for migrations that the code does not have.
    """
    if unknown := set(migrations) - set(known_migrations()):
        names = ", ".join(sorted(map(".".join, unknown)))
        raise OperationError(f"It has migrations that this version does not know: {names}.")
    schema = code_migrations().project_state(list(migrations)).apps.get_models(include_auto_created=True)
    owned = [model._meta for model in schema if model._meta.managed and not model._meta.proxy]
    return tuple(sorted(map(describe_table, owned), key=lambda table: table.name))


def describe_table(options: Any) -> DatabaseTable:
    key = options.pk
    while key.remote_field:
        key = key.target_field
    return DatabaseTable(
        name=options.db_table,
        columns=tuple(column.column for column in options.concrete_fields),
        forms=tuple(map(form_of, options.concrete_fields)),
        key=options.pk.column,
        number_column=key.column if isinstance(options.pk, models.AutoField) else None,
        has_text_key=form_of(key) is TEXT,
    )


@dataclass(slots=True)
class ContentSum:
    """The sum of what passed a stream: bytes, rows and SHA-256."""

    size: int = 0
    rows: int = 0
    hash: Any = field(default_factory=hashlib.sha256)

    def watch(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.hash.update(chunk)
            self.size += len(chunk)
            self.rows += chunk.count(b"\n")
            yield chunk

    @classmethod
    def of(cls, chunks: Iterable[bytes]) -> Self:
        """The sum of what a stream holds, read to its end."""
        total = cls()
        for _ in total.watch(chunks):
            pass
        return total

    @property
    def sha256(self) -> str:
        digest: str = self.hash.hexdigest()
        return digest


@contextmanager
def snapshot(alias: str = "default") -> Iterator[BaseDatabaseWrapper]:
    """A connection in one transaction that reads: all that it reads is of one moment, and writers go on."""
    connection = connections[alias].copy()
    if connection.vendor == "sqlite":
        connection.settings_dict["OPTIONS"]["transaction_mode"] = "DEFERRED"
        begin = "BEGIN"
    else:
        begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    try:
        with connection.cursor() as cursor:
            cursor.execute(begin)
        yield connection
    finally:
        connection.close()


def read_rows(
    connection: BaseDatabaseWrapper, table: DatabaseTable, below: int | None = None
) -> Iterator[bytes]:
    """The rows in the order of their keys, in blocks of whole lines. Needs a transaction.

    ``below``: only those with smaller numbers as keys.
    """
    quote = connection.ops.quote_name
    order = quote(table.key)
    rows = quote(table.name) if below is None else f"{quote(table.name)} WHERE {order} < {below:d}"
    if connection.vendor == "postgresql":
        columns = ", ".join(map(quote, table.columns))
        order += ' COLLATE "C"' if table.has_text_key else ""
        query = f"SELECT {columns} FROM {rows} ORDER BY {order}"  # noqa: S608  our own names
        yield from read_from_postgresql(connection, query)
    else:
        # The sign takes the column's type away: Django's converters of values are not wanted.
        columns = ", ".join(f"+{quote(column)}" for column in table.columns)
        query = f"SELECT {columns} FROM {rows} ORDER BY {order}"  # noqa: S608  our own names
        yield from read_from_sqlite(connection, query, [form.to_text for form in table.forms])


def read_from_postgresql(connection: BaseDatabaseWrapper, query: str) -> Iterator[bytes]:
    block, length = [], 0
    with connection.wrap_database_errors, connection.cursor() as cursor:
        cursor.execute(
            "SET LOCAL timezone = 'UTC'; SET LOCAL datestyle = 'ISO'; SET LOCAL bytea_output = 'hex'"
        )
        with cursor.copy(f"COPY ({query}) TO STDOUT") as rows:
            for row in rows:
                block.append(row)
                length += len(row)
                if length > BLOCK_BYTES:
                    yield b"".join(block)
                    block, length = [], 0
    if block:
        yield b"".join(block)


def read_from_sqlite(
    connection: BaseDatabaseWrapper, query: str, renderers: Sequence[Callable[[object], str]]
) -> Iterator[bytes]:
    with connection.wrap_database_errors, connection.cursor() as cursor:
        cursor.execute(query)
        while rows := cursor.fetchmany(BATCH_ROWS):
            lines = [
                "\t".join(
                    [
                        NULL if value is None else render(value)
                        for render, value in zip(renderers, row, strict=True)
                    ]
                )
                for row in rows
            ]
            yield ("\n".join(lines) + "\n").encode()


def write_rows(connection: BaseDatabaseWrapper, table: DatabaseTable, chunks: Iterable[bytes]) -> None:
    """Insert the rows of a stream of lines."""
    quote = connection.ops.quote_name
    target = f"{quote(table.name)} ({', '.join(map(quote, table.columns))})"
    with connection.wrap_database_errors, connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {target} FROM STDIN") as copy:
                for chunk in chunks:
                    copy.write(chunk)
        else:
            placeholders = ", ".join(["%s"] * len(table.columns))
            for rows in read_values(table, chunks):
                cursor.executemany(f"INSERT INTO {target} VALUES ({placeholders})", rows)  # noqa: S608


def read_values(table: DatabaseTable, chunks: Iterable[bytes]) -> Iterator[list[list[Any]]]:
    """SQLite's values of the rows in a stream of lines, in batches."""
    readers = [form.to_value for form in table.forms]
    unfinished = b""
    for chunk in chunks:
        *lines, unfinished = (unfinished + chunk).split(b"\n")
        yield [
            [
                None if text == NULL else read(text)
                for read, text in zip(readers, line.decode().split("\t"), strict=True)
            ]
            for line in lines
        ]


# --- numbers that a database gives -----------------------------------------------------------------------


def read_last_number(connection: BaseDatabaseWrapper, table: DatabaseTable) -> int:
    """The last number that the database gave to a row of the table, also when that row is deleted."""
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COALESCE(MAX({quote(table.key)}), 0) FROM {quote(table.name)}")  # noqa: S608
        greatest: int = cursor.fetchone()[0]
        if connection.vendor == "postgresql":
            sequence = sequence_of(cursor, table)
            cursor.execute(f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}")  # noqa: S608
        else:
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table.name])
        row = cursor.fetchone()
    return max(greatest, row[0] if row else 0)


def write_last_number(connection: BaseDatabaseWrapper, table: DatabaseTable, number: int) -> None:
    """The next row gets the next number."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            sequence = sequence_of(cursor, table)
            cursor.execute("SELECT setval(%s, %s, %s)", [sequence, max(number, 1), number > 0])
        else:
            cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table.name])
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table.name, number])


def sequence_of(cursor: Any, table: DatabaseTable) -> str:
    cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", [f'"{table.name}"', table.key])
    sequence: str = cursor.fetchone()[0]
    return sequence
