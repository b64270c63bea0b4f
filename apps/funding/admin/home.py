"""The panels of the home page about claims, invoices and provider invoices."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Count, Model, Q, QuerySet
from django.http import HttpRequest

from apps.base.money import ZERO, to_cents
from apps.core.admin_base import HOME_PANELS, Figure, HomeContent, HomePanel, Work
from apps.core.admin_base.charts import Bar, BarChart, Series
from apps.core.admin_base.display import admin_url, list_url
from apps.core.caseload import visible_rows
from apps.core.computed import MoneySum
from apps.funding.admin.bill_filters import PROGRESS, over_business_days
from apps.funding.admin.month_end import entered_in, group_by_month, last_months
from apps.funding.admin.queues import (
    DECIDED,
    LAPSED,
    LAPSED_LABEL,
    LAPSING,
    REFUSED_BY_AGENCY,
    REFUSED_LABEL,
    STATUS,
    WAITING,
    WINDOW,
    Queue,
    load_hold_reasons,
    load_lapsing_queue,
    load_provider_invoice_queues,
    load_queues,
    refused_by_agency,
)
from apps.funding.models import Claim, Invoice, ProviderInvoice, resubmission_exists
from apps.funding.statuses import DAYS_TO_CLAIM, DAYS_TO_PAY, FINISHED, RESUBMITTABLE, STATUSES, ClaimStatus

#: The months of the chart; month end has more.
CHART_MONTHS = 6
#: The most common reasons of holds; the list on hold has all.
HOLD_REASONS = 3
OPEN = sorted(set(STATUSES) - set(FINISHED))
#: Statuses without a row: finished ones, and that of the refused, which have a queue with the partly refused.
NO_WORK = {*FINISHED, ClaimStatus.REJECTED.value}
#: The business days that claims may have a status.
DAYS_IN_STATUS = {name: row.days for name, row in STATUSES.items() if row.days is not None}


def queue_rows(
    model: type[Model],
    queues: Iterable[Queue],
    days: Mapping[str, int],
    own: Mapping[str, Figure] | None = None,
    parts: Mapping[str, list[Figure]] | None = None,
) -> list[Work]:
    """The queues that have any; ``days``: the business days after which the records of a status are late."""
    rows = []
    for queue in queues:
        if not queue.count:
            continue
        late = None
        if queue.late:
            filters = {STATUS: queue.status, "age": f"{days[queue.status]}b"}
            label = f"{queue.label} for over {days[queue.status]} business days"
            late = Figure(queue.late, list_url(model, **filters), label)
        rows.append(
            Work(
                queue.label,
                queue.count,
                list_url(model, **{STATUS: queue.status}),
                queue.amount,
                queue.oldest,
                late,
                (own or {}).get(queue.status),
                (parts or {}).get(queue.status, ()),
            )
        )
    return rows


def own_bills(bills: QuerySet[Any], staff: Any) -> dict[str, Figure]:
    """How many of the open bills of each status are assigned to a person; one query."""
    model = bills.model
    resubmitted = Q(resubmission_exists(model), funding_status__in=RESUBMITTABLE)
    own = bills.filter(staff=staff.pk, archive_date=None).order_by()
    # By name: an index finds the open statuses, and would not find all but the finished ones.
    groups = own.filter(funding_status__in=OPEN).values_list("funding_status")
    counts = {REFUSED_BY_AGENCY: 0}
    current, refused = Count("pk", filter=~resubmitted), Count("pk", filter=refused_by_agency(model))
    for status, count, refused_count in groups.annotate(count=current, refused=refused):
        counts[status] = count
        counts[REFUSED_BY_AGENCY] += refused_count
    labels = {REFUSED_BY_AGENCY: REFUSED_LABEL, **{name: row.label for name, row in STATUSES.items()}}
    return {
        status: Figure(
            count,
            list_url(model, **{STATUS: status, "staff__guid__exact": staff.pk}),
            f"{labels[status]}, assigned to you",
        )
        for status, count in counts.items()
        if count
    }


def lapsing_rows(records: QuerySet[Any]) -> list[Work]:
    """A row of claims that lapse within a few days or have just lapsed, when there are any."""
    model, queue = records.model, load_lapsing_queue(records)
    if not queue.count:
        return []
    late = Figure(queue.late, list_url(model, **{WINDOW: LAPSED}), LAPSED_LABEL) if queue.late else None
    link = list_url(model, **{WINDOW: LAPSING})
    return [Work(queue.label, queue.count, link, queue.amount, queue.oldest, late)]


def claim_work(request: HttpRequest) -> HomeContent:
    """The open claims by status, how many of them are late or this person's, and the reasons of holds."""
    on_hold, claims = ClaimStatus.ON_HOLD.value, visible_rows(request.user, Claim.objects.all())
    reasons = [
        Figure(group["count"], list_url(Claim, status=on_hold, reason=reason), reason)
        for group in load_hold_reasons(claims)
        if (reason := group["status_reason"])
    ]
    late_before = {status: over_business_days(days) for status, days in DAYS_IN_STATUS.items()}
    queues = load_queues(claims, left_out=NO_WORK, late_before=late_before)
    own = own_bills(claims, request.user)
    rows = queue_rows(Claim, queues, DAYS_IN_STATUS, own, {on_hold: reasons[:HOLD_REASONS]})
    note = (
        f"a claim not claimed from the agency {DAYS_TO_CLAIM} business days after its last step, "
        f"or not paid {DAYS_TO_PAY} after"
    )
    return HomeContent([*lapsing_rows(claims), *rows], late_note=note)


