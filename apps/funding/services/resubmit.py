"""New claims and invoices that resubmit rejected, cancelled or partly paid ones."""

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple
from uuid import UUID

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.money import CENT, ZERO, to_cents
from apps.core import history, saving
from apps.core.models import new_guid
from apps.funding.file_formats.claim_file import MAX_PARTS
from apps.funding.models import Claim, Invoice, LineItem
from apps.funding.services.create import next_numbers
from apps.funding.services.effects import BudgetPosting, record_posting
from apps.funding.services.payments import LINE_MODELS
from apps.funding.statuses import InvoiceStatus
from apps.funding.validation.guards import AnyBill
from apps.funding.validation.transitions import Resubmission
from apps.people.models import Staff

#: Quantities and prices have four decimals.
FOUR_DECIMALS = Decimal("0.0001")

#: Prices of which a quantity of two decimals is looked for: of the usual ones one in 50 has it.
PRICES_TRIED = 1_000

AWAITING = InvoiceStatus.AWAITING_STAFF_APPROVAL.value


class Resubmissions(NamedTuple):
    """New bills: their keys by the originals', and the postings of their lines.

    ``paid_earlier``: by the keys of the originals, what was paid of the new lines before.
    """

    keys: dict[UUID, UUID]
    postings: list[BudgetPosting]
    paid_earlier: dict[UUID, dict[UUID, Decimal]]


def create_resubmissions(
    model: type[Claim | Invoice],
    bills: Sequence[AnyBill],
    part: Resubmission,
    staff: Staff | None,
    waiting_lines: Container[UUID] = (),
) -> Resubmissions:
    """Store a new bill for each of the locked bills, which stay as they are.

    In full, the new bill has the same lines with what was paid on them earlier: that counts with the new bill
    from now on, and the rest is outstanding. The gap has the lines that were not paid in full, each over what
    is missing, and nothing of them is paid; what was paid stays with the original, and so do the
    ``waiting_lines``, which the agency may still pay. Lines that were resubmitted say as which bill.
    """
    name: Any = model._meta.model_name
    line_model: Any = LINE_MODELS[model]
    originals: dict[UUID, list[LineItem]] = defaultdict(list)
    rows = line_model.objects.filter(AnyOf(name, [bill.pk for bill in bills]))
    for line in rows.order_by("position", "guid"):
        is_missing = line.total != line.amount_paid and line.pk not in waiting_lines
        if part is Resubmission.FULL or is_missing:
            originals[getattr(line, f"{name}_id")].append(line)
    entered_by = history.author().staff_id if staff is None else staff.pk
    new_bills, new_lines, paid_earlier = [], [], {}
    old_lines: list[Any] = []
    for bill, number in zip(bills, next_numbers(model, len(bills)), strict=True):
        lines = [copy_record(line, position=at) for at, line in enumerate(originals[bill.pk])]
        if part is Resubmission.GAP:
            for line in lines:
                reduce_to_gap(line)
        paid_earlier[bill.pk] = {line.guid: line.amount_paid for line in lines if line.amount_paid}
        paid = sum(paid_earlier[bill.pk].values(), ZERO)
        new_bill = copy_record(
            bill,
            total=sum((line.total for line in lines), ZERO),
            amount_paid=paid,
            paid_earlier=paid,
            resubmission_of_id=bill.pk,
            entered_by_id=entered_by or bill.staff_id,
            **{f"{name}_number": number},
        )
        for line in lines:
            setattr(line, f"{name}_id", new_bill.pk)
        for old_line in originals[bill.pk]:
            old_line.resubmitted_as_id = new_bill.pk
            old_lines.append(old_line)
        new_bills.append(new_bill)
        new_lines += lines
    saving.insert_instances(model, new_bills)
    history.write_entries(model, [bill.pk for bill in new_bills], "Created")
    saving.insert_instances(line_model, new_lines)
    saving.update(line_model, ("resubmitted_as_id",), old_lines, is_stamped=False)
    keys = {bill.resubmission_of_id: bill.pk for bill in new_bills}
    return Resubmissions(keys, [record_posting(line, AWAITING) for line in new_lines], paid_earlier)


def reduce_to_gap(line: LineItem) -> None:
    """Make a copy of a line what is missing of its original, to the cent, so that a claim file can say it.

    The quantity stays where the price of a unit then comes to cents. Else the price is the highest in cents,
    up to that of the original, of which a quantity of two decimals makes the amount. Where there is none, the
    quantity or the price stays and the other has four decimals; failing that, it is one of what is missing.
    """
    if not line.amount_paid:
        return
    line.total -= line.amount_paid
    line.amount_paid = ZERO
    missing = abs(line.total)
    for quantity, price in (
        *amounts_in_cents(line.quantity, line.price, missing),
        (line.quantity, round_fine(missing / line.quantity)),
        (round_fine(missing / line.price), line.price),
    ):
        if quantity > 0 and to_cents(quantity * price) == missing:
            line.quantity, line.price = quantity, price
            return
    line.quantity, line.price = Decimal(1), missing


def amounts_in_cents(
    quantity: Decimal, price: Decimal, missing: Decimal
) -> Iterator[tuple[Decimal, Decimal]]:
    """Quantities and prices with at most two decimals that may come to the amount, the best first."""
    if quantity == to_cents(quantity):
        yield quantity, to_cents(missing / quantity)
    highest = price.quantize(CENT, ROUND_FLOOR)
    for step in range(PRICES_TRIED):
        lower = highest - step * CENT
        if lower <= 0:
            return
        units = to_cents(missing / lower)
        if units <= MAX_PARTS:
            yield units, lower


def round_fine(value: Decimal) -> Decimal:
    return value.quantize(FOUR_DECIMALS, ROUND_HALF_UP)


#: Columns that are empty in a resubmission, whatever its original has. The original still recurs.
NOT_COPIED = (
    *("archive_date", "status_reason", "approved_date", "payment_date", "external_invoice_number"),
    *("recurring_start_date", "recurring_end_date", "recurring_frequency"),
    *("recurrence_of_id", "recurrence_date", "resubmitted_as_id"),
)


def copy_record(original: Any, **changes: object) -> Any:
    """A new record like the original, except for what begins anew and for the changes."""
    values = {
        **dict.fromkeys(NOT_COPIED),
        **dict.fromkeys(("creation_date", "modify_date", "status_date"), clock.now()),
        "guid": new_guid(),
        "funding_status": AWAITING,
        "resubmitted": True,
        "is_recurring": False,
        "paid_out": ZERO,
        **changes,
    }
    columns = [column.attname for column in original._meta.concrete_fields]
    return type(original)(**{name: values.get(name, getattr(original, name)) for name in columns})
