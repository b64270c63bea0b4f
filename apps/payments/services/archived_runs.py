"""Payment runs whose rows are archived: what they paid out of claims stays known."""

from collections import defaultdict
from collections.abc import Collection
from decimal import Decimal
from uuid import UUID

from django.db.models import Max

from apps.base.batched_queries import AnyOf
from apps.core.bulk_insert import in_batches
from apps.core.computed import MoneySum
from apps.funding.models import to_cents
from apps.payments.choices import RunStatus
from apps.payments.models import ZERO, PaymentRun, PaymentRunClaim, PaymentRunItem
from apps.payments.services.opening import store_paid_before
from apps.payments.services.runs import next_number


def paid_out_by_payee(runs: Collection[UUID]) -> dict[tuple[str, UUID], dict[UUID, Decimal]]:
    """The amounts paid out of each claim, by the column and key of the payee; without what came back."""
    parts: dict[tuple[str, UUID], dict[UUID, Decimal]] = defaultdict(lambda: defaultdict(lambda: ZERO))
    for batch in in_batches(sorted(runs)):
        rows = PaymentRunClaim.objects.filter(item__run__in=batch, returned=False).order_by()
        sums = rows.values_list("item__client", "item__contact", "claim").annotate(sum=MoneySum("amount"))
        for client, contact, claim, amount in sums:
            parts["client_id" if client else "contact_id", client or contact][claim] += to_cents(amount)
    nonzero = {
        payee: {claim: amount for claim, amount in claims.items() if amount}
        for payee, claims in parts.items()
    }
    return {payee: claims for payee, claims in nonzero.items() if claims}


def runs_without_totals(runs: Collection[UUID]) -> tuple[str, set[UUID]]:
    """Runs among these that cannot be archived together, and why.

    A payee's payments must come to something once what came back is left out and what was set off is taken
    off: a payment of nothing, or of less, cannot be kept.
    """
    found: set[UUID] = set()
    for (column, key), claims in paid_out_by_payee(runs).items():
        if sum(claims.values(), ZERO) <= 0:
            items = PaymentRunItem.objects.filter(**{column: key})
            found |= set(items.values_list("run", flat=True)) & set(runs)
    return "what is owed of it was set off, and the rest came back", found


def keep_totals(runs: Collection[UUID]) -> None:
    """Keep what runs paid out of each claim as paid before, before their rows are deleted.

    What is ready to be paid is what the agency paid of a claim less what the rows of runs have. Rows of the
    same amounts take the place of those that go, so nothing is ready again, and nothing that is kept of them
    (what was paid out of a claim) changes: it must not fall when this runs.
    """
    parts = paid_out_by_payee(runs)
    if not parts:
        return
    last = PaymentRun.objects.filter(AnyOf("guid", runs)).aggregate(day=Max("day"))["day"]
    run = PaymentRun(number=next_number(), day=last, status=RunStatus.OPENING)
    store_paid_before(run, {payee: list(claims.items()) for payee, claims in parts.items()})
