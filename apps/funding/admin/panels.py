"""Claims and invoices on the overviews of participants, organisations, staff and plans."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.db.models import Count, F, Model, Q
from django.http import HttpRequest

from apps.core.admin_base import Panel, record_panel, register_panels
from apps.core.admin_base.display import list_url
from apps.core.computed import MoneySum
from apps.engagements.models import ClientEngagement
from apps.funding.admin.bill_lists import PLAN, STATUS_COLOURS, bills_on_plan
from apps.funding.admin.queues import STATUS
from apps.funding.choices import ClaimStatus
from apps.funding.models import Claim, Invoice, ProviderInvoice, resubmission_exists
from apps.funding.statuses import RESUBMITTABLE, STATUSES, OpenAmount
from apps.people.models import Client, Contact, Staff

CLAIM_COLUMNS = ("number", "provider_name", "days", "amount", "status", "since")
INVOICE_COLUMNS = ("number", "bill_to", "days", "amount", "recurs", "status", "since")
PROVIDER_INVOICE_COLUMNS = ("reference_label", "provider", "services", "amount", "approval", "received")


def claim_sums(column: str) -> Callable[[HttpRequest, Any], dict[str, Any] | None]:
    """The sums of the current claims that refer to a record by a column, by status; one query.

    Of what was resubmitted only the new claim counts.
    """

    def context(request: HttpRequest, record: Model) -> dict[str, object] | None:
        claims = Claim.objects.filter(**{column: record.pk}, archive_date=None)
        resubmitted = Q(resubmission_exists(Claim), funding_status__in=RESUBMITTABLE)
        claims = claims.exclude(resubmitted).order_by()
        groups = claims.values_list("funding_status").annotate(
            number=Count("pk"), sum=MoneySum("total"), unpaid=MoneySum(F("total") - F("amount_paid"))
        )
        sums = {status: figures for status, *figures in groups}
        rows = [
            {
                "label": status.label,
                "colour": STATUS_COLOURS[status],
                "link": list_url(Claim, **{f"{column}__guid__exact": record.pk, STATUS: status.value}),
                "count": sums[status][0],
                "total": sums[status][1],
                "unpaid": Decimal(0) if is_closed(status) else sums[status][2],
            }
            for status in ClaimStatus
            if status in sums
        ]
        if not rows:
            return None
        totals = {name: sum(row[name] for row in rows) for name in ("count", "total", "unpaid")}
        return {"rows": rows, "totals": totals}

    return context


def is_closed(status: str) -> bool:
    """True when nothing of such a claim is to be paid any more."""
    return STATUSES[status].open_amount is OpenAmount.NOTHING


def claim_sums_panel(column: str) -> Panel:
    return Panel(
        model=Claim,
        title="Claimed and unpaid",
        order=20,
        template="funding/claim_sums.html",
        context=claim_sums(column),
    )


register_panels(
    Contact,
    claim_sums_panel("contact"),
    record_panel(Claim, CLAIM_COLUMNS, column="contact", order=21),
    record_panel(Invoice, INVOICE_COLUMNS, column="contact", order=30, can_add=True),
    record_panel(ProviderInvoice, PROVIDER_INVOICE_COLUMNS, column="contact", order=31, can_add=True),
)
register_panels(
    Client,
    claim_sums_panel("provider"),
    record_panel(
        Claim, ("number", "contact", "days", "amount", "status", "since"), column="provider", order=21
    ),
    record_panel(
        ProviderInvoice,
        ("reference_label", "contact", "services", "amount", "approval", "received"),
        column="provider",
        order=31,
        can_add=True,
    ),
)
register_panels(
    Staff,
    claim_sums_panel("staff"),
    record_panel(Claim, CLAIM_COLUMNS, column="staff", title="Assigned claims", order=21),
    record_panel(Invoice, INVOICE_COLUMNS, column="staff", title="Assigned invoices", order=30),
)
register_panels(
    ClientEngagement,
    record_panel(Claim, CLAIM_COLUMNS, condition=bills_on_plan(Claim), parameter=PLAN, order=20),
    record_panel(Invoice, INVOICE_COLUMNS, condition=bills_on_plan(Invoice), parameter=PLAN, order=30),
)
