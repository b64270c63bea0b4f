"""What the grammar of $filter and $orderby reads, and how it refuses the rest."""

import datetime as dt
import time
import timeit
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.base.errors import ServiceError
from apps.odata.errors import BadQuery, NotSupported
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
    SortTerm,
    ValueKind,
)
from apps.odata.query.lexer import MAX_LENGTH
from apps.odata.query.parser import MAX_DEPTH, parse_expression, parse_orderby
from tests.odata import trees
from tests.odata.trees import lit, path

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

A, B, C = path("A"), path("B"), path("C")
ONE = lit(ValueKind.INTEGER, 1)


def refusal(text, parse=parse_expression):
    with pytest.raises(BadQuery) as refused:
        parse(text)
    return refused.value


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("null", ValueKind.NULL, None),
        ("TRUE", ValueKind.BOOLEAN, True),
        ("-7", ValueKind.INTEGER, -7),
        ("+7", ValueKind.INTEGER, 7),
        ("9223372036854775808", ValueKind.INTEGER, 2**63),
        ("8.00", ValueKind.DECIMAL, Decimal("8.00")),
        ("1e3", ValueKind.DECIMAL, Decimal(1000)),
        ("12.50m", ValueKind.DECIMAL, Decimal("12.50")),
        ("-7L", ValueKind.INTEGER, -7),
        ("1e3F", ValueKind.DECIMAL, Decimal(1000)),
        ("2D", ValueKind.INTEGER, 2),
        ("'O''Neil''s'", ValueKind.STRING, "O'Neil's"),
        ("''", ValueKind.STRING, ""),
        ("'日本 %_'", ValueKind.STRING, "日本 %_"),
        (
            "0000000A-0000-0000-0000-00000000000b",
            ValueKind.GUID,
            UUID("0000000a-0000-0000-0000-00000000000b"),
        ),
        ("2026-07-01", ValueKind.DATE, dt.date(2026, 7, 1)),
        ("09:30", ValueKind.TIME, dt.time(9, 30)),
        ("09:30:15.25", ValueKind.TIME, dt.time(9, 30, 15, 250000)),
        ("2026-07-01T09:30:00Z", ValueKind.DATETIME, dt.datetime(2026, 7, 1, 9, 30, tzinfo=dt.UTC)),
        (
            "2026-07-01t09:30:00.1234567z",
            ValueKind.DATETIME,
            dt.datetime(2026, 7, 1, 9, 30, 0, 123456, dt.UTC),
        ),
        ("duration'P30D'", ValueKind.DURATION, dt.timedelta(30)),
        ("duration'-P1DT2H3M4.5S'", ValueKind.DURATION, -dt.timedelta(1, 4.5, hours=2, minutes=3)),
        ("Duration'PT36H'", ValueKind.DURATION, dt.timedelta(1.5)),
        ("Records.Gender'Female'", ValueKind.ENUM, EnumLiteral("Records.Gender", "Female")),
    ],
)
def test_every_kind_of_literal_is_read(text, kind, value):
    found = parse_expression(text)
    assert found == Literal(0, kind, value)
    assert type(found.value) is type(value)


def test_a_plus_sign_that_arrived_as_a_blank_is_an_offset():
    literal = parse_expression("A ge 2026-07-01T09:30:00 10:00").right
    assert literal.value == dt.datetime.fromisoformat("2026-07-01T09:30:00+10:00")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("A or B and C", Junction(0, "or", (A, Junction(0, "and", (B, C))))),
        ("(A or B) and C", Junction(0, "and", (Junction(0, "or", (A, B)), C))),
        ("A or B or C", Junction(0, "or", (A, B, C))),
        ("not A and B", Junction(0, "and", (Not(0, A), B))),
        ("NOT(A)", Not(0, A)),
        ("not A in (1)", Not(0, In(0, A, (ONE,)))),
        ("A eq B gt C", Binary(0, "eq", A, Binary(0, "gt", B, C))),
        ("A add B mul C", Binary(0, "add", A, Binary(0, "mul", B, C))),
        ("A sub B sub C", Binary(0, "sub", Binary(0, "sub", A, B), C)),
        ("-A mul B", Binary(0, "mul", Negate(0, A), B)),
        ("A GT -1", Binary(0, "gt", A, lit(ValueKind.INTEGER, -1))),
        ("A has Ns.E'X'", Binary(0, "has", A, lit(ValueKind.ENUM, EnumLiteral("Ns.E", "X")))),
        ("A in (1,@p, Open )", In(0, A, (ONE, Alias(0, "@p"), path("Open")))),
        ("Address/Suburb", path("Address", "Suburb")),
        ("$it/A", path("$it", "A")),
        ("ToLower( A )", Call(0, "tolower", (A,))),
        ("substring(A,1,1)", Call(0, "substring", (A, ONE, ONE))),
        ("now()", Call(0, "now", ())),
        ("case(A:1,B eq 1 : B)", Call(0, "case", (A, ONE, Binary(0, "eq", B, ONE), B))),
        ("A/any()", Lambda(0, "any", A, None, None)),
        ("A/Any(x:x/B)", Lambda(0, "any", A, "x", path("x", "B"))),
        ("A/B/all( x : x )", Lambda(0, "all", path("A", "B"), "x", path("x"))),
        ("A/$count", Count(0, A)),
        ("A/$count($filter=B)", Count(0, A, B)),
        ("null/A", path("null", "A")),
        ("contains", path("contains")),
    ],
)
def test_operators_bind_as_odata_says(text, tree):
    assert parse_expression(text) == tree


