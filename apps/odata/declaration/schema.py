"""What declarations become once their models are known: types with properties and parts."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.db.models.enums import ChoicesType

from apps.odata.declaration.edm import EdmType, edm_type
from apps.odata.declaration.resource import (
    Access,
    Kind,
    Navigation,
    NestedType,
    Numbered,
    Property,
    Resource,
    Verb,
)

ModelClass = type[models.Model]


class DeclarationError(Exception):
    """A declaration that cannot be: told as a system check at start."""

    def __init__(self, message: str, id: str) -> None:
        super().__init__(message)
        self.id = id


@dataclass(frozen=True, eq=False)
class StructuralProperty:
    """A declared property and the Django field it ends at.

    ``path`` is the ORM path from the type's model, ``field`` the Django field the value has (for a
    foreign key the referred key), ``attribute`` the name drafts and rules use, ``refers_to`` the model
    whose key the value is, when the property is a foreign key that bodies set (``StaffGuid``). ``in_bodies``
    is the property as bodies set it, where they set another field than the one shown.
    """

    declared: Property
    path: str
    steps: tuple[models.Field, ...]
    in_bodies: StructuralProperty | None = None

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def access(self) -> Access:
        return self.declared.access

    @property
    def writable(self) -> bool:
        return self.access in (Access.REQUIRED, Access.OPTIONAL)

    @cached_property
    def source_field(self) -> models.Field:
        """The last field on the path as the model declares it; a foreign key stays one."""
        return self.steps[-1]

    @cached_property
    def field(self) -> models.Field:
        return final_field(self.source_field)

    @cached_property
    def edm(self) -> EdmType:
        return edm_type(self.field)

    @cached_property
    def nullable(self) -> bool:
        return any(step.null for step in self.steps)

    @cached_property
    def attribute(self) -> str:
        return self.path

    @cached_property
    def refers_to(self) -> type[models.Model] | None:
        return self.source_field.related_model if self.source_field.is_relation else None

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The names of an enumeration, none for any other value."""
        return tuple(value for value, _ in self.field.flatchoices)

    @cached_property
    def enum(self) -> type[models.TextChoices] | None:
        """The choices class of an enumeration (its name names the CSDL enum type)."""
        return choices_class(self.field)

    @cached_property
    def numbers(self) -> dict[int, str]:
        """The numbers bodies may use for an enumeration's names."""
        enum = self.enum
        return dict(enum.__numbers__) if enum is not None and issubclass(enum, Numbered) else {}


@dataclass(frozen=True, eq=False)
class NavigationProperty:
    """A declared part and the type of what is in it.

    ``path`` is the ORM path to the related model, empty for embedded parts; ``relation`` the Django field
    (foreign key, many-to-many or reverse relation) it goes through.
    """

    declared: Navigation
    type: StructuredType
    path: str
    steps: tuple[Any, ...]

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def kind(self) -> Kind:
        return self.declared.kind

    @property
    def many(self) -> bool:
        return self.declared.many

    @property
    def item_only(self) -> bool:
        return self.declared.item_only

    @property
    def writable(self) -> bool:
        return not self.declared.read_only

    @property
    def relation(self) -> Any:
        return self.steps[-1]

    @property
    def attribute(self) -> str:
        """The name drafts and rules use (``line_items``, ``account_manager``)."""
        return self.path


@dataclass(eq=False)
class StructuredType:
    """An object's type: an entity type when it has a key, else a complex type.

    ``order`` are the ORM order terms of a list of it, ending on the key.
    """

    name: str
    model: type[models.Model]
    shape: type[NestedType]
    properties: Mapping[str, StructuralProperty] = field(default_factory=dict)
    parts: Mapping[str, NavigationProperty] = field(default_factory=dict)
    order: tuple[str, ...] = ()

    @cached_property
    def key(self) -> StructuralProperty | None:
        return next((p for p in self.properties.values() if p.access is Access.KEY), None)

    @cached_property
    def writable_properties(self) -> tuple[StructuralProperty, ...]:
        return tuple(p.in_bodies or p for p in self.properties.values() if p.writable)

    @cached_property
    def writable_parts(self) -> tuple[NavigationProperty, ...]:
        return tuple(p for p in self.parts.values() if p.writable)

    @cached_property
    def embedded_parts(self) -> tuple[NavigationProperty, ...]:
        return tuple(p for p in self.parts.values() if p.kind is Kind.EMBEDDED)

    def member(self, name: str) -> StructuralProperty | NavigationProperty | None:
        """The property or part of that exact name."""
        return self.properties.get(name) or self.parts.get(name)

    def closest(self, name: str) -> str | None:
        """The member whose name is most like ``name``, to suggest in an error."""
        names = {known.lower(): known for known in (*self.properties, *self.parts)}
        found = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.75)
        return names[found[0]] if found else None

    def walk(self) -> Iterator[StructuredType]:
        """This type and every type inside it."""
        yield self
        for part in self.parts.values():
            yield from part.type.walk()


@dataclass(eq=False)
class EntitySet:
    """A resource ready to serve: its declaration and its type."""

    resource: Resource
    type: StructuredType

    @property
    def name(self) -> str:
        return self.type.name

    @property
    def path(self) -> str:
        return self.resource.path

    @property
    def model(self) -> ModelClass:
        return self.type.model

    @property
    def key(self) -> StructuralProperty:
        assert self.type.key is not None
        return self.type.key

    @cached_property
    def methods(self) -> tuple[str, ...]:
        return tuple(verb.value for verb in self.resource.methods)

    def offers(self, verb: Verb) -> bool:
        return verb in self.resource.methods

    @cached_property
    def stamp(self) -> str | None:
        """The column an ETag is made of, when the model has it."""
        name = self.resource.stamp
        return name if name and name in {f.name for f in self.model._meta.concrete_fields} else None


