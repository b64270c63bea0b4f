"""Payments that came back: their claims are ready to be paid again, and their accounts are confirmed anew."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.errors import Refusal
from apps.base.retries import retry_on_conflict
from apps.payments.choices import RunStatus
from apps.payments.file_formats.bank_returns import ReturnedPayment
from apps.payments.models import BankAccount, PaymentRunClaim, PaymentRunItem
from apps.payments.services.accounts import end_confirmation
from apps.payments.services.runs import free_claims
from apps.people.models import Staff


@dataclass(slots=True)
class ReturnsReport:
    """The payments that came back now, that had come back before, and rows that are none of ours.

    ``doubtful``: payments that did not come back, while an equal one is known to.
    """

    returned: list[PaymentRunItem] = field(default_factory=list)
    already: list[ReturnedPayment] = field(default_factory=list)
    doubtful: list[PaymentRunItem] = field(default_factory=list)
    unknown: list[ReturnedPayment] = field(default_factory=list)


@retry_on_conflict
def apply_returns(rows: Sequence[ReturnedPayment], staff: Staff | None) -> ReturnsReport:
    """Mark what came back by a bank's file; a file that is read again, or twice at once, changes nothing.

    Of equal payments a row tells of one that came back already, where no other row tells of it: a claim that
    was paid again in the same way does not come back by the file of the first time.
    """
    report = ReturnsReport()
    # Whoever reads the same file at the same moment waits here, and finds what is marked by then.
    numbers = {row.number for row in rows}
    possible = PaymentRunItem.objects.filter(AnyOf("account__account_number", numbers)).order_by("pk")
    list(possible.select_for_update(of=("self",)).values_list("pk", flat=True))
    matched: set[int] = set()
    for row in rows:
        equal = equal_payments(row)
        item = next((each for each in equal if each.pk not in matched), None)
        if item is None or item.returned_at is not None:
            (report.already if equal else report.unknown).append(row)
        else:
            mark_returned(item.pk, row.reason, staff)
            report.returned.append(item)
        matched.update([item.pk] if item else ())
    for row in report.already:
        equal = equal_payments(row)
        report.doubtful += [each for each in equal if each.returned_at is None][:1]
    return report


def equal_payments(row: ReturnedPayment) -> list[PaymentRunItem]:
    """The released payments that a row may tell of, those that came back first, then the latest.

    A payment is known by its account, amount and reference, and among several by its day.
    """
    items = PaymentRunItem.objects.filter(
        run__status=RunStatus.RELEASED,
        account__bsb=row.bsb,
        account__account_number=row.number,
        amount=row.amount,
        reference=row.reference,
    ).select_related("run", "client", "contact")
    found = sorted(items.order_by("-run__number", "-position"), key=lambda item: item.returned_at is None)
    return [item for item in found if item.run.day.day == row.day] or found


def return_sentences(report: ReturnsReport) -> Iterator[str]:
    """The outcome of each row, without the numbers of accounts."""
    for item in report.returned:
        yield f"{item.run}: {item.amount:,.2f} to {item.payee} came back."
    for item in report.doubtful:
        yield (
            f"{item.run}: an equal payment of {item.amount:,.2f} to {item.payee} came back before. "
            "If this one came back as well, mark it on the page of its run."
        )
    for row in report.unknown:
        yield f"{row.amount:,.2f} with the reference {row.reference} ({row.reason}) is no payment made here."


@transaction.atomic
def mark_returned(key: int, reason: str, staff: Staff | None) -> PaymentRunItem:
    """A payment of a released run came back: its claims are ready again, its account is not confirmed."""
    item = PaymentRunItem.objects.select_for_update(of=("self",)).select_related("run").get(pk=key)
    if item.run.status != RunStatus.RELEASED:
        raise Refusal("Only a payment of a released run can come back.")
    if item.returned_at is not None:
        raise Refusal("It has come back already.")
    item.returned_at, item.return_reason, item.returned_by = clock.now(), reason[:200], staff
    item.save(update_fields=["returned_at", "return_reason", "returned_by"])
    if item.account_id is not None:  # of a payee who was erased it is gone
        account = BankAccount.objects.select_for_update(of=("self",)).get(pk=item.account_id)
        end_confirmation(account, f"A payment of {item.run} came back: {reason}.")
    free_claims(PaymentRunClaim.objects.filter(item=item))
    return item
