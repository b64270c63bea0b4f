"""The verbs by which claims and invoices enter the records (interface.md 4.3, 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from apps.core import history, storing
from apps.funding import claim_rules, invoice_rules
from apps.funding.models import (
    Claim,
    ClaimLine,
    Invoice,
    InvoiceLine,
    ProviderInvoice,
)
from apps.funding.numbering import take_numbers
from apps.funding.settling import TAKEN, settle_claims, settle_invoices
from apps.funding.standing import look_up_claims, look_up_permissions
from apps.odata.drafts import Draft


@transaction.atomic
def submit_claims(drafts: Sequence[Draft], ignore_warnings: bool = False) -> list[Any]:
    """Store new claims; their keys in the order of the drafts.

    Raises ``Refused`` with all that the rules find, and ``Warned`` with what is seldom meant unless warnings
    are ignored; then they are stored as acknowledged.
    """
    settle_claims(drafts)
    look_up_claims(drafts)
    storing.hold(Claim, drafts, claim_rules.COMPLETE, claim_rules.RULES)
    take_numbers(Claim, drafts)
    keys = storing.store(Claim, drafts, {"entered_by": entered_by})
    store_lines(ClaimLine, "claim", drafts, keys)
    complete_provider_invoices(drafts)
    return keys


@transaction.atomic
def issue_invoices(drafts: Sequence[Draft], ignore_warnings: bool = False) -> list[Any]:
    """Store new invoices; their keys in the order of the drafts. Raises as ``submit_claims`` does."""
    settle_invoices(drafts)
    look_up_permissions(drafts)
    storing.hold(Invoice, drafts, invoice_rules.COMPLETE, invoice_rules.RULES)
    take_numbers(Invoice, drafts)
    keys = storing.store(Invoice, drafts, {"entered_by": entered_by})
    store_lines(InvoiceLine, "invoice", drafts, keys)
    return keys


def entered_by(draft: Draft) -> Any:
    """Who sat at the keyboard; of what an application sent, who is in charge."""
    return history.author().staff_id or draft.staff.pk


def store_lines(
    model: type[ClaimLine | InvoiceLine], bill: str, drafts: Sequence[Draft], keys: Sequence[Any]
) -> None:
    """Store the lines of bills just stored, in their order."""
    lines: list[Draft] = []
    for draft, key in zip(drafts, keys, strict=True):
        for position, line in enumerate(draft.line_items):
            held = line.__dict__
            held["position"], held["bill_key"] = position, key
            lines.append(line)
    storing.insert_rows(model, lines, {bill: lambda line: line.__dict__["bill_key"]})


def complete_provider_invoices(drafts: Sequence[Draft]) -> None:
    """Write what single-use provider invoices lack and their claims say back to them, with history."""
    changed: dict[tuple[str, ...], list[Any]] = {}
    for draft in drafts:
        paper: ProviderInvoice = draft.provider_invoice
        if paper.is_reusable:
            continue
        for name, source in TAKEN.items():
            if getattr(paper, source) is None:
                setattr(paper, source, draft.__dict__[name])
        names = tuple(history.differences(paper))
        if names:
            changed.setdefault(names, []).append(paper)
    for names, papers in changed.items():
        storing.update(ProviderInvoice, names, papers)
    entries = [
        (paper.pk, "Changed", history.differences(paper)) for papers in changed.values() for paper in papers
    ]
    if entries:
        history.write(ProviderInvoice, entries)
