"""The demo is alive on every day of the week: follow-ups are due, and claims wait for somebody."""

import pytest

from apps.funding.models import Claim, ProviderInvoice
from apps.funding.statuses import ClaimStatus
from apps.people.demo import DEMO as PEOPLE
from apps.sales import pipeline
from apps.sales.demo import DEMO as SALES
from tests.demo.loading import load_demo, load_sets

pytestmark = [pytest.mark.django_db, pytest.mark.any_engine("test_load_demo loads it on both")]

SUNDAY = 6


@pytest.mark.parametrize("weekday", range(7))
def test_follow_ups_are_due_on_every_day_of_the_week(at, weekday):
    day = f"2026-06-{22 + weekday}"
    at(f"{day} 10:00")
    load_sets(PEOPLE, SALES, as_of=day, clients=1, staff=3, contacts=0, opportunities=24)
    overdue, today, later = pipeline.follow_up_periods(pipeline.current_opportunities())
    assert overdue.count
    assert today.count
    assert bool(later.count) == (weekday != SUNDAY)  # a week ends on Sunday


@pytest.mark.parametrize("day", ["2026-06-28", "2026-07-01", "2028-02-29"])
def test_claims_and_provider_invoices_wait_on_every_day(at, day):
    at(f"{day} 10:00")
    load_demo(contacts=20, claims=24, inbox=10)
    waiting = Claim.objects.filter(funding_status=ClaimStatus.AWAITING_STAFF_APPROVAL, archive_date=None)
    assert waiting.exists()
    assert Claim.objects.filter(funding_status=ClaimStatus.AGENCY_FULLY_PAID).exists()
    assert ProviderInvoice.objects.filter(claims=None, approval_status="Unactioned").exists()
