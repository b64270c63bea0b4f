"""Request bodies: JSON becomes drafts, and every fault of every record is reported with its place."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import accumulate
from typing import Any

from django.conf import settings

from apps.odata.declaration.resource import Behaviour, Nesting
from apps.odata.declaration.schema import EntitySet, NavigationProperty, StructuralProperty, StructuredType
from apps.odata.errors import BadBody, ErrorDetail, TooLarge
from apps.odata.write.drafts import Draft
from apps.odata.write.json_values import JsonValueError, reader_of
from apps.odata.write.targets import joined, key_name, record_target


@dataclass(slots=True)
class Body:
    """A draft for each record of a body, and the faults as (number of the record, fault) pairs.

    ``bare``: the body is one record without ``value``.
    """

    drafts: list[Draft]
    bare: bool = False
    faults: list[tuple[int, ErrorDetail]] = field(default_factory=list)


def read_records(entity_set: EntitySet, raw: bytes) -> Body:
    """The records of a POST body, ``{"value": [...]}`` or one bare record.

    Raises ``BadBody`` for what is no such body and ``TooLarge`` for too many records; the answer holds all
    other faults.
    """
    reader = record_reader(entity_set.type)
    body = parse(raw, most_objects=settings.API_MAX_RECORDS * reader.most_objects + 1)
    if "value" not in body:
        if body.keys().isdisjoint(reader.names):
            raise BadBody(
                f'The body must be {{"value": [...]}} or one {entity_set.name} record.', target="value"
            )
        return read_drafts(reader, [body], raw, bare=True)
    if "value" in repeated_names(body):
        raise BadBody("value stands twice in the body.", target="value")
    records = body["value"]
    if not isinstance(records, list):
        raise BadBody("value must be a list of records.", target="value")
    if not records:
        raise BadBody("value holds no record.", target="value")
    check_number_of_records(len(records))
    if len(body) > 1:
        check_depth(raw)
    return read_drafts(reader, records, raw, bare=False)


def read_record(entity_set: EntitySet, raw: bytes) -> Body:
    """The one bare record of a PUT body; raises as ``read_records`` does."""
    reader = record_reader(entity_set.type)
    return read_drafts(reader, [parse(raw, most_objects=reader.most_objects)], raw, bare=True)


def read_drafts(reader: RecordReader, records: Sequence[Any], raw: bytes, bare: bool) -> Body:
    body = Body([], bare)
    for number, record in enumerate(records):
        place = record_target(number, bare)
        reading = reader.read(record, place)
        for unknown_place, value in reading.unknown:
            check_depth(raw)
            refuse_repeated_within(value, unknown_place, reading)
        body.drafts.append(reader.draft(reading))
        body.faults += [(number, fault) for fault in reading.faults]
    if body.faults:
        check_depth(raw)
    return body


# --- JSON -----------------------------------------------------------------------------------------------


class RepeatedNames(dict[str, Any]):
    """An object in which several members have one name: ``names`` are those."""

    names: tuple[str, ...] = ()


def parse(raw: bytes, most_objects: int) -> dict[str, Any]:
    """The object that a body is, its numbers exact; ``BadBody`` where it is no JSON object."""
    raw = raw.removeprefix(codecs.BOM_UTF8)
    # No body has more records than objects, so that most bodies need no count of their own.
    if raw.count(b"{") > most_objects:
        check_records(raw)
    if not raw.strip():
        raise BadBody("The body is empty.")
    try:
        body = _DECODER.decode(raw.decode())
    except UnicodeDecodeError as error:
        raise BadBody(f"The body is not UTF-8: byte {error.start:,} cannot be read.") from None
    except json.JSONDecodeError as error:
        raise BadBody(
            f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except RecursionError:
        raise too_deep() from None
    if not isinstance(body, dict):
        check_depth(raw)
        raise BadBody("The body must be a JSON object.")
    return body


def _json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    names = [name for name, _ in pairs]
    repeated = RepeatedNames(members)
    repeated.names = tuple(name for name in members if names.count(name) > 1)
    return repeated


def _exact_number(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation:  # an exponent of twenty digits
        return Decimal("NaN")


def _no_number(word: str) -> Any:
    raise BadBody(f"The body is not JSON: {word} is no number.")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_json_object,
    parse_float=_exact_number,
    # Python refuses to read integers of thousands of digits.
    parse_int=lambda digits: int(digits) if len(digits) < 40 else _exact_number(digits),
    parse_constant=_no_number,
)


def repeated_names(value: Mapping[str, Any]) -> tuple[str, ...]:
    return value.names if isinstance(value, RepeatedNames) else ()


def refuse_repeated(value: Mapping[str, Any], place: str, reading: Reading) -> None:
    for name in repeated_names(value):
        target = joined(place, name)
        reading.refuse(target, "Duplicate", target, f"{name} stands twice.")


def refuse_repeated_within(value: Any, place: str, reading: Reading) -> None:
    """Report repeated names anywhere inside a value that is otherwise ignored."""
    if isinstance(value, Mapping):
        refuse_repeated(value, place, reading)
        for name, inner in value.items():
            refuse_repeated_within(inner, joined(place, name), reading)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            refuse_repeated_within(inner, f"{place}[{at}]", reading)


# --- limits ---------------------------------------------------------------------------------------------

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def brackets(raw: bytes) -> bytes:
    """The brackets and braces of a JSON text, without those inside its strings."""
    return _STRING.sub(b"", raw).translate(None, _NO_BRACKETS)


def check_depth(raw: bytes) -> None:
    """Refuse deep nesting. Members of a resource never nest so deep, others and wrong values may."""
    if max(accumulate(map(_STEPS.__getitem__, brackets(raw))), default=0) > settings.API_MAX_DEPTH:
        raise too_deep()


def too_deep() -> BadBody:
    return BadBody(f"The body nests deeper than {settings.API_MAX_DEPTH} levels.")


def check_number_of_records(number: int) -> None:
    if number > settings.API_MAX_RECORDS:
        raise TooLarge(
            f"A body may hold {settings.API_MAX_RECORDS:,} records at most; divide this one.", target="value"
        )


def check_records(raw: bytes) -> None:
    """Refuse more records than a body may hold before anything is built of them.

    Any list on the level of ``value`` counts, whatever its name.
    """
    depth = items = 0
    for bracket in brackets(raw):
        depth += _STEPS[bracket]
        if depth == 2 and bracket == ord("["):
            items = 0
        elif depth == 3 and bracket == ord("{"):
            items += 1
            if items > settings.API_MAX_RECORDS:
                check_number_of_records(items)


# --- the members of a record ----------------------------------------------------------------------------


@dataclass(slots=True)
class Reading:
    """What was read of one record, its embedded objects included.

    ``unknown``: (place, value) of objects and lists that no member is.
    """

    values: dict[str, Any]
    given: set[str] = field(default_factory=set)
    invalid: set[str] = field(default_factory=set)
    faults: list[ErrorDetail] = field(default_factory=list)
    unknown: list[tuple[str, Any]] = field(default_factory=list)

    def refuse(self, attribute: str, code: str, place: str, sentence: str) -> None:
        self.mark_invalid(attribute)
        self.faults.append(ErrorDetail(code, place, sentence))

    def mark_invalid(self, *attributes: str) -> None:
        self.invalid.update(attributes)
        for attribute in attributes:
            self.values.pop(attribute, None)


class Member:
    """A member of an object: ``attribute`` is its name in drafts, ``spellings`` are its names in bodies."""

    required = False
    #: Reads the JSON value of a single value; other members have ``read``.
    convert: Callable[[Any], Any] | None = None

    def __init__(self, attribute: str, *spellings: str) -> None:
        self.attribute, self.spellings = attribute, spellings
        self.name = spellings[0]

    def defaults(self) -> dict[str, Callable[[], Any]]:
        """What makes the value of each of its attributes when it is left out."""
        raise NotImplementedError

    def read(self, value: Any, place: str, reading: Reading) -> None:
        """Read a JSON value, ``None`` for a required member that was left out; report every fault."""
        raise NotImplementedError

    def refuse_missing(self, place: str, reading: Reading) -> None:
        if self.required:
            reading.refuse(self.attribute, "Required", place, f"{self.name} is required.")


class ValueMember(Member):
    """A single value. ``read`` is called for null and blank values only."""

    def __init__(self, prop: StructuralProperty) -> None:
        super().__init__(prop.attribute, prop.name, *prop.declaration.aliases)
        self.source = prop.source_field
        self.required = prop.behaviour is Behaviour.REQUIRED
        self.convert = reader_of(prop)
        # Null is a value of columns that may be null; for others it means: as if left out.
        self.holds_null = prop.nullable and not self.required

    def defaults(self) -> dict[str, Callable[[], Any]]:
        return {self.attribute: self.source.get_default if self.source.has_default() else _null}

    def read(self, value: None, place: str, reading: Reading) -> None:
        self.refuse_missing(place, reading)
        if self.holds_null:
            reading.values[self.attribute] = None
            reading.given.add(self.attribute)


def _null() -> None:
    return None


class NestedMember(Member):
    """A nested object or list."""

    def __init__(self, navigation: NavigationProperty) -> None:
        super().__init__(navigation.attribute, navigation.name)
        self.type = navigation.type
        self.required = navigation.declaration.required

    @property
    def most_objects(self) -> int:
        """How many JSON objects it may be made of, at most."""
        return 1

    def is_list(self, value: Any, place: str, reading: Reading) -> bool:
        """Whether it is a list with items; reports what else it must not be."""
        if value is None or value == []:
            self.refuse_missing(place, reading)
            return False
        if not isinstance(value, list):
            reading.refuse(self.attribute, "WrongType", place, f"{self.name} must be a list.")
            return False
        return True


class EmbeddedMember(NestedMember):
    """An object made of the record's own columns."""

    def __init__(self, navigation: NavigationProperty) -> None:
        super().__init__(navigation)
        self.reader = record_reader(navigation.type)

    @property
    def most_objects(self) -> int:
        return self.reader.most_objects

    def defaults(self) -> dict[str, Callable[[], Any]]:
        return self.reader.default_makers()

    def read(self, value: Any, place: str, reading: Reading) -> None:
        if isinstance(value, dict):
            self.reader.read_members(value, place, reading)
        elif value is not None:
            reading.refuse(self.name, "WrongType", place, f"{self.name} must be an object.")
        elif self.required:
            reading.refuse(self.name, "Required", place, f"{self.name} is required.")
        if self.name in reading.invalid:
            reading.mark_invalid(*self.reader.attributes)


