"""What a query string says, and how a bad one is refused."""

import time
import timeit
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.base.errors import ServiceError
from apps.odata.errors import BadQuery, NotAcceptable
from apps.odata.query.ast import Binary, SortTerm, ValueKind
from apps.odata.query.media_types import MediaType
from apps.odata.query.options import ExpandItem, NestedOptions, QueryOptions, parse_options
from tests.odata.trees import lit, path


def refusal(query, error=BadQuery):
    with pytest.raises(error) as refused:
        parse_options(query)
    return refused.value


def test_nothing_asked_is_nothing():
    assert parse_options(b"") == parse_options("&&") == QueryOptions()


def test_every_option_is_read():
    found = parse_options(
        "$filter=A%20eq%201&$orderby=A desc&$select=A,B/C&$expand=*&$top=10&$skip=0&$count=TRUE"
        "&$search=o%27neil&$format=json&$skiptoken=abc"
    )
    assert found == QueryOptions(
        filter=Binary(0, "eq", path("A"), lit(ValueKind.INTEGER, 1)),
        orderby=(SortTerm(path("A"), True),),
        select=(("A",), ("B", "C")),
        expand=(ExpandItem("*"),),
        top=10,
        skip=0,
        count=True,
        search="o'neil",
        format=MediaType("json"),
        skiptoken="abc",
    )


def test_options_are_known_without_the_dollar_and_in_any_case():
    assert parse_options("TOP=1&%24Filter=A") == parse_options("$top=1&$filter=A")


def test_plus_signs_and_escapes_are_blanks():
    assert parse_options("$filter=A+eq+1") == parse_options(b"$filter=A%20eq%201")
    assert parse_options("$search=1%2B1").search == "1+1"


def test_unescaped_letters_arrive_as_the_server_hands_them_on():
    assert parse_options("$search=é".encode().decode("latin-1")).search == "é"


def test_what_is_no_option_is_handed_on():
    found = parse_options(
        "Status=Open&Start__ge=2026-07-01&Version=2&API-version=2.0&IGNOREWARNINGS=true&@p=5"
    )
    assert found.plain == (("Status", "Open"), ("Start__ge", "2026-07-01"))
    assert found.service == {"version": "2", "api-version": "2.0", "ignoreWarnings": "true"}
    assert found.aliases == {"@p": lit(ValueKind.INTEGER, 5)}


@pytest.mark.parametrize("name", ["_", "_dc", "sap-client", "SAP-Language", "sap-", "%5F", "_=1&_"])
def test_what_programs_add_to_every_address_is_ignored(name):
    assert parse_options(f"{name}=%27x&$top=1") == parse_options("$top=1")
    assert parse_options(f"{name}=x&$top=1").parameters == (("$top", "1"),)


def test_expand_reads_the_options_of_each_part():
    found = parse_options(
        "$expand=LineItems($filter=contains(A,');,(''');$orderby=B desc,C;$top=5;Skip=1;$count=true;"
        "$select=A,B;$expand=Product($select=Code)),Teams, Address()"
    ).expand
    assert [item.name for item in found[:2]] == ["LineItems", "Teams"]
    lines = found[0].options
    assert lines.filter.arguments[1].value == ");,('"
    assert lines.orderby == (SortTerm(path("B"), True), SortTerm(path("C")))
    assert (lines.top, lines.skip, lines.count, lines.select) == (5, 1, True, (("A",), ("B",)))
    assert lines.expand == (ExpandItem("Product", NestedOptions(select=(("Code",),))),)


NAMELESS = (
    "A parameter has no name. Between double quotes a shell takes $top for a variable of its own: use single"
    " quotes."
)


