"""$select and $expand against a type: which members of an object are shown, and with what inside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from apps.odata.declaration.schema import NavigationProperty, StructuredType
from apps.odata.errors import BadQuery, NotSupported
from apps.odata.query.options import ExpandItem, PartOptions
from apps.odata.read.record_json import Selection, everything


@dataclass(frozen=True)
class Shown:
    """What is shown of an object.

    ``selection`` names the members, ``fragment`` is how the context URL writes it (``(LineItems())``, empty
    for the plain record). ``asked`` holds the options of the parts whose rows are filtered, ordered or cut,
    or that hold such a part.
    """

    selection: Selection
    fragment: str = ""
    asked: dict[str, AskedPart] = field(default_factory=dict)


@dataclass(frozen=True)
class AskedPart:
    """A part whose rows are chosen by options of its own."""

    part: NavigationProperty
    options: PartOptions
    shown: Shown


def shown(type_: StructuredType, options: PartOptions, item: bool) -> Shown:
    """What ``options`` show of a record; ``item`` when only one is read (CustomFields shows there alone).

    ``BadQuery`` names a member that is not there, or that shows on one record only.
    """
    if options.select is None and not options.expand:
        return PLAIN
    if options.select is None and options.expand == EXPAND_ALL:
        return expanded_whole(type_, item)
    names = selected_names(type_, options)
    expand = (*options.expand, *selected_objects(type_, options))
    parts: list[tuple[str, Selection]] = []
    asked: dict[str, AskedPart] = {}
    told: list[str] = sorted_names(type_, names)
    for part, wanted in expanded_parts(type_, expand, item):
        inside = inside_part(part, wanted.options)
        parts.append((part.name, inside.selection))
        told.append(f"{part.name}{inside.fragment or '()'}")
        if chooses_rows(wanted.options) or inside.asked:
            refuse_row_options(part, wanted.options)
            asked[part.name] = AskedPart(part, wanted.options, inside)
    return Shown(Selection(names, tuple(parts)), f"({','.join(told)})" if told else "", asked)


PLAIN = Shown(Selection())
EXPAND_ALL = (ExpandItem("*"),)


@lru_cache(maxsize=256)
def expanded_whole(type_: StructuredType, item: bool) -> Shown:
    """``$expand=*`` and nothing else, which most readers ask for."""
    selection = everything(type_, item)
    told = ",".join(f"{name}()" for name, _ in selection.navigations)
    return Shown(selection, f"({told})" if told else "")


def inside_part(part: NavigationProperty, options: PartOptions) -> Shown:
    """What a part shows: with nothing said all that lies inside it (decisions.md 1)."""
    if options.select is None and not options.expand:
        return Shown(everything(part.type, item=True))
    inner = shown(part.type, options, item=True)
    if options.expand:
        return inner
    chosen = {path[0] for path in options.select or ()}
    whole = everything(part.type, item=True)
    kept = tuple((name, sub) for name, sub in whole.navigations if name in chosen or "*" in chosen)
    return Shown(Selection(inner.selection.names, kept), inner.fragment)


def selected_names(type_: StructuredType, options: PartOptions) -> frozenset[str] | None:
    """The properties that ``$select`` names; ``None`` for all."""
    if options.select is None:
        return None
    names: set[str] = set()
    for path in options.select:
        if path == ("*",):
            continue
        member = type_.member(path[0])
        if member is None:
            raise unknown_member(type_, path[0], "$select")
        if len(path) > 1 and not is_object(member):
            raise BadQuery(
                f"$select={'/'.join(path)}: write $expand={path[0]}($select={'/'.join(path[1:])}) instead.",
                target="$select",
            )
        if path[0] in type_.properties:
            names.add(path[0])
    return None if ("*",) in options.select else frozenset(names)


def is_object(member: Any) -> bool:
    """Whether a member is a part without a key (an address): clients know those as complex properties."""
    return isinstance(member, NavigationProperty) and member.type.key is None


def selected_objects(type_: StructuredType, options: PartOptions) -> tuple[ExpandItem, ...]:
    """Objects that ``$select`` names (``Address``, ``Address/Suburb``) are shown without ``$expand``."""
    inside: dict[str, list[tuple[str, ...]]] = {}
    for name, *rest in options.select or ():
        if is_object(type_.navigations.get(name)) and name not in {wanted.name for wanted in options.expand}:
            inside.setdefault(name, []).append(tuple(rest))
    return tuple(
        ExpandItem(name, PartOptions(select=None if () in paths else tuple(paths)))
        for name, paths in inside.items()
    )


def sorted_names(type_: StructuredType, names: frozenset[str] | None) -> list[str]:
    return [] if names is None else [name for name in type_.properties if name in names]


def expanded_parts(
    type_: StructuredType, expand: tuple[ExpandItem, ...], item: bool
) -> Iterator[tuple[NavigationProperty, ExpandItem]]:
    """The parts to show, in the order the type declares them; ``*`` stands for all not named."""
    named = {wanted.name: wanted for wanted in expand}
    star = named.pop("*", None)
    for name in named:
        if name not in type_.navigations:
            raise unknown_member(type_, name, "$expand")
        if type_.navigations[name].item_only and not item:
            raise BadQuery(
                f"{name} shows on one record only: ask for it with /{type_.name}(key)?$expand={name}.",
                target="$expand",
            )
    for name, part in type_.navigations.items():
        if name in named:
            yield part, named[name]
        elif star is not None and (item or not part.item_only):
            yield part, star


def chooses_rows(options: PartOptions) -> bool:
    return bool(
        options.filter is not None
        or options.orderby
        or options.top is not None
        or options.skip is not None
        or options.count
    )


def refuse_row_options(part: NavigationProperty, options: PartOptions) -> None:
    """Rows can only be chosen where there are rows."""
    if part.many:
        return
    if chooses_rows(options):
        raise BadQuery(
            f"{part.name} is one object: $filter, $orderby, $top, $skip and $count are for lists.",
            target=f"$expand={part.name}",
        )
    raise NotSupported(
        f"Lists inside {part.name} cannot be filtered, ordered or cut.", target=f"$expand={part.name}"
    )


def unknown_member(type_: StructuredType, name: str, option: str) -> BadQuery:
    """The error that names a member the type does not have, with the closest that it has."""
    close = type_.closest(name)
    hint = f" Is {close} meant?" if close else ""
    if option == "$expand" and name in type_.properties:
        hint = " It is no part: it is always shown."
    what = "part" if option == "$expand" else "member"
    return BadQuery(f"{type_.name} has no {what} {name[:60]}.{hint}", target=option)
