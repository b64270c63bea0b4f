"""The beginning of payment runs: what was paid out before they were kept here."""

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from uuid import UUID

from django.db import transaction

from apps.base import clock
from apps.base.errors import Refusal
from apps.base.money import ZERO
from apps.core.bulk_insert import in_batches
from apps.payments.choices import RunStatus
from apps.payments.models import PaymentRun, PaymentRunClaim, PaymentRunItem
from apps.payments.services.ready import load_ready, lock_claims, open_claims, update_paid_out
from apps.payments.services.runs import next_number
from apps.people.models import Staff


@transaction.atomic
def record_paid_before(staff: Staff | None, paid_until: dt.datetime | None = None) -> PaymentRun:
    """Count all that the agency has paid so far as paid out, without files; once, before the first run.

    ``paid_until``: of claims that were paid by then. Raises ``Refusal`` when there are runs already, or
    when nothing was paid.
    """
    paid = open_claims() if paid_until is None else open_claims().filter(payment_date__lte=paid_until)
    keys = list(paid.order_by("pk").values_list("pk", flat=True))
    lock_claims(keys)
    # Whoever makes the first run at the same moment has locked its claims until then.
    if PaymentRun.objects.exists():
        raise Refusal("Payment runs are kept already: what was paid before stands as it is.")
    parts = paid_parts(keys)
    run = PaymentRun(number=next_number(), day=clock.today(), made_by=staff, status=RunStatus.OPENING)
    if not parts:
        raise Refusal("Nothing was paid so far: the first payment run begins with nothing.")
    run.total = sum((amount for claims in parts.values() for _, amount in claims), ZERO)
    run.save()
    store_paid_before(run, parts)
    update_paid_out(keys)
    return run


def store_paid_before(
    run: PaymentRun,
    parts: Mapping[tuple[str, UUID], Sequence[tuple[UUID, Decimal]]],
    first_position: int = 1,
) -> int:
    """Store payments of a run by payee, without accounts; how many, from this position on."""
    items = [
        PaymentRunItem(
            run=run,
            position=position,
            amount=sum((each for _, each in claims), ZERO),
            reference="PAID BEFORE",
            **{column: key},
        )
        for position, ((column, key), claims) in enumerate(parts.items(), first_position)
    ]
    PaymentRunItem.objects.bulk_create(items, batch_size=1000)
    rows = (
        PaymentRunClaim(item=item, claim_id=claim, amount=amount)
        for item, claims in zip(items, parts.values(), strict=True)
        for claim, amount in claims
    )
    for batch in in_batches(rows):
        PaymentRunClaim.objects.bulk_create(batch)
    return len(items)


def paid_parts(keys: list[UUID]) -> dict[tuple[str, UUID], list[tuple[UUID, Decimal]]]:
    """The claims with their amounts by the column and key of their payee; few are in memory at a time."""
    parts: dict[tuple[str, UUID], list[tuple[UUID, Decimal]]] = defaultdict(list)
    for batch in in_batches(keys):
        for payee in load_ready(batch):
            for each in payee.claims:
                # Somebody was paid, even where nobody is named now: the participant stands for them.
                column = f"{payee.payee.kind}_id" if payee.payee.key else "contact_id"
                parts[column, payee.payee.key or each.claim.contact_id].append((each.claim.pk, each.amount))
    return parts
