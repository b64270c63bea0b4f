"""The verbs by which provider invoices come in, change, and are decided about (decisions.md 7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.core import history, saving
from apps.funding.choices import ApprovalAction, ApprovalStatus, ClaimStatus
from apps.funding.models import Claim, ProviderInvoice
from apps.funding.services.claim_effects import LIVE_CLAIMS, update_claim_flags
from apps.funding.services.transitions import REASON_LENGTH, apply_transition, record_moves
from apps.funding.statuses import TransitionName
from apps.funding.validation.provider_invoices import (
    APPROVAL_TRANSITIONS,
    ON_HOLD,
    PROVIDER_INVOICE_ACTION_RULES,
    PROVIDER_INVOICE_RULES,
    ApprovalTransition,
    possible_actions,
)
from apps.odata import clock
from apps.odata.any_of import AnyOf
from apps.odata.write.drafts import Draft, apply_rules, raise_if_invalid
from apps.people.models import Staff

# --- the records ----------------------------------------------------------------------------------------


def create_provider_invoices(drafts: Sequence[Draft]) -> list[Any]:
    """Store new provider invoices; their keys in the order of the drafts. ``Refused`` tells all faults.

    Who signed in is who entered them where nobody is named.
    """
    saving.apply_model_defaults(ProviderInvoice, drafts)
    author = history.author().staff_id
    for draft in drafts if author is not None else ():
        if "created_by" not in draft.given | draft.invalid:
            draft.fill("created_by", Staff(pk=author))
    saving.validate(ProviderInvoice, drafts, PROVIDER_INVOICE_RULES)
    return saving.insert_records(ProviderInvoice, drafts)


def update_provider_invoices(drafts: Sequence[Draft]) -> list[Any]:
    """Change what drafts of standing provider invoices give; the keys of those that were not so already."""
    standing = saving.load_existing(ProviderInvoice, drafts)
    claims = load_live_claims(standing)
    for draft in drafts:
        draft.fill("standing", standing.get(draft.key))
        draft.fill("claim_numbers", [claim.claim_number for claim in claims.get(draft.key, ())])
    saving.validate(ProviderInvoice, drafts, PROVIDER_INVOICE_RULES)
    changed = saving.save_changes(ProviderInvoice, drafts, standing)
    if any("is_reusable" in draft.given for draft in drafts):
        update_claim_flags(changed)
    return changed


def load_live_claims(keys: Iterable[UUID]) -> Mapping[UUID, Sequence[Claim]]:
    """The live claims that stand on provider invoices; one query."""
    found: dict[UUID, list[Claim]] = defaultdict(list)
    column = Claim._meta.get_field("provider_invoice")
    claims = Claim.objects.filter(LIVE_CLAIMS, AnyOf(column, set(keys))).order_by("claim_number", "pk")
    for claim in claims.only("claim_number", "provider_invoice", "funding_status", "status_reason"):
        found[claim.provider_invoice_id].append(claim)
    return found


# --- what is decided about them -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Refusal:
    """A provider invoice that an action cannot be taken on, and why, in a sentence that says what can."""

    key: UUID
    label: str
    code: str
    message: str


@dataclass(slots=True)
class ActionResult:
    """What became of an action on many: the keys of those it was taken on, and the others."""

    done: list[UUID] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)


@transaction.atomic
def act_on_provider_invoices(keys: Iterable[UUID], draft: Draft) -> ActionResult:
    """Take the action of a draft (``verb``, ``staff``, ``reason``) on provider invoices.

    A hold holds the claims on them that await approval; when it ends, those go on. Raises
    ``ValidationFailed`` when the action could be taken on none: it needs a reason, the staff member may not.
    Statements are constant in the number of invoices.
    """
    raise_if_invalid([draft], apply_rules([draft], PROVIDER_INVOICE_ACTION_RULES))
    action = ApprovalAction(draft.verb)
    draft.fill("reason", (draft.reason or "").strip() or None)
    key = ProviderInvoice._meta.pk
    assert key is not None
    rows = ProviderInvoice.objects.filter(AnyOf(key, set(keys))).select_related("provider", "contact")
    invoices = list(rows.select_for_update(of=("self",)).order_by("pk"))
    claims = load_live_claims(invoice.pk for invoice in invoices)
    result, moved = ActionResult(), []
    for invoice in invoices:
        refusal = why_not(invoice, action, claims.get(invoice.pk, ()))
        if refusal is None:
            moved.append(invoice)
        else:
            result.refused.append(refusal)
    decide(moved, action, draft, claims)
    take_along(moved, draft, claims)
    result.done = [invoice.pk for invoice in moved]
    return result


def why_not(invoice: ProviderInvoice, action: ApprovalAction, claims: Sequence[Claim]) -> Refusal | None:
    """Why an action cannot be taken on a provider invoice as it stands; ``None`` when it can."""
    transition = APPROVAL_TRANSITIONS[action]
    status = ApprovalStatus(invoice.approval_status)
    if invoice.archive_date is not None:
        return Refusal(invoice.pk, str(invoice), "Archived", f"{invoice} is archived: restore it first.")
    if status not in transition.sources:
        possible = ", ".join(possible_actions(status))
        message = f"{action} cannot be done to {invoice}: it is {status}. Possible: {possible}."
        return Refusal(invoice.pk, str(invoice), "NotAllowed", message)
    if transition.ends_claims and claims:
        named = ", ".join(f"{claim.claim_number} ({claim.get_funding_status_display()})" for claim in claims)
        message = f"{action} cannot be done to {invoice} while a claim stands on it: archive {named} first."
        return Refusal(invoice.pk, str(invoice), "AlreadyUsed", message)
    return None


def decide(
    invoices: Sequence[ProviderInvoice],
    action: ApprovalAction,
    draft: Draft,
    claims: Mapping[UUID, Sequence[Claim]],
) -> None:
    """Write what was decided: on the records, among their moves, in their history."""
    if not invoices:
        return
    transition: ApprovalTransition = APPROVAL_TRANSITIONS[action]
    moves = [(invoice.pk, str(invoice.approval_status)) for invoice in invoices]
    for invoice in invoices:
        invoice.approval_status = transition.target.value
        invoice.rejection_reason = draft.reason if transition.target == ApprovalStatus.REJECTED else None
        invoice.claim_on_hold = transition.target in ON_HOLD and bool(claims.get(invoice.pk))
        invoice.actioned_by_id = draft.staff.pk
        invoice.actioned_date = clock.now()
    saving.update(
        ProviderInvoice,
        ("approval_status", "rejection_reason", "claim_on_hold", "actioned_by_id", "actioned_date"),
        invoices,
    )
    history.write_changes(
        ProviderInvoice, [(invoice.pk, "Changed", history.differences(invoice)) for invoice in invoices]
    )
    rows = [(key, before, transition.target.value) for key, before in moves]
    record_moves("provider_invoice", rows, action.value, draft.reason, draft.staff)


#: How the reason begins of a claim that is on hold because its provider invoice is.
HOLD_REASON = "Provider invoice on hold"


def take_along(
    invoices: Sequence[ProviderInvoice],
    draft: Draft,
    claims: Mapping[UUID, Sequence[Claim]],
) -> None:
    """Hold the claims on invoices that are on hold now; let go those that were held because one was.

    Who held a claim for another reason lets it go again as well.
    """
    held, let_go = [], []
    for invoice in invoices:
        for claim in claims.get(invoice.pk, ()):
            if invoice.approval_status in ON_HOLD:
                if claim.funding_status == ClaimStatus.AWAITING_STAFF_APPROVAL:
                    held.append(claim.pk)
            elif is_held_with_it(claim):
                let_go.append(claim.pk)
    if held:
        status = ApprovalStatus(invoices[0].approval_status).label
        reason = f"{HOLD_REASON}{status.removeprefix('On hold')}: {draft.reason}"
        apply_transition(Claim, held, TransitionName.HOLD, draft.staff, reason[:REASON_LENGTH])
    if let_go:
        apply_transition(Claim, let_go, TransitionName.RELEASE, draft.staff, draft.reason)


def is_held_with_it(claim: Claim) -> bool:
    """Whether a claim is on hold for no other reason than that its provider invoice was."""
    return claim.funding_status == ClaimStatus.ON_HOLD and (claim.status_reason or "").startswith(HOLD_REASON)
