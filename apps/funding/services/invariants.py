"""Invariants of the money of claims and invoices, whatever happened to them; for ``./run verify``.

Nothing is put right here: which figure is the wrong one, somebody has to find out.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Model, QuerySet

from apps.base.batched_queries import AnyOf
from apps.base.errors import plural
from apps.base.money import ZERO
from apps.core.bulk_insert import in_batches
from apps.core.computed import MoneySum
from apps.funding.models import Bill, Claim, ClaimFile, Invoice, StatusMove, is_within
from apps.funding.services.payments import LINE_MODELS, LineAmounts, load_lines
from apps.funding.statuses import ENDED, RESUBMITTABLE, Phase, statuses_where
from apps.funding.validation.transitions import TRANSITIONS, TransitionName

#: Statuses before a bill is claimed.
NOT_CLAIMED = statuses_where(lambda row: row.phase in (Phase.ENTERED, Phase.APPROVED))
PAYING_TRANSITIONS = frozenset(row.name.value for row in TRANSITIONS if row.pays)
TAKING_TRANSITIONS = frozenset(row.name.value for row in TRANSITIONS if row.takes_back)


@dataclass(slots=True)
class BillMoney:
    """A bill with its lines and the original that it resubmits, and the entries of what was paid of it, or
    taken back.

    ``payments`` are the ``paid_lines`` of its own status history, ``earlier`` those of its original's: of its
    own lines, and of other resubmissions' lines.
    """

    bill: Claim | Invoice
    lines: Sequence[LineAmounts]
    original: Claim | Invoice | None = None
    payments: list[Mapping[str, str] | None] = field(default_factory=list)
    earlier: list[Mapping[str, str] | None] = field(default_factory=list)


def find_money_faults() -> Iterator[str]:
    """Faults in the money of claims and invoices: a line for each, with the record and the figures."""
    for model in LINE_MODELS:
        all_keys = model._default_manager.order_by("pk").values_list("pk", flat=True)
        for keys in in_batches(all_keys.iterator()):
            for each in load_money(model, keys):
                kind = model._meta.verbose_name
                yield from (f"{kind} {each.bill}, {fault}" for fault in faults_of(each))


@transaction.atomic
def load_money(model: type[Claim] | type[Invoice], keys: Sequence[UUID]) -> list[BillMoney]:
    """Bills, locked while what belongs to them is read; the number of statements is constant."""
    names = ("funding_status", "archive_date", "total", "amount_paid", "paid_earlier", "resubmission_of")
    rows = model._default_manager.filter(AnyOf("guid", keys)).order_by("pk").select_for_update(of=("self",))
    bills = {bill.pk: bill for bill in rows.only(f"{model._meta.model_name}_number", *names)}
    lines = load_lines(model, bills)
    originals = model._default_manager.in_bulk({bill.resubmission_of_id for bill in bills.values()} - {None})
    found = {
        key: BillMoney(bill, lines.get(key, ()), originals.get(bill.resubmission_of_id))
        for key, bill in bills.items()
    }
    resubmissions: dict[UUID | None, list[BillMoney]] = defaultdict(list)
    for each in found.values():
        resubmissions[each.bill.resubmission_of_id].append(each)
    for key, transition, paid_lines in load_entries(model, {*bills, *originals}):
        if transition == TransitionName.RESUBMIT:
            for each in resubmissions[key]:
                each.earlier.append(paid_lines)
        elif key in found:
            found[key].payments.append(paid_lines)
    return list(found.values())


def load_entries(
    model: type[Model], keys: Iterable[UUID]
) -> Iterator[tuple[UUID, str, Mapping[str, str] | None]]:
    """(bill, transition, amounts by line) of transitions that moved money, and of resubmissions in full.

    Cancellations that were confirmed before money could be taken back have no amounts: nothing was paid.
    """
    name = str(model._meta.model_name)
    names = (*PAYING_TRANSITIONS, *TAKING_TRANSITIONS, TransitionName.RESUBMIT)
    moves = StatusMove.objects.filter(AnyOf(name, keys), verb__in=names).order_by("id")
    for key, transition, paid_lines in moves.values_list(f"{name}_id", "verb", "paid_lines"):
        yield key, transition, paid_lines or {} if transition in TAKING_TRANSITIONS else paid_lines


# --- what must hold -------------------------------------------------------------------------------------


def faults_of(money: BillMoney) -> Iterator[str]:
    bill: Bill = money.bill
    for name, label, of_lines in (
        ("total", "total", (line.total for line in money.lines)),
        ("amount_paid", "paid", (line.paid for line in money.lines)),
    ):
        amount, total = getattr(bill, name), sum(of_lines, ZERO)
        if amount != total:
            yield f"{label}: {amount:,.2f}, its lines come to {total:,.2f}"
    for number, line in enumerate(money.lines, start=1):
        if not is_within(line.paid, line.total):
            yield f"line {number}: {line.paid:,.2f} paid of {line.total:,.2f}"
    yield from faults_of_resubmission(money)
    yield from faults_of_entries(money)


def faults_of_resubmission(money: BillMoney) -> Iterator[str]:
    """Check that what was paid of the original counts once: there, or with the bill that resubmits it."""
    bill, original = money.bill, money.original
    if bill.paid_itself and (bill.is_archived or bill.funding_status in ENDED):
        status = "archived" if bill.is_archived else bill.funding_status
        yield f"{status}, and {bill.paid_itself:,.2f} were paid of it"
    if bill.is_archived:
        return
    if bill.paid_earlier and (original is None or bill.paid_earlier != original.amount_paid):
        paid = ZERO if original is None else original.amount_paid
        yield f"paid earlier: {bill.paid_earlier:,.2f}, of what it resubmits {paid:,.2f} were paid"
    if original is not None and original.funding_status not in RESUBMITTABLE:
        yield f"resubmits {original}, which is {original.funding_status}: it may be paid twice"


def faults_of_entries(money: BillMoney) -> Iterator[str]:
    """Check that what is paid of each line is the sum of its entries, where all of them have amounts."""
    entries = money.payments + (money.earlier if money.bill.paid_earlier else [])
    if None in entries:
        return
    sums: dict[str, Decimal] = defaultdict(lambda: ZERO)
    for entry in entries:
        for key, amount in (entry or {}).items():
            sums[key] += Decimal(amount)
    for number, line in enumerate(money.lines, start=1):
        entered = sums[str(line.key)]
        if entered != line.paid:
            yield f"line {number}: {line.paid:,.2f} paid, the entries of its payments come to {entered:,.2f}"
    known = {str(line.key) for line in money.lines}
    lost = {key for entry in money.payments for key in entry or {}} - known
    for key in sorted(lost):
        yield f"{sums[key]:,.2f} were paid of the line {key}, which is gone"


# --- claim files ----------------------------------------------------------------------------------------


def find_claim_file_faults() -> Iterator[str]:
    """Claim files that are not what was made, and bills in them that are not claimed."""
    for file in ClaimFile.objects.order_by("number").iterator(chunk_size=10):
        yield from (f"claim file {file}, {fault}" for fault in faults_of_file(file))


def faults_of_file(file: ClaimFile) -> Iterator[str]:
    if hashlib.sha256(file.content).hexdigest() != (file.erased_sha256 or file.sha256):
        yield "its bytes are not those that were made: the SHA-256 differs"
    is_withdrawn = file.status == ClaimFile.Status.WITHDRAWN
    marked = file.lines.filter(is_withdrawn=not is_withdrawn).count()
    if marked:
        yield f"{marked:,} of its lines {'is' if marked == 1 else 'are'} marked otherwise than the file"
    lines = file.lines.aggregate(count=Count("pk"), total=MoneySum("amount"))
    if (lines["count"], lines["total"]) != (file.line_count, file.total):
        yield (
            f"{file.total:,.2f} in {plural(file.line_count, 'line')}, its lines come to"
            f" {lines['total'] or ZERO:,.2f} in {lines['count']:,}"
        )
    for model in () if is_withdrawn else LINE_MODELS:
        bills: QuerySet[Any] = model._default_manager.filter(file_lines__claim_file=file)
        for bill in bills.filter(funding_status__in=NOT_CLAIMED).distinct().order_by("pk"):
            yield f"{bill} is in it, and is {bill.funding_status}"