class ReferenceMember(NestedMember):
    """An object that names a record by its key: ``{"RoleGuid": …}``. Read as the key."""

    def __init__(self, navigation: NavigationProperty) -> None:
        super().__init__(navigation)
        assert navigation.type.key is not None
        self.key_name = key_name(navigation)
        self.convert_key = reader_of(navigation.type.key)
        self.holds_null = not navigation.many and navigation.relation.null

    def defaults(self) -> dict[str, Callable[[], Any]]:
        return {self.attribute: _null}

    def read(self, value: Any, place: str, reading: Reading) -> None:
        key = None
        if value is None:
            self.refuse_missing(place, reading)
        else:
            key = self.read_key(value, place, reading)
        if self.attribute not in reading.invalid and (key is not None or self.holds_null):
            reading.values[self.attribute] = key
            reading.given.add(self.attribute)

    def read_key(self, value: Any, place: str, reading: Reading) -> Any:
        """The key, or ``None`` after a fault was reported."""
        if not isinstance(value, dict):
            reading.refuse(self.attribute, "WrongType", place, f"{self.name} must be an object.")
            return None
        if len(value) > 1 or isinstance(value, RepeatedNames):
            refuse_repeated_within(value, place, reading)
        key = value.get(self.key_name)
        if key is None:
            target = joined(place, self.key_name)
            reading.refuse(self.attribute, "Required", target, f"{self.key_name} is required.")
            return None
        try:
            return self.convert_key(key)
        except JsonValueError as error:
            target = joined(place, self.key_name)
            reading.refuse(self.attribute, error.code, target, f"{self.key_name} {error.sentence}")
            return None