def entity_set(resource: type[Resource] | Resource) -> EntitySet:
    """Bind a declaration to its model; ``DeclarationError`` when it names what is not there."""
    declared = resource if isinstance(resource, Resource) else resource()
    if declared.model is None:
        raise DeclarationError(f"{type(declared).__name__} names no model", "odata.E001")
    name = declared.name or declared.path[:1].upper() + declared.path[1:]
    bound = structured_type(type(declared), declared.model, name)
    if bound.key is None:
        raise DeclarationError(f"{type(declared).__name__} declares no Key", "odata.E002")
    bound.order = total_order(tuple(declared.order), declared.model)
    return EntitySet(declared, bound)


def structured_type(
    shape: type[NestedType], model: type[models.Model], name: str, prefix: str = ""
) -> StructuredType:
    """Bind one shape; ``name`` is how its CSDL type is called, ``prefix`` stands before its sources."""
    properties: dict[str, StructuralProperty] = {}
    parts: dict[str, NavigationProperty] = {}
    for member in shape.fields:
        if member.name in properties or member.name in parts:
            raise DeclarationError(f"{name} declares {member.name} twice", "odata.E003")
        if isinstance(member, Property):
            properties[member.name] = structural_property(member, model, name, prefix)
        else:
            parts[member.name] = navigation_property(member, model, name, prefix)
    return StructuredType(name, model, shape, properties, parts)


def structural_property(
    member: Property, model: type[models.Model], owner: str, prefix: str
) -> StructuralProperty:
    """Bind one property of ``owner``."""

    def bound(source: str, in_bodies: StructuralProperty | None = None) -> StructuralProperty:
        steps = follow(model, prefix + source, f"{owner}.{member.name}")
        return StructuralProperty(member, prefix + source, steps, in_bodies)

    return bound(member.source, bound(member.body_source) if member.body_source else None)


def navigation_property(
    part: Navigation, model: type[models.Model], owner: str, prefix: str
) -> NavigationProperty:
    """Bind one part of ``owner``."""
    name = f"{owner}{part.name}"
    if part.kind is Kind.EMBEDDED:
        return NavigationProperty(
            part, structured_type(part.shape, model, name, prefix + part.prefix), "", ()
        )
    steps = follow(model, prefix + part.source, f"{owner}.{part.name}")
    target = steps[-1].related_model
    if target is None:
        raise DeclarationError(f"{owner}.{part.name}: {part.source} is no relation", "odata.E005")
    if part.shape.model is not None and not issubclass(target, part.shape.model):
        raise DeclarationError(
            f"{owner}.{part.name}: {part.source} leads to {target.__name__}, "
            f"the shape is of {part.shape.model.__name__}",
            "odata.E006",
        )
    many = bool(steps[-1].one_to_many or steps[-1].many_to_many)
    if many is not part.many:
        raise DeclarationError(
            f"{owner}.{part.name}: {part.source} is {'a list' if many else 'one record'}", "odata.E007"
        )
    bound = structured_type(part.shape, target, name)
    bound.order = total_order(part.order, target)
    return NavigationProperty(part, bound, prefix + part.source, steps)


def follow(model: type[models.Model], path: str, place: str) -> tuple[Any, ...]:
    """The fields along an ORM path; ``DeclarationError`` naming the step that is not there."""
    steps: list[Any] = []
    for name in path.split("__"):
        try:
            step = model._meta.get_field(name)
        except FieldDoesNotExist:
            known = difflib.get_close_matches(name, [f.name for f in model._meta.get_fields()], n=1)
            hint = f"; is {known[0]} meant?" if known else ""
            raise DeclarationError(
                f"{place}: {model.__name__} has no field {name}{hint}", "odata.E004"
            ) from None
        steps.append(step)
        model = step.related_model or model
    return tuple(steps)


def final_field(step: models.Field) -> models.Field:
    """The field that holds the value: for a foreign key the key it refers to, however long the chain."""
    while isinstance(step, models.ForeignKey):
        step = step.target_field
    return step


def choices_class(field: models.Field) -> type[models.TextChoices] | None:
    """The class that a field's choices were made from; Django keeps only its names and labels.

    It stands in the body of the model (or of a base of it) or among the imports of its module.
    """
    for base in field.model.__mro__ if field.choices else ():
        for found in (*vars(base).values(), *vars(sys.modules[base.__module__]).values()):
            if is_text_choices(found) and found.choices == list(field.flatchoices):
                return found
    return None


def is_text_choices(thing: Any) -> bool:
    return isinstance(thing, ChoicesType) and issubclass(thing, models.TextChoices)


def total_order(terms: tuple[str, ...], model: type[models.Model]) -> tuple[str, ...]:
    """``terms``, ending on the key in the direction of the first term, so that an index can serve both."""
    key = model._meta.pk
    assert key is not None
    if any(term.lstrip("-") in (key.name, "pk") for term in terms):
        return terms
    falling = bool(terms) and terms[0].startswith("-")
    return (*terms, f"-{key.name}" if falling else key.name)
