"""Functions and durations in every option: a run on either engine asserts the same constants."""

import json
from decimal import Decimal

import pytest

from apps.people.models import Staff
from tests.api.caller import ok, refused
from tests.people.builders import a_staff_member

#: (FirstName, DisableLoginDate, Birthday, NumberOfChildren), of members who disagree in all of it.
MEMBERS = (
    ("Ada", "2026-07-01T09:30:15.25+10:00", "2026-06-30", 2),
    ("Bea", "2026-01-01T00:00:00+11:00", "2000-02-29", 0),
    ("Cid", "2024-04-07T02:30:00.000001+10:00", "1999-12-31", None),
    ("Dot", None, None, 7),
)
MINE = "startswith(LastName,'Function')"


@pytest.fixture(scope="module", autouse=True)
def members(module_transaction):
    for name, moment, birthday, children in MEMBERS:
        member = a_staff_member(FirstName=name, LastName="Function", NumberOfChildren=children)
        # A login that ended at that time may not be given, and no birthday after today.
        Staff.objects.filter(pk=member.pk).update(disable_login_date=moment, birthday=birthday)


def read(api, **options):
    answer = api.get("staff", {f"${name}": text for name, text in options.items()})
    ok(answer)
    return json.loads(answer.content, parse_float=Decimal)["value"]


