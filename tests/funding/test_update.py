"""Claims and invoices change while they await approval or are on hold (apps/funding/services/update.py)."""

import datetime as dt
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base.drafts import ValidationFailed, WarningsPresent
from apps.core import history
from apps.core.models import Change
from apps.core.saving import try_out
from apps.engagements.models import ServiceBooking
from apps.funding.drafts import ClaimDraft, InvoiceDraft, LineDraft
from apps.funding.models import AcknowledgedWarning, Claim, ClaimLine, Invoice, ProviderInvoice
from apps.funding.services.update import update_claims, update_invoices
from tests.engagements.builders import a_booking, a_plan
from tests.funding.bodies import (
    a_claim_body,
    a_full_provider_invoice,
    a_funder,
    a_line_body,
    a_priced_entry,
    an_invoice_body,
    submitted,
)
from tests.people.builders import a_contact, a_staff_member

pytestmark = pytest.mark.django_db


def the_claim(*lines, **members):
    """A claim just entered, of these lines."""
    members |= {"LineItems": list(lines)} if lines else {}
    return Claim.objects.get(pk=submitted("claim", a_claim_body(**members))[0])


def revised(bill, **values):
    revise = update_claims if isinstance(bill, Claim) else update_invoices
    draft_class = ClaimDraft if isinstance(bill, Claim) else InvoiceDraft
    changed = revise([draft_class(values, given=values, key=bill.pk)], ignore_warnings=True)
    bill.refresh_from_db()
    return changed


def lines_as_drafts(bill, **of_each):
    return [
        LineDraft(dict(of_each), given=of_each, key=line.pk) for line in bill.line_items.order_by("position")
    ]


def a_new_line(entry, **values):
    values = {"price_book": entry.price_book, "product": entry.product, "quantity": Decimal(1), **values}
    return LineDraft(values, given=values)


def the_history(bill):
    change = Change.objects.filter(record_key=str(bill.pk), kind="Changed").latest("id")
    return change.differences


def test_what_is_not_given_stays():
    claim = the_claim(DueDate="2025-08-01", SendPaymentTo="PlanManager")
    line = claim.line_items.get()
    assert revised(claim, due_date=None) == [claim.pk]
    assert (claim.due_date, claim.send_payment_to, claim.total) == (None, "PlanManager", Decimal("140.00"))
    assert ClaimLine.objects.values().get() == {
        **ClaimLine.objects.filter(pk=line.pk).values().get(),
        "modify_date": line.modify_date,
    }
    assert the_history(claim) == {"due_date": ["2025-08-01", None]}


def test_an_update_that_changes_nothing_leaves_no_history():
    claim = the_claim()
    before = claim.modify_date
    assert revised(claim, due_date=None, claim_number=None, line_items=lines_as_drafts(claim)) == []
    assert claim.modify_date == before
    assert not Change.objects.filter(record_key=str(claim.pk), kind="Changed").exists()


def test_lines_are_added_changed_and_removed_and_the_history_says_which():
    entry = a_priced_entry()
    code = entry.product.code
    claim = the_claim(
        a_line_body(entry, Notes="First"), a_line_body(entry, Quantity=3), a_line_body(entry, Quantity=4)
    )
    first, second, third = lines_as_drafts(claim)
    second = LineDraft({"quantity": Decimal("3.5")}, given=["quantity"], key=second.key)
    revised(claim, line_items=[second, third, a_new_line(entry, notes="New")])
    told = [
        (line.position, line.quantity, line.total, line.notes)
        for line in claim.line_items.order_by("position")
    ]
    assert told == [
        (0, Decimal("3.5"), Decimal("245.00"), None),
        (1, Decimal(4), Decimal("280.00"), None),
        (2, Decimal(1), Decimal("70.00"), "New"),
    ]
    assert claim.total == Decimal("595.00")
    tail = f"{entry.price_book}"
    days = "07 Jul 2025 to 13 Jul 2025"
    assert the_history(claim) == {
        "total": ["630.00", "595.00"],
        "Line 1": [
            f"3 × {code} at 70 = 210.00; {days}; {tail}",
            f"3.5 × {code} at 70 = 245.00; {days}; {tail}",
        ],
        "Line 3": [None, f"1 × {code} at 70 = 70.00; {days}; {tail}; “New”"],
        "Line 1 before": [f"2 × {code} at 70 = 140.00; {days}; {tail}; “First”", None],
    }
    assert not ClaimLine.objects.filter(pk=first.key).exists()


