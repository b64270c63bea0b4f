"""$apply: sums and groups, equal on both engines, and what is refused of them."""

import json
from decimal import Decimal

import pytest

from tests.api.caller import Caller, an_application, ok, refused
from tests.people.builders import a_client
from tests.sales.builders import an_opportunity

TEXT_NUMBERS = "application/json;IEEE754Compatible=true"

#: (Name, Source, UpfrontValueOfSale, ChanceOfSales)
SALES = (
    ("a1", "CallCold", "0.10", 10),
    ("a2", "CallCold", "0.20", 20),
    ("a3", "CallCold", None, 20),
    ("b1", "Training", "1000000000.01", 50),
    ("b2", "Training", "571.20", None),
    ("c1", None, "-5.00", 99),
)


@pytest.fixture(scope="module", autouse=True)
def opportunities(module_transaction):
    for name, source, value, chance in SALES:
        an_opportunity(
            Name=name,
            Source=source,
            UpfrontValueOfSale=None if value is None else value,
            ChanceOfSales=chance,
        )


def rows(api, apply, path="opportunity", **options):
    """The rows as they stand in the bytes, numbers with their digits."""
    answer = api.get(path, {"$apply": f"filter(length(Name) eq 2)/{apply}", **options})
    ok(answer)
    return json.loads(answer.content, parse_float=str)["value"]


def test_money_is_added_exactly(api):
    (row,) = rows(api, "aggregate(UpfrontValueOfSale with sum as Value,$count as Number)")
    assert row == {"Value": "1000000566.51", "Number": 6}
    (row,) = rows(api, "filter(Source eq 'CallCold')/aggregate(UpfrontValueOfSale with sum as Value)")
    assert row == {"Value": "0.30"}


def test_groups_come_in_the_order_of_their_members_null_first(api):
    found = rows(
        api,
        "groupby((Source),aggregate($count as Number,UpfrontValueOfSale with sum as Value,"
        "UpfrontValueOfSale with min as Least,Name with max as Last,"
        "ChanceOfSales with average as Chance,ChanceOfSales with countdistinct as Chances))",
    )
    assert found == [
        {
            "Source": None,
            "Number": 1,
            "Value": "-5.00",
            "Least": "-5.00",
            "Last": "c1",
            "Chance": 99,
            "Chances": 1,
        },
        {
            "Source": "CallCold",
            "Number": 3,
            "Value": "0.30",
            "Least": "0.10",
            "Last": "a3",
            "Chance": "16.666666666667",
            "Chances": 2,
        },
        {
            "Source": "Training",
            "Number": 2,
            "Value": "1000000571.21",
            "Least": "571.20",
            "Last": "b2",
            "Chance": 50,
            "Chances": 1,
        },
    ]