def invoice_work(request: HttpRequest) -> HomeContent:
    """The open invoices by status, and how many of them are this person's."""
    invoices = visible_rows(request.user, Invoice.objects.all())
    queues = load_queues(invoices, left_out=NO_WORK)
    return HomeContent(queue_rows(Invoice, queues, {}, own_bills(invoices, request.user)))


def provider_invoice_work(request: HttpRequest) -> HomeContent:
    """The provider invoices that wait for a claim or for a decision."""
    invoices = visible_rows(request.user, ProviderInvoice.objects.all())
    queues = load_provider_invoice_queues(invoices, DECIDED, over_business_days(DAYS_TO_CLAIM))
    note = f"no claim {DAYS_TO_CLAIM} business days after receipt, or after the last day to claim"
    rows = queue_rows(ProviderInvoice, queues, {WAITING: DAYS_TO_CLAIM})
    return HomeContent([*lapsing_rows(invoices), *rows], late_note=note)


def claims_by_month(request: HttpRequest) -> HomeContent:
    """The totals of the claims entered in each of the last months, by how far they have come."""
    months = last_months(CHART_MONTHS)
    claims = visible_rows(request.user, Claim.objects.all())
    groups = list(group_by_month(claims, months).annotate(sum=MoneySum("total")))
    if not groups:
        return HomeContent()
    months.reverse()
    series = []
    for name, (label, phases) in PROGRESS.items():
        counts, totals = [0] * len(months), [ZERO] * len(months)
        for status, number, count, total in groups:
            if STATUSES[status].phase in phases:
                counts[-1 - number] += count
                totals[-1 - number] += total
        if any(counts):
            links = [list_url(Claim, phase=name, **entered_in(month)) for month in months]
            bars = [
                Bar(to_cents(total), link, count)
                for total, link, count in zip(totals, links, counts, strict=True)
            ]
            series.append(Series(label, f"rs-colour-{name}", bars))
    chart = BarChart(
        "Claims by the month they were entered in", [f"{month:%b %Y}" for month in months], series, "claim"
    )
    return HomeContent(chart=chart, links=[("Month end", admin_url(Claim, "month_end"))])


HOME_PANELS.extend(
    (
        HomePanel("Provider invoices", ProviderInvoice, 20, provider_invoice_work),
        HomePanel("Claims", Claim, 30, claim_work),
        HomePanel("Invoices", Invoice, 40, invoice_work),
        HomePanel("Claims by month", Claim, 60, claims_by_month),
    )
)
