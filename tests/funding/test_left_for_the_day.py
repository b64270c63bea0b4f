"""What is left for the day of a line while it is typed, and lists by the warnings of plans."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.engagements.amounts import Amounts, DatedChange
from apps.funding.statuses import ENDED
from tests.engagements.builders import a_category_budget, a_pace_plan, add_amounts, with_periods
from tests.funding.builders import a_claim, an_invoice
from tests.funding.warned import a_guide_item

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_a_thursday", "ada")]


def lefts(client, plan, *days, of="claim", bill=""):
    code = "01_011_0107_1_1"
    lines = [f"|{code}|{day}" for day in days]
    query = {"contact": str(plan.participant_id), "bill": str(bill), "line": lines}
    lines = client.get(f"/admin/funding/{of}/prices/", query).json()["lines"]
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


@pytest.mark.parametrize(("make", "of"), [(a_claim, "claim"), (an_invoice, "invoice")])
def test_the_lines_of_a_saved_bill_are_left_for_its_own_form(client, make, of):
    entry = a_guide_item()
    plan = a_pace_plan()
    budget = a_category_budget(plan, budget=Decimal("300.00"), component_name="Flexible core")
    with_periods(budget, ("2026-07-01", "2026-09-30", "150.00"), ("2026-10-01", "2026-12-31", "150.00"))
    day = dt.date(2026, 8, 12)
    line = {"entry": entry, "category_budget": budget, "from_date": day, "quantity": "1", "price": "40.00"}
    saved = make(contact=plan.participant, lines=[line])
    add_amounts([DatedChange(budget.pk, day, day, Amounts(waiting=Decimal("40.00")))])
    [others] = lefts(client, plan, "2026-08-14", of=of)
    assert others == "Left for 14 Aug 2026: 110.00 of Flexible core (period to 30 Sep 2026)"
    [own] = lefts(client, plan, "2026-08-14", of=of, bill=saved.pk)
    assert own == "Left for 14 Aug 2026: 150.00 of Flexible core (period to 30 Sep 2026)"
    type(saved).objects.filter(pk=saved.pk).update(funding_status=sorted(ENDED)[0])
    assert lefts(client, plan, "2026-08-14", of=of, bill=saved.pk) == [others]


@pytest.mark.parametrize("of", ["claim", "invoice"])
def test_the_form_of_a_saved_bill_sends_its_key(client, of):
    saved = {"claim": a_claim, "invoice": an_invoice}[of]()
    form = client.get(f"/admin/funding/{of}/{saved.pk}/change/").content.decode()
    assert f'data-bill="{saved.pk}"' in form
    assert 'data-bill=""' in client.get(f"/admin/funding/{of}/add/").content.decode()


@pytest.mark.both_engines("found or summed by the database")
@pytest.mark.parametrize("code", ["OverPeriod", "NotStated", "NotEndorsed"])
def test_lists_are_filtered_by_the_warnings_of_components(client, code):
    for model in ("claim", "invoice"):
        page = client.get(f"/admin/funding/{model}/", {"warning": code})
        assert page.status_code == 200
        assert code in page.content.decode()
