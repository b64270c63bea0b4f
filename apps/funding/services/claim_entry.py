"""Claims entered together with their provider invoices and the documents of these: all of them, or none."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from django.db import transaction

from apps.base.drafts import (
    Issue,
    ValidationFailed,
    WarningsPresent,
    apply_rules,
    raise_if_invalid,
)
from apps.core import history
from apps.documents.drafts import DocumentDraft
from apps.documents.models import Document
from apps.documents.services import create_documents, update_documents
from apps.funding.drafts import ClaimDraft, InvoiceEntry, ProviderInvoiceDraft
from apps.funding.models import ProviderInvoice
from apps.funding.services.create import SHARED_MEMBERS, create_claims
from apps.funding.services.provider_invoices import create_provider_invoices, update_provider_invoices
from apps.funding.validation.bills import NEW_INVOICE_REQUIREMENTS
from apps.people.models import Staff

#: Members of a claim and of its provider invoice that say the same, as {the claim's: the provider invoice's}.
COMMON_MEMBERS = {
    **SHARED_MEMBERS,
    "start_date": "service_start_date",
    "end_date": "service_end_date",
    "send_payment_to": "send_payment_to",
}
CLAIM_MEMBERS = {invoice: claim for claim, invoice in COMMON_MEMBERS.items()}


@transaction.atomic
def create_claims_with_invoices(drafts: Sequence[ClaimDraft], ignore_warnings: bool = False) -> list[UUID]:
    """Store claims, and first what their drafts say about their provider invoices.

    Raises ``ValidationFailed`` with the issues of all three kinds of records, on the members of the claims.
    """
    issues: list[tuple[int, Issue]] = []
    for number, draft in enumerate(drafts):
        if draft.invoice_entry is not None:
            issues += [(number, issue) for issue in save_provider_invoice(draft, draft.invoice_entry)]
    try:
        keys = create_claims(drafts, ignore_warnings or bool(issues))
    except WarningsPresent:
        raise
    except ValidationFailed as failed:
        found = {(number, issue.field) for number, issue in failed.issues}
        others = [(number, issue) for number, issue in issues if (number, issue.field) not in found]
        raise ValidationFailed([*failed.issues, *others]) from None
    raise_if_invalid(drafts, issues)
    return keys


def save_provider_invoice(claim: ClaimDraft, entry: InvoiceEntry) -> list[Issue]:
    """Create the provider invoice of a claim that names none, or complete the one that it names.

    The issues on the members of the claim; with any of them, the caller has to roll back.
    """
    issues: list[Issue] = []
    members: dict[str, object] = {"invoice_total": entry.total}
    if entry.document is not None:
        try:
            members["document"] = save_document(claim, entry.document)
        except ValidationFailed as failed:
            issues += [issue for _, issue in failed.issues]
    given = {name: value for name, value in members.items() if value is not None}
    try:
        if claim.get("provider_invoice") is not None:
            key = claim.key_of("provider_invoice")
            if given:
                update_provider_invoices([ProviderInvoiceDraft(given, given=given, key=key)])
            return issues
        issues += [issue for _, issue in apply_rules([claim], NEW_INVOICE_REQUIREMENTS)]
        claim.fill("provider_invoice", create_provider_invoice(claim, given))
    except ValidationFailed as failed:
        claim.mark_invalid("provider_invoice")
        issues += [
            replace(issue, field=CLAIM_MEMBERS.get(str(issue.field), issue.field))
            for _, issue in failed.issues
        ]
    return issues


def create_provider_invoice(claim: ClaimDraft, members: dict[str, object]) -> ProviderInvoice:
    common = {name: claim.get(source) for name, source in CLAIM_MEMBERS.items()}
    left_out = dict.fromkeys(("invoice_total", "document"))
    draft = ProviderInvoiceDraft({**left_out, **members, **common}, given=[*members, *common])
    for name in claim.invalid & COMMON_MEMBERS.keys():
        draft.mark_invalid(COMMON_MEMBERS[name])
    (key,) = create_provider_invoices([draft])
    return ProviderInvoice(pk=key)


def save_document(claim: ClaimDraft, document: DocumentDraft | Document) -> Document:
    """The document belongs to the participant and to the provider of the claim, unless it has others."""
    whose = {"contact": claim.get("contact"), "client": claim.get("provider")}
    if isinstance(document, Document):
        lacking = {name: value for name, value in whose.items() if getattr(document, f"{name}_id") is None}
        update_documents([DocumentDraft(lacking, given=lacking, key=document.pk)])
        return document
    for name, value in whose.items():
        document.fill(name, value)
    document.fill("created_by", Staff(pk=history.author().staff_id))
    (key,) = create_documents([document])
    return Document(pk=key)
