"""What cannot be right about the money of claims and invoices is named (services/invariants.py)."""

from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from apps.base import clock
from apps.funding.models import Claim, ClaimLine, Invoice, StatusMove
from apps.funding.services.invariants import find_money_faults
from apps.funding.services.transitions import apply_transition
from tests.funding.builders import a_claim, an_invoice

pytestmark = pytest.mark.django_db

HALF = Decimal("70.00")


def a_paid_claim(number="C-1"):
    """A claim of two lines of 140.00, of which 70.00 were paid; recorded as transitions record it."""
    claim = a_claim(2, claim_number=number, funding_status="AgencyClaimed")
    apply_transition(Claim, [claim.pk], "pay-in-part", amounts={claim.pk: HALF})
    return claim


def resubmission_of(claim, verb="resubmit"):
    return Claim.objects.get(pk=apply_transition(Claim, [claim.pk], verb).resubmissions[claim.pk])


def paid_line(claim):
    return ClaimLine.objects.filter(claim=claim, position=0)


def test_what_transitions_do_has_no_fault():
    for verb in ("resubmit", "resubmit-gap"):
        claim = a_paid_claim(verb)
        second = resubmission_of(claim, verb)
        for name in ("approve", "claim", "pay"):
            assert apply_transition(Claim, [second.pk], name).done
    archived = resubmission_of(a_paid_claim("C-3"))
    apply_transition(Claim, [archived.pk], "archive")
    apply_transition(Claim, [archived.resubmission_of_id], "write-off", reason="Given up")
    credit = {"is_credit_item": True}
    invoice = an_invoice([{}, {}, credit], funding_status="Sent", invoice_claim_type="InvoiceToClient")
    apply_transition(Invoice, [invoice.pk], "pay")
    assert list(find_money_faults()) == []


def test_a_payment_says_what_it_paid_of_each_line():
    claim = a_paid_claim()
    first, second = claim.line_items.order_by("position")
    apply_transition(Claim, [claim.pk], "pay-the-rest")
    moves = dict(StatusMove.objects.values_list("verb", "paid_lines"))
    assert moves == {
        "pay-in-part": {str(first.pk): "70.00"},
        "pay-the-rest": {str(first.pk): "70.00", str(second.pk): "140.00"},
    }


def test_a_resubmission_in_full_says_what_its_lines_were_paid_before():
    claim = a_paid_claim()
    first, _ = resubmission_of(claim).line_items.order_by("position")
    assert StatusMove.objects.get(verb="resubmit").paid_lines == {str(first.pk): "70.00"}


def test_more_paid_than_a_line_comes_to():
    claim = a_paid_claim()
    paid_line(claim).update(total=Decimal("0.10"))
    Claim.objects.update(total=Decimal("140.10"))
    assert list(find_money_faults()) == ["claim C-1, line 1: 70.00 paid of 0.10"]


def test_sums_that_are_not_those_of_the_lines():
    a_paid_claim()
    Claim.objects.update(total=Decimal("281.00"), amount_paid=Decimal("7000.00"))
    assert list(find_money_faults()) == [
        "claim C-1, total: 281.00, its lines come to 280.00",
        "claim C-1, paid: 7,000.00, its lines come to 70.00",
    ]


def test_money_without_an_entry_of_its_payment():
    claim = a_paid_claim()
    paid_line(claim).update(amount_paid=Decimal("15.00"))
    Claim.objects.update(amount_paid=Decimal("15.00"))
    fault = "claim C-1, line 1: 15.00 paid, the entries of its payments come to 70.00"
    assert list(find_money_faults()) == [fault]


def test_a_line_that_was_paid_and_is_gone():
    claim = a_paid_claim()
    (key,) = paid_line(claim).values_list("pk", flat=True)
    paid_line(claim).delete()
    Claim.objects.update(total=Decimal("140.00"), amount_paid=Decimal("0.00"))
    assert list(find_money_faults()) == [f"claim C-1, 70.00 were paid of the line {key}, which is gone"]


