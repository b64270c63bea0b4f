"""The beginning of payment runs: what was paid out before they were kept here."""

from itertools import count

from django.db import transaction

from apps.base import clock
from apps.payments.choices import RunStatus
from apps.payments.models import ZERO, PaymentRun, PaymentRunClaim, PaymentRunItem
from apps.payments.services.ready import load_ready
from apps.payments.services.runs import RunRefused, lock_claims, next_number, open_claims
from apps.people.models import Staff


@transaction.atomic
def record_paid_before(staff: Staff | None) -> PaymentRun:
    """Count all that the agency has paid so far as paid out, without files; once, before the first run.

    Raises ``RunRefused`` when there are runs already, or when nothing was paid.
    """
    if PaymentRun.objects.exists():
        raise RunRefused("Payment runs are kept already: what was paid before stands as it is.")
    lock_claims(open_claims().values_list("pk", flat=True))
    run = PaymentRun(number=next_number(), day=clock.today(), made_by=staff)
    payees = [payee for payee in load_ready() if payee.claims]
    run.total = sum((payee.amount for payee in payees), ZERO)
    if not run.total:
        raise RunRefused("Nothing was paid so far: the first payment run begins with nothing.")
    run.status = RunStatus.OPENING
    run.save()
    numbers = count(1)
    items, rows = [], []
    for payee in payees:
        # Somebody was paid, even where nobody is named now: the participant stands for them.
        owner = (
            {f"{payee.payee.kind}_id": payee.payee.key}
            if payee.payee.key
            else {"contact": payee.claims[0].claim.contact}
        )
        item = PaymentRunItem(
            run=run, position=next(numbers), amount=payee.amount, reference="PAID BEFORE", **owner
        )
        items.append(item)
        rows += [PaymentRunClaim(item=item, claim=each.claim, amount=each.amount) for each in payee.claims]
    PaymentRunItem.objects.bulk_create(items, batch_size=1000)
    PaymentRunClaim.objects.bulk_create(rows, batch_size=1000)
    return run