def names(rows):
    return "".join(row["FirstName"][0] for row in rows)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("case(NumberOfChildren gt 1:'many',NumberOfChildren eq 0:'none') eq 'many'", "AD"),
        ("case(NumberOfChildren gt 1:'many',NumberOfChildren eq 0:'none') eq null", "C"),
        ("case(NumberOfChildren gt 1:'many',true:'few') in ('few','none')", "BC"),
        ("case(NumberOfChildren eq null:1,true:NumberOfChildren) le 1", "BC"),
        ("case(NumberOfChildren gt 1:FirstName ge 'B',true:false)", "D"),
        ("not case(NumberOfChildren gt 1:true,NumberOfChildren eq 0:false)", "B"),
        ("case(Birthday eq null:2026-01-01,true:Birthday) gt 2025-12-31", "AD"),
        ("case(FirstName eq 'Ada':StaffGuid) ne null", "A"),
        ("case(true:null) eq null", "ABCD"),
        ("case(null:1,true:2) eq 2", "ABCD"),
        ("CASE( NumberOfChildren eq 2 : 1.5 , true : 1 ) gt 1", "A"),
        ("fractionalseconds(DisableLoginDate) eq 0.25", "A"),
        ("fractionalseconds(DisableLoginDate) gt 0 and fractionalseconds(DisableLoginDate) lt 0.01", "C"),
        ("fractionalseconds(time(DisableLoginDate)) eq 0", "B"),
        ("fractionalseconds(2026-01-01T00:00:00.5Z) eq 0.5", "ABCD"),
        ("fractionalseconds(00:00:00.25) eq 0.25", "ABCD"),
        ("totaloffsetminutes(DisableLoginDate) eq 660", "B"),
        ("totaloffsetminutes(DisableLoginDate) eq 600", "AC"),
        ("totaloffsetminutes(DisableLoginDate) eq null", "D"),
        # All times are in the organisation's zone.
        ("totaloffsetminutes(2026-07-01T00:00:00Z) eq 600", "ABCD"),
        ("DisableLoginDate gt mindatetime() and DisableLoginDate lt maxdatetime()", "ABC"),
        ("mindatetime() lt maxdatetime()", "ABCD"),
        ("DisableLoginDate ge 2026-07-31T09:30:15.25+10:00 sub duration'P30D'", "A"),
        ("DisableLoginDate sub duration'P30D' eq 2026-06-01T09:30:15.25+10:00", "A"),
        ("DisableLoginDate add duration'P30D' eq 2024-05-07T02:30:00.000001+10:00", "C"),
        ("duration'PT30M' add DisableLoginDate eq 2026-01-01T00:30:00+11:00", "B"),
        ("DisableLoginDate lt now() sub duration'P30D' or DisableLoginDate ge now() sub 'P30D'", "ABC"),
        # OData 4.01 writes durations without their type as well.
        ("DisableLoginDate sub 'P1D' eq 2025-12-31T00:00:00+11:00", "B"),
        # Midnight in Sydney: 24 hours later the clocks have gone back by one.
        ("2026-04-05T00:00:00+11:00 add duration'P1D' eq 2026-04-05T23:00:00+10:00", "ABCD"),
        ("Birthday add duration'P1D' eq 2000-03-01 or Birthday sub duration'P1D' eq 2026-06-29", "AB"),
        ("Birthday add duration'PT23H' eq Birthday and Birthday sub duration'PT1H' ne Birthday", "ABC"),
        ("Birthday sub 2000-02-28 eq duration'P1D'", "B"),
        ("date(DisableLoginDate) sub Birthday gt duration'P1D'", "BC"),
        ("DisableLoginDate sub 2026-01-01T00:00:00+11:00 lt duration'-P365D'", "C"),
        ("totalseconds(DisableLoginDate sub 2026-07-01T09:30:15+10:00) eq 0.25", "A"),
        ("totalseconds(duration'P1DT1S') eq 86401 and totalseconds(-duration'PT0.5S') eq -0.5", "ABCD"),
        ("(DisableLoginDate sub 2026-01-01T00:00:00+11:00) mul 2 eq duration'PT0S'", "B"),
        ("(Birthday sub 2000-02-27) div 2 eq duration'P1D'", "B"),
        ("NumberOfChildren mul duration'P1D' eq duration'P7D'", "D"),
        ("Birthday add NumberOfChildren mul duration'P1D' eq 2026-07-02", "A"),
        ("duration'P1D' add duration'PT24H' eq duration'P2D'", "ABCD"),
        ("Birthday add null eq null", "ABCD"),
        ("Birthday add duration'P3000000D' eq null", "ABCD"),  # beyond the calendar
        ("DisableLoginDate sub duration'P3000000D' eq null", "ABCD"),
        ("Birthday add NumberOfChildren mul duration'P3652058D' mul 1000000 eq null", "ACD"),
        ("(Birthday sub 2000-01-01) in (duration'P59D',duration'P1D')", "B"),
        ("(DisableLoginDate sub duration'P1D') in (2025-12-31T00:00:00+11:00,null)", "BD"),
    ],
)  # fmt: skip
def test_functions_and_durations_choose_records(api, condition, expected):
    assert names(read(api, filter=f"{MINE} and ({condition})", orderby="FirstName")) == expected
    left = names(read(api, filter=f"{MINE} and not ({condition})", orderby="FirstName"))
    if "eq null" not in condition and "not case" not in condition:
        assert set(expected + left) <= set("ABCD")
        assert not set(expected) & set(left)
    by_apply = f"filter({MINE} and ({condition}))/groupby((FirstName))"
    assert names(read(api, apply=by_apply)) == expected


