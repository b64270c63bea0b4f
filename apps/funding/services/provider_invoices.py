"""Creating and updating provider invoices, and approving, rejecting and holding them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.drafts import apply_rules, raise_if_invalid
from apps.base.money import ZERO
from apps.core import archive, history, saving
from apps.funding.choices import ApprovalAction, ApprovalStatus
from apps.funding.drafts import ApprovalDraft, ProviderInvoiceDraft
from apps.funding.models import Claim, ProviderInvoice
from apps.funding.services.effects import CURRENT_CLAIMS, update_claim_flags
from apps.funding.services.transition_changes import Move, record_moves
from apps.funding.services.transition_requests import REASON_LENGTH, RefusedTransition, TransitionResult
from apps.funding.services.transitions import apply_transition
from apps.funding.statuses import ClaimStatus
from apps.funding.validation.provider_invoices import (
    APPROVAL_TRANSITIONS,
    ARCHIVING_RULES,
    ON_HOLD,
    PROVIDER_INVOICE_ACTION_RULES,
    PROVIDER_INVOICE_RULES,
    possible_actions,
)
from apps.funding.validation.transitions import TransitionName
from apps.people.models import Staff

# --- create and update ----------------------------------------------------------------------------------


def create_provider_invoices(drafts: Sequence[ProviderInvoiceDraft]) -> list[UUID]:
    """Store new provider invoices; the staff member who is logged in created them where none is named."""
    saving.apply_model_defaults(ProviderInvoice, drafts)
    author = history.author().staff_id
    for draft in drafts if author is not None else ():
        if "created_by" not in draft.given | draft.invalid:
            draft.fill("created_by", Staff(pk=author))
    saving.validate(ProviderInvoice, drafts, PROVIDER_INVOICE_RULES)
    return saving.insert_records(ProviderInvoice, drafts)


def update_provider_invoices(drafts: Sequence[ProviderInvoiceDraft]) -> list[UUID]:
    """Change what drafts of existing provider invoices give; the keys of those that differed."""
    existing = saving.load_existing(ProviderInvoice, drafts)
    claims = load_current_claims(existing)
    for draft in drafts:
        current = claims.get(draft.key, ())
        draft.existing = existing.get(draft.key)
        draft.claim_numbers = [claim.claim_number for claim in current]
        # What was paid of an original counts with it alone.
        draft.paid = sum((claim.amount_paid - claim.paid_earlier for claim in current), ZERO)
    saving.validate(ProviderInvoice, drafts, PROVIDER_INVOICE_RULES, existing)
    changed = saving.save_changes(ProviderInvoice, drafts, existing)
    if any("is_reusable" in draft.given for draft in drafts):
        update_claim_flags(changed)
    return changed


def load_current_claims(keys: Iterable[UUID]) -> Mapping[UUID, Sequence[Claim]]:
    """The current claims on provider invoices; one query."""
    found: dict[UUID, list[Claim]] = defaultdict(list)
    claims = Claim.objects.filter(CURRENT_CLAIMS, AnyOf("provider_invoice", set(keys))).order_by(
        "claim_number", "pk"
    )
    columns = ("claim_number", "provider_invoice", "funding_status", "status_reason")
    for claim in claims.only(*columns, "amount_paid", "paid_earlier"):
        found[claim.provider_invoice_id].append(claim)
    return found


@transaction.atomic
def archive_provider_invoices(invoices: QuerySet[ProviderInvoice]) -> int:
    """Archive provider invoices on which no unarchived claim is built; how many were current."""
    # Locked until we commit: a claim that is created meanwhile waits, and then finds the invoice archived.
    keys = list(invoices.order_by("pk").select_for_update(of=("self",)).values_list("pk", flat=True))
    claims = Claim.objects.filter(AnyOf("provider_invoice", keys), archive_date=None).order_by("claim_number")
    numbers: dict[UUID, list[str]] = defaultdict(list)
    for key, number in claims.values_list("provider_invoice", "claim_number"):
        numbers[key].append(number)
    drafts = [ProviderInvoiceDraft({"claim_numbers": numbers[key]}, key=key) for key in keys]
    raise_if_invalid(drafts, apply_rules(drafts, ARCHIVING_RULES))
    return archive.archive(invoices)


# --- actions --------------------------------------------------------------------------------------------


@transaction.atomic
def act_on_provider_invoices(keys: Iterable[UUID], draft: ApprovalDraft) -> TransitionResult:
    """Do the action of a draft (``verb``, ``staff``, ``reason``) to provider invoices.

    A hold also holds the claims on them that await approval, and its end releases those. Raises
    ``ValidationFailed`` when the action is possible for none: it needs a reason, or the staff member may not.
    The number of statements is constant.
    """
    raise_if_invalid([draft], apply_rules([draft], PROVIDER_INVOICE_ACTION_RULES))
    action = ApprovalAction(draft.verb)
    draft.fill("reason", (draft.reason or "").strip() or None)
    rows = ProviderInvoice.objects.filter(AnyOf("pk", set(keys))).select_related("provider", "contact")
    invoices = list(rows.select_for_update(of=("self",)).order_by("pk"))
    claims = load_current_claims(invoice.pk for invoice in invoices)
    result, accepted = TransitionResult(), []
    for invoice in invoices:
        refused = find_action_problem(invoice, action, claims.get(invoice.pk, ()))
        if refused is None:
            accepted.append(invoice)
        else:
            result.refused.append(refused)
    save_approval(accepted, action, draft, claims)
    hold_or_release_claims(accepted, draft, claims)
    result.done = [invoice.pk for invoice in accepted]
    return result


def find_approval_refusals(invoices: Iterable[ProviderInvoice], action: ApprovalAction) -> dict[UUID, str]:
    """Why an action would not be possible now, by the keys of those; nothing is locked or changed."""
    records = list(invoices)
    claims = load_current_claims(invoice.pk for invoice in records)
    problems = (find_action_problem(each, action, claims.get(each.pk, ())) for each in records)
    return {problem.key: problem.message for problem in problems if problem is not None}


def find_action_problem(
    invoice: ProviderInvoice, action: ApprovalAction, claims: Sequence[Claim]
) -> RefusedTransition | None:
    """Why an action is not possible for a provider invoice now; ``None`` when it is."""
    transition = APPROVAL_TRANSITIONS[action]
    status = ApprovalStatus(invoice.approval_status)
    if invoice.archive_date is not None:
        code, message = "Archived", f"{invoice} is archived: restore it first."
    elif status not in transition.sources:
        possible = ", ".join(possible_actions(status))
        code = "NotAllowed"
        message = f"{action} cannot be done to {invoice}: it is {status}. Possible: {possible}."
    elif transition.ends_claims and claims:
        named = ", ".join(f"{claim.claim_number} ({claim.get_funding_status_display()})" for claim in claims)
        code = "AlreadyUsed"
        message = f"{action} cannot be done to {invoice} while a claim stands on it: archive {named} first."
    else:
        return None
    return RefusedTransition(invoice.pk, str(invoice), message, code)


def save_approval(
    invoices: Sequence[ProviderInvoice],
    action: ApprovalAction,
    draft: ApprovalDraft,
    claims: Mapping[UUID, Sequence[Claim]],
) -> None:
    """Save the new approval status with its status history and change history."""
    if not invoices:
        return
    target = APPROVAL_TRANSITIONS[action].target
    moves = [
        Move(invoice.pk, str(invoice.approval_status), target.value, draft.reason) for invoice in invoices
    ]
    for invoice in invoices:
        invoice.approval_status = target.value
        invoice.rejection_reason = draft.reason if target == ApprovalStatus.REJECTED else None
        invoice.claim_on_hold = target in ON_HOLD and bool(claims.get(invoice.pk))
        invoice.actioned_by_id = draft.staff.pk
        invoice.actioned_date = clock.now()
    saving.save_records(ProviderInvoice, invoices)
    record_moves("provider_invoice", action.value, draft.staff, moves)


#: The beginning of the reason of claims that are on hold because their provider invoice is.
HOLD_REASON = "Provider invoice on hold"


def hold_or_release_claims(
    invoices: Sequence[ProviderInvoice], draft: ApprovalDraft, claims: Mapping[UUID, Sequence[Claim]]
) -> None:
    """Hold the claims on invoices now on hold, and release those that were held for that reason alone."""
    to_hold, to_release = [], []
    for invoice in invoices:
        for claim in claims.get(invoice.pk, ()):
            has_our_reason = (claim.status_reason or "").startswith(HOLD_REASON)
            if invoice.approval_status in ON_HOLD:
                if claim.funding_status == ClaimStatus.AWAITING_STAFF_APPROVAL:
                    to_hold.append(claim.pk)
            elif claim.funding_status == ClaimStatus.ON_HOLD and has_our_reason:
                to_release.append(claim.pk)
    if to_hold:
        status = ApprovalStatus(invoices[0].approval_status).label
        reason = f"{HOLD_REASON}{status.removeprefix('On hold')}: {draft.reason}"
        apply_transition(Claim, to_hold, TransitionName.HOLD, draft.staff, reason[:REASON_LENGTH])
    if to_release:
        apply_transition(Claim, to_release, TransitionName.RELEASE, draft.staff, draft.reason)
