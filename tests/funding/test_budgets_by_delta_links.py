"""What bills draw from budgets, told by delta links: bookings, components, funding periods and plans."""

from decimal import Decimal

import pytest

from apps.engagements.models import ServiceBooking
from apps.funding.models import Claim
from apps.funding.services.effects import recount_budgets
from tests.api.caller import an_application, ok
from tests.api.followers import Follower
from tests.api.test_version_2_1 import LaterCaller
from tests.engagements.builders import a_category_budget, with_periods
from tests.funding.applied import amounts, applied, held, priced
from tests.funding.bodies import a_funder
from tests.funding.builders import a_claim, an_invoice
from tests.funding.test_warnings_end_to_end import a_claim_body
from tests.funding.warned import TODAY, Scene

pytestmark = pytest.mark.django_db

QUERIES = (
    ("booking", {}),
    ("booking", {"$filter": "Claimed gt 0", "$select": "Waiting"}),
    ("component", {"$expand": "FundingPeriods"}),
    ("component", {"$select": "Budget", "$expand": "FundingPeriods($select=Waiting)"}),
    ("clientengagement", {"$expand": "*"}),
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
    assert held(ServiceBooking.objects.get()).waiting > 0
    assert are_up_to_date(copies) == [True, True, False, False, False]
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
        before = held(component)
        applied(bill, verb, **options)
        told = are_up_to_date(copies)
        assert held(component) == before or told[2:] == [True, True, True], verb
    assert held(component) == amounts("40.00", "10.00")


def test_an_archived_claim_gives_its_component_back(followers):
    component = a_category_budget()
    claim = a_claim(priced("40.00", category_budget=component))
    recount_budgets()
    copies = followers()
    applied(claim, "archive")
    assert are_up_to_date(copies) == [False, False, True, False, True]
    assert held(component) == amounts()