def test_money_that_counts_twice():
    claim = a_paid_claim()
    second = resubmission_of(claim, "resubmit-gap")
    Claim.objects.filter(pk=claim.pk).update(funding_status="AgencyFullyPaid")
    assert list(find_money_faults()) == [
        f"claim {second}, resubmits C-1, which is AgencyFullyPaid: it may be paid twice"
    ]


def test_money_paid_earlier_that_the_original_has_not():
    claim = a_paid_claim()
    second = resubmission_of(claim)
    Claim.objects.filter(pk=second.pk).update(paid_earlier=Decimal("60.00"))
    assert list(find_money_faults()) == [
        f"claim {second}, paid earlier: 60.00, of what it resubmits 70.00 were paid"
    ]


def test_an_archived_bill_with_money_of_its_own():
    a_paid_claim()
    Claim.objects.update(archive_date=clock.now())
    assert list(find_money_faults()) == ["claim C-1, archived, and 70.00 were paid of it"]


@pytest.mark.parametrize("status", ["PaymentProviderCancelled", "PaymentProviderRejected"])
def test_a_bill_that_nothing_can_be_paid_of_with_money_of_its_own(status):
    a_paid_claim()
    Claim.objects.update(funding_status=status)
    assert list(find_money_faults()) == [f"claim C-1, {status}, and 70.00 were paid of it"]


def test_money_that_was_taken_back_without_an_entry():
    claim = a_paid_claim()
    apply_transition(Claim, [claim.pk], "take-back", reason="Debt", amounts={claim.pk: Decimal("30.00")})
    assert list(find_money_faults()) == []
    StatusMove.objects.filter(verb="take-back").update(paid_lines={})
    fault = "claim C-1, line 1: 40.00 paid, the entries of its payments come to 70.00"
    assert list(find_money_faults()) == [fault]


def test_a_cancellation_from_before_money_was_taken_back_took_nothing():
    claim = a_paid_claim()
    second = resubmission_of(claim, "resubmit-gap")
    for name in ("approve", "claim", "ask-to-cancel", "confirm-cancellation"):
        assert apply_transition(Claim, [second.pk], name, reason="Because").done
    StatusMove.objects.filter(verb="confirm-cancellation").update(paid_lines=None)
    assert list(find_money_faults()) == []
    paid_line(second).update(amount_paid=Decimal("1.00"))
    Claim.objects.filter(pk=second.pk).update(amount_paid=Decimal("1.00"))
    assert f"claim {second}, line 1: 1.00 paid, the entries of its payments come to 0.00" in list(
        find_money_faults()
    )


def test_payments_from_before_amounts_were_kept_are_not_judged():
    claim = a_paid_claim()
    StatusMove.objects.update(paid_lines=None)
    assert list(find_money_faults()) == []
    paid_line(claim).update(amount_paid=Decimal("150.00"))
    Claim.objects.update(amount_paid=Decimal("150.00"))
    assert list(find_money_faults()) == ["claim C-1, line 1: 150.00 paid of 140.00"]


def test_the_recount_names_them_and_fails():
    a_paid_claim()
    Claim.objects.update(total=Decimal("281.00"))
    out = StringIO()
    with pytest.raises(CommandError) as error:
        call_command("recount_budgets", stdout=out)
    assert str(error.value).splitlines() == [
        "claim C-1, total: 281.00, its lines come to 280.00",
        "Claims and invoices: 1 fault.",
    ]
    assert out.getvalue().startswith("Every budget agrees")


def test_many_bills_take_the_same_statements(django_assert_num_queries):
    for number in (1, 4):
        for _ in range(number):
            resubmission_of(a_paid_claim(f"C-{Claim.objects.count()}"))
        with django_assert_num_queries(8):
            assert list(find_money_faults()) == []