COMPUTED = {
    "case(NumberOfChildren gt 1:'many',NumberOfChildren eq 0:'none')": ["many", "none", None, "many"],
    "case(NumberOfChildren gt 1:NumberOfChildren,true:0.5)": [2, Decimal("0.5"), Decimal("0.5"), 7],
    "case(NumberOfChildren eq null:true,true:FirstName eq 'Ada')": [True, False, True, False],
    "case(FirstName eq 'Ada':DisableLoginDate)": ["2026-07-01T09:30:15.25+10:00", None, None, None],
    "fractionalseconds(DisableLoginDate)": [Decimal("0.25"), 0, Decimal("0.000001"), None],
    "totaloffsetminutes(DisableLoginDate)": [600, 660, 600, None],
    "DisableLoginDate sub duration'PT9H30M'": [
        *(
            "2026-07-01T00:00:15.25+10:00",
            "2025-12-31T14:30:00+11:00",
            "2024-04-06T18:00:00.000001+11:00",
            None,
        ),
    ],
    "Birthday add duration'P1D'": ["2026-07-01", "2000-03-01", "2000-01-01", None],
    "totalseconds(Birthday sub 2000-02-29)": [830_995_200, 0, -5_184_000, None],
    "totalseconds(DisableLoginDate sub 2026-07-01T09:30:15+10:00)": [
        *(Decimal("0.25"), -15_676_215, Decimal("-70441214.999999"), None),
    ],
    "mindatetime()": ["0001-01-01T10:04:52+10:04:52"] * 4,
    "maxdatetime()": ["9999-12-31T23:59:59.999999+11:00"] * 4,
    "duration'P1D' add 2026-01-01": ["2026-01-02"] * 4,
}


@pytest.mark.parametrize("expression", COMPUTED)
def test_functions_and_durations_are_computed(api, expression):
    expected = COMPUTED[expression]
    shown = read(api, filter=MINE, compute=f"{expression} as X", select="FirstName,X", orderby="FirstName")
    assert [row["X"] for row in shown] == expected
    rows = read(api, apply=f"filter({MINE})/compute({expression} as X)/groupby((FirstName,X))")
    assert [row["X"] for row in rows] == expected
    of_result = f"filter({MINE})/groupby((FirstName,NumberOfChildren,DisableLoginDate,Birthday))"
    rows = read(api, apply=f"{of_result}/compute({expression} as X)", select="X", orderby="FirstName")
    assert [row["X"] for row in rows] == expected
    counted = {json.dumps(value, default=str) for value in expected if value is not None}
    (row,) = read(
        api, apply=f"filter({MINE})/compute({expression} as X)/aggregate(X with countdistinct as N)"
    )
    assert row["N"] == len(counted)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("case(NumberOfChildren eq null:1,true:NumberOfChildren) desc", "DACB"),
        ("fractionalseconds(DisableLoginDate),FirstName", "DBCA"),
        ("date(DisableLoginDate) sub Birthday", "DACB"),
        ("date(DisableLoginDate) sub Birthday desc", "BCAD"),
        ("DisableLoginDate add duration'P1D' desc", "ABCD"),
        ("totaloffsetminutes(DisableLoginDate) desc,FirstName", "BACD"),
        ("totalseconds(Birthday sub 2000-01-01)", "DCBA"),
    ],
)
def test_functions_and_durations_order_records_through_pages(api, order, expected):
    query = {"$filter": MINE, "$orderby": order, "$select": "FirstName"}
    assert names(api.all("staff", query)) == expected
    assert names(api.all("staff", query, Prefer="odata.maxpagesize=1")) == expected
    rows = f"filter({MINE})/groupby((FirstName,NumberOfChildren,DisableLoginDate,Birthday))/orderby({order})"
    assert names(read(api, apply=rows)) == expected