@given(tree=trees.conditions)
def test_what_is_spelled_is_read_back(tree):
    text = trees.spelled(tree)
    assert trees.spelled(parse_expression(text)) == text


def test_orderby_reads_directions_in_any_case():
    assert parse_orderby("A,B/C Desc, length(A) asc") == (
        SortTerm(A),
        SortTerm(path("B", "C"), True),
        SortTerm(Call(0, "length", (A,))),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Name eq 'x", "position 9: the string that begins here is not closed"),
        ("A eq", "a name or a value is expected before the end"),
        ("A Eq(1)", "white space is expected after 'eq'"),
        ("(A)eq 1", "white space is expected before 'eq'"),
        ("A == 1", "'=' is not expected here (is eq meant?)"),
        ("(A = 1)", "')' is expected before '=' (is eq meant?)"),
        ("A >= 1", "'>' is not expected here (is ge meant?)"),
        ("A > 1", "'>' is not expected here (is gt meant?)"),
        ("A < 1", "'<' is not expected here (is lt meant?)"),
        ("A <= 1", "'<' is not expected here (is le meant?)"),
        ("A || B", "'|' is not expected here (is or meant?)"),
        ("A <> 1", "'<' is not expected here (is ne meant?)"),
        ("A eq 1 && B eq 2", "'&' is not expected here (is and meant?)"),
        ("A is null", "'is' is not expected here (is eq meant?)"),
        ("A like 'x%'", "'like' is not expected here (is contains meant?)"),
        (
            "A eq 'O'Connor'",
            "'Connor' is not expected here; a quote within a string is written twice, 'O''Connor'",
        ),
        (
            "contains(A,'O'Connor')",
            "')' is expected before 'Connor'; a quote within a string is written twice",
        ),
        ("A eq 'O'Connor' and B eq 'x'", "a quote within a string is written twice"),
        ("A ge datetime'2026-10-01T00:00:00'", "datetime'…' is not of OData 4; the value stands alone"),
        ("substringof('x',A)", "the function substringof is not offered; contains(Name,'text') is offered"),
        ("any(A)", "List/any(item:item/Name eq 'text') looks into a list"),
        ('A eq "x"', "strings stand in single quotes"),
        ("A in [1]", "a list is written ('a','b')"),
        ("A in (B/C,length(B))", "a list holds values only"),
        ("contians(A,'x')", "there is no function contians (is contains meant?)"),
        ("contains(A)", "contains takes 2 arguments, 1 are given"),
        ("A/B(1)", "any or all is expected instead of 'B'"),
        ("A/all()", "a variable and a colon are expected"),
        ("A/any(x:x/B/any(x:x))", "the variable x is in use already"),
        ("A/any(a:A/any(b:A/any(c:A/all(d:d))))", "any and all stand inside each other at most 3 deep"),
        ("A/$count($top=1)", "$count takes a $filter only"),
        ("A eq 2026-02-30", "2026-02-30 is no date that can be"),
        ("A eq 0000-01-01", "0000-01-01 is no date that can be"),
        ("A eq 10000-01-01", "10000-01-01 is no date that can be"),
        ("A eq 2026-01-01T00:00:60Z", "is no datetime that can be"),
        ("A eq 2026-01-01T00:00:00+99:99", "is no datetime that can be"),
        ("A eq 25:00", "25:00 is no time that can be"),
        ("A eq 5x", "no number, date, time or guid has this form"),
        ("a" * 129 + " eq 1", "no name is longer than 128 characters"),
        ("A eq 1 B", "'B' is not expected here"),
        ("A eq 1)", "')' is not expected here"),
        ("A\x00", "'\\x00' is not expected here"),
        ("case(A)", "a colon and a value are expected before ')'"),
        ("case(A:1,B)", "a colon and a value are expected before ')'"),
        ("case()", "a name or a value is expected before ')'"),
        ("case(A:1,)", "a name or a value is expected before ')'"),
        ("case(" + ",".join(["A:1"] * 33) + ")", "case takes 2 or 4 or"),
        ("now(1)", "now takes 0 arguments"),
        (
            "A eq duration'P1Y'",
            "position 6: duration'P1Y' is no duration that can be, such as duration'P30D'",
        ),
        ("A eq duration'P'", "is no duration that can be"),
        ("A eq duration'PT'", "is no duration that can be"),
        ("A eq duration'P1DT'", "is no duration that can be"),
        ("A eq duration''", "is no duration that can be"),
        ("A eq duration'P9999999D'", "is no duration that can be"),
        ("A eq duration'1D'", "is no duration that can be"),
        ("A eq binary'T0RhdGE'", "no member is compared with a binary value"),
        ("$root/A eq 1", "position 1: '$root' cannot stand here; a path begins with a name, $it or $this"),
        ("A/$ref eq 1", "position 3: '$ref' cannot stand in a path; $count can"),
        ("$it eq 1", "position 1: a name is expected after '$it'"),
    ],
)
def test_a_refusal_says_what_and_where(text, message):
    refused = refusal(text)
    assert message in refused.message
    assert (refused.code, refused.target, refused.status) == ("InvalidFilter", "$filter", 400)


