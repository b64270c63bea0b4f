"""The transitions that are possible for a bill now, and why others are not."""

from functools import lru_cache

from apps.funding.choices import ADMINISTER_PERMISSION
from apps.funding.statuses import STATUSES
from apps.funding.validation.guards import AnyBill, TransitionContext, lower_first
from apps.funding.validation.transitions import Transition, TransitionName, transitions_of
from apps.people.models import Staff


def missing_permission(transition: Transition, staff: Staff | None) -> str | None:
    """The permission that the role of a person lacks for the transition, in words; the system needs none."""
    if staff is None:
        return None
    if not staff.has_perm(ADMINISTER_PERMISSION):
        return "administer funding invoices"
    permission = transition.permission
    if permission is None or staff.has_perm(f"funding.{permission}"):
        return None
    return lower_first(permission.label.removeprefix("Can "))


@lru_cache(maxsize=64)
def transitions_from(model: type[AnyBill], status: str, is_archived: bool) -> tuple[Transition, ...]:
    """The transitions that start in a status; an archived bill can only be restored."""
    return tuple(
        row
        for row in transitions_of(model)
        if status in row.sources and is_archived == (row.name is TransitionName.RESTORE)
    )


def refusal_reason(transition: Transition, bill: AnyBill, context: TransitionContext) -> str | None:
    """The sentence of the first guard that is against it; ``None`` when none is."""
    return next((reason for guard in transition.guards if (reason := guard(bill, context))), None)


def available_transitions(bill: AnyBill, context: TransitionContext) -> list[Transition]:
    """The transitions that somebody may choose for a bill now."""
    rows = transitions_from(type(bill), bill.funding_status, bill.is_archived)
    return [
        row
        for row in rows
        if not row.by_service
        and missing_permission(row, context.staff) is None
        and refusal_reason(row, bill, context) is None
    ]


def describe_impossible(bill: AnyBill, context: TransitionContext) -> str:
    """The status of a bill that has no such transition, and the transitions that it has."""
    status = lower_first(STATUSES[bill.funding_status].label)
    labels = ", ".join(lower_first(row.label) for row in available_transitions(bill, context))
    possible = f"Possible from there: {labels}." if labels else "Nothing more can be done to it."
    return f"It is archived ({status}). {possible}" if bill.archive_date else f"It is {status}. {possible}"
