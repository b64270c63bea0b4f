"""Provider invoices that nobody claimed yet, and which of them comes next."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.funding.choices import ApprovalStatus
from apps.funding.models import Claim, ProviderInvoice

#: What the list's filter calls them.
WAITING = "waiting"
#: Those that are on hold or rejected wait for somebody else.
CLAIMABLE = (ApprovalStatus.UNACTIONED, ApprovalStatus.APPROVED)


def unclaimed(invoices: QuerySet[ProviderInvoice]) -> QuerySet[ProviderInvoice]:
    """Those on which no current claim stands."""
    claims = Claim.objects.filter(provider_invoice=OuterRef("pk"), archive_date=None).order_by()
    return invoices.filter(~Exists(claims))


def waiting() -> QuerySet[ProviderInvoice]:
    """Current provider invoices that may be claimed and are not, the oldest first."""
    invoices = ProviderInvoice.objects.filter(archive_date=None, approval_status__in=CLAIMABLE)
    return unclaimed(invoices).order_by("creation_date", "guid")


def next_after(invoice: ProviderInvoice | None) -> ProviderInvoice | None:
    """The one that waits next after this one; the first of all after the last."""
    if invoice is not None:
        later = Q(creation_date__gt=invoice.creation_date) | Q(
            creation_date=invoice.creation_date, guid__gt=invoice.pk
        )
        found = waiting().filter(creation_date__gte=invoice.creation_date).filter(later).first()
        if found is not None:
            return found
        return waiting().exclude(pk=invoice.pk).first()
    return waiting().first()
