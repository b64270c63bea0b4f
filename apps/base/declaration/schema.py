"""Declarations bound to their models: types with properties and navigation properties."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.db.models.enums import ChoicesType

from apps.base.declaration.edm import EdmType, edm_type
from apps.base.declaration.resource import (
    DELETE,
    PATCH,
    POST,
    PUT,
    V2_0,
    V2_1,
    Behaviour,
    Caller,
    Enumeration,
    Navigation,
    NestedType,
    Nesting,
    Numbered,
    Property,
    Resource,
)
from apps.base.errors import Forbidden

#: The names of types, members and members of enumerations.
IDENTIFIER = re.compile(r"[^\W\d]\w{0,127}")


class DeclarationError(Exception):
    """A declaration that does not fit its model; reported as a system check with this ``id``."""

    def __init__(self, message: str, id: str) -> None:
        super().__init__(message)
        self.id = id


@dataclass(frozen=True, eq=False)
class StructuralProperty:
    """A declared property and its Django field.

    ``path`` is the ORM path from the model of the type, ``steps`` the fields along it. ``body_property`` is
    the property that request bodies set, where responses show another field.
    """

    declaration: Property
    path: str
    steps: tuple[models.Field, ...]
    body_property: StructuralProperty | None = None

    name = property(attrgetter("declaration.name"))
    behaviour = property(attrgetter("declaration.behaviour"))
    #: The name of the value in drafts and rules.
    attribute = property(attrgetter("path"))

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """The names in request bodies; errors use the first."""
        first = self.declaration.body_name
        return tuple(filter(None, (first, self.name, *self.declaration.aliases)))

    @cached_property
    def writable(self) -> bool:
        return self.behaviour in (Behaviour.REQUIRED, Behaviour.OPTIONAL)

    @cached_property
    def source_field(self) -> models.Field:
        """The last field on the path; a foreign key stays a foreign key."""
        return self.steps[-1]

    @cached_property
    def field(self) -> models.Field:
        """The field of the value; for a foreign key the key of the related record."""
        return final_field(self.source_field)

    @cached_property
    def edm(self) -> EdmType:
        return edm_type(self.field)

    @cached_property
    def nullable(self) -> bool:
        return any(step.null for step in self.steps)

    @cached_property
    def related_model(self) -> type[models.Model] | None:
        """The model of the related record, when the property is a foreign key (``StaffGuid``)."""
        return self.source_field.related_model if self.source_field.is_relation else None

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The names of an enumeration; empty for other types."""
        return tuple(value for value, _ in self.field.flatchoices)

    @cached_property
    def enum(self) -> type[models.TextChoices] | None:
        """The choices class of an enumeration, whose name is the name of the CSDL enum type."""
        return find_choices_class(self.field)

    @cached_property
    def member_values(self) -> Mapping[str, int]:
        """The numbers of the members in the enumeration type; empty where the choices are texts only."""
        enum = self.enum
        return find_numbers(enum) if enum is not None and issubclass(enum, Enumeration) else {}

    @cached_property
    def numbers(self) -> dict[int, str]:
        """The names of an enumeration by the numbers that request bodies may use for them."""
        enum = self.enum
        if enum is None or not issubclass(enum, Numbered):
            return {}
        numbers = find_numbers(enum).items()
        return {number: name for name, number in numbers if name not in enum.__names_only__}


class ItemRows(NamedTuple):
    """The rows that link the items of a list to their records, mostly the items themselves.

    ``record_path`` is the ORM path from a row to the record, whose ``record_key`` it holds; ``prefix`` that
    from a row to its item. ``is_shared``: an item may be in several lists.
    """

    rows: models.QuerySet[models.Model]
    record_path: str
    record_key: str
    prefix: str = ""
    is_shared: bool = False


