"""The home page: its panels by role, its figures and sums against the lists behind them, its charts."""

import datetime as dt
from decimal import Decimal
from unittest import mock

import pytest
from django.contrib.admin import AdminSite
from django.urls import reverse

from apps.base import clock
from apps.core.admin_base.charts import Bar, BarChart, Series
from apps.core.admin_base.home import HOME_PANELS
from apps.engagements.models import Budget, ClientEngagement
from apps.funding.models import Claim, Invoice, ProviderInvoice
from apps.funding.public_holidays import business_days_before
from apps.funding.statuses import ClaimStatus
from apps.payments.models import PaymentRun
from apps.payments.services.runs import create_run
from tests.engagements.builders import a_booking, a_category_budget, a_pace_plan, a_plan
from tests.funding.builders import a_claim, a_provider_invoice, an_invoice
from tests.payments.builders import a_paid_claim, an_account, payment_settings
from tests.people.records import a_client, a_role, a_staff_member, get_unrendered
from tests.sales.builders import a_stage, an_opportunity

pytestmark = [pytest.mark.django_db, pytest.mark.both_engines("figures are statements of their own")]


@pytest.fixture
def records(at, ada):
    """Records of every figure, and others beside them that it must not count."""
    at("2026-10-01 10:00")
    a_claim(staff=ada)
    a_claim(funding_status=ClaimStatus.AGENCY_CLAIMED)
    a_provider_invoice(invoice_total=Decimal("140.10"))
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
    payment_settings()
    payee = a_client()
    an_account(payee)
    a_paid_claim("20.00", provider=payee)
    create_run(None, today, None)
    a_paid_claim("7.50", provider=payee)
    opportunity.follow_up_date = today - dt.timedelta(3)
    opportunity.save()
    an_opportunity(stage=stage)


def home(client):
    page = client.get("/admin/")
    assert page.status_code == 200
    return {panel.title: content for panel, content in page.context["panels"]}


def figures_of(content):
    """What a panel counts: label, count, sum if it is shown, and the list."""
    for row in content.rows:
        yield row.label, row.count, row.amount, row.link
        for figure in (row.late, row.own, *row.parts):
            if figure is not None:
                yield figure.label, figure.count, None, figure.link
    for series in content.chart.series if content.chart else ():
        for bar in series.bars:
            if bar.count:
                yield series.label, bar.count, bar.value, bar.link


def money_of(record):
    """What a record of the lists of the home page adds to a sum there."""
    match record:
        case Claim() | Invoice():
            return record.total
        case ProviderInvoice():
            return record.invoice_total or 0
        case ClientEngagement():
            return record.total_budget_amount
        case Budget():
            return record.remaining
        case PaymentRun():
            return record.total
    value = (record.upfront_value_of_sale or 0) + (record.recurring_annual_value or 0)
    return value


def test_every_figure_is_the_number_and_the_sum_of_the_list_that_it_links_to(client, records):
    panels = home(client)
    # Where there are claims an office has started (tests/payments/test_first_steps.py).
    assert set(panels) == {panel.title for panel in HOME_PANELS} - {"Getting started"}
    for title, content in panels.items():
        figures = list(figures_of(content))
        assert figures, title
        for label, count, amount, link in figures:
            if link == reverse("admin:payments_paymentrun_ready"):
                shown = get_unrendered(client, link).context
                assert (len(shown["rows"]), shown["total"]) == (count, amount)
                continue
            listed = get_unrendered(client, link).context["cl"]
            assert (title, label, count) == (title, label, listed.result_count)
            if amount is not None and title != "Pipeline":  # which weighs its values by their chances
                found = sum(map(money_of, listed.queryset.all()), Decimal(0))
                assert (title, label, amount) == (title, label, found)