class ReferenceListMember(ReferenceMember):
    """A list of objects that name records. Read as a list of keys, in the order given."""

    @property
    def most_objects(self) -> int:
        return int(settings.API_MAX_LINES)

    def defaults(self) -> dict[str, Callable[[], Any]]:
        return {self.attribute: list}

    def read(self, value: Any, place: str, reading: Reading) -> None:
        if not self.is_list(value, place, reading):
            return
        keys = [self.read_key(item, f"{place}[{at}]", reading) for at, item in enumerate(value)]
        if self.attribute not in reading.invalid:
            reading.values[self.attribute] = keys
            reading.given.add(self.attribute)


class ContainedMember(NestedMember):
    """A list of rows that are written with the record. Read as a list of drafts."""

    def __init__(self, navigation: NavigationProperty) -> None:
        super().__init__(navigation)
        self.reader = record_reader(navigation.type)

    @property
    def most_objects(self) -> int:
        return int(settings.API_MAX_LINES * self.reader.most_objects)

    def defaults(self) -> dict[str, Callable[[], Any]]:
        return {self.attribute: list}

    def read(self, value: Any, place: str, reading: Reading) -> None:
        if not self.is_list(value, place, reading):
            return
        if len(value) > settings.API_MAX_LINES:
            raise TooLarge(f"{self.name} may hold {settings.API_MAX_LINES:,} items at most.", target=place)
        rows = []
        for at, item in enumerate(value):
            row = self.reader.read(item, f"{place}[{at}]")
            rows.append(self.reader.draft(row))
            reading.unknown += row.unknown
            if row.invalid:
                reading.invalid.add(f"{self.attribute}[{at}]")
                reading.faults += row.faults
        reading.values[self.attribute] = rows
        reading.given.add(self.attribute)


