"""Rules of provider invoices, and the actions that approve, reject or hold them."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from apps.base.drafts import Issue, Rule
from apps.funding.choices import ADMINISTER_PERMISSION, ApprovalAction, ApprovalStatus
from apps.funding.drafts import ApprovalDraft, ProviderInvoiceDraft
from apps.funding.validation.bills import LACKS_PERMISSION

# --- provider invoices ------------------------------------------------------------------------------------


def provider_invoice_has_content(draft: ProviderInvoiceDraft) -> Iterator[Issue]:
    if not (draft.reference or draft.contact or draft.provider or draft.document):
        yield Issue(
            "Required", "reference", "Give a reference, a contact, a provider or a document: one at least."
        )


def service_dates_are_in_order(draft: ProviderInvoiceDraft) -> Iterator[Issue]:
    start, end = draft.service_start_date, draft.service_end_date
    if start and end and end < start:
        yield Issue("OutOfOrder", "service_end_date", f"The services end on {end}, before {start}.")


def invoice_total_is_not_negative(draft: ProviderInvoiceDraft) -> Iterator[Issue]:
    if draft.invoice_total is not None and draft.invoice_total < 0:
        advice = "a credit note changes the claim of the invoice that it credits"
        message = f"A total is not negative: {draft.invoice_total:,.2f}; {advice}."
        yield Issue("OutOfRange", "invoice_total", message)


def document_is_not_archived(draft: ProviderInvoiceDraft) -> Iterator[Issue]:
    """An archived document is a mistake; one that was archived afterwards may stay."""
    document = draft.document
    if document is None or document.archive_date is None:
        return
    existing = draft.existing
    if existing is None or existing.document_id != document.pk:
        message = f"The document {document.pk} is archived. Restore it, or name another."
        yield Issue("Archived", "document", message)


def reusable_is_fixed_by_claims(draft: ProviderInvoiceDraft) -> Iterator[Issue]:
    """Its claims took it, or did not, by whether it was reusable: this cannot change under them."""
    existing, numbers = draft.existing, draft.claim_numbers
    if existing is not None and numbers and existing.is_reusable != draft.is_reusable:
        message = f"{', '.join(numbers[:3])} is built on it: whether it is reusable cannot be changed now."
        yield Issue("NotAllowed", "is_reusable", message)


def invoice_total_covers_what_was_paid(draft: ProviderInvoiceDraft) -> Iterator[Issue]:
    existing, paid, total = draft.existing, draft.paid, draft.invoice_total
    if existing is None or total is None or total == existing.invoice_total or total >= paid:
        return
    paid_with = f"{paid:,.2f} of it were paid with {', '.join(draft.claim_numbers[:3])}"
    yield Issue("NotAllowed", "invoice_total", f"{paid_with}: the total is never less.")


def who_entered_it_stays(draft: ProviderInvoiceDraft) -> Iterator[Issue]:
    if draft.existing is None or "created_by" not in draft.given:
        return
    if draft.key_of("created_by") != draft.existing.created_by_id:
        yield Issue("NotAllowed", "created_by", "Who entered it is a fact: leave it out.")


PROVIDER_INVOICE_RULES: tuple[Rule[ProviderInvoiceDraft], ...] = (
    provider_invoice_has_content,
    service_dates_are_in_order,
    invoice_total_is_not_negative,
    document_is_not_archived,
    reusable_is_fixed_by_claims,
    invoice_total_covers_what_was_paid,
    who_entered_it_stays,
)


def no_claim_is_built_on_it(draft: ProviderInvoiceDraft) -> Iterator[Issue]:
    if draft.claim_numbers:
        yield Issue("AlreadyUsed", "", "A claim is built on it: archive the claim first.")


#: Of provider invoices that are archived.
ARCHIVING_RULES: tuple[Rule[ProviderInvoiceDraft], ...] = (no_claim_is_built_on_it,)

# --- actions -------------------------------------------------------------------------------------------

S = ApprovalStatus

ON_HOLD = frozenset({S.ON_HOLD_BY_CLIENT, S.ON_HOLD_BY_PLAN_MANAGER})


@dataclass(frozen=True, slots=True)
class ApprovalTransition:
    """The statuses from which an action is possible, and the status it leads to.

    ``ends_claims``: the action is not possible while a current claim is built on the provider invoice.
    """

    sources: Collection[ApprovalStatus]
    target: ApprovalStatus
    needs_reason: bool = False
    ends_claims: bool = False


#: A rejection can be undone: the reference is in use, so the invoice could not be entered again.
APPROVAL_TRANSITIONS = {
    ApprovalAction.APPROVE: ApprovalTransition({S.UNACTIONED, *ON_HOLD}, S.APPROVED),
    ApprovalAction.REJECT: ApprovalTransition(
        {S.UNACTIONED, S.APPROVED, *ON_HOLD}, S.REJECTED, needs_reason=True, ends_claims=True
    ),
    ApprovalAction.HOLD_BY_CLIENT: ApprovalTransition(
        {S.UNACTIONED, S.APPROVED, S.ON_HOLD_BY_PLAN_MANAGER}, S.ON_HOLD_BY_CLIENT, needs_reason=True
    ),
    ApprovalAction.HOLD_BY_PLAN_MANAGER: ApprovalTransition(
        {S.UNACTIONED, S.APPROVED, S.ON_HOLD_BY_CLIENT}, S.ON_HOLD_BY_PLAN_MANAGER, needs_reason=True
    ),
    ApprovalAction.RELEASE: ApprovalTransition({S.REJECTED, *ON_HOLD}, S.UNACTIONED),
}


def possible_actions(status: str) -> Sequence[ApprovalAction]:
    """The actions that are possible in an approval status, in the order in which they are documented."""
    return [action for action, transition in APPROVAL_TRANSITIONS.items() if status in transition.sources]


def action_and_its_reason_are_given(draft: ApprovalDraft) -> Iterator[Issue]:
    if draft.verb not in ApprovalAction.values:
        yield Issue("NotAChoice", "verb", f"Action must be one of {', '.join(ApprovalAction.values)}.")
        return
    transition = APPROVAL_TRANSITIONS[ApprovalAction(draft.verb)]
    if transition.needs_reason and not (draft.reason or "").strip():
        yield Issue("Required", "reason", f"{draft.verb} needs a reason.")


def staff_may_act(draft: ApprovalDraft) -> Iterator[Issue]:
    if draft.staff is None:
        yield Issue("Required", "staff", "Say which staff member decides.")
    elif not draft.staff.is_active:
        message = f"The login of {draft.staff} is closed, so nothing can be decided in their name."
        yield Issue("PermissionNeeded", "staff", message)
    elif not draft.staff.has_perm(ADMINISTER_PERMISSION):
        yield Issue("PermissionNeeded", "staff", f"{draft.staff} {LACKS_PERMISSION}")


PROVIDER_INVOICE_ACTION_RULES: tuple[Rule[ApprovalDraft], ...] = (
    action_and_its_reason_are_given,
    staff_may_act,
)
