"""Who moves the same claims at the same moment: one is first, the other is told where they stand now."""

import threading
import time
from decimal import Decimal

import pytest
from django.db import transaction

from apps.base.drafts import ValidationFailed
from apps.engagements.amounts import Amounts
from apps.funding.drafts import ClaimDraft
from apps.funding.models import Claim, StatusMove
from apps.funding.services import transitions, update
from apps.funding.services.effects import recount_budgets
from apps.funding.services.invariants import find_money_faults
from apps.funding.services.transitions import apply_transition
from tests.engagements.builders import a_booking
from tests.funding.bodies import a_claim_body, submitted
from tests.funding.builders import JULY, a_claim, an_invoice
from tests.races import ROUNDS, call_at_once

pytestmark = [
    pytest.mark.postgres("SQLite has one writer and its test database one connection"),
    pytest.mark.django_db(transaction=True),
]


def lingering(model, keys, verb, **options):
    """A move whose transaction stays open for a while after it, so that the other one comes in between."""
    with transaction.atomic():
        moved = apply_transition(model, keys, verb, **options)
        time.sleep(0.02)
    return moved


@pytest.mark.parametrize("number", range(ROUNDS))
def test_bulks_in_opposite_order_move_every_claim_once(number):
    booking = a_booking()
    lines = [{"booking": booking, "quantity": "1", "price": "1.00"}]
    keys = [a_claim(lines, funding_status="Approved").pk for _ in range(30)]
    recount_budgets()
    one, other = call_at_once(
        lambda: apply_transition(Claim, keys, "claim"),
        lambda: apply_transition(Claim, reversed(keys), "claim"),
    )
    assert sorted(one.done + other.done) == sorted(keys)
    assert {each.message.partition(". ")[0] for each in one.refused + other.refused} == {
        "It is claimed from the agency"
    }
    assert StatusMove.objects.count() == len(keys)
    booking.refresh_from_db()
    assert Amounts(booking.claimed, booking.paid, booking.waiting) == Amounts(claimed=len(keys))


def test_bulks_about_the_same_budgets_wait_for_each_other():
    bookings = [a_booking() for _ in range(8)]
    lines = [{"booking": booking, "quantity": "1", "price": "1.00"} for booking in bookings]
    forth = [a_claim(lines, funding_status="Approved").pk for _ in range(5)]
    back = [a_claim(lines[::-1], funding_status="Approved").pk for _ in range(5)]
    for _ in range(ROUNDS):
        Claim.objects.update(funding_status="Approved")
        recount_budgets()
        one, other = call_at_once(
            lambda: apply_transition(Claim, forth, "claim"), lambda: apply_transition(Claim, back, "claim")
        )
        assert sorted(one.done + other.done) == sorted(forth + back)
        assert recount_budgets() == (0, 0, 0)


def test_of_an_approval_and_a_hold_one_is_refused_with_the_current_status():
    claim = a_claim()
    for _ in range(ROUNDS):
        for record in (claim, claim.provider_invoice):
            record.save()  # as it was before the trial
        StatusMove.objects.all().delete()
        approved, held = call_at_once(
            lambda: lingering(Claim, [claim.pk], "approve"),
            lambda: lingering(Claim, [claim.pk], "hold", reason="No dates"),
        )
        assert approved.done == [claim.pk]
        if held.done:  # it came first: what is on hold may be approved
            moves = StatusMove.objects.order_by("id").values_list("from_status", "to_status")
            assert list(moves) == [("AwaitingStaffApproval", "OnHold"), ("OnHold", "Approved")]
        else:
            assert [each.message for each in held.refused] == [
                "It is approved. Possible from there: withdraw approval, claim from the agency."
            ]


