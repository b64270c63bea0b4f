"""Targets of errors: the field ``country`` of an issue is ``value[0]/Address/Country`` in a response."""

from collections.abc import Mapping
from functools import lru_cache

from apps.odata.declaration.resource import Nesting
from apps.odata.declaration.schema import NavigationProperty, StructuredType


@lru_cache(maxsize=256)
def wire_names(type_: StructuredType) -> Mapping[str, str]:
    """``{attribute: wire path}`` of all attributes of drafts; references and lists have one name."""
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


def wire_target(type_: StructuredType, field: str | tuple[str | int, ...], code: str = "") -> str:
    """The field of an issue in wire names: ``("line_items", 1, "quantity")`` -> ``LineItems[1]/Quantity``.

    An invalid reference is reported on its key (``PrimaryRole/RoleGuid``), a missing one on the member.
    The result is empty for the whole record, and for attributes that bodies have no name for.
    """
    attribute, *rest = (field,) if isinstance(field, str) else field
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
        assert navigation.type.key is not None
        return name if code == "Required" else f"{name}/{navigation.type.key.name}"
    inner = wire_target(navigation.type, tuple(rest), code) if rest else ""
    return f"{name}/{inner}" if inner else name


def record_target(number: int, bare: bool) -> str:
    """The target of a record: ``value[3]``; empty for a bare record, which is the body itself."""
    return "" if bare else f"value[{number}]"


def join_targets(outer: str, inner: str) -> str:
    """The target ``inner`` within another; either may be empty."""
    return f"{outer}/{inner}" if outer and inner else outer or inner
