"""Money that was paid of a line stays with it: what a resubmitted claim or invoice keeps when it changes."""

import datetime as dt
from decimal import Decimal
from uuid import uuid4

import pytest

from apps.base.drafts import ValidationFailed
from apps.core.models import Subscriber
from apps.engagements.models import ServiceBooking
from apps.funding.drafts import ClaimDraft, LineDraft
from apps.funding.models import Claim, ClaimLine, Invoice
from apps.funding.services.effects import recount_budgets
from apps.funding.services.payments import LineAmounts, allocate
from apps.funding.services.transitions import apply_transition
from apps.funding.services.update import update_claims, update_invoices
from tests.api.caller import Caller, an_application
from tests.engagements.builders import a_booking, a_plan
from tests.funding.bodies import (
    a_claim_body,
    a_full_provider_invoice,
    a_line_body,
    a_priced_entry,
    an_invoice_body,
    submitted,
)
from tests.people.builders import a_contact

pytestmark = pytest.mark.django_db

PAID = Decimal("15.00")


@pytest.fixture
def participant():
    """One with a plan and a booking for what ``a_priced_entry`` names."""
    contact = a_contact()
    plan = a_plan(participant=contact, plan_start_date="2025-07-01", plan_end_date="2026-06-30")
    a_booking(plan, category=9, budget=Decimal(5000))
    return contact


def taken(bill, name, **options):
    """The bill after a transition; of a resubmission the new one."""
    result = apply_transition(type(bill), [bill.pk], name, **options)
    assert result.done == [bill.pk], result.refused
    return type(bill).objects.get(pk=result.resubmissions.get(bill.pk, bill.pk))


def resubmitted(bill, how="resubmit"):
    """What resubmits a bill of which 15.00 were paid; that much is paid of its first line."""
    for name in ("approve", "claim"):
        bill = taken(bill, name)
    return taken(taken(bill, "pay-in-part", amounts={bill.pk: PAID}), how)


@pytest.fixture
def claim(participant):
    """One line of 2 × 10.00, of which 15.00 were paid."""
    invoice = a_full_provider_invoice(contact=participant)
    body = a_claim_body(invoice, entry=a_priced_entry("10.00"))
    return resubmitted(Claim.objects.get(pk=submitted("claim", body)[0]))


def changes(bill, line=None, **values):
    """The draft that changes the bill, and its first line by the values of ``line``."""
    if line is not None:
        first, *others = bill.line_items.order_by("position")
        drafts = [LineDraft(line, line, key=first.pk), *(LineDraft({}, key=other.pk) for other in others)]
        values["line_items"] = drafts
    return ClaimDraft(values, values, key=bill.pk)


def issues_of(bill, line=None, **values):
    update = update_claims if isinstance(bill, Claim) else update_invoices
    with pytest.raises(ValidationFailed) as refused:
        update([changes(bill, line, **values)], ignore_warnings=True)
    return [(issue.code, issue.field) for _, issue in refused.value.issues]


def of_line(field, number=0):
    return [("NotAllowed", ("line_items", number, field))]


def test_a_change_cannot_erase_what_was_paid(claim):
    assert issues_of(claim, {"quantity": Decimal("0.01")}) == of_line("quantity")
    for name in ("approve", "claim", "pay"):
        claim = taken(claim, name)
    assert (claim.amount_paid, ServiceBooking.objects.get().paid) == (Decimal("20.00"), Decimal("20.00"))


@pytest.mark.parametrize("method", ["patch", "put"])
def test_a_body_without_values_is_refused_in_words(claim, method):
    caller, (line,) = Caller(an_application()), claim.line_items.all()
    key = {"LineItemGuid": str(line.pk)}
    lines = (
        {**key, name: value} for name in ("Product", "Quantity", "Price", "FromDate") for value in (None, "x")
    )
    bodies = [{}, {"LineItems": None}, {"LineItems": []}, *({"LineItems": [each]} for each in lines)]
    bodies += [{name: value} for name in ("ContactGuid", "StartDate", "EndDate") for value in (None, "x")]
    for body in bodies:
        address, headers = f"claim({claim.pk})", {"api_version": "2.1", "If_Match": "*"}
        answer = getattr(caller, method)(address, body, {"ignoreWarnings": "true"}, **headers)
        assert answer.status_code in (200, 400), (body, answer.content)
        line.refresh_from_db()
        assert (line.amount_paid, line.total >= PAID) == (PAID, True), body


def test_the_total_may_fall_to_what_was_paid(claim):
    update_claims([changes(claim, {"quantity": Decimal("1.5")})], ignore_warnings=True)
    assert claim.line_items.get().total == PAID
    assert issues_of(claim, {"price": Decimal("9.99")}) == of_line("price")


def test_a_price_and_a_quantity_that_are_both_given_are_one_fault_of_the_quantity(claim):
    line = {"quantity": Decimal(1), "price": Decimal(1)}
    assert issues_of(claim, line) == of_line("quantity")


def test_a_paid_line_keeps_its_product(claim):
    entry = a_priced_entry("10.00")
    line = {"product": entry.product, "price_book": entry.price_book, "price": Decimal(10)}
    assert issues_of(claim, line) == of_line("product")


def test_a_paid_line_keeps_its_days(claim):
    assert issues_of(claim, {"from_date": dt.date(2025, 7, 8)}) == of_line("from_date")
    assert issues_of(claim, {"to_date": dt.date(2025, 7, 8)}) == of_line("to_date")
    both = {"from_date": dt.date(2025, 7, 8), "to_date": dt.date(2025, 7, 9)}
    assert issues_of(claim, both) == of_line("from_date")
    assert issues_of(claim, start_date=dt.date(2025, 7, 6)) == [("NotAllowed", "start_date")]
    assert issues_of(claim, end_date=dt.date(2025, 7, 14)) == [("NotAllowed", "end_date")]
    same = {"from_date": claim.start_date, "to_date": claim.end_date}
    update_claims([changes(claim, same)], ignore_warnings=True)
    update_claims([changes(claim, start_date=dt.date(2025, 7, 6))], ignore_warnings=True)


