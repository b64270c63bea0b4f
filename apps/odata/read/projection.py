"""$select and $expand, bound to a type: the members that a response shows of a record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from apps.odata.declaration.schema import NavigationProperty, StructuralProperty, StructuredType
from apps.odata.errors import BadQuery, NotSupported
from apps.odata.query.options import ExpandItem, NestedOptions
from apps.odata.read.record_json import Selection, select_all


@dataclass(frozen=True)
class Projection:
    """The members that a response shows of a record.

    ``context`` is their spelling in the context URL (``(LineItems())``, empty without $select and $expand).
    ``nested_queries`` are the lists, by name, that have filter, order or paging options of their own, and the
    objects with such a list inside.
    """

    selection: Selection
    context: str = ""
    nested_queries: dict[str, NestedQuery] = field(default_factory=dict)


@dataclass(frozen=True)
class NestedQuery:
    """An expanded list with options of its own."""

    navigation: NavigationProperty
    options: NestedOptions
    projection: Projection


def bind_projection(type_: StructuredType, options: NestedOptions, item: bool) -> Projection:
    """Bind $select and $expand of a collection, or of one record (``item``), which can show CustomFields too.

    ``BadQuery`` names a member that does not exist, or that only one record shows.
    """
    if options.select is None and not options.expand:
        return DEFAULT_PROJECTION
    if options.select is None and options.expand == EXPAND_ALL:
        return expand_all(type_, item)
    names = None if options.select is None else selected_names(type_, options.select)
    expand = options.expand
    if options.select is not None:
        expand += selected_objects(type_, options)
    navigations: list[tuple[str, Selection]] = []
    nested_queries: dict[str, NestedQuery] = {}
    context = [] if names is None else [name for name in type_.properties if name in names]
    for navigation, nested_options in expanded_navigations(type_, expand, item):
        nested = bind_nested_projection(navigation, nested_options)
        navigations.append((navigation.name, nested.selection))
        context.append(f"{navigation.name}{nested.context or '()'}")
        if nested_options.selects_rows or nested.nested_queries:
            check_nested_query(navigation, nested_options)
            nested_queries[navigation.name] = NestedQuery(navigation, nested_options, nested)
    text = f"({','.join(context)})" if context else ""
    return Projection(Selection(names, tuple(navigations)), text, nested_queries)


DEFAULT_PROJECTION = Projection(Selection())
EXPAND_ALL = (ExpandItem("*"),)


@lru_cache(maxsize=256)
def expand_all(type_: StructuredType, item: bool) -> Projection:
    """``$expand=*`` without other options, which most requests have."""
    selection = select_all(type_, item)
    context = ",".join(f"{name}()" for name, _ in selection.navigations)
    return Projection(selection, f"({context})" if context else "")


def bind_nested_projection(navigation: NavigationProperty, options: NestedOptions) -> Projection:
    """The projection of an expanded object: without options all that is nested in it (decisions.md 1)."""
    if options.select is None and not options.expand:
        return Projection(select_all(navigation.type, item=True))
    nested = bind_projection(navigation.type, options, item=True)
    if options.expand:
        return nested
    selected = {path[0] for path in options.select or ()}
    navigations = tuple(
        (name, selection)
        for name, selection in select_all(navigation.type, item=True).navigations
        if name in selected or "*" in selected
    )
    return Projection(Selection(nested.selection.names, navigations), nested.context)


def selected_names(type_: StructuredType, select: tuple[tuple[str, ...], ...]) -> frozenset[str] | None:
    """The properties that ``$select`` names; ``None`` for all."""
    names: set[str] = set()
    for path in select:
        if path == ("*",):
            continue
        member = type_.members.get(path[0])
        if member is None:
            raise unknown_member(type_, path[0], "$select")
        if len(path) > 1 and not is_object(member):
            raise BadQuery(
                f"$select={'/'.join(path)}: write $expand={path[0]}($select={'/'.join(path[1:])}) instead.",
                target="$select",
            )
        if path[0] in type_.properties:
            names.add(path[0])
    return None if ("*",) in select else frozenset(names)


def is_object(member: StructuralProperty | NavigationProperty | None) -> bool:
    """Whether a member is an object without a key (an address), which clients know as a complex property."""
    return isinstance(member, NavigationProperty) and member.type.key is None


def selected_objects(type_: StructuredType, options: NestedOptions) -> tuple[ExpandItem, ...]:
    """Objects that ``$select`` names (``Address``, ``Address/Suburb``) do not need ``$expand``."""
    expanded = {item.name for item in options.expand}
    paths_by_name: dict[str, list[tuple[str, ...]]] = {}
    for name, *rest in options.select or ():
        if is_object(type_.navigations.get(name)) and name not in expanded:
            paths_by_name.setdefault(name, []).append(tuple(rest))
    return tuple(
        ExpandItem(name, NestedOptions(select=None if () in paths else tuple(paths)))
        for name, paths in paths_by_name.items()
    )


def expanded_navigations(
    type_: StructuredType, expand: tuple[ExpandItem, ...], item: bool
) -> Iterator[tuple[NavigationProperty, NestedOptions]]:
    """The expanded navigation properties in the order of the type; ``*`` stands for all others."""
    options_by_name = {expand_item.name: expand_item.options for expand_item in expand}
    options_of_others = options_by_name.pop("*", None)
    for name in options_by_name:
        if name not in type_.navigations:
            raise unknown_member(type_, name, "$expand")
        if type_.navigations[name].item_only and not item:
            raise BadQuery(
                f"{name} shows on one record only: ask for it with /{type_.name}(key)?$expand={name}.",
                target="$expand",
            )
    for name, navigation in type_.navigations.items():
        if name in options_by_name:
            yield navigation, options_by_name[name]
        elif options_of_others is not None and (item or not navigation.item_only):
            yield navigation, options_of_others


def check_nested_query(navigation: NavigationProperty, options: NestedOptions) -> None:
    """Only lists have rows to filter, order or page."""
    if navigation.many:
        return
    if options.selects_rows:
        raise BadQuery(
            f"{navigation.name} is one object: $filter, $orderby, $top, $skip and $count are for lists.",
            target=f"$expand={navigation.name}",
        )
    raise NotSupported(
        f"Lists inside {navigation.name} cannot be filtered, ordered or cut.",
        target=f"$expand={navigation.name}",
    )


def unknown_member(type_: StructuredType, name: str, option: str) -> BadQuery:
    """The error that names a member the type does not have, with the most similar one it has."""
    close = type_.closest(name)
    hint = f" Is {close} meant?" if close else ""
    if option == "$expand" and name in type_.properties:
        hint = " It is no part: it is always shown."
    kind = "part" if option == "$expand" else "member"
    return BadQuery(f"{type_.name} has no {kind} {name[:60]}.{hint}", target=option)
