"""From the options of a request to rows of JSON: filter, order, page, and the parts that choose rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import connections, models
from django.db.models import Func, OuterRef

from apps.odata.any_of import AnyOf
from apps.odata.clock import set_database_zone
from apps.odata.declaration.schema import EntitySet, NavigationProperty
from apps.odata.errors import BadQuery, NotFound
from apps.odata.query.ast import Literal, ValueKind
from apps.odata.query.binding import SortKey, bind_filter, sort_keys
from apps.odata.query.options import QueryOptions
from apps.odata.query.plain_filters import apply_plain_filters
from apps.odata.query.search import search_condition
from apps.odata.read.paging import page_condition, token_for
from apps.odata.read.record_json import PartJson, RecordJson, Selection, quoted, record_sql, with_today
from apps.odata.read.selection import AskedPart, Shown, shown

#: Rows fetched at a time by a stream.
CHUNK = 500

Aliases = Mapping[str, Literal]
NO_ALIASES: Aliases = {}

NO_STAMP = models.Value(None, output_field=models.DateTimeField())


@dataclass(frozen=True)
class Page:
    """Some rows of a collection: the JSON text of each, the total when asked for, where to go on."""

    rows: list[str]
    context: str
    count: int | None = None
    next_token: str | None = None


class Reading:
    """One GET on a collection or record, for one caller."""

    def __init__(self, entity_set: EntitySet, caller: Any, options: QueryOptions, item: bool = False) -> None:
        self.entity_set = entity_set
        self.type = entity_set.type
        self.options = options
        self.shown = shown(self.type, options, item)
        self.visible = entity_set.resource.visible_to(caller)
        set_database_zone(connections[self.visible.db])

    @property
    def json(self) -> RecordJson:
        """The expression that renders a record as it is shown here."""
        return record_json(self.shown, self.type, self.options.aliases)

    @property
    def has_statements(self) -> bool:
        """Whether records are read by their key in statements that are kept as texts."""
        vendor = connections[self.visible.db].vendor
        return vendor == "postgresql" and is_whole_table(self.visible) and not self.shown.asked

    @property
    def context(self) -> str:
        """The context URL's fragment: ``Claim(LineItems())``."""
        return f"{self.entity_set.name}{self.shown.fragment}"

    def filtered(self) -> models.QuerySet:
        """The rows that $filter, $search and the plain filters leave."""
        rows = self.visible
        options = self.options
        if options.filter is not None:
            rows = rows.filter(bind_filter(options.filter, self.type, options.aliases))
        if options.search is not None:
            rows = rows.filter(search_condition(self.entity_set, options.search))
        if options.plain:
            rows = apply_plain_filters(self.entity_set, rows, options.plain)
        return rows

    def record(self, key: Any) -> tuple[str, Any]:
        """The JSON and the modify stamp of one record; ``NotFound`` when this caller sees none."""
        if self.has_statements:
            with connections[self.visible.db].cursor() as cursor:
                statement = statement_of_record(self.entity_set, self.shown.selection)
                cursor.execute(with_today(statement), [key])
                row = cursor.fetchone()
        else:
            stamp = models.F(self.entity_set.etag_field) if self.entity_set.etag_field else NO_STAMP
            columns = self.json, stamp
            row = self.visible.filter(pk=key).order_by().values_list(*columns).first()
        if row is None:
            raise NotFound(f"There is no {self.entity_set.name} with this key.")
        return row

    def records(self, keys: list[Any]) -> list[str]:
        """The JSON of these records, in this order."""
        if self.has_statements:
            statement = statement_of_records(self.entity_set, self.shown.selection)
            with connections[self.visible.db].cursor() as cursor:
                cursor.execute(with_today(statement), [array_of(keys)])
                by_key = dict(cursor.fetchall())
        else:
            rows = self.visible.filter(AnyOf(self.entity_set.model._meta.pk, keys)).order_by()
            by_key = dict(rows.values_list("pk", self.json))
        return [by_key[key] for key in keys if key in by_key]

    def count(self) -> int:
        return self.filtered().order_by().count()

    def page(self, size: int) -> Page:
        """At most ``size`` rows from where $skiptoken or $skip says; one more is looked at, not shown."""
        options = self.options
        top = options.top
        wanted = size if top is None else min(size, top)
        rows = self.filtered()
        count = rows.order_by().count() if options.count else None
        if wanted == 0:
            return Page([], self.context, count)
        keys = sort_keys(self.type, options.orderby, options.aliases)
        if options.skiptoken is not None:
            rows = rows.filter(page_condition(self.entity_set.name, keys, options.skiptoken))
        found = self.rows(rows, keys, options.skip or 0, wanted + 1)
        token = None
        if len(found) > wanted and (top is None or top > wanted):
            last = [sort_value(*pair) for pair in zip(keys, found[wanted - 1][1:], strict=True)]
            token = token_for(self.entity_set.name, keys, last)
        return Page([row[0] for row in found[:wanted]], self.context, count, token)

    def rows(
        self, rows: models.QuerySet, keys: tuple[SortKey, ...], skip: int, take: int
    ) -> list[tuple[Any, ...]]:
        """(JSON, sort columns …) of some rows.

        Skipped rows would be rendered, and SQLite renders before it sorts: the page's keys are chosen in an
        inner query wherever that can happen.
        """
        vendor = connections[rows.db].vendor
        ordered = rows.order_by(*(key.order_by for key in keys))
        if skip or vendor == "sqlite":
            chosen = ordered.values("pk")[skip : skip + take]
            ordered = self.entity_set.model._base_manager.using(rows.db).filter(pk__in=chosen)
            ordered = ordered.order_by(*(key.order_by for key in keys))
        else:
            ordered = ordered[:take]
        values = (sort_column(key, vendor) for key in keys)
        return list(ordered.values_list(self.json, *values))

    def stream(self) -> Iterator[str]:
        """Every row that is asked for, a chunk in memory at a time."""
        options = self.options
        if options.skiptoken is not None:
            raise BadQuery("$skiptoken goes with pages; a stream has none.", target="$skiptoken")
        keys = sort_keys(self.type, options.orderby, options.aliases)
        rows = self.filtered().order_by(*(key.order_by for key in keys))
        start = options.skip or 0
        if start or options.top is not None:
            stop = None if options.top is None else start + options.top
            chosen = rows.values("pk")[start:stop]
            rows = self.entity_set.model._base_manager.using(rows.db).filter(pk__in=chosen)
            rows = rows.order_by(*(key.order_by for key in keys))
        return rows.values_list(self.json, flat=True).iterator(chunk_size=CHUNK)


