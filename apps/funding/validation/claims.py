"""What must be true of claims (interface.md 4.3; decisions.md 6)."""

from __future__ import annotations

from collections.abc import Iterator

from apps.funding.choices import ApprovalStatus
from apps.funding.validation import bills, lines
from apps.odata.write.drafts import Draft, Issue

# --- is it all there? -----------------------------------------------------------------------------------

NEEDED = {
    "provider_invoice": "ProviderInvoiceGuid",
    "start_date": "StartDate",
    "end_date": "EndDate",
    "staff": "StaffGuid",
    "line_items": "LineItems",
}
TAKEN = {
    "provider_invoice_reference": ("ProviderInvoiceReference", "reference"),
    "contact": ("ContactGuid", "contact"),
    "provider": ("ProviderGuid", "provider"),
}


def what_a_claim_needs_is_told(draft: Draft) -> Iterator[Issue]:
    return bills.missing(draft, NEEDED)


def what_the_provider_invoice_lacks_is_told(draft: Draft) -> Iterator[Issue]:
    if draft.provider_invoice is None:
        return
    for name, (label, lacking) in TAKEN.items():
        if name not in draft.invalid and draft.__dict__.get(name) is None:
            yield Issue("Required", name, f"{label} is required: the provider invoice has no {lacking}.")


CLAIM_REQUIREMENTS = (
    what_a_claim_needs_is_told,
    what_the_provider_invoice_lacks_is_told,
    lines.of_each_line(lines.LINE_REQUIREMENTS),
)

# --- may it be? -----------------------------------------------------------------------------------------


def the_provider_invoice_is_open(draft: Draft) -> Iterator[Issue]:
    paper = draft.provider_invoice
    if draft.key is not None and draft.stands_on == paper.pk:
        return
    if paper.is_archived:
        yield Issue("Archived", "provider_invoice", f"The provider invoice {paper.pk} is archived.")
    elif paper.approval_status == ApprovalStatus.REJECTED:
        why = f" ({paper.rejection_reason})" if paper.rejection_reason else ""
        named = paper.reference or "without a reference"
        message = f"The provider invoice {named} was rejected{why}; release it before it is claimed."
        yield Issue("NotAllowed", "provider_invoice", message)


def the_provider_invoice_is_unused(draft: Draft) -> Iterator[Issue]:
    if draft.used_by is not None:
        message = f"The provider invoice is not reusable, and {draft.used_by} is built on it already."
        yield Issue("AlreadyUsed", "provider_invoice", message, lost_race=draft.is_lost)


def the_reference_is_the_provider_invoices_alone(draft: Draft) -> Iterator[Issue]:
    if draft.reference_of is not None:
        message = f"{draft.provider_invoice_reference} is the reference of {draft.reference_of} already."
        yield Issue("NotUnique", "provider_invoice_reference", message)


CLAIM_RULES = (
    the_provider_invoice_is_open,
    the_provider_invoice_is_unused,
    the_reference_is_the_provider_invoices_alone,
    bills.the_dates_are_in_order,
    bills.the_staff_member_may_administer_funding_invoices,
    bills.the_total_can_be_written,
    lines.of_each_line(lines.LINE_RULES),
)
