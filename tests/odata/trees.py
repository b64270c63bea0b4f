"""Trees of $filter made up by chance, and their spelling."""

import datetime as dt
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from apps.odata.query.ast import (
    Alias,
    Binary,
    Call,
    Count,
    EnumLiteral,
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
from apps.odata.query.parser import MAX_LEVELS
from tests.odata import sample

SYDNEY = ZoneInfo("Australia/Sydney")


def spelled(node):
    """The text of a tree, with every parenthesis that could matter."""
    match node:
        case Literal():
            return literal(node.value)
        case Path():
            return "/".join(node.segments)
        case Alias():
            return node.name
        case Call(function="case"):
            pairs = zip(node.arguments[::2], node.arguments[1::2], strict=True)
            return f"case({','.join(f'({spelled(when)}):({spelled(then)})' for when, then in pairs)})"
        case Call():
            return f"{node.function}({','.join(map(spelled, node.arguments))})"
        case Binary():
            return f"({spelled(node.left)}) {node.operator} ({spelled(node.right)})"
        case Junction():
            return f" {node.operator} ".join(f"({spelled(operand)})" for operand in node.operands)
        case Not():
            return f"not ({spelled(node.operand)})"
        case Negate():
            return f"-({spelled(node.operand)})"
        case In():
            return f"({spelled(node.operand)}) in ({','.join(map(spelled, node.options))})"
        case Lambda(body=None):
            return f"{spelled(node.path)}/any()"
        case Lambda():
            return f"{spelled(node.path)}/{node.quantifier}({node.variable}:{spelled(node.body)})"
        case Count(condition=None):
            return f"{spelled(node.path)}/$count"
        case Count():
            return f"{spelled(node.path)}/$count($filter={spelled(node.condition)})"
        case SortTerm():
            return f"({spelled(node.expression)}) {'desc' if node.descending else 'asc'}"
    raise TypeError(node)


def literal(value):
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case EnumLiteral():
            return f"{value.type}'{value.name}'"
        case UUID() | int():
            return str(value)
        case dt.timedelta():
            sign, length = ("-", -value) if value < dt.timedelta() else ("", value)
            return f"duration'{sign}P{length.days}DT{length.seconds}.{length.microseconds:06d}S'"
        case Decimal():
            return f"{value:f}" if "." in f"{value:f}" else f"{value:f}.0"
    return value.isoformat()


def lit(kind, value):
    return Literal(0, kind, value)


def path(*segments):
    return Path(0, segments)


null = st.just(lit(ValueKind.NULL, None))


def literals(kind, values):
    return st.sampled_from([lit(kind, value) for value in values])


def paths(*names):
    return st.sampled_from([path(*name.split("/")) for name in names])


def calls(function, *arguments):
    return st.builds(lambda *given: Call(0, function, given), *arguments)


def binaries(operators, left, right):
    return st.builds(lambda o, a, b: Binary(0, o, a, b), st.sampled_from(operators), left, right)


ARITHMETIC = ("add", "sub", "mul", "div", "divby", "mod")
COMPARISONS = ("eq", "ne", "gt", "ge", "lt", "le")


def cases(values, conditions):
    """``case`` with one to three branches."""
    branches = st.lists(st.tuples(conditions, values), min_size=1, max_size=3)
    return branches.map(lambda pairs: Call(0, "case", tuple(part for pair in pairs for part in pair)))


plain_conditions = st.one_of(
    binaries(("eq", "gt", "le"), paths("Size", "Rank"), literals(ValueKind.INTEGER, (0, 1, 2)) | null),
    paths("Urgent"),
    literals(ValueKind.BOOLEAN, (True, False)),
    null,
)


def texts(prefix="", names=("Code", "Name", "Owner/Name", "Place/Suburb")):
    leaves = paths(*(prefix + name for name in names)) | literals(ValueKind.STRING, sample.NAMES)

    def more(inner):
        small = literals(ValueKind.INTEGER, (0, 1, 2, -1, 60))
        return st.one_of(
            calls("tolower", inner),
            calls("toupper", inner),
            calls("trim", inner),
            calls("concat", inner, inner),
            calls("substring", inner, small),
            calls("substring", inner, small, small),
            cases(inner, plain_conditions),
        )

    return st.recursive(leaves, more, max_leaves=3)


def numbers(prefix="", names=("Size", "Rank", "Price", "Total"), text=None, when=plain_conditions):
    leaves = st.one_of(
        paths(*(prefix + name for name in names)),
        literals(ValueKind.INTEGER, (0, 1, 2, 3, -7)),
        literals(ValueKind.DECIMAL, sample.AMOUNTS[1:]),
        *(() if text is None else (calls("length", text), calls("indexof", text, text))),
    )

    def more(inner):
        return st.one_of(
            binaries(ARITHMETIC, inner, inner | null),
            st.builds(lambda operand: Negate(0, operand), inner),
            *(calls(name, inner) for name in ("round", "floor", "ceiling")),
            cases(inner | null, when),
        )

    return st.recursive(leaves, more, max_leaves=3)


LENGTHS = (
    *(dt.timedelta(days) for days in (0, 1, 30, -7, 3_000_000)),
    *(dt.timedelta(0, seconds) for seconds in (1, -1, 0.000001, 86_399.5)),
)
lengths = literals(ValueKind.DURATION, LENGTHS)
#: A double, which SQLite computes with, holds the microseconds of 285 years.
lengths_of_a_life = literals(ValueKind.DURATION, [each for each in LENGTHS if each.days < 100_000])
stored_dates = paths("Start") | calls("date", paths("Moment", "Created"))
stored_moments = paths("Moment", "Created")
#: Of a date whole days, and no literal of each side, which may be refused.
durations = st.one_of(
    lengths,
    binaries(("sub",), stored_moments, stored_moments),
    binaries(("sub",), stored_dates, stored_dates | literals(ValueKind.DATE, sample.DATES)),
    binaries(("add", "sub"), binaries(("sub",), stored_moments, stored_moments), lengths_of_a_life | null),
    binaries(("mul",), binaries(("sub",), stored_moments, stored_moments), paths("Rank")),
    binaries(("mul",), paths("Rank"), lengths),
    binaries(("div", "divby"), lengths, literals(ValueKind.INTEGER, (1, 2, 3, -7))),
    st.builds(lambda operand: Negate(0, operand), lengths),
)
dates = st.one_of(
    stored_dates,
    literals(ValueKind.DATE, sample.DATES),
    binaries(("add", "sub"), stored_dates, durations | null),
    binaries(("add",), lengths, stored_dates),
    cases(stored_dates | null, plain_conditions),
)
moments = st.one_of(
    stored_moments,
    literals(ValueKind.DATETIME, [moment.astimezone(SYDNEY) for moment in sample.MOMENTS]),
    binaries(("add", "sub"), stored_moments, durations | null),
    binaries(("add",), lengths, stored_moments),
    st.sampled_from([Call(0, "mindatetime", ()), Call(0, "maxdatetime", ())]),
    cases(stored_moments | null, plain_conditions),
)
local_moments = literals(
    ValueKind.DATETIME, [moment.astimezone(SYDNEY).replace(tzinfo=None) for moment in sample.MOMENTS]
)
times = calls("time", paths("Moment", "Created")) | literals(
    ValueKind.TIME, (dt.time(0), dt.time(10, 30, 15, 250000))
)
parts_of_time = st.one_of(
    *(calls(name, paths("Start", "Moment", "Created")) for name in ("year", "month", "day")),
    *(calls(name, paths("Moment", "Created")) for name in ("hour", "minute", "second", "totaloffsetminutes")),
    calls("fractionalseconds", paths("Moment", "Created") | calls("time", paths("Moment", "Created"))),
    calls("totalseconds", durations),
)
guids = paths("OwnerGuid", "Owner/OwnerGuid", "JobGuid") | literals(
    ValueKind.GUID, [UUID(int=1), UUID(int=2), UUID(int=9)]
)


def compared(values, other=None):
    return binaries(COMPARISONS, values, (values if other is None else other) | null)


def listed(values, options):
    return st.builds(
        lambda operand, found: In(0, operand, tuple(found)),
        values,
        st.lists(options | null, min_size=1, max_size=4),
    )


def searched(text):
    return st.one_of(*(calls(name, text, text | null) for name in ("contains", "startswith", "endswith")))


def joined(inner):
    return st.one_of(
        st.builds(lambda operand: Not(0, operand), inner),
        st.builds(
            lambda word, operands: Junction(0, word, tuple(operands)),
            st.sampled_from(("and", "or")),
            st.lists(inner.filter(lambda node: not isinstance(node, Junction)), min_size=2, max_size=3),
        ),
        binaries(("eq", "ne"), inner, inner | literals(ValueKind.BOOLEAN, (True, False))),
    )


def conditions_on_lines(variable="l", depth=1):
    text = texts(f"{variable}/", ("Note", "Owner/Name"))
    number = numbers(f"{variable}/", ("Quantity",)) | paths("Size", "Price")
    leaves = [compared(text), compared(text, paths("Name")), compared(number), searched(text)]
    if depth:
        leaves.append(
            quantified(
                paths(f"{variable}/Picks"), "p", compared(paths("p/Size", f"{variable}/Quantity"), numbers())
            )
        )
    return st.recursive(st.one_of(leaves), joined, max_leaves=3)


def quantified(lists, variable, body):
    return st.one_of(
        st.builds(lambda where: Lambda(0, "any", where, None, None), lists),
        st.builds(
            lambda word, where, what: Lambda(0, word, where, variable, what),
            st.sampled_from(("any", "all")),
            lists,
            body,
        ),
    )


counts = st.one_of(
    paths("Lines", "Tags").map(lambda where: Count(0, where)),
    compared(paths("Quantity"), numbers("", ("Quantity",), when=null)).map(
        lambda what: Count(0, path("Lines"), what)
    ),
)

leaves = st.one_of(
    compared(texts()),
    compared(numbers(text=texts())),
    compared(paths("Size", "Price"), literals(ValueKind.INTEGER, (2**31, 2**63, -(10**30)))),
    compared(dates),
    compared(moments),
    compared(paths("Moment", "Created"), literals(ValueKind.DATE, sample.DATES) | local_moments),
    compared(times),
    compared(parts_of_time, literals(ValueKind.INTEGER, (1, 6, 10, 660, 2026))),
    compared(parts_of_time, literals(ValueKind.DECIMAL, (Decimal("0.25"), Decimal("0.999999")))),
    compared(durations),
    binaries(("eq", "ne"), cases(paths("Urgent") | null, plain_conditions), paths("Urgent")),
    compared(guids),
    compared(paths("Urgent"), paths("Urgent") | literals(ValueKind.BOOLEAN, (True, False))),
    compared(
        paths("Status"),
        literals(ValueKind.STRING, sample.Status.values) | literals(ValueKind.INTEGER, (100, 300)),
    ),
    compared(counts, literals(ValueKind.INTEGER, (0, 1, 2)) | paths("Size")),
    paths("Urgent"),
    literals(ValueKind.BOOLEAN, (True, False)) | null,
    listed(texts(), literals(ValueKind.STRING, sample.NAMES)),
    listed(
        numbers(), literals(ValueKind.INTEGER, sample.SIZES) | literals(ValueKind.DECIMAL, sample.AMOUNTS[1:])
    ),
    searched(texts()),
    searched(paths("Status")),
    quantified(paths("Lines"), "l", conditions_on_lines()),
    quantified(paths("Tags"), "t", compared(texts("t/", ("Name",)), texts())),
    st.sampled_from(("eq", "ne")).flatmap(
        lambda word: paths("Owner", "Place").map(
            lambda where: Binary(0, word, where, lit(ValueKind.NULL, None))
        )
    ),
)


def is_shallow(tree):
    return max(depth for _, depth in walk(tree)) <= MAX_LEVELS


conditions = st.recursive(leaves, joined, max_leaves=4).filter(is_shallow)
sortable = st.one_of(
    durations,
    parts_of_time,
    texts(),
    numbers(text=texts()),
    dates,
    moments,
    times,
    guids,
    paths("Urgent", "Status"),
    counts,
)
sort_terms = st.builds(SortTerm, sortable.filter(is_shallow), st.booleans())
