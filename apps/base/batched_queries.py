"""Batched queries: several prepared queries in one trip to the database.

Making the text of a query costs Python several times what sending it does, and every trip to PostgreSQL
costs as much again. A prepared query keeps its text, a connection to PostgreSQL the plan of it; ``fetch_all``
sends several at once::

    @prepared_query
    def staff_names(keys):
        return Staff.objects.filter(AnyOf("pk", keys)).order_by().values_list("pk", "last_name")

    names, prices = fetch_all([staff_names(keys), price_query(products, zones)])
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache, partial
from inspect import signature
from itertools import count
from operator import itemgetter
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import F, Func
from django.db.models.sql.compiler import SQLCompiler
from psycopg.adapt import Transformer

from apps.base.declaration.schema import final_field
from apps.base.pooled_statements import rows_of_trip

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class SqlStatement:
    """SQL with its parameters, and how values of its rows become those of Python.

    ``converters`` are Django's, by the position of their column: functions (value, expression, connection).
    A statement with a ``label`` is prepared, where that is possible (``by_name``).
    """

    sql: str
    params: Sequence[Any]
    converters: Mapping[int, tuple[Sequence[Callable[..., object]], object]] = field(default_factory=dict)
    label: str = ""

    def convert(self, rows: Rows, connection: BaseDatabaseWrapper) -> Rows:
        converted = list(map(list, rows))
        for position, (functions, expression) in self.converters.items():
            for row in converted:
                for function in functions:
                    row[position] = function(row[position], expression, connection)
        return list(map(tuple, converted))


@dataclass(eq=False, slots=True)
class PreparedQuery:
    """A query whose text is made once. ``make`` gives its queryset for lists of values.

    The queryset is one of ``values_list``; nothing in it but those lists, in ``AnyOf`` and ``AnyRowOf``, may
    change from call to call. PostgreSQL plans it once, for any values, unless it is ``planned_each_time``.
    """

    make: Callable[..., models.QuerySet[models.Model, tuple[object, ...]]]
    planned_each_time: bool = False
    prepared: SqlStatement | None = None

    def __call__(self, *values: Iterable[object]) -> SqlStatement:
        """The query for these lists of values."""
        if self.prepared is None:
            self.prepared = self.prepare()
        prepared = self.prepared
        params = [
            param.adapt(values[param.number]) if isinstance(param, Placeholder) else param
            for param in prepared.params
        ]
        return SqlStatement(prepared.sql, params, prepared.converters, prepared.label)

    def prepare(self) -> SqlStatement:
        """The statement with placeholders as its parameters; other values are part of PostgreSQL's text."""
        count = len(signature(self.make).parameters)
        compiler = self.make(*map(Placeholder, range(count))).query.get_compiler(DEFAULT_DB_ALIAS)
        sql, params = compiler.as_sql()
        converters = compiler.get_converters([column[0] for column in compiler.select])
        connection = connections[DEFAULT_DB_ALIAS]
        if connection.vendor == "postgresql":
            literals = [literal(param, connection) for param in params]
            sql = sql.replace("%%", "%%%%") % tuple(literals)
            params = [param for param in params if isinstance(param, Placeholder)]
        name = f"{self.make.__module__}.{self.make.__qualname__}"
        label = name.removeprefix("apps.").partition(".<locals>")[0]
        return SqlStatement(sql, params, converters, "" if self.planned_each_time else label)


#: ``@prepared_query`` prepares the query that a function makes of lists of values.
prepared_query = PreparedQuery
#: As ``prepared_query``, for conditions whose best index depends on the values.
query_by_values = partial(PreparedQuery, planned_each_time=True)


