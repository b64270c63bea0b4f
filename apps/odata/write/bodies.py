"""Reads request bodies: JSON becomes drafts, and every fault of every record is reported with its target."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from django.conf import settings

from apps.base.declaration.resource import Behaviour, BodyKind, Nesting
from apps.base.declaration.schema import EntitySet, NavigationProperty, StructuralProperty, StructuredType
from apps.base.declaration.service import get_service
from apps.base.declaration.values import WireValueError, reader_of
from apps.base.drafts import Draft
from apps.base.errors import BadBody, ErrorDetail, TooLarge
from apps.base.new_records import defaults_of
from apps.odata.write.annotations import (
    address_in,
    key_in,
    links_of,
    must_be_address,
    read_annotations,
    refuse_other_type,
)
from apps.odata.write.json_parser import RepeatedNames, check_depth, parse_body, too_many_records

#: Of one body, after which no further record is read: nobody reads so many, and 250,000 cost 6 s and 28 MB.
MAX_FAULTS = 10_000


@dataclass(slots=True)
class Body:
    """A draft for each record of a body, and the faults as (number of the record, fault) pairs.

    ``bare``: the body is one record without ``value``. ``numbers`` are those of the drafts' records, where
    these are some of a body's.
    """

    drafts: list[Draft]
    bare: bool = False
    faults: list[tuple[int, ErrorDetail]] = field(default_factory=list)
    numbers: Sequence[int] = range(sys.maxsize)


def read_records(entity_set: EntitySet, raw: bytes) -> Body:
    """The records of a POST body, ``{"value": [...]}`` or one bare record.

    Raises ``BadBody`` for what is no such body and ``TooLarge`` for too many records; the result has all
    other faults.
    """
    reader = record_reader(entity_set.type)
    body = parse_body(raw, reader.most_objects)
    if "value" not in body:
        if body.keys().isdisjoint(reader.names):
            raise BadBody(
                f'The body must be {{"value": [...]}} or one {entity_set.name} record.', target="value"
            )
        return read_drafts(reader, [body], raw, bare=True)
    return read_drafts(reader, list_of_records(body, raw), raw, bare=False)


def list_of_records(body: Mapping[str, object], raw: bytes) -> list[Any]:
    """The ``value`` of a body; ``BadBody`` and ``TooLarge`` where it is no list of records."""
    if isinstance(body, RepeatedNames) and "value" in body.names:
        raise BadBody("value stands twice in the body.", target="value")
    records = body["value"]
    if not isinstance(records, list):
        raise BadBody("value must be a list of records.", target="value")
    if not records:
        raise BadBody("value holds no record.", target="value")
    if len(records) > settings.API_MAX_RECORDS:
        raise too_many_records()
    if len(body) > 1:
        check_depth(raw)
        read_annotations({}, body, "", refuse_body)
    return records


def refuse_body(attribute: str, code: str, target: str, sentence: str) -> None:
    raise BadBody(sentence, target=target, code=code)


def read_record(
    entity_set: EntitySet, raw: bytes, kind: BodyKind, named: Mapping[str, object] = MappingProxyType({})
) -> Body:
    """The one bare record of a PUT or PATCH body; raises as ``read_records`` does.

    ``named`` are members that its address has: the body need not give them.
    """
    reader = record_reader(entity_set.type, kind)
    record = parse_body(raw, reader.most_objects)
    if kind is not BodyKind.WHOLE and isinstance(record.get("value"), list):
        # As an unknown member it would be ignored, and nothing be changed.
        raise BadBody(f"The body of a PATCH is one {entity_set.name} record, without value.", target="value")
    for name, value in named.items():
        if name not in record or (kind is BodyKind.NEW and record[name] is None):
            record[name] = value
    return read_drafts(reader, [record], raw, bare=True)


def read_drafts(
    reader: RecordReader,
    records: Sequence[object],
    raw: bytes,
    bare: bool,
    numbers: Sequence[int] = range(sys.maxsize),
) -> Body:
    body = Body([], bare, numbers=numbers)
    for number, record in zip(numbers, records, strict=False):
        target = record_target(number, bare)
        if len(body.faults) >= MAX_FAULTS:
            sentence = f"Not read, with all behind it: those before have {len(body.faults):,} faults."
            body.faults.append((number, ErrorDetail("NotRead", target, sentence)))
            break
        draft, contents = reader.read(record, target)
        if contents.unknown:
            check_depth(raw)
            for target, value in contents.unknown:
                refuse_repeated_within(value, target, contents)
            draft.invalid |= contents.invalid
        body.drafts.append(draft)
        body.faults += [(number, fault) for fault in contents.faults]
    if body.faults:
        check_depth(raw)
    return body


def record_target(number: int, bare: bool) -> str:
    """The target of a record: ``value[3]``; empty for a bare record, which is the body itself."""
    return "" if bare else f"value[{number}]"


def join_targets(outer: str, inner: str) -> str:
    """The target ``inner`` within another; either may be empty."""
    return f"{outer}/{inner}" if outer and inner else outer or inner


# --- the members of a record ----------------------------------------------------------------------------


@dataclass(slots=True)
class RecordContents:
    """The values read of one record, its embedded objects included; those of invalid attributes do not count.

    ``given``: with the attributes that are null and get their default. ``unknown``: (target, value) of
    objects and lists that no member is.
    """

    values: dict[str, object] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    invalid: set[str] = field(default_factory=set)
    faults: list[ErrorDetail] = field(default_factory=list)
    unknown: list[tuple[str, object]] = field(default_factory=list)

    def give(self, attribute: str, value: object) -> None:
        self.values[attribute] = value
        self.given.add(attribute)

    def refuse(self, attribute: str, code: str, target: str, sentence: str) -> None:
        self.invalid.add(attribute)
        self.faults.append(ErrorDetail(code, target, sentence))


def refuse_repeated(value: RepeatedNames, target: str, contents: RecordContents) -> None:
    for name in value.names:
        member_target = join_targets(target, name)
        contents.refuse(member_target, "Duplicate", member_target, f"{name} stands twice.")


def refuse_repeated_within(value: object, target: str, contents: RecordContents) -> None:
    """Report repeated names anywhere inside a value that is otherwise ignored."""
    if isinstance(value, RepeatedNames):
        refuse_repeated(value, target, contents)
    if isinstance(value, dict):
        for name, inner in value.items():
            refuse_repeated_within(inner, join_targets(target, name), contents)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            refuse_repeated_within(inner, f"{target}[{at}]", contents)


class BodyMember:
    """A member of an object: ``attribute`` is its name in drafts, ``spellings`` are its names in bodies.

    ``most_objects`` is how many JSON objects it may be made of.
    """

    #: Reads the JSON value of a single value; other members have ``read``.
    convert: Callable[[object], object] | None = None
    required: bool
    most_objects = 1

    def __init__(self, attribute: str, *spellings: str) -> None:
        self.attribute, self.spellings = attribute, spellings
        self.name = spellings[0]

    def read(self, value: object, target: str, contents: RecordContents) -> None:
        """Read a JSON value, ``None`` for a required member that was left out; report every fault."""
        raise NotImplementedError

    def refuse_missing(self, target: str, contents: RecordContents) -> None:
        if self.required:
            contents.refuse(self.attribute, "Required", target, f"{self.name} is required.")


class ValueMember(BodyMember):
    """A single value. ``read`` is called for null and blank values only."""

    def __init__(self, prop: StructuralProperty, kind: BodyKind) -> None:
        super().__init__(prop.attribute, *prop.body_names)
        self.required = prop.behaviour is Behaviour.REQUIRED
        self.convert = reader_of(prop)
        # Null is a value of columns that may be null; for others it means: as if left out of a new record.
        self.holds_null = prop.nullable and not self.required
        self.null_is_default = kind is BodyKind.PARTIAL and not self.required

    def read(self, value: None, target: str, contents: RecordContents) -> None:
        self.refuse_missing(target, contents)
        if self.holds_null:
            contents.give(self.attribute, None)
        elif self.null_is_default:
            contents.given.add(self.attribute)


class NestedMember(BodyMember):
    """A nested object or list."""

    def __init__(self, navigation: NavigationProperty, kind: BodyKind) -> None:
        super().__init__(navigation.attribute, navigation.name)
        self.required = navigation.declaration.required
        self.null_is_default = kind is BodyKind.PARTIAL and not self.required

    def is_list(self, value: object, target: str, contents: RecordContents) -> bool:
        """True when it is a list with items; reports what else it must not be."""
        if value is None or value == []:
            self.refuse_missing(target, contents)
            if self.null_is_default:
                contents.given.add(self.attribute)
            return False
        if not isinstance(value, list):
            contents.refuse(self.attribute, "WrongType", target, f"{self.name} must be a list.")
            return False
        return True


class EmbeddedMember(NestedMember):
    """An object made of the record's own columns."""

    def __init__(self, navigation: NavigationProperty, kind: BodyKind) -> None:
        super().__init__(navigation, kind)
        self.reader = record_reader(navigation.type, kind)
        self.most_objects = self.reader.most_objects

    def read(self, value: object, target: str, contents: RecordContents) -> None:
        if isinstance(value, dict):
            self.reader.read_members(value, target, contents)
        elif value is not None:
            contents.refuse(self.name, "WrongType", target, f"{self.name} must be an object.")
        elif self.required:
            contents.refuse(self.name, "Required", target, f"{self.name} is required.")
        elif self.null_is_default:
            contents.given.update(self.reader.attributes)
        if self.name in contents.invalid:
            contents.invalid.update(self.reader.attributes)


