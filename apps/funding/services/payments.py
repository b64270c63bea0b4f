"""Payments of claims and invoices: what may be paid or taken back, on which lines it counts, on which day."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import F
from django.utils import timezone

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.money import CENT, ZERO
from apps.core import saving
from apps.funding.models import Claim, ClaimLine, Invoice, InvoiceLine, LineItem, StatusMove, is_within
from apps.funding.validation.transitions import PaymentExtent, TakenBack, TransitionName

#: What was paid of a bill, or is taken back: an amount, or an amount for each of its lines by their keys.
Payment = Decimal | Mapping[UUID, Decimal]

LINE_MODELS: Mapping[type[Claim | Invoice], type[LineItem]] = {Claim: ClaimLine, Invoice: InvoiceLine}


class LineAmounts(NamedTuple):
    """The amounts of a line, the budget they count on, and the days of its support.

    ``resubmitted_as``: the last bill that resubmits it, ``resubmission``: its number while it is current.
    ``earlier``: what of it was paid of the bill that its bill resubmits; loaded where money is taken back.
    """

    key: UUID
    total: Decimal
    paid: Decimal
    booking: UUID | None
    category_budget: UUID | None
    first_day: dt.date
    last_day: dt.date
    resubmitted_as: UUID | None
    resubmission: str
    earlier: Decimal = ZERO

    @property
    def outstanding(self) -> Decimal:
        return self.total - self.paid

    @property
    def paid_itself(self) -> Decimal:
        return self.paid - self.earlier


def load_lines(model: type[Claim | Invoice], keys: Iterable[UUID]) -> dict[UUID, list[LineAmounts]]:
    """The lines of bills in their order, by the keys of the bills, whose locks keep them as they are."""
    line_model, bill = LINE_MODELS[model], str(model._meta.model_name)
    rows = line_model._default_manager.filter(AnyOf(bill, keys))
    lines: dict[UUID, list[LineAmounts]] = defaultdict(list)
    columns = (f"{bill}_id", "pk", "total", "amount_paid", "booking_id", "category_budget_id")
    days = ("first_day", "last_day")
    newer = ("resubmitted_as_id", f"resubmitted_as__{bill}_number", "resubmitted_as__archive_date")
    for key, *of_line, number, archived in rows.order_by("position", "guid").values_list(
        *columns, *days, *newer
    ):
        of_line.append(number if number and archived is None else "")
        lines[key].append(LineAmounts(*of_line))
    return lines


def load_lines_with_earlier(
    model: type[Claim | Invoice], bills: Mapping[UUID, Claim | Invoice]
) -> dict[UUID, list[LineAmounts]]:
    """The lines of locked bills, with what of them was paid before: the status history has that by line."""
    lines = load_lines(model, bills)
    originals = {bill.resubmission_of_id for bill in bills.values() if bill.paid_earlier}
    if not originals:
        return lines
    entries = StatusMove.objects.filter(
        AnyOf(str(model._meta.model_name), originals), verb=TransitionName.RESUBMIT
    )
    earlier: dict[UUID, Decimal] = {}
    for paid_lines in entries.values_list("paid_lines", flat=True):
        earlier.update({UUID(key): Decimal(amount) for key, amount in (paid_lines or {}).items()})
    return {
        key: [line._replace(earlier=earlier.get(line.key, ZERO)) for line in of_bill]
        for key, of_bill in lines.items()
    }


# --- paying ---------------------------------------------------------------------------------------------


def find_payment_problem(
    bill: Claim | Invoice, extent: PaymentExtent, payment: Payment | None, lines: Sequence[LineAmounts]
) -> str | None:
    """Why a bill cannot be paid so; ``None`` when it can."""
    # What was resubmitted is paid with the newer bill.
    outstanding = bill.outstanding - sum((each.outstanding for each in lines if each.resubmission), ZERO)
    for number, line in enumerate(lines, start=1):
        if not is_within(line.paid, line.total):
            return (
                f"{line.paid:,.2f} were paid of line {number}, which comes to {line.total:,.2f}: nothing more"
                " can be paid until its total is put right."
            )
    if payment is None:
        is_full = extent is PaymentExtent.FULL
        return None if is_full else f"Say how much of the outstanding {outstanding:,.2f} was paid."
    if isinstance(payment, Mapping) and (problem := find_line_problem(payment, lines)):
        return problem
    amount = sum(payment.values(), ZERO) if isinstance(payment, Mapping) else payment
    if amount != amount.quantize(CENT):
        return f"{amount} is no amount of money: cents are its smallest part."
    if extent is PaymentExtent.FULL:
        is_all = amount == outstanding
        return None if is_all else f"{outstanding:,.2f} is outstanding, and {amount:,.2f} is not that."
    if amount <= 0:
        return f"{amount:,.2f} is no payment: give an amount above 0."
    if amount == bill.outstanding:
        return f"{amount:,.2f} is all that is outstanding: say that it is paid in full."
    if amount > outstanding:
        return f"{amount:,.2f} is more than the {outstanding:,.2f} that is outstanding."
    return None


def find_line_problem(payment: Mapping[UUID, Decimal], lines: Sequence[LineAmounts]) -> str | None:
    """Why the lines cannot be paid so: one is not of the bill, or not so much of it is outstanding."""
    if unknown := payment.keys() - {line.key for line in lines}:
        return f"It has no line {min(unknown)}."
    for number, line in enumerate(lines, start=1):
        amount, outstanding = payment.get(line.key, ZERO), line.outstanding
        if amount and line.resubmission:
            return f"Line {number} was resubmitted as {line.resubmission}: go on with that one."
        if not is_within(amount, outstanding):
            return f"Of line {number} {outstanding:,.2f} is outstanding: {amount:,.2f} cannot be paid on it."
    return None


def paid_by_line(
    extent: PaymentExtent, payment: Payment | None, lines: Sequence[LineAmounts]
) -> dict[UUID, Decimal]:
    """The amount paid of each line after a payment."""
    if extent is PaymentExtent.FULL or payment is None:
        return {line.key: line.total for line in lines}
    shares = payment if isinstance(payment, Mapping) else allocate(payment, lines)
    return {line.key: line.paid + shares.get(line.key, ZERO) for line in lines}


def allocate(amount: Decimal, lines: Sequence[LineAmounts]) -> dict[UUID, Decimal]:
    """The shares of the lines in an amount, in their order, each as far as it is outstanding here.

    Credits are used up first: they leave more for the others.
    """
    own = [line for line in lines if not line.resubmission]
    shares = {line.key: min(line.outstanding, ZERO) for line in own}
    remaining = amount - sum(shares.values(), ZERO)
    for line in own:
        if line.outstanding > 0:
            shares[line.key] = min(line.outstanding, remaining)
            remaining -= shares[line.key]
    return shares


# --- taking back ----------------------------------------------------------------------------------------


def find_take_back_problem(
    bill: Claim | Invoice, extent: TakenBack, payment: Payment | None, lines: Sequence[LineAmounts]
) -> str | None:
    """Why money cannot be taken back so; ``None`` when it can.

    What was paid of the bill that this one resubmits stays with that one: here it only came along.
    """
    if lines and sum((line.earlier for line in lines), ZERO) != bill.paid_earlier:
        return (
            f"{bill.paid_earlier:,.2f} of it were paid with {bill.resubmission_of}, before the status history"
            " had the amounts of lines: what was paid of this one itself is not known by line."
        )
    if extent is TakenBack.ALL:
        return None
    paid = bill.paid_itself
    if payment is None:
        return f"Say how much of the {paid:,.2f} that was paid is taken back."
    if isinstance(payment, Mapping) and (problem := find_taken_line_problem(payment, lines)):
        return problem
    amount = sum(payment.values(), ZERO) if isinstance(payment, Mapping) else payment
    if amount != amount.quantize(CENT):
        return f"{amount} is no amount of money: cents are its smallest part."
    if amount <= 0:
        return f"{amount:,.2f} cannot be taken back: give an amount above 0."
    if amount > paid:
        problem = f"{amount:,.2f} is more than the {paid:,.2f} that was paid of it itself."
        if bill.paid_earlier:
            problem += f" {bill.paid_earlier:,.2f} were paid of {bill.resubmission_of}, which it resubmits."
        return problem
    if isinstance(payment, Mapping) and amount == paid:
        is_all = all(payment.get(line.key, ZERO) == line.paid_itself for line in lines)
        return None if is_all else f"{paid:,.2f} is all that was paid: take it back as one amount."
    return None


def find_taken_line_problem(payment: Mapping[UUID, Decimal], lines: Sequence[LineAmounts]) -> str | None:
    """Why money cannot be taken back from the lines so: one is not of the bill, or has not so much."""
    if unknown := payment.keys() - {line.key for line in lines}:
        return f"It has no line {min(unknown)}."
    for number, line in enumerate(lines, start=1):
        amount, paid = payment.get(line.key, ZERO), line.paid_itself
        if not is_within(amount, paid):
            return (
                f"Of line {number} {paid:,.2f} was paid itself: {amount:,.2f} cannot be taken back from it."
            )
    return None


def left_by_line(
    extent: TakenBack, payment: Payment | None, lines: Sequence[LineAmounts]
) -> dict[UUID, Decimal]:
    """The amount paid of each line after money was taken back."""
    if extent is TakenBack.ALL or payment is None:
        return {line.key: line.earlier for line in lines}
    shares = payment if isinstance(payment, Mapping) else allocate_taken_back(payment, lines)
    return {line.key: line.paid - shares.get(line.key, ZERO) for line in lines}


def allocate_taken_back(amount: Decimal, lines: Sequence[LineAmounts]) -> dict[UUID, Decimal]:
    """The shares of the lines in an amount that is taken back: the last that was paid goes first.

    Credits stay used up until all is taken back.
    """
    if amount == sum((line.paid_itself for line in lines), ZERO):
        return {line.key: line.paid_itself for line in lines}
    shares: dict[UUID, Decimal] = {}
    for line in reversed(lines):
        shares[line.key] = min(max(line.paid_itself, ZERO), amount)
        amount -= shares[line.key]
    return shares


# --- saving ---------------------------------------------------------------------------------------------


def save_paid_lines(
    model: type[Claim | Invoice], lines: Iterable[LineAmounts], paid: Mapping[UUID, Decimal]
) -> None:
    """Save what is paid of lines; one statement for all that are paid in full."""
    line_model: Any = LINE_MODELS[model]
    changed = [line for line in lines if paid.get(line.key, line.paid) != line.paid]
    in_full = [line.key for line in changed if paid[line.key] == line.total]
    in_part = [
        line_model(guid=line.key, amount_paid=paid[line.key])
        for line in changed
        if paid[line.key] != line.total
    ]
    if in_full:
        records = line_model.objects.filter(AnyOf("pk", in_full))
        records.update(amount_paid=F("total"), modify_date=clock.now())
    if in_part:
        saving.update(line_model, ("amount_paid",), in_part)


def payment_date(bill: Claim | Invoice, day: dt.date | dt.datetime | None) -> dt.date | dt.datetime:
    """The moment a claim was paid, the day an invoice was; midnight of a day that is not today."""
    moment = day or clock.now()
    if isinstance(bill, Invoice):
        return as_day(moment)
    if isinstance(moment, dt.datetime):
        return moment
    if moment == clock.today():
        return clock.now()
    return clock.start_of_day(moment)


def as_day(moment: dt.date | dt.datetime) -> dt.date:
    return timezone.localtime(moment).date() if isinstance(moment, dt.datetime) else moment
