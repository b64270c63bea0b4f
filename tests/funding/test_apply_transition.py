"""Transitions of claims and invoices (apps/funding/services/transitions.py)."""

import datetime as dt
import uuid
from decimal import Decimal

import pytest
from django.contrib.auth.models import Permission
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.base import clock
from apps.core import history
from apps.core.models import Change, Subscriber
from apps.engagements.amounts import Amounts
from apps.funding.file_formats.claim_file import write_amount
from apps.funding.models import Claim, Invoice, ProviderInvoice, StatusMove
from apps.funding.services.effects import recount_budgets, recount_claim_flags
from apps.funding.services.transitions import apply_transition, list_transitions
from apps.funding.statuses import ClaimStatus
from apps.funding.validation.transitions import transitions_of
from tests.engagements.builders import a_booking, a_category_budget, amounts, sums
from tests.funding.applied import (
    applied,
    fresh,
    moves,
    paid_of_lines,
    priced,
    refused,
    resubmitted,
)
from tests.funding.builders import a_claim, a_claim_file, a_provider_invoice, an_invoice
from tests.people.builders import a_role, a_staff_member

pytestmark = pytest.mark.django_db


def somebody(**columns):
    """A staff member with the permissions for all transitions."""
    role = a_role()
    role.permissions.set(Permission.objects.filter(codename__endswith="_funding_invoices"))
    return a_staff_member(role=role, **columns)


@pytest.fixture
def settings_saved(db):
    def save(**columns):
        Subscriber.objects.update_or_create(pk=1, defaults=columns)
        Subscriber.clear_cache()

    return save


# --- the table ------------------------------------------------------------------------------------------


def test_a_claim_goes_the_usual_way():
    jo, claim = somebody(), a_claim()
    held_up = applied(claim, "hold", staff=jo, reason="No dates")
    assert (held_up.funding_status, held_up.status_reason) == ("OnHold", "No dates")
    released = applied(claim, "release", staff=jo)
    assert (released.funding_status, released.status_reason) == ("AwaitingStaffApproval", None)
    approved = applied(claim, "approve", staff=jo)
    assert approved.approved_date == approved.status_date == clock.now()
    applied(claim, "claim", staff=jo)
    paid = applied(claim, "pay", staff=jo)
    assert (paid.funding_status, paid.amount_paid, paid.payment_date) == (
        "AgencyFullyPaid",
        paid.total,
        clock.now(),
    )
    assert moves(claim) == [
        ("hold", "AwaitingStaffApproval", "OnHold", "No dates"),
        ("release", "OnHold", "AwaitingStaffApproval", None),
        ("approve", "AwaitingStaffApproval", "Approved", None),
        ("claim", "Approved", "AgencyClaimed", None),
        ("pay", "AgencyClaimed", "AgencyFullyPaid", None),
    ]
    assert set(StatusMove.objects.values_list("staff", flat=True)) == {jo.pk}


def test_an_invoice_to_the_client_goes_its_way():
    invoice = an_invoice(invoice_claim_type="InvoiceToClient")
    applied(invoice, "approve")
    applied(invoice, "send")
    rejected = applied(invoice, "client-rejects", reason="Wrong hours")
    assert (rejected.funding_status, rejected.status_reason) == ("ClientRejected", "Wrong hours")
    reopened = applied(invoice, "reopen")
    assert (reopened.funding_status, reopened.resubmitted, reopened.approved_date) == (
        "AwaitingStaffApproval",
        True,
        None,
    )
    applied(invoice, "approve")
    applied(invoice, "send")
    paid = applied(invoice, "pay", day=dt.date(2026, 1, 2))
    assert (paid.funding_status, paid.payment_date) == ("Paid", dt.date(2026, 1, 2))


def test_a_move_that_is_not_in_the_table_is_refused_with_those_that_are():
    claim = a_claim(funding_status="Approved")
    assert refused(claim, "release") == (
        "It is approved. Possible from there: withdraw approval, claim from the agency."
    )
    paid = an_invoice(funding_status="Paid")
    assert refused(paid, "approve") == "It is paid. Nothing more can be done to it."


