"""Invariants of accounts exports: their files, sums and events agree; for ``./run verify``."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from uuid import UUID

from apps.base.money import ZERO
from apps.core.computed import MoneySum
from apps.payments.choices import EntryKind
from apps.payments.file_formats.accounts_forms import FORMS
from apps.payments.file_formats.journals import net_by_account
from apps.payments.file_formats.xero_bills import total_of_bills
from apps.payments.models import AccountsEntry, AccountsExport, AccountsFile, BankFile


def find_accounts_faults() -> Iterator[str]:
    """Faults of accounts exports: a line for each, with the record and the figures."""
    sums: dict[UUID, dict[str, Decimal]] = defaultdict(lambda: defaultdict(lambda: ZERO))
    rows = AccountsEntry.objects.order_by().values_list("export", "kind")
    for export, kind, amount in rows.annotate(sum=MoneySum("amount")):
        sums[export][kind] = amount
    for each in AccountsExport.objects.order_by("number"):
        yield from find_wrong_columns(each, sums[each.pk])
        yield from find_wrong_files(each)
    yield from find_wrong_runs()
    yield from find_wrong_events()


def find_wrong_columns(export: AccountsExport, sums: dict[str, Decimal]) -> Iterator[str]:
    """Sums of an export that are not those of its entries."""
    fee, fee_back = sums[EntryKind.FEE], sums[EntryKind.FEE_TAKEN_BACK]
    expected = {
        "received": sums[EntryKind.RECEIVED] + fee,
        "taken_back": sums[EntryKind.TAKEN_BACK] + fee_back,
        "own_fee": fee - fee_back,
        "paid_out": sums[EntryKind.PAID],
        "returned": sums[EntryKind.RETURNED],
    }
    for column, amount in expected.items():
        own = getattr(export, column)
        if own != amount:
            yield f"{export}: {column} is {own:,.2f}, its entries come to {amount:,.2f}"


def find_wrong_files(export: AccountsExport) -> Iterator[str]:
    """Files of an export that were changed, do not balance, or book other amounts than it says."""
    into_bank, bills = ZERO, ZERO
    form = FORMS[export.style]
    for file in AccountsFile.objects.filter(export=export).iterator(chunk_size=10):
        content = bytes(file.content)
        if hashlib.sha256(content).hexdigest() != file.sha256:
            yield f"{export}, {file}: it was changed: its SHA-256 differs"
            return
        journals = [] if file.is_bills else form.read(content)
        total = total_of_bills(content) if file.is_bills else sum((each.debits for each in journals), ZERO)
        bills += total if file.is_bills else ZERO
        if total != file.total:
            yield f"{export}, {file}: {file.total:,.2f}, its lines come to {total:,.2f}"
        for journal in journals:
            if difference := sum((line.amount for line in journal.lines), ZERO):
                yield f"{export}, {file}, {journal.narration}: {difference:,.2f} are left over"
            into_bank += net_by_account(journal.lines)[export.bank_code]
    paid = export.paid_out - export.returned
    if form.has_bills and bills != paid:
        yield f"{export}: {paid:,.2f} paid to payees, its bills come to {bills:,.2f}"
    expected = export.received - export.taken_back - (ZERO if form.has_bills else paid)
    if into_bank != expected:
        yield f"{export}: {expected:,.2f} into the bank, its journals come to {into_bank:,.2f}"


def find_wrong_runs() -> Iterator[str]:
    """Payment runs of which another amount was exported than their files for the bank pay."""
    entries = AccountsEntry.objects.filter(kind=EntryKind.PAID).exclude(item=None).order_by()
    exported = entries.values_list("item__run", "item__run__number").annotate(sum=MoneySum("amount"))
    files = dict(BankFile.objects.order_by().values_list("run").annotate(sum=MoneySum("total")))
    for run, number, amount in exported:
        if files.get(run, ZERO) != amount:
            yield (
                f"payment run {number}: its files for the bank come to {files.get(run, ZERO):,.2f},"
                f" {amount:,.2f} were exported"
            )


def find_wrong_events() -> Iterator[str]:
    """Entries with another amount than their event has, and returns of what did not come back."""
    of_moves = AccountsEntry.objects.exclude(move=None).select_related("export", "move")
    for entry in of_moves.iterator(chunk_size=2_000):
        assert entry.move is not None
        if abs(entry.move.money_moved) != entry.amount:
            yield f"{entry.export}: {entry}, the bill's history has {entry.move.money_moved:,.2f}"
    of_items = AccountsEntry.objects.exclude(item=None).select_related("export", "item")
    for entry in of_items.iterator(chunk_size=2_000):
        assert entry.item is not None
        if entry.item.amount != entry.amount:
            yield f"{entry.export}: {entry}, the payment of its run is {entry.item.amount:,.2f}"
        if entry.kind == EntryKind.RETURNED and entry.item.returned_at is None:
            yield f"{entry.export}: {entry}, the payment did not come back"
