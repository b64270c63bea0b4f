"""What is left for the day of a line while it is typed, and lists by the warnings of plans."""

from decimal import Decimal

import pytest

from tests.engagements.builders import a_category_budget, a_pace_plan, with_periods
from tests.funding.warned import TODAY, a_guide_item
from tests.people.records import an_administrator

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ada(client, at):
    at(TODAY)
    client.force_login(an_administrator(first_name="Ada", last_name="Byron"))


def lefts(client, plan, *days):
    code = "01_011_0107_1_1"
    query = {"contact": str(plan.participant_id), "line": [f"|{code}|{day}" for day in days]}
    lines = client.get("/admin/funding/claim/prices/", query).json()["lines"]
    return [each["left"] for each in lines]


def test_a_line_is_told_what_the_period_of_its_day_has_left(client):
    a_guide_item()
    plan = a_pace_plan()
    budget = a_category_budget(plan, budget=Decimal("300.00"), component_name="Flexible core")
    with_periods(budget, ("2026-07-01", "2026-09-30", "150.00"), ("2026-10-01", "2026-12-31", "150.00"))
    budget.periods.filter(first_day="2026-07-01").update(waiting=Decimal("40.00"))
    assert lefts(client, plan, "2026-08-14", "2026-10-14", "2027-02-01") == [
        "Left for 14 Aug 2026: 110.00 of Flexible core (period to 30 Sep 2026)",
        "Left for 14 Oct 2026: 260.00 of Flexible core (period to 31 Dec 2026)",
        "Flexible core has no funding period on 1 Feb 2027",
    ]


def test_nothing_is_said_of_a_component_without_periods(client):
    a_guide_item()
    plan = a_pace_plan()
    a_category_budget(plan)
    assert lefts(client, plan, "2026-08-14") == [""]


@pytest.mark.parametrize("code", ["OverPeriod", "NotStated", "NotEndorsed"])
def test_lists_are_filtered_by_the_warnings_of_components(client, code):
    for model in ("claim", "invoice"):
        page = client.get(f"/admin/funding/{model}/", {"warning": code})
        assert page.status_code == 200
        assert code in page.content.decode()
