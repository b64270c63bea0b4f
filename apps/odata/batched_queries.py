"""Batched queries: several prepared queries in one trip to the database.

Making the text of a query costs Python several times what sending it does, and every trip to PostgreSQL
costs as much again. A prepared query keeps its text; ``fetch_all`` sends several at once::

    @prepared_query
    def staff_names(keys):
        return Staff.objects.filter(AnyOf(KEY, keys)).order_by().values_list("pk", "last_name")

    names, prices = fetch_all([staff_names(keys), price_query(products, zones)])
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import methodcaller
from typing import Any, Protocol
from uuid import UUID

from django.db import connections, models
from django.db.models.expressions import F, Func

from apps.odata.declaration.schema import final_field

Rows = list[tuple[Any, ...]]


class Query(Protocol):
    """Something that ``fetch_all`` can send."""

    def statement(self, alias: str) -> tuple[str, Sequence[Any]] | None:
        """The text and its parameters; ``None`` when only ``fetch`` reads the rows rightly."""

    def fetch(self) -> Rows:
        """Its rows, in a trip of its own."""


@dataclass(frozen=True, slots=True)
class RawQuery:
    """A query in SQL; its rows are as the driver reads them."""

    sql: str
    params: Sequence[Any]

    def statement(self, alias: str) -> tuple[str, Sequence[Any]]:
        return self.sql, self.params

    def fetch(self) -> Rows:
        with connections["default"].cursor() as cursor:
            cursor.execute(self.sql, self.params)
            return list(cursor.fetchall())


@dataclass(eq=False, slots=True)
class PreparedQuery:
    """A query whose text is made once. ``make`` gives its queryset for lists of values, for ``AnyOf``.

    The queryset is one of ``values_list``; nothing in it but those lists may change from call to call.
    """

    make: Callable[..., models.QuerySet[Any, Any]]
    texts: dict[str, tuple[str, tuple[Any, ...]] | None] = field(default_factory=dict)

    def __call__(self, *values: Iterable[Any]) -> BoundQuery:
        return BoundQuery(self, values)

    def prepare(self, alias: str) -> None:
        """Make the text and its parameters, placeholders among them.

        ``None`` where the values of a row are not those that the driver reads.
        """
        count = self.make.__code__.co_argcount
        compiler = self.make(*map(Placeholder, range(count))).query.get_compiler(alias)
        sql, params = compiler.as_sql()
        has_converters = compiler.get_converters([column[0] for column in compiler.select])
        self.texts[alias] = None if has_converters else (sql, tuple(params))


#: ``@prepared_query`` prepares the query that a function makes of lists of values.
prepared_query = PreparedQuery


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A prepared query with its lists of values."""

    query: PreparedQuery
    values: tuple[Iterable[Any], ...]

    def statement(self, alias: str) -> tuple[str, Sequence[Any]] | None:
        if alias not in self.query.texts:
            self.query.prepare(alias)
        text = self.query.texts[alias]
        if text is None:
            return None
        sql, params = text
        return sql, [p.adapt(self.values[p.number]) if isinstance(p, Placeholder) else p for p in params]

    def fetch(self) -> Rows:
        return list(self.query.make(*self.values))


def fetch_all(queries: Sequence[Query | None], alias: str = "default") -> list[Rows]:
    """The rows of each query: one trip to PostgreSQL, one statement after the other on SQLite.

    ``None`` stands for a query that is not needed: it has no rows.
    """
    needed = [query for query in queries if query is not None]
    connection = connections[alias]
    in_one_trip = connection.vendor == "postgresql" and not connection.features.uses_server_side_binding  # type: ignore[attr-defined]
    statements: list[Any] = list(map(methodcaller("statement", alias), needed)) if in_one_trip else [None]
    if not needed or None in statements:
        rows = [query.fetch() for query in needed]
    else:
        with connection.cursor() as cursor:
            params = [param for _, params in statements for param in params]
            cursor.execute("; ".join(sql for sql, _ in statements), params)
            rows = [cursor.fetchall()]
            while cursor.nextset():
                rows.append(cursor.fetchall())
    by_query = iter(rows)
    return [[] if query is None else next(by_query) for query in queries]


# --- lists of values ------------------------------------------------------------------------------------


class Placeholder:
    """The place of an argument of a prepared query, by its number; ``adapt`` makes the parameter of it."""

    def __init__(self, number: int, adapt: Callable[[Iterable[Any]], Any] = list) -> None:
        self.number, self.adapt = number, adapt


class AnyOf(Func):
    """A condition that a column holds any of many values: ``queryset.filter(AnyOf(field, values))``.

    The values are one parameter: the statement has the same text however many they are.
    """

    output_field = models.BooleanField()

    def __init__(self, field: models.Field, values: Iterable[Any] | Placeholder) -> None:
        super().__init__(F(field.name))
        self.compared = final_field(field)
        self.values = values if isinstance(values, Placeholder) else list(values)

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, list[Any]]:
        column, params = compiler.compile(self.source_expressions[0])
        if not isinstance(self.compared, models.UUIDField):
            return f"{column} = ANY(%s)", [*params, self.values]
        values: Any = self.values
        if isinstance(values, Placeholder):
            values = Placeholder(values.number, array_of_guids)
        elif all(type(value) is UUID for value in values):
            values = array_of_guids(values)
        else:
            return f"{column} = ANY(%s)", [*params, values]
        return f"{column} = ANY(%s::uuid[])", [*params, values]

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, list[Any]]:
        column, params = compiler.compile(self.source_expressions[0])
        values = () if isinstance(self.values, Placeholder) else self.values
        stored = [self.compared.get_db_prep_value(value, connection) for value in values]
        return f"{column} IN (SELECT value FROM json_each(%s))", [*params, json.dumps(stored)]


def array_of_guids(values: Iterable[Any]) -> str:
    """PostgreSQL's text of an array of guids or numbers; psycopg takes many times longer to adapt a list."""
    return f"{{{','.join([value.hex if type(value) is UUID else str(value) for value in values])}}}"
