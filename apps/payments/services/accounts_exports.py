"""Accounts exports: what the next one has, and making it.

Each event is booked once: whoever makes an export has locked the payment settings, and the database takes no
event into a second entry.
"""

import datetime as dt
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from uuid import UUID

from django.db import transaction
from django.db.models import Max

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.errors import Refusal
from apps.base.money import ZERO
from apps.base.retries import retry_on_conflict
from apps.core.bulk_insert import bulk_insert
from apps.payments.choices import EntryKind
from apps.payments.file_formats.accounts_forms import FORMS
from apps.payments.file_formats.journals import Journal, UnfitAccountsFile, split_journals
from apps.payments.file_formats.xero_bills import XeroBill, erase_from_bills, split_bills, write_xero_bills
from apps.payments.models import AccountsEntry, AccountsExport, AccountsFile, PaymentRunClaim, PaymentSettings
from apps.payments.services.accounts_journals import (
    Books,
    bill_mark,
    make_bills,
    make_journals,
    missing_codes,
    missing_settings,
)
from apps.payments.services.accounts_sources import AccountsSource, load_sources
from apps.people.models import Staff

ADD_PERMISSION = "payments.add_accountsexport"


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A file that an export will have."""

    name: str
    is_bills: bool
    content: bytes
    entry_count: int
    line_count: int
    total: Decimal


@dataclass(frozen=True)
class AccountsPlan:
    """The export that would be made now: its events, and what has to be entered before."""

    number: int
    until: dt.date
    books: Books
    missing: Sequence[str]
    missing_codes: Sequence[str]
    sources: Sequence[AccountsSource]

    @cached_property
    def journals(self) -> list[Journal]:
        return make_journals(self.books, self.sources, self.number)

    @cached_property
    def bills(self) -> list[XeroBill]:
        return make_bills(self.books, self.sources) if self.books.has_bills else []

    @property
    def problem(self) -> str | None:
        """Why it cannot be made, as a sentence; ``None`` when it can."""
        if self.missing:
            return f"Complete the payment settings first: {', '.join(self.missing)}."
        if not self.sources:
            return f"There is nothing new until {self.until:%d/%m/%Y}: all of it was exported."
        if self.missing_codes:
            return f"No account code fits: {'; '.join(self.missing_codes)}."
        return None

    def count(self, *kinds: EntryKind) -> int:
        return sum(each.kind in kinds for each in self.sources)

    def sum(self, *kinds: EntryKind) -> Decimal:
        return sum((each.amount for each in self.sources if each.kind in kinds), ZERO)

    @property
    def rows(self) -> list[tuple[str, int, Decimal]]:
        """The label, count and sum of each kind of events that there are."""
        found = [(str(kind.label), self.count(kind), self.sum(kind)) for kind in EntryKind]
        return [row for row in found if row[1]]

    @property
    def gst(self) -> Decimal:
        """GST of the own fee, less that of what was taken back."""
        signs = {EntryKind.FEE: 1, EntryKind.FEE_TAKEN_BACK: -1}
        return sum((each.gst * signs.get(each.kind, 0) for each in self.sources), ZERO)

    @property
    def mark(self) -> str:
        """The text by which whoever confirms a plan says which one: that of another plan differs."""
        keys = "".join(f"{each.kind}{each.move}{each.item}{each.amount}" for each in self.sources)
        return hashlib.sha256(keys.encode()).hexdigest()


# --- planning -------------------------------------------------------------------------------------------


def last_day_of_month_before(day: dt.date) -> dt.date:
    """The usual last day of an export."""
    return day.replace(day=1) - dt.timedelta(days=1)


def plan_accounts_export(until: dt.date) -> AccountsPlan:
    """The export of all that happened until a day and no export has; ``Refusal`` of a day to come."""
    if until > clock.today():
        raise Refusal("Choose a day that is not in the future.")
    books = Books.current()
    missing = missing_settings(books)
    first = books.settings.accounts_from
    sources = load_sources(first, until) if first is not None else []
    number = (AccountsExport.objects.aggregate(last=Max("number"))["last"] or 0) + 1
    return AccountsPlan(number, until, books, missing, missing_codes(books, sources), sources)


def write_files(plan: AccountsPlan) -> list[ExportFile]:
    """The files of a plan; ``Refusal`` for what the package cannot take."""
    form = FORMS[plan.books.settings.accounts_style]
    name = f"accounts-{plan.number}"
    try:
        files = [
            ExportFile(
                f"{name}-bills-{nth}.csv",
                True,
                write_xero_bills(bills),
                len(bills),
                sum(len(each.lines) for each in bills),
                sum((each.total for each in bills), ZERO),
            )
            for nth, bills in enumerate(split_bills(plan.bills), 1)
        ]
        files += [
            ExportFile(
                f"{name}-journals-{nth}.{form.suffix}",
                False,
                form.write(journals),
                len(journals),
                sum(len(each.lines) for each in journals),
                sum((each.debits for each in journals), ZERO),
            )
            for nth, journals in enumerate(split_journals(plan.journals, form.most_lines), 1)
        ]
    except UnfitAccountsFile as unfit:
        raise Refusal(str(unfit)) from None
    return files


# --- making ---------------------------------------------------------------------------------------------


@retry_on_conflict
def create_accounts_export(
    until: dt.date, staff: Staff | None = None, mark: str | None = None
) -> AccountsExport:
    """Make the export of the plan of this moment.

    ``mark``: of the plan that somebody confirmed. Raises ``Refusal`` when it is another one now, when
    nothing is new, when something is missing, or when the staff member may not.
    """
    if staff is not None and not staff.has_perm(ADD_PERMISSION):
        raise Refusal("Your role lacks the permission to make accounts exports.")
    # Of two people the second waits here, and finds nothing new.
    list(PaymentSettings.objects.select_for_update().values_list("pk"))
    plan = plan_accounts_export(until)
    if plan.problem:
        raise Refusal(plan.problem)
    if mark is not None and plan.mark != mark:
        raise Refusal("Something has changed since the page was made. This is what there is now.")
    files = write_files(plan)
    export = new_export(plan, staff)
    export.save()
    for position, file in enumerate(files, 1):
        AccountsFile.objects.create(
            export=export,
            position=position,
            file_name=file.name,
            is_bills=file.is_bills,
            content=file.content,
            sha256=hashlib.sha256(file.content).hexdigest(),
            entry_count=file.entry_count,
            line_count=file.line_count,
            total=file.total,
        )
    bulk_insert(
        AccountsEntry,
        ("export_id", "kind", "day", "amount", "gst", "move_id", "item_id"),
        [
            (export.pk, each.kind.value, each.day, each.amount, each.gst, each.move, each.item)
            for each in plan.sources
        ],
    )
    return export


def new_export(plan: AccountsPlan, staff: Staff | None) -> AccountsExport:
    """The record of a plan, not stored yet."""
    fee, fee_back = plan.sum(EntryKind.FEE), plan.sum(EntryKind.FEE_TAKEN_BACK)
    settings = plan.books.settings
    return AccountsExport(
        number=plan.number,
        until=plan.until,
        style=settings.accounts_style,
        bank_code=settings.bank_code,
        clearing_code=settings.clearing_code,
        made_by=staff,
        received=plan.sum(EntryKind.RECEIVED) + fee,
        taken_back=plan.sum(EntryKind.TAKEN_BACK) + fee_back,
        own_fee=fee - fee_back,
        gst=plan.gst,
        paid_out=plan.sum(EntryKind.PAID),
        returned=plan.sum(EntryKind.RETURNED),
    )


# --- erasure --------------------------------------------------------------------------------------------


def bills_files_of(parts: Iterable[int]) -> dict[AccountsFile, list[int]]:
    """The files with bills of these paid claims of runs, without their bytes; with the keys of those."""
    exports: dict[UUID, list[int]] = defaultdict(list)
    rows = PaymentRunClaim.objects.filter(AnyOf("pk", parts), item__accounts_entries__isnull=False)
    for key, export in rows.order_by("pk").values_list("pk", "item__accounts_entries__export").distinct():
        exports[export].append(key)
    files = AccountsFile.objects.filter(export__in=list(exports), is_bills=True).defer("content")
    return {file: exports[file.export_id] for file in files}


@transaction.atomic
def erase_bills(payees: Iterable[int], references: Iterable[int]) -> None:
    """Erase names and references in the bills of these paid claims of runs, and the references of others."""
    of_payees, of_references = set(payees), set(references)
    for file, keys in bills_files_of(of_payees | of_references).items():
        parts = PaymentRunClaim.objects.filter(AnyOf("pk", keys)).select_related("item__run")
        marks = {
            key: {bill_mark(part, is_back) for part in parts if part.pk in own for is_back in (False, True)}
            for key, own in (("payees", of_payees), ("references", of_references))
        }
        content = erase_from_bills(bytes(file.content), **marks)
        if content == bytes(file.content):
            continue
        file.content, file.erased_at = content, clock.now()
        file.sha256 = hashlib.sha256(content).hexdigest()
        file.save(update_fields=["content", "sha256", "erased_at"])
