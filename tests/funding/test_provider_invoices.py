"""Provider invoices come in, change, and are decided about."""

import datetime as dt
import threading
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base import clock
from apps.base.drafts import ValidationFailed
from apps.core.history import Author, as_author
from apps.core.models import Change
from apps.documents.models import Document
from apps.funding.choices import ApprovalAction, ApprovalStatus
from apps.funding.drafts import ProviderInvoiceDraft
from apps.funding.models import Claim, ProviderInvoice, StatusMove
from apps.funding.services.effects import update_claim_flags
from apps.funding.services.provider_invoices import (
    HOLD_REASON,
    create_provider_invoices,
    update_provider_invoices,
)
from apps.funding.services.transitions import apply_transition
from tests.documents.builders import a_document
from tests.funding.builders import a_claim, a_provider_invoice, act
from tests.people.builders import a_client, a_contact, a_role, a_staff_member

pytestmark = pytest.mark.django_db

BARE = {
    "reference": None,
    "service_start_date": None,
    "service_end_date": None,
    "invoice_total": None,
    "contact": None,
    "provider": None,
    "document": None,
    "created_by": None,
}


def a_draft(**values):
    return ProviderInvoiceDraft({**BARE, **values}, given=values)


def received(**values):
    (key,) = create_provider_invoices([a_draft(**values)])
    return ProviderInvoice.objects.get(pk=key)


def faults(verb, *drafts):
    with pytest.raises(ValidationFailed) as refused:
        verb(list(drafts))
    return [(number, found.code, found.field) for number, found in refused.value.issues]


def a_member():
    return a_staff_member(role=a_role(all_permissions=True))


# --- coming in ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", ["reference", "contact", "provider", "document"])
def test_one_of_four_things_is_enough(named):
    made = {"reference": lambda: "A 1", "contact": a_contact, "provider": a_client, "document": a_document}
    value = made[named]()
    record = received(**{named: value})
    assert getattr(record, named) == value
    assert (record.approval_status, record.is_reusable, record.send_payment_to) == (
        "Unactioned",
        False,
        "Provider",
    )


def test_without_any_of_them_it_is_nothing():
    assert faults(create_provider_invoices, a_draft(invoice_total=Decimal(5))) == [
        (0, "Required", "reference")
    ]


def test_services_end_after_they_start():
    days = {"service_start_date": dt.date(2026, 7, 2), "service_end_date": dt.date(2026, 7, 1)}
    assert faults(create_provider_invoices, a_draft(reference="A", **days)) == [
        (0, "OutOfOrder", "service_end_date")
    ]


def test_services_of_one_day_are_in_order():
    day = dt.date(2026, 7, 2)
    assert received(reference="A", service_start_date=day, service_end_date=day).service_end_date == day


def test_a_total_is_not_negative_and_may_be_nothing():
    assert received(reference="A", invoice_total=Decimal(0)).invoice_total == 0
    draft = a_draft(reference="B", invoice_total=Decimal("-0.01"))
    assert faults(create_provider_invoices, draft) == [(0, "OutOfRange", "invoice_total")]


@pytest.mark.parametrize("archived", [False, True])
@pytest.mark.parametrize("twin", ["INV 7", "inv 7", "  Inv 7 "])
def test_a_reference_is_unique_of_a_provider_archived_ones_included(twin, archived):
    provider = a_client()
    a_provider_invoice(provider=provider, reference="Inv 7", archive_date=clock.now() if archived else None)
    draft = a_draft(provider=provider, reference=twin)
    assert faults(create_provider_invoices, draft) == [(0, "NotUnique", "reference")]


def test_two_of_one_request_cannot_share_a_reference():
    provider = a_client()
    drafts = [a_draft(provider=provider, reference=text) for text in ("A", "B", "a ")]
    assert faults(create_provider_invoices, *drafts) == [(2, "NotUnique", "reference")]


def test_two_providers_may_use_the_same_reference():
    a_provider_invoice(provider=a_client(), reference="A")
    assert received(provider=a_client(), reference="A").reference == "A"


def test_references_without_a_provider_are_not_compared():
    a_provider_invoice(reference="A")
    assert received(reference="A").reference == "A"


def test_an_archived_document_is_named_by_mistake():
    document = a_document()
    Document.objects.filter(pk=document.pk).update(archive_date=clock.now())
    document.refresh_from_db()
    assert faults(create_provider_invoices, a_draft(document=document)) == [(0, "Archived", "document")]


def test_who_signed_in_is_who_entered_it_unless_another_is_named():
    signed_in, other = a_staff_member(), a_staff_member()
    with as_author(Author(channel="Back office", staff_id=signed_in.pk)):
        assert received(reference="A").created_by == signed_in
        assert received(reference="B", created_by=other).created_by == other
    assert received(reference="C").created_by is None


