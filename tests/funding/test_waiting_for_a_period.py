"""What waits for a funding period that has not begun, on the page of its plan; sums worked out by hand."""

import datetime as dt
import html
import re
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.engagements.amounts import Amounts, DatedChange
from apps.engagements.models import FundingPeriod
from tests.api.caller import Caller, an_application, ok, refused
from tests.engagements.builders import a_category_budget, add_amounts, with_periods
from tests.engagements.test_component_grid import address, sent
from tests.funding.builders import a_claim, an_invoice
from tests.people.records import get_unrendered

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_a_thursday", "ada")]


@pytest.fixture
def core():
    """Three quarters of 100.00 each, of which the first has begun."""
    budget = a_category_budget(budget=Decimal("300.00"), component_name="Flexible core")
    return with_periods(
        budget,
        ("2026-07-01", "2026-09-30", "100.00"),
        ("2026-10-01", "2026-12-31", "100.00"),
        ("2027-01-01", "2027-06-30", "100.00"),
    )


def entered(core, first, amount, last=None, make=a_claim, **columns):
    """A bill of one support on the component, as entering it counts."""
    first = dt.date.fromisoformat(first)
    last = dt.date.fromisoformat(last) if last else first
    days = {"from_date": first, "to_date": last, "first_day": first, "last_day": last}
    line = {"category_budget": core, "quantity": "1", "price": amount, **days}
    bill = make(lines=[line], contact=core.engagement.participant, **columns)
    add_amounts([DatedChange(core.pk, first, last, Amounts(waiting=Decimal(amount)))])
    return bill


def waits(client, core):
    """The sentences beside the bars of the plan's page."""
    page = client.get(f"/admin/engagements/clientengagement/{core.engagement_id}/plan/").content.decode()
    found = re.findall(r'<span class="en-period-waits">(.*?)</span>\s*</li>', page, re.DOTALL)
    return [html.unescape(" ".join(re.sub(r"<[^>]+>", "", each).split())) for each in found]


def test_nothing_is_said_while_nothing_waits(client, core):
    entered(core, "2026-08-12", "40.00")
    assert waits(client, core) == []


def test_a_coming_period_names_what_waits_for_it(client, core):
    entered(core, "2026-10-14", "40.00")
    entered(core, "2026-12-31", "30.00")
    entered(core, "2026-11-02", "20.00", make=an_invoice)
    assert waits(client, core) == ["Waits for 1 Oct 2026: 2 claims, 1 invoice, 90.00"]


def test_what_is_more_than_the_plan_pays_then_is_named(client, core):
    # 60.00 of the first period are left: 160.00 can be drawn in October, and 200.00 wait.
    entered(core, "2026-08-12", "40.00")
    entered(core, "2026-10-14", "150.00")
    entered(core, "2026-10-15", "50.00")
    assert waits(client, core) == [
        "Used up: further supports of these days are not paid",
        "Waits for 1 Oct 2026: 2 claims, 200.00, of which 40.00 is more than the plan pays then",
    ]


def test_just_what_can_be_drawn_is_not_more(client, core):
    entered(core, "2026-10-14", "200.00")
    assert waits(client, core)[-1] == "Waits for 1 Oct 2026: 1 claim, 200.00"


def test_a_period_that_is_used_up_has_nothing_that_waits(client, core):
    # Used up by its own supports; new money of October does not pay for them.
    entered(core, "2026-08-12", "130.00")
    assert waits(client, core) == ["Used up: further supports of these days are not paid"]


def test_a_support_over_two_periods_counts_on_each_by_its_days(client, core):
    # Ten days, four of them in October: 40.00 of 100.00.
    entered(core, "2026-09-25", "100.00", last="2026-10-04")
    assert waits(client, core) == ["Waits for 1 Oct 2026: 1 claim, 40.00"]


def test_bills_that_are_claimed_or_archived_do_not_wait(client, core):
    entered(core, "2026-10-14", "40.00")
    for columns in ({"funding_status": "ClaimedFromAgency"}, {"archive_date": dt.datetime.now(dt.UTC)}):
        bill = entered(core, "2026-10-20", "0.00")
        type(bill).objects.filter(pk=bill.pk).update(**columns)
    assert waits(client, core) == ["Waits for 1 Oct 2026: 1 claim, 40.00"]