class ReferenceMember(NestedMember):
    """An object that names a record by its key: ``{"RoleGuid": …}``. Read as the key."""

    def __init__(self, navigation: NavigationProperty, kind: BodyKind) -> None:
        super().__init__(navigation, kind)
        assert navigation.type.key is not None
        self.key_name, self.model = navigation.type.key.name, navigation.type.model
        self.convert_key = reader_of(navigation.type.key)
        self.holds_null = not navigation.many and navigation.relation.null
        # What others may give a new record, as a template does, must stay in an existing one.
        self.required |= self.null_is_default and not navigation.many and not self.holds_null

    def read(self, value: object, target: str, contents: RecordContents) -> None:
        key = None
        if value is None:
            self.refuse_missing(target, contents)
        else:
            key = self.read_key(value, target, contents)
        if self.attribute not in contents.invalid and (key is not None or self.holds_null):
            contents.give(self.attribute, key)

    def read_key(self, value: object, target: str, contents: RecordContents) -> object:
        """The key, or ``None`` after a fault was reported."""
        if not isinstance(value, dict):
            contents.refuse(self.attribute, "WrongType", target, f"{self.name} must be an object.")
            return None
        if len(value) > 1 or isinstance(value, RepeatedNames):
            refuse_repeated_within(value, target, contents)
            read_annotations({}, value, f"{target}/", contents.refuse)
        key = value.get(self.key_name)
        address = None if key is not None else address_in(value)
        if address is not None and self.model in get_service().by_model:
            key = key_in(address, self.model)
            if key is None:
                sentence = f"@id {must_be_address(self.model)}"
                contents.refuse(self.attribute, "InvalidAddress", f"{target}/@id", sentence)
                return None
        code, sentence = "Required", "is required."
        if key is not None:
            try:
                return self.convert_key(key)
            except WireValueError as error:
                code, sentence = error.code, error.sentence
        key_target = join_targets(target, self.key_name)
        contents.refuse(self.attribute, code, key_target, f"{self.key_name} {sentence}")
        return None


