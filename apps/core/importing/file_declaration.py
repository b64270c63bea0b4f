"""The declaration of a resource as files have it: the interface's, with what names referred records.

A guid means nothing in another database, so exports have the unique texts of each referred record beside its
guid, and imports find the record by them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from django.contrib.auth.models import Permission
from django.db import models

from apps.base.declaration import service
from apps.base.declaration.resource import Behaviour, Navigation, Nesting, Optional, Property, Required
from apps.base.declaration.schema import EntitySet, NavigationProperty, StructuralProperty, StructuredType
from apps.base.declaration.schema import bind_resource as bind
from apps.core.importing.columns import RecordColumn
from apps.core.importing.definition import ImportDefinition
from apps.core.importing.record_names import (
    RecordName,
    as_written,
    digits,
    normalised_column,
    number_spellings,
)
from apps.core.models import Lookup, normalised

Properties = Mapping[str, StructuralProperty]


@lru_cache(maxsize=256)
def definition_of(entity_set: EntitySet) -> type[ImportDefinition] | None:
    """How the resource is imported: by its own definition, or as a short list; ``None`` when it is not."""
    declared: type[ImportDefinition] | None = entity_set.resource.importing
    model = entity_set.model
    if declared is not None or not issubclass(model, Lookup):
        return declared
    properties = {prop.source_field.name: prop.name for prop in entity_set.type.properties.values()}
    # A name may be unique only beside another column: custom fields of clients and of staff.
    scopes = [
        name
        for constraint in model._meta.total_unique_constraints
        if "name_key" in constraint.fields
        for name in constraint.fields
        if name != "name_key"
    ]
    members = {
        "match_fields": ("Name",),
        "columns": (RecordColumn("Name", scope=scopes[0] if scopes else ""),),
        "fields": tuple(settable_columns(model, properties)),
    }
    return type("LookupImport", (ImportDefinition,), members)


def settable_columns(model: type[models.Model], names: Mapping[str, str]) -> Iterator[Property]:
    """The columns of a short list that people edit; ``names`` are those that the interface shows."""
    for field in model._meta.concrete_fields:
        if field.primary_key or not field.editable or field.is_relation:
            continue
        name = names.get(field.name) or field.name.title().replace("_", "")
        is_optional = field.null or field.blank or field.has_default()
        yield (Optional if is_optional else Required)(name, source=field.name)


def record_names(model: type[models.Model], shown: Properties = MappingProxyType({})) -> Iterator[RecordName]:
    """The names of a model's records: numbers, texts whose normalised column is unique, descriptions.

    ``shown`` are properties by which the referring resource shows them.
    """
    entity_set = service.declared_set(model)
    properties = {**(entity_set.type.properties if entity_set is not None else {}), **shown}
    definition = (entity_set is not None and definition_of(entity_set)) or ImportDefinition
    scopes = {column.name: column.scope for column in definition.columns if column.scope}
    for name, prop in properties.items():
        field = prop.source_field
        if field.model is not model and not issubclass(model, field.model):
            continue
        column = normalised_column(field)
        is_descriptive = name in definition.descriptive_fields
        if name in definition.number_fields:
            yield RecordName(name, field.name, field, digits, number_spellings)
        elif column is not None and column.unique:
            yield RecordName(name, field.name, column)
        elif column is not None and name in scopes and issubclass(model, Lookup):
            yield RecordName(name, field.name, column, scope=scopes[name])
        elif is_descriptive or (model is Permission and name == "Codename"):
            yield RecordName(name, field.name, field, normalised, as_written, is_descriptive=is_descriptive)


@lru_cache(maxsize=256)
def file_entity_set(entity_set: EntitySet) -> EntitySet:
    """The resource as its files have it."""
    served = type(entity_set.resource)
    definition = definition_of(entity_set)
    later = (member for member in served.fields_of_2_1 if isinstance(member, Property))
    own: dict[str, Any] = {
        member.name: member for member in later if member.behaviour is not Behaviour.READ_ONLY
    }
    if definition is not None:
        own |= {member.name: member for member in definition.fields}
        if definition.sets_archive_date and "ArchiveDate" in entity_set.type.properties:
            own["ArchiveDate"] = Optional("ArchiveDate")
    # A file has what the interface shows of single records only.
    fields = [
        replace(one, item_only=False) if isinstance(one, Navigation) and one.item_only else one
        for one in (own.pop(member.name, member) for member in served.fields)
    ]
    with_own_fields = type(served.__name__, (served,), {"fields": (*fields, *own.values())})
    bound = bind(with_own_fields)
    return bind(type(served.__name__, (with_own_fields,), {"fields": named_fields(bound.type)}))


@dataclass(frozen=True, kw_only=True)
class NameProperty(Property):
    """A text that names the record of a reference, whose name in drafts is ``reference``."""

    record_name: RecordName
    reference: str = ""
    behaviour: Behaviour = Behaviour.READ_ONLY


def named_fields(type_: StructuredType) -> tuple[Property | Navigation, ...]:
    """The members of a type, with the names of the records that it refers to."""
    names = []
    for prop in type_.properties.values():
        set_by = prop.body_property or prop
        # None beside a guid that is never shown, whose record is not known later.
        if set_by.writable and set_by.related_model is not None and not set_by.declaration.write_only:
            prefix = prop.name.removesuffix("Guid")  # ``ProviderBusinessName`` beside ``ProviderGuid``
            names += [
                NameProperty(
                    name=prefix + name.name,
                    source=f"{prop.declaration.source}__{name.source}",
                    record_name=name,
                    reference=set_by.attribute,
                )
                for name in record_names(set_by.related_model)
            ]
    properties = [prop.declaration for prop in type_.properties.values()]
    return (*properties, *names, *map(named_navigation, type_.navigations.values()))


def named_navigation(part: NavigationProperty) -> Navigation:
    declared, base = part.declaration, part.declaration.nested_type
    if not part.writable:
        return declared
    members: dict[str, Any] = {member.name: member for member in named_fields(part.type)}
    if part.nesting is Nesting.REFERENCE:
        members = {member.name: member for member in base.fields}
        for name in record_names(part.type.model, part.type.properties):
            source = members[name.name].source if name.name in members else name.source
            members[name.name] = NameProperty(name=name.name, source=source, record_name=name)
    return replace(declared, nested_type=type(base.__name__, (base,), {"fields": (*members.values(),)}))
