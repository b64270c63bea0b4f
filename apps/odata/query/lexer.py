"""Tokens of $filter and $orderby expressions (OData 4.01, URL Conventions 5.1.1)."""

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple, NoReturn
from uuid import UUID

from apps.odata.errors import BadQuery, NotSupported
from apps.odata.query.ast import EnumLiteral, Literal, ValueKind


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """How long an expression may be: its characters, and the values of one ``in`` list."""

    length: int
    options: int


#: Characters of one expression without its ``in`` lists.
MAX_LENGTH = 16_384
#: The limits of an expression in an address, and of $filter and $apply in the body of a ``$query`` request.
#: Values of a list cost the database far less than comparisons do.
IN_ADDRESS = QueryLimits(MAX_LENGTH, 500)
IN_BODY = QueryLimits(400_000, 5_000)
#: Values of all ``in`` lists of one expression.
MAX_ALL_OPTIONS = 10_000
#: Characters of a number, and its greatest exponent.
MAX_DIGITS = 60

_IDENTIFIER = r"[^\W\d]\w{0,127}+(?!\w)"
_NAME = rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})*+"
_DATE = r"[0-9]{4,6}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,12})?+)?+"
# All quantifiers are possessive: no text makes the expression backtrack.
_TOKEN = re.compile(
    rf"""
    [ \t\r\n]*+ (?:
    (?P<guid>[0-9A-Fa-f]{{8}}-(?:[0-9A-Fa-f]{{4}}-){{3}}[0-9A-Fa-f]{{12}}(?!\w))
  | (?P<datetime>{_DATE}[Tt]{_TIME}(?:[Zz]|[-+\ ][0-9]{{2}}:[0-9]{{2}})?+(?![\w:]))
  | (?P<date>{_DATE}(?![\w-]))
  | (?P<time>{_TIME}(?![\w:]))
  | (?P<number>[-+]?[0-9]++(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+[dDfFlLmM]?+(?![\w.]))
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

_GEO_TYPES = ("geography", "geometry")
#: Types that others, such as OData 2 and 3, write before a value: guid'018bfaa8-…'.
_OLDER_TYPES = ("date", "datetime", "datetimeoffset", "time", "guid")
#: What other languages write, with what stands here in its place.
_MEANT = {
    **dict.fromkeys(("=", "==", "===", "is"), "eq"),
    **dict.fromkeys(("!=", "<>"), "ne"),
    **{">": "gt", ">=": "ge", "<": "lt", "<=": "le", "&&": "and", "||": "or", "!": "not"},
    **{"like": "contains", "ascending": "asc", "descending": "desc"},
}
_FOREIGN = re.compile(r"[=<>!&|]+|[A-Za-z]+")


class Token(NamedTuple):
    kind: str
    text: str
    at: int
    spaced: bool  # white space is before it


class Lexer:
    """The tokens of one text; ``token`` is the next one. ``target`` names the option in errors."""

    def __init__(self, text: str, target: str, limits: QueryLimits = IN_ADDRESS) -> None:
        self.text = text
        self.target = target
        self.limits = limits
        self.code = "Invalid" + target.rpartition("$")[2].capitalize()
        if len(text) > limits.length:
            self.fail_too_long(limits.length)
        self.position = 0
        #: The position up to which the text outside ``in`` lists may go.
        self.end = MAX_LENGTH
        self.token = Token("end", "", 0, False)
        self.advance()

    def advance(self) -> Token:
        """The next token; ``token`` is the one after it."""
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            self.fail_at_character()
        kind = match.lastgroup or "end"
        start = match.start(kind)
        token, self.token = self.token, Token(kind, match[kind], start, start > self.position)
        self.position = match.end()
        if self.position > self.end:
            self.fail_too_long(MAX_LENGTH, " without its lists of values")
        return token

    def accept(self, mark: str) -> bool:
        if self.token.text != mark or self.token.kind != "mark":
            return False
        self.advance()
        return True

    def expect(self, mark: str) -> None:
        if not self.accept(mark):
            self.fail(f"{mark!r} is expected before {self.token_name()}{self.hint(self.token.at)}")

    def token_name(self) -> str:
        return "the end" if self.token.kind == "end" else repr(self.token.text[:40])

    def hint(self, at: int) -> str:
        """What is likely meant by the text at a position where it cannot stand."""
        if self.text[at - 1 : at] == "'":  # 'O'Connor'
            return "; a quote within a string is written twice, 'O''Connor'"
        written = _FOREIGN.match(self.text, at)
        meant = _MEANT.get(written[0].lower()) if written else None
        return f" (is {meant} meant?)" if meant else ""

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        position = self.token.at if at is None else at
        raise BadQuery(
            f"{self.target} cannot be read at position {position + 1}: {reason}.",
            target=self.target,
            code=self.code,
        )

    def fail_too_long(self, length: int, without: str = "") -> NoReturn:
        raise BadQuery(
            f"{self.target} is longer than {length:,} characters{without}.",
            target=self.target,
            code=self.code,
        )

    def fail_unsupported(self, what: str, reason: str = "") -> NoReturn:
        message = f"{what} is part of OData and not offered by this service{reason}."
        raise NotSupported(message, target=self.target)

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
        self.fail(f"{rest[0]!r} is not expected here{self.hint(at)}", at)

    # --- literals -------------------------------------------------------------------------------------

    def literal(self, token: Token) -> Literal:
        text = token.text
        if token.kind == "number":
            # Suffixes of older versions, which clients still send: 12.50m, 7L.
            text = text.rstrip("dDfFlLmM")
            token = token._replace(text=text)
            if text.lstrip("+-").isdigit() and len(text) <= MAX_DIGITS:
                return Literal(token.at, ValueKind.INTEGER, int(text))
            return Literal(token.at, ValueKind.DECIMAL, self.decimal(token))
        if token.kind == "typed":
            type_name, _, quoted = text.partition("'")
            if type_name.lower() in _GEO_TYPES:
                self.fail_unsupported(f"A {type_name.lower()} value")
            if type_name.lower() == "binary":
                self.fail("no member is compared with a binary value", token.at)
            if type_name.lower() in _OLDER_TYPES:
                self.fail(
                    f"{type_name}'…' is not of OData 4; the value stands alone, without quotes", token.at
                )
            if type_name.lower() == "duration":
                return self.duration(token, unquote("'" + quoted))
            return Literal(token.at, ValueKind.ENUM, EnumLiteral(type_name, unquote("'" + quoted)))
        kind, read = _LITERALS[token.kind]
        try:
            return Literal(token.at, kind, read(text))
        except ValueError:
            self.fail(f"{text[:60]} is no {token.kind} that can be", token.at)

    def duration(self, token: Token, text: str) -> Literal:
        try:
            return Literal(token.at, ValueKind.DURATION, read_duration(text))
        except ValueError:
            self.fail(f"{token.text[:60]} is no duration that can be, such as duration'P30D'", token.at)

    def decimal(self, token: Token) -> Decimal:
        """A number that the databases can hold; the exponent is checked before the number is computed."""
        _, _, exponent = token.text.lower().partition("e")
        if len(token.text) <= MAX_DIGITS and abs(int(exponent or 0)) <= MAX_DIGITS:
            return Decimal(token.text)
        raise BadQuery(
            f"{self.target}: the number at position {token.at + 1} has too many digits.",
            target=self.target,
            code="OutOfRange",
        )


def unquote(text: str) -> str:
    """The value of a string literal."""
    return text[1:-1].replace("''", "'")


def cut_to_microseconds(text: str) -> str:
    """``text`` with a fraction of six digits at most, the precision of the databases."""
    return re.sub(r"(\.\d{6})\d+", r"\1", text)


_LITERALS: dict[str, tuple[ValueKind, Callable[[str], Any]]] = {
    "string": (ValueKind.STRING, unquote),
    "guid": (ValueKind.GUID, UUID),
    "date": (ValueKind.DATE, dt.date.fromisoformat),
    "time": (ValueKind.TIME, lambda text: dt.time.fromisoformat(cut_to_microseconds(text))),
    # A plus sign that was not escaped arrives as a blank.
    "datetime": (
        ValueKind.DATETIME,
        lambda text: dt.datetime.fromisoformat(cut_to_microseconds(text.upper().replace(" ", "+"))),
    ),
}


_DURATION = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<days>[0-9]{1,7})D)?"
    r"(?:T(?=[0-9])(?:(?P<hours>[0-9]{1,8})H)?(?:(?P<minutes>[0-9]{1,10})M)?"
    r"(?:(?P<seconds>[0-9]{1,12}(?:\.[0-9]{1,12})?)S)?)?"
)
#: As long as the calendar.
MAX_DURATION = dt.date.max - dt.date.min


def read_duration(text: str) -> dt.timedelta:
    """``P30D``, ``-PT1H30M``, ``P1DT0.5S``; ``ValueError`` for what is none, or longer than the calendar."""
    match = _DURATION.fullmatch(text.strip())
    parts = {name: part for name, part in match.groupdict().items() if part} if match else {}
    sign = parts.pop("sign", "")
    if not parts:
        raise ValueError(text)
    microseconds = int(Decimal(parts.pop("seconds", 0)) * 1_000_000)
    length = dt.timedelta(microseconds=microseconds)
    length += sum((dt.timedelta(**{name: int(part)}) for name, part in parts.items()), dt.timedelta())
    if length > MAX_DURATION:
        raise ValueError(text)
    return -length if sign == "-" else length
