"""The columns that a list shows besides those of its own records, so that changes of them are found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.base.declaration.resource import Nesting, Sight
from apps.base.declaration.schema import (
    EntitySet,
    NavigationProperty,
    SetNavigation,
    StructuredType,
    fields_on_path,
)
from apps.base.placeholders import TODAY
from apps.odata.delta.change_log import LoggedChange
from apps.odata.query.ast import Call, Count, Expression, Lambda, Path, walk
from apps.odata.query.operands import RequestContext
from apps.odata.query.options import NestedOptions, QueryOptions
from apps.odata.read.projection import Projection
from apps.odata.read.record_json import Selection

#: Stands for every column of a model.
ALL_COLUMNS = "*"


class UntrackableError(Exception):
    """Records that change, or leave the list, without an entry in the log."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """Columns of another model at the end of ``path``, an ORM path from the record.

    ``owner_path`` and ``owner_column`` are of rows that belong to one record: the path to that record, and
    their column with its key. ``passes_list``: a new row may be shown by a record that was there before.
    """

    record_type: str
    path: str
    columns: frozenset[str]
    owner_path: str = ""
    owner_column: str = ""
    passes_list: bool = False

    def concerns(self, entry: LoggedChange) -> bool:
        if entry.record_type != self.record_type:
            return False
        if entry.is_new and not self.owner_column and not self.passes_list:
            return False  # whoever refers to it has changed too
        shown = self.columns | {self.owner_column}
        return entry.differences is None or ALL_COLUMNS in shown or not shown.isdisjoint(entry.differences)

    def owner_keys(self, entry: LoggedChange) -> Iterator[str]:
        """The records that the row was moved from and to."""
        yield from filter(None, (entry.differences or {}).get(self.owner_column, ()))


@dataclass
class DependencyCollector:
    """Collects the columns that a query reads, by the path of their model; ``""`` is the record itself."""

    entity_set: EntitySet
    request: RequestContext = field(default_factory=RequestContext)
    columns: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add_fields(self, prefix: str, steps: Iterable[Any]) -> None:
        """The columns on a chain of relations that begins at the model of ``prefix``."""
        for step in steps:
            self.columns[prefix].add(getattr(step, "attname", step.name))
            prefix = join(prefix, step.name)

    def add_selection(self, type_: StructuredType, prefix: str, selection: Selection) -> None:
        for _, prop in selection.properties_of(type_):
            self.add_property(type_, prefix, prop)
        for name, nested in selection.navigations:
            navigation = type_.find_navigation(name)
            assert navigation is not None
            self.add_selection(navigation.type, self.enter(navigation, prefix), nested)

    def add_property(self, type_: StructuredType, prefix: str, prop: Any) -> None:
        self.add_fields(prefix, prop.steps)
        for path in prop.declaration.sum_of:
            self.columns[join(prefix, path)].add(ALL_COLUMNS)
        if prop.source_field.column is not None:
            return
        if TODAY in prop.source_field.sql_in(""):
            raise UntrackableError(f"{prop.name} changes with the day.")
        for navigation in type_.navigations.values():
            if navigation.nesting is Nesting.CONTAINED:  # it is computed from them
                self.columns[self.enter(navigation, prefix)].add(ALL_COLUMNS)

    def add_everything(self, type_: StructuredType, prefix: str) -> None:
        for prop in type_.readable_properties.values():
            self.add_property(type_, prefix, prop)
        for navigation in type_.navigations.values():
            self.add_everything(navigation.type, self.enter(navigation, prefix))

    def enter(self, navigation: NavigationProperty, prefix: str) -> str:
        """The prefix of the members of a navigation property's objects."""
        if isinstance(navigation, SetNavigation) and navigation.many:
            raise UntrackableError(f"{navigation.name} is a list of another entity set.")
        if isinstance(navigation, SetNavigation) and self.request.may_hide(navigation, self.entity_set.model):
            raise UntrackableError(f"{navigation.name} may lead to records that you may not see.")
        if navigation.nesting is Nesting.EMBEDDED:
            return prefix
        if navigation.nesting is Nesting.CONTAINED:  # their history is that of the record, by any name
            self.columns[prefix].add(ALL_COLUMNS)
        self.add_fields(prefix, navigation.steps)
        return join(prefix, navigation.path)

    def add_nested_queries(self, projection: Projection, prefix: str) -> None:
        """Objects with options of their own: all that they could filter by."""
        for query in projection.nested_queries.values():
            path = self.enter(query.navigation, prefix)
            self.add_everything(query.navigation.type, path)
            for expression in expressions_in(query.options):
                self.add_expression(query.navigation.type, path, expression)
            self.add_nested_queries(query.projection, path)

    def add_expression(self, type_: StructuredType, prefix: str, expression: Expression) -> None:
        nodes = [node for node, _ in walk(expression)]
        if any(isinstance(node, Call) and node.function == "now" for node in nodes):
            raise UntrackableError("now() changes by itself.")
        if any(isinstance(node, Count) and node.condition is not None for node in nodes):
            raise UntrackableError("A condition inside $count is not followed.")
        lists = {node.variable: node.path.segments for node in nodes if isinstance(node, Lambda)}
        for node in nodes:
            if isinstance(node, Path):
                self.add_path(type_, prefix, node.segments, lists)

    def add_path(
        self, type_: StructuredType, prefix: str, segments: tuple[str, ...], lists: dict[Any, tuple[str, ...]]
    ) -> None:
        """The members on a path, and of a list behind it all that a condition could name."""
        while segments[0] in lists:
            segments = (*lists[segments[0]], *segments[1:])
        if segments[0] == "$it":
            type_, prefix = self.entity_set.type, ""
        for name in segments:
            if name in ("$it", "$this"):
                continue
            navigation = type_.find_navigation(name)
            if navigation is None:
                if name in type_.readable_properties:
                    self.add_property(type_, prefix, type_.readable_properties[name])
                return
            type_, prefix = navigation.type, self.enter(navigation, prefix)
            if navigation.many or navigation.nesting is Nesting.EMBEDDED:
                self.add_everything(type_, prefix)

    def dependencies(self) -> list[Dependency]:
        return [self.dependency(path, frozenset(columns)) for path, columns in self.columns.items() if path]

    def dependency(self, path: str, columns: frozenset[str]) -> Dependency:
        *passed, relation = fields_on_path(self.entity_set.model, path, path)
        label = relation.related_model._meta.label_lower
        if not relation.one_to_many:
            passes_list = any(step.one_to_many for step in passed)
            return Dependency(label, path, columns, passes_list=passes_list)
        owner_path = path.rpartition("__")[0]
        return Dependency(label, path, columns, owner_path, relation.field.attname)


