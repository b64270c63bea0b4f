"""Mistakes in declarations, told at start as Django system checks, each with a hint.

odata.E001  a resource names no model
odata.E002  a resource declares no Key
odata.E003  a member is declared twice
odata.E004  a source names a field that is not there
odata.E005  a part's source is no relation
odata.E006  a part's source leads to another model than its shape's
odata.E007  a list is declared where there is one record, or the other way round
odata.E008  a source ends at a field that has no OData type
odata.E009  a resource offers POST without ``create``, or PUT without ``replace``
odata.E010  a resource does not say what is visible to whom
odata.E011  two resources have the same path or name
odata.E012  a path or a name that cannot stand in an address
odata.E013  a member's name is no OData identifier
odata.E014  two members or aliases are the same but for their case
odata.E015  a member that bodies set belongs to another record
odata.E016  an enumeration's numbers do not fit its names
odata.E017  an order or a search names a field that is not there, or that cannot be searched
odata.E018  a part that bodies set has nothing in it that they could set
odata.E019  a hidden member that bodies cannot set either
odata.E020  a record that bodies refer to has no Key to name it by
odata.W001  a required member may be null in the database
odata.W002  a property's plain filter is read as an option
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Warning
from django.db import models

from apps.odata.declaration.resource import Behaviour, Nesting, Numbered, Property, Resource
from apps.odata.declaration.schema import (
    DeclarationError,
    EntitySet,
    StructuredType,
    bind_resource,
    fields_on_path,
    find_choices_class,
)
from apps.odata.declaration.service import Service, get_service
from apps.odata.metadata.csdl import CONTAINER, IDENTIFIER
from apps.odata.query.options import SERVICE_PARAMETERS

_PATH = re.compile(r"[A-Za-z][A-Za-z0-9]*")

#: Names that a query string takes for an option, with or without the dollar sign.
RESERVED_PARAMETERS = frozenset(
    (
        *("filter", "orderby", "select", "expand", "top", "skip", "count", "search", "format", "skiptoken"),
        *map(str.lower, SERVICE_PARAMETERS),
    )
)

BINDING_HINTS = {
    "odata.E001": "Say model = … in the resource.",
    "odata.E002": "Begin its fields with Key(…): an address must be able to name a record.",
    "odata.E003": "Give one of them another name, or leave it out.",
    "odata.E004": "A source is the path from the model in Django's spelling, such as contact__client.",
    "odata.E005": "For columns of the record itself there is Embedded.",
    "odata.E006": "Correct the source, or the shape's model.",
    "odata.E007": "Say many=True of a list, and nothing of a single record.",
}


def check_declarations(app_configs: Any = None, **options: Any) -> list[CheckMessage]:
    """The system check over everything the site serves."""
    return check_service(get_service())


def check_service(service: Service) -> list[CheckMessage]:
    """Every mistake in a service; those in one resource hide none in another."""
    found = list(check_addresses(service.resources))
    for resource in service.resources:
        found += check_resource(resource)
    return found


def check_resource(resource: type[Resource]) -> Iterator[CheckMessage]:
    """Every mistake in one resource; of those that keep it from being bound to its model the first."""
    yield from check_verbs(resource)
    yield from check_visibility(resource)
    if not hasattr(resource, "path"):
        return  # check_addresses tells
    try:
        bound = bind_resource(resource)
    except DeclarationError as error:
        yield Error(str(error), hint=BINDING_HINTS.get(error.id), obj=resource, id=error.id)
        return
    yield from check_search(bound)
    for type_ in bound.type.walk():
        for check in TYPE_CHECKS:
            for message in check(type_):
                message.obj = resource
                yield message
    if bound.supports("POST") or bound.supports("PUT"):
        for message in check_writable(bound.type):
            message.obj = resource
            yield message


# --- resources ----------------------------------------------------------------------------------------


def check_addresses(resources: Sequence[type[Resource]]) -> Iterator[CheckMessage]:
    """Paths and names: well formed, and each there once."""
    taken: dict[str, type[Resource]] = {}
    for resource in resources:
        path, name = getattr(resource, "path", ""), resource.name
        if not _PATH.fullmatch(path):
            yield Error(
                f"{resource.__name__} has the path {path!r}, which cannot stand in an address",
                hint="A path is letters and digits, beginning with a letter.",
                obj=resource,
                id="odata.E012",
            )
            continue
        if name and name.lower() != path.lower():
            yield Error(
                f"{resource.__name__} has the name {name} and the path {path}",
                hint="They may differ in case only: clients make addresses of names.",
                obj=resource,
                id="odata.E012",
            )
        other = taken.setdefault(path.lower(), resource)
        if other is not resource or path.lower() == CONTAINER.lower():
            whose = other.__name__ if other is not resource else "the entity container"
            yield Error(
                f"{resource.__name__} has the path or name of {whose}: {path}",
                hint="Addresses are matched without regard to case.",
                obj=resource,
                id="odata.E011",
            )


def check_verbs(resource: type[Resource]) -> Iterator[CheckMessage]:
    for method, function in (("POST", "create"), ("PUT", "replace")):
        if method in resource.methods and getattr(resource, function) is None:
            yield Error(
                f"{resource.__name__} offers {method} and has no {function}",
                hint=f"Say {function} = … (the domain's verb), or leave {method} out of its methods.",
                obj=resource,
                id="odata.E009",
            )


def check_visibility(resource: type[Resource]) -> Iterator[CheckMessage]:
    if resource.visible_to is Resource.visible_to:
        yield Error(
            f"{resource.__name__} does not say what is visible to whom",
            hint="Override visible_to(self, caller); everything is return Model.objects.all().",
            obj=resource,
            id="odata.E010",
        )


def check_search(entity_set: EntitySet) -> Iterator[CheckMessage]:
    for path in entity_set.resource.search:
        field = field_at(entity_set.model, path)
        if not isinstance(field, models.CharField | models.TextField):
            yield Error(
                f"{entity_set.name} searches {path}, which is no text that is there",
                hint="search names text fields in Django's spelling.",
                obj=type(entity_set.resource),
                id="odata.E017",
            )


# --- types --------------------------------------------------------------------------------------------


def check_fields(type_: StructuredType) -> Iterator[CheckMessage]:
    """Every property has a field with a type on the wire."""
    for name, prop in type_.properties.items():
        if not isinstance(prop.source_field, models.Field):
            told = "a list of records"
        else:
            try:
                prop.edm  # noqa: B018  (asked for its refusal)
            except TypeError:
                told = type(prop.field).__name__
            else:
                continue
        yield Error(
            f"{type_.name}.{name}: {prop.path} is {told}, which has no OData type",
            hint="Declare a property whose field has one (apps/odata/edm.py), or a part.",
            id="odata.E008",
        )


def check_names(type_: StructuredType) -> Iterator[CheckMessage]:
    """Names and aliases: identifiers, told apart by more than their case."""
    spellings: defaultdict[str, list[str]] = defaultdict(list)
    for member in type_.declaration.fields:
        for name in (member.name, *(member.aliases if isinstance(member, Property) else ())):
            spellings[name.lower()].append(name)
            if not IDENTIFIER.fullmatch(name):
                yield Error(
                    f"{type_.name}.{name} is no OData identifier",
                    hint="A letter or _ first, then letters, digits and _, 128 characters at most.",
                    id="odata.E013",
                )
    for name, *others in spellings.values():
        if others:
            yield Error(
                f"{type_.name} has both {name} and {others[0]}",
                hint="Members and aliases differ by more than their case.",
                id="odata.E014",
            )


def check_reserved(type_: StructuredType) -> Iterator[CheckMessage]:
    for name in type_.properties:
        if type_.key is not None and name.lower() in RESERVED_PARAMETERS:
            yield Warning(
                f"{type_.name}.{name}: ?{name}= is read as an option, not as a filter",
                hint="$filter reaches it; another name would spare callers the surprise.",
                id="odata.W002",
            )


def check_numbers(type_: StructuredType) -> Iterator[CheckMessage]:
    """The numbers of an enumeration name members that it has, each once."""
    for name, prop in type_.properties.items():
        enum = find_choices_class(prop.field) if isinstance(prop.source_field, models.Field) else None
        if enum is None or not issubclass(enum, Numbered):
            continue
        numbers = getattr(enum, "__numbers__", {})
        named = list(numbers.values())
        fits = set(named) <= set(prop.choices) and len(set(named)) == len(named) and named
        if not fits or not all(type(number) is int for number in numbers):
            yield Error(
                f"{type_.name}.{name}: the numbers of {enum.__name__} do not fit its names",
                hint='__numbers__ = {0: "Provider", …} gives a name its one number; other names have none.',
                id="odata.E016",
            )


def check_order(type_: StructuredType) -> Iterator[CheckMessage]:
    for term in type_.order:
        path = term.lstrip("-")
        if path != "pk" and not isinstance(field_at(type_.model, path), models.Field):
            yield Error(
                f"{type_.name} is ordered by {path}, which {type_.model.__name__} has not",
                hint="An order is made of field names in Django's spelling, with - before a falling one.",
                id="odata.E017",
            )


def check_hidden(type_: StructuredType) -> Iterator[CheckMessage]:
    for name, prop in type_.properties.items():
        if prop.declaration.write_only and not prop.writable:
            yield Error(
                f"{type_.name}.{name} is neither shown nor set",
                hint="Leave write_only=True out, or declare it Required or Optional.",
                id="odata.E019",
            )


TYPE_CHECKS = (check_fields, check_names, check_reserved, check_numbers, check_order, check_hidden)


# --- what bodies set ----------------------------------------------------------------------------------


def check_writable(type_: StructuredType) -> Iterator[CheckMessage]:
    """The members that bodies set, here and in the parts that are written with the record."""
    members: tuple[Any, ...] = (*type_.writable_properties, *type_.writable_navigations)
    for member in members:
        if len(member.steps) > 1:
            yield Error(
                f"{type_.name}.{member.name} is set by bodies, and {member.path} belongs to another record",
                hint="Declare it ReadOnly (a part: read_only=True), or give a source of the record's own.",
                id="odata.E015",
            )
    for prop in type_.writable_properties:
        if prop.behaviour is Behaviour.REQUIRED and len(prop.steps) == 1 and prop.nullable:
            yield may_be_null(type_, prop.name)
    for part in type_.writable_navigations:
        if part.nesting is Nesting.REFERENCE:
            if part.type.key is None:
                yield Error(
                    f"{type_.name}.{part.name} refers to records that have no Key",
                    hint="Give its shape a Key(…), or say read_only=True.",
                    id="odata.E020",
                )
            if part.declaration.required and not part.many and part.relation.null:
                yield may_be_null(type_, part.name)
            continue
        if not part.type.writable_properties and not part.type.writable_navigations:
            yield Error(
                f"{type_.name}.{part.name} is set by bodies, and nothing in it can be",
                hint="Say read_only=True, or declare members of its shape Required or Optional.",
                id="odata.E018",
            )
        yield from check_writable(part.type)


def may_be_null(type_: StructuredType, name: str) -> CheckMessage:
    return Warning(
        f"{type_.name}.{name} is required, and may be null in the database",
        hint="Say null=False of the field, so that no other way in can leave it out; or declare it Optional.",
        id="odata.W001",
    )


def field_at(model: type[models.Model], path: str) -> Any:
    """The field at the end of an ORM path; ``None`` when a step is not there."""
    try:
        steps: Iterable[Any] = fields_on_path(model, path, path)
    except DeclarationError:
        return None
    return tuple(steps)[-1]
