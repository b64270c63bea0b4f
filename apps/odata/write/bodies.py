"""Bodies on their way in: JSON bytes become drafts, and every fault of every record is told at once.

There are two ways through. The quick one decodes the whole body with msgspec structs derived from the
declaration; it accepts only what is beyond doubt. Whatever it doubts goes the careful way, member by
member, which defines what is right and tells every fault with its place.
"""

from __future__ import annotations

import codecs
import json
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import accumulate
from typing import Annotated, Any, Literal

import msgspec
from django.conf import settings
from msgspec import UNSET, UnsetType
from msgspec.structs import astuple

from apps.odata.declaration.resource import Behaviour, Nesting
from apps.odata.declaration.schema import EntitySet, NavigationProperty, StructuralProperty, StructuredType
from apps.odata.errors import BadBody, ErrorDetail, TooLarge
from apps.odata.write.drafts import Draft
from apps.odata.write.json_values import JsonValueError, integer_range, reader_of
from apps.odata.write.targets import joined, key_name, record_target


@dataclass(slots=True)
class Body:
    """What a body holds: a draft for each record, and the faults as (number of the record, fault) pairs.

    ``bare`` tells that the body is one record without ``value``.
    """

    drafts: list[Draft]
    bare: bool = False
    faults: list[tuple[int, ErrorDetail]] = field(default_factory=list)


class Doubt(Exception):
    """The quick way cannot vouch for the body; the careful way decides."""


def read_records(entity_set: EntitySet, raw: bytes) -> Body:
    """The records of a POST body, ``{"value": [...]}`` or one bare record.

    Raises ``BadBody`` for what is no such body and ``TooLarge`` for too many records; all other faults
    stand in the answer.
    """
    return _read(entity_set, raw, wrapped=True)


def read_record(entity_set: EntitySet, raw: bytes) -> Body:
    """The one bare record of a PUT body; raises as ``read_records`` does."""
    return _read(entity_set, raw, wrapped=False)


def read_objects(entity_set: EntitySet, objects: Iterable[Mapping[str, Any]]) -> Body:
    """Records already taken from JSON, a spreadsheet …: ``{wire name: JSON value}``, parts nested."""
    return _careful_list(entity_set, list(objects), bare=False)


def _read(entity_set: EntitySet, raw: bytes, wrapped: bool) -> Body:
    raw = raw.removeprefix(codecs.BOM_UTF8)
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        raise BadBody(f"The body is not UTF-8: byte {error.start:,} cannot be read.") from None
    reader = record_reader(entity_set.type)
    # No body has more records than objects, so that most bodies need no count of their own.
    if raw.count(b"{") > settings.API_MAX_RECORDS * reader.objects + 1:
        check_records(raw)
    try:
        return _quickly(reader, raw, wrapped)
    except (Doubt, JsonValueError, msgspec.MsgspecError, RecursionError):
        check_depth(raw)
        return _carefully(entity_set, parsed(raw), wrapped)


# --- the quick way --------------------------------------------------------------------------------------


def _quickly(reader: RecordReader, raw: bytes, wrapped: bool) -> Body:
    if b"\\u0000" in raw:
        raise Doubt
    tally = Tally()
    if not wrapped:
        body = Body([reader.draft(reader.decoder.decode(raw), tally)], bare=True)
    else:
        envelope = reader.envelope.decode(raw)
        records = envelope.value
        bare = records is UNSET
        if not bare:
            tally.members += 1
            check_number_of_records(len(records))
        elif all(held is UNSET for held in astuple(envelope)):
            raise Doubt
        body = Body([reader.draft(record, tally) for record in ([envelope] if bare else records)], bare)
        if not body.drafts:
            raise Doubt
    # A body has no more members than colons: as many members read, none unknown and none twice.
    if tally.members != raw.count(b":") and tally.members != most_members(raw):
        check_depth(raw)
        check_members_stand_once(raw)
    return body


class Tally:
    """How many members of the body were read."""

    __slots__ = ("members",)

    def __init__(self) -> None:
        self.members = 0


def most_members(raw: bytes) -> int:
    """No JSON text has more members than this, and hardly one has fewer.

    A member's colon follows its name's quotation mark, or white space after that; few colons inside
    strings do.
    """
    return sum(raw.count(before + b":") for before in (b'"', b" ", b"\n", b"\r", b"\t"))


