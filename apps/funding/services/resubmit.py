"""New claims and invoices that resubmit rejected, cancelled or partly paid ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple
from uuid import UUID

from apps.core import history
from apps.core.bulk_insert import bulk_insert
from apps.core.identifiers import new_guid
from apps.funding.choices import InvoiceStatus
from apps.funding.models import CENT, ZERO, Claim, Invoice, LineItem
from apps.funding.services.budgets import BudgetPosting, budget_amounts
from apps.funding.services.create import next_numbers
from apps.funding.services.payments import LINE_MODELS
from apps.funding.statuses import Resubmission
from apps.odata import clock
from apps.people.models import Staff

#: Quantities and prices have four decimals.
FOUR_DECIMALS = Decimal("0.0001")

AWAITING = InvoiceStatus.AWAITING_STAFF_APPROVAL.value


class ResubmittedLine(NamedTuple):
    """The values of a new line that differ from its original's."""

    original: LineItem
    quantity: Decimal
    price: Decimal
    total: Decimal
    paid: Decimal


def create_resubmissions(
    model: type[Claim | Invoice], bills: Sequence[Any], part: Resubmission, staff: Staff | None
) -> tuple[dict[UUID, UUID], list[BudgetPosting]]:
    """Store a new bill for each of the locked bills, which stay as they are.

    Returns the new keys by the originals', and the postings of the new lines. In full, the new bill has the
    same lines with what was paid on them earlier: that counts with the new bill from now on, and the rest is
    outstanding. The gap has the lines that were not paid in full, each over what is missing (``gap_line``),
    and nothing of them is paid; what was paid stays with the original.
    """
    bill_name, line_model = str(model._meta.model_name), LINE_MODELS[model]
    lines: dict[UUID, list[ResubmittedLine]] = defaultdict(list)
    originals = line_model._default_manager.filter(**{f"{bill_name}__in": bills})
    for original in originals.order_by("position", "guid"):
        line = full_line(original) if part is Resubmission.FULL else gap_line(original)
        if line is not None:
            lines[getattr(original, f"{bill_name}_id")].append(line)
    keys = {bill.pk: new_guid() for bill in bills}
    entered_by = history.author().staff_id if staff is None else staff.pk
    insert_copies(
        model,
        bills,
        [
            {
                "guid": keys[bill.pk],
                f"{bill_name}_number": number,
                "total": sum((line.total for line in lines[bill.pk]), ZERO),
                "amount_paid": sum((line.paid for line in lines[bill.pk]), ZERO),
                "paid_earlier": sum((line.paid for line in lines[bill.pk]), ZERO),
                "resubmission_of_id": bill.pk,
                "entered_by_id": entered_by or bill.staff_id,
            }
            for bill, number in zip(bills, next_numbers(model, len(bills)), strict=True)
        ],
    )
    history.write_entries(model, keys.values(), "Created")
    insert_copies(
        line_model,
        [line.original for bill in bills for line in lines[bill.pk]],
        [
            {
                "guid": new_guid(),
                f"{bill_name}_id": keys[bill.pk],
                "position": position,
                "quantity": line.quantity,
                "price": line.price,
                "total": line.total,
                "amount_paid": line.paid,
            }
            for bill in bills
            for position, line in enumerate(lines[bill.pk])
        ],
    )
    return keys, [
        BudgetPosting(
            line.original.booking_id,
            line.original.category_budget_id,
            budget_amounts(AWAITING, False, line.total, line.paid),
        )
        for bill in bills
        for line in lines[bill.pk]
    ]


def full_line(line: LineItem) -> ResubmittedLine:
    """The line as it was, with what was paid earlier."""
    return ResubmittedLine(line, line.quantity, line.price, line.total, line.amount_paid)


def gap_line(line: LineItem) -> ResubmittedLine | None:
    """What is missing of a line; ``None`` when nothing is.

    The quantity stays, and the price is what is missing of each unit. Where that would not come to the cent,
    the price stays and the quantity is what is missing; failing both, it is one of what is missing.
    """
    outstanding = line.total - line.amount_paid
    if not outstanding:
        return None
    if not line.amount_paid:
        return full_line(line)
    missing = abs(outstanding)
    attempts: list[tuple[Decimal, Decimal]] = [
        (line.quantity, round_fine(missing / line.quantity)),
        (round_fine(missing / line.price), line.price),
    ]
    for quantity, price in attempts:
        if quantity > 0 and (quantity * price).quantize(CENT, ROUND_HALF_UP) == missing:
            return ResubmittedLine(line, quantity, price, outstanding, ZERO)
    return ResubmittedLine(line, Decimal(1), missing, outstanding, ZERO)


def round_fine(value: Decimal) -> Decimal:
    return value.quantize(FOUR_DECIMALS, ROUND_HALF_UP)


# --- storing --------------------------------------------------------------------------------------------

#: Columns that are empty in a resubmission, whatever its original has. The original still recurs.
NOT_COPIED = (
    "archive_date",
    "status_reason",
    "approved_date",
    "payment_date",
    "external_invoice_number",
    "recurring_start_date",
    "recurring_end_date",
    "recurring_frequency",
    "recurrence_of_id",
    "recurrence_date",
)


def insert_copies(
    model: type[Any], originals: Sequence[Any], own_values: Sequence[Mapping[str, Any]]
) -> None:
    """Insert records like the originals, except for what begins anew and what each has of its own."""
    # Normalised columns follow from their texts.
    columns = [field.attname for field in model._meta.concrete_fields if not hasattr(field, "text_field")]
    initial = {
        **dict.fromkeys(NOT_COPIED),
        **dict.fromkeys(("creation_date", "modify_date", "status_date"), clock.now()),
        "funding_status": AWAITING,
        "resubmitted": True,
        "is_recurring": False,
    }
    rows = []
    for original, own in zip(originals, own_values, strict=True):
        values = {**initial, **own}
        rows.append([values[name] if name in values else getattr(original, name) for name in columns])
    bulk_insert(model, columns, rows)