class ReferenceListMember(ReferenceMember):
    """A list of objects that name records. Read as a list of keys, in the order given."""

    def __init__(self, navigation: NavigationProperty, kind: BodyKind) -> None:
        super().__init__(navigation, kind)
        self.most_objects = int(settings.API_MAX_LINES)

    def read(self, value: Any, target: str, contents: RecordContents) -> None:
        if not self.is_list(value, target, contents):
            return
        keys = [self.read_key(item, f"{target}[{at}]", contents) for at, item in enumerate(value)]
        if self.attribute not in contents.invalid:
            contents.give(self.attribute, keys)


class ContainedMember(NestedMember):
    """A list of rows that are written with the record. Read as a list of drafts.

    Items of existing records are existing rows where they have a key.
    """

    def __init__(self, navigation: NavigationProperty, kind: BodyKind) -> None:
        super().__init__(navigation, kind)
        self.reader = record_reader(navigation.type)
        self.key = navigation.type.key if kind is not BodyKind.NEW else None
        self.existing_reader = record_reader(navigation.type, kind)
        self.most_objects = int(settings.API_MAX_LINES * self.reader.most_objects)

    def read(self, value: Any, target: str, contents: RecordContents) -> None:
        if not self.is_list(value, target, contents):
            return
        if len(value) > settings.API_MAX_LINES:
            raise TooLarge(f"{self.name} may hold {settings.API_MAX_LINES:,} items at most.", target=target)
        rows = []
        for at, item in enumerate(value):
            item_target = f"{target}[{at}]"
            key = item.get(self.key.name) if self.key and isinstance(item, dict) else None
            if key is None:
                row, inner = self.reader.read(item, item_target)
            else:
                row, inner = self.read_existing(item, key, item_target)
            rows.append(row)
            contents.unknown += inner.unknown
            if inner.invalid:
                contents.invalid.add(f"{self.attribute}[{at}]")
                contents.faults += inner.faults
        contents.give(self.attribute, rows)

    def read_existing(self, item: object, key: object, target: str) -> tuple[Draft, RecordContents]:
        assert self.key is not None
        row, contents = self.existing_reader.read(item, target)
        try:
            row.key = reader_of(self.key)(key)
        except WireValueError as error:
            key_target = join_targets(target, self.key.name)
            contents.refuse(self.key.name, error.code, key_target, f"{self.key.name} {error.sentence}")
            row.mark_invalid(*self.reader.attributes)
        return row, contents


