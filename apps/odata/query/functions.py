"""The SQL of $filter and $orderby: one text per engine, with equal results on both.

SQLite is taught decimal arithmetic, Unicode-wide case mapping and times in a zone by functions of our own; it
keeps a computed number as a double, so the engines agree to 15 digits. Text is ordered by code point on both
(``COLLATE "C"`` is SQLite's own order).
"""

from __future__ import annotations

import datetime as dt
import decimal
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import models
from django.db.models.expressions import Expression

from apps.odata.query.ast import ValueKind


class Number(models.Field):
    """The type of computed numbers: what the database answers, without Django's rounding to 15 digits."""

    def get_internal_type(self) -> str:
        return "Number"


FIELDS: dict[ValueKind, models.Field] = {
    ValueKind.NULL: models.TextField(),
    ValueKind.BOOLEAN: models.BooleanField(),
    ValueKind.INTEGER: Number(),
    ValueKind.DECIMAL: Number(),
    ValueKind.STRING: models.TextField(),
    ValueKind.GUID: models.UUIDField(),
    ValueKind.DATE: models.DateField(),
    ValueKind.DATETIME: models.DateTimeField(),
    ValueKind.TIME: models.TimeField(),
    ValueKind.ENUM: models.TextField(),
    ValueKind.OBJECT: models.TextField(),
}


class Template:
    """SQL with numbered places for operands: ``Template("({0} = {1})")(left, right)``.

    ``sqlite`` is given where it differs; ``kind`` is the kind of the result.
    """

    def __init__(
        self, postgresql: str, sqlite: str | None = None, kind: ValueKind = ValueKind.BOOLEAN
    ) -> None:
        self.pieces = {"postgresql": cut(postgresql), "sqlite": cut(sqlite or postgresql)}
        self.kind = kind

    def __call__(self, *operands: Any) -> Sql:
        return Sql(self, operands)


def cut(text: str) -> tuple[str | int, ...]:
    """``"({0} = {1})"`` -> ``("(", 0, " = ", 1, ")")``."""
    pieces = re.split(r"\{(\d+)\}", text)
    return tuple(int(piece) if at % 2 else piece for at, piece in enumerate(pieces))


class Sql(Expression):
    """A template with its operands, as Django expressions compose."""

    def __init__(self, template: Template, operands: Sequence[Any]) -> None:
        super().__init__(output_field=FIELDS[template.kind])
        self.sql_template = template
        self.operands = list(operands)

    def get_source_expressions(self) -> list[Any]:
        return self.operands

    def set_source_expressions(self, exprs: Sequence[Any]) -> None:
        self.operands = list(exprs)

    def resolve_expression(
        self,
        query: Any = None,
        allow_joins: bool = True,
        reuse: set[str] | None = None,
        summarize: bool = False,
        for_save: bool = False,
    ) -> Sql:
        """As Django's, which copies every node by way of pickling and would cost more than the query."""
        resolved = Sql(
            self.sql_template,
            [operand.resolve_expression(query, allow_joins, reuse, summarize) for operand in self.operands],
        )
        resolved.is_summary = summarize
        return resolved

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        compiled = [compiler.compile(operand) for operand in self.operands]
        texts: list[str] = []
        params: list[Any] = []
        for piece in self.sql_template.pieces[connection.vendor]:
            if isinstance(piece, str):
                texts.append(piece)
            else:
                texts.append(compiled[piece][0])
                params.extend(compiled[piece][1])
        return "".join(texts), tuple(params)


#: PostgreSQL cannot guess the type of a placeholder that stands alone in a function.
_CASTS = {
    ValueKind.NULL: "::text",
    ValueKind.BOOLEAN: "::boolean",
    ValueKind.DECIMAL: "::numeric",
    ValueKind.STRING: "::text",
    ValueKind.ENUM: "::text",
    ValueKind.GUID: "::uuid",
    ValueKind.DATE: "::date",
    ValueKind.DATETIME: "::timestamptz",
    ValueKind.TIME: "::time",
}


class Constant(Expression):
    """A value that both engines compare exactly as OData means it."""

    def __init__(self, kind: ValueKind, value: Any) -> None:
        super().__init__(output_field=FIELDS[kind])
        self.kind = kind
        self.value = value

    def resolve_expression(self, *args: Any, **kwargs: Any) -> Constant:
        return self

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        if connection.vendor == "sqlite":
            return "%s", (sqlite_value(self.value),)
        cast = _CASTS.get(self.kind, "" if self.value is not None else "::numeric")
        return f"%s{cast}", (self.value,)