@dataclass(frozen=True, eq=False)
class NavigationProperty:
    """A declared navigation property and the type of its objects.

    ``path`` is the ORM path to the related model, empty for embedded objects; ``relation`` the last Django
    field on it (foreign key, many-to-many or reverse relation).
    """

    declaration: Navigation
    type: StructuredType
    path: str
    steps: tuple[Any, ...]

    name = property(attrgetter("declaration.name"))
    nesting = property(attrgetter("declaration.nesting"))
    many = property(attrgetter("declaration.many"))
    item_only = property(attrgetter("declaration.item_only"))
    #: The name of the objects in drafts and rules (``line_items``, ``account_manager``).
    attribute = property(attrgetter("path"))

    @cached_property
    def writable(self) -> bool:
        return not self.declaration.read_only

    @cached_property
    def relation(self) -> Any:
        return self.steps[-1]

    @cached_property
    def is_complex(self) -> bool:
        """True when it is a complex property in $metadata (an address), since its type has no key."""
        return self.type.key is None

    @cached_property
    def link(self) -> tuple[str, str]:
        """The ORM path of the related records and that of the record whose values are equal."""
        if not self.many:
            return "pk", self.path
        if self.relation.many_to_many and not self.relation.auto_created:
            return self.relation.related_query_name(), "pk"
        return self.relation.field.name, "pk"

    def rows_for(self, caller: Caller | None) -> models.QuerySet[models.Model]:
        """The records among which the related ones are."""
        return self.type.model._base_manager.all()

    def item_rows(self, caller: Caller | None) -> ItemRows:
        """The rows of a list."""
        relation, owner = self.relation, "".join(f"{step.name}__" for step in self.steps[:-1])
        if not relation.many_to_many:
            back = relation.field
            return ItemRows(back.model._base_manager.all(), back.name, owner + back.target_field.name)
        forward = relation.field if relation.auto_created else relation
        owner_field, item_field = forward.m2m_field_name(), forward.m2m_reverse_field_name()
        if relation.auto_created:
            owner_field, item_field = item_field, owner_field
        through = forward.remote_field.through
        key = through._meta.get_field(owner_field).target_field.name
        rows = through._base_manager.all()
        return ItemRows(rows, owner_field, owner + key, f"{item_field}__", is_shared=True)


@dataclass(frozen=True, eq=False, kw_only=True)
class SetNavigation(NavigationProperty):
    """A navigation property to one record of another entity set, or back to a list of them.

    ``path`` is the ORM path that reaches the records; ``owner_path`` (lists) that from them back to the
    record, ``owner_key`` the path of $filter from them to its key. ``dependent`` is the property that holds
    the key of the one record, ``partner`` the name of the navigation property of the opposite direction.
    """

    entity_set: EntitySet
    owner_path: str = ""
    owner_key: str = ""
    dependent: StructuralProperty | None = None
    partner: str = ""

    @cached_property
    def link(self) -> tuple[str, str]:
        return (self.owner_path, "pk") if self.many else ("pk", self.path)

    def rows_for(self, caller: Caller | None) -> models.QuerySet[models.Model]:
        """The records that the caller may see; ``Forbidden`` for one who may not read their entity set."""
        return self.entity_set.rows_for(caller)

    def item_rows(self, caller: Caller | None) -> ItemRows:
        return ItemRows(self.rows_for(caller), self.owner_path, "pk")


@dataclass(eq=False, repr=False)  # types refer to each other: writing one into a traceback took minutes
class StructuredType:
    """The type of an object: an entity type when it has a key, else a complex type.

    ``order`` are the ORM order terms of a list of these objects; the last one is the key.
    ``set_navigations`` lead to records of other entity sets; ``navigations`` to what the record itself has.
    """

    name: str
    model: type[models.Model]
    declaration: type[NestedType]
    properties: Mapping[str, StructuralProperty] = field(default_factory=dict)
    navigations: Mapping[str, NavigationProperty] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    set_navigations: dict[str, SetNavigation] = field(default_factory=dict)

    @cached_property
    def key(self) -> StructuralProperty | None:
        return next((p for p in self.properties.values() if p.behaviour is Behaviour.KEY), None)

    @cached_property
    def readable_properties(self) -> Mapping[str, StructuralProperty]:
        return {name: p for name, p in self.properties.items() if not p.declaration.write_only}

    @cached_property
    def writable_properties(self) -> tuple[StructuralProperty, ...]:
        return tuple(p.body_property or p for p in self.properties.values() if p.writable)

    @cached_property
    def writable_navigations(self) -> tuple[NavigationProperty, ...]:
        return tuple(p for p in self.navigations.values() if p.writable)

    @cached_property
    def embedded_navigations(self) -> tuple[NavigationProperty, ...]:
        return tuple(p for p in self.navigations.values() if p.nesting is Nesting.EMBEDDED)

    @cached_property
    def members(self) -> Mapping[str, StructuralProperty | NavigationProperty]:
        """The properties and navigation properties by their name."""
        return {**self.properties, **self.navigations, **self.set_navigations}

    def find_navigation(self, name: str) -> NavigationProperty | None:
        """The complex or navigation property of this name."""
        return self.navigations.get(name) or self.set_navigations.get(name)

    def hint(self, unknown: str, only_navigations: bool = False) -> str:
        """For the error of an unknown member: the most similar one that can be read, else all of them."""
        properties = () if only_navigations else self.readable_properties
        names = {name.lower(): name for name in (*properties, *self.navigations, *self.set_navigations)}
        close = difflib.get_close_matches(unknown.lower(), names, n=1, cutoff=0.75)
        return f" Is {names[close[0]]} meant?" if close else f" It has {', '.join(names.values()) or 'none'}."

    def walk(self) -> Iterator[StructuredType]:
        """This type and every nested type."""
        yield self
        for navigation in self.navigations.values():
            yield from navigation.type.walk()