@pytest.mark.parametrize(
    ("apply", "expected"),
    [
        ("groupby((Source))", [{"Source": None}, {"Source": "CallCold"}, {"Source": "Training"}]),
        ("filter(false)/groupby((Source))", []),
        ("filter(false)/aggregate($count as N,ChanceOfSales with sum as S)", [{"N": 0, "S": None}]),
        ("groupby((Source),aggregate($count as N))/filter(N gt 1)/aggregate($count as M)", [{"M": 2}]),
        ("groupby((Source),filter(ChanceOfSales gt 15)/aggregate($count as N))",
         [{"Source": None, "N": 1}, {"Source": "CallCold", "N": 2}, {"Source": "Training", "N": 1}]),
        ("compute(UpfrontValueOfSale mul 2 as Double)/aggregate(Double with sum as S)",
         [{"S": "2000001133.02"}]),
        ("compute(ChanceOfSales add 1 as A)"
         "/compute(A mul A as B)/filter(A eq 11)/aggregate(B with sum as S)",
         [{"S": 121}]),
        ("groupby((Source),aggregate(ChanceOfSales with sum as S))/compute(S divby 3 as T)/filter(T eq 33)",
         [{"Source": None, "S": "99.00", "T": 33}]),
        ("topcount(2,UpfrontValueOfSale)/aggregate(UpfrontValueOfSale with sum as S)",
         [{"S": "1000000571.21"}]),
        ("groupby((Source),aggregate($count as N))/topcount(1,N)", [{"Source": "CallCold", "N": 3}]),
        ("groupby((Source),aggregate($count as N))/bottomcount(1,N)", [{"Source": None, "N": 1}]),
        ("topsum(1000000001,UpfrontValueOfSale)/aggregate(UpfrontValueOfSale with sum as S)",
         [{"S": "1000000571.21"}]),
        # The last record takes the sum below the limit again, which was reached before it.
        ("toppercent(100,UpfrontValueOfSale)/aggregate($count as N)", [{"N": 2}]),
        ("bottomsum(0.05,UpfrontValueOfSale)/aggregate(UpfrontValueOfSale with sum as S,$count as N)",
         [{"S": "566.50", "N": 5}]),
        ("bottompercent(0.00005,UpfrontValueOfSale)/aggregate($count as N)", [{"N": 5}]),
        ("filter(Source eq 'CallCold')/topsum(0.3,UpfrontValueOfSale)/aggregate($count as N)", [{"N": 2}]),
        ("filter(UpfrontValueOfSale lt 0)/toppercent(50,UpfrontValueOfSale)/aggregate($count as N)",
         [{"N": 0}]),
        ("compute(ChanceOfSales mul 2 as C)/topsum(300,C)/topsum(1,C)/aggregate(C with sum as S)",
         [{"S": 198}]),
        ("groupby((Source),aggregate($count as N))/topsum(4,N)",
         [{"Source": "CallCold", "N": 3}, {"Source": "Training", "N": 2}]),
        ("groupby((Source),aggregate($count as N))/bottompercent(50,N)/bottomsum(2,N mul 2)",
         [{"Source": None, "N": 1}]),
        ("groupby((Source),aggregate($count as N))/orderby(N desc)/skip(1)/top(1)",
         [{"Source": "Training", "N": 2}]),
        ("groupby((Source),aggregate($count as N))/orderby(N desc)"
         "/concat(aggregate($count as M),skip(0)/top(1))",
         [{"M": 3}, {"Source": "CallCold", "N": 3}]),
        ("skip(0)/aggregate($count as N)", [{"N": 6}]),
        # More digits than a double has, which SQLite computes with.
        ("filter(Name eq 'b1')/aggregate(UpfrontValueOfSale div 7 with sum as S)/compute(S mul 1000 as T)",
         [{"S": "142857142.858571", "T": "142857142858.571"}]),
        ("groupby((Source),aggregate($count as N))/concat(aggregate(N with sum as Total),topcount(1,N))",
         [{"Total": 6}, {"Source": "CallCold", "N": 3}]),
        ("filter(Source ne null)/groupby((rollup($all,Source,ChanceOfSales)),aggregate($count as N))",
         [{"Source": "CallCold", "ChanceOfSales": "10.00", "N": 1},
          {"Source": "CallCold", "ChanceOfSales": "20.00", "N": 2},
          {"Source": "Training", "ChanceOfSales": None, "N": 1},
          {"Source": "Training", "ChanceOfSales": "50.00", "N": 1},
          {"Source": "CallCold", "N": 3}, {"Source": "Training", "N": 2}, {"N": 5}]),
        ("filter(Source ne null)/groupby((Source,rollup($all,ChanceOfSales)),"
         "filter(ChanceOfSales eq 20)/aggregate($count as N))",
         [{"Source": "CallCold", "ChanceOfSales": "20.00", "N": 2}, {"Source": "CallCold", "N": 2}]),
        ("groupby((Source,Stage/StageId))/groupby((Source))/aggregate($count as N)", [{"N": 3}]),
        ("identity/search(a1)/aggregate($count as N)", [{"N": 1}]),
        ("compute(ChanceOfSales gt 15 as Likely)/groupby((Likely),aggregate($count as N))",
         [{"Likely": False, "N": 2}, {"Likely": True, "N": 4}]),
        ("groupby((year(CreationDate)))", None),
    ],
)  # fmt: skip
def test_transformations_follow_one_another(api, apply, expected):
    if expected is None:
        query = {"$apply": apply}
        assert "groupby takes names of members" in refused(api.get("opportunity", query), 400)["message"]
    else:
        assert rows(api, apply) == expected


def test_members_of_objects_are_grouped_in_their_place(api):
    for suburb, state in (("Ayr", "QLD"), ("Ayr", "QLD"), ("Perth", "WA")):
        a_client(Address={"Suburb": suburb, "State": state, "Country": "Australia"})
    query = {
        "$apply": "filter(Address/State in ('QLD','WA'))"
        "/groupby((Address/Suburb,Address/State),aggregate($count as N))",
        "$filter": "N ge 1",
        "$orderby": "Address/Suburb desc",
    }
    body = ok(api.get("client", query))
    assert body["@odata.context"].endswith("#Client(Address/Suburb,Address/State,N)")
    assert body["value"] == [
        {"Address": {"Suburb": "Perth", "State": "WA"}, "N": 1},
        {"Address": {"Suburb": "Ayr", "State": "QLD"}, "N": 2},
    ]


def test_every_kind_of_member_is_a_group_in_the_json_of_records(api, records):
    for path in ("staff", "client", "claim", "invoice", "opportunity", "clientengagement"):
        plain = ok(api.get(path))["value"]
        for name in plain[0]:
            grouped = ok(api.get(path, {"$apply": f"groupby(({name}))"}))["value"]
            assert sorted(map(repr, {row[name] for row in plain})) == sorted(
                repr(row[name]) for row in grouped
            )


