"""What must be true of claims and invoices alike (interface.md 4.3, 4.4, 5)."""

from __future__ import annotations

from collections.abc import Iterator

from apps.funding.validation.lines import MOST
from apps.odata.write.drafts import Draft, Issue

ADMINISTER_PERMISSION = "funding.administer_funding_invoices"
CREDIT_PERMISSION = "funding.administer_credit_invoices"


def missing(draft: Draft, names: dict[str, str]) -> Iterator[Issue]:
    """``Required`` for each member that is not there; those with faults of their own are told already."""
    for name, label in names.items():
        if name not in draft.invalid and draft.__dict__.get(name) in (None, []):
            yield Issue("Required", name, f"{label} is required.")


def the_dates_are_in_order(draft: Draft) -> Iterator[Issue]:
    if draft.end_date < draft.start_date:
        message = f"EndDate {draft.end_date} lies before StartDate {draft.start_date}."
        yield Issue("OutOfOrder", "end_date", message)


def the_staff_member_may_administer_funding_invoices(draft: Draft) -> Iterator[Issue]:
    if draft.permissions is None:
        message = f"The login of {draft.staff} is closed; name somebody who is still there."
        yield Issue("PermissionNeeded", "staff", message)
    elif ADMINISTER_PERMISSION not in draft.permissions:
        message = (
            f"{draft.staff} lacks the permission to view/administer funding invoices; name somebody"
            " whose role has it."
        )
        yield Issue("PermissionNeeded", "staff", message)


def the_total_can_be_written(draft: Draft) -> Iterator[Issue]:
    if abs(draft.total) > MOST:
        message = f"The lines come to {abs(draft.total):,.2f}; {MOST:,} is the most. Divide them."
        yield Issue("OutOfRange", "line_items", message)
