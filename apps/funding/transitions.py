"""The conditions of transitions beyond their tables (statuses.py), and which transitions a bill may take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from apps.core.models import Subscriber
from apps.funding.choices import ApprovalStatus, InvoiceClaimType
from apps.funding.models import Claim, Invoice, ProviderInvoice
from apps.funding.statuses import RESUBMITTABLE, STATUSES, TRANSITIONS, Transition, TransitionName
from apps.people.models import Staff

AnyBill = Claim | Invoice


@dataclass(frozen=True, slots=True)
class Facts:
    """What guards ask beside the bill itself; by the key of a bill, or of a provider invoice.

    ``takers``: (key, number) of the claim that holds a provider invoice alone. ``resubmissions``: the number
    of what a bill was resubmitted as. ``resubmitted``: what was resubmitted.
    """

    by: Staff | None = None
    settings: Subscriber = field(default_factory=Subscriber)
    provider_invoices: Mapping[UUID, ProviderInvoice] = field(default_factory=dict)
    takers: dict[UUID, tuple[UUID, str]] = field(default_factory=dict)
    resubmissions: dict[UUID, str] = field(default_factory=dict)
    resubmitted: Mapping[UUID, AnyBill] = field(default_factory=dict)


#: Why a bill cannot go this way, in a sentence; ``None`` when it can. The docstring is the condition.
Guard = Callable[[Any, Facts], str | None]


# --- guards ---------------------------------------------------------------------------------------------


def four_eyes(bill: AnyBill, facts: Facts) -> str | None:
    """with "four eyes", not by who entered it"""
    if facts.by is None or not facts.settings.four_eyes or facts.by.pk != bill.entered_by_id:
        return None
    return "You entered it yourself: with four eyes, somebody else approves it."


def provider_invoice_allows_it(bill: Claim, facts: Facts) -> str | None:
    """its provider invoice is neither on hold nor rejected"""
    if not isinstance(bill, Claim):
        return None
    paper = facts.provider_invoices[bill.provider_invoice_id]
    status = ApprovalStatus(paper.approval_status)
    if status in (ApprovalStatus.ON_HOLD_BY_CLIENT, ApprovalStatus.ON_HOLD_BY_PLAN_MANAGER):
        return f"Its provider invoice {paper.reference} is {low(status.label)}: release that first."
    if status is ApprovalStatus.REJECTED:
        return f"Its provider invoice {paper.reference} was rejected: archive the claim."
    return None


def goes_to_the_agency(bill: Any, facts: Facts) -> str | None:
    """claims, and invoices to the agency"""
    if isinstance(bill, Claim) or bill.invoice_claim_type == InvoiceClaimType.INVOICE_TO_AGENCY:
        return None
    return "It goes to the client, not to the agency: send it."


def goes_to_the_client(bill: Invoice, facts: Facts) -> str | None:
    """invoices to the client"""
    if bill.invoice_claim_type == InvoiceClaimType.INVOICE_TO_CLIENT:
        return None
    return "It goes to the agency, not to the client: claim it from the agency."


def a_payment_provider_is_used(bill: AnyBill, facts: Facts) -> str | None:
    """where the subscriber submits claims to a payment provider"""
    if facts.settings.payment_provider_module:
        return None
    return "No payment provider is used here (subscriber settings): claim it from the agency."


def is_not_resubmitted(bill: AnyBill, facts: Facts) -> str | None:
    """not resubmitted already"""
    number = facts.resubmissions.get(bill.pk)
    return number and f"It was resubmitted as {number}: go on with that one."


def something_is_open(bill: AnyBill, facts: Facts) -> str | None:
    """something of it is not paid"""
    return None if bill.total != bill.amount_paid else "Nothing of it is open: all of it was paid."


def no_resubmission_hangs_between(bill: AnyBill, facts: Facts) -> str | None:
    """not between an older one and one that resubmits it in turn"""
    number = facts.resubmissions.get(bill.pk)
    if number is None or bill.resubmission_of_id is None:
        return None
    return f"It resubmits an older one and was resubmitted as {number}: archive {number} first."


def what_it_resubmits_still_waits_for_it(bill: AnyBill, facts: Facts) -> str | None:
    """what it resubmits still stands where it stood, and was not resubmitted again"""
    old = facts.resubmitted.get(bill.resubmission_of_id) if bill.resubmission_of_id else None
    if old is None:
        return None
    if old.archive_date is not None and old.resubmission_of_id is not None:
        return f"{old}, which it resubmits, is archived: restore that one first."
    if number := facts.resubmissions.get(old.pk):
        return f"{old}, which it resubmits, was resubmitted again as {number}."
    if old.funding_status not in RESUBMITTABLE:
        return f"{old}, which it resubmits, is now {low(STATUSES[old.funding_status].label)}."
    return None


def its_provider_invoice_is_free(bill: Any, facts: Facts) -> str | None:
    """no other claim has its provider invoice meanwhile"""
    if not isinstance(bill, Claim) or bill.pk in facts.resubmissions:
        return None
    taker = facts.takers.get(bill.provider_invoice_id)
    if taker is None or taker[0] in (bill.pk, bill.resubmission_of_id):
        return None
    return f"Its provider invoice is meanwhile claimed by {taker[1]}: archive that one first."


def low(label: Any) -> str:
    """A label within a sentence."""
    text = str(label)
    return text[:1].lower() + text[1:]


GUARDS: Mapping[TransitionName, tuple[Guard, ...]] = {
    TransitionName.APPROVE: (four_eyes, provider_invoice_allows_it),
    TransitionName.CLAIM: (goes_to_the_agency,),
    TransitionName.SUBMIT: (goes_to_the_agency, a_payment_provider_is_used),
    TransitionName.PAY_THE_REST: (is_not_resubmitted,),
    TransitionName.WRITE_OFF: (is_not_resubmitted,),
    TransitionName.RESUBMIT: (is_not_resubmitted,),
    TransitionName.RESUBMIT_GAP: (is_not_resubmitted, something_is_open),
    TransitionName.SEND: (goes_to_the_client,),
    TransitionName.ARCHIVE: (no_resubmission_hangs_between,),
    TransitionName.RESTORE: (what_it_resubmits_still_waits_for_it, its_provider_invoice_is_free),
}


# --- reading it -----------------------------------------------------------------------------------------


def transitions_of(model: type[AnyBill]) -> list[Transition]:
    """The rows for claims, or for invoices."""
    return [row for row in TRANSITIONS if model is Invoice or not row.invoices_only]


def leaving(bill: AnyBill) -> Iterator[Transition]:
    """The rows that start where a bill stands; of an archived one only its restoring."""
    for row in transitions_of(type(bill)):
        is_restore = row.name is TransitionName.RESTORE
        if bill.funding_status in row.sources and (bill.archive_date is not None) == is_restore:
            yield row


def refusal(row: Transition, bill: AnyBill, facts: Facts) -> str | None:
    """What the first of the row's guards says against it; ``None`` when none does."""
    return next((said for guard in GUARDS.get(row.name, ()) if (said := guard(bill, facts))), None)


def transitions_from(bill: AnyBill, facts: Facts) -> list[Transition]:
    """The rows that a bill may take now."""
    return [row for row in leaving(bill) if refusal(row, bill, facts) is None]


def where(bill: AnyBill) -> str:
    """Where a bill stands, within a sentence."""
    status = low(STATUSES[bill.funding_status].label)
    return f"archived ({status})" if bill.archive_date is not None else status


def what_can_be_done(bill: AnyBill, facts: Facts) -> str:
    verbs = ", ".join(low(row.label) for row in transitions_from(bill, facts))
    return f"Possible from there: {verbs}." if verbs else "Nothing more can be done to it."
