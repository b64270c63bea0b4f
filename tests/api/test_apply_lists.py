"""$apply over the items of lists: claimed by product, against sums made in Python of the same records."""

import json
from collections import defaultdict
from decimal import Decimal

import pytest

from apps.base.declaration.service import get_service
from apps.people.models import Contact
from tests.api.caller import Caller, an_application, ok, refused
from tests.funding.builders import a_claim, a_price_book, a_product, an_entry, an_invoice
from tests.people.builders import a_contact, a_staff_member, a_team

TOTALS = (["0.10", "0.20"], ["1000000000.01", "0.10", "571.20"], ["10.00"])


@pytest.fixture
def claims(api):
    """Claims of several lines of few products; one claim and one participant have none."""
    book = a_price_book()
    entries = [an_entry(book, a_product(code=code)) for code in ("01_A", "02_B")]
    contacts = [a_contact(LastName="Ash"), a_contact(LastName="Birch")]
    a_contact(LastName="Cedar")
    for at, totals in enumerate(TOTALS):
        lines = [
            {"entry": entries[n % 2], "price": total, "quantity": "1"} for n, total in enumerate(totals, at)
        ]
        a_claim(lines=lines, contact=contacts[at % 2], claim_number=f"C-{at}")
    empty = a_claim(contact=contacts[0], claim_number="C-empty")
    empty.line_items.all().delete()
    return api


def read(api, query, path="claim"):
    """A body with numbers as decimals."""
    answer = api.get(path, query)
    ok(answer)
    return json.loads(answer.content, parse_float=Decimal, parse_int=Decimal)


def rows(api, apply, path="claim", **options):
    return read(api, {"$apply": apply, **options}, path)["value"]


def lines_of(api):
    """(claim, line) of all lines."""
    found = read(api, {"$expand": "LineItems,Contact", "$top": "100"})["value"]
    return [(claim, line) for claim in found for line in claim["LineItems"]]


def sums(pairs):
    found = defaultdict(Decimal)
    for key, amount in pairs:
        found[key] += amount
    return dict(found)


def test_what_was_claimed_by_product(claims):
    body = read(
        claims,
        {
            "$apply": "join(LineItems as Item)"
            "/groupby((Item/Product/Code),aggregate(Item/Total with sum as Claimed,$count as Lines))"
        },
    )
    assert body["@odata.context"].endswith("#Claim(Claimed,Lines,Item(Product(Code)))")
    expected = sums((line["Product"]["Code"], line["Total"]) for _, line in lines_of(claims))
    assert {row["Item"]["Product"]["Code"]: row["Claimed"] for row in body["value"]} == expected
    assert expected == {"01_A": Decimal("10.20"), "02_B": Decimal("1000000571.41")}
    assert [row["Lines"] for row in body["value"]] == [3, 3]


def test_members_of_items_and_of_records_stand_beside_one_another(claims):
    found = rows(
        claims,
        "filter(ClaimNumber ne 'C-2')/join(LineItems as Item,filter(Total gt 0.1))"
        "/filter(Item/Total lt 1000 and Contact/LastName ne 'Cedar')"
        "/compute(Item/Quantity mul Item/Price as Amount)"
        "/groupby((Contact/LastName,Item/Product/Code),"
        "aggregate(Amount with sum as Sum,Total with max as Most))",
    )
    expected = sums(
        ((claim["Contact"]["LastName"], line["Product"]["Code"]), line["Total"])
        for claim, line in lines_of(claims)
        if claim["ClaimNumber"] != "C-2" and Decimal("0.1") < line["Total"] < 1000
    )
    assert {
        (row["Contact"]["LastName"], row["Item"]["Product"]["Code"]): row["Sum"] for row in found
    } == expected
    assert len(expected) == 2


def test_items_are_aggregated_without_a_join(claims):
    (row,) = rows(
        claims,
        "aggregate(LineItems/Total with sum as Claimed,LineItems/Total with max as Most,"
        "LineItems/$count as Lines,"
        "LineItems/Product/Code with countdistinct as Products,LineItems/Total with average as Mean,"
        "LineItems/Quantity mul LineItems/Price with sum as Amount,$count as Claims)",
    )
    totals = [Decimal(total) for totals in TOTALS for total in totals]
    assert row == {
        **{"Claimed": sum(totals), "Most": max(totals), "Lines": 6, "Products": 2, "Claims": 4},
        **{"Amount": sum(totals), "Mean": Decimal("166666763.601667")},
    }