def check_members_stand_once(raw: bytes) -> None:
    """Raise ``Doubt`` when an object has two members of one name."""

    def check(pairs: list[tuple[str, Any]]) -> None:
        if len(pairs) != len({name for name, _ in pairs}):
            raise Doubt

    try:
        json.loads(raw, object_pairs_hook=check, parse_int=len, parse_float=len)
    except ValueError:
        raise Doubt from None


def check_number_of_records(number: int) -> None:
    if number > settings.API_MAX_RECORDS:
        raise TooLarge(
            f"A body may hold {settings.API_MAX_RECORDS:,} records at most; divide this one.", target="value"
        )


_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def brackets(raw: bytes) -> bytes:
    """The brackets and braces of a JSON text, without those inside its strings."""
    return _STRING.sub(b"", raw).translate(None, _NO_BRACKETS)


def check_depth(raw: bytes) -> None:
    """Refuse what nests too deep before anything follows it down."""
    steps = map(_STEPS.__getitem__, brackets(raw))
    if max(accumulate(steps), default=0) > settings.API_MAX_DEPTH:
        raise BadBody(f"The body nests deeper than {settings.API_MAX_DEPTH} levels.")


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


# --- the careful way ------------------------------------------------------------------------------------


class Repeating(dict[str, Any]):
    """An object in which members of one name stand twice."""

    twice: tuple[str, ...] = ()


