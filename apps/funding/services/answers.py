"""Applies the agency's answers: finds lines of claim files by their references, and moves their bills.

Results and remittances may come in any order, twice, and at the same moment: what a bill becomes follows from
all that is known of its lines, while it is locked.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Model
from django.db.models.functions import Lower
from django.utils import timezone

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.errors import plural
from apps.base.money import ZERO
from apps.core.bulk_insert import bulk_insert
from apps.core.models import Subscriber
from apps.core.table_files.tables import Row
from apps.engagements.models import CategoryBudget, ServiceBooking
from apps.funding.models import Claim, ClaimFileLine, Invoice, RemittanceLine, may_still_be_paid
from apps.funding.rejection_codes import next_step
from apps.funding.services.effects import lock_provider_invoices
from apps.funding.services.payments import LineAmounts, Payment, load_lines
from apps.funding.services.transition_requests import REASON_LENGTH
from apps.funding.services.transitions import apply_transition
from apps.funding.statuses import STATUSES, InvoiceStatus
from apps.funding.validation.guards import AnyBill, lower_first
from apps.funding.validation.transitions import TransitionName as T
from apps.funding.validation.transitions import transition_named

#: Bills in these wait for the agency's money.
AWAITING_MONEY = frozenset({InvoiceStatus.AGENCY_CLAIMED.value, InvoiceStatus.AGENCY_PARTIALLY_PAID.value})
#: By model, the references of a file line to its bill and to its line.
FILE_LINE_COLUMNS: Mapping[type[AnyBill], tuple[str, str]] = {
    Claim: ("claim", "claim_line"),
    Invoice: ("invoice", "invoice_line"),
}


# --- the report -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Tally:
    """How many rows, and what they come to."""

    count: int = 0
    total: Decimal = ZERO


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence about a row; a warning is about one that went in all the same."""

    row: Row
    code: str
    message: str
    is_warning: bool = False


@dataclass(slots=True)
class AnswerReport:
    """The rows of a file by what became of them, each in one tally, and notes about single ones.

    ``transitions``: how many bills took which.
    """

    tallies: dict[str, Tally]
    notes: list[Note] = field(default_factory=list)
    transitions: dict[T, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, word: str, amount: Decimal | None) -> None:
        tally = self.tallies[word]
        tally.count, tally.total = tally.count + 1, tally.total + (amount or ZERO)

    @property
    def counts(self) -> dict[str, int]:
        return {word: tally.count for word, tally in self.tallies.items()}

    def summary(self) -> list[str]:
        """The sum of the rows, which is that of what became of them, and the bills that moved."""
        count = sum(tally.count for tally in self.tallies.values())
        total = sum((tally.total for tally in self.tallies.values()), ZERO)
        parts = [
            f"{tally.count:,} {word.replace('_', ' ')} ({tally.total:,.2f})"
            for word, tally in self.tallies.items()
            if tally.count
        ]
        moved = [
            f"{number:,} {lower_first(transition_named(name).label)}"
            for name, number in self.transitions.items()
        ]
        return [
            f"{plural(count, 'row')} ({total:,.2f}) = {' + '.join(parts)}.",
            *([f"Claims and invoices: {', '.join(moved)}."] if moved else []),
        ]


# --- the lines ------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class AnsweredLine:
    """A line of a claim file, made on a day, with what the agency has answered to it so far.

    ``paid`` is what remittances paid of it until ``last_day``; ``is_accepted`` is ``None`` without a result;
    ``promised``: what the agency said that it will pay. ``recorded`` is what is paid of the bill's line, by
    remittances or by hand. ``resubmission``: the number of a current bill that resubmits it.
    """

    bill: AnyBill
    key: int
    reference: str
    amount: Decimal
    file_name: str
    made: dt.date
    is_withdrawn: bool
    line: UUID | None
    is_accepted: bool | None = None
    code: str = ""
    text: str = ""
    promised: Decimal | None = None
    is_capped: bool = False
    paid: Decimal = ZERO
    last_day: dt.date | None = None
    recorded: Decimal = ZERO
    resubmission: str = ""

    @property
    def is_refused(self) -> bool:
        """True when the agency refused it, and nothing was paid of it."""
        return self.is_accepted is False and not self.recorded

    @property
    def waits(self) -> bool:
        return may_still_be_paid(self.amount, self.recorded, self.is_accepted, self.promised)