def fetch_all(queries: Sequence[SqlStatement | None]) -> list[Rows]:
    """The rows of each query: one trip to PostgreSQL, one statement after the other on SQLite.

    ``None`` stands for a query that is not needed: it has no rows.
    """
    statements = [query for query in queries if query is not None]
    if not statements:
        return [[] for _ in queries]
    connection: BaseDatabaseWrapper = connections[DEFAULT_DB_ALIAS]
    found: list[Rows] = []
    if connection.vendor != "postgresql":
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement.sql, statement.params)
                found.append(cursor.fetchall())
    elif is_pooled(connection):
        found = send_through_pooler(connection, statements)
    else:
        cursor = reused_cursor(connection)
        cursor.execute(text_of_trip(connection, statements))
        # By the driver's own cursor: what Django puts around each call takes longer than the call.
        with connection.wrap_database_errors:
            found = [result.fetchall() for result in cursor.cursor.results()]
    by_query = (
        statement.convert(rows, connection) if statement.converters else rows
        for statement, rows in zip(statements, found, strict=True)
    )
    return [[] if query is None else next(by_query) for query in queries]


def reused_cursor(connection: BaseDatabaseWrapper) -> Any:
    """As ``cursor()`` of a connection to PostgreSQL, on one of psycopg that stays: for rows fetched at once.

    A new one takes Python as long as sending a short statement and reading its row.
    """
    connection.close_if_health_check_failed()
    if connection.connection is None:
        connection.ensure_connection()
    cursor, zone = _cursors.get(connection, (None, None))
    if cursor is None or cursor.connection is not connection.connection or zone != connection.timezone:
        with connection.wrap_database_errors:
            cursor = connection.create_cursor()
        _cursors[connection] = cursor, connection.timezone
    wrapped = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    return wrapped(cursor)


#: psycopg's cursor that each of Django's connections keeps, and the zone in which it reads times.
_cursors: WeakKeyDictionary[object, tuple[Any, object]] = WeakKeyDictionary()