def test_what_a_bill_may_do_follows_from_the_guards_too(settings_saved):
    claim, invoice = a_claim(funding_status="Approved"), an_invoice(funding_status="Approved")
    assert verbs(claim) == ["withdraw", "claim"]
    settings_saved(payment_provider_module=True)
    assert verbs(claim) == verbs(invoice) == ["withdraw", "claim", "submit"]
    invoice.invoice_claim_type = "InvoiceToClient"
    assert verbs(invoice) == ["withdraw", "send"]
    assert verbs(a_claim(archive_date=clock.now())) == ["restore"]


def verbs(bill, staff=None):
    return [str(row.name) for row in list_transitions(bill, staff)]


def test_an_unknown_bill_is_refused_and_the_others_are_changed():
    claim, unknown = a_claim(), uuid.uuid4()
    result = apply_transition(Claim, [unknown, claim.pk, claim.pk], "approve")
    assert result.done == [claim.pk]
    assert [(each.key, each.message) for each in result.refused] == [
        (unknown, "There is no claim with this identifier.")
    ]


def test_an_archived_bill_is_only_restored():
    claim = a_claim(archive_date=clock.now())
    assert refused(claim, "approve") == (
        "It is archived (awaiting staff approval). Possible from there: restore."
    )


# --- who, and why ---------------------------------------------------------------------------------------


def test_a_transition_needs_the_permission_to_administer_funding_invoices():
    claim, nobody = a_claim(), a_staff_member()
    message = refused(claim, "approve", staff=nobody)
    assert f"{nobody} may not change the status of claims and invoices" in message
    assert list_transitions(claim, nobody) == []
    left = somebody()
    left.archive_date = clock.now()
    assert "may not change the status" in refused(claim, "approve", staff=left)


def test_with_four_eyes_nobody_approves_what_they_entered(settings_saved):
    jo, lee = somebody(), somebody()
    claim = a_claim(entered_by=jo)
    settings_saved(four_eyes=True)
    assert refused(claim, "approve", staff=jo) == (
        "You entered it yourself: with four eyes, somebody else approves it."
    )
    assert "approve" not in verbs(claim, jo)
    assert "approve" in verbs(claim, lee)
    applied(claim, "approve", staff=lee)


def test_without_four_eyes_one_may(settings_saved):
    settings_saved(four_eyes=False)
    jo = somebody()
    applied(a_claim(entered_by=jo), "approve", staff=jo)


def test_an_approval_by_nobody_is_no_own_one():
    claim = a_claim(entered_by=None)
    applied(claim, "approve")
    assert not StatusMove.objects.get(claim=claim).is_own_approval


@pytest.mark.parametrize("reason", [None, "", "  "])
def test_a_hold_says_why(reason):
    assert refused(a_claim(), "hold", reason=reason) == "Hold: give a reason."


def test_a_reason_has_its_length():
    assert refused(a_claim(), "hold", reason="x" * 401) == (
        "A reason has at most 400 characters, this one has 401."
    )


def test_approval_is_withdrawn_one_at_a_time():
    one, other = a_claim(funding_status="Approved"), a_claim(funding_status="Approved")
    result = apply_transition(Claim, [one.pk, other.pk], "withdraw")
    assert [each.message for each in result.refused] == [
        "Withdraw approval: one at a time, not 2 at once."
    ] * 2
    assert applied(one, "withdraw").approved_date is None


def test_a_move_without_anybody_is_whoever_writes(settings_saved):
    jo = somebody()
    with history.as_author(history.Author("API", application="Sync", staff_id=jo.pk)):
        applied(a_claim(), "approve")
    move_ = StatusMove.objects.get()
    assert (move_.staff_id, move_.application) == (jo.pk, "Sync")


def test_the_history_says_what_changed():
    claim = a_claim()
    applied(claim, "approve")
    line = Change.objects.filter(record_type="funding.claim", record_key=str(claim.pk)).first()
    assert line.kind == "Changed"
    assert line.differences == {
        "approved_date": [None, clock.now().isoformat()],
        "funding_status": ["AwaitingStaffApproval", "Approved"],
    }
    assert fresh(claim).modify_date == clock.now()


