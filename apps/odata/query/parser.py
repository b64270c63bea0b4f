"""The grammar of $filter and $orderby expressions (OData 4.01, URL Conventions 5.1.1), read in one pass."""

from __future__ import annotations

import datetime as dt
import difflib
import re
from decimal import Decimal
from typing import NamedTuple, NoReturn
from uuid import UUID

from apps.odata.errors import BadQuery, NotSupported
from apps.odata.query.ast import (
    Alias,
    Binary,
    Call,
    Count,
    EnumLiteral,
    Expression,
    In,
    Junction,
    Lambda,
    Literal,
    Negate,
    Not,
    Path,
    SortTerm,
    ValueKind,
    walk,
)

#: Characters of one expression.
MAX_LENGTH = 16_384
#: How deep parentheses and calls may nest in the text.
MAX_DEPTH = 40
#: How deep operators and functions may stand inside each other in the tree; a chain of ``and`` is one level.
#: SQLite's parser holds 100 open symbols, of which one level can take five and a subquery ten.
MAX_LEVELS = 12
#: Operators, functions and names of one expression; enough for a chain of 300 comparisons.
MAX_NODES = 650
#: Items of one ``in`` list, which cost the database far less than comparisons do.
MAX_OPTIONS = 500
#: How deep any and all may stand inside each other: the database's work grows by a power with each.
MAX_QUANTIFIERS = 3
#: Segments of one path.
MAX_SEGMENTS = 20

_IDENTIFIER = r"[^\W\d]\w{0,127}+(?!\w)"
_NAME = rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})*+"
_DATE = r"[0-9]{4,6}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,12})?+)?+"
# Possessive throughout: no token is ever read twice, whatever the text.
_TOKEN = re.compile(
    rf"""
    [ \t\r\n]*+ (?:
    (?P<guid>[0-9A-Fa-f]{{8}}-(?:[0-9A-Fa-f]{{4}}-){{3}}[0-9A-Fa-f]{{12}}(?!\w))
  | (?P<datetime>{_DATE}[Tt]{_TIME}(?:[Zz]|[-+\ ][0-9]{{2}}:[0-9]{{2}})?+(?![\w:]))
  | (?P<date>{_DATE}(?![\w-]))
  | (?P<time>{_TIME}(?![\w:]))
  | (?P<number>[-+]?[0-9]++(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+(?![\w.]))
  | (?P<typed>{_NAME}'(?:[^']++|'')*+')
  | (?P<string>'(?:[^']++|'')*+')
  | (?P<dollar>\$[A-Za-z]++)
  | (?P<alias>@{_IDENTIFIER})
  | (?P<name>{_NAME})
  | (?P<mark>[-(),:/=])
  | (?P<end>\Z)
    )""",
    re.VERBOSE,
)

_COMPARISONS = ("eq", "ne", "gt", "ge", "lt", "le")
#: Binding strength of each operator; a greater one binds closer.
_STRENGTH = {
    "or": 1,
    "and": 2,
    "eq": 3,
    "ne": 3,
    "gt": 4,
    "ge": 4,
    "lt": 4,
    "le": 4,
    "add": 5,
    "sub": 5,
    "mul": 6,
    "div": 6,
    "divby": 6,
    "mod": 6,
    "has": 8,
    "in": 8,
}
_UNARY_STRENGTH = 7

#: The functions offered, with the numbers of arguments they take.
FUNCTIONS = {
    "contains": (2,),
    "startswith": (2,),
    "endswith": (2,),
    "length": (1,),
    "indexof": (2,),
    "substring": (2, 3),
    "tolower": (1,),
    "toupper": (1,),
    "trim": (1,),
    "concat": (2,),
    "year": (1,),
    "month": (1,),
    "day": (1,),
    "hour": (1,),
    "minute": (1,),
    "second": (1,),
    "date": (1,),
    "time": (1,),
    "now": (0,),
    "round": (1,),
    "floor": (1,),
    "ceiling": (1,),
}
#: Functions of OData 4.01 that are known and not offered. Pattern matching is among them because the two
#: engines speak different dialects, and because a pattern can be made to run for hours.
NOT_OFFERED = frozenset(
    (
        "matchespattern",
        "fractionalseconds",
        "totaloffsetminutes",
        "totalseconds",
        "maxdatetime",
        "mindatetime",
        "cast",
        "isof",
        "isdefined",
        "case",
        "hassubset",
        "hassubsequence",
        "geo.distance",
        "geo.length",
        "geo.intersects",
    )
)
_TYPED_NOT_OFFERED = ("duration", "binary", "geography", "geometry")


