"""Rules of claims (interface.md 4.3; decisions.md 6)."""

from __future__ import annotations

from collections.abc import Iterator

from apps.funding.choices import ApprovalStatus
from apps.funding.drafts import BillContext
from apps.funding.validation.bills import (
    LINE_REQUIREMENTS,
    LINE_RULES,
    bill_dates_are_in_order,
    bill_total_fits,
    required,
    staff_may_administer_funding,
)
from apps.odata.write.drafts import Draft, Issue

# --- what a claim must have -----------------------------------------------------------------------------

REQUIRED_MEMBERS = {
    "provider_invoice": "ProviderInvoiceGuid",
    "start_date": "StartDate",
    "end_date": "EndDate",
    "staff": "StaffGuid",
    "line_items": "LineItems",
}
#: Required unless the provider invoice has it: the claim's member, and what the provider invoice calls it.
PROVIDER_INVOICE_MEMBERS = {
    "provider_invoice_reference": ("ProviderInvoiceReference", "reference"),
    "contact": ("ContactGuid", "contact"),
    "provider": ("ProviderGuid", "provider"),
}


def claim_has_its_members(draft: Draft, context: BillContext) -> Iterator[Issue]:
    return required(draft, REQUIRED_MEMBERS)


def claim_has_what_its_provider_invoice_lacks(draft: Draft, context: BillContext) -> Iterator[Issue]:
    if draft.provider_invoice is None:
        return
    for name, (label, lacking) in PROVIDER_INVOICE_MEMBERS.items():
        if name not in draft.invalid and draft.get(name) is None:
            yield Issue("Required", name, f"{label} is required: the provider invoice has no {lacking}.")


CLAIM_REQUIREMENTS = (claim_has_its_members, claim_has_what_its_provider_invoice_lacks, LINE_REQUIREMENTS)

# --- what must hold -------------------------------------------------------------------------------------


def provider_invoice_accepts_claims(draft: Draft, context: BillContext) -> Iterator[Issue]:
    invoice = draft.provider_invoice
    if draft.key is not None and draft.get("previous_provider_invoice_id") == invoice.pk:
        return
    if invoice.is_archived:
        yield Issue("Archived", "provider_invoice", f"The provider invoice {invoice.pk} is archived.")
    elif invoice.approval_status == ApprovalStatus.REJECTED:
        why = f" ({invoice.rejection_reason})" if invoice.rejection_reason else ""
        named = invoice.reference or "without a reference"
        message = f"The provider invoice {named} was rejected{why}; release it before it is claimed."
        yield Issue("NotAllowed", "provider_invoice", message)


def provider_invoice_is_free(draft: Draft, context: BillContext) -> Iterator[Issue]:
    if context.taken_by is not None:
        message = f"The provider invoice is not reusable, and {context.taken_by} is built on it already."
        yield Issue("AlreadyUsed", "provider_invoice", message, lost_race=context.lost_race)


def reference_is_unique_for_the_provider(draft: Draft, context: BillContext) -> Iterator[Issue]:
    if context.reference_owner is not None:
        reference = draft.provider_invoice_reference
        message = f"{reference} is the reference of {context.reference_owner} already."
        yield Issue("NotUnique", "provider_invoice_reference", message)


CLAIM_RULES = (
    provider_invoice_accepts_claims,
    provider_invoice_is_free,
    reference_is_unique_for_the_provider,
    bill_dates_are_in_order,
    staff_may_administer_funding,
    bill_total_fits,
    LINE_RULES,
)
