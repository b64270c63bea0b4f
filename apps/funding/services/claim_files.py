"""Claim files: what the next ones hold, making, sending and withdrawing them.

A line is claimed once: its bill is locked and goes from approved to claimed together with its file, and the
database takes no line into a second file that is not withdrawn.
"""

import datetime as dt
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from stdnum.au import abn

from apps.base import clock
from apps.base.batched_queries import AnyOf, SqlStatement, fetch_all
from apps.base.errors import Refusal
from apps.base.money import ZERO
from apps.base.retries import retry_on_conflict
from apps.core.bulk_insert import bulk_insert
from apps.core.models import Subscriber
from apps.core.models.records import new_guid
from apps.funding.choices import BillPermission, InvoiceClaimType, MissingAbnReason
from apps.funding.file_formats.claim_file import (
    MAX_ROWS,
    ClaimRow,
    blank_scheme_numbers,
    write_claim_file,
)
from apps.funding.models import Claim, ClaimFile, ClaimFileLine, ClaimLine, ClaimWindow, Invoice, InvoiceLine
from apps.funding.services.create import ADVANCE_SEQUENCE
from apps.funding.services.effects import lock_provider_invoices
from apps.funding.services.transitions import apply_transition
from apps.funding.statuses import InvoiceStatus
from apps.funding.validation.claim_files import (
    REASONS,
    ClaimableBill,
    ClaimableLine,
    ClaimFileContext,
    LeftOutReason,
    fit_amount,
)
from apps.funding.validation.guards import AnyBill, lower_first
from apps.funding.validation.transitions import TransitionName
from apps.funding.validation.warnings import business_number_of
from apps.people.models import Client, Staff

#: The row of ``NumberSequence``.
SEQUENCE = "claim file"
#: Digits without the letters that are read as others. A database that was restored from an older backup gives
#: numbers again, so names and references have five of these besides: alike once in 33 million files.
DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
MARK_LENGTH = 5

