"""Addresses behind a record: its members, the items of its lists, their values and numbers.

OData 4.01, URL Conventions 4.3 to 4.8. The segments come from the declaration: what can be expanded or read
in a record has an address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from django.db.models import Model, QuerySet

from apps.base.declaration.resource import Caller, Nesting, Resource
from apps.base.declaration.schema import (
    EntitySet,
    NavigationProperty,
    SetNavigation,
    StructuralProperty,
    StructuredType,
)
from apps.base.errors import NotFound
from apps.odata.errors import BadQuery
from apps.odata.read.record_json import RecordJson, Selection

_SEGMENT = re.compile(r"([^()]+)(?:\(([^()]*)\))?")

#: Segments behind a record; each navigation property is a query inside the next one's.
MAX_SEGMENTS = 10
#: Reads a key in an address as the model stores it.
KeyReader = Callable[[str, EntitySet], object]


@dataclass(frozen=True)
class MemberAddress:
    """The value or collection that an address leads to.

    ``rows`` are the records of ``entity_set`` that it names, a list when ``is_list``; ``owner`` is the record
    that leads to them. ``context`` is the collection that the context URL names, ``path`` the address.
    ``objects`` are the complex properties on the way from the record to its property ``value``, if it leads
    into the record. ``ending`` is ``$count``, ``$value`` or ``$ref``.
    """

    entity_set: EntitySet
    rows: QuerySet[Model]
    owner: QuerySet[Model]
    context: str
    path: str
    is_list: bool = False
    objects: tuple[NavigationProperty, ...] = ()
    value: StructuralProperty | None = None
    ending: str = ""

    @property
    def type(self) -> StructuredType:
        """The type whose members the next segment can name."""
        return self.objects[-1].type if self.objects else self.entity_set.type


def follow(
    start: MemberAddress, segments: Sequence[str], read_key: KeyReader, caller: Caller | None
) -> MemberAddress:
    """The address behind the record ``start``; ``NotFound`` names a segment that leads nowhere."""
    if len(segments) > MAX_SEGMENTS:
        raise BadQuery(f"An address has at most {MAX_SEGMENTS} segments behind a record.", code="TooCostly")
    address = start
    for segment in segments:
        if address.ending:
            raise no_address(segment, address)
        if segment in ("$count", "$value", "$ref"):
            address = follow_ending(address, segment)
        elif address.is_list:
            address = with_key(address, segment, read_key)
        else:
            address = follow_member(address, segment, read_key, caller)
    return address


def no_address(segment: str, address: MemberAddress) -> NotFound:
    return NotFound(f"There is nothing at {segment[:60]!r} behind {address.path}.")


def follow_ending(address: MemberAddress, ending: str) -> MemberAddress:
    """The number of a list, the bare value of a property, or the addresses of records in place of these."""
    match ending:
        case "$count":
            is_possible = address.is_list
        case "$value":
            is_possible = address.value is not None
        case _:
            is_possible = not address.value and not address.objects
            # What is inside a record has no address of its own set.
            is_possible &= address.entity_set.resource.path != ContainedResource.path
    if not is_possible:
        raise no_address(ending, address)
    return replace(address, ending=ending)


def with_key(address: MemberAddress, text: str, read_key: KeyReader) -> MemberAddress:
    """One item of a list; items of a type without a key have no address."""
    if address.type.key is None:
        raise no_address(text, address)
    key = read_key(text, address.entity_set)
    rows = address.rows.filter(**{address.type.key.path: key})
    return replace(address, rows=rows, path=f"{address.path}({key})", is_list=False)


def follow_member(
    address: MemberAddress, segment: str, read_key: KeyReader, caller: Caller | None
) -> MemberAddress:
    """A property, a complex property, or the records that a navigation property leads to."""
    match = _SEGMENT.fullmatch(segment)
    name, key = (match[1], match[2]) if match else ("", None)
    value = address.type.readable_properties.get(name)
    navigation = address.type.find_navigation(name)
    if (
        address.value
        or (value is None and navigation is None)
        or (key is not None and not (navigation and navigation.many))
    ):
        raise no_address(segment, address)
    path = f"{address.path}/{name}"
    if navigation is None:
        return replace(address, value=value, path=path)
    if navigation.nesting is Nesting.EMBEDDED:
        return replace(address, objects=(*address.objects, navigation), path=path)
    entity_set, context = contained_set(navigation.type), path
    if isinstance(navigation, SetNavigation):
        entity_set, context = navigation.entity_set, navigation.entity_set.name
    related, owner = navigation.link
    owners = address.rows.order_by().values(owner)
    rows = navigation.rows_for(caller).filter(**{f"{related}__in": owners})
    found = MemberAddress(entity_set, rows, address.rows, context, path, is_list=navigation.many)
    return found if key is None else with_key(found, key, read_key)


class ContainedResource(Resource):
    """The lists and objects inside records: no ETag, and no text to search."""

    path = ""
    etag_field = None


@lru_cache(maxsize=256)
def contained_set(type_: StructuredType) -> EntitySet:
    """The records of a type that are inside records of an entity set."""
    return EntitySet(ContainedResource(), type_)


# --- values ---------------------------------------------------------------------------------------------


def read_member(address: MemberAddress, selection: Selection | None = None) -> str | None:
    """The JSON of a complex property (with ``selection``) or of a value, ``None`` where no record has it."""
    names = [navigation.name for navigation in address.objects]
    selection = selection or Selection()
    if address.value is not None:
        selection = Selection(frozenset({address.value.name}))
    for name in reversed(names):
        selection = Selection(frozenset(), ((name, selection),))
    if address.value is not None:
        names.append(address.value.name)
    record = RecordJson(address.entity_set.type, selection)
    json = address.rows.order_by().values_list(record, flat=True).first()
    for name in names:
        if json in (None, "null"):
            return None
        json = json.removeprefix(f'{{"{name}":').removesuffix("}")
    return json
