"""Creating claims and invoices (interface.md 4.3, 4.4), whoever asks: the API, the back office, an import.

Services take drafts, raise ``ValidationFailed`` with all that the rules find and ``WarningsPresent`` unless
warnings are ignored: then they are stored as acknowledged. Keys come in the order of the drafts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from apps.core import history, saving
from apps.core.bulk_insert import bulk_insert, deferred_writes
from apps.funding.models import AcknowledgedWarning
from apps.funding.services.check import CLAIMS, INVOICES, Kind, judged
from apps.funding.services.claim_effects import (
    complete_provider_invoices,
    mark_claimed,
    tell_provider_invoices,
)
from apps.funding.services.lines import draw_on_budgets, store_lines
from apps.funding.services.numbering import assign_numbers
from apps.odata import clock
from apps.odata.declaration import service
from apps.odata.write.drafts import Draft, Issue, WarningsPresent
from apps.odata.write.targets import wire_target

Warnings = Sequence[tuple[int, Issue]]

#: (bill, code, place, message) of a warning as it was acknowledged.
Noted = tuple[Any, str, str | None, str]


def create_claims(drafts: Sequence[Draft], ignore_warnings: bool = False) -> list[Any]:
    """Store new claims (interface.md 4.3)."""
    return enter(CLAIMS, drafts, ignore_warnings)


def create_invoices(drafts: Sequence[Draft], ignore_warnings: bool = False) -> list[Any]:
    """Store new invoices (interface.md 4.4)."""
    return enter(INVOICES, drafts, ignore_warnings)


# --- new ones -------------------------------------------------------------------------------------------


@saving.in_transaction()
def enter(kind: Kind, drafts: Sequence[Draft], ignore_warnings: bool) -> list[Any]:
    """Store new bills, their lines and what is written beside them.

    Locks in this order: provider invoices, the running number, budgets; each in the order of their keys.
    """
    warnings = judged(kind, drafts)
    if warnings and not ignore_warnings:
        raise WarningsPresent(warnings)
    assign_numbers(kind.model, drafts)
    with deferred_writes():
        keys = saving.insert_records(kind.model, drafts, {"entered_by": entered_by})
        store_lines(kind, drafts, keys)
        acknowledge(kind, warnings, keys)
        if kind is CLAIMS:
            mark_claimed(draft.provider_invoice for draft in drafts)
        draw_on_budgets(drafts)
    if kind is CLAIMS:
        complete_provider_invoices(drafts)
        tell_provider_invoices(drafts)
    return keys


def entered_by(draft: Draft) -> Any:
    """Who sat at the keyboard; of what an application sent, who is in charge."""
    return history.author().staff_id or draft.staff.pk


# --- beside bills ---------------------------------------------------------------------------------------


def acknowledge(
    kind: Kind, warnings: Warnings, keys: Sequence[Any], noted: Collection[Noted] = frozenset()
) -> None:
    """Note which warnings somebody took upon them, but for those that are ``noted`` already."""
    if not warnings:
        return
    bill = f"{kind.name}_id"
    type_ = service.get_service().by_model[kind.model].type
    rows = (
        (keys[number], found.code, wire_target(type_, found.field, found.code) or None, found.message)
        for number, found in warnings
    )
    who, at = history.author(), clock.now()
    bulk_insert(
        AcknowledgedWarning,
        (bill, "code", "place", "message", "at", "staff_id", "application"),
        [(*row, at, who.staff_id, who.application) for row in dict.fromkeys(rows) if row not in noted],
    )
