"""$select and $expand, bound to a type: the members that a response shows of a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from apps.base.declaration.resource import Nesting
from apps.base.declaration.schema import EntitySet, NavigationProperty, SetNavigation, StructuredType
from apps.odata.errors import BadQuery
from apps.odata.query.binding import Binder
from apps.odata.query.operands import NO_CONTEXT, Operand, RequestContext
from apps.odata.query.options import ExpandItem, NestedOptions
from apps.odata.query.transformations import expressions_of
from apps.odata.read.record_json import Selection, select_all


@dataclass(frozen=True)
class Projection:
    """The members that a response shows of a record.

    ``context`` are the items of the select list in the context URL, none when the record has all its
    properties and nothing is expanded. ``nested_queries`` are the lists, by name, that have filter, order or
    paging options of their own, and the objects with such a list inside. ``computed`` are the values of
    $compute, ``all_computed`` with those of nested objects, by their paths (``LineItems/Amount``).
    ``references``: of records of this entity set nothing but their addresses.
    """

    selection: Selection
    context: tuple[str, ...] = ()
    nested_queries: dict[str, NestedQuery] = field(default_factory=dict)
    computed: dict[str, Operand] = field(default_factory=dict)
    all_computed: dict[str, Operand] = field(default_factory=dict)
    references: EntitySet | None = None

    @cached_property
    def select_list(self) -> str:
        """The select list of the context URL (``(BusinessName,Address/Suburb,KeyContact())``)."""
        return f"({','.join(self.context)})" if self.context else ""


@dataclass(frozen=True)
class NestedQuery:
    """The contents of an own subquery: a list with options of its own or of another set, computed values,
    references, and objects with such a list inside.

    ``text`` are its options as they were sent.
    """

    navigation: NavigationProperty
    options: NestedOptions
    projection: Projection
    text: str = ""


def bind_projection(
    type_: StructuredType, options: NestedOptions, item: bool, request: RequestContext = NO_CONTEXT
) -> Projection:
    """Bind $select, $expand and $compute of a collection, or of one record (``item``), which can show
    CustomFields too.

    ``BadQuery`` names a member that does not exist, or that only one record shows; ``Forbidden`` an entity
    set that the caller may not read.
    """
    computed: dict[str, Operand] = {}
    if options.compute:
        computed, options = bind_computed(type_, options, request)
    elif options.select is None and options.expand in ((), EXPAND_ALL):
        return expand_all(type_, item) if options.expand else default_projection(type_)
    names = None if options.select is None else selected_names(type_, options.select)
    expand = options.expand
    if options.select is not None:
        expand += selected_objects(type_, options)
    navigations: list[tuple[str, Selection]] = []
    nested_queries: dict[str, NestedQuery] = {}
    all_computed = computed.copy()
    shown: list[tuple[NavigationProperty, Projection]] = []
    for navigation, expand_item in expanded_navigations(type_, expand, item):
        try:
            nested = bind_nested_projection(navigation, expand_item.options, request.inside(type_))
        except BadQuery as error:
            error.target = f"$expand/{navigation.name}/{error.target}"
            raise
        if not expand_item.options.only_count:
            navigations.append((navigation.name, nested.selection))
            shown.append((navigation, nested))
        is_limited = isinstance(navigation, SetNavigation) and (
            navigation.many or request.may_hide(navigation, type_.model)
        )
        needs_query = expand_item.options.selects_rows or expand_item.options.only_references
        if needs_query or nested.nested_queries or nested.computed or is_limited:
            query = NestedQuery(navigation, expand_item.options, nested, expand_item.text)
            check_nested_query(query)
            nested_queries[navigation.name] = query
            of_nested = nested.all_computed.items()
            all_computed |= {f"{navigation.name}/{path}": operand for path, operand in of_nested}
    selection = Selection(names, tuple(navigations))
    context = context_items(type_, names, shown, options.select or (), tuple(computed))
    return Projection(selection, context, nested_queries, computed, all_computed)


def bind_computed(
    type_: StructuredType, options: NestedOptions, request: RequestContext
) -> tuple[dict[str, Operand], NestedOptions]:
    """The values of $compute that $select shows, and the options without their names."""
    binder, select = Binder(type_, request, "$compute"), options.select
    computed: dict[str, Operand] = {}
    for name, tree in expressions_of(options.compute).items():
        if name in type_.members:
            raise BadQuery(f"$compute: {type_.name} has a member {name}.", target="$compute")
        computed[name] = binder.computed_value(name, tree)
    if select is None:
        return computed, options
    shown = {name: operand for name, operand in computed.items() if {(name,), ("*",)} & set(select)}
    return shown, replace(options, select=tuple(path for path in select if path[0] not in computed))


EXPAND_ALL = (ExpandItem("*"),)


@lru_cache(maxsize=256)
def default_projection(type_: StructuredType) -> Projection:
    """The members without $select and $expand: all properties but the complex ones."""
    return Projection(Selection(), context_items(type_, None, ()))


@lru_cache(maxsize=256)
def expand_all(type_: StructuredType, item: bool) -> Projection:
    """``$expand=*`` without other options, which most requests have."""
    selection = select_all(type_, item)
    shown = [(type_.navigations[name], Projection(nested)) for name, nested in selection.navigations]
    return Projection(selection, context_items(type_, None, shown))


def context_items(
    type_: StructuredType,
    names: frozenset[str] | None,
    shown: Sequence[tuple[NavigationProperty, Projection]],
    select: tuple[tuple[str, ...], ...] = (),
    computed: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """The select list of a context URL: what is sent, unless all properties are (OData 4.01, Protocol 10.8).

    ``names`` are the properties (``None``: all), ``shown`` the complex properties and the expanded navigation
    properties. A navigation property that ``select`` names and nothing expands stands without parentheses.
    """
    whole = {navigation.name for navigation, nested in shown if navigation.is_complex and not nested.context}
    sends_all = names is None and all(
        name in whole for name, navigation in type_.navigations.items() if navigation.is_complex
    )
    items = [name for name in type_.readable_properties if names is None or name in names]
    expanded = []
    for navigation, nested in shown:
        if not navigation.is_complex:
            expanded.append(f"{navigation.name}({','.join(nested.context)})")
        elif nested.context:
            items += [f"{navigation.name}/{item}" for item in nested.context]
        else:
            items.append(navigation.name)
    expanded_names = {navigation.name for navigation, _ in shown}
    named = (*type_.navigations, *type_.set_navigations)
    linked = [name for name in named if (name,) in select and name not in expanded_names]
    if sends_all:
        items = ["*"] if computed else []
    return (*items, *computed, *linked, *expanded)


def bind_nested_projection(
    navigation: NavigationProperty, options: NestedOptions, request: RequestContext
) -> Projection:
    """The projection of an expanded object.

    Without options a part has all that is nested in it, a record of another entity set what
    its own list shows.
    """
    if isinstance(navigation, SetNavigation):
        navigation.entity_set.rows_for(request.caller)
        if options.only_references:
            return Projection(Selection(), references=navigation.entity_set)
        return bind_projection(navigation.type, options, item=False, request=request)
    if options.expand:
        return bind_projection(navigation.type, options, item=True, request=request)
    if options.select is None or ("*",) in options.select:
        selection = select_all(navigation.type, item=True)
        if not options.compute:
            return Projection(selection)
        computed, _ = bind_computed(navigation.type, options, request)
        context = ("*", *computed) if computed else ()
        return Projection(selection, context, computed=computed, all_computed=computed)
    nested = tuple(
        ExpandItem(name)
        for name, inner in navigation.type.navigations.items()
        if (name,) in options.select and not inner.is_complex
    )
    return bind_projection(navigation.type, replace(options, expand=nested), item=True, request=request)


def selected_names(type_: StructuredType, select: tuple[tuple[str, ...], ...]) -> frozenset[str] | None:
    """The key, by which clients know the record, and what ``$select`` names; ``None`` for all."""
    names = set() if type_.key is None else {type_.key.name}
    for path in select:
        if path == ("*",):
            continue
        navigation = type_.find_navigation(path[0])
        if navigation is None and path[0] not in type_.readable_properties:
            raise unknown_member(type_, path[0], "$select")
        if len(path) > 1 and (navigation is None or not navigation.is_complex):
            raise BadQuery(
                f"$select={'/'.join(path)}: write $expand={path[0]}($select={'/'.join(path[1:])}) instead.",
                target="$select",
            )
        if navigation is None:
            names.add(path[0])
    return None if ("*",) in select else frozenset(names)


def selected_objects(type_: StructuredType, options: NestedOptions) -> tuple[ExpandItem, ...]:
    """The complex properties that ``$select`` names (``*``, ``Address``, ``Address/Suburb``)."""
    select = options.select or ()
    expanded = {item.name for item in options.expand}
    paths_by_name = {
        name: [path[1:] for path in select if path in (("*",), (name,)) or path[0] == name]
        for name, navigation in type_.navigations.items()
        if navigation.is_complex and not navigation.item_only and name not in expanded
    }
    return tuple(
        ExpandItem(name, NestedOptions(select=None if () in paths else tuple(paths)))
        for name, paths in paths_by_name.items()
        if paths
    )


def expanded_navigations(
    type_: StructuredType, expand: tuple[ExpandItem, ...], item: bool
) -> Iterator[tuple[NavigationProperty, ExpandItem]]:
    """The expanded navigation properties in the order of the type; ``*`` stands for all other parts."""
    by_name = {expand_item.name: expand_item for expand_item in expand}
    others = by_name.pop("*", None)
    for name in by_name:
        navigation = type_.find_navigation(name)
        if navigation is None:
            raise unknown_member(type_, name, "$expand")
        if navigation.item_only and not item:
            raise BadQuery(
                f"{name} shows on one record only: ask for it with /{type_.name}(key)?$expand={name}.",
                target="$expand",
            )
    for name, part in type_.navigations.items():
        if name in by_name:
            yield part, by_name[name]
        elif others is not None and (item or not part.item_only):
            yield part, others
    for name, set_navigation in type_.set_navigations.items():
        if name in by_name:
            yield set_navigation, by_name[name]


def check_nested_query(query: NestedQuery) -> None:
    """Only lists have rows to filter, order or page, and a list of another set has no second one inside."""
    navigation, target = query.navigation, f"$expand={query.navigation.name}"
    if not navigation.many and query.options.selects_rows:
        raise BadQuery(
            f"{navigation.name} is one object: $filter, $orderby, $top, $skip and $count are for lists.",
            target=target,
        )
    if query.options.only_references and not isinstance(navigation, SetNavigation):
        raise BadQuery(
            f"{navigation.name} is a part of its record; $ref is for records of entity sets.", target=target
        )
    if query.options.search is not None and not isinstance(navigation, SetNavigation):
        raise BadQuery(f"{navigation.name} cannot be searched; use $filter.", target=target)
    if navigation.nesting is Nesting.EMBEDDED:
        raise BadQuery(
            f"{navigation.name} is part of its record: nothing in it is computed, filtered, ordered or cut.",
            target=target,
        )
    inner = find_set_list(query.projection)
    if inner and isinstance(navigation, SetNavigation) and navigation.many:
        raise BadQuery(
            f"{inner} and {navigation.name} are lists of other sets: ask for the inner one by an address.",
            target=target,
            code="TooCostly",
        )


def find_set_list(projection: Projection) -> str:
    """The name of a list of another entity set among the nested queries at any level, or an empty string."""
    for name, query in projection.nested_queries.items():
        if isinstance(query.navigation, SetNavigation) and query.navigation.many:
            return name
        if inner := find_set_list(query.projection):
            return inner
    return ""


def unknown_member(type_: StructuredType, name: str, option: str) -> BadQuery:
    """The error that names a member the type does not have, with those that it has."""
    is_expand = option == "$expand"
    hint = type_.hint(name[:60], only_navigations=is_expand)
    if is_expand and name in type_.properties:
        hint = " It is no part: it is always shown."
    return BadQuery(
        f"{type_.name} has no {'part' if is_expand else 'member'} {name[:60]}.{hint}", target=option
    )