# --- one record ---------------------------------------------------------------------------------------


def is_whole_table(rows: models.QuerySet) -> bool:
    """Whether these are all rows of the model's table, as far as is easily told."""
    query = rows.query
    return not (query.where or query.alias_map or query.is_sliced or query.combinator or query.extra_tables)


@lru_cache(maxsize=512)
def statement_of_record(entity_set: EntitySet, selection: Selection) -> str:
    """PostgreSQL's SELECT of (JSON, stamp) by key; compiling it takes longer than answering it."""
    model: Any = entity_set.model._meta
    table = quoted(model.db_table)
    json = record_sql("postgresql", entity_set.type, table, selection, as_text=True)
    stamp = model.get_field(entity_set.etag_field).column if entity_set.etag_field else None
    return (
        f"SELECT {json}, {f'{table}.{quoted(stamp)}' if stamp else 'NULL'} FROM {table}"
        f" WHERE {table}.{quoted(model.pk.column)} = %s"
    )


@lru_cache(maxsize=512)
def statement_of_records(entity_set: EntitySet, selection: Selection) -> str:
    """PostgreSQL's SELECT of (key, JSON) by an array of keys."""
    model: Any = entity_set.model._meta
    table = quoted(model.db_table)
    key = f"{table}.{quoted(model.pk.column)}"
    json = record_sql("postgresql", entity_set.type, table, selection, as_text=True)
    kind = model.pk.db_type(connections["default"]).split()[0]
    return f"SELECT {key}, {json} FROM {table} WHERE {key} = ANY(%s::{kind}[])"


def array_of(keys: Iterable[Any]) -> str:
    """PostgreSQL's text of an array of guids or numbers; psycopg takes far longer to adapt a list."""
    return f"{{{','.join(map(str, keys))}}}"


# --- sort values --------------------------------------------------------------------------------------


def sort_column(key: SortKey, vendor: str) -> Any:
    """What is fetched of each row to make a token of the last one.

    The driver reads PostgreSQL's moments in Python; for every row that would take longer than their JSON.
    """
    if vendor == "postgresql" and key.kind is ValueKind.DATETIME:
        return Func(key.value, template="to_json(%(expressions)s)::text", output_field=models.TextField())
    return key.value


def sort_value(key: SortKey, fetched: Any) -> Any:
    """The sort value that was fetched as ``sort_column``."""
    is_text = key.kind is ValueKind.DATETIME and isinstance(fetched, str)
    return dt.datetime.fromisoformat(fetched.strip('"')) if is_text else fetched


# --- parts --------------------------------------------------------------------------------------------


def record_json(what: Shown, type_: Any, aliases: Aliases = NO_ALIASES, as_text: bool = True) -> RecordJson:
    """The expression that renders what is shown of a record."""
    lists: dict[str, Any] = {}
    for name, asked in what.asked.items():
        rows = filtered_rows(asked, aliases)
        if asked.options.count:  # counted before $top and $skip
            lists[f"{name}@odata.count"] = PartJson(rows.values(json=models.F("pk")), count=True)
        lists[name] = PartJson(chosen_rows(rows, asked, aliases))
    return RecordJson(type_, what.selection, lists, as_text)


def part_rows(part: NavigationProperty) -> models.QuerySet:
    """The rows of a list part that belong to the record around it."""
    relation = part.relation
    back = relation.related_query_name() if relation.many_to_many and not relation.auto_created else None
    back = back or relation.field.name
    return part.type.model._base_manager.filter(**{back: OuterRef("pk")}).order_by()


def filtered_rows(asked: AskedPart, aliases: Aliases) -> models.QuerySet:
    rows = part_rows(asked.part)
    if asked.options.filter is None:
        return rows
    target = f"$expand/{asked.part.name}/$filter"
    return rows.filter(bind_filter(asked.options.filter, asked.part.type, aliases, target))


def chosen_rows(rows: models.QuerySet, asked: AskedPart, aliases: Aliases) -> models.QuerySet:
    """The rows of a part that its own options choose, as JSON in the column ``json``."""
    options, type_ = asked.options, asked.part.type
    keys = sort_keys(type_, options.orderby, aliases, f"$expand/{asked.part.name}/$orderby")
    rows = rows.order_by(*(key.order_by for key in keys))
    rows = rows.annotate(json=record_json(asked.shown, type_, aliases, as_text=False)).values("json")
    start = options.skip or 0
    if start or options.top is not None:
        rows = rows[start : None if options.top is None else start + options.top]
    return rows
