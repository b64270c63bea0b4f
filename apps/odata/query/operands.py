"""Operands of $filter and $orderby: SQL values, known values, and literals in the type of a property."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NoReturn
from uuid import UUID

from django.db.models import Model
from django.utils import timezone

from apps.base import clock
from apps.base.declaration.resource import Caller
from apps.base.declaration.schema import SetNavigation, StructuralProperty, StructuredType
from apps.odata.errors import BadQuery
from apps.odata.query.ast import NO_POSITION, NUMBERS, EnumLiteral, Literal, ValueKind
from apps.odata.query.functions import Constant

KIND_OF_EDM = {
    "Edm.Guid": ValueKind.GUID,
    "Edm.Boolean": ValueKind.BOOLEAN,
    "Edm.Date": ValueKind.DATE,
    "Edm.DateTimeOffset": ValueKind.DATETIME,
    "Edm.Int16": ValueKind.INTEGER,
    "Edm.Int32": ValueKind.INTEGER,
    "Edm.Int64": ValueKind.INTEGER,
    "Edm.Decimal": ValueKind.DECIMAL,
    "Edm.String": ValueKind.STRING,
}
#: The types of values that are computed; an integer may be beyond 32 bits.
EDM_OF_KIND = {kind: name for name, kind in KIND_OF_EDM.items()} | {
    ValueKind.INTEGER: "Edm.Int64",
    ValueKind.TIME: "Edm.TimeOfDay",
}


@dataclass(frozen=True, slots=True)
class Operand:
    """A value in SQL.

    ``name`` is its name in errors, ``prop`` the property of which it is a value, if any, ``scale`` the number
    of its decimal places where that is fixed.
    """

    kind: ValueKind
    sql: Any
    nullable: bool
    name: str
    prop: StructuralProperty | None = None
    scale: int | None = None

    @property
    def enum(self) -> StructuralProperty | None:
        """The property whose choices are its values."""
        return self.prop if self.kind is ValueKind.ENUM else None


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A value that is known before the query: a literal, an alias, ``now()`` or a part of it."""

    kind: ValueKind
    value: Any

    @property
    def name(self) -> str:
        match self.value:
            case None:
                return "null"
            case EnumLiteral(type=type_, name=name):
                return f"{type_}'{name}'"
            case str():
                return repr(self.value[:60])
        return str(self.value)


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The context of the options of one request: the values of aliases, the caller, the start of links.

    ``outer_types`` are the types of the records around those of an expanded list, the first one's ``$it``.
    """

    aliases: Mapping[str, Literal] = field(default_factory=dict)
    caller: Caller | None = None
    base_url: str = ""
    outer_types: tuple[StructuredType, ...] = ()

    def may_hide(self, navigation: SetNavigation, model: type[Model]) -> bool:
        """True when the caller may see a record of ``model`` and not the one that it leads to.

        Not where it sees the record because of the other one, as a claim because of its participant.
        """
        sees = self.caller.sees if self.caller is not None else None
        if sees is None or not sees.path(navigation.entity_set.model):
            return False
        return not sees.path(model).startswith(f"{navigation.path}__")

    def inside(self, type_: StructuredType) -> RequestContext:
        """The context of the options that are nested in a record of this type."""
        return replace(self, outer_types=(*self.outer_types, type_))


NO_CONTEXT = RequestContext()


class LiteralBinder:
    """Converts the known values of one option; ``target`` names the option in errors."""

    def __init__(self, request: RequestContext, target: str) -> None:
        self.request = request
        self.target = target
        self.code = "Invalid" + target.rpartition("$")[2].capitalize()
        self.zone = timezone.get_current_timezone()
        #: Where the expression begins that is bound now.
        self.at = NO_POSITION

    def fail(self, message: str, code: str = "") -> NoReturn:
        position = "" if self.at == NO_POSITION else f" at position {self.at + 1}"
        raise BadQuery(f"{self.target}{position}: {message}", target=self.target, code=code or self.code)

    def constant(self, known: KnownValue) -> Operand:
        """A known value in its own type."""
        kind, value = known.kind, known.value
        if isinstance(value, EnumLiteral):
            kind, value = ValueKind.STRING, value.name
        if isinstance(value, dt.datetime):
            value = self.to_utc(value)
        if isinstance(value, dt.timedelta):
            value = Decimal(value // dt.timedelta(microseconds=1)).scaleb(-6)
        return Operand(kind, Constant(kind, value), value is None, known.name)

    def convert(self, known: KnownValue, other: Operand) -> Operand:
        """A known value in the type of the operand beside it; ``BadQuery`` when that has no such value."""
        value, kinds = known.value, (known.kind, other.kind)
        if other.enum is not None:
            kind, value = ValueKind.ENUM, self.enum_member(known, other.enum)
        elif kinds == (ValueKind.STRING, ValueKind.GUID):
            kind, value = ValueKind.GUID, self.guid(value, other)
        elif kinds == (ValueKind.DATE, ValueKind.DATETIME):
            midnight = dt.datetime.combine(value, dt.time.min)
            kind, value = ValueKind.DATETIME, clock.in_utc(midnight, self.zone)
        elif kinds == (ValueKind.DATETIME, ValueKind.DATE):
            kind, value = ValueKind.DATE, self.to_local(self.to_utc(value)).date()
        elif {*kinds} <= {*NUMBERS}:
            kind, value = known.kind, within_scale(value, other.scale)
        elif known.kind is other.kind:
            return self.constant(known)
        else:
            is_quoted = known.kind is ValueKind.STRING and other.kind in EDM_OF_KIND
            hint = f" {other.kind.value.capitalize()} stands without quotes." if is_quoted else ""
            self.fail(f"{other.name} is {other.kind.value}; {known.name} is {known.kind.value}.{hint}")
        return Operand(kind, Constant(kind, value), False, str(value))

    def guid(self, text: str, other: Operand) -> UUID:
        try:
            return UUID(text)
        except ValueError:
            self.fail(f"{other.name} is a guid; {text[:60]!r} is none.", code="InvalidGuid")

    def enum_member(self, known: KnownValue, prop: StructuralProperty) -> str:
        """The stored name of the enumeration member that a literal gives by its name or number."""
        name, value = None, known.value
        if isinstance(value, EnumLiteral):
            type_name = value.type.rpartition(".")[2]
            if prop.enum is not None and type_name != prop.enum.__name__:
                self.fail(f"{prop.name} is of the type {prop.enum.__name__}, not {value.type[:60]}.")
            name = value.name
        elif isinstance(value, str):
            name = value
        if known.kind is ValueKind.INTEGER:
            name = prop.numbers.get(value)
        elif name is not None and name.isdecimal() and len(name) < 20:
            name = prop.numbers.get(int(name), name)
        if name not in prop.choices:
            self.fail(
                f"{known.name} is no value of {prop.name}; it has {', '.join(prop.choices)}.",
                code="NotAChoice",
            )
        return name

    def to_utc(self, value: dt.datetime) -> dt.datetime:
        """A literal in UTC; without an offset it is local time of the subscriber."""
        if value.tzinfo is not None:
            return clock.in_utc(value, value.tzinfo)
        utc = clock.in_utc(value, self.zone)
        if utc.year not in (1, 9999) and self.to_local(utc).replace(tzinfo=None) != value:
            self.fail(f"the clocks in {self.zone} never showed {value.isoformat()}.", code="InvalidDate")
        return utc

    def to_local(self, utc: dt.datetime) -> dt.datetime:
        try:
            return utc.astimezone(self.zone)
        except OverflowError:
            return (dt.datetime.min if utc.year == 1 else dt.datetime.max).replace(tzinfo=self.zone)


def within_scale(number: int | Decimal, scale: int | None) -> int | Decimal:
    """A number to compare a column of ``scale`` decimal places with, in digits that engines compare alike.

    One with more places lies between two values of the column, as their middle does.
    """
    if scale is None or isinstance(number, int):
        return number
    step = Decimal(1).scaleb(-scale)
    below = number.quantize(step, decimal.ROUND_FLOOR, _ENOUGH_DIGITS)
    return number if below == number else below + step / 2


_ENOUGH_DIGITS = decimal.Context(prec=200)