class RecordReader:
    """Reads objects of one type in bodies of one kind."""

    def __init__(self, type_: StructuredType, kind: BodyKind) -> None:
        self.type, self.kind = type_, kind
        self.draft_class: type[Draft] = type_.declaration.draft_class or Draft
        nested = [nested_member(navigation, kind) for navigation in type_.writable_navigations]
        # What no response shows (a template) is for new records only.
        of_new = [prop for prop in type_.writable_properties if prop.declaration.write_only]
        if kind is BodyKind.NEW:
            of_new = []
        self.of_new_records = frozenset(name for prop in of_new for name in prop.body_names)
        values = [ValueMember(prop, kind) for prop in type_.writable_properties if prop not in of_new]
        self.members: list[BodyMember] = [*values, *nested]
        self.by_name = {name: member for member in self.members for name in member.spellings}
        #: In the order declared, in which faults are reported.
        self.names = tuple(self.by_name)
        required = frozenset(member.name for member in self.members if member.required)
        self.required = frozenset() if kind is BodyKind.PARTIAL else required
        self.aliases = frozenset(self.names).difference(member.name for member in self.members)
        self.links = links_of(type_)
        self.most_objects: int = 1 + sum(member.most_objects for member in nested)

        self.defaults = defaults_of(type_)
        for prop in of_new:
            self.defaults = self.defaults.without(prop.attribute)
        #: Of embedded objects as well.
        self.attributes = (*self.defaults.constants, *self.defaults.makers)

    def read(self, value: object, target: str) -> tuple[Draft, RecordContents]:
        """Read a JSON value that should be a record."""
        contents = RecordContents()
        if isinstance(value, dict):
            self.read_members(value, target, contents)
        else:
            message = f"A {self.type.name} record must be an object."
            contents.faults.append(ErrorDetail("WrongType", target or None, message))
            contents.invalid.update(self.attributes)
        values = self.defaults.complete(contents.values, contents.invalid)
        draft = self.draft_class(values, contents.given, contents.invalid)
        if self.kind is BodyKind.WHOLE:
            draft.give_all(self.attributes)
        return draft, contents

    def read_members(self, value: dict[str, object], target: str, contents: RecordContents) -> None:
        """Read every member of an object."""
        if isinstance(value, RepeatedNames):
            refuse_repeated(value, target, contents)
        prefix = f"{target}/" if target else ""
        names = [*filter(value.__contains__, self.names)]
        bound_wrongly: set[str] = set()
        if len(names) < len(value):
            if any("@" in name or name in self.links for name in value.keys() - self.by_name.keys()):
                if self.type.key is not None:
                    refuse_other_type(self.type, value, prefix, contents.refuse)
                value, bound_wrongly = read_annotations(self.links, value, prefix, contents.refuse)
                names = [*filter(value.__contains__, self.names)]
            for name in self.of_new_records.intersection(value):
                if value[name] is not None:
                    sentence = f"{name} fills new records only: leave it out, and give the values instead."
                    contents.refuse(name, "NotAllowed", prefix + name, sentence)
            unknown = ((name, value[name]) for name in value.keys() - self.by_name.keys())
            contents.unknown += [
                (prefix + name, one) for name, one in unknown if isinstance(one, dict | list)
            ]
        if absent := self.required.difference(value):
            missing = {name for name in absent if value.keys().isdisjoint(self.by_name[name].spellings)}
            names = [name for name in self.names if name in value or name in missing]
        if bound_wrongly:
            names = [name for name in names if name not in bound_wrongly]
        if aliases := self.aliases.intersection(names):
            names = [
                name
                for name in names
                if name not in aliases or not self.refuse_alias(name, value, prefix, contents)
            ]
        values, given, by_name = contents.values, contents.given, self.by_name
        for name in names:
            member, item = by_name[name], value.get(name)
            if item is not None and member.convert is not None:
                try:
                    item = member.convert(item)
                except WireValueError as error:
                    contents.refuse(member.attribute, error.code, prefix + name, f"{name} {error.sentence}")
                    continue
                if item is not None:
                    values[member.attribute] = item
                    given.add(member.attribute)
                    continue
            member.read(item, prefix + name, contents)

    def refuse_alias(
        self, alias: str, value: Mapping[str, object], prefix: str, contents: RecordContents
    ) -> bool:
        """Report an alias of a member of which the object has another spelling as well."""
        spellings = self.by_name[alias].spellings
        first = next(name for name in spellings if name in value)
        if first != alias:
            contents.refuse(alias, "Duplicate", prefix + alias, f"{alias} is {first}, given already.")
        return first != alias


def nested_member(navigation: NavigationProperty, kind: BodyKind) -> NestedMember:
    if navigation.nesting is Nesting.EMBEDDED:
        return EmbeddedMember(navigation, kind)
    if navigation.nesting is Nesting.CONTAINED:
        return ContainedMember(navigation, kind)
    return (ReferenceListMember if navigation.many else ReferenceMember)(navigation, kind)


@lru_cache(maxsize=256)
def record_reader(type_: StructuredType, kind: BodyKind = BodyKind.NEW) -> RecordReader:
    """The reader of a type, made once."""
    return RecordReader(type_, kind)