def test_the_history_says_what_changed_of_a_line_that_reads_as_before():
    claim = the_claim(a_line_body(ToDate=None))
    days = {"from_date": dt.date(2025, 7, 7), "to_date": dt.date(2025, 7, 13)}
    revised(claim, line_items=lines_as_drafts(claim, **days))
    before, after = the_history(claim)["Line 1"]
    assert (before, after) == ("from None; to None", "from 2025-07-07; to 2025-07-13")


def test_notes_can_be_removed_from_an_existing_line():
    claim = the_claim(a_line_body(Notes="Wrong"))
    revised(claim, line_items=lines_as_drafts(claim, notes=None))
    assert claim.line_items.get().notes is None


def test_budgets_follow_updates():
    contact = a_contact()
    plan = a_plan(participant=contact, plan_start_date="2025-07-01", plan_end_date="2026-06-30")
    booking = a_booking(plan, category=9, budget=Decimal(5000))
    claim = the_claim(provider_invoice=a_full_provider_invoice(contact=contact))
    assert ServiceBooking.objects.get().waiting == Decimal("140.00")
    revised(claim, line_items=lines_as_drafts(claim, quantity=Decimal(5)))
    assert ServiceBooking.objects.get().waiting == Decimal("350.00")
    assert claim.line_items.get().booking == booking
    revised(claim, contact=a_contact())
    assert ServiceBooking.objects.get().waiting == Decimal("0.00")
    assert claim.line_items.get().booking is None


@pytest.mark.parametrize("status", ["Approved", "AgencyClaimed", "AgencyFullyPaid"])
def test_only_what_awaits_approval_or_is_on_hold_changes(status):
    claim = the_claim()
    Claim.objects.update(funding_status="OnHold")
    assert revised(claim, due_date="2025-09-01") == [claim.pk]
    Claim.objects.update(funding_status=status)
    with pytest.raises(ValidationFailed) as refused:
        revised(claim, due_date=None)
    assert [(found.code, found.field) for _, found in refused.value.issues] == [("NotAllowed", "")]


def test_an_archived_bill_does_not_change():
    claim = the_claim()
    Claim.objects.update(archive_date="2025-01-01T00:00Z")
    with pytest.raises(ValidationFailed, match="is archived"):
        revised(claim, due_date=None)


def test_lines_of_another_bill_are_refused():
    claim, other = the_claim(), the_claim()
    with pytest.raises(ValidationFailed, match="Line 1 is no line of") as refused:
        revised(claim, line_items=lines_as_drafts(other))
    assert refused.value.issues[0][1].field == ("line_items", 0)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("provider_invoice", "ProviderInvoiceGuid"),
        ("start_date", "StartDate"),
        ("end_date", "EndDate"),
        ("staff", "StaffGuid"),
        ("line_items", "LineItems"),
    ],
)
def test_members_that_are_required_of_a_claim_cannot_be_removed(name, label):
    claim = the_claim()
    with pytest.raises(ValidationFailed) as refused:
        revised(claim, **{name: [] if name == "line_items" else None})
    assert [(found.code, found.field, found.message) for _, found in refused.value.issues] == [
        ("Required", name, f"{label} is required.")
    ]


def test_the_rules_are_those_of_new_bills():
    claim = the_claim()
    nobody = a_staff_member()
    with pytest.raises(ValidationFailed) as refused:
        revised(claim, staff=nobody, end_date=claim.start_date.replace(month=1), line_items=[])
    assert {found.code for _, found in refused.value.issues} == {"Required"}
    with pytest.raises(ValidationFailed) as refused:
        revised(claim, staff=nobody, end_date=claim.start_date.replace(month=1))
    found = {(found.code, found.field) for _, found in refused.value.issues}
    assert found == {
        ("PermissionNeeded", "staff"),
        ("OutOfOrder", "end_date"),
        ("OutOfOrder", ("line_items", 0, "to_date")),
    }


