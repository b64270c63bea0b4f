"""Records as the texts of their JSON: one record, a page, a stream."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from django.db import connections, models
from django.db.models import Func, OuterRef, QuerySet, Sum
from django.db.models.functions import Coalesce

from apps.base import clock
from apps.base.batched_queries import AnyOf, PreparedQuery, fetch_all, prepared_query
from apps.base.declaration.resource import Caller
from apps.base.declaration.schema import EntitySet, SetNavigation, StructuredType
from apps.base.errors import NotFound
from apps.odata.errors import BadQuery
from apps.odata.query.ast import ValueKind
from apps.odata.query.binding import bind_filter
from apps.odata.query.operands import RequestContext
from apps.odata.query.options import QueryOptions, split_top_level
from apps.odata.query.ordering import SortKey, sort_keys
from apps.odata.query.search import search_condition
from apps.odata.read.flattening import Column, columns
from apps.odata.read.paging import make_token, rows_after_token
from apps.odata.read.projection import NestedQuery, Projection, bind_projection, find_set_list
from apps.odata.read.record_json import (
    ComputedJson,
    Etag,
    NestedJson,
    NestedShape,
    NextLink,
    RecordJson,
    ReferenceJson,
    Selection,
    without_absent_links,
)
from apps.odata.read.tables import CellText, RecordTable, table_from_json, table_of_cells

#: Rows that a stream fetches at a time.
CHUNK = 500

#: Records of another entity set that a list inside a record shows; as many as a bill can have lines.
MAX_LIST_ROWS = 100


@dataclass(frozen=True)
class ResultPage:
    """Some records of a collection; ``count`` is the number of all records, when $count asks for it.

    ``next_token`` is the token of the next page, ``None`` on the last one.
    """

    records: list[str]
    count: int | None = None
    next_token: str | None = None


def filter_rows(
    entity_set: EntitySet, rows: QuerySet[models.Model], options: QueryOptions, caller: Caller | None = None
) -> QuerySet[models.Model]:
    """The rows that $filter and $search select."""
    if options.filter is not None:
        request = RequestContext(options.aliases, caller)
        rows = rows.filter(bind_filter(options.filter, entity_set.type, request))
    if options.search is not None:
        rows = rows.filter(search_condition(entity_set, options.search))
    return rows


class JsonReader:
    """Reads ``rows``, a queryset of an entity set, as JSON with the members that $select and $expand name.

    ``next_option`` is the option that begins the next page. ``item``: the request is for one record.
    ``has_etags``: each record begins with its ``@odata.etag``.
    ``caller`` sent the request; without one, no navigation property leads to another entity set. ``base_url``
    is what links begin with. ``computed`` are the computed values in the records, by their paths.
    """

    next_option = "$skiptoken"

    def __init__(
        self,
        entity_set: EntitySet,
        rows: QuerySet[models.Model],
        options: QueryOptions,
        item: bool = False,
        has_etags: bool = False,
        caller: Caller | None = None,
        base_url: str = "",
    ) -> None:
        self.entity_set = entity_set
        self.rows = rows
        self.options = options
        self.request = RequestContext(options.aliases, caller, base_url)
        if options.only_references:
            self.projection = Projection(Selection(), references=entity_set)
        else:
            self.projection = bind_projection(entity_set.type, options, item, self.request)
        self.has_set_lists = bool(self.projection.nested_queries and find_set_list(self.projection))
        if has_etags and entity_set.etag_field:
            selection = replace(self.projection.selection, etag_field=entity_set.etag_field)
            self.projection = replace(self.projection, selection=selection)
        self.select_list, self.computed = self.projection.select_list, self.projection.all_computed
        self.connection = connections[rows.db]
        clock.set_database_zone(self.connection)

    def record(self, key: object) -> tuple[str, str | None]:
        """One record and its ETag; ``NotFound`` when it is none of the rows."""
        found = self.read([key])
        if not found:
            raise NotFound(f"There is no {self.entity_set.name} with this key.")
        return found[key]

    def read(self, keys: list[object]) -> dict[object, tuple[str, str | None]]:
        """The records with these keys, and their ETags, where they have any."""
        projection, rows = self.projection, self.rows
        has_own_text = projection.nested_queries or projection.computed or projection.references
        if not has_own_text and is_whole_table(rows):
            query = records_by_key(self.entity_set, projection.selection, clock.today())
            (found,) = fetch_all([query(keys)])
        else:
            json = record_json(self.entity_set.type, projection, self.request)
            etag = Etag(self.entity_set.etag_field)
            found = list(rows.filter(AnyOf("pk", keys)).order_by().values_list("pk", json, etag))
        if self.has_set_lists:
            found = [(key, without_absent_links(json), etag) for key, json, etag in found]
        return {key: (json, etag) for key, json, etag in found}

    def columns(self) -> tuple[Column, ...]:
        """The columns that a table of the records has."""
        return columns(self.entity_set.type, self.projection.selection)

    def count(self) -> int:
        if (sums := stored_sums(self.entity_set, self.rows)) is not None:
            return sums.aggregate(number=Coalesce(Sum("number"), 0))["number"]
        return self.rows.order_by().count()

    def page(self, size: int) -> ResultPage:
        """At most ``size`` records from $skiptoken or $skip on; one more is fetched to see if it exists."""
        options, name = self.options, self.entity_set.name
        top = options.top
        limit = size if top is None else min(size, top)
        count = self.count() if options.count else None
        if limit == 0:
            return ResultPage([], count)
        keys = sort_keys(self.entity_set.type, options.orderby, self.request)
        rows = self.rows
        if options.skiptoken is not None:
            rows = rows.filter(rows_after_token(name, keys, options.skiptoken))
        fetched = self.fetch(rows, keys, options.skip or 0, limit + 1)
        token = None
        if len(fetched) > limit and (top is None or top > limit):
            values = zip(keys, fetched[limit - 1][1:], strict=True)
            token = make_token(name, keys, [read_sort_value(key, value) for key, value in values])
        records = [row[0] for row in fetched[:limit]]
        return ResultPage(
            [*map(without_absent_links, records)] if self.has_set_lists else records, count, token
        )

    def fetch(
        self, rows: QuerySet[models.Model], keys: tuple[SortKey, ...], skip: int, limit: int
    ) -> list[tuple[Any, ...]]:
        """(JSON, sort columns …) of the rows of a page.

        Where rows would be rendered before they are sorted and cut, as SQLite does and any database does with
        skipped rows, the keys of the page are selected in an inner query.
        """
        order = [key.order_by for key in keys]
        if skip or self.connection.vendor == "sqlite":
            rows = self.with_keys_of(rows.order_by(*order)[skip : skip + limit]).order_by(*order)
        else:
            rows = rows.order_by(*order)[:limit]
        columns = (sort_column(key, self.connection.vendor) for key in keys)
        json = record_json(self.entity_set.type, self.projection, self.request)
        return list(rows.values_list(json, *columns))

    def with_keys_of(self, rows: QuerySet[models.Model]) -> QuerySet[models.Model]:
        """The rows by their keys, so that the database selects keys first and renders records afterwards."""
        return self.entity_set.model._base_manager.using(rows.db).filter(pk__in=rows.values("pk"))

    def table(self) -> RecordTable:
        """All records as rows of cells."""
        columns = self.columns()
        if not all(column.is_flat for column in columns):
            return table_from_json(columns, self.stream())
        cells = [CellText(column.prop) for column in columns if column.prop is not None]
        rows = self.ordered_rows().values_list(*cells).iterator(chunk_size=CHUNK)
        return table_of_cells(self.entity_set, columns, rows)

    def stream(self) -> Iterator[str]:
        """All records, with one chunk of them in memory at a time."""
        json = record_json(self.entity_set.type, self.projection, self.request)
        records: Iterator[str] = self.ordered_rows().values_list(json, flat=True).iterator(chunk_size=CHUNK)
        return map(without_absent_links, records) if self.has_set_lists else records

    def ordered_rows(self) -> QuerySet[models.Model]:
        """All rows that $skip and $top leave, in their order."""
        options = self.options
        if options.skiptoken is not None:
            raise BadQuery("$skiptoken goes with pages; a stream has none.", target="$skiptoken")
        keys = sort_keys(self.entity_set.type, options.orderby, self.request)
        order = [key.order_by for key in keys]
        rows = self.rows.order_by(*order)
        if options.skip or options.top is not None:
            rows = self.with_keys_of(slice_rows(rows, options.skip, options.top)).order_by(*order)
        return rows


def slice_rows(rows: QuerySet[models.Model], skip: int | None, top: int | None) -> QuerySet[models.Model]:
    start = skip or 0
    return rows[start : None if top is None else start + top]


# --- records by their key -----------------------------------------------------------------------------


def is_whole_table(rows: QuerySet[models.Model]) -> bool:
    """True when a queryset has no condition, as far as a glance tells."""
    query = rows.query  # its attributes are not public: tests/odata/test_reading.py has a queryset for each
    return not (query.where or query.is_sliced or query.combinator or query.extra_tables)


def stored_sums(entity_set: EntitySet, rows: QuerySet[models.Model]) -> QuerySet[models.Model] | None:
    """The sums that PostgreSQL stores of all records of a set, when these are the rows."""
    stored = entity_set.resource.stored_sums
    if stored is None or connections[rows.db].vendor != "postgresql" or not is_whole_table(rows):
        return None
    return stored.model._base_manager.using(rows.db)


@lru_cache(maxsize=512)
def records_by_key(entity_set: EntitySet, selection: Selection, today: dt.date) -> PreparedQuery:
    """(key, JSON, ETag) of the records with some keys; in the JSON some values depend on the day."""

    @prepared_query
    def records(keys: Iterable[object]) -> QuerySet[models.Model, tuple[object, ...]]:
        rows = entity_set.model._base_manager.filter(AnyOf("pk", keys)).order_by()
        return rows.values_list("pk", RecordJson(entity_set.type, selection), Etag(entity_set.etag_field))

    return records


# --- sort values --------------------------------------------------------------------------------------


def sort_column(key: SortKey, vendor: str) -> Any:
    """The column of a sort value, for the $skiptoken of the last row.

    psycopg makes Python objects of PostgreSQL's times; for every row that would take longer than their JSON.
    """
    if vendor == "postgresql" and key.kind is ValueKind.DATETIME:
        return Func(key.value, template="to_json(%(expressions)s)::text", output_field=models.TextField())
    return key.value


def read_sort_value(key: SortKey, value: Any) -> object:
    """The sort value in a row that was fetched with ``sort_column``."""
    is_text = key.kind is ValueKind.DATETIME and isinstance(value, str)
    return dt.datetime.fromisoformat(value.strip('"')) if is_text else value


# --- nested queries -----------------------------------------------------------------------------------


def record_json(
    type_: StructuredType,
    projection: Projection,
    request: RequestContext,
    as_text: bool = True,
) -> RecordJson | ReferenceJson:
    """The expression that renders a record with its nested queries and computed values, or its address."""
    if projection.references is not None:
        before = f"{request.base_url}{projection.references.name}("
        return ReferenceJson(projection.references.key, before, as_text)
    lists: dict[str, Any] = {
        name: ComputedJson(operand.sql, operand.kind, operand.scale)
        for name, operand in projection.computed.items()
    }
    request = request.inside(type_)
    for name, nested in projection.nested_queries.items():
        rows = nested_rows(nested, request)
        if not nested.navigation.many:
            lists[name] = NestedJson(with_json(rows, nested, request), NestedShape.ONE)
            continue
        if nested.options.count:  # counted before $top and $skip
            lists[f"{name}@odata.count"] = NestedJson(rows.values(json=models.F("pk")), NestedShape.COUNT)
        if nested.options.only_count:
            continue
        ordered, top = ordered_nested_rows(rows, nested, request), nested.options.top
        if isinstance(nested.navigation, SetNavigation) and (top is None or top > MAX_LIST_ROWS):
            lists[f"{name}@odata.nextLink"] = next_link(type_, nested, ordered, request)
            top = MAX_LIST_ROWS
        lists[name] = NestedJson(slice_rows(ordered, nested.options.skip, top))
    return RecordJson(type_, projection.selection, lists, as_text)


def nested_rows(nested: NestedQuery, request: RequestContext) -> QuerySet[models.Model]:
    """The rows that belong to the record of the outer query, and that $filter selects."""
    navigation, type_ = nested.navigation, nested.navigation.type
    path, owner_path = navigation.link
    rows = navigation.rows_for(request.caller).filter(**{path: OuterRef(owner_path)}).order_by()
    if nested.options.search is not None and isinstance(navigation, SetNavigation):
        rows = rows.filter(search_condition(navigation.entity_set, nested.options.search))
    if nested.options.filter is None:
        return rows
    target = f"$expand/{navigation.name}/$filter"
    return rows.filter(bind_filter(nested.options.filter, type_, request, target))


def ordered_nested_rows(
    rows: QuerySet[models.Model], nested: NestedQuery, request: RequestContext
) -> QuerySet[models.Model]:
    """The rows of a list in the order of $orderby, as JSON in the column ``json``."""
    options, type_ = nested.options, nested.navigation.type
    keys = sort_keys(type_, options.orderby, request, f"$expand/{nested.navigation.name}/$orderby")
    return with_json(rows.order_by(*(key.order_by for key in keys)), nested, request)


def with_json(
    rows: QuerySet[models.Model], nested: NestedQuery, request: RequestContext
) -> QuerySet[models.Model]:
    """The JSON of each row in the column ``json``."""
    json: object = record_json(nested.navigation.type, nested.projection, request, as_text=False)
    return rows.annotate(json=json).values("json")


def next_link(
    type_: StructuredType, nested: NestedQuery, ordered: QuerySet[models.Model], request: RequestContext
) -> NextLink:
    """The address of the rest of a list of another entity set: that set, filtered by the record's key."""
    navigation, options = nested.navigation, nested.options
    assert type_.key is not None
    assert isinstance(navigation, SetNavigation)
    end = (options.skip or 0) + MAX_LIST_ROWS
    given: dict[str, str] = {}
    for piece in split_top_level(navigation.name, text_from_record(nested, request), ";"):
        name, _, value = piece.partition("=")
        given[name.strip(" $").lower()] = value.strip()
    condition = given.pop("filter", "")
    options_left = {name: value for name, value in given.items() if name and name not in PAGED}
    options_left["skip"] = str(end)
    if options.top is not None:
        options_left["top"] = str(options.top - MAX_LIST_ROWS)
    ending = "/$ref" if options.only_references else ""
    before = f"{navigation.entity_set.name}{ending}?$filter={navigation.owner_key} eq "
    after = quote(f" and ({condition})", safe=_READABLE) if condition else ""
    after += "".join(f"&${name}={quote(value, safe=_READABLE)}" for name, value in options_left.items())
    rest = ordered[end : end + 1]
    return NextLink(rest, type_.key, request.base_url + before.replace(" ", "%20"), after)


def text_from_record(nested: NestedQuery, request: RequestContext) -> str:
    """The options of a list as its own set takes them: there, what ``$it`` means is behind the partner."""
    navigation = nested.navigation
    assert isinstance(navigation, SetNavigation)
    is_first, text = len(request.outer_types) == 1, nested.text
    for match in _FROM_RECORD.finditer(text):
        if match["it"] and not (is_first and navigation.partner):
            raise BadQuery(f"$it cannot be followed into {navigation.name}.", target="$expand")
    return _FROM_RECORD.sub(lambda match: f"{navigation.partner}/" if match["it"] else match[0], text)


#: A path from the record that the address names; strings are skipped.
_FROM_RECORD = re.compile(r"'[^']*'|(?P<it>\$it/)", re.IGNORECASE)
#: Options of a part of a list that the link to the next one replaces.
PAGED = ("skip", "top", "count")
#: Characters that are not escaped in a link, so that people can read it.
_READABLE = "$=,()/:@'*;"
