"""The values of a new record where nobody gives one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from apps.base.declaration.resource import Behaviour, Nesting
from apps.base.declaration.schema import NavigationProperty, StructuralProperty, StructuredType

Member = StructuralProperty | NavigationProperty


@dataclass(frozen=True, slots=True)
class Defaults:
    """The values of attributes that are not given; ``makers`` make those that are not the same for all."""

    constants: dict[str, object]
    makers: dict[str, Callable[[], object]]

    def without(self, attribute: str) -> Defaults:
        """The same but for an attribute."""
        constants = {name: value for name, value in self.constants.items() if name != attribute}
        return Defaults(constants, {name: make for name, make in self.makers.items() if name != attribute})

    def complete(self, given: Mapping[str, object], invalid: Iterable[str] = ()) -> dict[str, object]:
        """The values of a record that gives these; invalid attributes have none."""
        values = {**self.constants, **given}
        for name, make in self.makers.items():
            if name not in given:
                values[name] = make()
        for name in invalid:
            values.pop(name, None)
        return values


@lru_cache(maxsize=256)
def defaults_of(type_: StructuredType) -> Defaults:
    """The defaults of a type's columns, those of embedded objects among them, and empty lists."""
    constants: dict[str, object] = {}
    makers: dict[str, Callable[[], object]] = {}
    members: list[Member] = [*type_.writable_properties, *type_.writable_navigations]
    for member in members:
        found = default_of(member)
        constants |= found.constants
        makers |= found.makers
    return Defaults(constants, makers)


def default_of(member: Member) -> Defaults:
    if isinstance(member, StructuralProperty):
        source = member.source_field
        if source.has_default() and callable(source.default):
            return Defaults({}, {member.attribute: source.get_default})
        return Defaults({member.attribute: source.get_default() if source.has_default() else None}, {})
    if member.nesting is Nesting.EMBEDDED:
        return defaults_of(member.type)
    return Defaults({}, {member.attribute: list}) if member.many else Defaults({member.attribute: None}, {})


@lru_cache(maxsize=256)
def required_members(type_: StructuredType) -> dict[str, str]:
    """The names in request bodies of the members that a new record needs, by attribute."""
    required = {
        prop.attribute: prop.body_names[0]
        for prop in type_.writable_properties
        if prop.behaviour is Behaviour.REQUIRED
    }
    nested = [navigation for navigation in type_.writable_navigations if navigation.declaration.required]
    return required | {navigation.attribute: navigation.name for navigation in nested}