def test_items_are_aggregated_by_members_of_their_records(claims):
    found = rows(
        claims,
        "groupby((ClaimNumber,Contact/LastName),aggregate(LineItems/Total with sum as Claimed,"
        "LineItems/$count as Lines,$count as Claims))",
    )
    expected = sums((claim["ClaimNumber"], line["Total"]) for claim, line in lines_of(claims))
    assert {row["ClaimNumber"]: row["Claimed"] for row in found} == {**expected, "C-empty": None}
    assert {row["ClaimNumber"]: row["Lines"] for row in found} == {"C-0": 2, "C-1": 3, "C-2": 1, "C-empty": 0}
    assert {row["Claims"] for row in found} == {1}
    (row,) = rows(claims, "filter(ClaimNumber eq 'C-0')/aggregate(LineItems/Total with sum as S)")
    assert row == {"S": Decimal("0.30")}


def test_an_outer_join_keeps_records_without_items(claims):
    apply = "(Claims as Claim)/groupby((LastName),aggregate(Claim/Total with sum as S))"
    names = "filter(LastName in ('Ash','Birch','Cedar'))"
    kept = {row["LastName"]: row["S"] for row in rows(claims, f"{names}/outerjoin{apply}", "contact")}
    assert kept["Cedar"] is None
    assert kept["Ash"] is not None
    found = {row["LastName"]: row["S"] for row in rows(claims, f"{names}/join{apply}", "contact")}
    assert found == {name: total for name, total in kept.items() if name != "Cedar"}
    none_left = f"{names}/outerjoin(Claims as Claim,filter(ClaimNumber eq 'none'))"
    for filter_, number in (
        ("Claim/Total eq null", 3),
        ("Claim/Total gt 0", 0),
        ("Claim/LineItems/any()", 0),
        ("not (Claim/Contact/Client/BusinessName eq 'x')", 3),
        ("year(Claim/StartDate) eq 2026 or LastName eq 'Ash'", 1),
    ):
        (row,) = rows(claims, f"{none_left}/filter({filter_})/aggregate($count as N)", "contact")
        assert row == {"N": number}
    totals = rows(
        claims,
        f"{names}/outerjoin(Claims as C)/compute(C/Total add 1 as More,length(LastName) as L)/filter(L ge 5)"
        "/groupby((LastName),aggregate(More with max as Most))",
        "contact",
    )
    assert [(row["LastName"], row["Most"] is None) for row in totals] == [("Birch", False), ("Cedar", True)]
    (row,) = rows(claims, "outerjoin(LineItems as Item)/filter(Item/Product eq null)/aggregate($count as N)")
    assert row == {"N": 1}


def joined_lines(api, is_outer=False):
    """(claim, line) of all lines in the order of their totals; with ``is_outer`` claims without one first."""
    found = read(api, {"$expand": "LineItems,Contact", "$top": "100"})["value"]
    pairs = [(claim, line) for claim in found for line in claim["LineItems"]]
    if is_outer:
        pairs += [(claim, None) for claim in found if not claim["LineItems"]]
    return sorted(
        pairs, key=lambda pair: (pair[1]["Total"], pair[1]["LineItemGuid"]) if pair[1] else (-1, "")
    )


