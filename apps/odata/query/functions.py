"""SQL templates of $filter and $orderby, with equal results on PostgreSQL and SQLite.

Decimal arithmetic, Unicode case mapping and times in a zone are functions of our own on SQLite
(``apps.odata.query.sqlite_functions``); it stores a computed number as a double, so the engines agree to 15
digits. Text is ordered by code point on both (``COLLATE "C"`` is SQLite's own order).
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import Expression, Func
from django.db.models.sql.compiler import SQLCompiler

from apps.base.batched_queries import array_of_guids, array_of_texts
from apps.odata.query.ast import NUMBERS, ValueKind
from apps.odata.query.sqlite_functions import MAX_TEXT_LENGTH, to_sqlite_number
from apps.odata.query.stored_values import QUOTIENT_DIGITS


class Number(models.Field):
    """The type of computed numbers, without Django's rounding to 15 digits."""

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
    ValueKind.DURATION: Number(),
    ValueKind.ENUM: models.TextField(),
    ValueKind.OBJECT: models.TextField(),
}


class Template:
    """SQL with numbered operands: ``Template("({0} = {1})")(left, right)``.

    ``sqlite`` is the SQL of SQLite where it differs; ``kind`` is the kind of the result.
    """

    def __init__(
        self, postgresql: str, sqlite: str | None = None, kind: ValueKind = ValueKind.BOOLEAN
    ) -> None:
        self.pieces = {
            "postgresql": split_template(postgresql),
            "sqlite": split_template(sqlite or postgresql),
        }
        self.kind = kind

    def __call__(self, *operands: object) -> Sql:
        return Sql(self, operands)


def split_template(text: str) -> tuple[str | int, ...]:
    """``"({0} = {1})"`` -> ``("(", 0, " = ", 1, ")")``."""
    pieces = re.split(r"\{(\d+)\}", text)
    return tuple(int(piece) if at % 2 else piece for at, piece in enumerate(pieces))


class Sql(Func):
    """A template with its operands, as a Django expression."""

    def __init__(self, template: Template, operands: Sequence[object]) -> None:
        super().__init__(*operands, output_field=FIELDS[template.kind])
        self.sql_template = template

    def resolve_expression(
        self,
        query: object = None,
        allow_joins: bool = True,
        reuse: set[str] | None = None,
        summarize: bool = False,
        for_save: bool = False,
    ) -> Sql:
        """As Django's, which copies every node by pickling and would take longer than the query."""
        operands = self.get_source_expressions()
        resolved = Sql(
            self.sql_template,
            [operand.resolve_expression(query, allow_joins, reuse, summarize) for operand in operands],
        )
        resolved.is_summary = summarize
        return resolved

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: object
    ) -> tuple[str, tuple[object, ...]]:
        compiled = [compiler.compile(operand) for operand in self.get_source_expressions()]
        texts: list[str] = []
        params: list[object] = []
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
    ValueKind.DURATION: "::numeric",
}


class Constant(Expression):
    """A value, in the form in which the engine compares it as OData says."""

    def __init__(self, kind: ValueKind, value: Any) -> None:
        super().__init__(output_field=FIELDS[kind])
        self.kind = kind
        self.value = value

    def resolve_expression(self, *args: object, **kwargs: object) -> Constant:
        return self

    def as_sql(self, compiler: object, connection: BaseDatabaseWrapper) -> tuple[str, tuple[object, ...]]:
        if connection.vendor == "sqlite":
            return "%s", (sqlite_value(self.value),)
        cast = _CASTS.get(self.kind, "" if self.value is not None else "::numeric")
        return f"%s{cast}", (self.value,)


def sqlite_value(value: object) -> object:
    """The value as SQLite stores it; numbers of more than 64 bits as the nearest double."""
    match value:
        case bool() | str() | None:
            return value
        case int() | Decimal():
            return to_sqlite_number(Decimal(value))
        case UUID():
            return value.hex
        case dt.datetime():
            return str(value.astimezone(dt.UTC).replace(tzinfo=None))
    return str(value)


# --- templates ----------------------------------------------------------------------------------------

