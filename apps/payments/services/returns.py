"""Payments that came back: their claims are ready to be paid again, and their accounts are confirmed anew."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.retries import retry_on_conflict
from apps.payments.choices import RunStatus
from apps.payments.file_formats.bank_returns import ReturnedPayment
from apps.payments.models import BankAccount, PaymentRunClaim, PaymentRunItem
from apps.payments.services.runs import RunRefused, free_claims
from apps.people.models import Staff


@dataclass(slots=True)
class ReturnsReport:
    """The payments that came back now, that had come back before, and rows that are none of ours."""

    returned: list[PaymentRunItem] = field(default_factory=list)
    already: list[ReturnedPayment] = field(default_factory=list)
    unknown: list[ReturnedPayment] = field(default_factory=list)


@retry_on_conflict
def apply_returns(rows: Sequence[ReturnedPayment], staff: Staff | None) -> ReturnsReport:
    """Mark what came back by a bank's file; a file that is read again, or twice at once, changes nothing.

    A payment is known by its account, amount and reference; the latest of several alike came back first.
    """
    report = ReturnsReport()
    # Whoever reads the same file at the same moment waits here, and finds what is marked by then.
    numbers = {row.number for row in rows}
    possible = PaymentRunItem.objects.filter(AnyOf("account__account_number", numbers)).order_by("pk")
    list(possible.select_for_update(of=("self",)).values_list("pk", flat=True))
    released = PaymentRunItem.objects.filter(run__status=RunStatus.RELEASED).select_related(
        "run", "client", "contact"
    )
    for row in rows:
        alike = released.filter(
            account__bsb=row.bsb,
            account__account_number=row.number,
            amount=row.amount,
            reference=row.reference,
        )
        item = alike.filter(returned_at=None).order_by("-run__number", "-position").first()
        if item is None:
            (report.already if alike.exists() else report.unknown).append(row)
            continue
        mark_returned(item.pk, row.reason, staff)
        report.returned.append(item)
    return report


def return_sentences(report: ReturnsReport) -> Iterator[str]:
    """The outcome of each row, without the numbers of accounts."""
    for item in report.returned:
        yield f"{item.run}: {item.amount:,.2f} to {item.payee} came back."
    for row in report.unknown:
        yield f"{row.amount:,.2f} with the reference {row.reference} ({row.reason}) is no payment made here."


@transaction.atomic
def mark_returned(key: int, reason: str, staff: Staff | None) -> PaymentRunItem:
    """A payment of a released run came back: its claims are ready again, its account is not confirmed."""
    item = PaymentRunItem.objects.select_for_update(of=("self",)).select_related("run").get(pk=key)
    if item.run.status != RunStatus.RELEASED:
        raise RunRefused("Only a payment of a released run can come back.")
    if item.returned_at is not None:
        raise RunRefused("It has come back already.")
    item.returned_at, item.return_reason, item.returned_by = clock.now(), reason[:200], staff
    item.save(update_fields=["returned_at", "return_reason", "returned_by"])
    assert item.account_id is not None  # of a released run
    account = BankAccount.objects.select_for_update(of=("self",)).get(pk=item.account_id)
    account.confirmed_at = account.confirmed_by = account.confirmed_for = account.confirmation = None
    account.unconfirmed_because = f"A payment of {item.run} came back: {reason}."[:200]
    account.save()
    free_claims(PaymentRunClaim.objects.filter(item=item))
    return item
