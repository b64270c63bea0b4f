"""The syntax tree of $filter and $orderby; its names are not resolved yet."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import TypeAlias
from uuid import UUID


class ValueKind(Enum):
    """The kinds of values, with their name in error messages. No literal is an OBJECT."""

    NULL = "null"
    BOOLEAN = "a boolean"
    INTEGER = "a whole number"
    DECIMAL = "a number"
    STRING = "a string"
    GUID = "a guid"
    DATE = "a date"
    DATETIME = "a date and time"
    TIME = "a time of day"
    DURATION = "a duration"
    ENUM = "an enumeration member"
    OBJECT = "an object"


NUMBERS = (ValueKind.INTEGER, ValueKind.DECIMAL)
TEXTS = (ValueKind.STRING, ValueKind.ENUM)


@dataclass(frozen=True, slots=True)
class EnumLiteral:
    """``Records.Gender'Female'``; ``type`` is the qualified name of the enumeration."""

    type: str
    name: str


Value: TypeAlias = (
    bool | int | Decimal | str | UUID | dt.date | dt.datetime | dt.time | dt.timedelta | EnumLiteral | None
)


#: The position of a node that stands in no text.
NO_POSITION = -1


@dataclass(frozen=True, slots=True)
class Node:
    """``at`` is the position in the text, counted from 0; it does not matter to equality."""

    at: int = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A constant. A DATETIME without an offset is naive: local time of the subscriber."""

    kind: ValueKind
    value: Value


@dataclass(frozen=True, slots=True)
class Path(Node):
    """``Address/Suburb``; the first segment may be a range variable or ``$it``."""

    segments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Alias(Node):
    """``@p``, whose value is another parameter of the query string."""

    name: str


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function by its lower-case name; the arguments of ``case`` are conditions, each before its value."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """A comparison or an arithmetic operation by its lower-case operator."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Junction(Node):
    """Two or more conditions with the same ``and`` or ``or`` between them."""

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not(Node):
    operand: Expression


@dataclass(frozen=True, slots=True)
class Negate(Node):
    """The minus sign before anything but a number."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class In(Node):
    """``Gender in ('Female','Male')``; an option that is a path is an enumeration member without quotes."""

    operand: Expression
    options: tuple[Literal | Alias | Path, ...]


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    """``path/any(variable:body)`` or ``all``; ``any()`` has neither variable nor body."""

    quantifier: str
    path: Path
    variable: str | None
    body: Expression | None


@dataclass(frozen=True, slots=True)
class Count(Node):
    """``path/$count``, or ``path/$count($filter=condition)``."""

    path: Path
    condition: Expression | None = None


Expression: TypeAlias = Literal | Path | Alias | Call | Binary | Junction | Not | Negate | In | Lambda | Count


@dataclass(frozen=True, slots=True)
class SortTerm:
    """One term of an $orderby."""

    expression: Expression
    descending: bool = False


def walk(root: Expression) -> Iterator[tuple[Expression, int]]:
    """All nodes with their level (the root's is 1), without recursion."""
    stack: list[tuple[Expression, int]] = [(root, 1)]
    while stack:
        node, level = stack.pop()
        yield node, level
        operands: tuple[Expression, ...] = ()
        match node:
            case Binary(left=left, right=right):
                operands = (left, right)
            case Junction(operands=operands) | Call(arguments=operands):
                pass
            case Not(operand=operand) | Negate(operand=operand):
                operands = (operand,)
            case In(operand=operand, options=options):
                operands = (operand, *options)
            case Lambda(path=path, body=body) | Count(path=path, condition=body):
                operands = (path,) if body is None else (path, body)
        stack.extend((operand, level + 1) for operand in operands)