# --- provider invoices, payment provider, agency --------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("OnHoldByClient", "is on hold by the client: release that first"),
        ("OnHoldByPlanManager", "is on hold by the plan manager: release that first"),
        ("Rejected", "was rejected: archive the claim"),
    ],
)
def test_a_claim_waits_for_its_provider_invoice(status, said):
    claim = a_claim()
    provider_invoice = claim.provider_invoice
    provider_invoice.approval_status = status
    provider_invoice.save()
    assert refused(claim, "approve") == f"Its provider invoice {provider_invoice.reference} {said}."


def test_without_a_payment_provider_nothing_is_submitted_to_one(settings_saved):
    claim = a_claim(funding_status="Approved")
    assert "No payment provider is used here" in refused(claim, "submit")
    settings_saved(payment_provider_module=True)
    applied(claim, "submit")
    assert applied(claim, "accept").funding_status == "AgencyClaimed"


def test_an_invoice_goes_to_the_agency_or_to_the_client():
    to_agency, to_client = (
        an_invoice(funding_status="Approved", invoice_claim_type=kind)
        for kind in ("InvoiceToAgency", "InvoiceToClient")
    )
    assert refused(to_agency, "send") == (
        "It is billed to the agency, not to the client: claim it from the agency."
    )
    assert refused(to_client, "claim") == "It is billed to the client, not to the agency: send it."


@pytest.mark.parametrize("before", ["SubmittedToPaymentProvider", "AgencyClaimed"])
def test_a_refused_cancellation_leads_back(before):
    claim = a_claim(funding_status=before)
    for _ in range(2):
        asked = applied(claim, "ask-to-cancel", reason="Entered twice")
        assert asked.funding_status == "PaymentProviderCancellationRequested"
        assert applied(claim, "refuse-cancellation").funding_status == before
    applied(claim, "ask-to-cancel", reason="Entered twice")
    assert applied(claim, "confirm-cancellation").funding_status == "PaymentProviderCancelled"


def test_a_cancellation_that_is_refused_again_leads_back_to_the_status_before_the_last_one():
    claim = a_claim(funding_status="AgencyClaimed")
    for status in ("AgencyClaimed", "AgencyPartiallyPaid"):
        applied(claim, "ask-to-cancel", reason="Entered twice")
        assert applied(claim, "refuse-cancellation").funding_status == status
        if status == "AgencyClaimed":
            applied(claim, "pay-in-part", amounts={claim.pk: Decimal("40.00")})


# --- payments -------------------------------------------------------------------------------------------


def test_a_part_payment_fills_the_lines_in_their_order():
    claim = a_claim(priced("50.00", "30.00", "20.00"), funding_status="AgencyClaimed")
    paid = applied(claim, "pay-in-part", amounts={claim.pk: Decimal("60.05")}, day=dt.date(2026, 1, 2))
    assert (paid.funding_status, str(paid.amount_paid)) == ("AgencyPartiallyPaid", "60.05")
    assert paid_of_lines(claim) == ["50.00", "10.05", "0.00"]
    assert timezone.localtime(paid.payment_date).isoformat() == "2026-01-02T00:00:00+11:00"
    paid = applied(claim, "pay-the-rest")
    assert (paid.funding_status, paid.amount_paid) == ("AgencyFullyPaid", paid.total)
    assert paid_of_lines(claim) == ["50.00", "30.00", "20.00"]


def test_credits_are_used_up_before_anything_is_paid():
    lines = [*priced("50.00", "30.00"), *priced("20.00", is_credit_item=True)]
    invoice = an_invoice(lines, funding_status="AgencyClaimed")
    applied(invoice, "pay-in-part", amounts={invoice.pk: Decimal("45.00")})
    assert paid_of_lines(invoice) == ["50.00", "15.00", "-20.00"]


def test_a_credit_below_a_dollar_is_used_up_once():
    lines = [*priced("0.50", is_credit_item=True), *priced("50.00", "30.00")]
    invoice = an_invoice(lines, funding_status="AgencyClaimed")
    applied(invoice, "pay-in-part", amounts={invoice.pk: Decimal("45.00")})
    assert paid_of_lines(invoice) == ["-0.50", "45.50", "0.00"]


