"""A page of transformed rows as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from types import MappingProxyType
from typing import Any

import msgspec
from django.db import connections
from django.db.models import Model, QuerySet

from apps.base.clock import set_database_zone
from apps.base.declaration.resource import Caller
from apps.base.declaration.schema import EntitySet, NavigationProperty, StructuredType
from apps.odata.apply.limits import all_records
from apps.odata.apply.pipeline import EntityRows, ResultRows, Transformer
from apps.odata.apply.results import Result, ResultColumn, row_members
from apps.odata.errors import BadQuery
from apps.odata.query.operands import Operand, RequestContext
from apps.odata.query.options import QueryOptions
from apps.odata.query.transformations import Compute, Filter
from apps.odata.read.reader import ResultPage
from apps.odata.read.tables import RecordTable, table_from_json

_encode = msgspec.json.Encoder(decimal_format="number").encode


class TransformedReader:
    """Reads what $apply makes of ``rows``, a queryset of an entity set.

    ``next_option`` is the option that begins the next page. ``records`` are the records when it only chooses
    some of them, in an ``order`` if it says one; their JSON is read as without $apply.
    """

    next_option = "$skip"

    def __init__(
        self,
        entity_set: EntitySet,
        rows: QuerySet[Model],
        options: QueryOptions,
        caller: Caller | None,
    ) -> None:
        self.entity_set, self.options = entity_set, options
        self.connection = connections[rows.db]
        set_database_zone(self.connection)
        self.transformer = Transformer(entity_set, RequestContext(options.aliases, caller), rows.db)
        parts = self.transformer.apply(EntityRows(rows), options.apply or ())
        self.records = None
        if len(parts) == 1 and isinstance(parts[0], EntityRows):
            for name, is_used in (("compute", parts[0].values), ("join", parts[0].joined)):
                if is_used:
                    self.transformer.fail(f"{name} needs an aggregation behind it")
            self.records, self.order = all_records(parts[0]), parts[0].order
            return
        if not all(isinstance(part, ResultRows) for part in parts):
            self.transformer.fail("each sequence of concat needs an aggregation")
        self.parts = [self.with_options(part) for part in parts if isinstance(part, ResultRows)]
        self.check_select()

    def with_options(self, part: ResultRows) -> ResultRows:
        """The rows that $compute and $filter, which are evaluated after $apply, leave."""
        options, transform = self.options, self.transformer.transform
        for name in ("expand", "search", "skiptoken"):
            if getattr(options, name):
                raise BadQuery(f"${name} does not go with rows that $apply aggregates.", target=f"${name}")
        rows: Any = part
        if options.compute:
            rows = transform(rows, Compute(options.compute))
        if options.filter is not None:
            rows = transform(rows, Filter(options.filter))
        return rows

    def page(self, size: int) -> ResultPage:
        """At most ``size`` rows; the next page begins at the number of rows in ``next_token``."""
        options = self.options
        skip, limit = options.skip or 0, size if options.top is None else min(size, options.top)
        count = sum(self.count(part) for part in self.parts) if options.count else None
        records: list[bytes] = []
        for part in self.parts:
            result = self.ordered(part, skip + limit + 1 - len(records))
            with self.connection.cursor() as cursor:
                records += self.rows(result, cursor)
        has_more = len(records) > skip + limit and (options.top is None or options.top > limit)
        shown = [record.decode() for record in records[skip : skip + limit]]
        return ResultPage(shown, count, str(skip + limit) if has_more else None)

    def table(self) -> RecordTable:
        """All rows as rows of cells."""
        return table_from_json(self.columns(), self.stream())

    def stream(self) -> Iterator[str]:
        """All rows, with a chunk of them in memory at a time."""
        start, top = self.options.skip or 0, self.options.top
        return islice(self.all_rows(), start, None if top is None else start + top)

    def all_rows(self) -> Iterator[str]:
        is_pooled = self.connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS")
        open_cursor = self.connection.cursor if is_pooled else self.connection.chunked_cursor
        for part in self.parts:
            with open_cursor() as cursor:
                for record in self.rows(self.ordered(part), cursor):
                    yield record.decode()

    def ordered(self, part: ResultRows, number: int | None = None) -> Result:
        """The rows with their computed values in order, so many of them or all."""
        whole = replace(part, result=self.transformer.with_values(part))
        return self.transformer.limiter.ordered(whole, self.options.orderby or part.order, top=number)

    def rows(self, result: Result, cursor: Any) -> Iterator[bytes]:
        shown = set(self.shown(result.columns))
        cursor.execute(*result.statement)
        for row in cursor:
            stored = [pair for pair in zip(result.columns, row, strict=True) if pair[0] in shown]
            yield _encode(row_members(stored))

    @property
    def computed(self) -> dict[str, Operand | NavigationProperty]:
        """The members of the rows that are no members of the records, by their paths."""
        values = {column.name: column.operand for column in self.columns() if column.is_computed}
        return {**values, **self.transformer.joined}

    def columns(self) -> tuple[ResultColumn, ...]:
        """The columns that the rows show, of several sequences those of each."""
        shown = (self.shown(self.transformer.with_values(part).columns) for part in self.parts)
        return tuple({column.path: column for column in chain(*shown)}.values())

    def count(self, part: ResultRows) -> int:
        with self.connection.cursor() as cursor:
            cursor.execute(*part.result.select("COUNT(*)").statement)
            return int(cursor.fetchone()[0])

    def shown(self, columns: tuple[ResultColumn, ...]) -> tuple[ResultColumn, ...]:
        """The columns that $select names; all without it."""
        select = self.options.select
        if select is None or ("*",) in select:
            return columns
        return tuple(column for column in columns if column.path in select)

    def check_select(self) -> None:
        """Refuse a $select of members that no row has."""
        results = [self.transformer.with_values(part) for part in self.parts]
        names = {column.name for result in results for column in result.columns}
        for path in self.options.select or ():
            if path != ("*",) and "/".join(path) not in names:
                raise BadQuery(
                    f"$select: the transformed rows have no member {'/'.join(path)[:60]}; they have"
                    f" {', '.join(sorted(names))}.",
                    target="$select",
                )

    @property
    def select_list(self) -> str:
        """The members of the rows, for the context URL."""
        paths = [column.path for column in self.columns()]
        return f"({','.join(select_items(self.entity_set.type, paths, self.transformer.joined))})"


def select_items(
    type_: StructuredType,
    paths: Iterable[tuple[str, ...]],
    joined: Mapping[str, NavigationProperty] = MappingProxyType({}),
) -> list[str]:
    """The select list of a context URL: members of related records stand in parentheses."""
    items: list[str] = []
    nested: dict[str, tuple[StructuredType, list[tuple[str, ...]]]] = {}
    for first, *rest in paths:
        navigation = joined.get(first) or type_.find_navigation(first) if rest else None
        if navigation is None:
            items.append(first)
        elif navigation.is_complex:
            items += [f"{first}/{item}" for item in select_items(navigation.type, [tuple(rest)])]
        else:
            nested.setdefault(first, (navigation.type, []))[1].append(tuple(rest))
    return items + [f"{name}({','.join(select_items(*inner))})" for name, inner in nested.items()]
