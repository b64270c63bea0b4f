"""Rules of invoices (interface.md 4.4; decisions.md 6)."""

from __future__ import annotations

from collections.abc import Iterator

from apps.funding.drafts import BillContext
from apps.funding.validation.bills import (
    CREDIT_PERMISSION,
    LINE_REQUIREMENTS,
    LINE_RULES,
    bill_dates_are_in_order,
    bill_total_fits,
    required,
    staff_may_administer_funding,
)
from apps.odata.write.drafts import Draft, Issue

# --- what an invoice must have --------------------------------------------------------------------------

REQUIRED_INVOICE_MEMBERS = {
    "invoice_claim_type": "InvoiceClaimType",
    "start_date": "StartDate",
    "end_date": "EndDate",
    "is_recurring": "IsRecurring",
    "contact": "ContactGuid",
    "staff": "StaffGuid",
    "line_items": "LineItems",
}
REQUIRED_TO_RECUR = {
    "recurring_start_date": "RecurringStartDate",
    "recurring_frequency": "RecurringFrequency",
}
RECURRENCE_MEMBERS = {**REQUIRED_TO_RECUR, "recurring_end_date": "RecurringEndDate"}


def invoice_has_its_members(draft: Draft, context: BillContext) -> Iterator[Issue]:
    return required(draft, REQUIRED_INVOICE_MEMBERS)


def recurring_invoice_has_its_members(draft: Draft, context: BillContext) -> Iterator[Issue]:
    if draft.is_recurring:
        for issue in required(draft, REQUIRED_TO_RECUR):
            message = issue.message.replace(" is required.", " is required: IsRecurring is true.")
            yield Issue(issue.code, issue.field, message)


INVOICE_REQUIREMENTS = (invoice_has_its_members, recurring_invoice_has_its_members, LINE_REQUIREMENTS)

# --- what must hold -------------------------------------------------------------------------------------


def only_recurring_invoices_recur(draft: Draft, context: BillContext) -> Iterator[Issue]:
    if draft.is_recurring:
        return
    for name, label in RECURRENCE_MEMBERS.items():
        if draft.get(name) is not None:
            yield Issue("NotAllowed", name, f"{label} is for recurring invoices; IsRecurring is false.")


def recurrence_ends_after_its_start(draft: Draft, context: BillContext) -> Iterator[Issue]:
    start, end = draft.recurring_start_date, draft.recurring_end_date
    if draft.is_recurring and start and end and end < start:
        message = f"RecurringEndDate {end} lies before RecurringStartDate {start}."
        yield Issue("OutOfOrder", "recurring_end_date", message)


def staff_may_credit(draft: Draft, context: BillContext) -> Iterator[Issue]:
    if context.permissions is None or CREDIT_PERMISSION in context.permissions:
        return
    if any(line.get("is_credit_item") for line in draft.line_items):
        message = (
            f"{draft.staff} lacks the permission to administer credit invoices, which credit items need;"
            " name somebody whose role has it."
        )
        yield Issue("PermissionNeeded", "staff", message)


INVOICE_RULES = (
    bill_dates_are_in_order,
    only_recurring_invoices_recur,
    recurrence_ends_after_its_start,
    staff_may_administer_funding,
    staff_may_credit,
    bill_total_fits,
    LINE_RULES,
)