def test_the_figures_of_a_day(client, records):
    panels = home(client)
    counts = {title: {row.label: row.count for row in content.rows} for title, content in panels.items()}
    late = {
        title: {row.label: row.late.count for row in content.rows if row.late}
        for title, content in panels.items()
    }
    own = {row.label: row.own.count for row in panels["Claims"].rows if row.own}
    assert own == {"Awaiting staff approval": 1}
    assert late["Provider invoices"] == {"To be claimed": 1}
    assert late["Claims"] == {"Awaiting staff approval": 1, "Claimed from the agency": 1}
    assert late["Follow-ups"] == {"Yours until Sunday": 1}
    assert counts["Follow-ups"] == {"Yours until Sunday": 2}
    assert counts["Plans and budgets"] == {
        "Plans: ends within 30 days": 1,
        "Plans: ends within 90 days": 3,
        "Service bookings: nearly spent (90% or more)": 3,
        "Service bookings: overspent": 1,
        "PACE budgets: nearly spent (90% or more)": 1,
    }
    (held,) = (row for row in panels["Claims"].rows if row.label == "On hold")
    assert {part.label: part.count for part in held.parts} == {"No agreement": 2, "Hours & days": 1}


def test_the_home_page_takes_a_statement_for_each_list(client, records, django_assert_max_num_queries):
    get_unrendered(client, "/admin/")
    with django_assert_max_num_queries(31):
        get_unrendered(client, "/admin/")


@pytest.mark.parametrize(
    ("permissions", "titles"),
    [
        (("sales.view_opportunity",), {"Pipeline"}),
        (("funding.view_providerinvoice",), {"Provider invoices"}),
        (("people.view_contact",), set()),
    ],
)
def test_each_role_sees_the_panels_of_what_it_may_view(client, records, permissions, titles):
    client.force_login(a_staff_member(role=a_role(*permissions)))
    assert set(home(client)) == titles


def test_the_menu_leads_to_the_same_pages_below_the_path_of_a_proxy(client, ada, settings):
    settings.TRUST_PROXY = True
    plain, below = (
        {entry["link"] for group in page.context["sidebar_navigation"] for entry in group["items"]}
        for page in (client.get("/admin/", headers={"X-Forwarded-Prefix": path}) for path in ("", "/records"))
    )
    assert below == {f"/records{link}" for link in plain}
    assert {"/admin/", "/admin/funding/claim/", "/admin/people/team/"} < plain


def test_no_page_makes_the_list_of_apps_that_only_the_library_shows(client, ada):
    with mock.patch.object(AdminSite, "get_app_list") as made:
        assert client.get("/admin/people/team/").status_code == 200
    made.assert_not_called()
    assert "Teams" in client.get("/admin/people/").text


def test_business_days_leave_out_weekends_and_national_holidays():
    # Christmas Day and Boxing Day 2025 were a Thursday and a Friday.
    assert business_days_before(dt.date(2025, 12, 29), 2) == dt.date(2025, 12, 23)
    assert business_days_before(dt.date(2026, 11, 23), 5) == dt.date(2026, 11, 16)


def test_bars_stand_on_each_other_below_a_round_top():
    chart = BarChart(
        "Claims",
        ["Oct", "Nov"],
        [Series("Paid", "a", [Bar(7, "/x", 2), Bar(0)]), Series("Claimed", "b", [Bar(6, "", 1), Bar(3)])],
        "claim",
    )
    assert [value for _, value in chart.grid] == [0, 5, 10, 15]
    first, second, third = chart.bars
    assert (first.words, first.link) == ("Oct, Paid: 7, 2 claims", "/x")
    assert second.words == "Oct, Claimed: 6, 1 claim"
    assert second.y + second.height == pytest.approx(first.y)
    assert third.height * 2 == pytest.approx(second.height, abs=0.2)
    assert [total for _, _, total in chart.column_sums] == [13, 3]
    assert chart.column_sums[0][1] < first.y


def test_a_chart_counts_opportunities_by_their_plural():
    chart = BarChart("Pipeline", ["Enquiry"], [Series("Value", "a", [Bar(7, "", 2)])], "opportunity")
    assert chart.bars[0].words == "Enquiry, Value: 7, 2 opportunities"


def test_a_chart_without_values_has_an_axis():
    chart = BarChart("Claims", ["Oct"], [Series("Paid", "a", [Bar(0)])], "claim")
    assert ([value for _, value in chart.grid], chart.bars, chart.column_sums) == ([0, 1], [], [])
