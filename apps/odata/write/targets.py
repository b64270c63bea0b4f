"""Places in a record, in wire names: what rules call ``country`` the caller knows as ``Address/Country``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from apps.odata.declaration.resource import Nesting
from apps.odata.declaration.schema import NavigationProperty, StructuredType

Target = str | tuple[str | int, ...]


@lru_cache(maxsize=256)
def wire_names(type_: StructuredType) -> Mapping[str, str]:
    """``{attribute: wire path}`` of all that drafts of this type hold; references and lists by their name."""
    names = {prop.attribute: prop.name for prop in type_.writable_properties}
    for navigation in type_.writable_navigations:
        if navigation.nesting is Nesting.EMBEDDED:
            names |= {
                attr: f"{navigation.name}/{inner}" for attr, inner in wire_names(navigation.type).items()
            }
        else:
            names[navigation.attribute] = navigation.name
    return names


@lru_cache(maxsize=256)
def navigations_by_attribute(type_: StructuredType) -> Mapping[str, NavigationProperty]:
    """The references and contained lists of a type by the names that drafts use."""
    return {
        navigation.attribute: navigation
        for navigation in type_.writable_navigations
        if navigation.nesting is not Nesting.EMBEDDED
    }


def wire_target(type_: StructuredType, place: Target, code: str = "") -> str:
    """Where a finding stands: ``("line_items", 1, "quantity")`` -> ``LineItems[1]/Quantity``.

    What is wrong with a reference stands on its key (``PrimaryRole/RoleGuid``); that it is missing stands on
    the member itself. An empty text stands for the record, as does what callers cannot name.
    """
    attribute, *rest = (place,) if isinstance(place, str) else place
    name = wire_names(type_).get(str(attribute))
    if name is None:
        return ""
    navigation = navigations_by_attribute(type_).get(str(attribute))
    if navigation is None:
        return name
    if rest and isinstance(rest[0], int):
        name, rest = f"{name}[{rest[0]}]", rest[1:]
    elif navigation.many:
        return name
    if navigation.nesting is Nesting.REFERENCE:
        return name if code == "Required" else f"{name}/{key_name(navigation)}"
    inner = wire_target(navigation.type, tuple(rest), code) if rest else ""
    return f"{name}/{inner}" if inner else name


def key_name(navigation: NavigationProperty) -> str:
    """The wire name by which bodies refer to a navigation's record."""
    assert navigation.type.key is not None
    return navigation.type.key.name


def record_target(number: int, bare: bool) -> str:
    """Where a body's record stands: ``value[3]``; a bare record is the body itself, an empty text."""
    return "" if bare else f"value[{number}]"


def joined(outer: str, inner: str) -> str:
    """A place inside another."""
    return f"{outer}/{inner}" if outer and inner else outer or inner