@dataclass(frozen=True, slots=True)
class AlternateKey:
    """A unique member by which callers find a record as by its key; ``column`` is what it is compared by."""

    prop: StructuralProperty
    column: Any

    def normalised(self, text: str) -> object:
        """The text as the column has it; ``None`` where nothing is left of it."""
        return self.column.normalise(text) if hasattr(self.column, "normalise") else text or None


@dataclass(eq=False, repr=False)  # types refer to each other: writing one into a traceback took minutes
class EntitySet:
    """A resource bound to its model: its declaration and its type."""

    resource: Resource
    type: StructuredType

    name = property(attrgetter("type.name"))
    path = property(attrgetter("resource.path"))
    model = property(attrgetter("type.model"))

    @cached_property
    def key(self) -> StructuralProperty:
        assert self.type.key is not None
        return self.type.key

    @cached_property
    def names_others(self) -> bool:
        """True when a record shows more than the key of other records (who looks after it)."""
        return any(
            each.nesting is Nesting.REFERENCE and len(each.type.readable_properties) > 1
            for each in self.type.navigations.values()
        )

    def rows_for(self, caller: Caller | None) -> models.QuerySet[models.Model]:
        """The records that a caller may see; ``Forbidden`` for one who may not read this entity set."""
        if caller is None or not caller.may("read", self):
            raise Forbidden(caller.refusal("read", self.name) if caller else f"{self.name} is not readable.")
        return self.visible_to(caller)

    def visible_to(self, caller: Caller | None) -> models.QuerySet[models.Model]:
        """The records that a caller may see, who may read or write this entity set."""
        rows = self.resource.visible_to(caller)
        sees = None if caller is None or self.resource.is_own else caller.sees
        return rows if sees is None else sees.visible(rows)

    def supports(self, method: str) -> bool:
        """True when the HTTP method is one of the resource's in its version."""
        is_added = self.resource.version == V2_1 and method in self.resource.methods_of_2_1
        return is_added or method in self.resource.methods

    @cached_property
    def is_written(self) -> bool:
        """True when any method of the set writes."""
        return any(map(self.supports, (POST, PUT, PATCH, DELETE)))

    @cached_property
    def alternate_keys(self) -> Mapping[str, AlternateKey]:
        """The alternate keys by their names in lower case; of version 2.1 alone."""
        names = self.resource.alternate_keys if self.resource.version == V2_1 else ()
        return {name.lower(): bind_alternate_key(self.type, name) for name in names}

    @cached_property
    def etag_field(self) -> str | None:
        """The field an ETag is made of; ``None`` when the model does not have it."""
        name = self.resource.etag_field
        return name if name and name in {f.name for f in self.model._meta.concrete_fields} else None


def bind_resource(resource: type[Resource] | Resource, version: str = V2_0) -> EntitySet:
    """Bind a declaration to its model; ``DeclarationError`` when it names a field that does not exist."""
    declaration = resource if isinstance(resource, Resource) else resource(version)
    if declaration.model is None:
        raise DeclarationError(f"{type(declaration).__name__} has no model", "odata.E001")
    name = declaration.name or declaration.path[:1].upper() + declaration.path[1:]
    added = declaration.fields_of_2_1 if declaration.version == V2_1 else ()
    bound = bind_type(type(declaration), declaration.model, name, added=added)
    if bound.key is None:
        raise DeclarationError(f"{type(declaration).__name__} has no Key", "odata.E002")
    bound.order = total_order(tuple(declaration.order), declaration.model)
    return EntitySet(declaration, bound)


def bind_type(
    declaration: type[NestedType],
    model: type[models.Model],
    name: str,
    prefix: str = "",
    added: Sequence[Property | Navigation] = (),
) -> StructuredType:
    """Bind one type; ``name`` identifies it in error messages, ``prefix`` is put before its sources.

    ``added`` are fields besides those it declares, or in the place of one of the same name.
    """
    properties: dict[str, StructuralProperty] = {}
    navigations: dict[str, NavigationProperty] = {}
    others = {member.name: member for member in added}
    fields = [others.pop(member.name, member) for member in declaration.fields]
    for member in (*fields, *others.values()):
        if member.name in properties or member.name in navigations:
            raise DeclarationError(f"{name} declares {member.name} twice", "odata.E003")
        if isinstance(member, Property):
            properties[member.name] = bind_property(member, model, name, prefix)
        else:
            navigations[member.name] = bind_navigation(member, model, name, prefix)
    return StructuredType(name, model, declaration, properties, navigations)