def sqlite_value(value: Any) -> Any:
    """The value as SQLite stores it; numbers beyond 64 bits as the nearest it can compare."""
    match value:
        case bool() | str() | None:
            return value
        case int() | Decimal():
            return stored_number(Decimal(value))
        case UUID():
            return value.hex
        case dt.datetime():
            return str(value.astimezone(dt.UTC).replace(tzinfo=None))
    return str(value)


# --- templates ----------------------------------------------------------------------------------------

ITSELF = Template("{0}")
NOT = Template("(NOT {0})")
IS_TRUE = Template("({0} IS TRUE)")
IS_NOT_TRUE = Template("({0} IS NOT TRUE)")
IS_NULL = Template("({0} IS NULL)")
IS_NOT_NULL = Template("({0} IS NOT NULL)")
ALWAYS = Template("(1 = 1)")
NEVER = Template("(1 = 0)")
BOTH_NULL = Template("({0} IS NULL AND {1} IS NULL)")
EQUAL = Template("({0} = {1})")
NOT_EQUAL = Template("({0} <> {1})")
SAME = Template("({0} IS NOT DISTINCT FROM {1})", "({0} IS {1})")
DISTINCT = Template("({0} IS DISTINCT FROM {1})", "({0} IS NOT {1})")
COUNT = Template("COUNT(*)", kind=ValueKind.INTEGER)

#: The order comparisons.
ORDERED = {
    "gt": Template("({0} > {1})"),
    "ge": Template("({0} >= {1})"),
    "lt": Template("({0} < {1})"),
    "le": Template("({0} <= {1})"),
}
#: Text as it is ordered and compared by code point.
BY_CODE_POINT = Template('({0} COLLATE "C")', "{0}", kind=ValueKind.STRING)


def joined(word: str, number: int) -> Template:
    """``number`` conditions with AND or OR between them."""
    known = _JUNCTIONS.get((word, number))
    return known or Template(chain(word, [f"{{{at}}}" for at in range(number)]))


#: SQLite nests a chain as deep as it is long and bears a depth of 1,000, so long ones are written in groups.
GROUP = 32


def chain(word: str, conditions: list[str]) -> str:
    while len(conditions) > GROUP:
        groups = range(0, len(conditions), GROUP)
        conditions = [chain(word, conditions[at : at + GROUP]) for at in groups]
    return f"({f' {word} '.join(conditions)})"


_JUNCTIONS = {
    (word, number): Template(chain(word, [f"{{{at}}}" for at in range(number)]))
    for word in ("AND", "OR")
    for number in range(2, 9)
}


def among(number: int) -> Template:
    """Operand 0 is one of the ``number`` operands that follow."""
    return Template("({0} IN (" + ", ".join(f"{{{at + 1}}}" for at in range(number)) + "))")


def any_given(number: int) -> Template:
    """Not null when one of ``number`` operands is not."""
    given = " OR ".join(f"{{{at}}} IS NOT NULL" for at in range(number))
    return Template(f"(CASE WHEN {given} THEN 1 END)", kind=ValueKind.INTEGER)


def rows_compared(comparison: str, number: int) -> Template:
    """``(a, b) > (x, y)``: the first ``number`` operands with the last, which one index can answer."""
    left = ", ".join(f"{{{at}}}" for at in range(number))
    right = ", ".join(f"{{{at + number}}}" for at in range(number))
    return Template(f"(({left}) {comparison} ({right}))")


_WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    + ("\u2028\u2029\u202f\u205f\u3000")
)
WHITE_SPACE = Constant(ValueKind.STRING, _WHITE_SPACE)

#: A literal at the start or anywhere: ``LIKE`` on PostgreSQL, where an index can help.
MATCHES = Template("({0} LIKE {1})")
CONTAINS = Template("(STRPOS({0}, {1}) > 0)", "(INSTR({0}, {1}) > 0)")
STARTS_WITH = Template("STARTS_WITH({0}, {1})", "(SUBSTR({0}, 1, LENGTH({1})) = {1})")
ENDS_WITH = Template("(RIGHT({0}, LENGTH({1})) = {1})", "(SUBSTR({0}, LENGTH({0}) - LENGTH({1}) + 1) = {1})")
CONTAINS_LITERAL = Template("({0} LIKE {2})", "(INSTR({0}, {1}) > 0)")
STARTS_WITH_LITERAL = Template("({0} LIKE {2})", "(SUBSTR({0}, 1, LENGTH({1})) = {1})")
LENGTH = Template("LENGTH({0})", kind=ValueKind.INTEGER)
INDEX_OF = Template("(STRPOS({0}, {1}) - 1)", "(INSTR({0}, {1}) - 1)", kind=ValueKind.INTEGER)
SUBSTRING = Template("SUBSTR({0}, {1})", kind=ValueKind.STRING)
SUBSTRING_OF_LENGTH = Template("SUBSTR({0}, {1}, {2})", kind=ValueKind.STRING)
TO_LOWER = Template("LOWER({0})", "odata_lower({0})", kind=ValueKind.STRING)
TO_UPPER = Template("UPPER({0})", "odata_upper({0})", kind=ValueKind.STRING)
TRIM = Template("BTRIM({0}, {1})", "TRIM({0}, {1})", kind=ValueKind.STRING)
CONCAT = Template("({0} || {1})", kind=ValueKind.STRING)

