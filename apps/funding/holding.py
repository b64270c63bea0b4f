"""What provider invoices say of the claims on them: that one is built, and that one is held up with them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, Exists, ExpressionWrapper, F, OuterRef, Q

from apps.core import history
from apps.core.bulk_insert import set_flag
from apps.funding.models import Claim, ProviderInvoice
from apps.funding.provider_invoice_rules import ON_HOLD
from apps.funding.statuses import ENDED
from apps.odata import clock
from apps.odata.any_of import AnyOf

KEY: Any = ProviderInvoice._meta.pk

#: Claims that are to bring money in, or did.
LIVE = Q(archive_date=None) & ~Q(funding_status__in=ENDED)


def yes_or_no(condition: Q) -> ExpressionWrapper:
    return ExpressionWrapper(condition, output_field=BooleanField())


CLAIMS_ON_IT = Claim.objects.filter(provider_invoice=OuterRef("pk")).order_by()

#: A claim that has its provider invoice alone; the database has an index of these and no others.
TAKEN = Q(Exists(CLAIMS_ON_IT.filter(takes_provider_invoice=True)))

#: What ``claim_on_hold`` and ``is_claimed`` are to say.
WHAT_IS_SO = {
    "right_on_hold": yes_or_no(Q(approval_status__in=ON_HOLD) & Q(Exists(CLAIMS_ON_IT.filter(LIVE)))),
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


def restate_claims_on(keys: Iterable[Any]) -> int:
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


def restate_all() -> int:
    """Let all provider invoices say what is so of the claims on them; how many said otherwise before.

    Needs a transaction. Those that are wrong are locked before they are looked at again: somebody may be
    building a claim on one.
    """
    told = ProviderInvoice.objects.annotate(**WHAT_IS_SO).order_by()
    is_wrong = ~Q(claim_on_hold=F("right_on_hold")) | ~Q(is_claimed=F("rightly_claimed"))
    wrong = list(told.filter(is_wrong).values_list("pk", flat=True))
    locked = ProviderInvoice.objects.filter(AnyOf(KEY, wrong)).order_by("pk").select_for_update()
    return restate_claims_on(list(locked.values_list("pk", flat=True))) if wrong else 0
