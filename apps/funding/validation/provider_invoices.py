"""What must be true of provider invoices, and what may be decided about them (decisions.md 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apps.funding.choices import ApprovalAction, ApprovalStatus
from apps.funding.validation.bills import ADMINISTER_PERMISSION
from apps.odata.write.drafts import Draft, Issue

# --- the record -----------------------------------------------------------------------------------------


def it_is_of_something(draft: Draft) -> Iterator[Issue]:
    if not (draft.reference or draft.contact or draft.provider or draft.document):
        yield Issue(
            "Required", "reference", "Give a reference, a contact, a provider or a document: one at least."
        )


def services_end_after_they_start(draft: Draft) -> Iterator[Issue]:
    start, end = draft.service_start_date, draft.service_end_date
    if start and end and end < start:
        yield Issue("OutOfOrder", "service_end_date", f"The services end on {end}, before {start}.")


def the_total_is_not_negative(draft: Draft) -> Iterator[Issue]:
    if draft.invoice_total is not None and draft.invoice_total < 0:
        yield Issue("OutOfRange", "invoice_total", f"A total is not negative: {draft.invoice_total:,.2f}.")


def its_document_is_current(draft: Draft) -> Iterator[Issue]:
    """An archived document is chosen by mistake; one that was archived afterwards may stay."""
    document = draft.document
    if document is None or document.archive_date is None:
        return
    standing = draft.__dict__.get("standing")
    if standing is None or standing.document_id != document.pk:
        message = f"The document {document.pk} is archived. Restore it, or name another."
        yield Issue("Archived", "document", message)


def claims_on_it_keep_their_claim_to_it(draft: Draft) -> Iterator[Issue]:
    """Whether it is reusable decides whether its claim holds it alone, so it is settled with the claim."""
    standing, numbers = draft.__dict__.get("standing"), draft.__dict__.get("claim_numbers")
    if standing is not None and numbers and standing.is_reusable != draft.is_reusable:
        message = f"{', '.join(numbers[:3])} is built on it: whether it is reusable cannot be changed now."
        yield Issue("NotAllowed", "is_reusable", message)


PROVIDER_INVOICE_RULES = (
    it_is_of_something,
    services_end_after_they_start,
    the_total_is_not_negative,
    its_document_is_current,
    claims_on_it_keep_their_claim_to_it,
)

# --- what is decided about it ---------------------------------------------------------------------------

ON_HOLD = frozenset({ApprovalStatus.ON_HOLD_BY_CLIENT, ApprovalStatus.ON_HOLD_BY_PLAN_MANAGER})


@dataclass(frozen=True, slots=True)
class ApprovalTransition:
    """What an action makes of a provider invoice, and from which statuses it can be taken.

    ``ends_claims`` are actions that no live claim on the invoice can outlast.
    """

    sources: frozenset[ApprovalStatus]
    target: ApprovalStatus
    needs_reason: bool = False
    ends_claims: bool = False


#: A rejection can be taken back: the reference is taken, so the paper could not be entered again.
APPROVAL_TRANSITIONS = {
    ApprovalAction.APPROVE: ApprovalTransition(
        frozenset({ApprovalStatus.UNACTIONED, *ON_HOLD}), ApprovalStatus.APPROVED
    ),
    ApprovalAction.REJECT: ApprovalTransition(
        frozenset({ApprovalStatus.UNACTIONED, ApprovalStatus.APPROVED, *ON_HOLD}),
        ApprovalStatus.REJECTED,
        needs_reason=True,
        ends_claims=True,
    ),
    ApprovalAction.HOLD_BY_CLIENT: ApprovalTransition(
        frozenset(
            {ApprovalStatus.UNACTIONED, ApprovalStatus.APPROVED, ApprovalStatus.ON_HOLD_BY_PLAN_MANAGER}
        ),
        ApprovalStatus.ON_HOLD_BY_CLIENT,
        needs_reason=True,
    ),
    ApprovalAction.HOLD_BY_PLAN_MANAGER: ApprovalTransition(
        frozenset({ApprovalStatus.UNACTIONED, ApprovalStatus.APPROVED, ApprovalStatus.ON_HOLD_BY_CLIENT}),
        ApprovalStatus.ON_HOLD_BY_PLAN_MANAGER,
        needs_reason=True,
    ),
    ApprovalAction.RELEASE: ApprovalTransition(
        frozenset({ApprovalStatus.REJECTED, *ON_HOLD}), ApprovalStatus.UNACTIONED
    ),
}


def possible_actions(status: str) -> Sequence[ApprovalAction]:
    """The actions that can be taken from an approval status, in the order they are documented."""
    return [action for action, transition in APPROVAL_TRANSITIONS.items() if status in transition.sources]


def the_action_is_known(draft: Draft) -> Iterator[Issue]:
    if draft.verb not in ApprovalAction.values:
        yield Issue("NotAChoice", "verb", f"Action must be one of {', '.join(ApprovalAction.values)}.")


def the_reason_is_told(draft: Draft) -> Iterator[Issue]:
    transition = APPROVAL_TRANSITIONS.get(draft.verb)
    if transition is not None and transition.needs_reason and not (draft.reason or "").strip():
        yield Issue("Required", "reason", f"{draft.verb} needs a reason.")


def who_acts_may(draft: Draft) -> Iterator[Issue]:
    if draft.staff is None:
        yield Issue("Required", "staff", "Say which staff member decides.")
    elif not draft.staff.is_active:
        message = f"The login of {draft.staff} is closed, so nothing can be decided in their name."
        yield Issue("PermissionNeeded", "staff", message)
    elif not draft.staff.has_perm(ADMINISTER_PERMISSION):
        message = (
            f"{draft.staff} lacks the permission to view/administer funding invoices; name somebody"
            " whose role has it."
        )
        yield Issue("PermissionNeeded", "staff", message)


PROVIDER_INVOICE_ACTION_RULES = (the_action_is_known, the_reason_is_told, who_acts_may)