def test_a_part_payment_may_say_the_lines():
    claim = a_claim(priced("50.00", "30.00"), funding_status="AgencyClaimed")
    first, second = claim.line_items.order_by("position")
    assert refused(claim, "pay-in-part", amounts={claim.pk: {second.pk: Decimal("30.01")}}) == (
        "Of line 2 30.00 is outstanding: 30.01 cannot be paid on it."
    )
    assert "It has no line" in refused(
        claim, "pay-in-part", amounts={claim.pk: {uuid.uuid4(): Decimal("1.00")}}
    )
    amounts_ = {first.pk: Decimal("1.00"), second.pk: Decimal("30.00")}
    assert applied(claim, "pay-in-part", amounts={claim.pk: amounts_}).amount_paid == Decimal("31.00")
    assert paid_of_lines(claim) == ["1.00", "30.00"]


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        (None, "Say how much of the outstanding 100.00 was paid."),
        ("0.00", "0.00 is no payment: give an amount above 0."),
        ("-5.00", "-5.00 is no payment: give an amount above 0."),
        ("100.00", "100.00 is all that is outstanding: say that it is paid in full."),
        ("100.01", "100.01 is more than the 100.00 that is outstanding."),
        ("9.999", "9.999 is no amount of money: cents are its smallest part."),
    ],
)
def test_what_is_no_part_payment_is_refused(amount, said):
    claim = a_claim(priced("100.00"), funding_status="AgencyClaimed")
    amounts_ = {} if amount is None else {claim.pk: Decimal(amount)}
    assert refused(claim, "pay-in-part", amounts=amounts_) == said


def test_a_full_payment_of_another_amount_is_refused():
    claim = a_claim(priced("100.00"), funding_status="AgencyClaimed")
    said = refused(claim, "pay", amounts={claim.pk: Decimal("90.00")})
    assert said == "100.00 is outstanding, and 90.00 is not that."
    applied(claim, "pay", amounts={claim.pk: Decimal("100.00")})


def test_nothing_is_paid_tomorrow_nor_in_1899(at):
    at("2026-05-03 23:00")
    claim = a_claim(funding_status="AgencyClaimed")
    assert "lies ahead" in refused(claim, "pay", day=dt.date(2026, 5, 4))
    said = refused(claim, "pay", day=dt.date(1899, 5, 3))
    assert said == "The day of payment, 3 May 1899, is more than 7 years ago."
    assert applied(claim, "pay", day=dt.date(2026, 5, 3)).payment_date == clock.now()


# --- budgets --------------------------------------------------------------------------------------------


def test_budgets_follow_every_transition():
    booking, category = a_booking(), a_category_budget()
    claim = a_claim([*priced("60.00", booking=booking), *priced("40.00", category_budget=category)])
    recount_budgets()
    assert (sums(booking), sums(category)) == (amounts(waiting="60.00"), amounts(waiting="40.00"))
    applied(claim, "approve")
    applied(claim, "claim")
    assert (sums(booking), sums(category)) == (amounts("60.00"), amounts("40.00"))
    applied(claim, "pay-in-part", amounts={claim.pk: Decimal("70.00")})
    assert (sums(booking), sums(category)) == (amounts("60.00", "60.00"), amounts("40.00", "10.00"))
    applied(claim, "write-off", reason="Too small")
    assert (sums(booking), sums(category)) == (amounts("60.00", "60.00"), amounts("10.00", "10.00"))
    assert recount_budgets() == (0, 0, 0)


def test_an_archived_claim_draws_nothing_and_a_restored_one_again():
    booking = a_booking()
    claim = a_claim(priced("60.00", booking=booking))
    recount_budgets()
    assert applied(claim, "archive").is_archived
    assert sums(booking) == Amounts()
    applied(claim, "restore")
    assert sums(booking) == amounts(waiting="60.00")


# --- archiving ------------------------------------------------------------------------------------------


def test_archiving_frees_the_provider_invoice_and_restoring_takes_it_again():
    claim = a_claim()
    archived = applied(claim, "archive", reason="Entered twice")
    assert not archived.takes_provider_invoice
    kinds = Change.objects.filter(record_key=str(claim.pk)).values_list("kind", flat=True)
    assert list(kinds) == ["Archived", "Created"]
    assert applied(claim, "restore").takes_provider_invoice
    assert moves(claim) == [
        ("archive", "AwaitingStaffApproval", "AwaitingStaffApproval", "Entered twice"),
        ("restore", "AwaitingStaffApproval", "AwaitingStaffApproval", None),
    ]