LINE_MODELS: Mapping[type[AnyBill], type[ClaimLine | InvoiceLine]] = {Claim: ClaimLine, Invoice: InvoiceLine}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The bills that a reason keeps out, each with its sentences."""

    reason: LeftOutReason
    bills: Sequence[tuple[ClaimableBill, Sequence[str]]]

    @property
    def total(self) -> Decimal:
        return sum((bill.total for bill, _ in self.bills), ZERO)


@dataclass(frozen=True, slots=True)
class ClaimFilePlan:
    """The files that would be made now, and what is left out of them; a bill may have several reasons."""

    until: dt.date | None
    files: Sequence[Sequence[ClaimableBill]]
    left_out: Sequence[LeftOut]

    @property
    def bills(self) -> list[ClaimableBill]:
        return [bill for bills in self.files for bill in bills]

    @property
    def line_count(self) -> int:
        return sum(len(bill.lines) for bill in self.bills)

    @property
    def total(self) -> Decimal:
        return sum((bill.total for bill in self.bills), ZERO)

    @property
    def left_out_bills(self) -> list[ClaimableBill]:
        """Each once, whatever its reasons."""
        return list({bill.key: bill for group in self.left_out for bill, _ in group.bills}.values())

    @property
    def left_out_total(self) -> Decimal:
        return sum((bill.total for bill in self.left_out_bills), ZERO)

    @property
    def mark(self) -> str:
        """The text by which whoever confirms a plan says which one: that of another plan differs."""
        keys = "".join(f"{bill.key}{bill.total}{len(bill.lines)}" for bill in self.bills)
        return hashlib.sha256(keys.encode()).hexdigest()


# --- planning -------------------------------------------------------------------------------------------


def plan_claim_files(
    until: dt.date | None = None, keys: Mapping[type[AnyBill], Sequence[UUID]] | None = None
) -> ClaimFilePlan:
    """The files of today: approved claims and invoices to the agency that end by a day.

    ``keys``: of these bills alone.
    """
    settings = Subscriber.current()
    context = ClaimFileContext(settings.registration_number, clock.today(), ClaimWindow.current())
    included: list[ClaimableBill] = []
    left_out: dict[LeftOutReason, list[tuple[ClaimableBill, Sequence[str]]]] = {each: [] for each in REASONS}
    for bill in load_bills(until, keys, settings.business_number):
        found = {each: sentences for each in REASONS if (sentences := list(each.find(bill, context)))}
        for reason, sentences in found.items():
            left_out[reason].append((bill, sentences))
        if not found:
            included.append(bill)
    groups = [LeftOut(reason, bills) for reason, bills in left_out.items() if bills]
    return ClaimFilePlan(until, split_into_files(included), groups)


def split_into_files(bills: Iterable[ClaimableBill]) -> list[list[ClaimableBill]]:
    """The bills in their order, as many in each file as fit whole."""
    files: list[list[ClaimableBill]] = []
    free = 0
    for bill in bills:
        if len(bill.lines) > free:
            files.append([])
            free = MAX_ROWS
        files[-1].append(bill)
        free -= len(bill.lines)
    return files


def approved_bills(model: type[AnyBill], until: dt.date | None) -> QuerySet[Any]:
    found: QuerySet[Any] = model._default_manager.filter(
        funding_status=InvoiceStatus.APPROVED.value, archive_date=None
    )
    if model is Invoice:
        found = found.filter(invoice_claim_type=InvoiceClaimType.INVOICE_TO_AGENCY.value)
    return found if until is None else found.filter(end_date__lte=until)


def load_bills(
    until: dt.date | None, keys: Mapping[type[AnyBill], Sequence[UUID]] | None, own_number: str
) -> list[ClaimableBill]:
    """The approved bills by number, claims first, with their lines; the number of statements is constant."""
    found: dict[UUID, ClaimableBill] = {}
    for model in LINE_MODELS:
        records = approved_bills(model, until)
        if keys is not None:
            records = records.filter(AnyOf("pk", keys[model]))
        bills = {bill.key: bill for bill in map(read_bill_of(model, own_number), bill_rows(model, records))}
        attach_lines(model, records, bills)
        found |= bills
    return list(found.values())


def bill_rows(model: type[AnyBill], records: QuerySet[Any]) -> Iterable[tuple[Any, ...]]:
    number = f"{model._meta.model_name}_number"
    contact = ("contact__first_name", "contact__last_name", "contact__scheme_number")
    own = ("provider__business_number", "missing_abn_reason_code", "provider_invoice__approval_status")
    columns = ("pk", number, *contact, "total", "paid_earlier", *(own if model is Claim else ()))
    return records.order_by(number, "pk").values_list(*columns)


def read_bill_of(model: type[AnyBill], own_number: str) -> Callable[[tuple[Any, ...]], ClaimableBill]:
    def read(row: tuple[Any, ...]) -> ClaimableBill:
        key, number, first_name, last_name, scheme_number, total, paid_earlier, *of_claim = row
        business_number, exemption, approval_status = of_claim or (own_number, None, "")
        compact = abn.compact(business_number_of(Client(business_number=business_number)))
        # A number that was entered after the claim stands in the file: the provider is not excluded any more.
        exempt = exemption if exemption == MissingAbnReason.REIMBURSEMENT or not compact else None
        return ClaimableBill(
            model=model,
            key=key,
            number=number,
            participant=f"{first_name} {last_name}",
            total=total,
            scheme_number=scheme_number or "",
            abn=exempt or compact,
            is_exempt=exempt is not None,
            paid_earlier=paid_earlier,
            provider_invoice_status=approval_status,
        )

    return read


def attach_lines(model: type[AnyBill], records: QuerySet[Any], bills: Mapping[UUID, ClaimableBill]) -> None:
    """Give bills their lines, and the claim file that one of these is in."""
    name = str(model._meta.model_name)
    lines: QuerySet[Any] = LINE_MODELS[model]._default_manager.filter((f"{name}__in", records.order_by()))
    columns = (
        *(f"{name}_id", "pk", "first_day", "last_day", "product__code", "quantity", "price", "total"),
        *("product__unit", "product__type", "tax_choice", "claim_type", "cancellation_reason"),
    )
    for row in lines.order_by("position", "pk").values_list(*columns):
        bill, key, first_day, last_day, code, quantity, price, total, unit, item_type, *choices = row
        amount, misfit = fit_amount(quantity, price, total, unit, item_type)
        line = ClaimableLine(key, first_day, last_day, code, total, amount, misfit, *choices)
        bills[bill].lines.append(line)
    in_files = ClaimFileLine.objects.filter((f"{name}__in", records.order_by()), is_withdrawn=False)
    for key, file_name in in_files.order_by().values_list(f"{name}_id", "claim_file__file_name"):
        bills[key].claim_file = file_name


# --- making ---------------------------------------------------------------------------------------------


@retry_on_conflict
def create_claim_files(
    until: dt.date | None = None, staff: Staff | None = None, mark: str | None = None
) -> list[ClaimFile]:
    """Make the files of the plan of this moment and claim their bills; none when nothing can be claimed.

    ``mark``: of the plan that somebody confirmed. Raises ``Refusal`` when it is another one now, or
    when the staff member may not. Locks as transitions do: provider invoices, bills, numbers, budgets.
    """
    check_permission(staff)
    keys: dict[type[AnyBill], Sequence[UUID]] = {
        model: list(approved_bills(model, until).order_by().values_list("pk", flat=True))
        for model in LINE_MODELS
    }
    lock_provider_invoices(keys[Claim])
    for model, own in keys.items():
        lock(model, own)
    plan = plan_claim_files(until, keys)
    if mark is not None and plan.mark != mark:
        raise Refusal("Claims have changed since the page was made. This is what there is now.")
    if not plan.files:
        return []
    first = next_number(len(plan.files))
    files = [create_file(first + nth, bills, until, staff) for nth, bills in enumerate(plan.files)]
    for model in LINE_MODELS:
        apply_to_all(
            model, [bill.key for bill in plan.bills if bill.model is model], TransitionName.CLAIM, staff
        )
    return files


def lock(model: type[AnyBill], keys: Sequence[UUID]) -> None:
    rows = model._default_manager.filter(AnyOf("pk", keys)).order_by("pk")
    list(rows.select_for_update().values_list("pk"))


def next_number(count: int) -> int:
    """The first of so many numbers. Others wait until the transaction ends, so none is given twice."""
    [[(following,)]] = fetch_all(
        [SqlStatement(ADVANCE_SEQUENCE, [SEQUENCE, count, count], label="advance sequence")]
    )
    return int(following) - count


def file_mark(key: UUID) -> str:
    """Five digits that are the same for no other file, of the random ones of its key."""
    return "".join(DIGITS[key.int >> 5 * nth & 31] for nth in range(MARK_LENGTH))


def create_file(
    number: int, bills: Sequence[ClaimableBill], until: dt.date | None, staff: Staff | None
) -> ClaimFile:
    """Store a file of these bills with its lines, of which each has a reference of its own."""
    key = new_guid()
    name = f"C{number:07d}-{file_mark(key)}"
    pairs = [(bill, line) for bill in bills for line in bill.lines]
    references = [f"{name}-{position:04d}" for position in range(1, len(pairs) + 1)]
    registration_number = Subscriber.current().registration_number
    rows = [claim_row(*pair, reference) for pair, reference in zip(pairs, references, strict=True)]
    content = write_claim_file(registration_number, rows)
    file = ClaimFile(
        guid=key,
        number=number,
        file_name=f"{name}.csv",
        registration_number=registration_number,
        until=until,
        content=content,
        sha256=hashlib.sha256(content).hexdigest(),
        line_count=len(pairs),
        total=sum((line.total for _, line in pairs), ZERO),
        created_by=staff,
    )
    file.save()
    bulk_insert(
        ClaimFileLine,
        (
            *("claim_file_id", "position", "reference", "amount"),
            *("claim_id", "claim_line_id", "invoice_id", "invoice_line_id"),
        ),
        [
            (key, position, reference, line.total)
            + ((bill.key, line.key, None, None) if bill.model is Claim else (None, None, bill.key, line.key))
            for position, ((bill, line), reference) in enumerate(zip(pairs, references, strict=True), 1)
        ],
    )
    return file


def claim_row(bill: ClaimableBill, line: ClaimableLine, reference: str) -> ClaimRow:
    assert line.amount is not None
    return ClaimRow(
        scheme_number=bill.scheme_number,
        first_day=line.first_day,
        last_day=line.last_day,
        support_number=line.support_number,
        reference=reference,
        amount=line.amount,
        tax_choice=line.tax_choice,
        claim_type=line.claim_type,
        cancellation_reason=line.cancellation_reason,
        abn=bill.abn,
    )


# --- sending and withdrawing ----------------------------------------------------------------------------


@transaction.atomic
def mark_sent(key: UUID, staff: Staff | None = None) -> ClaimFile:
    """Note that the agency has a file; raises ``Refusal`` for one that was sent or withdrawn."""
    file = load_unsent(key, staff)
    file.status, file.sent_at, file.sent_by = ClaimFile.Status.SENT, clock.now(), staff
    file.save()
    return file


@retry_on_conflict
def withdraw(key: UUID, staff: Staff | None = None) -> ClaimFile:
    """Take back a file that was not sent: all its bills are approved again, and may go into another one.

    Raises ``Refusal`` for one that was sent or withdrawn, and when a bill is no longer claimed.
    """
    file = load_unsent(key, staff)
    reason = f"The claim file {file} was withdrawn."
    for model in LINE_MODELS:
        lines = file.lines.exclude((str(model._meta.model_name), None)).order_by()
        keys = list(lines.values_list(f"{model._meta.model_name}_id", flat=True).distinct())
        apply_to_all(model, keys, TransitionName.TAKE_OUT_OF_FILE, staff, reason)
    file.lines.update(is_withdrawn=True)
    file.status, file.withdrawn_at, file.withdrawn_by = ClaimFile.Status.WITHDRAWN, clock.now(), staff
    file.save()
    return file


def load_unsent(key: UUID, staff: Staff | None) -> ClaimFile:
    """The file, locked, so that it is sent or withdrawn once."""
    check_permission(staff)
    file = ClaimFile.objects.defer("content").select_for_update(of=("self",)).filter(pk=key).first()
    if file is None:
        raise Refusal("There is no claim file with this identifier.")
    if file.status != ClaimFile.Status.NOT_SENT:
        raise Refusal(f"{file} is {lower_first(file.get_status_display())} already.")
    return file


def check_permission(staff: Staff | None) -> None:
    permission = BillPermission.SEND_FILES
    if staff is not None and not staff.has_perm(f"funding.{permission}"):
        label = lower_first(permission.label.removeprefix("Can "))
        raise Refusal(f"The role of {staff} lacks the permission to {label}.")


def apply_to_all(
    model: type[AnyBill],
    keys: Sequence[UUID],
    name: TransitionName,
    staff: Staff | None,
    reason: str | None = None,
) -> None:
    """Apply a transition to bills, or to none: raises ``Refusal`` when one of them is refused."""
    if not keys:
        return
    refused = apply_transition(model, keys, name, staff, reason).refused
    if refused:
        others = f" So are {len(refused) - 1:,} others." if len(refused) > 1 else ""
        raise Refusal(f"{refused[0].label} is refused: {refused[0].message}{others}")


# --- erasure --------------------------------------------------------------------------------------------


@transaction.atomic
def erase_scheme_numbers(lines: Iterable[int]) -> None:
    """Blank the scheme numbers in the rows that stand for these lines of files, whose amounts stay."""
    positions: dict[UUID, list[int]] = defaultdict(list)
    rows = ClaimFileLine.objects.filter(AnyOf("pk", lines)).order_by()
    for key, position in rows.values_list("claim_file_id", "position"):
        positions[key].append(position)
    for file in (
        ClaimFile.objects.filter(AnyOf("pk", positions)).order_by("pk").select_for_update(of=("self",))
    ):
        file.content = blank_scheme_numbers(bytes(file.content), positions[file.pk])
        file.erased_sha256 = hashlib.sha256(file.content).hexdigest()
        file.save()
