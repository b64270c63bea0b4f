"""The home page fits one screen, whatever waits and whoever looks."""

import datetime as dt

import pytest

from apps.base import clock
from apps.core import history
from apps.core.history import Author
from apps.funding.admin.month_end import last_months
from apps.funding.models import Claim, ProviderInvoice
from apps.funding.statuses import ClaimStatus, InvoiceStatus
from apps.people.demo import load_roles
from apps.sales.models import Opportunity
from tests.engagements.builders import a_booking, a_category_budget, a_pace_plan, a_plan
from tests.funding.builders import a_claim, a_provider_invoice, an_invoice
from tests.people.records import a_client, a_contact, a_staff_member
from tests.sales.builders import a_stage, an_opportunity

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ROLES = (
    "Administrator",
    "Plan manager",
    "Accounts officer",
    "Support coordinator",
    "Read only",
    "Participant",
)
REASONS = ("The service agreement is missing", "Waiting for the participant", "The provider sends another")


@pytest.fixture
def work(ada):
    """Work of every kind that the home page has a row for."""
    today = clock.today()
    mia = a_contact(first_name="Mia", last_name="Nguyen", scheme_number="430123456")
    for status in ClaimStatus:
        a_claim(contact=mia, staff=ada, funding_status=status)
    for reason in REASONS:
        a_claim(contact=mia, funding_status=ClaimStatus.ON_HOLD, status_reason=reason)
    for status in InvoiceStatus:
        an_invoice(contact=mia, staff=ada, funding_status=status)
    for status in ("Unactioned", "OnHoldByClient", "OnHoldByPlanManager"):
        a_provider_invoice(contact=mia, approval_status=status)
    for days in (10, 80):
        a_plan(plan_start_date=today - dt.timedelta(300), plan_end_date=today + dt.timedelta(days))
    dates = {"plan_start_date": today - dt.timedelta(9), "plan_end_date": today + dt.timedelta(300)}
    for claimed in (95, 101):
        a_booking(a_plan(**dates), budget=100, claimed=claimed)
        a_category_budget(a_pace_plan(**dates), budget=100, claimed=claimed)
    stage = a_stage(name="First meeting")
    for days in (-1, 0):
        due = {"follow_up_staff": ada, "follow_up_date": today + dt.timedelta(days)}
        opportunity = an_opportunity(owner=ada, stage=stage)
        Opportunity.objects.filter(pk=opportunity.pk).update(**due)
    with history.as_author(Author(channel="Back office", staff_id=ada.pk)):
        a_client(business_name="Changed by Ada")


def test_all_work_fits_a_window_of_1280_by_800_for_every_role(window_of, ada, work):
    roles = load_roles()
    people = [a_staff_member(role=roles[name], first_name="Robin", last_name=name) for name in ROLES]
    rows = {}
    for person in (ada, *people):
        page = window_of(user=person)
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto("/admin/")
        size = "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
        assert page.evaluate(size) == [1280, 800], person
        rows[str(person)] = page.locator(".rs-work tbody tr").count()
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") == 390, person
        assert page.locator("main a[href$='/add/']").count() == 0  # what the menu has
        assert page.errors == []
    assert rows["Ada Byron"] > 30
    assert rows["Robin Participant"] == 0


def test_month_end_fits_a_window_of_1280_with_millions_in_each_month(window_of, ada):
    for month in last_months():
        for status in ClaimStatus:
            claim = a_claim(funding_status=status)
            entered = clock.start_of_day(month)
            Claim.objects.filter(pk=claim.pk).update(creation_date=entered, total="134567.89")
    page = window_of(user=ada)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto("/admin/funding/claim/month-end/")
    widths = "[...document.querySelectorAll('.fu-table')].map(e => [e.clientWidth, e.scrollWidth])"
    tables = page.evaluate(widths)
    assert len(tables) == 2
    assert [inner for outer, inner in tables if inner > outer] == []
    assert page.errors == []


def test_figures_of_millions_are_whole_on_telephones(window_of, ada):
    long_ago = clock.start_of_day(last_months()[2])
    for status in (ClaimStatus.APPROVED, ClaimStatus.AGENCY_CLAIMED, ClaimStatus.ON_HOLD):
        a_claim(funding_status=status)
    Claim.objects.update(creation_date=long_ago, status_date=long_ago, total="123456789.10")
    ProviderInvoice.objects.update(creation_date=long_ago)
    page = window_of(user=ada)
    page.set_viewport_size({"width": 390, "height": 844})
    for address, cells in (("", ".rs-work td"), ("funding/claim/tracker/", ".fu-table td")):
        page.goto(f"/admin/{address}")
        assert page.locator(f"{cells} >> text=123,456,789").count() >= 2, address
        assert page.locator(f"{cells}:last-child a").count() >= 1, address
        cut = f"[...document.querySelectorAll('{cells}')].filter(e => e.scrollWidth > e.clientWidth)"
        assert page.evaluate(f"{cut}.map(e => e.textContent)") == [], address
        assert page.evaluate("document.documentElement.scrollWidth") == 390, address
    assert page.errors == []