def test_a_claim_may_move_to_another_provider_invoice_and_leaves_its_own_free():
    claim, provider_invoice = the_claim(), a_full_provider_invoice(provider=None)
    old, provider = claim.provider_invoice, claim.provider
    revised(claim, provider_invoice=provider_invoice)
    assert (claim.provider_invoice, claim.contact, claim.provider) == (
        provider_invoice,
        provider_invoice.contact,
        provider,
    )
    assert claim.provider_invoice_reference == provider_invoice.reference
    provider_invoice.refresh_from_db()
    assert provider_invoice.provider == provider
    assert the_claim(provider_invoice=old).provider_invoice == old
    with pytest.raises(ValidationFailed, match="is built on it already"):
        revised(claim, provider_invoice=old)


def test_a_claim_that_moves_keeps_what_is_given_with_it():
    claim, provider_invoice, contact = the_claim(), a_full_provider_invoice(), a_contact()
    revised(claim, provider_invoice=provider_invoice, contact=contact)
    assert (claim.contact, claim.provider) == (contact, provider_invoice.provider)


def test_a_claim_that_moves_to_a_provider_invoice_on_hold_is_held_up_by_it():
    claim, on_hold = the_claim(), a_full_provider_invoice(approval_status="OnHoldByClient")
    old = claim.provider_invoice
    ProviderInvoice.objects.filter(pk=old.pk).update(approval_status="OnHoldByClient", claim_on_hold=True)
    revised(claim, provider_invoice=on_hold)
    on_hold.refresh_from_db()
    old.refresh_from_db()
    assert (on_hold.claim_on_hold, old.claim_on_hold) == (True, False)


def test_whoever_is_signed_in_has_entered_a_bill_whoever_it_is_assigned_to():
    author, assigned = a_staff_member(), a_funder()
    with history.as_author(history.Author("Back office", author.pk)):
        claim = the_claim(staff=assigned)
    assert (claim.staff, claim.entered_by) == (assigned, author)


def test_warnings_that_were_acknowledged_are_not_raised_again_until_they_differ():
    claim, other = the_claim(), the_claim()
    noted = AcknowledgedWarning.objects.count()
    assert noted
    assert update_claims([ClaimDraft({"due_date": "2025-09-01"}, given=["due_date"], key=claim.pk)])
    assert AcknowledgedWarning.objects.count() == noted
    # The same claim with another figure, and another claim's acknowledgement.
    lines = lines_as_drafts(claim, quantity=Decimal(3), price=Decimal("99999.00"))
    with pytest.raises(WarningsPresent) as warned:
        update_claims([ClaimDraft({"line_items": lines}, given=["line_items"], key=claim.pk)])
    assert "NoEngagement" not in {found.code for _, found in warned.value.issues}
    AcknowledgedWarning.objects.filter(claim=claim).update(claim=other)
    with pytest.raises(WarningsPresent):
        update_claims([ClaimDraft({"due_date": None}, given=["due_date"], key=claim.pk)])


def test_warnings_can_be_found_without_saving():
    claim = the_claim()
    AcknowledgedWarning.objects.all().delete()
    found = try_out(update_claims, [ClaimDraft({}, key=claim.pk)])
    assert "NoEngagement" in {finding.code for _, finding in found}


def test_an_invoice_is_updated_as_well():
    staff = a_funder()
    (key,) = submitted("invoice", an_invoice_body(staff=staff))
    invoice = Invoice.objects.get(pk=key)
    assert revised(invoice, line_items=lines_as_drafts(invoice, is_credit_item=True)) == [key]
    assert invoice.total == Decimal("-140.00")
    assert the_history(invoice)["total"] == ["140.00", "-140.00"]


def test_statements_do_not_grow_with_the_bills():
    def statements(number):
        claims = [the_claim(a_line_body(), a_line_body()) for _ in range(number)]
        drafts = [
            ClaimDraft({"line_items": lines}, given=["line_items"], key=claim.pk)
            for claim in claims
            for lines in [lines_as_drafts(claim, quantity=Decimal(9))]
        ]
        with CaptureQueriesContext(connection) as captured:
            update_claims(drafts, ignore_warnings=True)
        return len(captured)

    statements(1)
    assert statements(2) == statements(20)
