"""What must be true of invoices (interface.md 4.4; decisions.md 6)."""

from __future__ import annotations

from collections.abc import Iterator

from apps.funding.validation import bills, lines
from apps.odata.write.drafts import Draft, Issue

# --- is it all there? -----------------------------------------------------------------------------------

NEEDED = {
    "invoice_claim_type": "InvoiceClaimType",
    "start_date": "StartDate",
    "end_date": "EndDate",
    "is_recurring": "IsRecurring",
    "contact": "ContactGuid",
    "staff": "StaffGuid",
    "line_items": "LineItems",
}
NEEDED_TO_RECUR = {"recurring_start_date": "RecurringStartDate", "recurring_frequency": "RecurringFrequency"}
OF_RECURRING = {**NEEDED_TO_RECUR, "recurring_end_date": "RecurringEndDate"}


def what_an_invoice_needs_is_told(draft: Draft) -> Iterator[Issue]:
    return bills.missing(draft, NEEDED)


def when_and_how_often_it_recurs_is_told(draft: Draft) -> Iterator[Issue]:
    if draft.is_recurring:
        for found in bills.missing(draft, NEEDED_TO_RECUR):
            message = found.message.replace(" is required.", " is required: IsRecurring is true.")
            yield Issue(found.code, found.field, message)


INVOICE_REQUIREMENTS = (
    what_an_invoice_needs_is_told,
    when_and_how_often_it_recurs_is_told,
    lines.of_each_line(lines.LINE_REQUIREMENTS),
)

# --- may it be? -----------------------------------------------------------------------------------------


def only_recurring_invoices_recur(draft: Draft) -> Iterator[Issue]:
    if draft.is_recurring:
        return
    for name, label in OF_RECURRING.items():
        if draft.__dict__.get(name) is not None:
            yield Issue("NotAllowed", name, f"{label} is for recurring invoices; IsRecurring is false.")


def it_recurs_until_after_it_began(draft: Draft) -> Iterator[Issue]:
    start, end = draft.recurring_start_date, draft.recurring_end_date
    if draft.is_recurring and start and end and end < start:
        message = f"RecurringEndDate {end} lies before RecurringStartDate {start}."
        yield Issue("OutOfOrder", "recurring_end_date", message)


def credit_needs_its_permission(draft: Draft) -> Iterator[Issue]:
    if draft.permissions is None:
        return
    credited = [line for line in draft.line_items if line.__dict__.get("is_credit_item")]
    if credited and bills.CREDIT_PERMISSION not in draft.permissions:
        message = (
            f"{draft.staff} lacks the permission to administer credit invoices, which credit items need;"
            " name somebody whose role has it."
        )
        yield Issue("PermissionNeeded", "staff", message)


INVOICE_RULES = (
    bills.the_dates_are_in_order,
    only_recurring_invoices_recur,
    it_recurs_until_after_it_began,
    bills.the_staff_member_may_administer_funding_invoices,
    credit_needs_its_permission,
    bills.the_total_can_be_written,
    lines.of_each_line(lines.LINE_RULES),
)
