"""$apply: the first rows of an order, limits of sums one behind the other, and what all of it may cost."""

import json
import random
from decimal import Decimal

import pytest

from tests.api.caller import ok, refused
from tests.sales.builders import an_opportunity

pytestmark = pytest.mark.both_engines("each chain of limits is another statement")

#: (Name, UpfrontValueOfSale, ChanceOfSales); both may be null, equal, and the first one below zero.
VALUES = (None, "-20.50", "0.00", "1.10", "1.10", "7.25", "90.00", "1000000000.01")
CHANCES = (None, 0, 10, 10, 20, 55, 99)
MEASURES = ("UpfrontValueOfSale", "ChanceOfSales")


@pytest.fixture(scope="module", autouse=True)
def opportunities(module_transaction):
    chance = random.Random(11)
    for number in range(40):
        an_opportunity(
            Name=f"limit {number:02d}",
            UpfrontValueOfSale=chance.choice(VALUES),
            ChanceOfSales=chance.choice(CHANCES),
            Source=chance.choice((None, "CallCold", "Training")),
        )


def read(api, query):
    answer = api.get("opportunity", query)
    ok(answer)
    return json.loads(answer.content, parse_float=Decimal, parse_int=Decimal)["value"]


@pytest.fixture
def records(api):
    return read(api, {"$filter": "startswith(Name,'limit')"})


def in_order(rows, measure, descending, key):
    def rank(row):
        return (0, 0, row[key]) if row[measure] is None else (1, row[measure], row[key])

    return sorted(rows, key=rank, reverse=descending)


def limited(rows, name, limit, measure, key="OpportunityId"):
    """What a transformation leaves of the rows, by the words of the standard."""
    ordered = in_order(rows, measure, name.startswith("top"), key)
    if name.endswith("count"):
        return ordered[:limit]
    least = (
        sum(row[measure] or 0 for row in rows) * Decimal(limit) / 100
        if name.endswith("percent")
        else Decimal(limit)
    )
    found, running, reached = [], Decimal(0), Decimal(0)
    for row in ordered:
        if least <= 0 or (found and reached >= least):
            break
        found.append(row)
        running += row[measure] or 0
        reached = max(reached, running)
    return found


LIMITS = {
    **{f"{end}count": (1, 3, 20, 35) for end in ("top", "bottom")},
    **{f"{end}sum": (1, 30, 400, 10**9) for end in ("top", "bottom")},
    **{f"{end}percent": (1, 50, 90, 100) for end in ("top", "bottom")},
}


@pytest.mark.parametrize("seed", range(20))
def test_limits_follow_one_another_as_the_standard_says(api, records, seed):
    chance = random.Random(seed)
    expected, chain = records, []
    for _ in range(chance.choice((1, 2, 3, 5, 9, 15))):
        name = chance.choice(list(LIMITS))
        limit, measure = chance.choice(LIMITS[name]), chance.choice(MEASURES)
        chain.append(f"{name}({limit},{measure})")
        expected = limited(expected, name, limit, measure)
    apply = "/".join(["filter(startswith(Name,'limit'))", *chain])
    found = read(api, {"$apply": apply, "$top": "1000"})
    assert {row["Name"] for row in found} == {row["Name"] for row in expected}, apply


@pytest.mark.parametrize("seed", range(10))
def test_limits_of_sums_follow_one_another_as_well(api, records, seed):
    chance = random.Random(seed)
    expected = [{"Name": row["Name"], "S": row["UpfrontValueOfSale"]} for row in records]
    chain = []
    for _ in range(chance.choice((1, 2, 3, 7, 13))):
        name = chance.choice(list(LIMITS))
        limit = chance.choice(LIMITS[name])
        chain.append(f"{name}({limit},S)")
        ordered = "bottom" if name.startswith("bottom") else "top"
        # Rows of the same sum are ordered by their other columns, in ascending order.
        expected = limited(
            [{**row, "key": Order(row["Name"], ordered == "top")} for row in expected],
            name,
            limit,
            "S",
            "key",
        )
    groups = "groupby((Name),aggregate(UpfrontValueOfSale with sum as S))"
    apply = "/".join(["filter(startswith(Name,'limit'))", groups, *chain])
    found = read(api, {"$apply": apply, "$top": "1000"})
    assert {row["Name"] for row in found} == {row["Name"] for row in expected}, apply


class Order(str):
    """A text in ascending order in a list that is sorted in reverse."""

    def __new__(cls, text, is_reverse):
        order = super().__new__(cls, text)
        order.is_reverse = is_reverse
        return order

    def __lt__(self, other):
        return str.__gt__(self, other) if self.is_reverse else str.__lt__(self, other)


