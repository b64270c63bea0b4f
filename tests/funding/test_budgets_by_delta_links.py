"""What bills draw from budgets, told by delta links: bookings, components, funding periods and plans."""

from decimal import Decimal

import pytest

from apps.core.models import Change
from apps.engagements.drafts import PeriodDraft, PeriodsDraft
from apps.engagements.models import FundingPeriod, ServiceBooking
from apps.engagements.plan_copies import PlanTerms
from apps.engagements.services import save_periods
from apps.funding.drafts import ClaimDraft
from apps.funding.models import Claim
from apps.funding.services.effects import recount_budgets
from apps.funding.services.plan_changes import change_plan
from apps.funding.services.update import update_claims
from tests.api.caller import LaterCaller, an_application, ok
from tests.api.followers import Follower
from tests.engagements.builders import (
    a_booking,
    a_category_budget,
    a_pace_plan,
    a_plan,
    amounts,
    day,
    sums,
    with_periods,
)
from tests.funding.applied import applied, priced
from tests.funding.bodies import a_funder
from tests.funding.builders import a_claim, an_invoice
from tests.funding.test_plan_changes import an_item
from tests.funding.test_update import lines_as_drafts
from tests.funding.test_warnings_end_to_end import a_claim_body
from tests.funding.warned import TODAY, Scene

pytestmark = pytest.mark.django_db

QUERIES = (
    ("booking", {}),
    ("booking", {"$filter": "Claimed gt 0", "$select": "Waiting"}),
    ("component", {"$expand": "FundingPeriods"}),
    ("component", {"$select": "Budget", "$expand": "FundingPeriods($select=Waiting)"}),
    ("clientengagement", {"$expand": "*"}),
    (
        "clientengagement",
        {"$expand": "CategoryBudgets($select=ComponentName;$expand=FundingPeriods($select=Waiting))"},
    ),
    (
        "clientengagement",
        {"$expand": "CategoryBudgets($select=ComponentName;$expand=FundingPeriods($select=Released))"},
    ),
)


@pytest.fixture
def followers(settings):
    settings.ODATA_CHANGE_LOG = "apps.core.change_log.SerialLog"  # a test is one transaction
    api = LaterCaller(an_application())
    return lambda: [Follower(api, path, query) for path, query in QUERIES]


def are_up_to_date(copies):
    """Every copy equals the service after a sync; whether the last ones had something to hear."""
    heard = [copy.sync() > 0 for copy in copies]
    for copy in copies:
        assert copy.copy == copy.fresh(), (copy.path, copy.query)
    return heard


def test_a_posted_claim_changes_its_booking_and_its_plan(at, followers):
    at(TODAY)
    scene = Scene(budget="400.00")
    copies = followers()
    body = a_claim_body(scene, a_funder())
    ok(copies[0].api.post("claim", body, {"ignoreWarnings": "true"}), 201)
    assert sums(ServiceBooking.objects.get()).waiting > 0
    assert are_up_to_date(copies) == [True, True, *[False] * 5]
    claim = Claim.objects.get()
    applied(claim, "approve")
    applied(claim, "claim")
    assert copies[1].copy == {}
    assert are_up_to_date(copies)[:2] == [True, True]
    assert copies[1].copy.keys() == {str(ServiceBooking.objects.get().pk)}


@pytest.mark.parametrize("make", [a_claim, an_invoice])
def test_each_step_of_a_bill_changes_its_component_its_period_and_its_plan(make, followers):
    component = a_category_budget()
    with_periods(component, ("2026-07-01", "2027-06-30", "100.00"))
    bill = make(priced("40.00", category_budget=component))
    recount_budgets()
    copies = followers()
    for verb, options in (
        ("approve", {}),
        ("claim", {}),
        ("pay-in-part", {"amounts": {bill.pk: Decimal("10.00")}}),
    ):
        before = sums(component)
        applied(bill, verb, **options)
        told = are_up_to_date(copies)
        assert sums(component) == before or told[2:6] == [True] * 4, verb
    assert sums(component) == amounts("40.00", "10.00")


def test_an_archived_claim_gives_its_component_back(followers):
    component = a_category_budget()
    claim = a_claim(priced("40.00", category_budget=component))
    recount_budgets()
    copies = followers()
    applied(claim, "archive")
    assert are_up_to_date(copies) == [False, False, True, False, True, False, False]
    assert sums(component) == amounts()


def test_a_component_that_a_line_left_is_told_and_keeps_why(followers):
    components = [a_category_budget(), a_category_budget()]
    with_periods(components[1], ("2026-07-01", "2027-06-30", "100.00"))
    lines = [
        {**line, "category_budget": each}
        for line, each in zip(priced("40.00", "9.00"), components, strict=True)
    ]
    claim = a_claim(lines, staff=a_funder())
    recount_budgets()
    copies = followers()
    kept = lines_as_drafts(claim)[:1]
    update_claims(
        [ClaimDraft({"line_items": kept}, given=["line_items"], key=claim.pk)], ignore_warnings=True
    )
    assert sums(components[1]) == amounts()
    told = are_up_to_date(copies)
    assert told[2]
    assert told[5]
    entry = Change.objects.filter(record_key=str(components[1].pk)).latest("id")
    assert entry.differences == {"waiting": ["9.00", "0.00"]}


@pytest.mark.parametrize("make", [a_booking, a_category_budget])
def test_budgets_of_a_plan_that_lines_left_for_the_next_one_are_told(make, followers):
    first, last = day("2027-02-14"), day("2028-02-13")
    old = a_plan() if make is a_booking else a_pace_plan()
    budget, name = make(old, category=1), "booking" if make is a_booking else "category_budget"
    days = {"first_day": first, "last_day": first, "entry": an_item()}
    a_claim(priced("40.00", **days, **{name: budget}), contact=old.participant)
    recount_budgets()
    copies = followers()
    change_plan(old.pk, PlanTerms(first, last, Decimal("900.00")))
    assert sums(budget) == amounts()
    are_up_to_date(copies)


def test_a_budget_that_a_recount_puts_right_is_told(followers):
    component = a_category_budget()
    a_claim(priced("40.00", category_budget=component))
    copies = followers()
    assert recount_budgets().category_budgets == 1
    assert sums(component) == amounts(waiting="40.00")
    assert are_up_to_date(copies) == [False, False, True, True, True, True, True]


def test_funding_periods_that_are_replaced_or_recounted_are_told(followers):
    component = a_category_budget()
    with_periods(component, ("2026-07-01", "2027-06-30", "100.00"))
    first = day("2026-08-01")
    a_claim(priced("40.00", category_budget=component, first_day=first, last_day=first))
    recount_budgets()
    copies = followers()
    row = PeriodDraft.of(day("2026-07-01"), day("2027-06-30"), Decimal("90.00"))
    save_periods([PeriodsDraft({"periods": [row]}, key=component.pk)], ignore_warnings=True)
    told = are_up_to_date(copies)
    assert told[3:5] == [True, True]
    assert told[6]
    FundingPeriod.objects.update(waiting=0)
    copies = followers()
    recount_budgets()
    assert are_up_to_date(copies)[3:6] == [True] * 3
