"""System checks of the declarations, each with a hint."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Warning
from django.db import models

from apps.base import draft_checks
from apps.base.declaration.resource import V2_1, Behaviour, Enumeration, Nesting, Property, Resource
from apps.base.declaration.schema import (
    IDENTIFIER,
    DeclarationError,
    EntitySet,
    StructuredType,
    bind_resource,
    fields_on_path,
)
from apps.base.declaration.service import Service, get_service
from apps.base.drafts import Draft
from apps.odata.metadata.csdl import CONTAINER
from apps.odata.query.options import OPTION_PARSERS, SERVICE_PARAMETERS

_PATH = re.compile(r"[A-Za-z][A-Za-z0-9]*")

#: Parameter names of query options, with or without the dollar sign.
RESERVED_PARAMETERS = frozenset((*OPTION_PARSERS, *map(str.lower, SERVICE_PARAMETERS)))

#: The hint of each check. E001 to E007 are found by ``bind_resource``.
HINTS = {
    # a resource has no model, no key; a member is declared twice; a source names no field, no relation,
    # one of another model, one record where a list is declared or the other way round
    "odata.E001": "Declare model = … in the resource.",
    "odata.E002": "Declare a Key(…) as the first of its fields: addresses name records by it.",
    "odata.E003": "Rename or remove one of them.",
    "odata.E004": "A source is an ORM path from the model, such as contact__client.",
    "odata.E005": "Use Embedded for columns of the record itself.",
    "odata.E006": "Correct the source, or the model of the nested type.",
    "odata.E007": "A list has many=True, a single record has not.",
    # a source is a field without an OData type
    "odata.E008": "Declare a property whose field has one (apps/odata/declaration/edm.py), or a navigation.",
    # a method has no service
    "odata.E009": "Declare the service of the app that does it, or remove the method.",
    # visible_to is not overridden
    "odata.E010": "Define visible_to(self, caller), or derive from UnrestrictedResource: that is everything.",
    # two resources have one address; an address is invalid
    "odata.E011": "Addresses are matched without regard to case.",
    "odata.E012": "A path has letters and digits, a letter first; the name differs from it in case only.",
    # the name of a member is invalid, or not its own
    "odata.E013": "A letter or _ first, then letters, digits and _, at most 128 characters.",
    "odata.E014": "Members and aliases differ by more than their case.",
    # a writable member belongs to another record
    "odata.E015": "Declare it ReadOnly (a navigation: read_only=True), or use a field of the record.",
    # a value of an enumeration has no number, that of another, or is no identifier
    "odata.E016": 'Derive from Enumeration, and number each value: ON_HOLD = "OnHold", 2.',
    # an order or a search names no field, or none of text
    "odata.E017": "An order has ORM paths, with - before a descending one; search has those of text fields.",
    # a writable nested object has no writable member; a write-only member is not writable
    "odata.E018": "Declare read_only=True, or members of its type as Required or Optional.",
    "odata.E019": "Remove write_only=True, or declare it Required or Optional.",
    # a record that request bodies refer to has no key
    "odata.E020": "Declare a Key(…) in its type, or read_only=True.",
    # a member that only one record shows is a complex property, which lists would have to show
    "odata.E021": "Declare a Key(…) in its type: lists may leave out navigation properties.",
    # a navigation property between entity sets has the name of another member
    "odata.E022": "Name it by set_navigation=… or partner=… in the declaration, or rename the member.",
    # an annotation of a draft class names no member, or not its type
    "odata.E023": draft_checks.HINT,
    # an alternate key is no member that bodies give and no two records share
    "odata.E024": "Name a writable member whose column, or its normalised column, is unique.",
    # a required member may be null in the database
    "odata.W001": "Set null=False on the field, or declare the member Optional.",
    # the plain filter of a property has the name of a query option
    "odata.W002": "$filter reaches it; another name avoids the confusion.",
    # a resource has no docstring, or Python runs with -OO, which removes them all
    "odata.W003": "Write one: it describes the entity set in $metadata. Python must not run with -OO.",
}

#: The service of a resource that a method calls.
SERVICES = {"POST": "create", "PUT": "update", "PATCH": "update", "DELETE": "archive"}

#: (id, message) of a mistake in a declaration.
Mistake = tuple[str, str]


def check_declarations(app_configs: object = None, **options: object) -> list[CheckMessage]:
    """The system check of the service of this site."""
    return check_service(get_service())


def check_service(service: Service) -> list[CheckMessage]:
    """All messages about a service; an invalid resource hides no message about another."""
    mistakes = [
        *find_invalid_addresses(service.declared),
        *((resource, mistake) for resource in service.declared for mistake in find_mistakes(resource)),
    ]
    if all(id.startswith("odata.W") for _, (id, _) in mistakes):
        mistakes += find_name_conflicts(service)
    return [
        (Warning if id.startswith("odata.W") else Error)(message, hint=HINTS[id], obj=resource, id=id)
        for resource, (id, message) in mistakes
    ]


def find_mistakes(resource: type[Resource]) -> Iterator[Mistake]:
    """The mistakes of a resource, or the first one when it cannot be bound to its model."""
    methods = (*resource.methods, *resource.methods_of_2_1)
    for method, function in SERVICES.items():
        if method in methods and getattr(resource, function) is None:
            yield "odata.E009", f"{resource.__name__} has the method {method} and no {function}"
    if resource.visible_to is Resource.visible_to:
        yield "odata.E010", f"{resource.__name__} does not override visible_to"
    if not resource.__doc__:
        yield "odata.W003", f"{resource.__name__} has no docstring"
    if not hasattr(resource, "path"):
        return  # find_invalid_addresses reports it
    try:
        bound = bind_resource(resource, V2_1)
        bound.alternate_keys  # noqa: B018  (raises DeclarationError)
    except DeclarationError as error:
        yield error.id, str(error)
        return
    for path in resource.search:
        if not isinstance(field_at(bound.model, path), models.CharField | models.TextField):
            yield "odata.E017", f"{bound.name} searches {path}, which is not a text field"
    for type_ in bound.type.walk():
        for check in TYPE_CHECKS:
            yield from check(type_)
    if bound.is_written:
        yield from check_writable(bound.type)
    yield from check_drafts(bound)


def find_name_conflicts(service: Service) -> Iterator[tuple[type[Resource], Mistake]]:
    """The first name between entity sets that is not free; each resource for itself has no mistake."""
    try:
        Service(*service.declared, version=V2_1).entity_sets  # noqa: B018  (raises DeclarationError)
    except DeclarationError as error:
        yield service.declared[0], (error.id, str(error))


# --- resources ----------------------------------------------------------------------------------------


def find_invalid_addresses(resources: Sequence[type[Resource]]) -> Iterator[tuple[type[Resource], Mistake]]:
    """Paths and names are valid and unique."""
    by_path: dict[str, type[Resource]] = {}
    for resource in resources:
        class_name, path, name = resource.__name__, getattr(resource, "path", ""), resource.name
        if not _PATH.fullmatch(path):
            message = f"{class_name} has the path {path!r}, which is invalid in an address"
            yield resource, ("odata.E012", message)
            continue
        if name and name.lower() != path.lower():
            yield resource, ("odata.E012", f"{class_name} has the name {name} and the path {path}")
        other = by_path.setdefault(path.lower(), resource)
        if other is not resource or path.lower() == CONTAINER.lower():
            owner = other.__name__ if other is not resource else "the entity container"
            yield resource, ("odata.E011", f"{class_name} has the path or name of {owner}: {path}")


# --- types --------------------------------------------------------------------------------------------


def check_fields(type_: StructuredType) -> Iterator[Mistake]:
    """Every property has a field with an OData type."""
    for name, prop in type_.properties.items():
        kind = "a list of records"
        if isinstance(prop.source_field, models.Field):
            try:
                prop.edm  # noqa: B018  (raises TypeError)
                continue
            except TypeError:
                kind = type(prop.field).__name__
        yield "odata.E008", f"{type_.name}.{name}: {prop.path} is {kind}, which has no OData type"


def check_names(type_: StructuredType) -> Iterator[Mistake]:
    """Names and aliases are identifiers, differ by more than their case, and are no query options."""
    spellings: defaultdict[str, list[str]] = defaultdict(list)
    for member in type_.declaration.fields:
        others = (member.body_name, *member.aliases) if isinstance(member, Property) else ()
        for name in filter(None, (member.name, *others)):
            spellings[name.lower()].append(name)
            if not IDENTIFIER.fullmatch(name):
                yield "odata.E013", f"{type_.name}.{name} is not an OData identifier"
    for name, *similar in spellings.values():
        if similar:
            yield "odata.E014", f"{type_.name} has both {name} and {similar[0]}"
    for name in type_.properties:
        if type_.key is not None and name.lower() in RESERVED_PARAMETERS:
            yield "odata.W002", f"{type_.name}.{name}: ?{name}= is a query option, not a filter"


def check_numbers(type_: StructuredType) -> Iterator[Mistake]:
    """Each value of an enumeration has a number of its own."""
    for name, prop in type_.properties.items():
        enum = prop.enum if isinstance(prop.source_field, models.Field) else None
        if enum is None:
            continue
        class_name = f"{type_.name}.{name}: {enum.__module__}.{enum.__name__}"
        if not issubclass(enum, Enumeration):
            if all(map(IDENTIFIER.fullmatch, enum.values)):
                yield "odata.E016", f"{class_name} has no numbers"
            continue
        owners: dict[int, str] = {}
        for member in enum:
            if not IDENTIFIER.fullmatch(member.value):
                yield "odata.E016", f"{class_name} has {member.value!r}, which is no identifier"
            if type(member.number) is not int:
                yield "odata.E016", f"{class_name}.{member.name} has no number"
            elif (owner := owners.setdefault(member.number, member.name)) != member.name:
                yield "odata.E016", f"{class_name} has {member.number} for both {owner} and {member.name}"


def check_order(type_: StructuredType) -> Iterator[Mistake]:
    for term in type_.order:
        path = term.lstrip("-")
        if path != "pk" and not isinstance(field_at(type_.model, path), models.Field):
            model = type_.model.__name__
            yield "odata.E017", f"{type_.name} is ordered by {path}, which is not a field of {model}"


def check_left_out(type_: StructuredType) -> Iterator[Mistake]:
    """Members that no answer has can be written; those that lists leave out are of records with a Key."""
    for name, prop in type_.properties.items():
        if prop.declaration.write_only and not prop.writable:
            yield "odata.E019", f"{type_.name}.{name} is write-only and not writable"
    for name, navigation in type_.navigations.items():
        if navigation.item_only and navigation.is_complex:
            yield "odata.E021", f"{type_.name}.{name} shows on one record only, and its type has no Key"


TYPE_CHECKS = (
    check_fields,
    check_names,
    check_numbers,
    check_order,
    check_left_out,
)


# --- request bodies -----------------------------------------------------------------------------------


def check_writable(type_: StructuredType) -> Iterator[Mistake]:
    """The writable members of a record and of its nested objects."""
    members: tuple[Any, ...] = (*type_.writable_properties, *type_.writable_navigations)
    for member in members:
        if len(member.steps) > 1:
            message = f"{type_.name}.{member.name} is writable, and {member.path} belongs to another record"
            yield "odata.E015", message
    may_be_null = "is required, and may be null in the database"
    for prop in type_.writable_properties:
        if prop.behaviour is Behaviour.REQUIRED and len(prop.steps) == 1 and prop.nullable:
            yield "odata.W001", f"{type_.name}.{prop.name} {may_be_null}"
    for navigation in type_.writable_navigations:
        name, nested = f"{type_.name}.{navigation.name}", navigation.type
        if navigation.nesting is Nesting.REFERENCE:
            if nested.key is None:
                yield "odata.E020", f"{name} refers to records that have no Key"
            if navigation.declaration.required and not navigation.many and navigation.relation.null:
                yield "odata.W001", f"{name} {may_be_null}"
            continue
        if not nested.writable_properties and not nested.writable_navigations:
            yield "odata.E018", f"{name} is writable, and no member of it is"
        yield from check_writable(nested)


# --- drafts -------------------------------------------------------------------------------------------


def check_drafts(entity_set: EntitySet) -> Iterator[Mistake]:
    """The members that draft classes annotate are those of the declaration.

    Drafts of records that requests do not create come from forms and imports, which have the model's columns.
    """
    for type_ in entity_set.type.walk():
        members = draft_checks.members_of_type(type_)
        if type_ is entity_set.type and not entity_set.supports("POST"):
            members = {**draft_checks.members_of_model(type_.model), **members}
        for message in draft_checks.find_mistakes(type_.declaration.draft_class or Draft, members):
            yield "odata.E023", message


def field_at(model: type[models.Model], path: str) -> models.Field | None:
    """The field at the end of an ORM path; ``None`` when it does not exist."""
    try:
        return fields_on_path(model, path, path)[-1]
    except DeclarationError:
        return None