def test_records_come_in_the_order_that_they_were_chosen_in(api, records):
    of_test = "filter(startswith(Name,'limit'))"
    expected = [row["Name"] for row in in_order(records, "ChanceOfSales", True, "OpportunityId")]
    ordered = f"{of_test}/orderby(ChanceOfSales desc)"
    assert [row["Name"] for row in read(api, {"$apply": ordered})] == expected
    assert [row["Name"] for row in read(api, {"$apply": f"{ordered}/skip(3)/top(7)"})] == expected[3:10]
    pages = api.all("opportunity", {"$apply": ordered}, Prefer="odata.maxpagesize=7")
    assert [row["Name"] for row in pages] == expected
    other = read(api, {"$apply": f"{ordered}/top(5)", "$orderby": "Name"})
    assert [row["Name"] for row in other] == sorted(expected[:5])
    (row,) = read(api, {"$apply": f"{ordered}/top(5)/aggregate($count as N)"})
    assert row == {"N": 5}
    newest = read(api, {"$filter": "startswith(Name,'limit')", "$top": "3"})
    assert [row["Name"] for row in read(api, {"$apply": f"{of_test}/top(3)"})] == [r["Name"] for r in newest]


def nested(name, levels):
    return f"(1 add {nested(name, levels - 1)})" if levels else name


DOUBLED = ",".join(["ChanceOfSales add 1 as A0", *(f"A{n} add A{n} as A{n + 1}" for n in range(7))])
SUM = "groupby((Name),aggregate(ChanceOfSales with sum as C))"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"$compute": f"{nested('ChanceOfSales', 9)} as X", "$orderby": nested("X", 9)}, "12 deep"),
        ({"$compute": f"{nested('ChanceOfSales', 9)} as X", "$filter": f"{nested('X', 9)} gt 1"}, "12 deep"),
        ({"$compute": DOUBLED, "$filter": " or ".join(["A7 gt 1"] * 290)}, "more than 1,300 operators"),
        ({"$compute": DOUBLED, "$orderby": "A7,A7 add A7,A6 mul A7"}, "more than 1,300 operators"),
        ({"$expand": f"Stage($compute={DOUBLED.replace('ChanceOfSales', 'StageId')})"}, None),
        ({"$apply": f"compute({nested('ChanceOfSales', 9)} as X)/filter({nested('X', 9)} gt 1)"}, "12 deep"),
        ({"$apply": f"compute({DOUBLED})/filter(A7 gt A6 and A7 gt A5)/aggregate(A7 with sum as S)"}, "1,3"),
        ({"$apply": f"{SUM}/compute({nested('C', 9)} as X)/filter({nested('X', 9)} gt 1)"}, "12 deep"),
        ({"$apply": f"{SUM}/compute({nested('C', 9)} as X)", "$orderby": nested("X", 9)}, "12 deep"),
        ({"$apply": SUM, "$compute": f"{nested('C', 9)} as X", "$orderby": nested("X", 9)}, "12 deep"),
        ({"$apply": f"{SUM}/topsum(1,{nested('C', 5)})/compute({nested('C', 9)} as X)"
                    f"/toppercent(1,{nested('X', 9)})"}, "12 deep"),
        ({"$apply": f"{SUM}/" + "/".join(["filter(C mul C add C div 3 gt 1)/top(1000)"] * 7)}, None),
        ({"$apply": f"{SUM}/{'/'.join(['groupby((Name,C))'] * 14)}"}, None),
        ({"$apply": "concat(" + ",".join(["aggregate($count as N)"] * 15) + ")"}, None),
        ({"$apply": "/".join(["topcount(1000,ChanceOfSales)"] * 16)}, None),
        ({"$apply": "filter(ChanceOfSales gt 5)/" + "/".join(["topsum(100000,ChanceOfSales)"] * 15)}, None),
    ],
)  # fmt: skip
def test_a_short_text_does_not_cost_much(api, query, message):
    answer = api.get("opportunity", query)
    if message is None:
        ok(answer)
    else:
        error = refused(answer, 400)
        assert message in error["message"]
        assert "with the computed values that they name" in error["message"]


def test_numbers_beyond_all_measure_are_null_or_refused(api):
    big = f"1{'0' * 58}"
    squares = ",".join(
        [f"{big} mul (ChanceOfSales add 1) as A0", *(f"A{n} mul A{n} as A{n + 1}" for n in range(3))]
    )
    query = {"$filter": "Name eq 'limit 00'", "$compute": squares, "$select": "A0,A2,A3"}
    (row,) = read(api, query)
    assert row["A2"] > 10**230 or row["A2"] is None
    assert row["A3"] is None
    groups = [
        f"compute({'C' if not n else f'G{n}'}{f' mul {big}' * 9} as G{n + 1})/groupby((G{n + 1}))"
        for n in range(7)
    ]
    refused_or_null = api.get("opportunity", {"$apply": "/".join([SUM, *groups])})
    if refused_or_null.status_code == 400:
        assert refused(refused_or_null, 400, "OutOfRange")["message"].startswith("A computed number has more")
    else:
        assert {row["G7"] for row in ok(refused_or_null)["value"]} == {None, 0}
