"""A record's JSON as one expression that the database renders (docs/architecture.md, "Reading").

PostgreSQL writes it with ``row_to_json``, SQLite by concatenation; the values are equal, digit for digit.
The text is written once per (engine, type, alias, selection) and kept, so that a request costs the ORM no
more than FROM, WHERE, ORDER and LIMIT.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import models
from django.db.models.expressions import Expression, Subquery

from apps.odata import clock
from apps.odata.declaration.resource import Nesting
from apps.odata.declaration.schema import NavigationProperty, StructuralProperty, StructuredType


@dataclass(frozen=True, slots=True)
class Selection:
    """Which members of an object are in the response.

    ``names`` are the properties (``None``: all), ``navigations`` the expanded navigation properties, each
    with its own selection.
    """

    names: frozenset[str] | None = None
    navigations: tuple[tuple[str, Selection], ...] = ()

    def shows(self, name: str) -> bool:
        return self.names is None or name in self.names


def everything(type_: StructuredType, item: bool = False) -> Selection:
    """``$expand=*``: every part with what lies inside it; ``item`` adds the parts only one record shows."""
    return Selection(
        navigations=tuple(
            (part.name, everything(part.type, True))
            for part in type_.navigations.values()
            if item or not part.item_only
        )
    )


class RecordJson(Expression):
    """The JSON of each record of a queryset over ``type_``'s model.

    ``Staff.objects.values_list(RecordJson(type_, selection), flat=True)`` gives one text per record.
    ``lists`` replaces the rendering of parts whose rows are filtered, ordered or cut (see ``PartJson``).
    """

    def __init__(
        self,
        type_: StructuredType,
        selection: Selection = Selection(),
        lists: Mapping[str, Expression] | None = None,
        as_text: bool = True,
    ) -> None:
        super().__init__(output_field=models.TextField())
        self.type = type_
        self.selection = selection
        self.lists = dict(lists or {})
        self.as_text = as_text
        self.alias: str | None = None

    def get_source_expressions(self) -> list[Any]:
        return list(self.lists.values())

    def set_source_expressions(self, exprs: Any) -> None:
        self.lists = dict(zip(self.lists, exprs, strict=True))

    def resolve_expression(self, query: Any = None, *args: Any, **kwargs: Any) -> RecordJson:
        resolved = super().resolve_expression(query, *args, **kwargs)
        if resolved.alias is None:  # Django resolves a subquery's columns once more against the outer query
            resolved.alias = query.get_initial_alias()
        return resolved

    def relabeled_clone(self, change_map: dict[str, str]) -> RecordJson:
        clone = super().relabeled_clone(change_map)
        clone.alias = change_map.get(clone.alias, clone.alias) if clone.alias else None
        return clone

    def get_group_by_cols(self) -> list[Any]:
        return []

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        alias = compiler.quote_name_unless_alias(self.alias)
        text = with_today(
            record_sql(
                connection.vendor, self.type, alias, self.selection, frozenset(self.lists), self.as_text
            )
        )
        if not self.lists:
            return text, []
        params: list[Any] = []
        for name in ordered_places(text, self.lists):
            sql, part_params = compiler.compile(self.lists[name])
            text = text.replace(place_of(name), sql, 1)
            params.extend(part_params)
        return text, params


class PartJson(Subquery):
    """A list part as a JSON array of a subquery's rows, each a text or JSON in the column ``json``.

    ``count`` renders the number of rows instead (``LineItems@odata.count``).
    """

    def __init__(self, queryset: models.QuerySet, count: bool = False) -> None:
        super().__init__(queryset, output_field=models.TextField())
        self.count = count

    def as_sql(self, compiler: Any, connection: Any, **extra: Any) -> tuple[str, Any]:
        column = "count(*)" if self.count else "coalesce(json_agg(_l.json),'[]'::json)"
        if connection.vendor == "sqlite":
            column = "count(*)" if self.count else "'['||coalesce(group_concat(_l.json,','),'')||']'"
        template = f"(SELECT {column} FROM (%(subquery)s) _l)"
        try:
            return super().as_sql(compiler, connection, template=template, **extra)
        except EmptyResultSet:  # $top=0: there is no row to ask the database for
            nothing = "'[]'" if connection.vendor == "sqlite" else "'[]'::json"
            return ("0" if self.count else nothing), ()


def place_of(name: str) -> str:
    """Where the text of a part compiled per request goes; no SQL can hold this mark."""
    return f"\x00{name}\x00"


#: Where the day of the request goes, in the kept text of a value that hangs on it.
TODAY = place_of("the day")


def with_today(text: str) -> str:
    """The SQL text with the one day that all of this request goes by, in the subscriber's zone."""
    return text.replace(TODAY, f"'{clock.today().isoformat()}'") if TODAY in text else text


