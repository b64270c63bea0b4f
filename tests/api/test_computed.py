"""$compute, and what stands inside $select and $expand."""

import json

import pytest

from tests.api.caller import ok, refused
from tests.people.builders import a_staff_member, a_team
from tests.sales.builders import an_opportunity


@pytest.fixture
def sales(api):
    for name, value, chance in (("a", "10.00", 50), ("b", "0.10", 33), ("c", None, 10)):
        an_opportunity(Name=f"sale {name}", UpfrontValueOfSale=value, ChanceOfSales=chance)
    return api


def rows(api, **query):
    options = {f"${name}": text for name, text in query.items()}
    condition = f"startswith(Name,'sale ') and {options.pop('$filter', 'true')}"
    answer = api.get("opportunity", {"$orderby": "Name", **options, "$filter": condition})
    ok(answer)
    return json.loads(answer.content, parse_float=str)["value"]


def test_computed_values_stand_behind_the_members(sales):
    found = rows(
        sales,
        compute="UpfrontValueOfSale mul ChanceOfSales div 100 as Expected,toupper(Name) as Title,"
        "UpfrontValueOfSale as Same,year(CreationDate) gt 2000 as IsNew,CreationDate as Made",
    )
    assert [row["Expected"] for row in found] == [5, "0.033", None]
    assert [row["Title"] for row in found] == ["SALE A", "SALE B", "SALE C"]
    assert (
        [row["Same"] for row in found]
        == [row["UpfrontValueOfSale"] for row in found]
        == ["10.00", "0.10", None]
    )
    for row in found:
        assert row["IsNew"] is True
        assert row["Made"] == row["CreationDate"]


def test_computed_numbers_have_fifteen_digits(sales):
    found = rows(
        sales,
        compute="(ChanceOfSales add 1000000) div 7 as Large,-ChanceOfSales divby 700000 as Small,"
        "UpfrontValueOfSale sub UpfrontValueOfSale as Zero,ChanceOfSales mul 1e15 as Whole",
    )
    assert [row["Large"] for row in found] == ["142864.285714286", "142861.857142857", "142858.571428571"]
    assert [row["Small"] for row in found] == ["-0.000071428571", "-0.000047142857", "-0.000014285714"]
    assert [row["Zero"] for row in found] == [0, 0, None]
    assert [row["Whole"] for row in found] == [50 * 10**15, 33 * 10**15, 10**16]
    # Rounded to 16 digits first, as a double is shown, it would end in 2.
    an_opportunity(Name="sale d", UpfrontValueOfSale="731.99")
    power = " mul ".join(["UpfrontValueOfSale"] * 4)
    (row,) = rows(sales, compute=f"{power} as Power", filter="Name eq 'sale d'")
    assert row["Power"] == "287091670370.771"


def test_computed_whole_numbers_are_shown_as_such(sales):
    found = rows(
        sales,
        compute="length(Name) as Length,100 as Hundred,year(CreationDate) mul 0 as Nothing,"
        "length(Name) mul 9223372036854775807 as Large,length(Name) mul 1234567890123456789012 as Larger",
        filter="Name eq 'sale a'",
    )
    assert [(row["Length"], row["Hundred"], row["Nothing"]) for row in found] == [(6, 100, 0)]
    # Beyond 64 bits SQLite has doubles, of which both show fifteen digits.
    assert [(row["Large"], row["Larger"]) for row in found] == [
        (55340232221128700000, 7407407340740740000000)
    ]


def test_computed_values_are_filtered_ordered_and_selected(sales):
    found = rows(
        sales,
        compute="UpfrontValueOfSale add 1 as A,A mul 2 as B",
        filter="B gt 0",
        orderby="B",
        select="Name,B",
    )
    assert [(row["Name"], row["B"]) for row in found] == [("sale b", "2.2"), ("sale a", 22)]
    assert set(found[0]) == {"OpportunityId", "Name", "B"}


def test_pages_in_the_order_of_a_computed_value_follow_one_another(sales):
    query = {"$compute": "length(Name) add ChanceOfSales as N", "$orderby": "N desc", "$select": "N",
             "$filter": "startswith(Name,'sale ')"}  # fmt: skip
    numbers = [
        row["N"] for page in sales.pages("opportunity", query, Prefer="odata.maxpagesize=1") for row in page
    ]
    assert numbers == [56, 39, 16]


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        ("Nothing add 1 as A", "has no member Nothing"),
        ("1 add 1 as Name", "Opportunity has a member Name"),
        ("1 add 1", "position 8: as and a name are expected"),
        (
            ",".join(["ChanceOfSales as A0", *(f"A{n} add A{n} as A{n + 1}" for n in range(20))]),
            "computed of more",
        ),
    ],
)
def test_what_cannot_be_computed_is_refused(sales, compute, message):
    error = refused(sales.get("opportunity", {"$compute": compute}), 400)
    assert message in error["message"]
    assert error["target"] == "$compute"