def is_pooled(connection: BaseDatabaseWrapper) -> bool:
    """True where a pooler stands before PostgreSQL that prepares again what a connection of it lacks."""
    is_set: bool = settings.DATABASE_POOLER_PREPARES
    return is_set and bool(connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"))


def send_through_pooler(connection: BaseDatabaseWrapper, statements: Sequence[SqlStatement]) -> list[Rows]:
    """The rows of each statement, which go in one trip."""
    cursor = reused_cursor(connection)
    sent = [(each.label, each.sql, each.params) for each in statements]
    transformer = Transformer(cursor.cursor)

    def send(*_: object) -> list[Rows]:
        with connection.wrap_database_errors:
            return rows_of_trip(connection.connection, transformer, sent)

    # So that the statements are counted, timed and logged as Django's own are.
    texts = "; ".join(each.sql for each in statements)
    with cursor.debug_sql(texts) if connection.queries_logged else nullcontext():
        rows: list[Rows] = cursor._execute_with_wrappers(texts, None, False, send)
    return rows


def text_of_trip(connection: BaseDatabaseWrapper, statements: Iterable[SqlStatement]) -> str:
    """The text of several statements with their values in it: PostgreSQL takes several without parameters.

    The driver would read all of it for places of parameters, and only keeps what it read of short ones.
    """
    with connection.wrap_database_errors:
        literal_of = Transformer(connection.connection).as_literal
        return "; ".join(
            [
                by_name(connection, each.label, each.sql)
                % tuple([literal_of(param).decode() for param in each.params])
                for each in statements
            ]
        )


# --- statements that a connection plans once ------------------------------------------------------------

# Planning is most of what PostgreSQL does for a statement on few records. ``PREPARE`` and ``EXECUTE`` are
# SQL, so that several statements go in one trip, which the driver's own prepared statements do not.

#: A connection keeps the plans of so many statements; others are planned each time, as usual.
MAX_STATEMENTS = 200
#: The longest identifier of PostgreSQL.
MAX_NAME = 63

_numbers = count(1)
#: The names of the statements that each connection of the driver has prepared.
_names: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()


def by_name(connection: BaseDatabaseWrapper, label: str, sql: str) -> str:
    """``EXECUTE`` of a statement with the same parameters, for which ``sql`` has placeholders and no values.

    ``label`` is the name in logs. The statement itself where it has none, or cannot be prepared so: on
    SQLite, and behind a pooler that gives each transaction another connection (``pooled_statements``), for
    which server-side cursors are disabled too.
    """
    if not label or connection.vendor != "postgresql":
        return sql
    if connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"):
        return sql
    if connection.connection is None:
        connection.ensure_connection()
    names = _names.setdefault(connection.connection, set())
    name, call, definition = texts_of(label, sql)
    if name not in names:
        if len(names) >= MAX_STATEMENTS:
            return sql
        with connection.wrap_database_errors:
            connection.connection.execute(definition)
        names.add(name)
    return call


@lru_cache(maxsize=2 * MAX_STATEMENTS)
def texts_of(label: str, sql: str) -> tuple[str, str, str]:
    """The name of a statement, its EXECUTE and its PREPARE."""
    number = next(_numbers)
    name = f"{label[: MAX_NAME - 10]} {number}"
    places = sql.replace("%%", "").count("%s")
    arguments = f"({', '.join(['%s'] * places)})" if places else ""
    body = sql % tuple(f"${place}" for place in range(1, places + 1))
    return name, f'EXECUTE "{name}"{arguments}', f'PREPARE "{name}" AS {body}'


# --- lists of values ------------------------------------------------------------------------------------


class Placeholder:
    """The place of an argument of a prepared query, by its number; ``adapt`` makes the parameter of it."""

    def __init__(self, number: int, adapt: Callable[[Iterable[object]], object] = list) -> None:
        self.number, self.adapt = number, adapt


def literal(param: object, connection: Any) -> str:
    """The text of a parameter in a statement of PostgreSQL; of a placeholder that of its place."""
    if isinstance(param, Placeholder):
        return "%s"
    text: str = connection.ops.compose_sql("%s", [param])
    return text.replace("%", "%%")


class AnyOf(Func):
    """A condition that a column holds any of many values: ``queryset.filter(AnyOf("contact", keys))``.

    The values are one parameter: the statement has the same text however many they are.
    """

    output_field = models.BooleanField()

    def __init__(self, path: str, values: Iterable[object] | Placeholder) -> None:
        super().__init__(F(path))
        self.values = values if isinstance(values, Placeholder) else list(values)

    @property
    def compared(self) -> models.Field:
        return final_field(self.source_expressions[0].output_field)

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: object
    ) -> tuple[str, list[object]]:
        column, params = compiler.compile(self.source_expressions[0])
        condition, values = self.in_array(column)
        return condition, [*params, values]

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: object
    ) -> tuple[str, list[object]]:
        column, params = compiler.compile(self.source_expressions[0])
        condition, values = self.in_json(connection.alias, column)
        return condition, [*params, values]

    def in_array(self, column: str) -> tuple[str, object]:
        """PostgreSQL's condition on a column, and its parameter."""
        if isinstance(self.compared, models.CharField):
            return f"{column} = ANY(%s::text[])", adapted(self.values, array_of_texts)
        if not isinstance(self.compared, models.UUIDField):
            return f"{column} = ANY(%s)", self.values
        return f"{column} = ANY(%s::uuid[])", adapted(self.values, array_of_guids)

    def in_json(self, alias: str, column: str) -> tuple[str, object]:
        """SQLite's."""
        values = adapted(self.values, partial(json_array, self.compared, alias))
        return f"{column} IN (SELECT value FROM json_each(%s))", values


class AnyOfReferred(AnyOf):
    """A condition that a record refers by ``path`` to one that holds any of the values in ``column``.

    Where ``are_few`` such records, their keys are read first, and what leads to them is found in an index:
    PostgreSQL takes an array for ten keys. Otherwise it chooses, and most often looks up one by one.
    """

    def __init__(self, path: str, column: models.Field, values: Iterable[object], are_few: bool) -> None:
        super().__init__(path, values)
        self.column, self.are_few = column, are_few

    @property
    def compared(self) -> models.Field:
        return final_field(self.column)

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: object
    ) -> tuple[str, list[object]]:
        return self.by_referred(compiler, self.in_array, "{} = ANY(ARRAY({}))")

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: object
    ) -> tuple[str, list[object]]:
        return self.by_referred(compiler, partial(self.in_json, connection.alias), "{} IN ({})")

    def by_referred(
        self, compiler: SQLCompiler, holds: Callable[[str], tuple[str, object]], condition_form: str
    ) -> tuple[str, list[object]]:
        place, params = compiler.compile(self.source_expressions[0])
        condition, values = holds(f'referred."{self.column.column}"')
        meta = self.column.model._meta
        key = f'referred."{meta.pk.column}"'
        referred = f'SELECT {key} FROM "{meta.db_table}" referred WHERE {condition}'
        if self.are_few:
            return condition_form.format(place, referred), [*params, values]
        return f"EXISTS ({referred} AND {key} = {place})", [values, *params]