CONDITION = Template("{0}")
NOT = Template("(NOT {0})")
IS_TRUE = Template("({0} IS TRUE)")
IS_NOT_TRUE = Template("({0} IS NOT TRUE)")
IS_NULL = Template("({0} IS NULL)")
IS_NOT_NULL = Template("({0} IS NOT NULL)")
NEVER = Template("(1 = 0)")
BOTH_NULL = Template("({0} IS NULL AND {1} IS NULL)")
EQUAL = Template("({0} = {1})")
NOT_EQUAL = Template("({0} <> {1})")
SAME = Template("({0} IS NOT DISTINCT FROM {1})", "({0} IS {1})")
DISTINCT = Template("({0} IS DISTINCT FROM {1})", "({0} IS NOT {1})")
COUNT = Template("COUNT(*)", kind=ValueKind.INTEGER)
ZERO_IF_NULL = Template("COALESCE({0}, 0)", kind=ValueKind.DECIMAL)

#: The order comparisons.
ORDERED = {
    "gt": Template("({0} > {1})"),
    "ge": Template("({0} >= {1})"),
    "lt": Template("({0} < {1})"),
    "le": Template("({0} <= {1})"),
}
#: Text as it is ordered and compared by code point.
BY_CODE_POINT = Template('({0} COLLATE "C")', "{0}", kind=ValueKind.STRING)


#: SQLite nests a chain as deep as it is long, up to a depth of 1,000, so long chains are written in groups.
GROUP_SIZE = 32


@lru_cache(maxsize=32)
def join_conditions(operator: str, number: int) -> Template:
    """``number`` conditions with AND or OR between them."""
    conditions = [f"{{{at}}}" for at in range(number)]
    while len(conditions) > GROUP_SIZE:
        starts = range(0, len(conditions), GROUP_SIZE)
        conditions = [f"({f' {operator} '.join(conditions[start : start + GROUP_SIZE])})" for start in starts]
    return Template(f"({f' {operator} '.join(conditions)})")


class IsOneOf(Func):
    """The operand is one of many constants, which are one parameter of a statement that is always the same.

    SQLite reads numbers with a fraction in a text otherwise than its columns; they are a parameter each.
    """

    output_field = FIELDS[ValueKind.BOOLEAN]

    def __init__(self, operand: object, constants: Sequence[Constant]) -> None:
        super().__init__(operand)
        self.constants = constants

    def resolve_expression(self, *args: object, **kwargs: object) -> IsOneOf:
        (operand,) = self.get_source_expressions()
        return IsOneOf(operand.resolve_expression(*args, **kwargs), self.constants)

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: object
    ) -> tuple[str, tuple[object, ...]]:
        text, params = compiler.compile(self.get_source_expressions()[0])
        if connection.vendor == "postgresql":
            first = self.constants[0].value
            array = array_of_texts if isinstance(first, str) else array_of_guids
            values = [each.value for each in self.constants]
            return f"({text} = ANY(%s::{self.array_type}))", (*params, array(values))
        values = [sqlite_value(each.value) for each in self.constants]
        if any(type(value) is float for value in values):
            return f"({text} IN ({', '.join(['%s'] * len(values))}))", (*params, *values)
        return f"({text} IN (SELECT value FROM json_each(%s)))", (*params, json.dumps(values))

    @property
    def array_type(self) -> str:
        kinds = {each.kind for each in self.constants}
        if kinds == {ValueKind.INTEGER}:
            is_big = any(not -(2**63) <= each.value < 2**63 for each in self.constants)
            return "numeric[]" if is_big else "bigint[]"
        return "numeric[]" if kinds <= {*NUMBERS} else f"{_CASTS[kinds.pop()][2:]}[]"


@lru_cache(maxsize=64)
def first_true(number: int, kind: ValueKind) -> Template:
    """The operand behind the first of ``number`` conditions that is true."""
    branches = " ".join(f"WHEN {{{2 * at}}} THEN {{{2 * at + 1}}}" for at in range(number))
    return Template(f"(CASE {branches} END)", kind=kind)


def any_not_null(number: int) -> Template:
    """Not null when one of ``number`` operands is not null."""
    condition = " OR ".join(f"{{{at}}} IS NOT NULL" for at in range(number))
    return Template(f"(CASE WHEN {condition} THEN 1 END)", kind=ValueKind.INTEGER)


def compare_rows(comparison: str, number: int) -> Template:
    """``(a, b) > (x, y)``: the first ``number`` operands and the others, which one index can answer."""
    left = ", ".join(f"{{{at}}}" for at in range(number))
    right = ", ".join(f"{{{at + number}}}" for at in range(number))
    return Template(f"(({left}) {comparison} ({right}))")


_WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    + ("\u2028\u2029\u202f\u205f\u3000")
)
WHITE_SPACE = Constant(ValueKind.STRING, _WHITE_SPACE)

#: A literal at the start or anywhere is a ``LIKE`` on PostgreSQL, which an index can answer.
CONTAINS = Template("(STRPOS({0}, {1}) > 0)", "(INSTR({0}, {1}) > 0)")
STARTS_WITH = Template("STARTS_WITH({0}, {1})", "(SUBSTR({0}, 1, LENGTH({1})) = {1})")
ENDS_WITH = Template("(RIGHT({0}, LENGTH({1})) = {1})", "(SUBSTR({0}, LENGTH({0}) - LENGTH({1}) + 1) = {1})")
CONTAINS_LITERAL = Template("({0} LIKE {2})", "(INSTR({0}, {1}) > 0)")
STARTS_WITH_LITERAL = Template("({0} LIKE {2})", "(SUBSTR({0}, 1, LENGTH({1})) = {1})")
#: The same, and equality, of columns that PostgreSQL has an index of in small letters alone: what is equal in
#: any case is looked up there, and then compared. SQLite has no such index.
CONTAINS_INDEXED = Template("({0} LIKE {2} AND LOWER({0}) LIKE LOWER({2}))", "(INSTR({0}, {1}) > 0)")
STARTS_WITH_INDEXED = Template(
    "({0} LIKE {2} AND LOWER({0}) LIKE LOWER({2}))", "(SUBSTR({0}, 1, LENGTH({1})) = {1})"
)
EQUAL_INDEXED = Template("({0} = {1} AND LOWER({0}) = LOWER({1}))", "({0} = {1})")
LENGTH = Template("LENGTH({0})", kind=ValueKind.INTEGER)
INDEX_OF = Template("(STRPOS({0}, {1}) - 1)", "(INSTR({0}, {1}) - 1)", kind=ValueKind.INTEGER)
SUBSTRING = Template("SUBSTR({0}, {1})", kind=ValueKind.STRING)
SUBSTRING_OF_LENGTH = Template("SUBSTR({0}, {1}, {2})", kind=ValueKind.STRING)
TO_LOWER = Template("LOWER({0})", "odata_lower({0})", kind=ValueKind.STRING)
TO_UPPER = Template("UPPER({0})", "odata_upper({0})", kind=ValueKind.STRING)
TRIM = Template("BTRIM({0}, {1})", "TRIM({0}, {1})", kind=ValueKind.STRING)
CONCAT = Template("({0} || {1})", kind=ValueKind.STRING)

#: A number of characters within the limits of SUBSTR, and ``{1}`` added. The operand is in it once, or nested
#: calls would double the text with every level.
LIMITED_LENGTH = Template(
    "(SELECT CASE WHEN n < 0 THEN 0"
    f" WHEN n > {MAX_TEXT_LENGTH} THEN {MAX_TEXT_LENGTH} ELSE n END::integer + {{1}}"
    " FROM (SELECT {0} AS n) AS characters)",
    "odata_length({0}, {1})",
    kind=ValueKind.INTEGER,
)


