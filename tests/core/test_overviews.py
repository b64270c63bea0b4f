"""The overviews of participants, organisations, staff and plans: their panels and their timeline."""

import datetime as dt
import re

import pytest
from django.contrib import admin
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base import clock
from apps.core.admin_base.panels import PANELS
from apps.documents.models import Document
from apps.engagements.models import ClientEngagement, ServiceBooking
from apps.funding.models import Claim
from apps.people.models import Client, Contact, Staff
from tests.documents.builders import PDF, a_document
from tests.documents.builders import a_category as a_document_category
from tests.engagements.builders import a_booking, a_plan
from tests.funding.builders import a_claim, a_provider_invoice, an_invoice
from tests.payments.builders import an_account
from tests.payments.statement_builders import a_statement
from tests.people.records import a_client, a_contact, a_role, a_staff_member, get_unrendered
from tests.sales.builders import an_opportunity

pytestmark = [pytest.mark.django_db, pytest.mark.both_engines("panels and sums are statements of their own")]

OPENED = [Contact, Client, Staff, ClientEngagement]


@pytest.fixture
def records(at):
    """A record of each kind that has an overview, with records in every panel."""
    at("2026-11-20 10:00")
    staff, provider = a_staff_member(), a_client(business_name="Harbour Physio")
    mia = a_contact(first_name="Mia", last_name="Walsh", account_manager=staff, client=provider)
    a_contact(representative=mia)
    plan = a_plan(participant=mia, plan_manager=provider)
    a_plan(support_coordinator=mia, plan_start_date=dt.date(2020, 1, 1), plan_end_date=dt.date(2020, 12, 31))
    booking = a_booking(plan)
    a_claim(contact=mia, provider=provider, staff=staff, lines=[{"booking": booking}])
    a_claim(contact=mia, provider=provider, staff=staff, funding_status="AgencyClaimed")
    an_invoice(contact=mia, staff=staff, lines=[{"booking": booking}])
    a_provider_invoice(contact=mia, provider=provider)
    a_document(client=provider, contact=mia, created_by=staff)
    an_account(mia), an_account(provider)
    a_statement(mia)
    an_opportunity(
        owner=staff,
        PrimaryContact={"ContactGuid": str(mia.pk)},
        FollowUpDate="2026-12-24",
        FollowUpStaff={"StaffGuid": str(staff.pk)},
    )
    return {Contact: mia, Client: provider, Staff: staff, ClientEngagement: plan}


def overview(client, record):
    page = client.get(admin.site.get_model_admin(type(record)).record_url(record))
    assert page.status_code == 200
    return page


def test_the_overview_of_every_model_with_panels_is_opened_here():
    in_tests = {*OPENED, Claim}  # tests/payments/test_paid_out.py opens the page of a claim
    assert {model for model, panels in PANELS.items() if panels} == in_tests


@pytest.mark.parametrize("model", OPENED)
def test_every_panel_has_as_many_records_as_the_list_that_it_links_to(client, ada, records, model):
    page = overview(client, records[model])
    without = [panel.heading for panel, _ in page.context["empty_panels"]]
    assert not without, f"`records` makes nothing for: {', '.join(without)}."
    assert {panel for panel, _ in page.context["panels"]} == set(PANELS[model])
    for panel, context in page.context["panels"]:
        linked = [context, *(row for row in context.get("rows", ()) if isinstance(row, dict))]
        for figure in linked:
            if "count" in figure:
                listed = get_unrendered(client, figure["link"]).context["cl"].result_count
                assert (panel.heading, figure["count"]) == (panel.heading, listed)


def test_the_plan_of_today_shows_its_budgets_and_how_long_they_last(client, ada, records):
    panels = {
        panel.heading: context for panel, context in overview(client, records[Contact]).context["panels"]
    }
    (plan,) = panels["Current plan"]["plans"]
    assert plan["plan"] == records[ClientEngagement]
    assert [section["record"].budget for section in plan["budgets"]] == [100]


def test_the_budgets_of_the_last_plan_that_ended_stay_and_are_marked(client, ada):
    participant, today = a_contact(), clock.today()
    for days in (800, 400, 30):  # two that ended, and one of today
        start = today - dt.timedelta(days)
        plan = a_plan(participant=participant, plan_start_date=start, plan_end_date=start + dt.timedelta(364))
        a_booking(plan, budget=days)
    page = overview(client, participant)
    (context,) = [context for panel, context in page.context["panels"] if panel.heading == "Current plan"]
    assert [each["budgets"][0]["record"].budget for each in context["plans"]] == [30, 400]
    text = page.content.decode()
    assert text.count(">Current plan</a>") == text.count(">Ended plan</a>") == 1
    ServiceBooking.objects.filter(engagement=plan).delete()
    plan.delete()
    text = overview(client, participant).content.decode()
    assert (text.count(">Current plan</a>"), text.count(">Ended plan</a>")) == (0, 1)