class AnyRowOf(Func):
    """A condition that several columns hold any of many rows of values.

    ``AnyRowOf(("provider", "reference_key"), pairs)``. PostgreSQL looks up each row in an index of the
    columns; with a list for each column it would have to guess which of them narrows more.
    """

    output_field = models.BooleanField()

    def __init__(self, paths: Iterable[str], rows: Iterable[tuple[object, ...]] | Placeholder) -> None:
        super().__init__(*map(F, paths))
        self.rows = rows if isinstance(rows, Placeholder) else list(rows)

    @property
    def compared(self) -> list[models.Field]:
        return [final_field(each.output_field) for each in self.source_expressions]

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: object
    ) -> tuple[str, list[object]]:
        columns, params = self.compile_columns(compiler)
        types = ", ".join(f"%s::{array_type(each, connection)}" for each in self.compared)
        arrays = [
            adapted(self.rows, array_of_column(number, compared))
            for number, compared in enumerate(self.compared)
        ]
        return f"({columns}) IN (SELECT * FROM unnest({types}))", [*params, *arrays]

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: object
    ) -> tuple[str, list[object]]:
        columns, params = self.compile_columns(compiler)
        rows = adapted(self.rows, partial(json_rows, self.compared, connection.alias))
        members = ", ".join(f"json_extract(value, '$[{number}]')" for number in range(len(self.compared)))
        return f"({columns}) IN (SELECT {members} FROM json_each(%s))", [*params, rows]

    def compile_columns(self, compiler: SQLCompiler) -> tuple[str, list[object]]:
        compiled = [compiler.compile(each) for each in self.source_expressions]
        return ", ".join(sql for sql, _ in compiled), [param for _, params in compiled for param in params]


def adapted(values: object, adapt: Callable[[Any], object]) -> object:
    """The parameter that an engine takes for these values, or for those that will be in their place."""
    return Placeholder(values.number, adapt) if isinstance(values, Placeholder) else adapt(values)


def json_array(compared: models.Field, alias: str, values: Iterable[object]) -> str:
    """SQLite's text of a list of values of a column, as they are stored."""
    prepare = partial(compared.get_db_prep_value, connection=connections[alias])
    return json.dumps(list(map(prepare, values)))


def json_rows(compared: Sequence[models.Field], alias: str, rows: Iterable[tuple[object, ...]]) -> str:
    """SQLite's text of a list of rows, as their columns are stored."""
    connection = connections[alias]
    return json.dumps(
        [
            [each.get_db_prep_value(value, connection) for each, value in zip(compared, row, strict=True)]
            for row in rows
        ]
    )


def array_type(compared: models.Field, connection: BaseDatabaseWrapper) -> str:
    """PostgreSQL's type of an array of a column's values; texts have no length there."""
    return "text[]" if isinstance(compared, models.CharField) else f"{compared.cast_db_type(connection)}[]"


def array_of_column(number: int, compared: models.Field) -> Callable[[Iterable[tuple[object, ...]]], object]:
    """Make the parameter for PostgreSQL of one column of many rows."""
    array: Callable[[Iterable[Any]], object] = list
    if isinstance(compared, models.CharField):
        array = array_of_texts
    elif isinstance(compared, models.UUIDField):
        array = array_of_guids
    return lambda rows: array(map(itemgetter(number), rows))


def array_of_texts(values: Iterable[str]) -> str:
    """PostgreSQL's text of an array of texts; psycopg takes many times longer to adapt a list."""
    escaped = [value.replace("\\", "\\\\").replace('"', '\\"') for value in values]
    return '{"' + '","'.join(escaped) + '"}' if escaped else "{}"


def array_of_guids(values: Iterable[object]) -> str:
    """PostgreSQL's text of an array of guids or numbers; psycopg takes many times longer to adapt a list."""
    return f"{{{','.join([value.hex if type(value) is UUID else str(value) for value in values])}}}"