def test_its_history_begins_when_it_comes_in():
    record = received(reference="A")
    change = Change.objects.get(record_key=str(record.pk))
    assert (change.kind, change.record_type) == ("Created", "funding.providerinvoice")


# --- changing -------------------------------------------------------------------------------------------


def test_what_changes_is_written_and_the_rest_stays():
    record = a_provider_invoice(reference="A", invoice_total=Decimal("5.00"))
    draft = ProviderInvoiceDraft({"reference": "B"}, given={"reference"}, key=record.pk)
    assert update_provider_invoices([draft]) == [record.pk]
    record.refresh_from_db()
    assert (record.reference, record.reference_key, record.invoice_total) == ("B", "b", Decimal("5.00"))


def test_an_update_keeps_the_same_rules():
    record = a_provider_invoice(reference="A")
    draft = ProviderInvoiceDraft({"reference": None}, given={"reference"}, key=record.pk)
    assert faults(update_provider_invoices, draft) == [(0, "Required", "reference")]


def test_a_document_archived_afterwards_may_stay():
    document = a_document()
    record = a_provider_invoice(document=document)
    Document.objects.filter(pk=document.pk).update(archive_date=clock.now())
    document.refresh_from_db()
    values = {"document": document, "reference": "B"}
    assert update_provider_invoices([ProviderInvoiceDraft(values, given=values, key=record.pk)]) == [
        record.pk
    ]


def test_the_total_is_never_less_than_what_was_paid_of_its_claims():
    """What was paid earlier came along with the resubmission, and counts once."""
    record = a_provider_invoice(reference="A", invoice_total=Decimal("150.00"))
    first = a_claim(provider_invoice=record, funding_status="AgencyClaimed")
    apply_transition(Claim, [first.pk], "pay-in-part", amounts={first.pk: Decimal("15.00")})
    apply_transition(Claim, [first.pk], "resubmit")

    def with_total(total):
        return ProviderInvoiceDraft({"invoice_total": Decimal(total)}, given={"invoice_total"}, key=record.pk)

    assert faults(update_provider_invoices, with_total("14.99")) == [(0, "NotAllowed", "invoice_total")]
    assert update_provider_invoices([with_total("15.00")]) == [record.pk]
    Claim.objects.filter(pk=first.pk).update(amount_paid=Decimal("16.00"))
    unchanged = ProviderInvoiceDraft({"reference": "B"}, given={"reference"}, key=record.pk)
    assert update_provider_invoices([unchanged]) == [record.pk]


def test_reusable_cannot_change_once_a_claim_is_built_on_it():
    claim = a_claim()
    record = claim.provider_invoice
    draft = ProviderInvoiceDraft({"is_reusable": True}, given={"is_reusable"}, key=record.pk)
    assert faults(update_provider_invoices, draft) == [(0, "NotAllowed", "is_reusable")]
    claim.archive_date = clock.now()
    claim.save()
    draft = ProviderInvoiceDraft({"is_reusable": True}, given={"is_reusable"}, key=record.pk)
    assert update_provider_invoices([draft]) == [record.pk]


# --- deciding -------------------------------------------------------------------------------------------


#: The status after each action that is possible, by the status before it.
STATUS_AFTER = {
    "Unactioned": {
        "Approve": "Approved",
        "Reject": "Rejected",
        "HoldByClient": "OnHoldByClient",
        "HoldByPlanManager": "OnHoldByPlanManager",
    },
    "Approved": {
        "Reject": "Rejected",
        "HoldByClient": "OnHoldByClient",
        "HoldByPlanManager": "OnHoldByPlanManager",
    },
    "Rejected": {"Release": "Unactioned"},
    "OnHoldByClient": {
        "Approve": "Approved",
        "Reject": "Rejected",
        "HoldByPlanManager": "OnHoldByPlanManager",
        "Release": "Unactioned",
    },
    "OnHoldByPlanManager": {
        "Approve": "Approved",
        "Reject": "Rejected",
        "HoldByClient": "OnHoldByClient",
        "Release": "Unactioned",
    },
}


@pytest.mark.parametrize("status", ApprovalStatus.values)
@pytest.mark.parametrize("action", ApprovalAction.values)
def test_an_action_is_possible_in_some_statuses_and_refused_in_the_others(action, status):
    record = a_provider_invoice(approval_status=status)
    acted = act([record.pk], action, a_member(), "Because")
    record.refresh_from_db()
    possible = STATUS_AFTER[status]
    if action in possible:
        assert (acted.done, acted.refused) == ([record.pk], [])
        assert record.approval_status == possible[action]
        return
    (refusal,) = acted.refused
    assert (acted.done, refusal.key, refusal.code) == ([], record.pk, "NotAllowed")
    assert record.approval_status == status
    assert not StatusMove.objects.exists()
    assert refusal.message.endswith(f"Possible: {', '.join(possible)}.")