def arithmetic(postgresql: str, name: str) -> dict[ValueKind, Template]:
    """One operation with integers and with decimals; both are exact."""
    return {
        kind: Template(postgresql, f"{name}({{0}}, {{1}})", kind)
        for kind in (ValueKind.INTEGER, ValueKind.DECIMAL)
    }


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
#: The aggregate functions of $apply; an average has as many digits as a quotient.
AGGREGATES = {
    "sum": Template("SUM({0})", "odata_sum({0})", ValueKind.DECIMAL),
    "average": Template(
        f"ROUND((SUM({{0}})::numeric + 0.{'0' * QUOTIENT_DIGITS}) / NULLIF(COUNT({{0}})::numeric, 0),"
        f" {QUOTIENT_DIGITS})",
        "odata_divby(odata_sum({0}), COUNT({0}))",
        ValueKind.DECIMAL,
    ),
    "min": Template("MIN({0})", kind=ValueKind.DECIMAL),
    "max": Template("MAX({0})", kind=ValueKind.DECIMAL),
    "count": Template("COUNT({0})", kind=ValueKind.INTEGER),
    "stored_number": Template("COALESCE(SUM({0}), 0)::bigint", kind=ValueKind.INTEGER),
    "countdistinct": Template("COUNT(DISTINCT {0})", kind=ValueKind.INTEGER),
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

#: Where the parts stand in the text of a date or a time of SQLite: (first character, number of characters).
_DATE_PLACES = {"year": (1, 4), "month": (6, 2), "day": (9, 2)}
_TIME_PLACES = {"hour": (1, 2), "minute": (4, 2), "second": (7, 2)}


def extract(part: str, of: str) -> str:
    return f"FLOOR(EXTRACT({part.upper()} FROM {of}))::integer"


def parts_of(places: dict[str, tuple[int, int]]) -> dict[str, Template]:
    """Parts of a date or a time; operand 0 is the value."""
    return {
        part: Template(extract(part, "{0}"), f"CAST(SUBSTR({{0}}, {at}, {n}) AS INTEGER)", ValueKind.INTEGER)
        for part, (at, n) in places.items()
    }


#: The fraction of a second of a time, or of a date and time in any zone.
FRACTION = Template(
    "MOD(EXTRACT(SECOND FROM {0})::numeric, 1)", "odata_fraction({0})", kind=ValueKind.DECIMAL
)
PARTS_OF_DATE = parts_of(_DATE_PLACES)
PARTS_OF_TIME = parts_of(_TIME_PLACES) | {"fractionalseconds": FRACTION}
_LOCAL = "{0} AT TIME ZONE {1}"
#: Parts of a date and time; operand 0 is the value, operand 1 the name of the zone.
PARTS_OF_DATETIME = {
    part: Template(extract(part, _LOCAL), f"odata_part('{part}', {{0}}, {{1}})", ValueKind.INTEGER)
    for part in (*_DATE_PLACES, *_TIME_PLACES)
} | {
    "date": Template(f"({_LOCAL})::date", "odata_part('date', {0}, {1})", ValueKind.DATE),
    "time": Template(f"({_LOCAL})::time", "odata_part('time', {0}, {1})", ValueKind.TIME),
    "fractionalseconds": FRACTION,
    "totaloffsetminutes": Template(
        f"FLOOR(EXTRACT(EPOCH FROM ({_LOCAL}) - ({{0}} AT TIME ZONE 'UTC')) / 60)::integer",
        "odata_part('offset', {0}, {1})",
        ValueKind.INTEGER,
    ),
}

#: The seconds ``s`` stay within an integer's days; beyond the calendar nothing is computed, which would fail.
_MOVED = (
    "(SELECT CASE WHEN {} THEN {} END FROM"
    " (SELECT {{0}} AS p, GREATEST(LEAST({{1}}::numeric, 1e12), -1e12) AS s) AS moved)"
)
_DAYS = "FLOOR(s / 86400)::integer"
#: A point in time so many seconds later, null unless it is between operands 2 and 3. Days are 24 hours, since
#: UTC has no others; of a date they are whole ones.
MOVED = {
    ValueKind.DATE: Template(
        _MOVED.format(f"p - {{2}} + {_DAYS} BETWEEN 0 AND {{3}} - {{2}}", f"p + {_DAYS}"),
        "odata_moved({0}, {1}, {2}, {3})",
        ValueKind.DATE,
    ),
    ValueKind.DATETIME: Template(
        _MOVED.format(
            "EXTRACT(EPOCH FROM p) + s BETWEEN EXTRACT(EPOCH FROM {2}) AND EXTRACT(EPOCH FROM {3})",
            f"(p AT TIME ZONE 'UTC' + make_interval(days => {_DAYS},"
            " secs => (s - 86400 * FLOOR(s / 86400))::float8)) AT TIME ZONE 'UTC'",
        ),
        "odata_moved({0}, {1}, {2}, {3})",
        ValueKind.DATETIME,
    ),
}
#: The seconds between two points in time.
DIFFERENCE = {
    ValueKind.DATE: Template(
        "(({0} - {1})::numeric * 86400)", "odata_difference({0}, {1})", ValueKind.DURATION
    ),
    ValueKind.DATETIME: Template(
        "EXTRACT(EPOCH FROM ({0} - {1}))::numeric", "odata_difference({0}, {1})", ValueKind.DURATION
    ),
}


def like_pattern(text: str, before: str) -> str:
    """``text`` and what follows as a LIKE pattern; wildcards in it are escaped."""
    return before + re.sub(r"([\\%_])", r"\\\1", text) + "%"