def test_pages_link_to_the_next_rows(api):
    query = {"$apply": "filter(length(Name) eq 2)/groupby((Name),aggregate($count as N))", "$count": "true"}
    first = ok(api.get("opportunity", query, Prefer="odata.maxpagesize=4"))
    assert [row["Name"] for row in first["value"]] == ["a1", "a2", "a3", "b1"]
    assert first["@odata.count"] == 6
    rest = ok(api.follow(first["@odata.nextLink"], Prefer="odata.maxpagesize=4"))
    assert [row["Name"] for row in rest["value"]] == ["b2", "c1"]
    assert "@odata.nextLink" not in rest
    first = ok(api.get("opportunity", {**query, "$top": "5"}, Prefer="odata.maxpagesize=4"))
    rest = ok(api.follow(first["@odata.nextLink"], Prefer="odata.maxpagesize=4"))
    assert [row["Name"] for row in (*first["value"], *rest["value"])] == ["a1", "a2", "a3", "b1", "b2"]
    assert "@odata.nextLink" not in rest
    for top in ("3", "4"):
        page = ok(api.get("opportunity", {**query, "$top": top}, Prefer="odata.maxpagesize=4"))
        assert (len(page["value"]), "@odata.nextLink" in page) == (int(top), False)
    body = ok(
        api.get(
            "opportunity", {**query, "$top": "2", "$skip": "1", "$orderby": "Name desc", "$select": "Name"}
        )
    )
    assert body["value"] == [{"Name": "b2"}, {"Name": "b1"}]


def test_what_only_chooses_records_answers_records(api):
    body = ok(api.get("opportunity", {"$apply": "filter(length(Name) eq 2)/topcount(2,UpfrontValueOfSale)",
                                        "$orderby": "Name", "$select": "Name"}))  # fmt: skip
    assert [row["Name"] for row in body["value"]] == ["b1", "b2"]
    assert "OpportunityId" in body["value"][0]


def test_rows_follow_the_media_type_and_the_preferences(api):
    groups = "groupby((Source),aggregate(UpfrontValueOfSale with sum as S,$count as N))"
    query = {"$apply": f"filter(length(Name) eq 2)/{groups}", "$filter": "Source eq null and S eq -5"}
    answer = api.get("opportunity", query, Accept=TEXT_NUMBERS, Prefer="omit-values=nulls")
    assert ok(answer)["value"] == [{"S": "-5.00", "N": "1"}]


@pytest.mark.parametrize(
    ("apply", "message"),
    [
        ("sum(Total)", "position 1: there is no transformation 'sum' (is topsum meant?); aggregate, bottom"),
        ("agregate($count as N)", "(is aggregate meant?)"),
        ("aggregate(Total)", "position 16: with and one of sum, min, max, average, countdistinct is "),
        ("aggregate(Total with median as M)", "position 22: there is no method 'median'; sum, min"),
        ("aggregate(Total with sum)", "position 25: as and a name are expected before ')'"),
        ("aggregate(Total with sum as )", "position 29: a name is expected after 'as'"),
        ("aggregate($count as N", "position 22: ')' is expected before the end"),
        ("aggregate(Nothing with sum as N)", "Claim has no member Nothing"),
        ("aggregate(ClaimNumber with sum as N)", "sum is not taken of ClaimNumber, which is a string"),
        ("aggregate(FundingStatus with max as N)", "max is not taken of FundingStatus"),
        ("aggregate(LineItems with sum as N)", "name one of its members, LineItems/…"),
        ("aggregate($count as N,Total with sum as N)", "the rows would have two members N"),
        ("groupby((LineItems/Total))", "behind join(LineItems as Item) each row has one of them, Item/Total"),
        ("groupby((rollup(FundingStatus)))", "rollup takes two or more members, or $all and one"),
        ("groupby((rollup($all)))", "',' is expected before ')'"),
        ("groupby((rollup($all,FundingStatus)))", "the $all of rollup needs aggregate(...)"),
        ("groupby((rollup(FundingStatus,Total)))/top(1)", "nothing stands behind concat or rollup"),
        ("groupby((" + ",".join(["rollup($all,Total,Total,Total)"] * 30) + "),aggregate($count as N))",
         "it has more than 16 transformations"),
        ("groupby((FundingStatus),topcount(1,Total))", "the last transformation is aggregate(...)"),
        ("groupby((FundingStatus))/filter(Total gt 1)", "have no member Total; they have FundingStatus"),
        ("concat(identity,aggregate($count as N))/top(1)", "nothing stands behind concat or rollup"),
        ("concat(aggregate($count as N))", "concat takes two or more"),
        ("topcount(x,Total)", "position 10: a whole number of rows is expected"),
        ("topsum(0,Total)", "position 8: a number above 0 is expected"),
        ("toppercent(101,Total)", "position 12: a number above 0 and up to 100 is expected"),
        ("bottomsum(Total,Total)", "position 11: a number above 0 is expected"),
        ("bottompercent(5,ClaimNumber)", "sum is not taken of ClaimNumber, which is a string"),
        ("aggregate(Total with sum as S)/topsum(5,Total)", "have no member Total; they have S"),
        ("compute(Total add 1 as A)", "compute needs an aggregation behind it"),
        ("filter(Total gt 1", "position 18: ')' is expected before the end"),
        ("search(x", "a '(' is not closed"),
        ("filter(1 eq 1)/" * 17 + "identity", "it has more than 16 transformations"),
        ("aggregate(" + ",".join(f"$count as N{at}" for at in range(40)) + ")", "at most 32 items"),
        ("compute(" + ",".join(
            ["Total mul Total as A0"] + [f"A{at} mul A{at} as A{at + 1}" for at in range(30)]
        ) + ")/aggregate(A30 with sum as S)", "is computed of more than"),
        ("groupby((" * 500, "position 10: there is no function groupby"),
    ],
)  # fmt: skip
def test_a_transformation_that_cannot_be_made_is_refused_with_its_place(api, apply, message):
    error = refused(api.get("claim", {"$apply": apply}), 400, "InvalidApply")
    assert message in error["message"]
    assert error["target"] == "$apply"


