"""The queues of provider invoices count work alone: what is decided by its claim has left them."""

import pytest
from django.db import connection

from apps.base import clock
from apps.funding.admin.queues import provider_invoice_waits
from apps.funding.choices import ApprovalStatus
from apps.funding.models import ProviderInvoice
from apps.funding.services.transitions import apply_transition
from apps.funding.statuses import EDITABLE, ClaimStatus
from tests.funding.admin_forms import CLAIMS, PROVIDER_INVOICES
from tests.funding.builders import a_claim, a_provider_invoice
from tests.people.records import get_unrendered

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("ada"),
    pytest.mark.both_engines("queues are counted by statements of their own"),
]
UNDECIDED = ("Unactioned", "OnHoldByClient", "OnHoldByPlanManager")


def tabs_of(client):
    tabs = get_unrendered(client, PROVIDER_INVOICES).context["tabs"]
    return {tab["label"]: tab["count"] for tab in tabs}


def listed(client, **query):
    page = get_unrendered(client, PROVIDER_INVOICES, query)
    return [record.pk for record in page.context["cl"].result_list]


def claimed(status, approval="Unactioned", **columns):
    """A provider invoice with a claim of this status."""
    claim = a_claim(funding_status=status, **columns)
    ProviderInvoice.objects.filter(pk=claim.provider_invoice_id).update(approval_status=approval)
    return claim.provider_invoice_id


@pytest.mark.parametrize("status", ClaimStatus.values)
def test_a_provider_invoice_leaves_the_queue_when_its_claim_is_approved_or_further(client, status):
    key = claimed(status)
    is_work = status in EDITABLE
    assert tabs_of(client).get("To review", "0") == ("1" if is_work else "0")
    assert listed(client, status="Unactioned") == ([key] if is_work else [])
    assert listed(client, status="Unactioned", claim="all") == listed(client) == [key]
    assert ProviderInvoice.objects.get().approval_status == "Unactioned"


@pytest.mark.parametrize("approval", UNDECIDED)
def test_every_undecided_status_counts_what_its_list_shows(client, approval):
    label = ApprovalStatus(approval).label
    free = a_provider_invoice(approval_status=approval).pk
    entered = claimed("AwaitingStaffApproval", approval)
    claimed("AgencyFullyPaid", approval)
    a_provider_invoice(approval_status=approval, archive_date=clock.now())
    assert tabs_of(client)[label] == "2"
    assert sorted(listed(client, status=approval)) == sorted([free, entered])
    assert len(listed(client, status=approval, claim="approved")) == 1


def test_a_resubmitted_claim_does_not_bring_it_back(client):
    paid = a_claim(funding_status="AgencyPartiallyPaid")
    (resubmission,) = apply_transition(type(paid), [paid.pk], "resubmit").resubmissions.values()
    assert "To review" not in tabs_of(client)
    assert type(paid).objects.get(pk=resubmission).funding_status in EDITABLE


def test_an_archived_claim_brings_it_back(client):
    claim = a_claim(funding_status="PaymentProviderRejected")
    assert "To review" not in tabs_of(client)
    apply_transition(type(claim), [claim.pk], "archive")
    assert tabs_of(client)["To review"] == "1"


def test_one_claim_of_several_is_enough_to_have_decided_a_reusable_one(client):
    shared = a_provider_invoice(is_reusable=True)
    a_claim(provider_invoice=shared)
    assert tabs_of(client)["To review"] == "1"
    a_claim(provider_invoice=shared, funding_status="Approved")
    assert "To review" not in tabs_of(client)


def test_decided_ones_are_no_queue_and_keep_their_tabs(client):
    for status in ("Approved", "Rejected"):
        a_provider_invoice(approval_status=status)
    page = get_unrendered(client, f"{CLAIMS}queues/")
    (queues,) = [found for title, found in page.context["groups"] if title == "Provider invoices"]
    assert [each["queue"].label for each in queues] == ["To be claimed"]  # the approved one
    assert tabs_of(client) == {"All": "", "To be claimed": "1", "Approved": "1", "Rejected": "1"}


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's plans are told otherwise")
def test_those_without_a_claim_are_counted_by_the_index_of_those_that_wait():
    """All others are found from the claims before their approval, few beside those that were paid."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("DROP INDEX funding_provider_by_status")
    plan = (
        provider_invoice_waits(ProviderInvoice.objects.all(), "Unactioned").order_by("moment")[:20].explain()
    )
    assert "funding_provider_waiting" in plan