@dataclass(slots=True)
class AnsweredBills:
    """The locked bills that a file is about: their lines in claim files, and in the bill itself."""

    by_reference: dict[str, AnsweredLine] = field(default_factory=dict)
    file_lines: dict[UUID, list[AnsweredLine]] = field(default_factory=lambda: defaultdict(list))
    lines: dict[UUID, list[LineAmounts]] = field(default_factory=dict)
    bills: dict[type[AnyBill], dict[UUID, AnyBill]] = field(default_factory=dict)
    #: The numbers of current resubmissions, by the keys of the originals.
    resubmissions: dict[UUID, str] = field(default_factory=dict)

    def find(self, reference: str | None) -> AnsweredLine | None:
        return self.by_reference.get((reference or "").strip().lower())

    def obstacle(self, line: AnsweredLine, statuses: Collection[str] | None = None) -> str:
        """Why an answer changes nothing any more; empty when it does, in one of the ``statuses`` if given."""
        bill = line.bill
        if line.is_withdrawn:
            return f"{bill}: its file {line.file_name} was withdrawn."
        if bill.is_archived:
            return f"{bill} is archived."
        if line.resubmission:
            return f"{bill} was resubmitted as {line.resubmission}."
        status = STATUSES[bill.funding_status]
        is_cancelled = bill.funding_status == InvoiceStatus.CANCELLED
        if is_cancelled or (statuses is not None and bill.funding_status not in statuses):
            return f"{bill} is {lower_first(status.label)}."
        return ""


def load_answered_bills(references: Iterable[str | None]) -> AnsweredBills:
    """The bills of these references, locked as transitions lock them; the number of statements is constant.

    All of them, then their budgets: the transitions that follow lock nothing in another order.
    """
    wanted = {reference.strip().lower() for reference in references if reference}
    found = AnsweredBills()
    lines = ClaimFileLine.objects.annotate(small=Lower("reference")).filter(AnyOf("small", wanted))
    pairs = list(lines.order_by().values_list("claim", "invoice"))
    keys: dict[type[AnyBill], set[UUID]] = {
        Claim: {claim for claim, _ in pairs if claim},
        Invoice: {invoice for _, invoice in pairs if invoice},
    }
    lock_provider_invoices(keys[Claim])
    for model in FILE_LINE_COLUMNS:
        of_model = keys[model]
        records: Any = model._default_manager.filter(AnyOf("guid", of_model)).order_by("pk")
        found.bills[model] = {bill.pk: bill for bill in records.select_for_update(of=("self",))}
        found.lines |= load_lines(model, of_model)
        number = f"{model._meta.model_name}_number"
        resubmitted = model._default_manager.filter(AnyOf("resubmission_of", of_model), archive_date=None)
        found.resubmissions |= dict(resubmitted.order_by().values_list("resubmission_of", number))
    lock_budgets(line for of_bill in found.lines.values() for line in of_bill)
    for model in FILE_LINE_COLUMNS:
        load_file_lines(model, keys[model], found)
    return found


def lock_budgets(lines: Iterable[LineAmounts]) -> None:
    bookings: set[UUID] = set()
    budgets: set[UUID] = set()
    for line in lines:
        if line.booking is not None:
            bookings.add(line.booking)
        elif line.category_budget is not None:
            budgets.add(line.category_budget)
    for model, keys in ((ServiceBooking, bookings), (CategoryBudget, budgets)):
        records: Any = model._default_manager.filter(AnyOf("pk", keys)).order_by("pk")
        list(records.select_for_update(of=("self",)).values_list("pk", flat=True))


def load_file_lines(model: type[AnyBill], keys: Collection[UUID], found: AnsweredBills) -> None:
    """Add the lines of bills in claim files, with their results and what was paid of them."""
    bill, line = FILE_LINE_COLUMNS[model]
    columns = (
        *("pk", "reference", "amount", "claim_file__file_name", "claim_file__creation_date"),
        *("is_withdrawn", f"{line}_id", f"{bill}_id"),
        *("result__is_accepted", "result__code", "result__text", "result__amount", "result__is_capped"),
    )
    rows = ClaimFileLine.objects.filter(AnyOf(bill, keys)).order_by("pk").values_list(*columns)
    by_key: dict[int, AnsweredLine] = {}
    lines = {each.key: each for bill_key in keys for each in found.lines.get(bill_key, ())}
    for key, reference, amount, file_name, made, *of_line in rows:
        is_withdrawn, line_key, bill_key, accepted, code, text, promised, is_capped = of_line
        made_on = timezone.localtime(made).date()
        of_file = (key, reference, amount, file_name, made_on, is_withdrawn, line_key)
        answered = AnsweredLine(found.bills[model][bill_key], *of_file)
        answered.is_accepted, answered.promised, answered.is_capped = accepted, promised, bool(is_capped)
        answered.code, answered.text = code or "", text or ""
        if answered.line in lines:
            answered.recorded = lines[answered.line].paid
            answered.resubmission = lines[answered.line].resubmission
        by_key[answered.key] = answered
        found.by_reference[answered.reference.lower()] = answered
        if not answered.is_withdrawn:
            found.file_lines[bill_key].append(answered)
    paid = RemittanceLine.objects.filter(AnyOf("file_line", by_key), is_applied=True).order_by()
    for key, amount, day in paid.values_list("file_line", "amount", "day"):
        note_payment(by_key[key], amount, day)