@pytest.mark.parametrize("number", range(ROUNDS))
@pytest.mark.parametrize("make", [a_claim, an_invoice])
def test_a_bill_is_resubmitted_by_one_of_two(make, number):
    bill = make(funding_status="PaymentProviderRejected")
    model = type(bill)
    answers = call_at_once(
        lambda: lingering(model, [bill.pk], "resubmit"),
        lambda: lingering(model, [bill.pk], "resubmit-gap"),
    )
    new = model.objects.get(resubmission_of=bill)
    (loser,) = (answer for answer in answers if not answer.done)
    assert [each.message for each in loser.refused] == [f"It was resubmitted as {new}: go on with that one."]
    assert model is not Claim or Claim.objects.get(takes_provider_invoice=True) == new


def a_paid_claim(amount):
    """A claim of 100.00, of which an amount was paid."""
    booking = a_booking()
    claim = a_claim(
        [{"booking": booking, "quantity": "1", "price": "100.00"}], funding_status="AgencyClaimed"
    )
    recount_budgets()
    name, amounts = ("pay", None) if amount == 100 else ("pay-in-part", {claim.pk: Decimal(amount)})
    assert apply_transition(Claim, [claim.pk], name, amounts=amounts).done
    return claim


@pytest.mark.parametrize("number", range(ROUNDS))
def test_money_is_not_taken_back_twice_by_two_at_once(number):
    claim = a_paid_claim(100)
    options = {"reason": "Debt 17", "amounts": {claim.pk: Decimal("60.00")}}
    answers = call_at_once(*[lambda: lingering(Claim, [claim.pk], "take-back", **options)] * 2)
    (loser,) = (answer for answer in answers if not answer.done)
    assert [each.message for each in loser.refused] == [
        "60.00 is more than the 40.00 that was paid of it itself."
    ]
    claim.refresh_from_db()
    assert (claim.amount_paid, claim.funding_status) == (40, "AgencyPartiallyPaid")
    assert (recount_budgets(), list(find_money_faults())) == ((0, 0, 0), [])


@pytest.mark.parametrize("number", range(ROUNDS))
def test_two_halves_that_are_taken_back_at_once_cancel_the_claim(number):
    claim = a_paid_claim(100)
    options = {"reason": "Debt 17", "amounts": {claim.pk: Decimal("50.00")}}
    answers = call_at_once(*[lambda: lingering(Claim, [claim.pk], "take-back", **options)] * 2)
    assert [answer.done for answer in answers] == [[claim.pk]] * 2
    claim.refresh_from_db()
    assert (claim.amount_paid, claim.funding_status) == (0, "PaymentProviderCancelled")
    assert (recount_budgets(), list(find_money_faults())) == ((0, 0, 0), [])


@pytest.mark.parametrize("number", range(ROUNDS))
@pytest.mark.parametrize("how", ["resubmit", "resubmit-gap"])
def test_money_is_not_taken_back_of_what_is_just_resubmitted(how, number):
    """Whichever comes first: the new claim took along what the old one has, or its gap."""
    claim = a_paid_claim(60)
    options = {"reason": "Debt 17", "amounts": {claim.pk: Decimal("10.00")}}
    made, taken = call_at_once(
        lambda: lingering(Claim, [claim.pk], how),
        lambda: lingering(Claim, [claim.pk], "take-back", **options),
    )
    new = Claim.objects.get(pk=made.resubmissions[claim.pk])
    left = Decimal("50.00") if taken.done else Decimal("60.00")
    assert new.outstanding == 100 - left
    if not taken.done:
        assert [each.message for each in taken.refused] == [
            f"It was resubmitted as {new}: go on with that one."
        ]
    assert (recount_budgets(), list(find_money_faults())) == ((0, 0, 0), [])


@pytest.mark.parametrize("number", range(ROUNDS))
@pytest.mark.parametrize("name", ["pay-further", "take-back"])
def test_a_resubmission_is_not_restored_beside_money_that_moves(name, number):
    claim = a_paid_claim(60)
    key = apply_transition(Claim, [claim.pk], "resubmit-gap").resubmissions[claim.pk]
    apply_transition(Claim, [key], "archive")
    options = {"reason": "Debt 17", "amounts": {claim.pk: Decimal("10.00")}}
    restored, moved = call_at_once(
        lambda: lingering(Claim, [key], "restore"),
        lambda: lingering(Claim, [claim.pk], name, **options),
    )
    assert bool(restored.done) != bool(moved.done)
    assert (recount_budgets(), list(find_money_faults())) == ((0, 0, 0), [])


