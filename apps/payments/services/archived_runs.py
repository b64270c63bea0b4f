"""Payment runs whose rows are archived: what they paid out of claims stays known."""

from collections import defaultdict
from collections.abc import Collection
from decimal import Decimal
from uuid import UUID

from django.db.models import Max, QuerySet

from apps.base.batched_queries import AnyOf
from apps.base.money import ZERO, to_cents
from apps.core.bulk_insert import in_batches
from apps.core.computed import MoneySum
from apps.payments.choices import RunStatus
from apps.payments.models import PaymentRun, PaymentRunClaim, PaymentRunItem
from apps.payments.services.opening import store_paid_before
from apps.payments.services.runs import next_number

PAYEES_AT_ONCE = 100


def parts_of(runs: Collection[UUID]) -> QuerySet[PaymentRunClaim]:
    """The payments of runs, without what came back."""
    return PaymentRunClaim.objects.filter(AnyOf("item__run", runs), returned=False).order_by()


def sums_by_payee(runs: Collection[UUID]) -> dict[tuple[str, UUID], Decimal]:
    """The amounts paid out, by the column and key of the payee."""
    rows = parts_of(runs).values_list("item__client", "item__contact").annotate(sum=MoneySum("amount"))
    return {
        ("client_id", client) if client else ("contact_id", contact): to_cents(amount)
        for client, contact, amount in rows
    }


def claims_by_payee(
    runs: Collection[UUID], column: str, payees: Collection[UUID]
) -> dict[tuple[str, UUID], list[tuple[UUID, Decimal]]]:
    """The amounts paid out of each claim to some payees, but for those that come to nothing."""
    rows = parts_of(runs).filter(AnyOf(f"item__{column}", payees))
    sums = rows.values_list(f"item__{column}", "claim").annotate(sum=MoneySum("amount"))
    found: dict[tuple[str, UUID], list[tuple[UUID, Decimal]]] = defaultdict(list)
    for key, claim, amount in sums.order_by(f"item__{column}", "claim"):
        if amount:
            found[column, key].append((claim, to_cents(amount)))
    return found


def runs_without_totals(runs: Collection[UUID]) -> tuple[str, set[UUID]]:
    """Runs among these that cannot be archived together, and why.

    A payee's payments must come to something once what came back is left out and what was set off is taken
    off: a payment of nothing, or of less, cannot be kept.
    """
    found: set[UUID] = set()
    for (column, key), amount in sums_by_payee(runs).items():
        if amount <= 0 and claims_by_payee(runs, column, [key]):
            items = PaymentRunItem.objects.filter(**{column: key})
            found |= set(items.values_list("run", flat=True)) & set(runs)
    return "what is owed of it was set off, and the rest came back", found


def keep_totals(runs: Collection[UUID]) -> None:
    """Keep what runs paid out of each claim as paid before, before their rows are deleted.

    What is ready to be paid is what the agency paid of a claim less what the rows of runs have. Rows of the
    same amounts take the place of those that go, so nothing is ready again, and nothing that is kept of them
    (what was paid out of a claim) changes: it must not fall when this runs.
    """
    sums = {payee: amount for payee, amount in sums_by_payee(runs).items() if amount}
    if not sums:
        return
    last = PaymentRun.objects.filter(AnyOf("guid", runs)).aggregate(day=Max("day"))["day"]
    run = PaymentRun(number=next_number(), day=last, status=RunStatus.OPENING)
    run.total = sum(sums.values(), ZERO)
    run.save()
    stored = 0
    for column in ("client_id", "contact_id"):
        # Some payees at a time: one may have thousands of claims.
        for payees in in_batches(sorted(key for each, key in sums if each == column), PAYEES_AT_ONCE):
            stored += store_paid_before(run, claims_by_payee(runs, column, payees), stored + 1)
