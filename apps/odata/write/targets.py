"""Targets of errors: the field ``country`` of an issue is ``value[0]/Address/Country`` in a response."""

from collections.abc import Mapping
from functools import lru_cache

from apps.odata.declaration.resource import Nesting
from apps.odata.declaration.schema import NavigationProperty, StructuredType


@lru_cache(maxsize=256)
def wire_members(type_: StructuredType) -> Mapping[str, tuple[str, NavigationProperty | None]]:
    """The wire path of each attribute of drafts, and its member when that is a reference or a list."""
    members: dict[str, tuple[str, NavigationProperty | None]] = {
        prop.attribute: (prop.name, None) for prop in type_.writable_properties
    }
    for navigation in type_.writable_navigations:
        if navigation.nesting is Nesting.EMBEDDED:
            for attribute, (inner, _) in wire_members(navigation.type).items():
                members[attribute] = f"{navigation.name}/{inner}", None
        else:
            members[navigation.attribute] = navigation.name, navigation
    return members


def wire_target(type_: StructuredType, field: str | tuple[str | int, ...], code: str = "") -> str:
    """The field of an issue in wire names: ``("line_items", 1, "quantity")`` -> ``LineItems[1]/Quantity``.

    An invalid reference is reported on its key (``PrimaryRole/RoleGuid``), a missing one on the member.
    The result is empty for the whole record, and for attributes that bodies have no name for.
    """
    attribute, *rest = (field,) if isinstance(field, str) else field
    name, navigation = wire_members(type_).get(str(attribute), ("", None))
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