def test_a_claim_is_not_restored_while_another_has_its_provider_invoice():
    claim = a_claim()
    applied(claim, "archive")
    other = a_claim(provider_invoice=claim.provider_invoice)
    assert refused(claim, "restore") == (
        f"Its provider invoice is meanwhile claimed by {other}: archive that one first."
    )
    applied(other, "archive")
    applied(claim, "restore")


def test_of_two_restored_together_the_first_has_the_provider_invoice():
    one = a_claim()
    applied(one, "archive")
    other = a_claim(provider_invoice=one.provider_invoice)
    applied(other, "archive")
    result = apply_transition(Claim, [other.pk, one.pk], "restore")
    assert result.done == [other.pk]
    assert "meanwhile claimed by" in result.refused[0].message


def test_a_reusable_provider_invoice_has_no_single_claim():
    provider_invoice = a_provider_invoice(is_reusable=True)
    one, other = a_claim(provider_invoice=provider_invoice), a_claim(provider_invoice=provider_invoice)
    for claim in (one, other):
        applied(claim, "archive")
        assert not applied(claim, "restore").takes_provider_invoice


@pytest.mark.parametrize("status", ["Approved", "AgencyClaimed", "AgencyPartiallyPaid", "AgencyFullyPaid"])
def test_what_money_is_requested_is_not_archived(status):
    said = refused(a_claim(funding_status=status), "archive")
    assert said.startswith("It is ")
    assert "archive" not in said


def test_an_invoice_of_nothing_is_paid_all_the_same():
    invoice = an_invoice(priced("0.00"), funding_status="Sent", invoice_claim_type="InvoiceToClient")
    assert applied(invoice, "pay").funding_status == "Paid"


def test_a_provider_invoice_on_hold_learns_that_its_claim_went():
    claim = a_claim()
    provider_invoice = claim.provider_invoice
    provider_invoice.approval_status, provider_invoice.claim_on_hold = "OnHoldByClient", True
    provider_invoice.save()
    applied(claim, "archive")
    provider_invoice.refresh_from_db()
    assert not provider_invoice.claim_on_hold
    applied(claim, "restore")
    provider_invoice.refresh_from_db()
    assert provider_invoice.claim_on_hold


WAYS = [(row.name, source) for row in transitions_of(Claim) for source in row.sources & {*ClaimStatus.values}]


@pytest.mark.parametrize(
    ("name", "status", "approval_status"),
    # Approval alone asks for it; on hold, whether its claim counts changes two flags in place of one.
    [(*way, "OnHoldByClient") for way in sorted(WAYS)]
    + [(*way, "Unactioned") for way in sorted(WAYS) if way[0] == "approve"],
)
def test_a_provider_invoice_learns_of_every_transition(settings_saved, name, status, approval_status):
    settings_saved(payment_provider_module=True)
    is_archived = name == "restore"
    archived = {"archive_date": clock.now(), "takes_provider_invoice": False} if is_archived else {}
    paid = Decimal("1.00") if name == "take-back" else Decimal(0)
    claim = a_claim([{"amount_paid": paid}], funding_status=status, amount_paid=paid, **archived)
    if name == "take-out-of-file":
        a_claim_file([claim], status="NotSent")
    ProviderInvoice.objects.update(approval_status=approval_status)
    with transaction.atomic():
        recount_claim_flags()
    before = fresh(claim.provider_invoice)
    needs_amount = name in ("pay-in-part", "pay-further", "take-back")
    amounts = {claim.pk: Decimal("1.00")} if needs_amount else None
    with CaptureQueriesContext(connection) as statements:
        result = apply_transition(Claim, [claim.pk], name, reason="As told.", amounts=amounts)
    is_blocked = name == "approve" and approval_status == "OnHoldByClient"
    assert result.done == ([] if is_blocked else [claim.pk]), result.refused
    with transaction.atomic():
        assert recount_claim_flags() == 0
    after = fresh(claim.provider_invoice)
    if (before.is_claimed, before.claim_on_hold) != (after.is_claimed, after.claim_on_hold):
        first = statements[1]["sql"].partition(" WHERE ")[0]  # behind the savepoint
        assert 'FROM "funding_providerinvoice"' in first


