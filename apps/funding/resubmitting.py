"""Claims and invoices made anew of those that were refused, cancelled or paid in part only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple
from uuid import UUID

from apps.core import history
from apps.core.bulk_insert import bulk_insert
from apps.core.identifiers import new_guid
from apps.funding.choices import InvoiceStatus
from apps.funding.models import ZERO, Claim, ClaimLine, Invoice, InvoiceLine, LineItem
from apps.funding.services.budgets import CENT, BudgetPosting, budget_amounts
from apps.funding.services.numbering import next_numbers
from apps.funding.statuses import Resubmission
from apps.odata import clock
from apps.people.models import Staff

#: Quantities and prices have four decimals.
FINE = Decimal("0.0001")

AWAITING = InvoiceStatus.AWAITING_STAFF_APPROVAL.value


class Remade(NamedTuple):
    """The new bills by the keys of the old ones, and what their lines draw on budgets."""

    keys: dict[UUID, UUID]
    drawn: list[BudgetPosting]


class NewLine(NamedTuple):
    """What a line of a new bill does not have from the old one."""

    old: LineItem
    quantity: Decimal
    price: Decimal
    total: Decimal
    paid: Decimal


def remake(
    model: type[Claim | Invoice], bills: Sequence[Any], kind: Resubmission, by: Staff | None
) -> Remade:
    """Store a new bill of each of the bills, which must be whole and locked; they stay as they are.

    In full, it has the same lines, and of each is said what was paid earlier: that counts with the new bill
    from now on, and the rest is what is open. Of the gap, it has the lines that were not paid in full, each
    over what is missing (see ``gap_of``), and nothing of them is paid; what was stays with the old bill.
    """
    name = str(model._meta.model_name)
    line_model: type[LineItem] = ClaimLine if model is Claim else InvoiceLine
    lines: dict[UUID, list[NewLine]] = defaultdict(list)
    rows = line_model._default_manager.filter(**{f"{name}__in": bills}).order_by("position", "guid")
    make = whole_of if kind is Resubmission.FULL else gap_of
    for line in rows:
        made = make(line)
        if made is not None:
            lines[getattr(line, f"{name}_id")].append(made)
    numbers = next_numbers(model, len(bills), set())
    keys = {bill.pk: new_guid() for bill in bills}
    entered_by = history.author().staff_id if by is None else by.pk
    told = zip(bills, numbers, strict=True)
    store(
        model,
        bills,
        [
            {
                "guid": keys[bill.pk],
                f"{name}_number": number,
                "total": sum((line.total for line in lines[bill.pk]), ZERO),
                "amount_paid": sum((line.paid for line in lines[bill.pk]), ZERO),
                "paid_earlier": sum((line.paid for line in lines[bill.pk]), ZERO),
                "resubmission_of_id": bill.pk,
                "entered_by_id": entered_by or bill.staff_id,
            }
            for bill, number in told
        ],
    )
    history.write_entries(model, keys.values(), "Created")
    placed = [(keys[key], place, line) for key, held in lines.items() for place, line in enumerate(held)]
    store(
        line_model,
        [line.old for _, _, line in placed],
        [
            {
                "guid": new_guid(),
                f"{name}_id": key,
                "position": place,
                "quantity": line.quantity,
                "price": line.price,
                "total": line.total,
                "amount_paid": line.paid,
            }
            for key, place, line in placed
        ],
    )
    drawn = [
        BudgetPosting(
            line.old.booking_id,
            line.old.category_budget_id,
            budget_amounts(AWAITING, False, line.total, line.paid),
        )
        for _, _, line in placed
    ]
    return Remade(keys, drawn)


def whole_of(line: LineItem) -> NewLine:
    """The line as it was, with what was paid earlier."""
    return NewLine(line, line.quantity, line.price, line.total, line.amount_paid)


def gap_of(line: LineItem) -> NewLine | None:
    """What is missing of a line; ``None`` when nothing is.

    The quantity stays, and the price is what is missing of each unit. Where that would not come to the cent,
    the price stays and the quantity is what is missing; failing both, it is one of what is missing.
    """
    rest = line.total - line.amount_paid
    if not rest:
        return None
    if not line.amount_paid:
        return whole_of(line)
    missing = abs(rest)
    attempts: list[tuple[Decimal, Decimal]] = [
        (line.quantity, fine(missing / line.quantity)),
        (fine(missing / line.price), line.price),
    ]
    for quantity, price in attempts:
        if quantity > 0 and (quantity * price).quantize(CENT, ROUND_HALF_UP) == missing:
            return NewLine(line, quantity, price, rest, ZERO)
    return NewLine(line, Decimal(1), missing, rest, ZERO)


def fine(value: Decimal) -> Decimal:
    return value.quantize(FINE, ROUND_HALF_UP)


# --- storing --------------------------------------------------------------------------------------------

#: What the new record begins with, whatever the old one had.
ANEW: Mapping[str, Callable[[], Any]] = {
    "creation_date": clock.now,
    "modify_date": clock.now,
    "archive_date": lambda: None,
    "funding_status": lambda: AWAITING,
    "status_date": clock.now,
    "status_reason": lambda: None,
    "approved_date": lambda: None,
    "payment_date": lambda: None,
    "external_invoice_number": lambda: None,
    "resubmitted": lambda: True,
    # A recurring invoice goes on by itself: what is resubmitted is the one.
    "is_recurring": lambda: False,
    "recurring_start_date": lambda: None,
    "recurring_end_date": lambda: None,
    "recurring_frequency": lambda: None,
    "recurrence_of_id": lambda: None,
    "recurrence_date": lambda: None,
}


def store(model: type[Any], old: Sequence[Any], own: Sequence[Mapping[str, Any]]) -> None:
    """Insert records like the old ones, except for what begins anew and what each has of its own."""
    columns = [field.attname for field in model._meta.concrete_fields if not hasattr(field, "of")]
    anew = {name: make() for name, make in ANEW.items()}
    rows = ({**record.__dict__, **anew, **mine} for record, mine in zip(old, own, strict=True))
    bulk_insert(model, columns, ([row[name] for name in columns] for row in rows))