class RecordReader:
    """Reads objects of one type."""

    def __init__(self, type_: StructuredType) -> None:
        self.type = type_
        self.draft_class: type[Draft] = type_.declaration.draft_class or Draft
        nested = [nested_member(navigation) for navigation in type_.writable_navigations]
        self.members: list[Member] = [*map(ValueMember, type_.writable_properties), *nested]
        self.by_name = {name: member for member in self.members for name in member.spellings}
        #: In the order declared, in which faults are reported.
        self.names = tuple(self.by_name)
        self.required = frozenset(member.name for member in self.members if member.required)
        self.aliases = frozenset(self.names).difference(member.name for member in self.members)
        self.most_objects: int = 1 + sum(member.most_objects for member in nested)

        makers = self.default_makers()
        self.attributes = frozenset(makers)
        self.changing_defaults = tuple(
            (name, make) for name, make in makers.items() if not makes_a_constant(make)
        )
        self.constants = {name: make() for name, make in makers.items() if makes_a_constant(make)}

    def default_makers(self) -> dict[str, Callable[[], Any]]:
        """What makes the value of each attribute that is left out, embedded objects included."""
        return {name: make for member in self.members for name, make in member.defaults().items()}

    def defaults(self) -> dict[str, Any]:
        """The values of a record that gives nothing."""
        values = self.constants.copy()
        for name, make in self.changing_defaults:
            values[name] = make()
        return values

    def draft(self, reading: Reading) -> Draft:
        return self.draft_class(reading.values, reading.given, reading.invalid)

    def read(self, value: Any, place: str) -> Reading:
        """Read a JSON value that should be a record."""
        reading = Reading(self.defaults())
        if isinstance(value, dict):
            self.read_members(value, place, reading)
        else:
            message = f"A {self.type.name} record must be an object."
            reading.faults.append(ErrorDetail("WrongType", place or None, message))
            reading.mark_invalid(*self.attributes)
        return reading

    def read_members(self, value: dict[str, Any], place: str, reading: Reading) -> None:
        """Read every member of an object."""
        if isinstance(value, RepeatedNames):
            refuse_repeated(value, place, reading)
        prefix = f"{place}/" if place else ""
        names = [*filter(value.__contains__, self.names)]
        if len(names) < len(value):
            unknown = ((name, value[name]) for name in value.keys() - self.by_name.keys())
            reading.unknown += [(prefix + name, one) for name, one in unknown if isinstance(one, dict | list)]
        if self.required.difference(value):
            names = [name for name in self.names if name in value or self.is_missing(name, value)]
        if self.aliases.intersection(names):
            names = [name for name in names if not self.refuse_alias(name, value, prefix, reading)]
        values, given, by_name = reading.values, reading.given, self.by_name
        for name in names:
            member, item = by_name[name], value.get(name)
            if item is not None and member.convert is not None:
                try:
                    item = member.convert(item)
                except JsonValueError as error:
                    reading.refuse(
                        member.attribute, error.code, prefix + name, f"{member.name} {error.sentence}"
                    )
                    continue
                if item is not None:
                    values[member.attribute] = item
                    given.add(member.attribute)
                    continue
            member.read(item, prefix + name, reading)

    def is_missing(self, name: str, value: Mapping[str, Any]) -> bool:
        return name in self.required and value.keys().isdisjoint(self.by_name[name].spellings)

    def refuse_alias(self, alias: str, value: Mapping[str, Any], prefix: str, reading: Reading) -> bool:
        """Report an alias of a member of which the object has another spelling as well."""
        spellings = self.by_name[alias].spellings
        first = next(name for name in spellings if name in value)
        if first != alias:
            reading.refuse(alias, "Duplicate", prefix + alias, f"{alias} is {first}, given already.")
        return first != alias


def nested_member(navigation: NavigationProperty) -> NestedMember:
    if navigation.nesting is Nesting.EMBEDDED:
        return EmbeddedMember(navigation)
    if navigation.nesting is Nesting.CONTAINED:
        return ContainedMember(navigation)
    return ReferenceListMember(navigation) if navigation.many else ReferenceMember(navigation)


def makes_a_constant(make: Callable[[], Any]) -> bool:
    """Whether a default is the same value for every record."""
    source = getattr(make, "__self__", None)
    return make is _null or (source is not None and not callable(source.default))


@lru_cache(maxsize=256)
def record_reader(type_: StructuredType) -> RecordReader:
    """The reader of a type, made once."""
    return RecordReader(type_)