def ordered_places(text: str, names: Mapping[str, Any]) -> list[str]:
    """The names in the order they stand in the text, which is the order of their parameters."""
    return sorted(names, key=lambda name: text.index(place_of(name)))


# --- SQL text -----------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def record_sql(
    vendor: str,
    type_: StructuredType,
    alias: str,
    selection: Selection,
    placed: frozenset[str] = frozenset(),
    as_text: bool = False,
) -> str:
    """A scalar SQL text: the JSON of the record in the row called ``alias``."""
    writer = POSTGRESQL if vendor == "postgresql" else SQLITE
    text = writer.record(writer.members(type_, alias, selection, 1, placed))
    return writer.outermost(text) if as_text else text


def quoted(name: str | None) -> str:
    assert name is not None
    return '"' + name.replace('"', '""') + '"'


def text_literal(name: str) -> str:
    """A wire name inside an SQL string; per cent signs are doubled for the parameter style."""
    return "'" + name.replace("'", "''").replace("%", "%%") + "'"


def is_text(field: models.Field) -> bool:
    return isinstance(field, models.CharField | models.TextField)


def column_sql(steps: tuple[Any, ...], alias: str, depth: int) -> str:
    """The column at the end of a chain of foreign keys, as nested scalar subqueries."""
    first, *rest = steps
    column = own_sql(first, alias)
    if not rest:
        return column
    inner = f"s{depth}"
    target = first.related_model._meta
    return (
        f"(SELECT {column_sql(tuple(rest), inner, depth + 1)} FROM {quoted(target.db_table)} {inner}"
        f" WHERE {inner}.{quoted(first.target_field.column)} = {column})"
    )


def own_sql(field: Any, alias: str) -> str:
    """A field's value in the row called ``alias``; one that has no column says itself what it is."""
    if field.column is None:
        return field.sql_in(alias)
    return f"{alias}.{quoted(field.column)}"


def list_source(part: NavigationProperty, alias: str, inner: str) -> str:
    """``FROM … WHERE …`` of a list part whose record is the row ``alias``."""
    relation = part.relation
    target = quoted(part.type.model._meta.db_table)
    if relation.many_to_many:
        forward = relation if not relation.auto_created else relation.field
        through = forward.remote_field.through._meta
        ours, theirs = forward.m2m_column_name(), forward.m2m_reverse_name()
        if relation.auto_created:
            ours, theirs = theirs, ours
        link = f"{inner}_link"
        owner, other = forward.model._meta.pk.column, part.type.model._meta.pk.column
        return (
            f" FROM {target} {inner} JOIN {quoted(through.db_table)} {link}"
            f" ON {link}.{quoted(theirs)} = {inner}.{quoted(other)}"
            f" WHERE {link}.{quoted(ours)} = {alias}.{quoted(owner)}"
        )
    back = relation.field
    return (
        f" FROM {target} {inner}"
        f" WHERE {inner}.{quoted(back.column)} = {alias}.{quoted(back.target_field.column)}"
    )