def test_the_bills_of_all_periods_are_counted_by_one_query(client, core):
    bed = a_category_budget(core.engagement, 15, budget=Decimal("50.00"), component_name="Therapy")
    with_periods(bed, ("2026-10-01", "2026-12-31", "50.00"))
    page = f"/admin/engagements/clientengagement/{core.engagement_id}/plan/"
    client.get(page)

    def counts():
        with CaptureQueriesContext(connection) as captured:
            client.get(page)
        return [each for each in captured.captured_queries if "COUNT(DISTINCT" in each["sql"].upper()]

    assert counts() == []
    for day in ("2026-10-14", "2027-01-14"):
        entered(core, day, "10.00")
    entered(bed, "2026-10-14", "10.00")
    assert len(waits(client, core)) == 3
    assert len(counts()) == 1


def test_the_page_of_a_participant_has_bars_only(client, core):
    entered(core, "2026-10-14", "40.00")
    participant = core.engagement.participant_id
    page = client.get(f"/admin/people/contact/{participant}/overview/", follow=True).content.decode()
    assert "Flexible core" in page
    assert "en-period-waits" not in page


FIRST, SECOND, THIRD = (
    ("2026-07-01", "2026-09-30"),
    ("2026-10-01", "2026-12-31"),
    ("2027-01-01", "2027-06-30"),
)
MOVED = [
    # The first has 40.00 less than the 90.00 of August; later money pays for no earlier day.
    ([(*FIRST, 50), (*SECOND, 150), (*THIRD, 100)], "40.00"),
    # August is no longer among the days of the periods.
    ([("2026-09-01", "2026-12-31", 200), (*THIRD, 100)], "90.00"),
]
KEPT = [
    [(*FIRST, 90), (*SECOND, 110), (*THIRD, 100)],
    [("2026-07-01", "2026-12-31", 200), (*THIRD, 100)],
]


def body_of(rows):
    return {
        "FundingPeriods": [
            {"FirstDay": first, "LastDay": last, "Released": each} for first, last, each in rows
        ]
    }


@pytest.mark.both_engines("sums of lines by their days")
@pytest.mark.parametrize(("rows", "short"), MOVED)
def test_periods_that_leave_too_little_for_what_waits_are_warned_of(core, rows, short):
    entered(core, "2026-08-12", "90.00")
    record, api = f"component({core.pk})", Caller(an_application())
    state = {"api_version": "2.1", "If_Match": "*"}
    details = refused(api.patch(record, body_of(rows), **state), 400, "WarningsPresent")["details"]
    (warning,) = [each for each in details if each["code"] == "PeriodsShort"]
    assert warning["target"] == "FundingPeriods[0]/FirstDay"
    assert warning["message"].startswith(f"Claims and invoices come to {short} more than the periods of")
    assert core.periods.get(first_day="2026-07-01").released == 100
    ok(api.patch(record, body_of(rows), {"ignoreWarnings": "true"}, **state))
    assert core.periods.count() == len(rows)
    # Nothing more is short now, so that nothing is said again.
    ok(api.patch(record, {"ComponentName": "Core"}, {"ignoreWarnings": "true"}, **state))
    again = api.patch(record, {**body_of(rows), "ComponentName": "Core supports"}, **state)
    assert "PeriodsShort" not in again.content.decode()


@pytest.mark.parametrize("rows", KEPT)
def test_periods_that_leave_enough_for_what_waits_ask_nothing(core, rows):
    entered(core, "2026-08-12", "90.00")
    core.engagement.plan_start_date, core.engagement.plan_end_date = dt.date(2026, 7, 1), dt.date(2027, 6, 30)
    core.engagement.total_budget_amount = core.budget
    core.engagement.save()
    answer = Caller(an_application()).patch(
        f"component({core.pk})", body_of(rows), api_version="2.1", If_Match="*"
    )
    assert ok(answer)["ComponentName"] == "Flexible core"
    assert FundingPeriod.objects.filter(category_budget=core).count() == len(rows)


def test_the_page_of_components_says_so_once_it_has_saved_them(client, core):
    entered(core, "2026-08-12", "90.00")
    grid = get_unrendered(client, address(core.engagement)).context["grid"]
    cell = f"c{core.pk}-p20260701"
    page = client.post(address(core.engagement), {**sent(grid), cell: "50.00"}, follow=True)
    text = "Flexible core: Claims and invoices come to 40.00 more than the periods of their days"
    assert text in html.unescape(page.content.decode())