def parsed(raw: bytes) -> Any:
    """The body as Python values, numbers exact; ``BadBody`` where the JSON breaks."""
    if not raw.strip():
        raise BadBody("The body is empty.")
    try:
        return json.loads(
            raw.decode(),
            object_pairs_hook=_members,
            parse_float=_exactly,
            parse_int=lambda digits: int(digits) if len(digits) < 40 else _exactly(digits),
            parse_constant=_no_json,
        )
    except json.JSONDecodeError as error:
        raise BadBody(
            f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except RecursionError:
        raise BadBody("The body nests too deep.") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    repeating = Repeating(members)
    names = [name for name, _ in pairs]
    repeating.twice = tuple(name for name in members if names.count(name) > 1)
    return repeating


def _exactly(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation:  # an exponent of twenty digits
        return Decimal("NaN")


def _no_json(word: str) -> Any:
    raise BadBody(f"The body is not JSON: {word} is no number.")


def _carefully(entity_set: EntitySet, top: Any, wrapped: bool) -> Body:
    if not isinstance(top, dict):
        raise BadBody("The body must be a JSON object.")
    if not wrapped:
        return _careful_list(entity_set, [top], bare=True)
    if "value" not in top:
        reader = record_reader(entity_set.type)
        if not reader.spellings.keys() & top.keys():
            raise BadBody(
                f'The body must be {{"value": [...]}} or one {entity_set.name} record.', target="value"
            )
        return _careful_list(entity_set, [top], bare=True)
    if "value" in getattr(top, "twice", ()):
        raise BadBody("value stands twice in the body.", target="value")
    records = top["value"]
    if not isinstance(records, list):
        raise BadBody("value must be a list of records.", target="value")
    if not records:
        raise BadBody("value holds no record.", target="value")
    check_number_of_records(len(records))
    return _careful_list(entity_set, records, bare=False)


def _careful_list(entity_set: EntitySet, records: Sequence[Any], bare: bool) -> Body:
    reader, body = record_reader(entity_set.type), Body([], bare)
    for number, record in enumerate(records):
        reading = Reading()
        body.drafts.append(reader.read_draft(record, record_target(number, bare), reading))
        body.faults += [(number, fault) for fault in reading.faults]
    return body


@dataclass(slots=True)
class Reading:
    """What was read of one object so far, embedded parts included."""

    values: dict[str, Any] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    invalid: set[str] = field(default_factory=set)
    faults: list[ErrorDetail] = field(default_factory=list)

    def refuse(self, attribute: str, code: str, place: str, sentence: str) -> None:
        self.invalid.add(attribute)
        self.values.pop(attribute, None)
        self.faults.append(ErrorDetail(code, place, sentence))

    def draft(self, draft_class: type[Draft]) -> Draft:
        return draft_class(self.values, self.given, self.invalid)


# --- the members of a record ----------------------------------------------------------------------------


def _nothing() -> None:
    return None


def is_constant(make: Callable[[], Any]) -> bool:
    """Whether a default is the same value for every record."""
    field = getattr(make, "__self__", None)
    return make is _nothing or (field is not None and not callable(field.default))


class Member:
    """One member of an object, read in both ways.

    ``slot`` is its attribute in the struct, ``attribute`` its name in drafts, ``spellings`` its names on
    the wire.
    """

    required = False

    def __init__(self, slot: str, attribute: str, spellings: tuple[str, ...]) -> None:
        self.slot, self.attribute, self.spellings = slot, attribute, spellings
        self.name = spellings[0]

    def struct_type(self) -> Any:
        """What msgspec reads it as."""
        raise NotImplementedError

    def read(self, value: Any, place: str, reading: Reading) -> None:
        """Read a JSON value, ``UNSET`` when it was left out, and tell every fault."""
        raise NotImplementedError

    def read_missing(self, place: str, reading: Reading, instead: Any = None) -> None:
        if self.required:
            reading.refuse(self.attribute, "Required", place, f"{self.name} is required.")
        else:
            reading.values[self.attribute] = instead


class ValueMember(Member):
    """A single value."""

    def __init__(self, prop: StructuralProperty) -> None:
        super().__init__(prop.attribute, prop.attribute, (prop.name, *prop.declaration.aliases))
        self.prop = prop
        self.required = prop.behaviour is Behaviour.REQUIRED
        self.reader = reader_of(prop)
        # Null is a value of columns that may be null; for others it means: as if left out.
        self.holds_null = prop.nullable

    @property
    def default(self) -> Callable[[], Any]:
        source = self.prop.source_field
        return source.get_default if source.has_default() else _nothing

    def struct_type(self) -> Any:
        return self.quick_type() | UnsetType if self.reads_raw else self.quick_type() | None | UnsetType

    @property
    def reads_raw(self) -> bool:
        return self.prop.edm.name == "Edm.Decimal"

    def quick_type(self) -> Any:
        prop, kind = self.prop, self.prop.edm.name
        if prop.choices:
            words = (*prop.choices, "", *prop.numbers, *map(str, prop.numbers))
            return Literal[words]
        if kind.startswith("Edm.Int"):
            low, high = integer_range(prop.field)
            return Annotated[int, msgspec.Meta(ge=low, le=high)]
        if kind == "Edm.String" and prop.edm.max_length is not None:
            return Annotated[str, msgspec.Meta(max_length=prop.edm.max_length)]
        return {"Edm.Guid": uuid.UUID, "Edm.Boolean": bool, "Edm.Decimal": msgspec.Raw}.get(kind, str)

    @property
    def finish(self) -> Callable[[Any], Any] | None:
        """What the quick way still has to do with a value that msgspec accepted."""
        kind = self.prop.edm.name
        if kind in ("Edm.Date", "Edm.DateTimeOffset"):
            return self.reader
        if kind == "Edm.Decimal":
            return lambda literal: self.reader(decimal_literal(literal))
        if self.prop.numbers or type(self.prop.field).__name__ == "EmailField":
            return self.reader
        return None

    def read(self, value: Any, place: str, reading: Reading) -> None:
        try:
            read = None if value is None or value is UNSET else self.reader(value)
        except JsonValueError as fault:
            reading.refuse(self.attribute, fault.code, place, f"{self.name} {fault.sentence}")
            return
        if read is None and (value is UNSET or self.required or not self.holds_null):
            self.read_missing(place, reading, self.default())
            return
        reading.values[self.attribute] = read
        reading.given.add(self.attribute)


def decimal_literal(literal: msgspec.Raw) -> Any:
    """A JSON number or string as it stands in the body."""
    text = bytes(literal).decode()
    if text.startswith('"'):
        return text[1:-1]
    if text[0] not in "-0123456789":
        raise Doubt
    return text


class PartMember(Member):
    """A nested object or list."""

    def __init__(self, part: NavigationProperty, slot: str) -> None:
        super().__init__(slot, part.attribute, (part.name,))
        self.part = part
        self.required = part.declaration.required

    def quick(self, held: Any, values: dict[str, Any], given: dict[str, Any], tally: Tally) -> None:
        """Put what the struct holds into ``values``, and the names of it into ``given``."""
        raise NotImplementedError

    def is_object(self, value: Any, attribute: str, place: str, reading: Reading) -> bool:
        if isinstance(value, dict):
            return True
        reading.refuse(attribute, "WrongType", place, f"{self.name} must be an object.")
        return False

    def is_list(self, value: Any, place: str, reading: Reading) -> bool:
        if isinstance(value, list):
            return True
        reading.refuse(self.attribute, "WrongType", place, f"{self.name} must be a list.")
        return False


class EmbeddedMember(PartMember):
    """An object made of the record's own columns."""

    def __init__(self, part: NavigationProperty, slot: str) -> None:
        super().__init__(part, slot)
        self.inner = record_reader(part.type)

    def struct_type(self) -> Any:
        return self.inner.struct | None | UnsetType

    def quick(self, held: Any, values: dict[str, Any], given: dict[str, Any], tally: Tally) -> None:
        if held is None:
            if self.required or self.inner.required:
                raise Doubt
            return
        self.inner.fill(held, values, given, tally)

    def read(self, value: Any, place: str, reading: Reading) -> None:
        value = None if value is UNSET else value
        if value is None and self.required:
            reading.refuse(self.name, "Required", place, f"{self.name} is required.")
        elif value is None:
            reading.values.update(self.inner.defaults())
        elif self.is_object(value, self.name, place, reading):
            self.inner.read(value, place, reading)
            return
        if value is not None or self.required:
            reading.invalid |= self.inner.attributes


class ReferenceMember(PartMember):
    """An object that names a record by its key: ``{"RoleGuid": …}``. Read as the key."""

    def __init__(self, part: NavigationProperty, slot: str) -> None:
        super().__init__(part, slot)
        assert part.type.key is not None
        self.key = ValueMember(part.type.key)
        self.key_name = key_name(part)
        self.holds_null = not part.many and part.relation.null
        self.struct = msgspec.defstruct(
            part.type.name, [("key", self.key.struct_type(), UNSET)], rename={"key": self.key_name}
        )

    def struct_type(self) -> Any:
        return self.struct | None | UnsetType

    def quick(self, held: Any, values: dict[str, Any], given: dict[str, Any], tally: Tally) -> None:
        if held is not None:
            values[self.attribute] = given[self.attribute] = self.quick_key(held, tally)
        elif self.required:
            raise Doubt
        elif self.holds_null:
            given[self.attribute] = None

    def quick_key(self, held: Any, tally: Tally) -> Any:
        if held.key is UNSET or held.key is None:
            raise Doubt
        tally.members += 1
        return held.key

    def read(self, value: Any, place: str, reading: Reading) -> None:
        if value is None or value is UNSET:
            self.read_missing(place, reading)
            if value is None and self.holds_null and not self.required:
                reading.given.add(self.attribute)
            return
        key = self.read_key(value, self.attribute, place, reading)
        if key is not None:
            reading.values[self.attribute] = key
            reading.given.add(self.attribute)

    def read_key(self, value: Any, attribute: str, place: str, reading: Reading) -> Any:
        """The key, or ``None`` after a fault was told."""
        if not self.is_object(value, attribute, place, reading):
            return None
        refuse_repeated(value, place, reading)
        key, key_place = value.get(self.key_name), joined(place, self.key_name)
        if key is None:
            reading.refuse(attribute, "Required", key_place, f"{self.key_name} is required.")
            return None
        try:
            return self.key.reader(key)
        except JsonValueError as fault:
            reading.refuse(attribute, fault.code, key_place, f"{self.key_name} {fault.sentence}")
            return None


class ReferenceListMember(ReferenceMember):
    """A list of objects that name records. Read as a list of keys, in the order given."""

    def struct_type(self) -> Any:
        return list[self.struct] | None | UnsetType  # type: ignore[name-defined]

    def quick(self, held: Any, values: dict[str, Any], given: dict[str, Any], tally: Tally) -> None:
        if not held and self.required:
            raise Doubt
        if held:
            values[self.attribute] = given[self.attribute] = [self.quick_key(one, tally) for one in held]

    def read(self, value: Any, place: str, reading: Reading) -> None:
        if value is None or value is UNSET or value == []:
            self.read_missing(place, reading, [])
        elif self.is_list(value, place, reading):
            reading.values[self.attribute] = []
            keys = [
                self.read_key(one, self.attribute, f"{place}[{at}]", reading) for at, one in enumerate(value)
            ]
            if self.attribute not in reading.invalid:
                reading.values[self.attribute] = keys
                reading.given.add(self.attribute)


class ContainedMember(PartMember):
    """A list of rows that are written with the record. Read as a list of drafts."""

    def __init__(self, part: NavigationProperty, slot: str) -> None:
        super().__init__(part, slot)
        self.inner = record_reader(part.type)

    def struct_type(self) -> Any:
        return list[self.inner.struct] | None | UnsetType  # type: ignore[name-defined]

    def quick(self, held: Any, values: dict[str, Any], given: dict[str, Any], tally: Tally) -> None:
        if not held and self.required:
            raise Doubt
        if held:
            self.check_length(held, self.name)
            rows = [self.inner.draft(one, tally) for one in held]
            values[self.attribute] = given[self.attribute] = rows

    def check_length(self, rows: Sequence[Any], place: str) -> None:
        if len(rows) > settings.API_MAX_LINES:
            raise TooLarge(f"{self.name} may hold {settings.API_MAX_LINES:,} items at most.", target=place)

    def read(self, value: Any, place: str, reading: Reading) -> None:
        if value is None or value is UNSET or value == []:
            self.read_missing(place, reading, [])
            return
        if not self.is_list(value, place, reading):
            return
        self.check_length(value, place)
        rows = []
        for at, one in enumerate(value):
            inner = Reading()
            rows.append(self.inner.read_draft(one, f"{place}[{at}]", inner))
            if inner.invalid:
                reading.invalid.add(f"{self.attribute}[{at}]")
                reading.faults += inner.faults
        reading.values[self.attribute] = rows
        reading.given.add(self.attribute)


class RecordReader:
    """Reads objects of one type, in both ways."""

    def __init__(self, type_: StructuredType) -> None:
        self.type = type_
        self.draft_class: type[Draft] = type_.declaration.draft_class or Draft
        self.value_members = [ValueMember(prop) for prop in type_.writable_properties]
        self.part_members = [
            part_member(part, f"part{number}") for number, part in enumerate(type_.writable_navigations)
        ]
        self.members: list[Member] = [*self.value_members, *self.part_members]
        self.spellings = {name: member for member in self.members for name in member.spellings}
        self.struct = self.make_struct(type_.name)
        self.decoder = msgspec.json.Decoder(self.struct)
        self.slots: tuple[str, ...] = self.struct.__struct_fields__

        makers = self.makers()
        self.constants = {name: make() for name, make in makers.items() if make is not list}
        self.changing = tuple((name, make) for name, make in makers.items() if not is_constant(make))
        self.required = tuple(m.slot for m in self.members if m.required)
        self.not_null = tuple(m.slot for m in self.value_members if not m.holds_null)
        self.finishers = tuple((m.slot, m.finish) for m in self.value_members if m.finish)
        self.aliases = {alias_slot(m, n): m.slot for m in self.members for n in range(1, len(m.spellings))}

    @property
    def envelope(self) -> msgspec.json.Decoder:
        """Decodes ``{"value": [records]}`` as well as one bare record."""
        return _envelope(self)

    @property
    def objects(self) -> int:
        """How many JSON objects one record may be made of, at most."""
        found = 1
        for part in self.part_members:
            inner = part.inner.objects if isinstance(part, EmbeddedMember | ContainedMember) else 1
            found += inner * (settings.API_MAX_LINES if part.part.many else 1)
        return found

    @property
    def attributes(self) -> frozenset[str]:
        """The names of all that drafts of this type hold, embedded parts included."""
        return _attributes(self)

    def make_struct(self, name: str, more: Iterable[tuple[str, Any, Any]] = ()) -> Any:
        fields: list[tuple[str, Any, Any]] = []
        wire: dict[str, str] = {}
        for member in self.members:
            for number, spelling in enumerate(member.spellings):
                slot = alias_slot(member, number) if number else member.slot
                fields.append((slot, member.struct_type(), UNSET))
                wire[slot] = spelling
        return msgspec.defstruct(name, [*fields, *more], rename=wire, gc=False)

    def makers(self) -> dict[str, Callable[[], Any]]:
        """What makes the value of each attribute that is not given."""
        makers: dict[str, Callable[[], Any]] = {m.attribute: m.default for m in self.value_members}
        for member in self.part_members:
            if isinstance(member, EmbeddedMember):
                makers |= member.inner.makers()
            else:
                makers[member.attribute] = list if member.part.many else _nothing
        return makers

    def defaults(self) -> dict[str, Any]:
        """What a record holds that gives nothing."""
        values = self.constants.copy()
        for name, make in self.changing:
            values[name] = make()
        return values

    def draft(self, held: Any, tally: Tally) -> Draft:
        """The draft of a decoded struct; raises ``Doubt`` or ``ValueFault``."""
        values, given = self.defaults(), dict[str, Any]()
        self.fill(held, values, given, tally)
        return self.draft_class(values, given)

    def fill(self, struct: Any, values: dict[str, Any], given: dict[str, Any], tally: Tally) -> None:
        held = {slot: v for slot, v in zip(self.slots, astuple(struct), strict=False) if v is not UNSET}
        tally.members += len(held)
        for slot, value in held.items():
            if value.__class__ is str and not value.strip():
                held[slot] = None
        for alias in self.aliases.keys() & held:
            if self.aliases[alias] in held:
                raise Doubt
            held[self.aliases[alias]] = held.pop(alias)
        for slot in self.required:
            if held.get(slot) is None:
                raise Doubt
        for slot in self.not_null:
            if slot in held and held[slot] is None:
                del held[slot]
        for slot, finish in self.finishers:
            if held.get(slot) is not None:
                held[slot] = finish(held[slot])
        for member in self.part_members:
            if member.slot in held:
                member.quick(held.pop(member.slot), values, given, tally)
        values.update(held)
        given.update(held)

    def read_draft(self, value: Any, place: str, reading: Reading) -> Draft:
        """The draft of a JSON value, whatever it is."""
        if isinstance(value, Mapping):
            self.read(value, place, reading)
        else:
            reading.faults.append(
                ErrorDetail("WrongType", place or None, f"A {self.type.name} record must be an object.")
            )
            reading.invalid |= self.attributes
        return reading.draft(self.draft_class)

    def read(self, value: Mapping[str, Any], place: str, reading: Reading) -> None:
        """Read every member of an object, and tell every fault."""
        refuse_repeated(value, place, reading)
        for member in self.members:
            spelled = [name for name in member.spellings if name in value]
            name = spelled[0] if spelled else member.name
            for other in spelled[1:]:
                reading.refuse(other, "Duplicate", joined(place, other), f"{other} is {name}, given already.")
            member.read(value.get(name, UNSET), joined(place, name), reading)
        for name in value.keys() - self.spellings.keys():
            refuse_repeated_within(value[name], joined(place, name), reading)


def alias_slot(member: Member, number: int) -> str:
    return f"{member.slot}_alias{number}"


def part_member(part: NavigationProperty, slot: str) -> PartMember:
    if part.nesting is Nesting.EMBEDDED:
        return EmbeddedMember(part, slot)
    if part.nesting is Nesting.CONTAINED:
        return ContainedMember(part, slot)
    return ReferenceListMember(part, slot) if part.many else ReferenceMember(part, slot)


@lru_cache(maxsize=256)
def record_reader(type_: StructuredType) -> RecordReader:
    """The reader of a type, made once."""
    return RecordReader(type_)


@lru_cache(maxsize=256)
def _envelope(reader: RecordReader) -> msgspec.json.Decoder:
    records = ("value", list[reader.struct] | UnsetType, UNSET)  # type: ignore[name-defined]
    return msgspec.json.Decoder(reader.make_struct(f"{reader.type.name}Body", [records]))


@lru_cache(maxsize=256)
def _attributes(reader: RecordReader) -> frozenset[str]:
    return frozenset(reader.defaults())


def refuse_repeated(value: Mapping[str, Any], place: str, reading: Reading) -> None:
    for name in getattr(value, "twice", ()):
        there = joined(place, name)
        reading.refuse(there, "Duplicate", there, f"{name} stands twice.")


def refuse_repeated_within(value: Any, place: str, reading: Reading) -> None:
    """Members that stand twice, anywhere inside a value that is otherwise ignored."""
    if isinstance(value, Mapping):
        refuse_repeated(value, place, reading)
        for name, inner in value.items():
            refuse_repeated_within(inner, joined(place, name), reading)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            refuse_repeated_within(inner, f"{place}[{at}]", reading)