def find_dependencies(
    entity_set: EntitySet, projection: Projection, options: QueryOptions, request: RequestContext
) -> list[Dependency]:
    """The columns of other models that the records of a query show, and are selected by.

    ``UntrackableError`` when the result can change without an entry in the log that tells it.
    """
    if not entity_set.resource.is_tracked:
        raise UntrackableError(f"Of {entity_set.name} no changes are known.")
    if options.apply is not None or options.top is not None or options.skip is not None:
        raise UntrackableError("Of $apply, $top and $skip no changes are known.")
    collector, type_ = DependencyCollector(entity_set, request), entity_set.type
    collector.add_selection(type_, "", projection.selection)
    collector.add_nested_queries(projection, "")
    for expression in expressions_in(options):
        collector.add_expression(type_, "", expression)
    for name, _ in options.plain:
        segments = tuple(name.partition("__")[0].split("/"))
        collector.add_path(type_, "", segments, {})
    if options.search is not None:
        for path in entity_set.resource.search:
            collector.add_fields("", fields_on_path(entity_set.model, path, path))
    return collector.dependencies()


@dataclass(frozen=True)
class SightDependencies:
    """Columns that decide whether a limited caller sees a record: of its own, and of other models."""

    own_columns: frozenset[str]
    others: Sequence[Dependency]

    def decide(self, entry: LoggedChange) -> bool:
        """True of an entry of an existing record which may have changed who sees it."""
        if entry.is_new:
            return False
        return entry.differences is None or not self.own_columns.isdisjoint(entry.differences)


def find_sight_dependencies(entity_set: EntitySet, sees: Sight | None) -> SightDependencies | None:
    """The dependencies of what the caller sees; ``None`` for one who sees all records of the set."""
    paths = () if sees is None else sees.sight_columns(entity_set.model)
    if not paths:
        return None
    collector = DependencyCollector(entity_set)
    for path in paths:
        collector.add_fields("", fields_on_path(entity_set.model, path, path))
    return SightDependencies(frozenset(collector.columns[""]), collector.dependencies())


def expressions_in(options: NestedOptions) -> Iterator[Expression]:
    if options.filter is not None:
        yield options.filter
    yield from (computed.expression for computed in options.compute)


def join(prefix: str, path: str) -> str:
    return f"{prefix}__{path}" if prefix else path
