"""The home page: its panels by role, their figures against the lists that they link to, its charts."""

import datetime as dt

import pytest

from apps.core.admin_base.charts import Bar, BarChart, Series
from apps.core.admin_base.home import HOME_PANELS
from apps.funding.choices import ClaimStatus
from apps.funding.public_holidays import business_days_before
from apps.odata import clock
from tests.engagements.builders import a_booking, a_category_budget, a_pace_plan, a_plan
from tests.funding.builders import a_claim, a_provider_invoice, an_invoice
from tests.people.records import a_role, a_staff_member, get_unrendered
from tests.sales.builders import a_stage, an_opportunity

pytestmark = pytest.mark.django_db


@pytest.fixture
def records(at, ada):
    """Records of every figure, and others beside them that it must not count."""
    at("2026-10-01 10:00")
    a_claim(staff=ada)
    a_claim(funding_status=ClaimStatus.AGENCY_CLAIMED)
    a_provider_invoice()
    at("2026-11-20 10:00")
    rejected = a_claim(staff=ada, funding_status=ClaimStatus.REJECTED)
    a_claim(resubmission_of=rejected)
    a_claim(archive_date=clock.now())
    a_claim(funding_status=ClaimStatus.AGENCY_FULLY_PAID)
    for reason in ("No agreement", "No agreement", "Hours & days"):
        a_claim(funding_status=ClaimStatus.ON_HOLD, status_reason=reason)
    an_invoice(staff=ada)
    a_provider_invoice(approval_status="OnHoldByClient")
    for days in (10, 45, 80, 200):
        today = clock.today()
        plan = a_plan(plan_start_date=today - dt.timedelta(400), plan_end_date=today + dt.timedelta(days))
        a_booking(plan, budget=100, claimed=95 if days < 100 else 10)
    a_booking(plan, budget=100, used_elsewhere=101)
    a_category_budget(
        a_pace_plan(plan_start_date=today - dt.timedelta(9), plan_end_date=today + dt.timedelta(300)),
        budget=100,
        waiting=90,
    )
    stage = a_stage(name="First meeting")
    for days in (0, 1):
        opportunity = an_opportunity(owner=ada, stage=stage)
        opportunity.follow_up_staff, opportunity.follow_up_date = ada, today + dt.timedelta(days)
        opportunity.save()
    opportunity.follow_up_date = today - dt.timedelta(3)
    opportunity.save()
    an_opportunity(stage=stage)


def home(client):
    page = client.get("/admin/")
    assert page.status_code == 200
    return {panel.title: content for panel, content in page.context["panels"]}


def figures_of(content):
    return [figure for group in content.groups for figure in group.figures]


def test_every_figure_is_the_number_of_records_in_the_list_that_it_links_to(client, records):
    panels = home(client)
    assert set(panels) == {panel.title for panel in HOME_PANELS}
    checked = set()
    for title, content in panels.items():
        bars = [bar for series in content.chart.series for bar in series.bars] if content.chart else []
        linked = [(figure.label, figure.count, figure.link) for figure in figures_of(content)]
        linked += [("bar", bar.value, bar.link) for bar in bars if bar.value]
        for label, count, link in linked:
            listed = get_unrendered(client, link).context["cl"].result_count
            assert (title, label, count) == (title, label, listed)
            checked.add(title)
    assert checked == set(panels)


def test_the_figures_of_a_day(client, records):
    panels = home(client)
    figures = {title: {each.label: each.count for each in figures_of(panels[title])} for title in panels}
    assert figures["Assigned to you"] == {"Awaiting staff approval": 1}
    assert figures["Late"] == {
        "Not claimed 5 business days after receipt": 1,
        "Awaiting staff approval for over 5 business days": 1,
        "Claimed from the agency for over 2 business days": 1,
    }
    assert figures["Plans"] == {
        "Ends within 30 days": 1,
        "Ends within 60 days": 2,
        "Ends within 90 days": 3,
        "Nearly spent (90% or more)": 1,
        "Overspent": 1,
    }
    assert figures["Your follow-ups"] == {"Overdue": 1, "Today": 1}
    reasons = {each.label: each.count for each in panels["All claims"].groups[1].figures}
    assert reasons == {"No agreement": 2, "Hours & days": 1}


@pytest.mark.parametrize(
    ("permissions", "titles"),
    [
        (("sales.view_opportunity",), {"Your follow-ups", "Pipeline"}),
        (("funding.view_providerinvoice",), {"Provider invoices"}),
        (("people.view_contact",), set()),
    ],
)
def test_each_role_sees_the_panels_of_what_it_may_view(client, records, permissions, titles):
    client.force_login(a_staff_member(role=a_role(*permissions)))
    assert set(home(client)) == titles


def test_business_days_leave_out_weekends_and_national_holidays():
    # Christmas Day and Boxing Day 2025 were a Thursday and a Friday.
    assert business_days_before(dt.date(2025, 12, 29), 2) == dt.date(2025, 12, 23)
    assert business_days_before(dt.date(2026, 11, 23), 5) == dt.date(2026, 11, 16)


def test_bars_stand_on_each_other_below_a_round_top():
    chart = BarChart(
        "Claims",
        "number",
        ["Oct", "Nov"],
        [Series("Paid", "a", [Bar(7, "/x"), Bar(0)]), Series("Claimed", "b", [Bar(6), Bar(3)])],
    )
    assert [value for _, value in chart.grid] == [0, 5, 10, 15]
    first, second, third = chart.bars
    assert (first.words, first.link) == ("Oct, Paid: 7", "/x")
    assert second.y + second.height == pytest.approx(first.y)
    assert third.height * 2 == pytest.approx(second.height, abs=0.2)


def test_a_chart_without_values_has_an_axis():
    chart = BarChart("Claims", "number", ["Oct"], [Series("Paid", "a", [Bar(0)])])
    assert ([value for _, value in chart.grid], chart.bars) == ([0, 1], [])
