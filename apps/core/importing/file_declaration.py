"""The declaration of a resource as files have it: the interface's, with what names referred records.

A guid means nothing in another database, so exports have the unique texts of each referred record beside its
guid, and imports find the record by them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from django.db import models

from apps.core.identifiers import normalised
from apps.core.importing.definition import ImportDefinition
from apps.core.models import NormalisedField
from apps.odata.declaration import service
from apps.odata.declaration.resource import Navigation, Nesting, Property, ReadOnly
from apps.odata.declaration.schema import EntitySet, NavigationProperty, StructuralProperty, StructuredType
from apps.odata.declaration.schema import bind_resource as bind

_NO_DIGITS = re.compile(r"[^0-9]+")
_BUSINESS_NUMBER = re.compile(r"(\d\d)(\d{3})(\d{3})(\d{3})")


def digits(text: str) -> str | None:
    """A number without the blanks and hyphens people write into it."""
    return _NO_DIGITS.sub("", text) or None


def number_spellings(text: str) -> Sequence[str]:
    """How a record may have a number: as the file has it, its digits, or grouped as a business number."""
    plain = digits(text) or text
    return text, plain, _BUSINESS_NUMBER.sub(r"\1 \2 \3 \4", plain)


@lru_cache(maxsize=1024)
def normalised_column(field: models.Field) -> NormalisedField | None:
    """The column with the normalised text of a field; ``None`` when there is none."""
    for other in field.model._meta.concrete_fields:
        if isinstance(other, NormalisedField) and other.text_field == field.name:
            return other
    return None


@dataclass(frozen=True)
class RecordName:
    """A text by which files name a record of a model: ``column`` is where it is looked up.

    ``compare`` makes one text of all its spellings, ``spellings`` are those that the column may have.
    """

    name: str
    source: str
    column: models.Field
    compare: Callable[[str], str | None] = normalised
    spellings: Callable[[str], Sequence[str | None]] = lambda text: (normalised(text),)


def definition_of(entity_set: EntitySet) -> type[ImportDefinition] | None:
    found: type[ImportDefinition] | None = entity_set.resource.importing
    return found


def record_names(model: type[models.Model], shown: Mapping[str, StructuralProperty]) -> Iterator[RecordName]:
    """The names of a model's records: its numbers, then texts whose normalised column is unique.

    ``shown`` are properties by which the referring resource shows them.
    """
    entity_set = service.get_service().by_model.get(model)
    properties = {**(entity_set.type.properties if entity_set is not None else {}), **shown}
    definition = definition_of(entity_set) if entity_set is not None else None
    numbers = definition.number_fields if definition is not None else ()
    for name, prop in properties.items():
        field = prop.source_field
        if field.model is not model and not issubclass(model, field.model):
            continue
        column = normalised_column(field)
        if name in numbers:
            yield RecordName(name, field.name, field, digits, number_spellings)
        elif column is not None and column.unique:
            yield RecordName(name, field.name, column)


@lru_cache(maxsize=256)
def file_entity_set(entity_set: EntitySet) -> EntitySet:
    """The resource as its files have it."""
    served = type(entity_set.resource)
    definition = definition_of(entity_set)
    own = {member.name: member for member in definition.fields} if definition is not None else {}
    fields = [own.pop(member.name, member) for member in served.fields]
    with_own_fields = type(served.__name__, (served,), {"fields": (*fields, *own.values())})
    bound = bind(with_own_fields)
    return bind(type(served.__name__, (with_own_fields,), {"fields": named_fields(bound.type)}))


def named_fields(type_: StructuredType) -> tuple[Property | Navigation, ...]:
    """The members of a type, with the names of the records that it refers to."""
    properties = [prop.declaration for prop in type_.properties.values()]
    names = [name for prop in type_.properties.values() for name in names_of_reference(prop)]
    return (*properties, *names, *map(named_navigation, type_.navigations.values()))


def names_of_reference(prop: StructuralProperty) -> Iterator[Property]:
    """``ProviderBusinessName`` and the like beside ``ProviderGuid``."""
    prop = prop.body_property or prop
    if not prop.writable or prop.related_model is None:
        return
    for name in record_names(prop.related_model, {}):
        yield ReadOnly(prefix_of(prop) + name.name, source=f"{prop.declaration.source}__{name.source}")


def prefix_of(prop: StructuralProperty) -> str:
    return prop.name.removesuffix("Guid")


def named_navigation(part: NavigationProperty) -> Navigation:
    declared = part.declaration
    if not part.writable:
        return declared
    members: dict[str, Any] = {member.name: member for member in named_fields(part.type)}
    if part.nesting is Nesting.REFERENCE:
        members = {member.name: member for member in declared.nested_type.fields}
        for name in record_names(part.type.model, {}):
            members.setdefault(name.name, ReadOnly(name.name, source=name.source))
    base = declared.nested_type
    return replace(declared, nested_type=type(base.__name__, (base,), {"fields": (*members.values(),)}))