@pytest.mark.parametrize("join", ["join", "outerjoin"])
@pytest.mark.parametrize(
    ("limit", "chosen"),
    [
        ("topcount(2,Item/Total)", lambda rows: rows[-2:]),
        ("bottomcount(2,Item/Total)", lambda rows: rows[:2]),
        ("orderby(Item/Total desc)/skip(1)/top(2)", lambda rows: rows[::-1][1:3]),
        ("orderby(Item/Total)/filter(ClaimNumber eq 'C-1')/top(1)",
         lambda rows: [next(row for row in rows if row[0]["ClaimNumber"] == "C-1")]),
        ("orderby(Item/Total)/top(4)/top(1)", lambda rows: rows[:1]),
        ("topsum(571,Item/Total)", lambda rows: rows[-1:]),
        ("bottomsum(0.25,Item/Total)", lambda rows: [row for row in rows[:-3] if row]),
        ("toppercent(50,Item/Total)/bottompercent(100,Item/Quantity)", lambda rows: rows[-1:]),
        ("topcount(5,Item/Total)/bottomcount(3,Item/Total)/topcount(2,Item/Total)", lambda rows: rows[-4:-2]),
        ("compute(Item/Total mul -1 as Less)/topcount(3,Less)", lambda rows: [r for r in rows if r[1]][:3]),
    ],
)  # fmt: skip
def test_the_first_rows_of_an_order_stand_behind_a_join(claims, join, limit, chosen):
    rows_of_join = joined_lines(claims, is_outer=join == "outerjoin")
    if limit.startswith("compute") and join == "outerjoin":
        rows_of_join = [pair for pair in rows_of_join if pair[1]]
    expected = chosen(rows_of_join)
    groups = "groupby((ClaimNumber,Item/LineItemGuid),aggregate(Item/Total with sum as S,$count as N))"
    found = rows(claims, f"{join}(LineItems as Item)/{limit}/{groups}")
    assert {(row["ClaimNumber"], row["Item"]["LineItemGuid"]) for row in found} == {
        (claim["ClaimNumber"], line and line["LineItemGuid"]) for claim, line in expected
    }
    (row,) = rows(claims, f"{join}(LineItems as Item)/{limit}/aggregate(Item/Total with sum as S)")
    assert row["S"] == (
        sum(line["Total"] for _, line in expected if line) if any(p[1] for p in expected) else None
    )


@pytest.mark.parametrize(
    ("apply", "expected"),
    [
        ("topcount(2,Total)/orderby(ClaimNumber desc)/join(LineItems as Item)/top(1)"
         "/aggregate($count as N,ClaimNumber with max as Last)", {"N": 1, "Last": "C-2"}),
        ("topcount(2,Total)/outerjoin(LineItems as Item)/topcount(9,Item/Total)/aggregate($count as N)",
         {"N": 4}),
        ("toppercent(99,Total)/aggregate(LineItems/Total with sum as S,$count as N)",
         {"S": Decimal("1000000571.31"), "N": 1}),
    ],
)  # fmt: skip
def test_records_are_limited_before_and_items_behind_a_join(claims, apply, expected):
    assert rows(claims, f"filter(ClaimNumber ne 'C-empty')/{apply}") == [expected]


def test_an_item_of_several_lists_is_counted_once(api, db):
    one, other = a_team(name="One"), a_team(name="Other")
    for teams in ([one, other], [one], []):
        a_staff_member(LastName="Elm", Teams=[{"TeamId": team.pk} for team in teams])
    elms = "filter(LastName eq 'Elm')"
    (row,) = rows(api, f"{elms}/aggregate(Teams/$count as Teams,Teams/TeamId with sum as S)", "staff")
    assert row == {"Teams": 2, "S": one.pk + other.pk}
    (row,) = rows(api, f"{elms}/join(Teams as Team)/aggregate($count as Memberships)", "staff")
    assert row == {"Memberships": 3}
    (row,) = rows(
        api,
        f"{elms}/join(Teams as T,filter(Name eq 'One'))/groupby((T/Name),aggregate($count as N))",
        "staff",
    )
    assert row == {"T": {"Name": "One"}, "N": 2}
    (row,) = rows(
        api,
        f"{elms}/outerjoin(Teams as T)/topcount(3,T/Name)/aggregate($count as N,T/Name with min as M)",
        "staff",
    )
    assert row == {"N": 3, "M": "One"}
    (row,) = rows(
        api, f"{elms}/filter(Teams/$count($filter=Name eq 'One') gt 0)/aggregate($count as N)", "staff"
    )
    assert row == {"N": 2}


ELMS = "filter(LastName eq 'Elm')"
IN_ONE, IN_NONE = {"FirstName": "In one"}, {"FirstName": "In none"}
BOTH = {"FirstName": "In both"}