#: The longest text that is reckoned with.
LONGEST = 2**30
#: A count of characters made safe for SUBSTR, neither negative nor beyond any text, and ``{1}`` added. The
#: operand stands in it once, or nested calls would double the text with every level.
AS_LENGTH = Template(
    f"(SELECT CASE WHEN n < 0 THEN 0 WHEN n > {LONGEST} THEN {LONGEST} ELSE n END::integer + {{1}}"
    " FROM (SELECT {0} AS n) AS counted)",
    "odata_length({0}, {1})",
    kind=ValueKind.INTEGER,
)


def arithmetic(postgresql: str, name: str) -> dict[ValueKind, Template]:
    """One operation, with whole and with other numbers; both are exact."""
    return {
        kind: Template(postgresql, f"{name}({{0}}, {{1}})", kind)
        for kind in (ValueKind.INTEGER, ValueKind.DECIMAL)
    }


#: Fractional digits of a quotient, the same on both engines.
QUOTIENT_DIGITS = 12
_QUOTIENT = (
    f"ROUND(({{0}}::numeric + 0.{'0' * QUOTIENT_DIGITS}) / NULLIF({{1}}::numeric, 0), {QUOTIENT_DIGITS})"
)
ARITHMETIC = {
    "add": arithmetic("({0}::numeric + {1}::numeric)", "odata_add"),
    "sub": arithmetic("({0}::numeric - {1}::numeric)", "odata_sub"),
    "mul": arithmetic("({0}::numeric * {1}::numeric)", "odata_mul"),
    "mod": arithmetic("MOD({0}::numeric, NULLIF({1}::numeric, 0))", "odata_mod"),
    "divby": arithmetic(_QUOTIENT, "odata_divby"),
    "div": {
        ValueKind.INTEGER: Template(
            "DIV({0}::numeric, NULLIF({1}::numeric, 0))", "odata_div({0}, {1})", ValueKind.INTEGER
        ),
        ValueKind.DECIMAL: Template(_QUOTIENT, "odata_divby({0}, {1})", ValueKind.DECIMAL),
    },
}
NEGATIVE = {
    kind: Template("(- {0}::numeric)", "odata_negative({0})", kind)
    for kind in (ValueKind.INTEGER, ValueKind.DECIMAL)
}
ROUNDING = {
    "round": Template("ROUND({0}::numeric)", "odata_round({0})", ValueKind.DECIMAL),
    "floor": Template("FLOOR({0}::numeric)", "odata_floor({0})", ValueKind.DECIMAL),
    "ceiling": Template("CEIL({0}::numeric)", "odata_ceiling({0})", ValueKind.DECIMAL),
}

_DATE_PLACES = {"year": (1, 4), "month": (6, 2), "day": (9, 2)}
_TIME_PLACES = {"hour": (1, 2), "minute": (4, 2), "second": (7, 2)}


def extracted(part: str, of: str) -> str:
    return f"FLOOR(EXTRACT({part.upper()} FROM {of}))::integer"


#: Parts of a date or a time; operand 0 is the value.
PARTS_OF_DATE = {
    part: Template(extracted(part, "{0}"), f"CAST(SUBSTR({{0}}, {at}, {n}) AS INTEGER)", ValueKind.INTEGER)
    for part, (at, n) in _DATE_PLACES.items()
}
PARTS_OF_TIME = {
    part: Template(extracted(part, "{0}"), f"CAST(SUBSTR({{0}}, {at}, {n}) AS INTEGER)", ValueKind.INTEGER)
    for part, (at, n) in _TIME_PLACES.items()
}
#: Parts of a date and time; operand 0 is the value, operand 1 the name of the zone.
PARTS_OF_DATETIME = {
    part: Template(
        extracted(part, "{0} AT TIME ZONE {1}"), f"odata_part('{part}', {{0}}, {{1}})", ValueKind.INTEGER
    )
    for part in (*_DATE_PLACES, *_TIME_PLACES)
}
PARTS_OF_DATETIME["date"] = Template(
    "({0} AT TIME ZONE {1})::date", "odata_part('date', {0}, {1})", ValueKind.DATE
)
PARTS_OF_DATETIME["time"] = Template(
    "({0} AT TIME ZONE {1})::time", "odata_part('time', {0}, {1})", ValueKind.TIME
)