# --- resubmitting ---------------------------------------------------------------------------------------


def test_in_full_the_new_claim_has_the_lines_and_what_was_paid_earlier():
    jo, booking = somebody(), a_booking()
    claim = a_claim(
        priced("60.00", "40.00", booking=booking),
        funding_status="AgencyClaimed",
        due_date=dt.date(2026, 1, 1),
        approved_date=clock.now(),
    )
    recount_budgets()
    applied(claim, "pay-in-part", amounts={claim.pk: Decimal("70.00")})
    new = resubmitted(claim, "resubmit", staff=jo, reason="Price was wrong")
    assert (new.funding_status, new.resubmitted, new.resubmission_of_id) == (
        "AwaitingStaffApproval",
        True,
        claim.pk,
    )
    assert (str(new.total), str(new.amount_paid), str(new.paid_earlier)) == ("100.00", "70.00", "70.00")
    assert paid_of_lines(new) == ["60.00", "10.00"]
    assert (new.due_date, new.entered_by_id) == (dt.date(2026, 1, 1), jo.pk)
    assert (new.approved_date, new.payment_date) == (None, None)
    assert new.claim_number == "CLM-0000001"
    old = fresh(claim)
    assert (old.funding_status, old.takes_provider_invoice, new.takes_provider_invoice) == (
        "AgencyPartiallyPaid",
        False,
        True,
    )
    assert moves(claim)[-1] == ("resubmit", "AgencyPartiallyPaid", "AgencyPartiallyPaid", "Price was wrong")
    assert sums(booking) == amounts("70.00", "70.00", "30.00")
    applied(new, "approve")
    applied(new, "claim")
    assert sums(booking) == amounts("100.00", "70.00")
    applied(new, "pay")
    assert sums(booking) == amounts("100.00", "100.00")
    assert recount_budgets() == (0, 0, 0)


def test_the_gap_has_what_is_missing_to_the_cent():
    booking = a_booking()
    lines = [
        {"quantity": "3", "price": "33.35", "booking": booking},
        {"quantity": "7", "price": "10.01", "booking": booking},
        {"quantity": "2", "price": "5.00", "booking": booking},
    ]
    claim = a_claim(lines, funding_status="AgencyClaimed")
    recount_budgets()
    applied(claim, "pay-in-part", amounts={claim.pk: Decimal("110.11")})
    new = resubmitted(claim, "resubmit-gap")
    assert new.total == claim.total - Decimal("110.11") == Decimal("70.01")
    assert (new.amount_paid, new.paid_earlier) == (0, 0)
    made = [(line.position, line.total) for line in new.line_items.order_by("position")]
    assert made == [(0, Decimal("60.01")), (1, Decimal("10.00"))]
    for line in new.line_items.all():
        assert (line.quantity * line.price).quantize(Decimal("0.01")) == line.total
        # As a claim file writes it, of an item with a price limit.
        written = write_amount(line.quantity, line.price, line.total, "each", None)
        assert Decimal(written.price) <= Decimal("10.01")
    assert sums(booking) == amounts("110.11", "110.11", "70.01")
    assert recount_budgets() == (0, 0, 0)


@pytest.mark.parametrize("status", ["PaymentProviderRejected", "PaymentProviderCancelled"])
@pytest.mark.parametrize("verb", ["resubmit", "resubmit-gap"])
def test_what_was_refused_or_cancelled_is_resubmitted_whole(status, verb):
    booking = a_booking()
    claim = a_claim(priced("60.00", booking=booking), funding_status=status)
    recount_budgets()
    new = resubmitted(claim, verb)
    assert (new.total, new.takes_provider_invoice) == (claim.total, True)
    assert sums(booking) == amounts(waiting="60.00")
    assert applied(claim, "archive").is_archived


def test_a_claim_is_resubmitted_once_and_its_gap_is_no_longer_its_own():
    claim = a_claim(priced("60.00"), funding_status="AgencyClaimed")
    applied(claim, "pay-in-part", amounts={claim.pk: Decimal("1.00")})
    new = resubmitted(claim, "resubmit-gap")
    said = f"It was resubmitted as {new}: go on with that one."
    assert refused(claim, "resubmit") == refused(claim, "pay-the-rest") == said
    assert refused(claim, "write-off", reason="Small") == said
    assert verbs(fresh(claim)) == []