@pytest.mark.parametrize("number", ["1e99999999", "1e99999999999999999999999", "9" * 61, "1E-99"])
def test_numbers_that_no_database_holds_are_refused(number):
    assert refusal(f"A eq {number}").code == "OutOfRange"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("geo.distance(A,B) lt 5", "geo.distance"),
        ("cast(A,Edm.String) eq 'x'", "cast"),
        ("isof(A,Edm.String)", "isof"),
        (
            "MatchesPattern(A,'^(a+)+$')",
            "MatchesPattern is part of OData and not offered by this service: its",
        ),
        ("A eq geography'POINT(1 1)'", "geography"),
    ],
)
def test_what_odata_knows_and_we_do_not_offer_is_reported_as_such(text, named):
    with pytest.raises(NotSupported, match=r"part of OData and not offered") as refused:
        parse_expression(text)
    assert named in refused.value.message
    assert refused.value.status == 501


@pytest.mark.parametrize(
    "text",
    [
        "(" * 3_000 + "A" + ")" * 3_000,
        "(" * 100_000,
        "not " * 3_000 + "A",
        "-" * 3_000 + "A",
        "tolower(" * 3_000 + "A",
        " or ".join(["A eq 1"] * 800),
        " add ".join(["A"] * 13),
        " add ".join(["A"] * 400),
        "A/any(x:" * 500,
        "A in (" + ",".join(["1"] * 5_000) + ")",
        "'" * 16_383,
        "a'" * 8_000,
        "A eq " + "1" * 16_000,
        "A eq 1e" + "9" * 16_000,
        "a." * 8_000,
        "a/" * 8_000 + "a",
        "A" * 1_000_000,
    ],
)
def test_what_is_too_much_is_refused_at_once(text):
    assert refusal(text).status == 400
    # The best of three: a collection of the whole test run's garbage is not ours.
    assert min(timeit.repeat(lambda: refusal(text), timer=time.process_time, number=1, repeat=3)) < 0.1


def test_the_limits_leave_room_for_real_questions():
    guid = "0000000a-0000-0000-0000-00000000000b"
    parse_expression(" or ".join([f"A eq {guid}"] * 300))
    parse_expression(f"A in ({','.join([guid] * 400)})")
    parse_expression("(" * (MAX_DEPTH - 1) + "A" + ")" * (MAX_DEPTH - 1))


WORDS = (
    "A B/C x:x/D any all not and or eq in has add - ( ) , / : ' '' 'x' 1 1.5 2026-07-01 12:30 null true @p"
)
MARKS = '$it $count $filter= contains( any( ; . " [ { % \\ é'
PIECES = st.sampled_from([*WORDS.split(), *MARKS.split(), "\t"])


def outcome(parse, text):
    """The status a text would be answered with."""
    try:
        parse(text)
    except ServiceError as refused:
        return refused.status
    return 200


@given(
    text=st.text(max_size=200) | st.lists(PIECES, max_size=25).map(" ".join) | st.lists(PIECES).map("".join)
)
def test_any_text_is_a_tree_or_a_refusal(text):
    assert outcome(parse_expression, text) in (200, 400, 501)
    assert outcome(parse_orderby, text) in (200, 400, 501)


def test_the_longest_text_is_still_read():
    assert parse_expression(f"'{'x' * (MAX_LENGTH - 2)}'").value == "x" * (MAX_LENGTH - 2)
    assert "longer than" in refusal(f"'{'x' * (MAX_LENGTH - 1)}'").message
