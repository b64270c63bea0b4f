"""Which provider invoices on hold hold a claim up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from apps.core import history
from apps.funding.choices import ClaimStatus
from apps.funding.models import Claim, ProviderInvoice
from apps.funding.provider_invoice_rules import ON_HOLD
from apps.odata import clock
from apps.odata.among import Among

#: Claims that are to bring money in, or did.
LIVE = Q(archive_date=None) & ~Q(funding_status__in=(ClaimStatus.CANCELLED, ClaimStatus.REJECTED))


def restate_claims_on_hold(keys: Iterable[Any]) -> int:
    """Let ``claim_on_hold`` of these provider invoices say what is so; how many said otherwise before.

    Whoever enters, archives, restores or ends claims calls it with the invoices they stand on. It is true
    of an invoice that is on hold while a live claim stands on it.
    """
    key = ProviderInvoice._meta.pk
    assert key is not None
    live = Exists(Claim.objects.filter(LIVE, provider_invoice=OuterRef("pk")).order_by())
    records = ProviderInvoice.objects.filter(Among(key, set(keys)))
    rows = records.select_for_update(of=("self",)).order_by("pk").annotate(has_claim=live)
    wrong: dict[bool, list[UUID]] = {True: [], False: []}
    for guid, status, said, has_claim in rows.values_list(
        "pk", "approval_status", "claim_on_hold", "has_claim"
    ):
        right = status in ON_HOLD and has_claim
        if said != right:
            wrong[right].append(guid)
    for right, guids in wrong.items():
        if guids:
            ProviderInvoice.objects.filter(Among(key, guids)).update(
                claim_on_hold=right, modify_date=clock.now()
            )
            history.lines(ProviderInvoice, guids, "Changed", {"claim_on_hold": [not right, right]})
    return len(wrong[True]) + len(wrong[False])