def test_an_action_is_recorded_with_who_when_and_why():
    record, member = a_provider_invoice(), a_member()
    with as_author(Author(channel="API", application="Portal")):
        act([record.pk], "Reject", member, "Not our participant")
    record.refresh_from_db()
    assert (record.rejection_reason, record.actioned_by) == ("Not our participant", member)
    assert record.actioned_date == clock.now()
    move = StatusMove.objects.get()
    assert (move.provider_invoice, move.verb, move.from_status, move.to_status) == (
        record,
        "Reject",
        "Unactioned",
        "Rejected",
    )
    assert (move.staff, move.application, move.reason) == (member, "Portal", "Not our participant")
    change = Change.objects.get(record_key=str(record.pk), kind="Changed")
    assert change.application == "Portal"
    assert change.differences["approval_status"] == ["Unactioned", "Rejected"]


def test_a_rejection_can_be_taken_back_and_its_reason_goes():
    record, member = a_provider_invoice(), a_member()
    act([record.pk], "Reject", member, "By mistake")
    act([record.pk], "Release", member)
    record.refresh_from_db()
    assert (record.approval_status, record.rejection_reason) == ("Unactioned", None)


@pytest.mark.parametrize("action", ["Reject", "HoldByClient", "HoldByPlanManager"])
@pytest.mark.parametrize("reason", [None, "", "  "])
def test_rejections_and_holds_need_a_reason(action, reason):
    record = a_provider_invoice()
    with pytest.raises(ValidationFailed) as refused:
        act([record.pk], action, a_member(), reason)
    assert [(found.code, found.field) for _, found in refused.value.issues] == [("Required", "reason")]


def test_who_decides_needs_the_permission_and_an_open_login():
    record, member = a_provider_invoice(), a_member()
    disabled = a_staff_member(role=member.role)
    disabled.disable_login_date = clock.now() - dt.timedelta(days=1)
    disabled.save()
    for nobody in (a_staff_member(role=a_role()), disabled):
        with pytest.raises(ValidationFailed) as refused:
            act([record.pk], "Approve", nobody)
        ((_, finding),) = refused.value.issues
        assert (finding.code, finding.field) == ("PermissionNeeded", "staff")
    record.refresh_from_db()
    assert record.approval_status == "Unactioned"


def test_an_archived_one_is_decided_about_when_it_was_restored():
    record = a_provider_invoice(archive_date=clock.now())
    (refusal,) = act([record.pk], "Approve", a_member()).refused
    assert refusal.code == "Archived"


def test_one_with_a_live_claim_is_not_rejected():
    claim, member = a_claim(), a_member()
    (refusal,) = act([claim.provider_invoice_id], "Reject", member, "No").refused
    assert refusal.code == "AlreadyUsed"
    assert claim.claim_number in refusal.message
    claim.archive_date = clock.now()
    claim.save()
    assert act([claim.provider_invoice_id], "Reject", member, "No").done == [claim.provider_invoice_id]


def test_of_many_those_that_can_be_are_decided_and_the_others_named():
    good, rejected = a_provider_invoice(), a_provider_invoice(approval_status="Rejected")
    acted = act([good.pk, rejected.pk], "Approve", a_member())
    assert acted.done == [good.pk]
    assert [refusal.key for refusal in acted.refused] == [rejected.pk]
    assert rejected.reference in acted.refused[0].label


@pytest.mark.parametrize(
    ("action", "claims_are"),
    [
        ("Approve", "AgencyClaimed"),
        ("Approve", "OnHold"),
        ("HoldByClient", "AwaitingStaffApproval"),
        ("Release", "OnHold"),
    ],
)
def test_statements_are_constant_in_their_number(action, claims_are):
    member, status = a_member(), "OnHoldByPlanManager"
    counts = []
    for number in (1, 5, 20):
        keys = []
        for _ in range(number):
            record = a_provider_invoice(approval_status=status)
            a_claim(provider_invoice=record, status_reason=HOLD_REASON, funding_status=claims_are)
            keys.append(record.pk)
        member = type(member).objects.get(pk=member.pk)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert len(act(keys, action, member, "Because").done) == number
        counts.append(len(queries))
    assert len(set(counts)) == 1, counts


# --- what becomes of its claims --------------------------------------------------------------------------


