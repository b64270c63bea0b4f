"""Updating claims and invoices, whoever asks; the services take drafts as those of ``create`` do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apps.core import saving
from apps.funding.models import AcknowledgedWarning, Claim, Invoice, ProviderInvoice
from apps.funding.services.check import CLAIMS, INVOICES, KINDS, Kind, judged
from apps.funding.services.claim_effects import complete_provider_invoices, tell_provider_invoices
from apps.funding.services.create import Noted, acknowledge
from apps.funding.services.existing import bring_up, hold_open
from apps.funding.services.lines import put_lines
from apps.odata.any_of import AnyOf
from apps.odata.write.drafts import Draft, Issue, WarningsPresent


def update_claims(drafts: Sequence[Draft], ignore_warnings: bool = False) -> list[Any]:
    """Change what drafts of standing claims give; the keys of those that were not so already.

    Only claims that await approval or are on hold. ``line_items`` given is the whole new list, in which a
    draft with a key is that standing line.
    """
    return revise(CLAIMS, drafts, ignore_warnings)


def update_invoices(drafts: Sequence[Draft], ignore_warnings: bool = False) -> list[Any]:
    """Change what drafts of standing invoices give, as ``revise_claims`` does."""
    return revise(INVOICES, drafts, ignore_warnings)


@saving.in_transaction()
def find_warnings(model: type[Claim | Invoice], drafts: Sequence[Draft]) -> list[tuple[int, Issue]]:
    """What storing or revising the drafts would warn of, as (number of the draft, finding) pairs.

    For a face that shows before it stores; raises ``Refused`` as the verbs do, and stores nothing.
    """
    kind = KINDS[model]
    standing = [draft for draft in drafts if draft.key is not None]
    if standing:
        hold_open(bring_up(kind, standing), standing)
    return judged(kind, drafts)


# --- those that stand -----------------------------------------------------------------------------------


def lock_provider_invoices_of(claims: Sequence[Any]) -> None:
    """Let who moves these claims meanwhile wait, or wait for them: they lock in this order, too."""
    standing = Claim.objects.filter(AnyOf(Claim._meta.get_field("guid"), claims)).order_by()
    papers = ProviderInvoice.objects.filter(pk__in=standing.values("provider_invoice")).order_by("pk")
    list(papers.select_for_update(of=("self",)).values_list("pk"))


#: What is worked out anew when a bill changes.
WORKED_OUT = {
    CLAIMS.name: frozenset({"total", "missing_abn_reason_code", "takes_provider_invoice"}),
    INVOICES.name: frozenset({"total"}),
}


@saving.in_transaction()
def revise(kind: Kind, drafts: Sequence[Draft], ignore_warnings: bool) -> list[Any]:
    """Change standing bills, their lines, and what those draw on budgets.

    Locks as ``enter`` does, the bills after the provider invoices they stand on.
    """
    if kind is CLAIMS:
        lock_provider_invoices_of([draft.key for draft in drafts])
    standing = bring_up(kind, drafts)
    hold_open(standing, drafts)
    warnings = judged(kind, drafts)
    if warnings and not ignore_warnings:
        raise WarningsPresent(warnings)
    bills = [draft.key for draft in drafts]
    acknowledge(kind, warnings, bills, noted_of(kind, bills))
    if kind is CLAIMS:
        complete_provider_invoices(drafts)
    told = put_lines(kind, drafts)
    for draft in drafts:
        draft.given |= WORKED_OUT[kind.name]
    changed = saving.save_changes(kind.model, drafts, standing, told)
    if kind is CLAIMS:
        tell_provider_invoices(drafts)
    return changed


def noted_of(kind: Kind, keys: Sequence[Any]) -> set[Noted]:
    """The warnings that somebody took upon them before, of bills that stand."""
    bill: Any = AcknowledgedWarning._meta.get_field(kind.name)
    rows = AcknowledgedWarning.objects.filter(AnyOf(bill, keys)).order_by()
    return set(rows.values_list(bill.attname, "code", "place", "message"))
