"""What provider invoices say of the claims on them: that one is built, and that one is held up with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, Exists, ExpressionWrapper, F, OuterRef, Q

from apps.core import history, saving
from apps.core.bulk_insert import set_flag
from apps.funding.models import Claim, ProviderInvoice
from apps.funding.statuses import ENDED
from apps.funding.validation.provider_invoices import ON_HOLD
from apps.odata import clock
from apps.odata.any_of import AnyOf
from apps.odata.write.drafts import Draft

KEY: Any = ProviderInvoice._meta.pk

#: Claims that are to bring money in, or did.
LIVE_CLAIMS = Q(archive_date=None) & ~Q(funding_status__in=ENDED)


def yes_or_no(condition: Q) -> ExpressionWrapper:
    return ExpressionWrapper(condition, output_field=BooleanField())


CLAIMS_ON_IT = Claim.objects.filter(provider_invoice=OuterRef("pk")).order_by()

#: A claim that has its provider invoice alone; the database has an index of these and no others.
TAKEN = Q(Exists(CLAIMS_ON_IT.filter(takes_provider_invoice=True)))

#: What ``claim_on_hold`` and ``is_claimed`` are to say.
WHAT_IS_SO = {
    "right_on_hold": yes_or_no(Q(approval_status__in=ON_HOLD) & Q(Exists(CLAIMS_ON_IT.filter(LIVE_CLAIMS)))),
    "rightly_claimed": yes_or_no(
        Q(is_reusable=False) & TAKEN | Q(is_reusable=True) & Q(Exists(CLAIMS_ON_IT.filter(archive_date=None)))
    ),
}
SAID = ("claim_on_hold", "right_on_hold", "is_claimed", "rightly_claimed")


def mark_claimed(papers: Iterable[ProviderInvoice]) -> None:
    """Let provider invoices, as they stand locked, say that a claim was built on them."""
    set_flag(
        ProviderInvoice, "is_claimed", list({paper.pk: None for paper in papers if not paper.is_claimed})
    )


def update_claim_flags(keys: Iterable[Any]) -> int:
    """Let ``claim_on_hold`` and ``is_claimed`` of these provider invoices say what is so; how many said
    otherwise before.

    Whoever enters, moves, archives, restores or ends claims calls it with the invoices they stand on, and
    whoever lets one be reusable. They must hold its lock: what is asked here is not asked again.
    """
    records = ProviderInvoice.objects.filter(AnyOf(KEY, set(keys)))
    rows = records.select_for_update(of=("self",)).order_by("pk").annotate(**WHAT_IS_SO)
    held_up: dict[bool, list[UUID]] = {True: [], False: []}
    claimed: list[UUID] = []
    for guid, on_hold, right_on_hold, is_claimed, rightly_claimed in rows.values_list("pk", *SAID):
        if on_hold != right_on_hold:
            held_up[right_on_hold].append(guid)
        if is_claimed != rightly_claimed:
            claimed.append(guid)
    for right, guids in held_up.items():
        if guids:
            ProviderInvoice.objects.filter(AnyOf(KEY, guids)).update(
                claim_on_hold=right, modify_date=clock.now()
            )
            history.write_entries(ProviderInvoice, guids, "Changed", {"claim_on_hold": [not right, right]})
    if claimed:
        ProviderInvoice.objects.filter(AnyOf(KEY, claimed)).update(is_claimed=~F("is_claimed"))
    return len({*held_up[True], *held_up[False], *claimed})


def recount_claim_flags() -> int:
    """Let all provider invoices say what is so of the claims on them; how many said otherwise before.

    Needs a transaction. Those that are wrong are locked before they are looked at again: somebody may be
    building a claim on one.
    """
    told = ProviderInvoice.objects.annotate(**WHAT_IS_SO).order_by()
    is_wrong = ~Q(claim_on_hold=F("right_on_hold")) | ~Q(is_claimed=F("rightly_claimed"))
    wrong = list(told.filter(is_wrong).values_list("pk", flat=True))
    locked = ProviderInvoice.objects.filter(AnyOf(KEY, wrong)).order_by("pk").select_for_update()
    return update_claim_flags(list(locked.values_list("pk", flat=True))) if wrong else 0


# --- what claims write back ----------------------------------------------------------------------------


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
        update_claim_flags(concerned)


def is_on_hold(paper: ProviderInvoice) -> bool:
    return paper.approval_status in ON_HOLD


def has_moved(draft: Draft) -> bool:
    """Whether a standing claim is to be built on another provider invoice than before."""
    return bool(draft.stands_on != draft.provider_invoice.pk)