@pytest.mark.parametrize(
    ("query", "target", "message"),
    [
        ("$fliter=A", "$fliter", "There is no option $fliter here. Is $filter meant?"),
        ("$aply=x", "$aply", "There is no option $aply here. Is $apply meant?"),
        ("$top=1&$top=2", "$top", "$top is given twice."),
        ("$top=1&Top=1", "$top", "$top is given twice."),
        ("Status=A&Status=B", "Status", "Status is given twice."),
        ("@p=1&@p=2", "@p", "@p is given twice."),
        ("version=1&Version=2", "Version", "Version is given twice."),
        ("$top=-1", "$top", "$top must be a whole number of rows, 0 or more."),
        ("$top=abc", "$top", "$top must be a whole number of rows, 0 or more."),
        ("$skip=1.5", "$skip", "$skip must be a whole number of rows, 0 or more."),
        ("$top=%D9%A3", "$top", "$top must be a whole number of rows, 0 or more."),
        (f"$top={10**19}", "$top", "$top must be at most 2,147,483,647."),
        (f"$skip={10**20}", "$skip", "$skip must be a whole number of rows, 0 or more."),
        ("$top=", "$top", "$top is empty."),
        ("$select=", "$select", "$select is empty."),
        ("$filter=+", "$filter", "$filter is empty."),
        ("$count=yes", "$count", "$count must be true or false."),
        ("$select=A,,B", "$select", "$select cannot name ''."),
        ("$select=A(B)", "$select", "$select: A takes ($select=…) only."),
        ("$expand=A,A", "$expand=A", "$expand=A is given twice."),
        ("$expand=A(", "$expand", "$expand: a '(' is not closed."),
        ("$expand=A)", "$expand", "$expand: ')' stands before its '('."),
        ("$expand=A($filter='x)", "$expand", "$expand: a string is not closed."),
        ("$expand=A($top=1)B", "$expand", "$expand: 'B' is not expected after ')'."),
        ("$expand=*($top=1)", "$expand", "$expand: options cannot stand after *; name the part."),
        ("$expand=A/B", "$expand", "$expand=A/B: write A($expand=B) instead."),
        ("$expand=A($skiptoken=x)", "$expand/A", "There is no option $skiptoken here. Is $skip meant?"),
        ("$expand=A($top=1;$top=2)", "$expand/A/$top", "$expand/A/$top is given twice."),
        ("$expand=A($top=x)", "$expand/A/$top", "$expand/A/$top must be a whole number of rows, 0 or more."),
        ("@p=A+eq+1", "@p", "@p must be one value, such as 5, 2026-07-01 or 'text'."),
        ("$filter=%zz", None, "The query string holds a % that no two hexadecimal digits follow."),
        ("$filter=%", None, "The query string holds a % that no two hexadecimal digits follow."),
        ("x=%ff%fe", None, "The query string is not UTF-8."),
        ("x=%c0%80", None, "The query string is not UTF-8."),
        ("x=%ed%a0%80", None, "The query string is not UTF-8."),
        ("x=a%00b", None, "The query string holds a NUL character."),
        *((query, None, NAMELESS) for query in ("=1", "=1&=LastName", "$top=1&=LastName")),
    ],
)
def test_a_bad_query_string_is_refused_by_name(query, target, message):
    refused = refusal(query)
    assert (refused.message, refused.target, refused.status) == (message, target, 400)


def test_faults_of_a_nested_filter_are_placed_there():
    refused = refusal("$expand=Lines($filter=A eq)")
    assert (refused.target, refused.code) == ("$expand/Lines/$filter", "InvalidFilter")


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("$expand=A($levels=x)", "$levels"),
        ("$expand=A($compute=1)", "$expand/A/$compute"),
        ("$expand=A/$ref($select=B)", "$ref shows no members"),
        ("$expand=*/$ref", "nothing stands behind *"),
        ("$select=A($top=1)", "A takes ($select=…) only"),
    ],
)
def test_what_expand_and_select_do_not_offer_is_refused_with_what_they_do(query, named):
    refused = refusal(query)
    assert named in refused.message
    assert refused.status == 400


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("json", MediaType("json")),
        ("application/json;odata.metadata=minimal", MediaType("json", "minimal")),
        ("json; metadata=FULL; charset=utf-8", MediaType("json", "full")),
        ("Application/JSON;odata.metadata=none;IEEE754Compatible=true", MediaType("json", "none", True)),
        ("csv", MediaType("csv")),
        ("application/x-ndjson", MediaType("ndjson")),
    ],
)
def test_formats_are_known_by_name_and_media_type(text, name):
    assert parse_options(f"$format={text}").format == name


@pytest.mark.parametrize("text", ["xml", "atom", "application/xml", "json;odata.metadata=verbose"])
def test_a_format_that_is_not_served_is_refused(text):
    assert refusal(f"$format={text}", NotAcceptable).target == "$format"


@pytest.mark.parametrize(
    "query",
    [
        "&".join(f"x{at}=1" for at in range(2_000)),
        "$expand=" + "A($expand=" * 3_000 + "B" + ")" * 3_000,
        "$expand=" + "(" * 16_000,
        "$expand=" + "A," * 8_000,
        "$select=" + "A," * 100_000,
        "$search=" + "x" * 1_000_000,
    ],
)
def test_what_is_too_much_is_refused_at_once(query):
    assert refusal(query).status == 400
    # The best of three: a collection of the whole test run's garbage is not ours.
    assert min(timeit.repeat(lambda: refusal(query), timer=time.process_time, number=1, repeat=3)) < 0.1


NAMES = st.sampled_from(
    (
        "$filter",
        "$orderby",
        "$select",
        "$expand",
        "$top",
        "$skip",
        "$count",
        "$search",
        "$format",
        "@p",
        "X",
        "$x",
    )
)
PIECES = st.sampled_from((*"AB(),;=/*$' 1", "$top=", "$filter=", "$expand=", "eq"))
VALUES = st.text() | st.lists(PIECES, max_size=20).map("".join)


def outcome(query):
    """The status a query string would be answered with."""
    try:
        parse_options(query)
    except ServiceError as refused:
        return refused.status
    return 200


@given(pairs=st.lists(st.tuples(NAMES, VALUES), max_size=4), raw=st.binary(max_size=40))
def test_any_query_string_is_read_or_refused(pairs, raw):
    written = "&".join(f"{name}={quote(value, errors='replace')}" for name, value in pairs)
    assert outcome(written) in (200, 400, 406, 501)
    assert outcome(raw) in (200, 400, 406, 501)
    assert outcome(written.encode() + b"&" + raw) in (200, 400, 406, 501)