@pytest.mark.parametrize(
    ("apply", "expected"),
    [
        # A group that a filter empties has no row, unless case keeps it.
        ("groupby((FirstName),filter(Teams/$count gt 1)/aggregate($count as N))", [{**BOTH, "N": 1}]),
        ("filter(Teams/$count gt 1)/groupby((FirstName))", [BOTH]),
        ("groupby((FirstName),aggregate(case(Teams/$count gt 1:1,true:0) with sum as N))",
         [{**BOTH, "N": 1}, {**IN_NONE, "N": 0}, {**IN_ONE, "N": 0}]),
        ("groupby((FirstName),aggregate(Teams/$count as N))/filter(N gt 1)", [{**BOTH, "N": 2}]),
        ("filter(false)/aggregate($count as N,NumberOfChildren with sum as S)", [{"N": 0, "S": None}]),
        ("filter(false)/groupby((FirstName),aggregate($count as N))", []),
        # Null is a group, the first one; nulls are not added or counted.
        ("groupby((NumberOfChildren),aggregate($count as N,NumberOfChildren with countdistinct as D))",
         [{"NumberOfChildren": None, "N": 2, "D": 0}, {"NumberOfChildren": 3, "N": 1, "D": 1}]),
        ("groupby((FirstName),aggregate(NumberOfChildren with sum as S))",
         [{**BOTH, "S": 3}, {**IN_NONE, "S": None}, {**IN_ONE, "S": None}]),
        # A shared item counts once in each group and in the whole, and for each record behind a join.
        ("groupby((FirstName),aggregate(Teams/$count as Teams,$count as N))",
         [{**BOTH, "Teams": 2, "N": 1}, {**IN_NONE, "Teams": 0, "N": 1}, {**IN_ONE, "Teams": 1, "N": 1}]),
        ("aggregate(Teams/$count as Teams,$count as N,NumberOfChildren with sum as S)",
         [{"Teams": 2, "N": 3, "S": 3}]),
        ("join(Teams as T)/aggregate($count as N,NumberOfChildren with sum as S)", [{"N": 3, "S": 6}]),
        ("outerjoin(Teams as T)/aggregate($count as N,T/Name with countdistinct as D)", [{"N": 4, "D": 2}]),
        ("join(Teams as T)/groupby((T/Name),aggregate($count as N))",
         [{"T": {"Name": "One"}, "N": 2}, {"T": {"Name": "Other"}, "N": 1}]),
        ("outerjoin(Teams as T)/groupby((T/Name),aggregate($count as N))/top(1)",
         [{"T": {"Name": None}, "N": 1}]),
        ("concat(aggregate($count as N),aggregate($count as M))", [{"N": 3}, {"M": 3}]),
    ],
)  # fmt: skip
def test_rows_of_groups_and_shared_records_are_what_the_document_says(api, db, apply, expected):
    one, other = a_team(name="One"), a_team(name="Other")
    for name, teams in (("In both", [one, other]), ("In one", [one]), ("In none", [])):
        a_staff_member(
            LastName="Elm",
            FirstName=name,
            NumberOfChildren=3 if len(teams) > 1 else None,
            Teams=[{"TeamId": team.pk} for team in teams],
        )
    assert rows(api, f"{ELMS}/{apply}", "staff") == expected


def test_every_list_can_be_joined_and_counted(api, records):
    for entity_set in get_service().entity_sets:
        parts = {**entity_set.type.navigations, **entity_set.type.set_navigations}
        for name, part in parts.items():
            if not part.many or part.item_only:
                continue
            (counted,) = rows(api, f"aggregate({name}/$count as N)", entity_set.path)
            key = part.type.key.name
            joined = rows(api, f"join({name} as TheItem)/groupby((TheItem/{key}))", entity_set.path)
            assert counted["N"] == len(joined), (entity_set.name, name)
            (all_rows,) = rows(api, f"outerjoin({name} as TheItem)/aggregate($count as N)", entity_set.path)
            assert all_rows["N"] >= len(joined)