def bind_property(
    declaration: Property, model: type[models.Model], owner: str, prefix: str
) -> StructuralProperty:
    """Bind one property of the type ``owner``."""

    def bind(source: str, body_property: StructuralProperty | None = None) -> StructuralProperty:
        steps = fields_on_path(model, prefix + source, f"{owner}.{declaration.name}")
        return StructuralProperty(declaration, prefix + source, steps, body_property)

    return bind(declaration.source, bind(declaration.body_source) if declaration.body_source else None)


def bind_navigation(
    declaration: Navigation, model: type[models.Model], owner: str, prefix: str
) -> NavigationProperty:
    """Bind one navigation property of the type ``owner``."""
    nested_type, source, name = declaration.nested_type, declaration.source, f"{owner}.{declaration.name}"
    type_name = f"{owner}{declaration.name}"
    if declaration.nesting is Nesting.EMBEDDED:
        bound = bind_type(nested_type, model, type_name, prefix + declaration.prefix)
        return NavigationProperty(declaration, bound, "", ())
    steps = fields_on_path(model, prefix + source, name)
    target = steps[-1].related_model
    if target is None:
        raise DeclarationError(f"{name}: {source} is not a relation", "odata.E005")
    if nested_type.model is not None and not issubclass(target, nested_type.model):
        raise DeclarationError(
            f"{name}: the model of {source} is {target.__name__}, "
            f"the model of {nested_type.__name__} is {nested_type.model.__name__}",
            "odata.E006",
        )
    last = steps[-1]
    # The other side of a one-to-one relation is a list of at most one row.
    many = bool(last.one_to_many or last.many_to_many or (last.one_to_one and last.auto_created))
    if many is not declaration.many:
        raise DeclarationError(f"{name}: {source} is {'a list' if many else 'one record'}", "odata.E007")
    bound = bind_type(nested_type, target, type_name)
    bound.order = total_order(declaration.order, target)
    return NavigationProperty(declaration, bound, prefix + source, steps)


def bind_alternate_key(type_: StructuredType, name: str) -> AlternateKey:
    """The key of a member; ``DeclarationError`` where bodies cannot give it, or two records may share it."""
    prop = type_.properties.get(name)
    if prop is not None and prop.writable:
        for column in type_.model._meta.concrete_fields:
            if column.unique and prop.path in (column.name, getattr(column, "text_field", None)):
                return AlternateKey(prop, column)
    raise DeclarationError(f"{type_.name} has no unique member {name} that bodies give", "odata.E024")


def fields_on_path(model: type[models.Model], path: str, owner: str) -> tuple[Any, ...]:
    """The fields along an ORM path; ``DeclarationError`` names the one that does not exist."""
    steps: list[object] = []
    for name in path.split("__"):
        try:
            step = model._meta.get_field(name)
        except FieldDoesNotExist:
            close = difflib.get_close_matches(name, [f.name for f in model._meta.get_fields()], n=1)
            hint = f"; is {close[0]} meant?" if close else ""
            raise DeclarationError(
                f"{owner}: {model.__name__} has no field {name}{hint}", "odata.E004"
            ) from None
        steps.append(step)
        model = step.related_model or model
    return tuple(steps)


@lru_cache(maxsize=2048)
def final_field(step: models.Field) -> models.Field:
    """The field that stores the value: for a foreign key the related key, however long the chain."""
    while isinstance(step, models.ForeignKey):
        step = step.target_field
    return step


def find_choices_class(field: models.Field) -> type[models.TextChoices] | None:
    """The class of a field's choices; Django stores only its names and labels.

    It is an attribute of the model (or of a base of it) or of the module of the model.
    """
    for base in field.model.__mro__ if field.choices else ():
        for candidate in (*vars(base).values(), *vars(sys.modules[base.__module__]).values()):
            is_class = isinstance(candidate, ChoicesType) and issubclass(candidate, models.TextChoices)
            if is_class and candidate.choices == list(field.flatchoices):
                return candidate
    return None


def find_numbers(enum: type[Enumeration]) -> dict[str, int]:
    """The numbers of an enumeration's values; those without one, which are a system check, are left out."""
    return {member.value: member.number for member in enum if member.number is not None}


def total_order(terms: tuple[str, ...], model: type[models.Model]) -> tuple[str, ...]:
    """``terms`` and the key, in the direction of the first term, so that an index can serve both."""
    key = model._meta.pk
    assert key is not None
    if any(term.lstrip("-") in (key.name, "pk") for term in terms):
        return terms
    descending = bool(terms) and terms[0].startswith("-")
    return (*terms, f"-{key.name}" if descending else key.name)
