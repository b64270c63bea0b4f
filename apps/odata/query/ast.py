"""What a $filter or $orderby says, as a small frozen tree whose names are not yet looked up."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import TypeAlias
from uuid import UUID


class ValueKind(Enum):
    """The kinds of values; the text is how an error message calls one. No literal is an OBJECT."""

    NULL = "null"
    BOOLEAN = "a boolean"
    INTEGER = "a whole number"
    DECIMAL = "a number"
    STRING = "a string"
    GUID = "a guid"
    DATE = "a date"
    DATETIME = "a date and time"
    TIME = "a time of day"
    ENUM = "an enumeration member"
    OBJECT = "an object"


@dataclass(frozen=True, slots=True)
class EnumLiteral:
    """``Records.Gender'Female'``: ``type`` is the qualified name before the quote."""

    type: str
    name: str


Value: TypeAlias = bool | int | Decimal | str | UUID | dt.date | dt.datetime | dt.time | EnumLiteral | None


@dataclass(frozen=True, slots=True)
class Node:
    """``at`` is the place in the text, counted from 0; two trees are equal wherever they were written."""

    at: int = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A constant. A DATETIME without an offset is naive: local to whoever asks."""

    kind: ValueKind
    value: Value


@dataclass(frozen=True, slots=True)
class Path(Node):
    """``Address/Suburb``; the first segment may be a range variable or ``$it``."""

    segments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Alias(Node):
    """``@p``, whose value stands elsewhere in the query string."""

    name: str


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function by its lower-case name."""

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
    """Two or more conditions joined by one and the same ``and`` or ``or``."""

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not(Node):
    operand: Expression


@dataclass(frozen=True, slots=True)
class Negate(Node):
    """The minus sign before anything that is no number."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class In(Node):
    """``Gender in ('Female','Male')``; a path among the options is an enumeration member without quotes."""

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


def children(node: Expression) -> tuple[Expression, ...]:
    """The expressions a node is made of."""
    match node:
        case Binary(left=left, right=right):
            return (left, right)
        case Junction(operands=operands):
            return operands
        case Call(arguments=arguments):
            return arguments
        case Not(operand=operand) | Negate(operand=operand):
            return (operand,)
        case In(operand=operand, options=options):
            return (operand, *options)
        case Lambda(path=path, body=body):
            return (path,) if body is None else (path, body)
        case Count(path=path, condition=condition):
            return (path,) if condition is None else (path, condition)
    return ()


def walk(root: Expression) -> Iterator[tuple[Expression, int]]:
    """Every node with its depth (the root's is 1), without recursion."""
    waiting = [(root, 1)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting.extend((child, depth + 1) for child in children(node))