def test_an_archived_resubmission_gives_everything_back():
    booking = a_booking()
    claim = a_claim(priced("60.00", booking=booking), funding_status="AgencyClaimed")
    recount_budgets()
    applied(claim, "pay-in-part", amounts={claim.pk: Decimal("20.00")})
    for verb in ("resubmit", "resubmit-gap"):
        new = resubmitted(claim, verb)
        applied(new, "archive")
        assert fresh(claim).takes_provider_invoice
        assert sums(booking) == amounts("60.00", "20.00")
        assert not applied(new, "restore").is_archived
        assert not fresh(claim).takes_provider_invoice
        assert sums(booking) == amounts("20.00", "20.00", "40.00")
        applied(new, "archive")
    again = resubmitted(claim, "resubmit")
    assert refused(new, "restore") == f"{claim}, which it resubmits, was resubmitted again as {again}."
    applied(again, "archive")
    applied(claim, "pay-the-rest")
    assert refused(new, "restore") == f"{claim}, which it resubmits, is now fully paid by the agency."
    assert recount_budgets() == (0, 0, 0)


def test_an_archived_resubmission_of_an_archived_claim_frees_the_provider_invoice():
    claim = a_claim(priced("60.00"), funding_status="PaymentProviderRejected")
    new = resubmitted(claim, "resubmit")
    for each in (claim, new):
        applied(each, "archive")
    assert not Claim.objects.filter(takes_provider_invoice=True).exists()
    assert not fresh(claim.provider_invoice).is_claimed


def test_of_two_resubmissions_of_a_claim_restored_together_the_first_is():
    claim = a_claim(priced("60.00"), funding_status="PaymentProviderRejected")
    one = resubmitted(claim, "resubmit")
    applied(one, "archive")
    other = resubmitted(claim, "resubmit")
    applied(other, "archive")
    result = apply_transition(Claim, [other.pk, one.pk], "restore")
    assert result.done == [other.pk]
    assert result.refused[0].message == f"{claim}, which it resubmits, was resubmitted again as {other}."


def test_a_claim_between_two_others_is_not_archived():
    claim = a_claim(priced("60.00"), funding_status="AgencyClaimed")
    applied(claim, "pay-in-part", amounts={claim.pk: Decimal("1.00")})
    second = resubmitted(claim, "resubmit")
    Claim.objects.filter(pk=second.pk).update(funding_status="PaymentProviderRejected")
    third = resubmitted(second, "resubmit")
    assert refused(second, "archive") == (
        f"It resubmits an older one and was resubmitted as {third}: archive {third} first."
    )


def test_a_chain_of_resubmissions_is_restored_from_its_older_end():
    """Else what was paid would be claimed with the oldest and with the youngest."""
    claim = a_claim(priced("60.00"), funding_status="AgencyClaimed")
    applied(claim, "pay-in-part", amounts={claim.pk: Decimal("1.00")})
    second = resubmitted(claim, "resubmit")
    Claim.objects.filter(pk=second.pk).update(funding_status="PaymentProviderRejected")
    third = resubmitted(second, "resubmit")
    applied(third, "archive")
    applied(second, "archive")
    assert refused(third, "restore") == (
        f"{second}, which it resubmits, is archived: restore that one first."
    )
    assert apply_transition(Claim, [second.pk, third.pk], "restore").done
    assert applied(third, "restore").takes_provider_invoice
    assert not fresh(second).takes_provider_invoice


def test_a_resubmitted_invoice_recurs_no_more():
    invoice = an_invoice(
        funding_status="PaymentProviderRejected",
        is_recurring=True,
        recurring_start_date=dt.date(2026, 1, 1),
        recurring_frequency="Monthly",
        external_invoice_number="XERO-1",
    )
    new = resubmitted(invoice, "resubmit")
    assert (new.is_recurring, new.recurring_frequency, new.external_invoice_number) == (False, None, None)
    assert fresh(invoice).is_recurring
    assert new.invoice_number == "INV-0000001"
    assert Invoice.objects.count() == 2