class Writer:
    """How one engine writes JSON; members are (wire name, SQL that yields JSON) pairs."""

    collate = ""

    def members(
        self,
        type_: StructuredType,
        alias: str,
        selection: Selection,
        depth: int,
        placed: frozenset[str] = frozenset(),
    ) -> list[tuple[str, str]]:
        found = [
            (name, self.value(prop, column_sql(prop.steps, alias, depth)))
            for name, prop in type_.properties.items()
            if selection.shows(name) and not prop.declaration.write_only
        ]
        for name, inner in selection.navigations:
            part = type_.navigations[name]
            if f"{name}@odata.count" in placed:
                found.append((f"{name}@odata.count", place_of(f"{name}@odata.count")))
            found.append((name, place_of(name) if name in placed else self.part(part, alias, inner, depth)))
        return found

    def part(self, part: NavigationProperty, alias: str, selection: Selection, depth: int) -> str:
        if part.nesting is Nesting.EMBEDDED:
            return self.embedded(part, alias, selection, depth)
        inner = f"p{depth}"
        if part.many:
            source = list_source(part, alias, inner) + self.order_by(part.type, inner, depth + 1)
            return self.array(self.members(part.type, inner, selection, depth + 1), source)
        target = part.type.model._meta
        key = f"{inner}.{quoted(part.relation.target_field.column)}"
        source = (
            f" FROM {quoted(target.db_table)} {inner} WHERE {key} = {column_sql(part.steps, alias, depth)}"
        )
        return self.record(self.members(part.type, inner, selection, depth + 1), source)

    def embedded(self, part: NavigationProperty, alias: str, selection: Selection, depth: int) -> str:
        columns = [column_sql(prop.steps, alias, depth) for prop in part.type.properties.values()]
        members = self.members(part.type, alias, selection, depth)
        return f"CASE WHEN {self.any_given(columns)} THEN {self.record(members)} END"

    def any_given(self, columns: list[str]) -> str:
        return "(" + " OR ".join(f"{column} IS NOT NULL" for column in columns) + ")"

    def order_by(self, type_: StructuredType, alias: str, depth: int) -> str:
        return " ORDER BY " + ", ".join(self.order_term(type_, term, alias, depth) for term in type_.order)

    def order_term(self, type_: StructuredType, term: str, alias: str, depth: int) -> str:
        falling, path = term.startswith("-"), term.lstrip("-")
        steps: list[Any] = []
        model: Any = type_.model
        for name in path.split("__"):
            steps.append(model._meta.get_field(name))
            model = steps[-1].related_model
        column = column_sql(tuple(steps), alias, depth)
        if is_text(steps[-1]):
            column += self.collate
        nulls = ""
        if any(step.null for step in steps):
            nulls = " NULLS LAST" if falling else " NULLS FIRST"
        return f"{column}{' DESC' if falling else ''}{nulls}"

    def value(self, prop: StructuralProperty, column: str) -> str:
        raise NotImplementedError

    def record(self, members: list[tuple[str, str]], source: str = "") -> str:
        raise NotImplementedError

    def array(self, members: list[tuple[str, str]], source: str) -> str:
        raise NotImplementedError

    def outermost(self, record: str) -> str:
        raise NotImplementedError


class PostgreSQLWriter(Writer):
    """``row_to_json`` keeps member order and every digit, and has no limit on members."""

    collate = ' COLLATE "C"'

    def value(self, prop: StructuralProperty, column: str) -> str:
        return column

    def record(self, members: list[tuple[str, str]], source: str = "") -> str:
        return f"(SELECT row_to_json(_r) FROM ({self.row(members)}{source}) _r)"

    def array(self, members: list[tuple[str, str]], source: str) -> str:
        return f"(SELECT coalesce(json_agg(_r),'[]'::json) FROM ({self.row(members)}{source}) _r)"

    def row(self, members: list[tuple[str, str]]) -> str:
        return "SELECT " + ",".join(f"{sql} AS {quoted(name).replace('%', '%%')}" for name, sql in members)

    def any_given(self, columns: list[str]) -> str:
        return f"num_nonnulls({','.join(columns)})>0"

    def outermost(self, record: str) -> str:
        # A record is never null, and random() never asked. But no value that may be random is worked out
        # before rows are sorted and cut, and rendering all rows of a table to show a page is what costs.
        return f"coalesce({record}::text,random()::text)"


class SQLiteWriter(Writer):
    """Concatenation; ``json_quote`` for texts, a registered function for times in the reader's zone."""

    def value(self, prop: StructuralProperty, column: str) -> str:
        edm = prop.edm
        if edm.name == "Edm.Guid":
            pieces = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
            return "'\"'||" + "||'-'||".join(f"substr({column},{at},{n})" for at, n in pieces) + "||'\"'"
        if edm.name == "Edm.DateTimeOffset":
            return f"odata_datetime({column})"
        if edm.name == "Edm.Date":
            return f"'\"'||{column}||'\"'"
        if edm.name == "Edm.Decimal":
            return f"CASE WHEN {column} IS NOT NULL THEN printf('%%.{edm.scale}f',{column}) END"
        if edm.name == "Edm.Boolean":
            return f"CASE {column} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"
        return f"CASE WHEN {column} IS NOT NULL THEN json_quote({column}) END"

    def record(self, members: list[tuple[str, str]], source: str = "") -> str:
        return f"(SELECT {self.object(members)}{source})"

    def array(self, members: list[tuple[str, str]], source: str) -> str:
        row = f"SELECT {self.object(members)} AS j{source}"
        return f"(SELECT '['||coalesce(group_concat(j,','),'')||']' FROM ({row}))"

    def object(self, members: list[tuple[str, str]]) -> str:
        if not members:
            return "'{}'"
        pieces = (
            text_literal(("{" if first else ",") + f'"{name}":') + f"||coalesce({sql},'null')"
            for first, (name, sql) in zip([True] + [False] * (len(members) - 1), members, strict=True)
        )
        return "||".join(pieces) + "||'}'"

    def outermost(self, record: str) -> str:
        return record


POSTGRESQL = PostgreSQLWriter()
SQLITE = SQLiteWriter()