def test_a_selected_object_has_a_select_of_its_own(api, records):
    query = {"$select": "BusinessName,Address($select=Suburb,State)"}
    body = ok(api.get(f"client({records.whole['Client']})", query))
    assert set(body["Address"]) == {"Suburb", "State"}
    assert body == ok(
        api.get(
            f"client({records.whole['Client']})", {"$select": "BusinessName,Address/Suburb,Address/State"}
        )
    )
    for wrong in ("Address($filter=true)", "Address($select=Suburb", "Address()", "Address($select=)"):
        refused(api.get("client", {"$select": wrong}), 400)


def test_a_list_is_counted_without_its_items(api):
    teams = [a_team(name=name) for name in ("Alpha", "Beta")]
    guid = a_staff_member(Teams=[{"TeamId": team.pk} for team in teams]).pk
    for expand, number in (("Teams/$count", 2), ("Teams/$count($filter=Name eq 'Beta')", 1)):
        body = ok(api.get(f"staff({guid})", {"$expand": expand}))
        assert body["Teams@odata.count"] == number
        assert "Teams" not in body
    refused(api.get("staff", {"$expand": "PrimaryRole/$count"}), 400)


def test_levels_of_members_that_lead_to_no_member_of_their_name_change_nothing(api, records):
    for levels in ("1", "3", "max"):
        query = {"$expand": f"LineItems($levels={levels})"}
        assert ok(api.get("claim", query))["value"] == ok(api.get("claim", {"$expand": "LineItems"}))["value"]
    for wrong in ("0", "-1", "x", ""):
        refused(api.get("claim", {"$expand": f"LineItems($levels={wrong})"}), 400)


def test_items_of_lists_have_computed_values_of_their_own(api, records):
    claims = ok(api.get("claim", {"$expand": "LineItems,Contact"}))["value"]
    expand = (
        "LineItems($compute=Quantity mul Price as Amount,Amount mul 2 as Double;$filter=Amount gt 0"
        ";$orderby=Amount desc;$select=Double),Contact($compute=length(LastName) as Letters)"
    )
    computed = ok(api.get("claim", {"$expand": expand, "$select": "ClaimNumber"}))["value"]
    for claim, row in zip(claims, computed, strict=True):
        amounts = sorted((item["Quantity"] * item["Price"] for item in claim["LineItems"]), reverse=True)
        assert [float(item["Double"]) for item in row["LineItems"]] == pytest.approx([2 * a for a in amounts])
        assert all(item.keys() == {"LineItemGuid", "Double"} for item in row["LineItems"])
        assert row["Contact"] == {**claim["Contact"], "Letters": len(claim["Contact"]["LastName"])}
    for wrong, message in (
        ("LineItems($compute=Total add 1 as Notes)", "has a member Notes"),
        ("LineItems($compute=Nothing add 1 as A)", "has no member Nothing"),
        ("LineItems($compute=Total add 1 as A),LineItems", "is given twice"),
    ):
        assert message in refused(api.get("claim", {"$expand": wrong}), 400)["message"]
    refused(api.get("claim", {"$expand": "LineItems($compute=1 add 1 as A)", "$format": "csv"}), 400)
    refused(api.get("client", {"$expand": "Address($compute=1 add 1 as A)"}), 400)


def test_records_of_another_set_are_searched_inside_expand(api, records):
    claim = ok(api.get(f"claim({records.whole['Claim']})"))
    address = f"contact({claim['ContactGuid']})"
    contact = ok(api.get(address, {"$expand": "Claims"}))
    number = contact["Claims"][0]["ClaimNumber"]
    for text, expected in (
        (number, [number]),
        (f"NOT {number}", [c["ClaimNumber"] for c in contact["Claims"][1:]]),
    ):
        body = ok(api.get(address, {"$expand": f"Claims($search={text})"}))
        assert [claim["ClaimNumber"] for claim in body["Claims"]] == expected
    error = refused(api.get("claim", {"$expand": "LineItems($search=x)"}), 400)
    assert error["message"] == "LineItems cannot be searched; use $filter."
