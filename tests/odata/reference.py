"""What a $filter means, worked out in Python from the words of OData: the judge of both engines."""

import datetime as dt
import decimal
import operator
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from uuid import UUID

from apps.odata.query.ast import (
    Binary,
    Call,
    Count,
    In,
    Junction,
    Lambda,
    Literal,
    Negate,
    Not,
    Path,
    SortTerm,
)
from tests.odata.sample import Status
from tests.odata.trees import SYDNEY

EXACT = decimal.Context(prec=400)
ORDERED = {"gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le}


def value(node, record, variables=()):
    """The value of a tree for one record; null is None."""
    variables = dict(variables)
    match node:
        case Literal():
            return node.value
        case Path():
            return followed(node.segments, record, variables)
        case Not():
            inner = value(node.operand, record, variables)
            return None if inner is None else not inner
        case Junction(operator="and"):
            return conjunction([value(operand, record, variables) for operand in node.operands])
        case Junction():
            found = [value(operand, record, variables) for operand in node.operands]
            return negated(conjunction([negated(each) for each in found]))
        case In():
            return any(equal(value(node.operand, record, variables), option.value) for option in node.options)
        case Negate():
            inner = value(node.operand, record, variables)
            return None if inner is None else -inner
        case Lambda():
            return quantified(node, record, variables)
        case Count():
            items = followed(node.path.segments, record, variables)
            return sum(node.condition is None or value(node.condition, item) is True for item in items)
        case Binary() if node.operator in ("eq", "ne", *ORDERED):
            return compared(node, value(node.left, record, variables), value(node.right, record, variables))
        case Binary():
            left, right = value(node.left, record, variables), value(node.right, record, variables)
            if left is None or right is None:
                return None
            return (moved if is_of_time(left, right) else computed)(node.operator, left, right)
        case Call(function="mindatetime"):
            return MIDNIGHT_OF_YEAR_ONE
        case Call(function="maxdatetime"):
            return END_OF_TIME
        case Call(function="case"):
            for condition, then in zip(node.arguments[::2], node.arguments[1::2], strict=True):
                if value(condition, record, variables) is True:
                    return value(then, record, variables)
            return None
        case Call():
            arguments = [value(argument, record, variables) for argument in node.arguments]
            return None if None in arguments else FUNCTIONS[node.function](*arguments)
    raise TypeError(node)


def followed(segments, record, variables):
    found = record
    if segments[0] in variables:
        found, segments = variables[segments[0]], segments[1:]
    for segment in segments:
        found = None if found is None else found[segment]
    if isinstance(found, dict) and set(found) == {"Suburb", "State"} and not any(found.values()):
        return None
    return found


def quantified(node, record, variables):
    items = followed(node.path.segments, record, variables)
    if node.body is None:
        return bool(items)
    holds = [value(node.body, record, {**variables, node.variable: item}) is True for item in items]
    return any(holds) if node.quantifier == "any" else all(holds)


def conjunction(found):
    if False in found:
        return False
    return None if None in found else True


def negated(truth):
    return None if truth is None else not truth


def compared(node, left, right):
    left, right = alike(left, right)
    if node.operator == "eq":
        return equal(left, right)
    if node.operator == "ne":
        return not equal(left, right)
    if left is None and right is None:
        return node.operator in ("ge", "le")
    if left is None or right is None:
        return False
    if {type(node.left), type(node.right)} == {Path, Literal} and {"Status"} & {
        *ends(node.left),
        *ends(node.right),
    }:
        return ORDERED[node.operator](*(Status(name).number for name in (left, right)))
    return ORDERED[node.operator](*map(sortable, (left, right)))


def ends(node):
    """The last segment of a path."""
    return node.segments[-1:] if isinstance(node, Path) else ()


def equal(left, right):
    left, right = alike(left, right)
    return left == right


#: The names of the statuses by their numbers.
NAMES = {status.number: status.value for status in Status}


def alike(left, right):
    """A literal of one kind beside a value of another."""
    if isinstance(left, str) and isinstance(right, int):
        return left, NAMES[right]
    if isinstance(left, dt.datetime) or isinstance(right, dt.datetime):
        return since_year_one(left), since_year_one(right)
    return left, right


def since_year_one(found):
    """How long after the beginning of the calendar in UTC; a day begins at its midnight in Sydney."""
    if found is None:
        return None
    if not isinstance(found, dt.datetime):
        found = dt.datetime.combine(found, dt.time.min)
    offset = SYDNEY.utcoffset(found) if found.tzinfo is None else found.utcoffset()
    return found.replace(tzinfo=None) - dt.datetime.min - offset


def sortable(found):
    """Text by code point (which is the order of its UTF-8), guids by their digits."""
    if isinstance(found, str):
        return found.encode()
    return found.hex if isinstance(found, UUID) else found


def computed(word, left, right):
    if word in ("div", "divby", "mod") and not right:
        return None
    if isinstance(left, int) and isinstance(right, int) and word != "divby":
        return whole_numbers(word, left, right)
    left, right = Decimal(left), Decimal(right)
    match word:
        case "add":
            return EXACT.add(left, right)
        case "sub":
            return EXACT.subtract(left, right)
        case "mul":
            return EXACT.multiply(left, right)
        case "mod":
            return EXACT.remainder(left, right)
    return EXACT.divide(left, right).quantize(Decimal("1e-12"), ROUND_HALF_UP, EXACT)


def whole_numbers(word, left, right):
    quotient = abs(left) // abs(right or 1) * (1 if (left < 0) == (right < 0) else -1)
    found = {
        "add": left + right,
        "sub": left - right,
        "mul": left * right,
        "div": quotient,
        "mod": left - right * quotient,
    }
    return found[word]


#: The first and the last moment with a date in Sydney as well as in UTC.
MIDNIGHT_OF_YEAR_ONE = dt.datetime.min.replace(tzinfo=dt.UTC)
END_OF_TIME = dt.datetime.max.replace(tzinfo=SYDNEY).astimezone(dt.UTC)


def is_of_time(left, right):
    return any(isinstance(each, dt.date | dt.timedelta) for each in (left, right))


def moved(word, left, right):
    """Durations as exact numbers of days; what is beyond the calendar is null."""
    if isinstance(left, dt.timedelta) and not isinstance(right, dt.date | dt.timedelta):
        seconds = computed("divby" if word == "div" else word, in_seconds(left), Decimal(right))
        return None if seconds is None else from_seconds(seconds)
    if isinstance(right, dt.timedelta) and not isinstance(left, dt.date | dt.timedelta):
        return from_seconds(computed(word, Decimal(left), in_seconds(right)))
    if isinstance(left, dt.timedelta) and isinstance(right, dt.date):
        left, right = right, left
    if isinstance(left, dt.datetime) and left.tzinfo is not None:
        left = left.astimezone(dt.UTC)
    if isinstance(right, dt.datetime):
        right = right.astimezone(dt.UTC)
    try:
        if isinstance(right, dt.timedelta):
            found = left + (right if word == "add" else -right)  # of a date whole days, as of its midnight
        else:
            found = left - right
    except OverflowError:
        return None
    if isinstance(found, dt.datetime) and not MIDNIGHT_OF_YEAR_ONE <= found <= END_OF_TIME:
        return None
    return found


def in_seconds(length):
    return Decimal(length // dt.timedelta(microseconds=1)).scaleb(-6)


def from_seconds(seconds):
    return dt.timedelta(microseconds=int((seconds * 10**6).to_integral_value()))


def cased(change):
    return lambda text: "".join(new if len(new := change(old)) == 1 else old for old in text)


def rounded(rounding):
    return lambda number: Decimal(number).quantize(Decimal(1), rounding, EXACT)


def part(name):
    def taken(found):
        if isinstance(found, dt.datetime):
            found = found.astimezone(SYDNEY)
        return getattr(found, name)

    return taken


def substring(text, start, length=None):
    rest = text[max(start, 0) :]
    return rest if length is None else rest[: max(length, 0)]


FUNCTIONS = {
    "contains": lambda text, sought: sought in text,
    "startswith": str.startswith,
    "endswith": str.endswith,
    "length": len,
    "indexof": str.find,
    "substring": substring,
    "tolower": cased(str.lower),
    "toupper": cased(str.upper),
    "trim": str.strip,
    "concat": operator.add,
    "round": rounded(ROUND_HALF_UP),
    "floor": rounded(ROUND_FLOOR),
    "ceiling": rounded(ROUND_CEILING),
    "fractionalseconds": lambda found: Decimal(found.microsecond).scaleb(-6),
    "totaloffsetminutes": lambda found: found.astimezone(SYDNEY).utcoffset() // dt.timedelta(minutes=1),
    "totalseconds": in_seconds,
    "date": lambda moment: moment.astimezone(SYDNEY).date(),
    "time": lambda moment: moment.astimezone(SYDNEY).time(),
    **{name: part(name) for name in ("year", "month", "day", "hour", "minute", "second")},
}


def kept(tree, records):
    """The keys of the records a filter keeps."""
    return {record["JobGuid"] for record in records if value(tree, record) is True}


def in_order(terms, records):
    """The keys of all records in order: null first, ties by key in the first term's direction."""
    terms = [term for term in terms if not is_constant(term.expression)]
    falling = bool(terms) and terms[0].descending
    found = sorted(records, key=lambda record: record["JobGuid"].hex, reverse=falling)
    for term in reversed(terms):
        found = sorted(found, key=lambda record, term=term: rank(term, record), reverse=term.descending)
    return [record["JobGuid"] for record in found]


def is_constant(node):
    """A literal, which orders nothing: the key then follows the first term that does."""
    if isinstance(node, Negate):
        return is_constant(node.operand)
    return isinstance(node, Literal) or (isinstance(node, Call) and not node.arguments) or is_null(node)


def is_null(node):
    """Null, or a ``case`` that has no other value."""
    if isinstance(node, Call) and node.function == "case":
        return all(map(is_null, node.arguments[1::2]))
    return isinstance(node, Literal) and node.value is None


def rank(term: SortTerm, record):
    found = value(term.expression, record)
    return (0, 0) if found is None else (1, sortable(found))