def test_items_name_their_types_and_invoices_have_lines_too(api, records):
    an_invoice(lines=[{"price": "5.00", "quantity": "2", "is_credit_item": True}, {"price": "7.00"}])
    apply = "join(LineItems as Item)/groupby((Item/LineItemGuid),aggregate(Item/Total with sum as S))"
    plain = rows(api, apply, "invoice")
    full = rows(api, apply, "invoice", **{"$format": "json;odata.metadata=full"})
    assert len(plain) == len(full) > 1
    for row, bare in zip(full, plain, strict=True):
        assert row["Item"]["@odata.type"] == "#Records.InvoiceLine"
        assert row["Item"]["@odata.id"] is None
        assert row["Item"]["LineItemGuid@odata.type"] == "#Guid"
        assert (row["S@odata.type"], row["S"]) == ("#Decimal", bare["S"])
    assert Decimal("-10.00") in [row["S"] for row in plain]


@pytest.mark.parametrize(
    ("apply", "message"),
    [
        ("join(LineItems as Item)", "join needs an aggregation behind it"),
        ("join(Total as Item)", "Total has no members"),
        ("join(Contact as Item)", "Contact is no list of Claim; it has LineItems"),
        ("join(Contact/Claims as Item)", "Contact/Claims is no list of Claim"),
        ("join(Nothing as Item)", "Claim has no member Nothing"),
        ("join(LineItems)", "as and a name are expected"),
        ("join(1 as Item)", "position 6: join takes the name of a list"),
        ("join(LineItems as Total)", "the records have a member Total"),
        ("join(LineItems as A)/join(LineItems as B)", "one join stands before the aggregations"),
        ("aggregate($count as N)/join(LineItems as Item)", "one join stands before the aggregations"),
        ("join(LineItems as Item,top(1))", "inside join only filter stands"),
        ("join(LineItems as Item,filter(Nothing eq 1))/aggregate($count as N)", "has no member Nothing"),
        ("join(LineItems as Item)/topcount(1,Item/Total)", "join needs an aggregation behind it"),
        ("join(LineItems as Item)/orderby(Item/Nothing)/aggregate($count as N)", "has no member Nothing"),
        ("join(LineItems as Item)/orderby(Item)/aggregate($count as N)", "Item is a whole record"),
        ("join(LineItems as Item)/topsum(1,Item/Product/Code)/aggregate($count as N)", "sum is not taken of"),
        ("outerjoin(LineItems as Item)/search(x)/aggregate($count as N)", "search stands before join"),
        ("join(LineItems as Item)/groupby((Item))", "Item is a whole record"),
        ("aggregate(Contact/$count as N)", "Contact is no list of the records that $count could count"),
        ("aggregate(Contact/Claims/$count as N)", "Contact/Claims is no list of the records"),
        ("aggregate(LineItems/Product/$count as N)", "LineItems/Product is no list of the records"),
        ("aggregate(LineItems/Total/$count as N)", "LineItems/Total is no list of the records"),
        ("join(LineItems as I)/aggregate(LineItems/$count as N)", "LineItems is no list of the records"),
        ("aggregate($count as N)/aggregate(LineItems/$count as M)", "LineItems is no list of the records"),
        ("aggregate(LineItems/Total add Total with sum as N,LineItems/Nothing with sum as M)", "Nothing"),
        ("aggregate(Contact/Claims/Total with sum as N)",
         "Claims is a list; only lists of Claim itself are joined or aggregated"),
        ("filter(LineItems/Total gt 1)", "LineItems is a list; aggregate(LineItems/Total with …)"),
        ("concat(join(LineItems as I),aggregate($count as N))", "each sequence of concat needs an aggreg"),
    ],
)  # fmt: skip
def test_what_cannot_be_joined_is_refused(api, apply, message):
    error = refused(api.get("claim", {"$apply": apply}), 400, "InvalidApply")
    assert message in error["message"]
    assert error["target"] == "$apply"


def test_lists_of_another_set_need_its_permission(records):
    narrow = Caller(an_application("contact.read", name="narrow"))
    for apply in (
        "join(Claims as Claim)/aggregate($count as N)",
        "outerjoin(Claims as Claim)/aggregate($count as N)",
        "aggregate(Claims/Total with sum as S)",
        "aggregate(Claims/$count as N)",
    ):
        refused(narrow.get("contact", {"$apply": apply}), 403, "Forbidden")
    wide = Caller(an_application("contact.read", "claim.read", name="wide"))
    assert wide.get("contact", {"$apply": "aggregate(Claims/$count as N)"}).status_code == 200
    assert Contact.objects.exists()