class Token(NamedTuple):
    kind: str
    text: str
    at: int
    spaced: bool  # white space stands before it


def parse_expression(text: str, target: str = "$filter") -> Expression:
    """The tree of one expression.

    ``target`` names the option in errors. ``BadQuery`` for a text that is no expression or is too long, too
    deep or too large; ``NotSupported`` for functions and types of OData that are not offered.
    """
    parser = _Parser(text, target)
    tree = parser.expression()
    parser.finish()
    parser.check_size(tree)
    return tree


def parse_orderby(text: str, target: str = "$orderby") -> tuple[SortTerm, ...]:
    """The terms of an $orderby; errors as ``parse_expression``."""
    parser = _Parser(text, target)
    terms = [parser.sort_term()]
    while parser.accept(","):
        terms.append(parser.sort_term())
    parser.finish()
    parser.check_size(*(term.expression for term in terms))
    return tuple(terms)


class _Parser:
    """Precedence climbing over one text, one token ahead."""

    def __init__(self, text: str, target: str) -> None:
        self.text = text
        self.target = target
        self.code = "Invalid" + target.rpartition("$")[2].capitalize()
        self.depth = 0
        self.operators = 0
        self.variables: list[str] = []
        if len(text) > MAX_LENGTH:
            raise BadQuery(
                f"{target} is longer than {MAX_LENGTH:,} characters.", target=target, code=self.code
            )
        self.position = 0
        self.token = self.read()

    # --- tokens ---------------------------------------------------------------------------------------

    def read(self) -> Token:
        found = _TOKEN.match(self.text, self.position)
        if found is None:
            self.fail_at_character()
        kind = found.lastgroup or "end"
        start = found.start(kind)
        token = Token(kind, found[kind], start, start > self.position)
        self.position = found.end()
        return token

    def advance(self) -> Token:
        token = self.token
        self.token = self.read()
        return token

    def accept(self, mark: str) -> bool:
        if self.token.kind != "mark" or self.token.text != mark:
            return False
        self.advance()
        return True

    def expect(self, mark: str) -> None:
        if not self.accept(mark):
            self.fail(f"{mark!r} is expected before {self.told()}")

    def finish(self) -> None:
        if self.token.kind != "end":
            self.fail(f"{self.told()} is not expected here")

    def told(self) -> str:
        return "the end" if self.token.kind == "end" else repr(self.token.text[:40])

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        place = self.token.at if at is None else at
        raise BadQuery(
            f"{self.target} cannot be read at position {place + 1}: {reason}.",
            target=self.target,
            code=self.code,
        )

    def refuse(self, what: str) -> NoReturn:
        raise NotSupported(f"{what} is part of OData and not offered by this service.", target=self.target)

    def fail_at_character(self) -> NoReturn:
        rest = self.text[self.position :].lstrip(" \t\r\n")
        at = len(self.text) - len(rest)
        if rest[0] == "'":
            self.fail("the string that begins here is not closed", at)
        if rest[0] in "[{":
            self.fail("JSON values are not read here; a list is written ('a','b')", at)
        if rest[0] == '"':
            self.fail("strings stand in single quotes", at)
        if len(rest) > 128 and rest[:128].isidentifier():
            self.fail("no name is longer than 128 characters", at)
        if rest[0].isdigit():
            self.fail("no number, date, time or guid has this form", at)
        self.fail(f"{rest[0]!r} is not expected here", at)

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"the expression is nested deeper than {MAX_DEPTH} levels")

    def fail_as_too_large(self) -> NoReturn:
        self.fail(f"the expression has more than {MAX_NODES} operators, functions and names", 0)

    def check_size(self, *trees: Expression) -> None:
        """Chains like ``1 add 1 add 1`` make deep trees without any parentheses."""
        nodes = 0
        for tree in trees:
            for node, depth in walk(tree):
                nodes += not isinstance(node, Literal | Alias)
                if isinstance(node, Junction):  # `true and true` is no value in a list
                    nodes += sum(isinstance(operand, Literal | Alias) for operand in node.operands)
                if depth > MAX_LEVELS:
                    self.fail(f"operators stand inside each other more than {MAX_LEVELS} deep", node.at)
        if nodes > MAX_NODES:
            self.fail_as_too_large()

    # --- expressions ----------------------------------------------------------------------------------

    def expression(self, weakest: int = 1) -> Expression:
        self.enter()
        left = self.operand()
        while True:
            operator = self.operator()
            strength = _STRENGTH.get(operator, 0)
            if strength < weakest:
                break
            at = self.advance().at
            if not (
                self.token.spaced or self.token.kind == "end" or (operator, self.token.text) == ("in", "(")
            ):
                self.fail(f"white space is expected after {operator!r}")
            left = self.joined(operator, left, strength, at)
        self.depth -= 1
        return left

    def operator(self) -> str:
        """The operator that the token is, in lower case; empty when it is none."""
        if self.token.kind != "name":
            return ""
        word = self.token.text.lower()
        if word not in _STRENGTH:
            return ""
        if not self.token.spaced:
            self.fail(f"white space is expected before {word!r}")
        return word

    def joined(self, operator: str, left: Expression, strength: int, at: int) -> Expression:
        if operator == "in":
            return In(at, left, self.options())
        right = self.expression(strength + 1)
        if operator not in ("and", "or"):
            return Binary(at, operator, left, right)
        if isinstance(left, Junction) and left.operator == operator:
            return Junction(left.at, operator, (*left.operands, right))
        return Junction(at, operator, (left, right))

    def options(self) -> tuple[Literal | Alias | Path, ...]:
        self.expect("(")
        found: list[Literal | Alias | Path] = []
        while True:
            option = self.primary()
            if not isinstance(option, Literal | Alias | Path):
                self.fail("a list holds values only", option.at)
            found.append(option)
            if len(found) > MAX_OPTIONS:
                self.fail(f"a list holds at most {MAX_OPTIONS} values", option.at)
            if not self.accept(","):
                break
        self.expect(")")
        return tuple(found)

    def operand(self) -> Expression:
        token = self.token
        if token.kind == "name" and token.text.lower() == "not":
            return self.negation()
        if token.kind == "mark" and token.text == "-":
            self.advance()
            return Negate(token.at, self.expression(_UNARY_STRENGTH))
        if self.accept("("):
            inner = self.expression()
            self.expect(")")
            return inner
        return self.primary()

    def negation(self) -> Expression:
        token = self.advance()
        if self.token.text == "/" or self.token.kind == "end":
            self.fail(f"a condition is expected after {token.text!r}")
        if not self.token.spaced and self.token.text != "(":
            self.fail(f"white space is expected after {token.text!r}")
        return Not(token.at, self.expression(_UNARY_STRENGTH))

    def primary(self) -> Expression:
        token = self.token
        if token.kind in ("mark", "end"):
            self.fail(f"a name or a value is expected before {self.told()}")
        self.advance()
        if token.kind == "alias":
            return Alias(token.at, token.text)
        if token.kind == "dollar":
            return self.from_variable(token)
        if token.kind != "name":
            return self.literal(token)
        if token.text.lower() in _WORDS and self.token.text != "/":
            return Literal(token.at, *_WORDS[token.text.lower()])
        if self.token.text == "(":
            return self.call(token)
        return self.path(token)

    def from_variable(self, token: Token) -> Expression:
        if token.text.lower() != "$it":
            self.refuse(token.text)
        if self.token.text != "/":
            self.fail("a name is expected after '$it'", token.at)
        return self.path(token._replace(text="$it"))

    def call(self, token: Token) -> Expression:
        function = token.text.lower()
        if function in NOT_OFFERED:
            self.refuse(f"The function {token.text}")
        if function not in FUNCTIONS:
            close = difflib.get_close_matches(function, FUNCTIONS, n=1)
            hint = f" (is {close[0]} meant?)" if close else ""
            self.fail(f"there is no function {token.text}{hint}", token.at)
        self.expect("(")
        arguments: list[Expression] = []
        if not self.accept(")"):
            arguments.append(self.expression())
            while self.accept(","):
                arguments.append(self.expression())
            self.expect(")")
        if len(arguments) not in FUNCTIONS[function]:
            wanted = " or ".join(map(str, FUNCTIONS[function]))
            self.fail(f"{function} takes {wanted} arguments, {len(arguments)} are given", token.at)
        return Call(token.at, function, tuple(arguments))

    # --- paths ----------------------------------------------------------------------------------------

    def path(self, first: Token) -> Expression:
        segments = [first.text]
        while self.accept("/"):
            token = self.advance()
            if token.kind == "dollar":
                return self.count(Path(first.at, tuple(segments)), token)
            if token.kind != "name":
                self.fail("a name is expected after '/'", token.at)
            if self.token.text == "(":
                return self.quantified(Path(first.at, tuple(segments)), token)
            segments.append(token.text)
            if len(segments) > MAX_SEGMENTS:
                self.fail(f"a path has at most {MAX_SEGMENTS} segments", first.at)
        return Path(first.at, tuple(segments))

    def count(self, path: Path, token: Token) -> Expression:
        if token.text.lower() != "$count":
            self.refuse(f"{token.text} in a path")
        if not self.accept("("):
            return Count(path.at, path)
        option = self.advance().text.lower()
        if option not in ("$filter", "filter"):
            self.fail("$count takes a $filter only", token.at)
        self.expect("=")
        condition = self.expression()
        self.expect(")")
        return Count(path.at, path, condition)

    def quantified(self, path: Path, token: Token) -> Expression:
        quantifier = token.text.lower()
        if quantifier not in ("any", "all"):
            self.fail(f"any or all is expected instead of {token.text!r}", token.at)
        self.expect("(")
        if quantifier == "any" and self.accept(")"):
            return Lambda(path.at, quantifier, path, None, None)
        variable = self.variable()
        self.variables.append(variable)
        if len(self.variables) > MAX_QUANTIFIERS:
            self.fail(f"any and all stand inside each other at most {MAX_QUANTIFIERS} deep", token.at)
        body = self.expression()
        self.variables.pop()
        self.expect(")")
        return Lambda(path.at, quantifier, path, variable, body)

    def variable(self) -> str:
        token = self.advance()
        if token.kind != "name" or "." in token.text:
            self.fail("a variable and a colon are expected, as in any(item:item/Name eq 'x')", token.at)
        if token.text in self.variables:
            self.fail(f"the variable {token.text} is in use already", token.at)
        self.expect(":")
        return token.text

    # --- values ---------------------------------------------------------------------------------------

    def literal(self, token: Token) -> Literal:
        try:
            return _READERS[token.kind](self, token)
        except ValueError:
            self.fail(f"{token.text[:60]} is no {token.kind} that can be", token.at)

    def read_string(self, token: Token) -> Literal:
        return Literal(token.at, ValueKind.STRING, token.text[1:-1].replace("''", "'"))

    def read_guid(self, token: Token) -> Literal:
        return Literal(token.at, ValueKind.GUID, UUID(token.text))

    def read_date(self, token: Token) -> Literal:
        return Literal(token.at, ValueKind.DATE, dt.date.fromisoformat(token.text))

    def read_time(self, token: Token) -> Literal:
        return Literal(token.at, ValueKind.TIME, dt.time.fromisoformat(_microseconds(token.text)))

    def read_datetime(self, token: Token) -> Literal:
        # A plus sign that was not escaped arrives as a blank.
        text = token.text.upper().replace(" ", "+")
        return Literal(token.at, ValueKind.DATETIME, dt.datetime.fromisoformat(_microseconds(text)))

    def read_number(self, token: Token) -> Literal:
        if token.text.lstrip("+-").isdigit() and len(token.text) <= 60:
            return Literal(token.at, ValueKind.INTEGER, int(token.text))
        return Literal(token.at, ValueKind.DECIMAL, self.decimal(token))

    def decimal(self, token: Token) -> Decimal:
        """A number the databases can hold; the exponent is judged before anything is computed."""
        _, _, exponent = token.text.lower().partition("e")
        if len(token.text) <= 60 and abs(int(exponent or 0)) <= 60:
            return Decimal(token.text)
        raise BadQuery(
            f"{self.target}: the number at position {token.at + 1} has too many digits.",
            target=self.target,
            code="OutOfRange",
        )

    def read_typed(self, token: Token) -> Literal:
        name, _, rest = token.text.partition("'")
        if name.lower() in _TYPED_NOT_OFFERED:
            self.refuse(f"A {name.lower()} value")
        return Literal(token.at, ValueKind.ENUM, EnumLiteral(name, rest[:-1].replace("''", "'")))

    # --- $orderby -------------------------------------------------------------------------------------

    def sort_term(self) -> SortTerm:
        expression = self.expression()
        way = self.token.text.lower() if self.token.kind == "name" and self.token.spaced else ""
        if way not in ("asc", "desc"):
            return SortTerm(expression)
        self.advance()
        return SortTerm(expression, way == "desc")


_WORDS: dict[str, tuple[ValueKind, bool | None]] = {
    "null": (ValueKind.NULL, None),
    "true": (ValueKind.BOOLEAN, True),
    "false": (ValueKind.BOOLEAN, False),
}
_READERS = {
    "string": _Parser.read_string,
    "guid": _Parser.read_guid,
    "date": _Parser.read_date,
    "time": _Parser.read_time,
    "datetime": _Parser.read_datetime,
    "number": _Parser.read_number,
    "typed": _Parser.read_typed,
}


def _microseconds(text: str) -> str:
    """``text`` with a fraction of six digits at most, the finest the databases keep."""
    return re.sub(r"(\.\d{6})\d+", r"\1", text)
