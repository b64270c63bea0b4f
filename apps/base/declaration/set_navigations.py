"""Navigation properties between entity sets, derived from the members that refer to their records."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from apps.base.declaration.resource import Navigation, Nesting
from apps.base.declaration.schema import (
    DeclarationError,
    EntitySet,
    SetNavigation,
    StructuralProperty,
    StructuredType,
)


@dataclass(frozen=True, slots=True)
class SetReference:
    """A member that refers to a record of an entity set; ``name`` is its navigation property's, if any.

    ``key_path`` is the path to the key in $filter (``ContactGuid``, ``Client/ClientGuid``).
    """

    name: str
    partner: str
    key_path: str
    path: str
    steps: tuple[Any, ...]
    dependent: StructuralProperty | None = None


def add_set_navigations(entity_sets: Sequence[EntitySet]) -> None:
    """Add the navigation properties to their types; ``DeclarationError`` for a name that is not free.

    Complex types have none: Power BI rejects the metadata of a service whose complex types do.
    """
    by_model = {entity_set.model: entity_set for entity_set in entity_sets}
    for source in entity_sets:
        for type_ in source.type.walk():
            for reference in references_to_sets(type_) if type_.key is not None else ():
                target = by_model.get(reference.steps[-1].related_model)
                if target is None:
                    continue
                partner = reference.partner if type_ is source.type else ""
                if reference.name:
                    add(type_, forward_navigation(reference, target, partner))
                if partner:
                    add(target.type, reverse_navigation(reference, source))


def references_to_sets(type_: StructuredType) -> Iterator[SetReference]:
    """The properties that hold a key (``ContactGuid``: ``Contact``), and the parts that show a record."""
    for prop in type_.readable_properties.values():
        if prop.related_model is not None:
            name = prop.name.removesuffix("Guid")
            yield SetReference(name, prop.declaration.partner, prop.name, prop.path, prop.steps, prop)
    for part in type_.navigations.values():
        if part.nesting is Nesting.REFERENCE and not part.many and part.type.key is not None:
            declared, key_path = part.declaration, f"{part.name}/{part.type.key.name}"
            yield SetReference(declared.set_navigation, declared.partner, key_path, part.path, part.steps)


def forward_navigation(reference: SetReference, target: EntitySet, partner: str) -> SetNavigation:
    declaration = declare(reference.name, target, many=False)
    return SetNavigation(
        declaration,
        target.type,
        reference.path,
        reference.steps,
        entity_set=target,
        dependent=reference.dependent,
        partner=partner,
    )


def reverse_navigation(reference: SetReference, source: EntitySet) -> SetNavigation:
    reversed_steps = tuple(step.remote_field for step in reversed(reference.steps))
    path = "__".join(step.name for step in reversed_steps)
    return SetNavigation(
        declare(reference.partner, source, many=True),
        source.type,
        path,
        reversed_steps,
        entity_set=source,
        owner_path=reference.path,
        owner_key=reference.key_path,
        partner=reference.name,
    )


def declare(name: str, target: EntitySet, many: bool) -> Navigation:
    return Navigation(
        name=name,
        nested_type=type(target.resource),
        nesting=Nesting.ENTITY_SET,
        many=many,
        read_only=True,
    )


def add(type_: StructuredType, navigation: SetNavigation) -> None:
    if any(
        navigation.name in names for names in (type_.properties, type_.navigations, type_.set_navigations)
    ):
        message = f"{type_.name} has two members {navigation.name}, one of them between entity sets"
        raise DeclarationError(message, "odata.E022")
    type_.set_navigations[navigation.name] = navigation
