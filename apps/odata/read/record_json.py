"""The JSON of a record as one expression that the database renders (docs/architecture.md, "Reading").

PostgreSQL uses ``row_to_json``, SQLite concatenation; the values are equal, digit for digit. The SQL is
generated once per (engine, type, alias, selection) and cached, so that the ORM compiles only FROM, WHERE,
ORDER BY and LIMIT for a request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import Expression, Func, Subquery
from django.db.models.sql.compiler import SQLCompiler

from apps.base.declaration.resource import Nesting
from apps.base.declaration.schema import (
    NavigationProperty,
    StructuralProperty,
    StructuredType,
    fields_on_path,
)
from apps.base.placeholders import placeholder, with_today
from apps.odata.query.ast import NUMBERS, ValueKind
from apps.odata.query.stored_values import MAX_INTEGER, MAX_NUMBER, QUOTIENT_DIGITS


@dataclass(frozen=True, slots=True)
class Selection:
    """The members of an object that are in the response.

    ``names`` are the properties (``None``: all), ``navigations`` the expanded navigation properties, each
    with its own selection. ``etag_field`` is the field of ``@odata.etag``, empty without one.
    """

    names: frozenset[str] | None = None
    navigations: tuple[tuple[str, Selection], ...] = ()
    etag_field: str = ""

    def properties_of(self, type_: StructuredType) -> list[tuple[str, StructuralProperty]]:
        """The selected properties with their names."""
        properties = type_.readable_properties.items()
        return [(name, prop) for name, prop in properties if self.names is None or name in self.names]


@lru_cache(maxsize=512)
def select_all(type_: StructuredType, item: bool = False) -> Selection:
    """``$expand=*``: all that is nested in a record; ``item`` adds what only single records show."""
    return Selection(
        navigations=tuple(
            (name, select_all(navigation.type, True))
            for name, navigation in type_.navigations.items()
            if item or not navigation.item_only
        )
    )


class RecordJson(Func):
    """The JSON of each record of a queryset of the model of ``type_``.

    ``Staff.objects.values_list(RecordJson(type_, selection), flat=True)`` gives one text per record.
    ``lists`` are the lists with options of their own, by name, their counts and links (see ``NestedJson``).
    """

    def __init__(
        self,
        type_: StructuredType,
        selection: Selection = Selection(),
        lists: Mapping[str, Expression] | None = None,
        as_text: bool = True,
    ) -> None:
        lists = lists or {}
        super().__init__(*lists.values(), output_field=models.TextField())
        self.type = type_
        self.selection = selection
        self.list_names = tuple(lists)
        self.as_text = as_text
        self.alias: str | None = None

    def resolve_expression(self, query: Any = None, *args: Any, **kwargs: Any) -> RecordJson:
        resolved = super().resolve_expression(query, *args, **kwargs)
        if resolved.alias is None:  # Django resolves a subquery's columns once more against the outer query
            resolved.alias = query.get_initial_alias()
        return resolved

    def relabeled_clone(self, change_map: dict[str, str]) -> RecordJson:
        clone = super().relabeled_clone(change_map)
        clone.alias = change_map.get(clone.alias, clone.alias) if clone.alias else None
        return clone

    def get_group_by_cols(self) -> list[object]:
        return []

    def as_sql(self, compiler: Any, connection: BaseDatabaseWrapper, **_: object) -> tuple[str, list[object]]:
        alias = compiler.quote_name_unless_alias(self.alias)
        text = with_today(
            record_sql(
                connection.vendor, self.type, alias, self.selection, frozenset(self.list_names), self.as_text
            )
        )
        params: list[object] = []
        lists = dict(zip(self.list_names, self.get_source_expressions(), strict=True))
        # The parameters of the lists follow the order of the lists in the text.
        for name in sorted(lists, key=lambda name: text.index(placeholder(name))):
            sql, list_params = compiler.compile(lists[name])
            text = text.replace(placeholder(name), sql, 1)
            params.extend(list_params)
        return text, params


class NestedShape(Enum):
    """The shapes that ``NestedJson`` makes of its rows."""

    LIST = "an array of them"
    ONE = "the only one, or null"
    COUNT = "their number"


class NestedJson(Subquery):
    """The rows of a subquery as JSON; the column ``json`` of each row is its item."""

    def __init__(self, queryset: models.QuerySet, shape: NestedShape = NestedShape.LIST) -> None:
        super().__init__(queryset, output_field=models.TextField())
        self.shape = shape

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **extra: object
    ) -> tuple[str, object]:
        dialect = DIALECTS[connection.vendor]
        template = f"(SELECT {dialect.nested_columns[self.shape]} FROM (%(subquery)s) _l)"
        try:
            return super().as_sql(compiler, connection, template=template, **extra)
        except EmptyResultSet:  # $top=0
            return ("0" if self.shape is NestedShape.COUNT else dialect.empty_array), ()


class ComputedJson(Func):
    """A value of $compute as JSON; a number without fixed decimal places has as many as it needs."""

    def __init__(self, value: object, kind: ValueKind, scale: int | None) -> None:
        super().__init__(value, output_field=models.TextField())
        self.kind, self.scale = kind, scale

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: object
    ) -> tuple[str, list[object]]:
        sql, params = compiler.compile(self.get_source_expressions()[0])
        if connection.vendor == "sqlite":
            return f"odata_json(%s,%s,{sql})", [self.kind.name, self.scale, *params]
        if self.kind in NUMBERS and self.scale is None:
            # A double becomes a number of COMPUTED_DIGITS.
            digits = f"trim_scale(CASE WHEN abs(n) < {MAX_NUMBER} THEN n::float8::numeric END)"
            if self.kind is ValueKind.INTEGER:
                digits = f"CASE WHEN abs(n) < {MAX_INTEGER} THEN trim_scale(n) ELSE {digits} END"
            sql = f"(SELECT {digits} FROM (SELECT round({sql},{QUOTIENT_DIGITS}) AS n) v)"
        return sql, list(params)


class ReferenceJson(Func):
    """The address of a record (``{"@odata.id": "https://host/api/Claim(…)"}``); ``before`` is its start."""

    def __init__(self, key: StructuralProperty, before: str, as_text: bool = False) -> None:
        super().__init__(models.F(key.path), output_field=models.TextField())
        self.key, self.before, self.as_text = key, before, as_text

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: object
    ) -> tuple[str, list[object]]:
        dialect = DIALECTS[connection.vendor]
        column, params = compiler.compile(self.get_source_expressions()[0])
        text = dialect.reference(dialect.link(self.key, column))
        return dialect.as_text(text) if self.as_text else text, [self.before, *params, ")"]


class Etag(Func):
    """The ETag of each record, made of its ``field`` by the database; null without one."""

    def __init__(self, field: str | None) -> None:
        modified = models.F(field) if field else models.Value(None)
        super().__init__(modified, output_field=models.TextField())

    def as_sql(self, compiler: Any, connection: BaseDatabaseWrapper, **_: object) -> tuple[str, list[object]]:
        modified = self.get_source_expressions()[0]
        if isinstance(modified, models.Value):
            return "NULL", []
        column, params = compiler.compile(modified)
        return DIALECTS[connection.vendor].etag(column), params


class NextLink(Func):
    """The link to the rest of a list of another entity set; null when ``rest`` has no row.

    ``before`` and ``after`` are the parts of the link around the key of the record.
    """

    def __init__(self, rest: models.QuerySet, key: StructuralProperty, before: str, after: str) -> None:
        super().__init__(models.Exists(rest), models.F(key.path), output_field=models.TextField())
        self.key, self.before, self.after = key, before, after

    def as_sql(self, compiler: Any, connection: BaseDatabaseWrapper, **_: object) -> tuple[str, list[object]]:
        (exists, params), (column, _) = map(compiler.compile, self.get_source_expressions())
        link = DIALECTS[connection.vendor].link(self.key, column)
        return f"CASE WHEN {exists} THEN {link} END", [*params, self.before, self.after]


_ABSENT_LINK = re.compile(r',"\w+@odata\.nextLink":null')


def without_absent_links(record: str) -> str:
    """The JSON of a record without the links of lists that are complete.

    Inside a text a quotation mark has a backslash before it, so nothing but such a member matches.
    """
    return _ABSENT_LINK.sub("", record)


# --- SQL text -----------------------------------------------------------------------------------------

NO_LISTS: frozenset[str] = frozenset()


@lru_cache(maxsize=512)
def record_sql(
    vendor: str,
    type_: StructuredType,
    alias: str,
    selection: Selection,
    lists: frozenset[str] = NO_LISTS,
    as_text: bool = False,
) -> str:
    """The SQL of the JSON of the record in the row ``alias``; ``lists`` become placeholders."""
    dialect = DIALECTS[vendor]
    text = dialect.record(dialect.members(type_, alias, selection, 1, lists))
    return dialect.as_text(text) if as_text else text


def quote_name(name: str | None) -> str:
    assert name is not None
    return '"' + name.replace('"', '""') + '"'


def is_text(field: models.Field) -> bool:
    return isinstance(field, models.CharField | models.TextField)


def column_sql(steps: tuple[Any, ...], alias: str, depth: int) -> str:
    """The SQL of the field at the end of a chain of foreign keys, with a subquery for each of them."""
    first, *rest = steps
    # A computed field has no column, but SQL of its own.
    column = first.sql_in(alias) if first.column is None else f"{alias}.{quote_name(first.column)}"
    if not rest:
        return column
    inner = f"s{depth}"
    target = first.related_model._meta
    return (
        f"(SELECT {column_sql(tuple(rest), inner, depth + 1)} FROM {quote_name(target.db_table)} {inner}"
        f" WHERE {inner}.{quote_name(first.target_field.column)} = {column})"
    )


def list_source(navigation: NavigationProperty, alias: str, inner: str) -> str:
    """``FROM … WHERE …`` of the list of the record in the row ``alias``; its rows are called ``inner``."""
    relation = navigation.relation
    target = quote_name(navigation.type.model._meta.db_table)
    if relation.many_to_many:
        forward = relation if not relation.auto_created else relation.field
        through = forward.remote_field.through._meta
        owner_column, item_column = forward.m2m_column_name(), forward.m2m_reverse_name()
        if relation.auto_created:
            owner_column, item_column = item_column, owner_column
        link = f"{inner}_link"
        owner_key, item_key = forward.model._meta.pk.column, navigation.type.model._meta.pk.column
        return (
            f" FROM {target} {inner} JOIN {quote_name(through.db_table)} {link}"
            f" ON {link}.{quote_name(item_column)} = {inner}.{quote_name(item_key)}"
            f" WHERE {link}.{quote_name(owner_column)} = {alias}.{quote_name(owner_key)}"
        )
    back = relation.field
    return (
        f" FROM {target} {inner}"
        f" WHERE {inner}.{quote_name(back.column)} = {alias}.{quote_name(back.target_field.column)}"
    )


class PostgreSQLDialect:
    """The JSON of PostgreSQL; members are (wire name, SQL of the JSON value) pairs.

    ``row_to_json`` keeps the order of members and all digits, and has no limit on members.
    """

    collation = ' COLLATE "C"'
    empty_array = "'[]'::json"
    nested_columns: Mapping[NestedShape, str] = {
        NestedShape.LIST: "coalesce(json_agg(_l.json),'[]'::json)",
        NestedShape.ONE: "_l.json",
        NestedShape.COUNT: "count(*)",
    }

    def members(
        self, type_: StructuredType, alias: str, selection: Selection, depth: int, lists: frozenset[str]
    ) -> list[tuple[str, str]]:
        """The members of the object in the row ``alias``; ``lists`` become placeholders."""
        pairs = []
        if selection.etag_field:
            steps = fields_on_path(type_.model, selection.etag_field, type_.name)
            pairs.append(("@odata.etag", self.text(self.etag(column_sql(steps, alias, depth)))))
        pairs += [
            (name, self.value(prop, column_sql(prop.steps, alias, depth)))
            for name, prop in selection.properties_of(type_)
        ]
        for name, nested in selection.navigations:
            if f"{name}@odata.count" in lists:
                pairs.append((f"{name}@odata.count", placeholder(f"{name}@odata.count")))
            if name in lists:
                pairs.append((name, placeholder(name)))
            else:
                navigation = type_.find_navigation(name)
                assert navigation is not None
                pairs.append((name, self.nested(navigation, alias, nested, depth)))
            if f"{name}@odata.nextLink" in lists:
                pairs.append((f"{name}@odata.nextLink", placeholder(f"{name}@odata.nextLink")))
        expanded = {name for name, _ in selection.navigations}
        # Computed values, and the counts of lists that are not shown.
        pairs += [
            (name, placeholder(name)) for name in sorted(lists) if name.partition("@")[0] not in expanded
        ]
        return pairs

    def nested(self, navigation: NavigationProperty, alias: str, selection: Selection, depth: int) -> str:
        """A nested object or list of the record in the row ``alias``."""
        type_ = navigation.type
        if navigation.nesting is Nesting.EMBEDDED:
            columns = [column_sql(prop.steps, alias, depth) for prop in type_.properties.values()]
            members = self.members(type_, alias, selection, depth, NO_LISTS)
            return f"CASE WHEN {self.any_not_null(columns)} THEN {self.record(members)} END"
        inner = f"p{depth}"
        members = self.members(type_, inner, selection, depth + 1, NO_LISTS)
        if navigation.many:
            terms = [self.order_term(type_, term, inner, depth + 1) for term in type_.order]
            source = list_source(navigation, alias, inner)
            return self.array(members, f"{source} ORDER BY {', '.join(terms)}")
        table = quote_name(type_.model._meta.db_table)
        key = f"{inner}.{quote_name(navigation.relation.target_field.column)}"
        reference = column_sql(navigation.steps, alias, depth)
        return self.record(members, f" FROM {table} {inner} WHERE {key} = {reference}")

    def order_term(self, type_: StructuredType, term: str, alias: str, depth: int) -> str:
        descending = term.startswith("-")
        steps = fields_on_path(type_.model, term.lstrip("-"), type_.name)
        column = column_sql(steps, alias, depth)
        if is_text(steps[-1]):
            column += self.collation
        nulls = ""
        if any(step.null for step in steps):
            nulls = " NULLS LAST" if descending else " NULLS FIRST"
        return f"{column}{' DESC' if descending else ''}{nulls}"

    def any_not_null(self, columns: list[str]) -> str:
        return f"num_nonnulls({','.join(columns)})>0"

    def value(self, prop: StructuralProperty, column: str) -> str:
        return column

    def cell(self, prop: StructuralProperty, column: str) -> str:
        """The text of a value in a table: its JSON without quotation marks and escapes."""
        if prop.edm.name == "Edm.DateTimeOffset":
            return f"btrim(to_json({column})::text,'\"')"
        return column if prop.edm.name == "Edm.String" else f"{column}::text"

    def link(self, key: StructuralProperty, column: str) -> str:
        """A text with a key between two parameters, as a JSON string."""
        return f"%s||{column}::text||%s"

    def reference(self, link: str) -> str:
        return f"json_build_object('@odata.id',{link})"

    def text(self, text: str) -> str:
        """The JSON of a text that is not null."""
        return text

    def etag(self, column: str) -> str:
        """The ETag of a time, as ``stored_values.make_etag`` makes it."""
        return f"'W/\"'||to_hex((extract(epoch from {column})*1000000)::bigint)||'\"'"

    def record(self, members: list[tuple[str, str]], source: str = "") -> str:
        return f"(SELECT row_to_json(_r) FROM ({self.row(members)}{source}) _r)"

    def array(self, members: list[tuple[str, str]], source: str) -> str:
        return f"(SELECT coalesce(json_agg(_r),'[]'::json) FROM ({self.row(members)}{source}) _r)"

    def row(self, members: list[tuple[str, str]]) -> str:
        return "SELECT " + ",".join(
            f"{sql} AS {quote_name(name).replace('%', '%%')}" for name, sql in members
        )

    def as_text(self, record: str) -> str:
        # A record is never null, so random() is never called. But PostgreSQL evaluates volatile expressions
        # after sorting and LIMIT, and rendering all rows of a table for one page would be slow.
        return f"coalesce({record}::text,random()::text)"


class SQLiteDialect(PostgreSQLDialect):
    """Concatenation; ``json_quote`` for texts, a registered function for times in the current zone."""

    collation = ""
    empty_array = "'[]'"
    nested_columns = {
        NestedShape.LIST: "'['||coalesce(group_concat(_l.json,','),'')||']'",
        NestedShape.ONE: "_l.json",
        NestedShape.COUNT: "count(*)",
    }

    def any_not_null(self, columns: list[str]) -> str:
        return "(" + " OR ".join(f"{column} IS NOT NULL" for column in columns) + ")"

    def value(self, prop: StructuralProperty, column: str) -> str:
        kind = prop.edm.name
        if kind in ("Edm.Guid", "Edm.DateTimeOffset", "Edm.Date"):
            return f"'\"'||{self.cell(prop, column)}||'\"'"
        if kind in ("Edm.Decimal", "Edm.Boolean"):
            return self.cell(prop, column)
        return f"CASE WHEN {column} IS NOT NULL THEN json_quote({column}) END"

    def cell(self, prop: StructuralProperty, column: str) -> str:
        edm = prop.edm
        if edm.name == "Edm.Guid":
            pieces = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
            return "||'-'||".join(f"substr({column},{at},{n})" for at, n in pieces)
        if edm.name == "Edm.DateTimeOffset":
            return f"odata_datetime({column})"
        if edm.name == "Edm.Decimal":
            return f"CASE WHEN {column} IS NOT NULL THEN printf('%%.{edm.scale}f',{column}) END"
        if edm.name == "Edm.Boolean":
            return f"CASE {column} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"
        return column

    def link(self, key: StructuralProperty, column: str) -> str:
        return f"json_quote(%s||trim({self.value(key, column)},'\"')||%s)"

    def reference(self, link: str) -> str:
        return f"'{{\"@odata.id\":'||{link}||'}}'"

    def text(self, text: str) -> str:
        return f"json_quote({text})"

    def etag(self, column: str) -> str:
        return f"odata_etag({column})"

    def record(self, members: list[tuple[str, str]], source: str = "") -> str:
        return f"(SELECT {self.object(members)}{source})"

    def array(self, members: list[tuple[str, str]], source: str) -> str:
        row = f"SELECT {self.object(members)} AS j{source}"
        return f"(SELECT '['||coalesce(group_concat(j,','),'')||']' FROM ({row}))"

    def literal(self, text: str) -> str:
        """An SQL string literal; percent signs are doubled, since they mark parameters."""
        return "'" + text.replace("'", "''").replace("%", "%%") + "'"

    def object(self, members: list[tuple[str, str]]) -> str:
        if not members:
            return "'{}'"
        pieces = (
            self.literal(("{" if first else ",") + f'"{name}":') + f"||coalesce({sql},'null')"
            for first, (name, sql) in zip([True] + [False] * (len(members) - 1), members, strict=True)
        )
        return "||".join(pieces) + "||'}'"

    def as_text(self, record: str) -> str:
        return record


DIALECTS = {"postgresql": PostgreSQLDialect(), "sqlite": SQLiteDialect()}
