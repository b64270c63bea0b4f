"""Claims and invoices on the overviews of participants, organisations, staff and plans."""

from collections.abc import Callable, Collection
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Model, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest

from apps.base.errors import plural
from apps.core.admin_base import Panel, record_panel, register_panels
from apps.core.admin_base.display import list_url
from apps.core.caseload import visible_rows
from apps.core.computed import MoneySum
from apps.engagements.admin import BUDGET_LISTS, PERIOD_BILLS, BudgetList
from apps.engagements.models import ClientEngagement, FundingPeriod
from apps.funding.admin.bill_filters import BUDGET, PLAN, bills_on_plan
from apps.funding.admin.bill_lists import STATUS_COLOURS
from apps.funding.admin.queues import STATUS
from apps.funding.models import Claim, ClaimLine, Invoice, InvoiceLine, ProviderInvoice, resubmission_exists
from apps.funding.statuses import RESUBMITTABLE, STATUSES, ClaimStatus, OpenAmount, statuses_where
from apps.people.models import Client, Contact, Staff

CLAIM_COLUMNS = ("number", "provider_name", "days", "amount", "status", "since")
INVOICE_COLUMNS = ("number", "bill_to", "days", "amount", "recurs", "status", "since")
PROVIDER_INVOICE_COLUMNS = ("reference_label", "provider", "services", "amount", "approval", "received")


def claim_sums(column: str) -> Callable[[HttpRequest, Any], dict[str, Any] | None]:
    """The sums of the current claims that refer to a record by a column, by status; one query.

    Of what was resubmitted only the new claim counts.
    """

    def context(request: HttpRequest, record: Model) -> dict[str, object] | None:
        claims = visible_rows(request.user, Claim.objects.filter(**{column: record.pk}, archive_date=None))
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


# --- what a plan's page shows of bills -------------------------------------------------------------------

# A plan's page leads to the lists of the bills on each of its budgets.
BUDGET_LISTS.extend(BudgetList(model, BUDGET) for model in (Claim, Invoice))

WAITING_STATUSES = sorted(statuses_where(lambda row: row.open_amount is OpenAmount.WAITING))


def bills_waiting_for(periods: Collection[UUID]) -> dict[UUID, str]:
    """``12 claims, 1 invoice`` by the key of a funding period: what waits with days in it. One query."""
    numbers = [
        Coalesce(Subquery(number_in_period(line_model, bill)), 0)
        for line_model, bill in ((ClaimLine, "claim"), (InvoiceLine, "invoice"))
    ]
    rows = FundingPeriod.objects.filter(pk__in=periods).order_by().values_list("pk", *numbers)
    return {
        key: ", ".join(
            plural(number, noun) for number, noun in ((claims, "claim"), (invoices, "invoice")) if number
        )
        for key, claims, invoices in rows
    }


def number_in_period(line_model: type[ClaimLine | InvoiceLine], bill: str) -> QuerySet[Any, Any]:
    """How many bills wait with a line on the component and in the days of an outer funding period."""
    lines = line_model._default_manager.filter(
        category_budget=OuterRef("category_budget"),
        first_day__lte=OuterRef("last_day"),
        last_day__gte=OuterRef("first_day"),
        **{f"{bill}__archive_date": None, f"{bill}__funding_status__in": WAITING_STATUSES},
    )
    groups = lines.order_by().values("category_budget")
    return groups.annotate(number=Count(bill, distinct=True)).values("number")


PERIOD_BILLS.append(bills_waiting_for)