@pytest.mark.parametrize(
    ("query", "target"),
    [
        ({"$expand": "*"}, "$expand"),
        ({"$search": "x"}, "$search"),
        ({"$select": "Total"}, "$select"),
        ({"$filter": "Total gt 1"}, "$apply"),
        ({"$format": "csv", "$select": "Total"}, "$select"),
        ({"$skiptoken": "x"}, "$skiptoken"),
    ],
)
def test_options_that_do_not_go_with_sums_are_refused_by_name(api, query, target):
    error = refused(api.get("claim", {"$apply": "aggregate($count as N)", **query}), 400)
    assert error["target"] == target


def test_sums_are_for_collections(api, records):
    query = {"$apply": "aggregate($count as N)"}
    refused(api.get(f"claim/{records.whole['Claim']}", query), 400)
    refused(api.get("claim/$count", query), 400)


def test_computed_values_of_sums_can_be_filtered_and_ordered(api):
    found = rows(
        api,
        "groupby((Source),aggregate(UpfrontValueOfSale with sum as S))",
        **{"$compute": "S mul 2 as T", "$filter": "T gt 0", "$orderby": "T desc"},
    )
    assert [(row["Source"], Decimal(row["T"])) for row in found] == [
        ("Training", Decimal("2000001142.42")),
        ("CallCold", Decimal("0.6")),
    ]


def test_sums_are_grouped_by_members_of_other_sets(api, records):
    claims = ok(api.get("claim", {"$expand": "Contact($select=LastName)"}))["value"]
    body = ok(api.get("claim", {"$apply": "groupby((Contact/LastName),aggregate($count as N))"}))
    assert body["@odata.context"].endswith("#Claim(N,Contact(LastName))")
    assert sum(row["N"] for row in body["value"]) == len(claims)
    names = {claim["Contact"]["LastName"] for claim in claims}
    assert {row["Contact"]["LastName"] for row in body["value"]} == names
    paths = "Contact/Client/BusinessName,Contact/Address/Suburb"
    body = ok(api.get("claim", {"$apply": f"groupby(({paths}))"}))
    assert body["@odata.context"].endswith("#Claim(Contact(Address/Suburb,Client(BusinessName)))")


@pytest.mark.parametrize(
    "apply",
    [
        "groupby((Contact/LastName))",
        "filter(Contact/LastName eq 'x')/aggregate($count as N)",
        "aggregate(Contact/LastName with countdistinct as N)",
        "compute(length(Contact/LastName) as L)/aggregate(L with max as M)",
        "topcount(1,length(Contact/LastName))",
        "topsum(1,length(Contact/LastName))",
        "filter(Contact/Claims/any())",
        "aggregate(Contact/Claims/$count with sum as N)",
        "concat(aggregate($count as N),groupby((Contact/LastName)))",
    ],
)
def test_sums_along_another_set_need_its_permission(records, apply):
    narrow = Caller(an_application("claim.read", name="narrow"))
    assert narrow.get("claim", {"$apply": "aggregate($count as N)"}).status_code == 200
    refused(narrow.get("claim", {"$apply": apply}), 403, "Forbidden")
    wide = Caller(an_application("claim.read", "contact.read", name="wide"))
    assert wide.get("claim", {"$apply": apply}).status_code == 200