def test_claims_are_summed_by_status_and_what_is_unpaid(client, ada, records):
    a_claim(provider=records[Client], funding_status="PaymentProviderCancelled")
    page = overview(client, records[Client])
    panels = {panel.heading: context for panel, context in page.context["panels"]}
    sums = panels["Claimed and unpaid"]
    assert {row["label"]: (row["count"], row["total"], row["unpaid"]) for row in sums["rows"]} == {
        "Awaiting staff approval": (1, 140, 140),
        "Claimed from the agency": (1, 140, 140),
        "Cancelled": (1, 140, 0),
    }
    assert sums["totals"] == {"count": 3, "total": 420, "unpaid": 280}
    figures = re.findall(r'figure">(?:<a[^>]*>)?([0-9.]+)<', page.content.decode())
    assert " ".join(figures).find("1 140.00 0.00 3 420.00 280.00") > 0  # of the cancelled one, and all


def test_panels_and_timeline_are_for_those_who_may_view_such_records(client, records):
    client.force_login(a_staff_member(role=a_role("people.view_contact", "sales.view_opportunity")))
    page = overview(client, records[Contact])
    assert {panel.heading for panel, _ in page.context["panels"]} == {"Represents", "Opportunities"}
    text = page.content.decode()
    assert "Harbour Physio" in text  # the name of the organisation, without a link
    assert f"/people/client/{records[Client].pk}" not in text
    assert {line.record for line in page.context["timeline"]}.isdisjoint(
        {str(claim) for claim in records[Contact].claims.all()}
    )


def test_the_timeline_has_the_changes_of_the_record_and_of_those_in_its_panels(client, ada, records):
    timeline = overview(client, records[Contact]).context["timeline"]
    names = {line.record for line in timeline}
    claims = {str(claim) for claim in records[Contact].claims.all()}
    assert {str(records[Contact]), str(records[ClientEngagement]), *claims} <= names


def test_the_timeline_says_what_a_record_was_changed_to(client, ada, records):
    claim = records[Contact].claims.get(funding_status="AwaitingStaffApproval")
    client.post(f"/admin/funding/claim/{claim.pk}/do/hold/", {"reason": "No plan or no budget left"})
    page = overview(client, records[Contact]).content.decode()
    for change in ("Status: On hold", "Reason: No plan or no budget left"):  # in either order
        assert change in page


def test_an_overview_takes_as_many_statements_however_much_it_shows(
    client, ada, records, django_assert_max_num_queries
):
    overview(client, records[Contact])  # what is read once for all pages
    with CaptureQueriesContext(connection) as few:
        overview(client, records[Contact])
    for _ in range(5):
        a_claim(contact=records[Contact], provider=records[Client])
    with django_assert_max_num_queries(len(few)):
        overview(client, records[Contact])
    assert len(few) < 4 * len(PANELS[Contact])  # the bell of notices counts too


def test_a_link_to_a_record_opens_its_overview(client, ada, records):
    page = client.get("/admin/people/contact/").content.decode()
    assert f'href="/admin/people/contact/{records[Contact].pk}/overview/"' in page


def test_an_archived_record_says_so_and_offers_nothing_to_add(client, ada, records):
    type(records[Client]).objects.update(archive_date=dt.datetime(2026, 11, 1, tzinfo=dt.UTC))
    page = overview(client, records[Client])
    assert "Archived on 1 Nov" in page.content.decode()
    assert not any(context.get("add_link") for _, context in page.context["panels"])


def test_a_document_is_uploaded_for_a_participant(client, ada):
    mia = a_contact()
    form = {"category": a_document_category().pk, "client": "", "contact": mia.pk}
    add_page = client.get("/admin/documents/document/add/", {"contact": mia.pk})
    assert str(add_page.context["form"]["contact"].value()) == str(mia.pk)
    file = SimpleUploadedFile("plan.pdf", PDF)
    assert client.post("/admin/documents/document/add/", {**form, "Files": file}).status_code == 302
    assert Document.objects.get().contact == mia