def test_a_hold_holds_the_claims_that_await_approval_and_says_why():
    record, member = a_provider_invoice(is_reusable=True), a_member()
    waiting, approved = (
        a_claim(provider_invoice=record, funding_status=status)
        for status in ("AwaitingStaffApproval", "Approved")
    )
    act([record.pk], "HoldByClient", member, "Asks about the hours")
    waiting.refresh_from_db()
    approved.refresh_from_db()
    assert (waiting.funding_status, approved.funding_status) == ("OnHold", "Approved")
    assert waiting.status_reason == "Provider invoice on hold by the client: Asks about the hours"
    assert StatusMove.objects.get(claim=waiting).staff == member


@pytest.mark.parametrize("action", ["Release", "Approve"])
def test_the_end_of_a_hold_releases_the_claims_it_held_and_no_others(action):
    record, member = a_provider_invoice(is_reusable=True), a_member()
    held, held_otherwise = a_claim(provider_invoice=record), a_claim(provider_invoice=record)
    apply_transition(Claim, [held_otherwise.pk], "hold", member, "The roster is missing")
    act([record.pk], "HoldByPlanManager", member, "Not signed")
    act([record.pk], "HoldByClient", member, "Asks")
    act([record.pk], action, member)
    held.refresh_from_db()
    held_otherwise.refresh_from_db()
    assert (held.funding_status, held.status_reason) == ("AwaitingStaffApproval", None)
    assert (held_otherwise.funding_status, held_otherwise.status_reason) == (
        "OnHold",
        "The roster is missing",
    )


def test_the_longest_reason_still_holds_its_claim():
    claim = a_claim()
    act([claim.provider_invoice_id], "HoldByClient", a_member(), "x" * 400)
    claim.refresh_from_db()
    assert claim.funding_status == "OnHold"


def test_a_claim_of_a_rejected_or_other_invoice_stays_as_it_is():
    claim, other = a_claim(funding_status="PaymentProviderRejected"), a_claim()
    act([claim.provider_invoice_id], "HoldByClient", a_member(), "Asks")
    claim.refresh_from_db()
    other.refresh_from_db()
    assert (claim.funding_status, other.funding_status) == (
        "PaymentProviderRejected",
        "AwaitingStaffApproval",
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres("SQLite has one writer and its test database one connection")
def test_a_hold_and_an_approval_at_the_same_moment_end_in_one_of_two_ways():
    member = a_member()
    for _ in range(6):
        claims = [a_claim() for _ in range(10)]
        provider_invoices = [claim.provider_invoice_id for claim in claims]
        calls = (
            lambda provider_invoices=provider_invoices: act(
                provider_invoices[::-1], "HoldByClient", member, "Asks"
            ),
            lambda claims=claims: apply_transition(Claim, [claim.pk for claim in claims], "approve", member),
        )
        assert at_once(*calls) == []
        statuses = set(
            Claim.objects.filter(pk__in=[claim.pk for claim in claims]).values_list("funding_status")
        )
        assert statuses in ({("OnHold",)}, {("Approved",)})
    assert ProviderInvoice.objects.exclude(approval_status="OnHoldByClient").count() == 0


def at_once(*calls):
    """The errors of calls that begin at the same moment, each on its own connection."""
    together, errors = threading.Barrier(len(calls)), []

    def run(call):
        try:
            together.wait(20)
            call()
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[call]) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return errors


# --- whether a claim is held up -------------------------------------------------------------------------


def test_a_claim_is_on_hold_while_its_invoice_is():
    claim, member = a_claim(), a_member()
    record = claim.provider_invoice
    act([record.pk], "HoldByClient", member, "Asks about the hours")
    record.refresh_from_db()
    assert (record.claim_on_hold, record.rejection_reason) == (True, None)
    act([record.pk], "Release", member)
    record.refresh_from_db()
    assert not record.claim_on_hold


def test_without_a_claim_no_claim_is_on_hold():
    record = a_provider_invoice()
    act([record.pk], "HoldByClient", a_member(), "Asks")
    record.refresh_from_db()
    assert not record.claim_on_hold


def test_claim_on_hold_is_corrected_when_claims_come_and_go():
    record = a_provider_invoice()
    act([record.pk], "HoldByClient", a_member(), "Asks")
    claim = a_claim(provider_invoice=record)
    assert update_claim_flags([record.pk]) == 1
    record.refresh_from_db()
    assert record.claim_on_hold
    assert update_claim_flags([record.pk]) == 0
    claim.archive_date = clock.now()
    claim.save()
    assert update_claim_flags([record.pk]) == 1
    record.refresh_from_db()
    assert not record.claim_on_hold
    last = Change.objects.filter(record_key=str(record.pk)).first()
    assert last.differences == {"claim_on_hold": [True, False]}
