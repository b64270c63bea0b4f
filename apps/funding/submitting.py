"""The verbs by which claims and invoices enter the records and are revised, whoever asks.

The interface, the back office and an import call the same ones. Each takes drafts, raises ``Refused`` with
all that the rules find and ``Warned`` with what is seldom meant, unless warnings are ignored: then they are
stored as acknowledged. Keys come in the order of the drafts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from apps.core import history, saving
from apps.core.bulk_insert import bulk_insert, deferred_writes
from apps.funding.bill_lines import draw_on_budgets, put_lines, store_lines
from apps.funding.holding import mark_claimed, restate_claims_on
from apps.funding.judging import CLAIMS, INVOICES, KINDS, Kind, judged
from apps.funding.models import AcknowledgedWarning, Claim, Invoice, ProviderInvoice
from apps.funding.numbering import take_numbers
from apps.funding.provider_invoice_rules import ON_HOLD
from apps.funding.revising import OPEN, bring_up, hold_open
from apps.odata import clock
from apps.odata.any_of import AnyOf
from apps.odata.declaration import service
from apps.odata.write.drafts import Draft, Issue, WarningsPresent
from apps.odata.write.targets import wire_target

__all__ = [
    "OPEN",
    "create_claims",
    "create_invoices",
    "update_claims",
    "update_invoices",
    "warnings_of",
]

Warnings = Sequence[tuple[int, Issue]]

#: (bill, code, place, message) of a warning as it was acknowledged.
Noted = tuple[Any, str, str | None, str]


def create_claims(drafts: Sequence[Draft], ignore_warnings: bool = False) -> list[Any]:
    """Store new claims (interface.md 4.3)."""
    return enter(CLAIMS, drafts, ignore_warnings)


def create_invoices(drafts: Sequence[Draft], ignore_warnings: bool = False) -> list[Any]:
    """Store new invoices (interface.md 4.4)."""
    return enter(INVOICES, drafts, ignore_warnings)


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
def warnings_of(model: type[Claim | Invoice], drafts: Sequence[Draft]) -> list[tuple[int, Issue]]:
    """What storing or revising the drafts would warn of, as (number of the draft, finding) pairs.

    For a face that shows before it stores; raises ``Refused`` as the verbs do, and stores nothing.
    """
    kind = KINDS[model]
    standing = [draft for draft in drafts if draft.key is not None]
    if standing:
        hold_open(bring_up(kind, standing), standing)
    return judged(kind, drafts)


# --- new ones -------------------------------------------------------------------------------------------


@saving.in_transaction()
def enter(kind: Kind, drafts: Sequence[Draft], ignore_warnings: bool) -> list[Any]:
    """Store new bills, their lines and what is written beside them.

    Locks in this order: provider invoices, the running number, budgets; each in the order of their keys.
    """
    warnings = judged(kind, drafts)
    if warnings and not ignore_warnings:
        raise WarningsPresent(warnings)
    take_numbers(kind.model, drafts)
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


# --- beside bills ---------------------------------------------------------------------------------------


def acknowledge(
    kind: Kind, warnings: Warnings, keys: Sequence[Any], noted: Collection[Noted] = frozenset()
) -> None:
    """Note which warnings somebody took upon them, but for those that are ``noted`` already."""
    if not warnings:
        return
    bill = f"{kind.name}_id"
    type_ = service.current().by_model[kind.model].type
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


def noted_of(kind: Kind, keys: Sequence[Any]) -> set[Noted]:
    """The warnings that somebody took upon them before, of bills that stand."""
    bill: Any = AcknowledgedWarning._meta.get_field(kind.name)
    rows = AcknowledgedWarning.objects.filter(AnyOf(bill, keys)).order_by()
    return set(rows.values_list(bill.attname, "code", "place", "message"))


def complete_provider_invoices(drafts: Sequence[Draft]) -> None:
    """Write what single-use provider invoices lack and their claims say back to them, with history."""
    changed: dict[tuple[str, ...], list[ProviderInvoice]] = defaultdict(list)
    for draft in drafts:
        paper: ProviderInvoice = draft.provider_invoice
        if lacks_something(paper):
            fill_from_claim(paper, draft)
            changed[tuple(history.differences(paper))].append(paper)
    changed.pop((), None)
    for names, papers in changed.items():
        saving.update(ProviderInvoice, names, papers)
    entries = [(one.pk, "Changed", history.differences(one)) for papers in changed.values() for one in papers]
    if entries:
        history.write_changes(ProviderInvoice, entries)


def lacks_something(paper: ProviderInvoice) -> bool:
    """Whether claims fill what it lacks; reusable ones stay as they are."""
    return not paper.is_reusable and None in (paper.reference, paper.contact_id, paper.provider_id)


def fill_from_claim(paper: ProviderInvoice, draft: Draft) -> None:
    if paper.contact_id is None:
        paper.contact = draft.contact
    if paper.provider_id is None:
        paper.provider = draft.provider
    # A reference is the provider's: another provider's is not written on this one's paper.
    if paper.reference is None and paper.provider_id == draft.provider.pk:
        paper.reference = draft.provider_invoice_reference


def tell_provider_invoices(drafts: Sequence[Draft]) -> None:
    """Those on hold learn that a claim is held up; others, that a standing claim has left them or come."""
    moved = [draft for draft in drafts if draft.key is not None and has_moved(draft)]
    concerned = {draft.provider_invoice.pk for draft in drafts if is_on_hold(draft.provider_invoice)}
    concerned |= {key for draft in moved for key in (draft.stands_on, draft.provider_invoice.pk)}
    if concerned:
        restate_claims_on(concerned)


def is_on_hold(paper: ProviderInvoice) -> bool:
    return paper.approval_status in ON_HOLD


def has_moved(draft: Draft) -> bool:
    """Whether a standing claim is to be built on another provider invoice than before."""
    return bool(draft.stands_on != draft.provider_invoice.pk)
