"""Many claims moved at once take as many statements as two."""

from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base import clock
from apps.core.models import Subscriber
from apps.funding.models import Claim
from apps.funding.services.transitions import apply_transition
from tests.engagements.builders import a_booking
from tests.funding.builders import a_claim, an_entry

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("verb", "columns"),
    [
        ("hold", {}),
        ("approve", {}),
        ("claim", {"funding_status": "Approved"}),
        ("confirm-cancellation", {"funding_status": "PaymentProviderCancellationRequested"}),
        ("refuse-cancellation", {"funding_status": "PaymentProviderCancellationRequested"}),
        ("refuse", {"funding_status": "AgencyClaimed"}),
        ("pay", {"funding_status": "AgencyClaimed"}),
        ("pay-in-part", {"funding_status": "AgencyClaimed"}),
        ("pay-further", {"funding_status": "AgencyPartiallyPaid"}),
        ("resubmit", {"funding_status": "PaymentProviderRejected"}),
        ("resubmit-gap", {"funding_status": "PaymentProviderRejected"}),
        ("archive", {}),
        ("restore", {"archive_date": True, "takes_provider_invoice": False}),
        ("release", {"funding_status": "Approved"}),  # refused, all of them
    ],
)
def test_statements_are_constant_in_the_number_of_claims(verb, columns):
    if "archive_date" in columns:
        columns = {**columns, "archive_date": clock.now()}
    # COPY takes one statement like INSERT, and one budget needs no lock before it: so two and more.
    Subscriber.current()  # read once in a few seconds
    few, many = statements(2, verb, columns), statements(5, verb, columns)
    assert len(few) == len(many) <= 22, "\n".join(query["sql"][:100] for query in many)


def statements(number, verb, columns):
    entry = an_entry()
    claims = [a_claim([line(entry), line(entry)], **columns) for _ in range(number)]
    amounts = (
        {claim.pk: Decimal("1.00") for claim in claims} if verb in ("pay-in-part", "pay-further") else None
    )
    with CaptureQueriesContext(connection) as seen:
        moved = apply_transition(
            Claim, [claim.pk for claim in claims], verb, reason="Because", amounts=amounts
        )
    assert len(moved.done) == (0 if verb == "release" else number)
    assert len(moved.done) + len(moved.refused) == number
    return seen.captured_queries


def line(entry):
    return {"entry": entry, "booking": a_booking(), "quantity": "1", "price": "10.00"}


def test_money_of_many_claims_is_taken_back_by_the_same_statements():
    few, many = confirmed_cancellations(2), confirmed_cancellations(5)
    assert len(few) == len(many) <= 22, "\n".join(query["sql"][:100] for query in many)


def confirmed_cancellations(number):
    """What it takes to confirm those of claims that resubmit an older one, half paid with each."""
    entry, keys = an_entry(), []
    for _ in range(number):
        claim = a_claim([line(entry), line(entry)], funding_status="AgencyClaimed")
        for verb, amount in (("pay-in-part", "7.00"), ("resubmit", None)):
            amounts = {claim.pk: Decimal(amount)} if amount else None
            result = apply_transition(Claim, [claim.pk], verb, amounts=amounts)
        key = result.resubmissions[claim.pk]
        for verb in ("approve", "claim", "pay", "ask-to-cancel"):
            assert apply_transition(Claim, [key], verb, reason="Because").done
        keys.append(key)
    with CaptureQueriesContext(connection) as seen:
        assert len(apply_transition(Claim, keys, "confirm-cancellation").done) == number
    assert set(Claim.objects.filter(pk__in=keys).values_list("amount_paid", flat=True)) == {Decimal("7.00")}
    return seen.captured_queries
