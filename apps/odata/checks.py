"""System checks of the declarations, each with a hint.

odata.E001  a resource has no model
odata.E002  a resource has no Key
odata.E003  a member is declared twice
odata.E004  a source names a field that does not exist
odata.E005  the source of a navigation property is not a relation
odata.E006  the source of a navigation property has another model than its type
odata.E007  a list is declared where there is one record, or the other way round
odata.E008  a source is a field without an OData type
odata.E009  a resource has the method POST without ``create``, or PUT without ``replace``
odata.E010  a resource does not override ``visible_to``
odata.E011  two resources have the same path or name
odata.E012  a path or a name that is invalid in an address
odata.E013  the name of a member is not an OData identifier
odata.E014  two members or aliases differ only in case
odata.E015  a writable member belongs to another record
odata.E016  the numbers of an enumeration do not match its names
odata.E017  an order or a search names a field that does not exist, or that is not text
odata.E018  a writable nested object has no writable member
odata.E019  a write-only member that is not writable
odata.E020  a record that request bodies refer to has no Key
odata.W001  a required member may be null in the database
odata.W002  the plain filter of a property has the name of a query option
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

#: Parameter names of query options, with or without the dollar sign.
RESERVED_PARAMETERS = frozenset(
    (
        *("filter", "orderby", "select", "expand", "top", "skip", "count", "search", "format", "skiptoken"),
        *map(str.lower, SERVICE_PARAMETERS),
    )
)

BINDING_HINTS = {
    "odata.E001": "Declare model = … in the resource.",
    "odata.E002": "Declare a Key(…) as the first of its fields: addresses name records by it.",
    "odata.E003": "Rename or remove one of them.",
    "odata.E004": "A source is an ORM path from the model, such as contact__client.",
    "odata.E005": "Use Embedded for columns of the record itself.",
    "odata.E006": "Correct the source, or the model of the nested type.",
    "odata.E007": "A list has many=True, a single record has not.",
}


def check_declarations(app_configs: Any = None, **options: Any) -> list[CheckMessage]:
    """The system check of the service of this site."""
    return check_service(get_service())


def check_service(service: Service) -> list[CheckMessage]:
    """All messages about a service; an invalid resource hides no message about another."""
    messages = list(check_addresses(service.resources))
    for resource in service.resources:
        messages += check_resource(resource)
    return messages


def check_resource(resource: type[Resource]) -> Iterator[CheckMessage]:
    """All messages about a resource, or the first one when it cannot be bound to its model."""
    yield from check_methods(resource)
    yield from check_visibility(resource)
    if not hasattr(resource, "path"):
        return  # check_addresses reports it
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
    """Paths and names are valid and unique."""
    by_path: dict[str, type[Resource]] = {}
    for resource in resources:
        path, name = getattr(resource, "path", ""), resource.name
        if not _PATH.fullmatch(path):
            yield Error(
                f"{resource.__name__} has the path {path!r}, which is invalid in an address",
                hint="A path has letters and digits, the first is a letter.",
                obj=resource,
                id="odata.E012",
            )
            continue
        if name and name.lower() != path.lower():
            yield Error(
                f"{resource.__name__} has the name {name} and the path {path}",
                hint="They may differ in case only: clients use names as addresses.",
                obj=resource,
                id="odata.E012",
            )
        other = by_path.setdefault(path.lower(), resource)
        if other is not resource or path.lower() == CONTAINER.lower():
            owner = other.__name__ if other is not resource else "the entity container"
            yield Error(
                f"{resource.__name__} has the path or name of {owner}: {path}",
                hint="Addresses are matched without regard to case.",
                obj=resource,
                id="odata.E011",
            )


def check_methods(resource: type[Resource]) -> Iterator[CheckMessage]:
    for method, function in (("POST", "create"), ("PUT", "replace")):
        if method in resource.methods and getattr(resource, function) is None:
            yield Error(
                f"{resource.__name__} has the method {method} and no {function}",
                hint=f"Declare {function} = … (a service of the app), or remove {method} from its methods.",
                obj=resource,
                id="odata.E009",
            )


def check_visibility(resource: type[Resource]) -> Iterator[CheckMessage]:
    if resource.visible_to is Resource.visible_to:
        yield Error(
            f"{resource.__name__} does not override visible_to",
            hint="Define visible_to(self, caller); Model.objects.all() is everything.",
            obj=resource,
            id="odata.E010",
        )


def check_search(entity_set: EntitySet) -> Iterator[CheckMessage]:
    for path in entity_set.resource.search:
        field = field_at(entity_set.model, path)
        if not isinstance(field, models.CharField | models.TextField):
            yield Error(
                f"{entity_set.name} searches {path}, which is not a text field",
                hint="search has the ORM paths of text fields.",
                obj=type(entity_set.resource),
                id="odata.E017",
            )


# --- types --------------------------------------------------------------------------------------------


def check_fields(type_: StructuredType) -> Iterator[CheckMessage]:
    """Every property has a field with an OData type."""
    for name, prop in type_.properties.items():
        if not isinstance(prop.source_field, models.Field):
            kind = "a list of records"
        else:
            try:
                prop.edm  # noqa: B018  (raises TypeError)
            except TypeError:
                kind = type(prop.field).__name__
            else:
                continue
        yield Error(
            f"{type_.name}.{name}: {prop.path} is {kind}, which has no OData type",
            hint="Declare a property whose field has one (apps/odata/declaration/edm.py), or a navigation.",
            id="odata.E008",
        )


def check_names(type_: StructuredType) -> Iterator[CheckMessage]:
    """Names and aliases are identifiers that differ by more than their case."""
    spellings: defaultdict[str, list[str]] = defaultdict(list)
    for member in type_.declaration.fields:
        for name in (member.name, *(member.aliases if isinstance(member, Property) else ())):
            spellings[name.lower()].append(name)
            if not IDENTIFIER.fullmatch(name):
                yield Error(
                    f"{type_.name}.{name} is not an OData identifier",
                    hint="A letter or _ first, then letters, digits and _, at most 128 characters.",
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
                f"{type_.name}.{name}: ?{name}= is a query option, not a filter",
                hint="$filter reaches it; another name avoids the confusion.",
                id="odata.W002",
            )


def check_numbers(type_: StructuredType) -> Iterator[CheckMessage]:
    """Each number of an enumeration is of one of its members."""
    for name, prop in type_.properties.items():
        enum = find_choices_class(prop.field) if isinstance(prop.source_field, models.Field) else None
        if enum is None or not issubclass(enum, Numbered):
            continue
        numbers = getattr(enum, "__numbers__", {})
        names = list(numbers.values())
        is_valid = set(names) <= set(prop.choices) and len(set(names)) == len(names) and names
        if not is_valid or not all(type(number) is int for number in numbers):
            yield Error(
                f"{type_.name}.{name}: the numbers of {enum.__name__} do not match its names",
                hint='__numbers__ = {0: "Provider", …} gives each of some names one number.',
                id="odata.E016",
            )


def check_order(type_: StructuredType) -> Iterator[CheckMessage]:
    for term in type_.order:
        path = term.lstrip("-")
        if path != "pk" and not isinstance(field_at(type_.model, path), models.Field):
            yield Error(
                f"{type_.name} is ordered by {path}, which is not a field of {type_.model.__name__}",
                hint="An order has ORM paths, with - before a descending one.",
                id="odata.E017",
            )


def check_write_only(type_: StructuredType) -> Iterator[CheckMessage]:
    for name, prop in type_.properties.items():
        if prop.declaration.write_only and not prop.writable:
            yield Error(
                f"{type_.name}.{name} is write-only and not writable",
                hint="Remove write_only=True, or declare it Required or Optional.",
                id="odata.E019",
            )


TYPE_CHECKS = (check_fields, check_names, check_reserved, check_numbers, check_order, check_write_only)


# --- request bodies -----------------------------------------------------------------------------------


def check_writable(type_: StructuredType) -> Iterator[CheckMessage]:
    """The writable members of a record and of its nested objects."""
    members: tuple[Any, ...] = (*type_.writable_properties, *type_.writable_navigations)
    for member in members:
        if len(member.steps) > 1:
            yield Error(
                f"{type_.name}.{member.name} is writable, and {member.path} belongs to another record",
                hint="Declare it ReadOnly (a navigation: read_only=True), or use a field of the record.",
                id="odata.E015",
            )
    for prop in type_.writable_properties:
        if prop.behaviour is Behaviour.REQUIRED and len(prop.steps) == 1 and prop.nullable:
            yield may_be_null(type_, prop.name)
    for navigation in type_.writable_navigations:
        if navigation.nesting is Nesting.REFERENCE:
            if navigation.type.key is None:
                yield Error(
                    f"{type_.name}.{navigation.name} refers to records that have no Key",
                    hint="Declare a Key(…) in its type, or read_only=True.",
                    id="odata.E020",
                )
            if navigation.declaration.required and not navigation.many and navigation.relation.null:
                yield may_be_null(type_, navigation.name)
            continue
        if not navigation.type.writable_properties and not navigation.type.writable_navigations:
            yield Error(
                f"{type_.name}.{navigation.name} is writable, and no member of it is",
                hint="Declare read_only=True, or members of its type as Required or Optional.",
                id="odata.E018",
            )
        yield from check_writable(navigation.type)


def may_be_null(type_: StructuredType, name: str) -> CheckMessage:
    return Warning(
        f"{type_.name}.{name} is required, and may be null in the database",
        hint="Set null=False on the field, or declare the member Optional.",
        id="odata.W001",
    )


def field_at(model: type[models.Model], path: str) -> Any:
    """The field at the end of an ORM path; ``None`` when it does not exist."""
    try:
        steps: Iterable[Any] = fields_on_path(model, path, path)
    except DeclarationError:
        return None
    return tuple(steps)[-1]
