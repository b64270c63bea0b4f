"""The panels of the home page about claims, invoices and provider invoices."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Count, Min, Model, Q
from django.http import HttpRequest

from apps.core.admin_base import HOME_PANELS, Figure, FigureGroup, HomeContent, HomePanel
from apps.core.admin_base.charts import Bar, BarChart, Series
from apps.core.admin_base.display import admin_url, age, list_url
from apps.funding.admin.bill_lists import BUSINESS_DAYS, PROGRESS, over_business_days
from apps.funding.admin.month_end import entered_in, group_by_month, last_months
from apps.funding.admin.queues import (
    DECIDED,
    STATUS,
    WAITING,
    Queue,
    load_hold_reasons,
    load_provider_invoice_queues,
    load_queues,
    waiting_invoices,
)
from apps.funding.choices import ClaimStatus
from apps.funding.models import Claim, Invoice, ProviderInvoice, resubmission_exists
from apps.funding.statuses import RESUBMITTABLE, SETTLED, STATUSES, Phase, statuses_where

#: The months of the chart; month end has more.
CHART_MONTHS = 6
#: Business days for a claim to be made and sent, and for the agency to pay it.
DAYS_TO_CLAIM, DAYS_TO_PAY = BUSINESS_DAYS
OPEN = sorted(set(STATUSES) - set(SETTLED))
NOT_CLAIMED = statuses_where(lambda row: row.phase in (Phase.ENTERED, Phase.APPROVED))


def queue_figures(model: type[Model], queues: Iterable[Queue], **filters: Any) -> list[Figure]:
    """The queues that have any and whose records somebody still has to do something about."""
    return [
        Figure(
            queue.label,
            queue.count,
            list_url(model, **{STATUS: queue.status, **filters}),
            "" if queue.oldest is None else f"oldest: {age(queue.oldest)}",
            queue.count_label,
        )
        for queue in queues
        if queue.count
    ]


def own_queues(model: Any, staff: Any) -> list[Queue]:
    """The queues of the bills that are assigned to a person, in the order of the statuses; one query."""
    resubmitted = Q(resubmission_exists(model), funding_status__in=RESUBMITTABLE)
    bills = model._default_manager.filter(staff=staff.pk, archive_date=None).order_by()
    # By name: an index finds the open statuses, and would not find all but the settled ones.
    groups = bills.filter(~resubmitted, funding_status__in=OPEN).values_list("funding_status")
    found = {
        status: (count, since)
        for status, count, since in groups.annotate(count=Count("pk"), since=Min("status_date"))
    }
    return [Queue(status, row.label, *found[status]) for status, row in STATUSES.items() if status in found]


def own_work(request: HttpRequest) -> HomeContent:
    """The signed-in person's own claims and invoices, by status."""
    own = {"staff__guid__exact": request.user.pk}
    figures = [
        FigureGroup(title, queue_figures(model, own_queues(model, request.user), **own), nothing)
        for title, model, nothing in (
            ("Claims", Claim, "No open claim is assigned to you."),
            ("Invoices", Invoice, "No open invoice is assigned to you."),
        )
        if request.user.has_perm(f"funding.view_{model._meta.model_name}")
    ]
    return HomeContent(figures)


def claim_queues(request: HttpRequest) -> HomeContent:
    """Everybody's claims by status, and those on hold by the reason."""
    on_hold = [
        Figure(
            group["status_reason"] or "No reason",
            group["count"],
            list_url(Claim, status=ClaimStatus.ON_HOLD.value, reason=group["status_reason"]),
            f"oldest: {age(group['oldest'])}",
        )
        for group in load_hold_reasons(Claim)
        if group["status_reason"]
    ]
    groups = [
        FigureGroup("", queue_figures(Claim, load_queues(Claim, left_out=SETTLED)), "No claim is open.")
    ]
    if on_hold:
        groups.append(FigureGroup("On hold by reason", on_hold))
    return HomeContent(groups, links=[("Work queues", admin_url(Claim, "queues"))])


def invoice_queues(request: HttpRequest) -> HomeContent | None:
    figures = queue_figures(Invoice, load_queues(Invoice, left_out=SETTLED))
    return HomeContent([FigureGroup("", figures)]) if figures else None


def provider_invoice_queues(request: HttpRequest) -> HomeContent:
    """The provider invoices by approval, and those that wait too long for a claim."""
    figures = queue_figures(ProviderInvoice, load_provider_invoice_queues(left_out=DECIDED))
    links = (
        [("Enter the next claim", admin_url(Claim, "next"))]
        if request.user.has_perm("funding.add_claim")
        else []
    )
    return HomeContent([FigureGroup("", figures, "No provider invoice waits.")], links=links)


def overdue(request: HttpRequest) -> HomeContent:
    """What has waited longer than the business days that there are for it."""
    late = {days: over_business_days(days) for days in BUSINESS_DAYS}
    received = waiting_invoices().filter(creation_date__lt=late[DAYS_TO_CLAIM])
    figures = [
        Figure(
            f"Not claimed {DAYS_TO_CLAIM} business days after receipt",
            received.count(),
            list_url(ProviderInvoice, status=WAITING, age=f"{DAYS_TO_CLAIM}b"),
            is_urgent=True,
        )
    ]
    claims = Claim.objects.filter(archive_date=None).order_by()
    for days, statuses in (
        (DAYS_TO_CLAIM, sorted(NOT_CLAIMED)),
        (DAYS_TO_PAY, [ClaimStatus.AGENCY_CLAIMED.value]),
    ):
        counts = dict(
            claims.filter(funding_status__in=statuses, status_date__lt=late[days])
            .values_list("funding_status")
            .annotate(count=Count("pk"))
        )
        figures += [
            Figure(
                f"{STATUSES[status].label} for over {days} business days",
                counts[status],
                list_url(Claim, status=status, age=f"{days}b"),
                is_urgent=True,
            )
            for status in statuses
            if counts.get(status)
        ]
    figures = [figure for figure in figures if figure.count]
    return HomeContent([FigureGroup("", figures, "Nothing is late.")])


def claims_by_month(request: HttpRequest) -> HomeContent | None:
    """The claims entered in each of the last months, by how far they have come."""
    months = last_months(CHART_MONTHS)
    groups = list(group_by_month(months))
    if not groups:
        return None
    months.reverse()
    series = []
    for name, (label, phases) in PROGRESS.items():
        counts = [0] * len(months)
        for status, number, count in groups:
            counts[-1 - number] += count if STATUSES[status].phase in phases else 0
        if any(counts):
            links = [list_url(Claim, phase=name, **entered_in(month)) for month in months]
            bars = [Bar(count, link) for count, link in zip(counts, links, strict=True)]
            series.append(Series(label, f"rs-colour-{name}", bars))
    chart = BarChart(
        "Claims by the month they were entered in",
        "number of claims",
        [f"{month:%b %Y}" for month in months],
        series,
    )
    return HomeContent(chart=chart, links=[("Month end", admin_url(Claim, "month_end"))])


HOME_PANELS.extend(
    (
        HomePanel("Assigned to you", Claim, 10, own_work),
        HomePanel("Late", Claim, 20, overdue),
        HomePanel("Provider invoices", ProviderInvoice, 30, provider_invoice_queues),
        HomePanel("All claims", Claim, 40, claim_queues),
        HomePanel("All invoices", Invoice, 50, invoice_queues),
        HomePanel("Claims by month", Claim, 60, claims_by_month),
    )
)