def test_a_bill_with_money_paid_keeps_its_participant(claim):
    assert issues_of(claim, contact=a_contact()) == [("NotAllowed", "contact")]


def test_another_provider_invoice_does_not_bring_another_participant(claim):
    other = a_full_provider_invoice(provider=claim.provider)
    assert ("NotAllowed", "contact") in issues_of(claim, provider_invoice=other)


@pytest.mark.parametrize("name", ["resubmit", "resubmit-gap"])
def test_the_provider_invoice_of_a_claim_that_was_paid_in_part_is_not_free_for_another(participant, name):
    invoice = a_full_provider_invoice(contact=participant)
    body = a_claim_body(invoice, entry=a_priced_entry("10.00"))
    claim = resubmitted(Claim.objects.get(pk=submitted("claim", body)[0]), name)
    other = a_full_provider_invoice(contact=participant, provider=claim.provider)
    assert issues_of(claim, provider_invoice=other) == [("NotAllowed", "provider_invoice")]
    Subscriber.objects.update_or_create(pk=1, defaults={"payment_provider_module": True})
    Subscriber.clear_cache()
    for verb in ("approve", "submit", "reject"):
        claim = taken(claim, verb)
    second = taken(claim, "resubmit")
    assert issues_of(second, provider_invoice=other) == [("NotAllowed", "provider_invoice")]


def test_a_paid_line_cannot_be_left_out(claim):
    entry = a_priced_entry("20.00")
    new = {"product": entry.product, "price_book": entry.price_book, "quantity": Decimal(1)}
    assert issues_of(claim, line_items=[LineDraft(new, new)]) == [("NotAllowed", "line_items")]


def test_all_faults_are_told_at_once(claim):
    line = {"quantity": Decimal("0.01"), "from_date": dt.date(2025, 7, 8)}
    found = issues_of(claim, line, contact=a_contact())
    assert sorted(found, key=str) == sorted(
        [("NotAllowed", "contact"), *of_line("quantity"), *of_line("from_date")], key=str
    )


def test_what_is_not_paid_may_change(participant):
    invoice = a_full_provider_invoice(contact=participant)
    lines = [a_line_body(a_priced_entry("10.00")), a_line_body(a_priced_entry("7.00"))]
    (key,) = submitted("claim", a_claim_body(invoice, LineItems=lines))
    claim = resubmitted(Claim.objects.get(pk=key))
    first, second = claim.line_items.order_by("position")
    values = {"quantity": Decimal("0.01"), "from_date": dt.date(2025, 7, 8)}
    drafts = [LineDraft({}, key=first.pk), LineDraft(values, values, key=second.pk)]
    update_claims([changes(claim, line_items=drafts)], ignore_warnings=True)
    assert claim.line_items.get(pk=second.pk).total == Decimal("0.07")
    update_claims([changes(claim, line_items=drafts[:1])], ignore_warnings=True)
    assert claim.line_items.get() == first


def test_a_paid_line_stays_on_its_booking(claim):
    """A booking for the item itself would be preferred, were the line new."""
    booking = ServiceBooking.objects.get()
    code = claim.line_items.get().product.code
    a_booking(booking.engagement, category=9, support_item=code, budget=Decimal(5000))
    update_claims([changes(claim, due_date=dt.date(2025, 9, 1))], ignore_warnings=True)
    assert claim.line_items.get().booking == booking
    assert recount_budgets() == (0, 0, 0)
    booking.refresh_from_db()
    assert booking.paid == PAID


def test_a_paid_credit_stays_a_credit(participant):
    lines = [a_line_body(a_priced_entry("30.00")), a_line_body(a_priced_entry("5.00"), IsCreditItem=True)]
    (key,) = submitted("invoice", an_invoice_body(participant, LineItems=lines))
    invoice = resubmitted(Invoice.objects.get(pk=key))
    first, credit = invoice.line_items.order_by("position")
    assert credit.amount_paid == Decimal("-10.00")
    for values, field in (
        ({"quantity": Decimal(1)}, "quantity"),
        ({"is_credit_item": False}, "is_credit_item"),
    ):
        drafts = [LineDraft({}, key=first.pk), LineDraft(values, values, key=credit.pk)]
        assert issues_of(invoice, line_items=drafts) == of_line(field, 1)


def test_a_payment_in_full_is_refused_where_more_was_paid_than_is_due(claim):
    """As it may be in records that were changed before lines kept what was paid."""
    ClaimLine.objects.filter(claim=claim).update(total=Decimal("0.10"))
    Claim.objects.filter(pk=claim.pk).update(total=Decimal("0.10"), funding_status="AgencyClaimed")
    result = apply_transition(Claim, [claim.pk], "pay")
    (refused,) = result.refused
    assert refused.message == (
        "15.00 were paid of line 1, which comes to 0.10: nothing more can be paid until its total is put"
        " right."
    )
    assert claim.line_items.get().amount_paid == PAID


def test_a_line_that_was_resubmitted_has_no_share_in_a_payment():
    rest = (Decimal(100), Decimal(0), None, None, dt.date(2026, 7, 1), dt.date(2026, 7, 1))
    lines = LineAmounts(uuid4(), *rest, uuid4(), "C-2"), LineAmounts(uuid4(), *rest, None, "")
    assert allocate(Decimal(30), lines) == {lines[1].key: Decimal(30)}