def insert_numbered(model: type[Model], records: Sequence[Model]) -> None:
    """Insert new records whose keys the database numbers."""
    columns = [column.attname for column in model._meta.concrete_fields if not column.primary_key]
    bulk_insert(model, columns, ([getattr(each, name) for name in columns] for each in records))


def note_payment(line: AnsweredLine, amount: Decimal, day: dt.date) -> None:
    line.paid += amount
    line.last_day = max(day, line.last_day or day)


# --- moving the bills -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Moves:
    """The transitions of bills that the answers come to: applied name by name."""

    answered: AnsweredBills
    report: AnswerReport
    refused: dict[UUID, str] = field(default_factory=dict)

    def apply(
        self,
        model: type[AnyBill],
        keys: Collection[UUID],
        name: T,
        reason: str | Mapping[UUID, str] | None = None,
        amounts: Mapping[UUID, Payment] | None = None,
        day: dt.date | None = None,
    ) -> None:
        """Apply a transition; bills that cannot take it are in ``refused``, with the reason."""
        if not keys:
            return
        result = apply_transition(model, keys, name, None, reason, amounts, day)
        self.refused |= {refusal.key: refusal.message for refusal in result.refused}
        if result.done:
            self.report.transitions[name] += len(result.done)

    def pay(self, payments: Mapping[UUID, Mapping[UUID, Decimal]]) -> None:
        """Record what was paid of lines, by the keys of their bills."""
        groups: dict[tuple[type[AnyBill], T, dt.date], list[UUID]] = defaultdict(list)
        for model, bills in self.answered.bills.items():
            for key, bill in bills.items():
                if amounts := payments.get(key):
                    groups[model, self.paying(bill, amounts), self.day_of(key)].append(key)
        for (model, name, day), keys in groups.items():
            self.apply(model, keys, name, amounts={key: payments[key] for key in keys}, day=day)

    def paying(self, bill: AnyBill, amounts: Mapping[UUID, Decimal]) -> T:
        lines = self.answered.lines.get(bill.pk, ())
        is_all = all(line.outstanding == amounts.get(line.key, ZERO) for line in lines)
        if bill.funding_status == InvoiceStatus.AGENCY_CLAIMED:
            return T.PAY if is_all else T.PAY_IN_PART
        return T.PAY_THE_REST if is_all else T.PAY_FURTHER

    def day_of(self, key: UUID) -> dt.date:
        """The day of the last payment of a bill, whatever was imported last."""
        days = [line.last_day for line in self.answered.file_lines[key] if line.last_day]
        return min(max(days), clock.today())

    def refuse(self) -> None:
        """Refuse the bills of which every line was refused, with the agency's texts as the reason."""
        for model, bills in self.answered.bills.items():
            reasons = {
                key: reason_of(self.answered.file_lines[key])
                for key, bill in bills.items()
                if bill.funding_status == InvoiceStatus.AGENCY_CLAIMED and self.is_refused(bill)
            }
            self.apply(model, reasons, T.REFUSE, reasons)

    def is_refused(self, bill: AnyBill) -> bool:
        file_lines = self.answered.file_lines[bill.pk]
        in_file = {line.line for line in file_lines}
        lines = self.answered.lines.get(bill.pk, ())
        return (
            not bill.is_archived
            and bill.amount_paid == bill.paid_earlier
            and all(line.key in in_file for line in lines if line.outstanding > 0)
            and bool(file_lines)
            and all(line.is_refused for line in file_lines)
        )

    def write_off(self, keys: Iterable[UUID]) -> None:
        """Write off what is short by no more than the organisation's tolerance, once nothing is expected."""
        tolerance = Subscriber.current().remittance_tolerance
        if not tolerance:
            return
        wanted = set(keys)
        for model in self.answered.bills:
            records = model._default_manager.filter(
                AnyOf("guid", wanted),
                funding_status=InvoiceStatus.AGENCY_PARTIALLY_PAID,
                archive_date=None,
            )
            short = [
                bill.pk
                for bill in records.order_by("pk")
                if ZERO < bill.outstanding <= tolerance
                and bill.pk not in self.answered.resubmissions
                and not any(line.waits for line in self.answered.file_lines[bill.pk])
            ]
            reason = f"Paid short by no more than the tolerance of {tolerance:,.2f}"
            self.apply(model, short, T.WRITE_OFF, reason)


def reason_of(lines: Sequence[AnsweredLine]) -> str:
    """The agency's texts about the lines of a bill, each once; codes where it said no more."""
    texts = dict.fromkeys(line.text or line.code for line in lines)
    reason = " · ".join(text for text in texts if text) or "Refused by the agency"
    return reason if len(reason) <= REASON_LENGTH else f"{reason[: REASON_LENGTH - 1]}…"


def refusal_sentence(code: str, text: str, own: Mapping[str, str]) -> str:
    """The agency's words about a refused line, and the next step."""
    return " – ".join(part for part in (text or code or "refused", next_step(code, text, own)) if part)
