"""Provider invoices that nobody claimed yet, and which of them comes next."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.funding.admin.queues import MOST_COUNTED, Queue
from apps.funding.choices import ApprovalStatus
from apps.funding.models import WAITS_FOR_CLAIM, Claim, ProviderInvoice

#: What the list's filter calls them.
WAITING = "waiting"
#: Those that are on hold or rejected wait for somebody else.
CLAIMABLE = (ApprovalStatus.UNACTIONED, ApprovalStatus.APPROVED)

#: A current claim stands on it, even if another took it over.
CLAIMED = Exists(Claim.objects.filter(provider_invoice=OuterRef("pk"), archive_date=None).order_by())


def may_be_claimed() -> Q:
    """Those on which another claim may be built."""
    return ~Q(approval_status=ApprovalStatus.REJECTED) & (Q(is_reusable=True) | Q(is_claimed=False))


def waiting() -> QuerySet[ProviderInvoice]:
    """Those that wait for a claim, the oldest first; the database has an index of these and no others."""
    return ProviderInvoice.objects.filter(WAITS_FOR_CLAIM).order_by("creation_date", "guid")


def waiting_queue() -> Queue:
    """How many wait for a claim, counted up to the cap, and since when the first of them does."""
    count = waiting()[: MOST_COUNTED + 1].count()
    return Queue(WAITING, "To be claimed", count, waiting().values_list("creation_date", flat=True).first())


def is_waiting(invoice: ProviderInvoice) -> bool:
    """Whether this one waits for a claim."""
    return waiting().filter(pk=invoice.pk).exists()


def next_after(invoice: ProviderInvoice) -> ProviderInvoice | None:
    """The one that waits next after this one; the first of all after the last."""
    later = Q(creation_date__gt=invoice.creation_date) | Q(
        creation_date=invoice.creation_date, guid__gt=invoice.pk
    )
    following = waiting().filter(creation_date__gte=invoice.creation_date).filter(later).first()
    return following or waiting().exclude(pk=invoice.pk).first()
