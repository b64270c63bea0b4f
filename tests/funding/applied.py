"""Transitions of one bill, applied or refused, and what tests look at afterwards."""

from apps.core.models import Change
from apps.funding.models import StatusMove
from apps.funding.services.transitions import apply_transition


def moves(bill):
    name = bill._meta.model_name
    rows = StatusMove.objects.filter(**{name: bill}).order_by("id")
    return [(each.verb, each.from_status, each.to_status, each.reason) for each in rows]


def applied(bill, verb, **options):
    """The bill after a transition that must succeed."""
    result = apply_transition(type(bill), [bill.pk], verb, **options)
    assert result.done == [bill.pk], [each.message for each in result.refused]
    return fresh(bill)


def fresh(bill):
    return type(bill).objects.get(pk=bill.pk)


def refused(bill, verb, **options):
    """Why a bill was refused; it did not change."""
    before = fresh(bill).__dict__ | {"_state": None}
    history, lines = moves(bill), Change.objects.count()
    result = apply_transition(type(bill), [bill.pk], verb, **options)
    assert result.done == []
    assert fresh(bill).__dict__ | {"_state": None} == before
    assert (moves(bill), Change.objects.count()) == (history, lines)
    (refusal,) = result.refused
    assert (refusal.key, refusal.label) == (bill.pk, str(bill))
    return refusal.message


def resubmitted(bill, verb, **options):
    result = apply_transition(type(bill), [bill.pk], verb, **options)
    assert result.done == [bill.pk], [each.message for each in result.refused]
    return type(bill).objects.get(pk=result.resubmissions[bill.pk])


def paid_of_lines(bill):
    return [str(line.amount_paid) for line in bill.line_items.order_by("position")]


def priced(*prices, **columns):
    return [{"quantity": "1", "price": price, **columns} for price in prices]
