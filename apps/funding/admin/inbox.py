"""Provider invoices that nobody claimed yet, and which of them comes next."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.funding.admin.queues import MOST_COUNTED
from apps.funding.choices import ApprovalStatus
from apps.funding.models import Claim, ProviderInvoice
from apps.odata.among import Among

#: What the list's filter calls them.
WAITING = "waiting"
#: Those that are on hold or rejected wait for somebody else.
CLAIMABLE = (ApprovalStatus.UNACTIONED, ApprovalStatus.APPROVED)

#: A claim that has its provider invoice alone; the database has an index of these and no others.
TAKEN = Exists(Claim.objects.filter(provider_invoice=OuterRef("pk"), takes_provider_invoice=True).order_by())
CLAIMED = Exists(Claim.objects.filter(provider_invoice=OuterRef("pk"), archive_date=None).order_by())


def may_be_claimed() -> Q:
    """Those on which another claim may be built."""
    return ~Q(approval_status=ApprovalStatus.REJECTED) & (Q(is_reusable=True) | ~Q(TAKEN))


def unclaimed() -> tuple[QuerySet[ProviderInvoice], QuerySet[ProviderInvoice]]:
    """Current ones that may be claimed and are not: those for one claim, and the reusable ones.

    Apart, since then the planner holds the first against the index of claims, whatever the table's size.
    """
    current = ProviderInvoice.objects.filter(archive_date=None, approval_status__in=CLAIMABLE).order_by()
    return current.filter(~TAKEN, is_reusable=False), current.filter(~CLAIMED, is_reusable=True)


def waiting_keys() -> list[UUID]:
    """The keys of those that wait for a claim, one more than anybody counts at most."""
    most = MOST_COUNTED + 1
    return [key for some in unclaimed() for key in some.values_list("pk", flat=True)[:most]][:most]


def waiting() -> QuerySet[ProviderInvoice]:
    """Those that wait for a claim, the oldest first.

    Their keys are asked for first: in the order of time, the planner would look at all that were claimed.
    """
    return ProviderInvoice.objects.filter(one_of(waiting_keys())).order_by("creation_date", "guid")


def one_of(keys: list[UUID]) -> Among:
    key = ProviderInvoice._meta.pk
    assert key is not None
    return Among(key, keys)


def is_waiting(invoice: ProviderInvoice) -> bool:
    """Whether this one waits for a claim."""
    return any(some.filter(pk=invoice.pk).exists() for some in unclaimed())


def next_after(invoice: ProviderInvoice) -> ProviderInvoice | None:
    """The one that waits next after this one; the first of all after the last."""
    later = Q(creation_date__gt=invoice.creation_date) | Q(
        creation_date=invoice.creation_date, guid__gt=invoice.pk
    )
    found = [
        some.filter(creation_date__gte=invoice.creation_date)
        .filter(later)
        .order_by("creation_date", "guid")
        .first()
        for some in unclaimed()
    ]
    following = min(filter(None, found), key=lambda each: (each.creation_date, each.pk), default=None)
    return following or waiting().exclude(pk=invoice.pk).first()