def test_sums_by_case_are_what_a_report_asks_for(api):
    (row,) = read(
        api,
        apply=f"filter({MINE})/aggregate("
        "case(NumberOfChildren gt 1:NumberOfChildren,true:0) with sum as Many,"
        "case(NumberOfChildren eq 0:1) with sum as None,DisableLoginDate sub duration'P1D' with max as Last)",
    )
    assert row == {"Many": 9, "None": 1, "Last": "2026-06-30T09:30:15.25+10:00"}


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("case(FirstName:1) eq 1", "a condition is expected where FirstName stands, which is a string"),
        ("case(true:1,true:'a') eq 1", "the values of case are of one type, not a string and a whole number"),
        ("case(true:Birthday,true:DisableLoginDate) ne null", "not a date and a date and time"),
        ("case(true:Address) ne null", "Address is an object; a value is expected here"),
        ("case(true:1) eq 'a'", "case is a whole number; 'a' is a string"),
        ("fractionalseconds(Birthday) eq 0", "fractionalseconds cannot be taken of Birthday, which is"),
        ("fractionalseconds(1) eq 0", "fractionalseconds cannot be taken of 1"),
        ("totaloffsetminutes(Birthday) eq 0", "totaloffsetminutes cannot be taken of Birthday"),
        ("totaloffsetminutes(time(DisableLoginDate)) eq 0", "which is a time of day"),
        ("totalseconds(Birthday) eq 0", "totalseconds takes a duration, Birthday is a date"),
        ("mindatetime() eq 1", "is a date and time"),
        ("Birthday add 1 eq null", "add cannot stand between Birthday, which is a date, and 1, which is"),
        ("Birthday mul duration'P1D' eq null", "mul cannot stand between Birthday, which is a date, and"),
        ("Birthday add Birthday eq null", "add cannot stand between Birthday, which is a date, and Birthday"),
        ("duration'P1D' sub Birthday eq null", "sub cannot stand between"),
        ("DisableLoginDate sub Birthday eq null", "sub cannot stand between DisableLoginDate, which"),
        ("duration'P1D' div duration'P1D' eq 1", "div cannot stand between"),
        ("duration'P1D' mod 2 eq duration'P1D'", "mod cannot stand between"),
        ("time(DisableLoginDate) add duration'PT1H' eq 00:00", "add cannot stand between"),
        ("FirstName eq duration'P1D'", "FirstName is a string; 1 day, 0:00:00 is a duration"),
        ("Birthday eq duration'P1D'", "Birthday is a date; 1 day, 0:00:00 is a duration"),
        ("Birthday sub 2000-01-01 gt 5", "the sub is a duration; 5 is a whole number"),
        ("Birthday sub 'P1Y' eq null", "'P1Y' is no duration, such as duration'P30D'"),
        ("maxdatetime() add duration'P1D' gt now()", "is beyond the calendar"),
        ("2026-01-01 add duration'P3652058D' gt Birthday", "is beyond the calendar"),
        ("round(duration'P1D') eq 1", "round takes a whole number"),
        ("concat(duration'P1D','x') eq 'x'", "concat takes a string"),
        ("not duration'P1D'", "a condition is expected"),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_are_refused_with_their_types(api, condition, message):
    for option in ("$filter", "$apply"):
        query = {option: condition if option == "$filter" else f"filter({condition})/aggregate($count as N)"}
        error = refused(api.get("staff", query), 400)
        assert message in error["message"]
        assert error["target"] == option


@pytest.mark.parametrize("option", ["$compute", "$apply"])
def test_a_duration_is_shown_by_its_seconds_only(api, option):
    expression = "Birthday sub 2000-01-01 as Age"
    query = {option: expression if option == "$compute" else f"compute({expression})/groupby((Age))"}
    assert "totalseconds(…) is its number of seconds" in refused(api.get("staff", query), 400)["message"]
    error = refused(api.get("staff", {"$apply": "aggregate(Birthday sub 2000-01-01 with max as Age)"}), 400)
    assert "max is not taken of the sub, which is a duration" in error["message"]


def test_patterns_are_not_offered_and_the_reason_is_told(api):
    error = refused(
        api.get("staff", {"$filter": "matchesPattern(FirstName,'^(a+)+$')"}), 501, "NotImplemented"
    )
    assert "its databases read patterns differently, and some patterns take hours" in error["message"]


def test_the_data_model_names_the_functions(api):
    model = ok(api.get("$metadata", {"$format": "json"}))["Records"]["Container"]
    offered = set(model["@Org.OData.Capabilities.V1.FilterFunctions"])
    assert {"case", "fractionalseconds", "totaloffsetminutes", "totalseconds", "mindatetime"} <= offered
    assert "matchespattern" not in offered