def like_pattern(text: str, before: str = "", after: str = "%") -> str:
    """``text`` as a LIKE pattern in which its own wildcards are plain characters."""
    return before + re.sub(r"([\\%_])", r"\\\1", text) + after


# --- what SQLite is taught ----------------------------------------------------------------------------


def register(connection: Any) -> None:
    """Teach a SQLite connection that was just made the functions used above."""
    driver = connection.connection
    for name, function in _OF_ONE.items():
        driver.create_function(name, 1, function, deterministic=True)
    for name, function in _OF_TWO.items():
        driver.create_function(name, 2, function, deterministic=True)
    driver.create_function("odata_part", 3, part_in_zone, deterministic=True)


#: Digits enough for any double, and a quotient by zero is refused rather than infinite.
_EXACT = decimal.Context(prec=400, traps=[decimal.InvalidOperation, decimal.DivisionByZero])


def exactly(compute: Callable[..., Decimal]) -> Callable[..., int | float | None]:
    """A function of SQLite numbers computed in decimals; null for null, and for what has no value."""

    def computed(*numbers: int | float | str | None) -> int | float | None:
        if None in numbers:
            return None
        try:
            return stored_number(compute(*(Decimal(str(number)) for number in numbers)))
        except ArithmeticError:
            return None

    return computed


def stored_number(number: Decimal) -> int | float:
    """A number as SQLite holds it: an integer where it can be one, else the nearest double."""
    if not number.is_finite() or number.adjusted() > 18 or number != (whole_number := int(number)):
        return float(number)
    return whole_number if -(2**63) <= whole_number < 2**63 else float(number)


def quotient(left: Decimal, right: Decimal) -> Decimal:
    """Rounded half away from zero, as PostgreSQL's ROUND does."""
    return _EXACT.divide(left, right).quantize(
        Decimal(1).scaleb(-QUOTIENT_DIGITS), decimal.ROUND_HALF_UP, _EXACT
    )


def whole(number: Decimal, rounding: str) -> Decimal:
    return number.quantize(Decimal(1), rounding, _EXACT)


def safe_length(number: float | None, plus: int) -> int | None:
    """See ``AS_LENGTH``."""
    return None if number is None else int(min(max(number, 0), LONGEST)) + plus


_OF_TWO: dict[str, Callable[..., Any]] = {
    "odata_length": safe_length,
    "odata_add": exactly(_EXACT.add),
    "odata_sub": exactly(_EXACT.subtract),
    "odata_mul": exactly(_EXACT.multiply),
    "odata_mod": exactly(_EXACT.remainder),
    "odata_div": exactly(_EXACT.divide_int),
    "odata_divby": exactly(quotient),
}


def mapped(text: str | None, change: Callable[[str], str]) -> str | None:
    """Case mapping character by character, as PostgreSQL does it: ``ß`` stays ``ß`` in capitals."""
    if text is None:
        return None
    if text.isascii():
        return change(text)
    return "".join(new if len(new := change(old)) == 1 else old for old in text)


_OF_ONE: dict[str, Callable[..., Any]] = {
    "odata_lower": lambda text: mapped(text, str.lower),
    "odata_upper": lambda text: mapped(text, str.upper),
    "odata_negative": exactly(_EXACT.minus),
    "odata_round": exactly(lambda number: whole(number, decimal.ROUND_HALF_UP)),
    "odata_floor": exactly(lambda number: whole(number, decimal.ROUND_FLOOR)),
    "odata_ceiling": exactly(lambda number: whole(number, decimal.ROUND_CEILING)),
}


def part_in_zone(part: str, stored: str | None, zone: str) -> int | str | None:
    """A part of a stored UTC time as the clocks in ``zone`` tell it; null beyond the calendar's ends."""
    if stored is None:
        return None
    try:
        local = dt.datetime.fromisoformat(stored).replace(tzinfo=dt.UTC).astimezone(ZoneInfo(zone))
    except OverflowError:
        return None
    return stored_part(part, local)


def stored_part(part: str, local: dt.datetime) -> int | str:
    if part in ("date", "time"):
        return str(getattr(local, part)())
    number: int = getattr(local, part)
    return number
