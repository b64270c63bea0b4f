"""Whatever happens to claims and invoices in whatever order: budgets, sums and provider invoices agree."""

from decimal import Decimal

import pytest
from django.db import transaction
from django.db.models import Sum
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.base.money import ZERO
from apps.core.models import Subscriber
from apps.engagements.models import CategoryBudget, ServiceBooking
from apps.funding.models import Claim, Invoice, StatusMove
from apps.funding.services.effects import recount_budgets
from apps.funding.services.transitions import apply_transition, list_transitions
from apps.funding.statuses import RESUBMITTABLE
from apps.funding.validation.transitions import TransitionName
from tests.engagements.builders import a_booking, a_category_budget
from tests.funding.builders import a_claim, an_invoice

CENT = Decimal("0.01")

#: Which bill, which of the verbs that it may take (or any, now and then), how much of it is paid.
steps = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 99), st.booleans() | st.just(True), st.integers(1, 99)),
    min_size=4,
    max_size=16,
)


@pytest.fixture
def with_a_payment_provider(db):
    Subscriber.objects.update_or_create(pk=1, defaults={"payment_provider_module": True})
    Subscriber.clear_cache()


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(start=st.sampled_from(["new", "resubmitted", "refused again"]), walk=steps)
def test_whatever_happens_everything_agrees(with_a_payment_provider, start, walk):
    with transaction.atomic():
        bills = STARTS[start]()
        recount_budgets()
        for step in walk:
            bills += take(step, bills)
            assert recount_budgets() == (0, 0, 0)
            sums_agree(bills)
            no_provider_invoice_is_lost()
        transaction.set_rollback(True)


def new_ones():
    booking, category = a_booking(), a_category_budget()
    lines = [
        {"booking": booking, "quantity": "3", "price": "33.3333"},
        {"category_budget": category, "quantity": "0.5", "price": "20.01"},
    ]
    credit = {"booking": booking, "quantity": "1", "price": "7.77", "is_credit_item": True}
    return [
        a_claim(lines, funding_status="AgencyClaimed"),
        an_invoice([*lines, credit], invoice_claim_type="InvoiceToClient"),
    ]


def resubmitted_ones():
    """A claim that was paid in part, and what its gap was resubmitted as."""
    line = {"booking": a_booking(), "quantity": "3", "price": "33.3333"}
    old = a_claim([line], funding_status="AgencyClaimed")
    apply_transition(Claim, [old.pk], "pay-in-part", amounts={old.pk: Decimal("40.01")})
    made = apply_transition(Claim, [old.pk], "resubmit-gap").resubmissions
    return [old, Claim.objects.get(pk=made[old.pk])]


def refused_again():
    """A claim that was paid in part, resubmitted in full, refused, and resubmitted again."""
    old, gap = resubmitted_ones()
    apply_transition(Claim, [gap.pk], "archive")
    second = apply_transition(Claim, [old.pk], "resubmit").resubmissions[old.pk]
    for verb in ("approve", "submit", "reject"):
        apply_transition(Claim, [second], verb)
    third = apply_transition(Claim, [second], "resubmit").resubmissions[second]
    apply_transition(Claim, [third], "archive")
    return [Claim.objects.get(pk=key) for key in (second, third, old.pk)]


STARTS = {"new": new_ones, "resubmitted": resubmitted_ones, "refused again": refused_again}


def take(step, bills):
    """Take a step; the bills that it made."""
    which, verb_number, as_possible, percent = step
    bill = bills[which % len(bills)]
    bill.refresh_from_db()
    rows = list_transitions(bill)
    verbs = [row.name for row in rows] if as_possible and rows else list(TransitionName)
    verb = verbs[verb_number % len(verbs)]
    row = next((row for row in rows if row.name is verb), None)
    amounts = None
    if row is not None and row.asks_for_amount:
        # Of what was paid all may be taken back; what is outstanding is never paid in part.
        whole = bill.paid_itself if row.takes_back else bill.total - bill.amount_paid - CENT
        if not whole:
            return []
        amounts = {bill.pk: min(max((whole * percent / 100).quantize(CENT), CENT), whole)}
        if row.takes_back and percent > 70:
            amounts = {bill.pk: whole}
    before = StatusMove.objects.count()
    result = apply_transition(type(bill), [bill.pk], verb, reason="Because", amounts=amounts)
    assert bool(result.done) == (row is not None), (verb, bill, result)
    assert len(result.done) + len(result.refused) == 1
    assert StatusMove.objects.count() == before + len(result.done)
    return [type(bill).objects.get(pk=key) for key in result.resubmissions.values()]


def sums_agree(bills):
    for bill in bills:
        bill.refresh_from_db()
        lines = bill.line_items.all()
        assert bill.total == sum(line.total for line in lines)
        assert bill.amount_paid == sum(line.amount_paid for line in lines)
        assert bill.paid_earlier <= bill.amount_paid <= bill.total
    for model in (ServiceBooking, CategoryBudget):
        sums = model.objects.aggregate(claimed=Sum("claimed"), paid=Sum("paid"), waiting=Sum("waiting"))
        sums = {name: (amount or ZERO).quantize(CENT) for name, amount in sums.items()}
        assert sums["claimed"] >= sums["paid"] >= 0
        # No dollar is claimed twice, however often something was resubmitted.
        assert sums["claimed"] + sums["waiting"] <= Decimal("200.00")


def no_provider_invoice_is_lost():
    """Each is taken by the youngest live claim on it, and by nobody when there is none."""
    for provider_invoice in {claim.provider_invoice_id for claim in Claim.objects.all()}:
        live = Claim.objects.filter(provider_invoice=provider_invoice, archive_date=None)
        ends = [claim for claim in live if not live.filter(resubmission_of=claim).exists()]
        takers = Claim.objects.filter(provider_invoice=provider_invoice, takes_provider_invoice=True)
        assert {claim.pk for claim in takers} == {claim.pk for claim in ends}
    for model in (Claim, Invoice):
        for bill in model.objects.filter(resubmission_of__isnull=False, archive_date=None):
            assert bill.resubmission_of.funding_status in RESUBMITTABLE