def test_a_claim_is_not_approved_while_its_provider_invoice_is_being_put_on_hold():
    claim = a_claim()
    provider_invoice = claim.provider_invoice
    held = threading.Event()

    def hold():
        with transaction.atomic():
            locked = type(provider_invoice).objects.select_for_update().get(pk=provider_invoice.pk)
            held.set()
            time.sleep(0.3)
            locked.approval_status = "OnHoldByClient"
            locked.save()
        return True

    def approve():
        held.wait(20)
        return apply_transition(Claim, [claim.pk], "approve")

    _, approved = call_at_once(hold, approve)
    assert [each.message for each in approved.refused] == [
        f"Its provider invoice {provider_invoice.reference} is on hold by the client: release that first."
    ]


@pytest.mark.parametrize("number", range(ROUNDS))
def test_two_restored_claims_do_not_both_get_their_provider_invoice(number):
    one = a_claim()
    apply_transition(Claim, [one.pk], "archive")
    other = a_claim(provider_invoice=one.provider_invoice)
    apply_transition(Claim, [other.pk], "archive")
    answers = call_at_once(
        lambda: lingering(Claim, [one.pk], "restore"), lambda: lingering(Claim, [other.pk], "restore")
    )
    (loser,) = (answer for answer in answers if not answer.done)
    assert "is meanwhile claimed by" in loser.refused[0].message
    assert Claim.objects.filter(takes_provider_invoice=True, archive_date=None).count() == 1


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_recount_while_claims_move_loses_nothing(number):
    booking = a_booking()
    lines = [{"booking": booking, "quantity": "1", "price": "1.00"}]
    keys = [a_claim(lines).pk for _ in range(10)]
    recount_budgets()
    call_at_once(
        lambda: lingering(Claim, keys[:5], "archive"),
        recount_budgets,
        lambda: lingering(Claim, keys[5:], "archive"),
        recount_budgets,
    )
    assert recount_budgets() == (0, 0, 0)
    booking.refresh_from_db()
    assert booking.waiting == 0


def test_a_revision_and_an_approval_wait_for_each_other_in_one_order(monkeypatch):
    keys = submitted("claim", a_claim_body())
    slowly(monkeypatch, transitions, "lock_records")
    slowly(monkeypatch, update, "check_bills")
    draft = ClaimDraft({"due_date": JULY}, given=["due_date"], key=keys[0])

    def revise():
        try:
            return update.update_claims([draft], ignore_warnings=True)
        except ValidationFailed:  # approved meanwhile: it is revised no more
            return []

    revised, approved = call_at_once(revise, lambda: apply_transition(Claim, keys, "approve"))
    assert approved.done == keys
    assert revised in (keys, [])


def slowly(monkeypatch, module, name):
    """Let something take its time before it begins."""
    function = getattr(module, name)

    def slow(*args):
        time.sleep(0.3)
        return function(*args)

    monkeypatch.setattr(module, name, slow)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_form_that_is_sent_twice_at_once_takes_money_back_once(number):
    claim = a_claim(funding_status="AgencyClaimed")
    apply_transition(Claim, [claim.pk], "pay")
    options = {"reason": "Debt", "amounts": {claim.pk: Decimal("0.01")}}
    before = {"paid_before": {claim.pk: Decimal("140.00")}}
    results = call_at_once(
        *[lambda: apply_transition(Claim, [claim.pk], "take-back", **options, **before)] * 3
    )
    assert sorted(len(each.refused) for each in results) == [0, 1, 1]
    assert Claim.objects.get(pk=claim.pk).amount_paid == Decimal("139.99")
