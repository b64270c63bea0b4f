"""What waits for whom in funding, and what a month came to."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Case, Count, IntegerField, Sum, Value, When
from django.db.models.functions import TruncMonth
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from apps.core.models import Subscriber
from apps.funding.admin import inbox
from apps.funding.admin.bill_lists import list_address, statuses_of
from apps.funding.admin.papers import claim_address
from apps.funding.admin.queues import Queue, queues
from apps.funding.choices import ApprovalStatus, ClaimStatus
from apps.funding.models import ZERO, Claim, Invoice, ProviderInvoice
from apps.funding.statuses import SETTLED
from apps.odata import clock

#: How many months back month end looks.
MONTHS = 12
#: Up to how many days in their status bills are aged together; the last column is what is older.
AGES = (30, 60, 90)


@dataclass(frozen=True, slots=True)
class Cell:
    """How many bills, and what they come to."""

    count: int = 0
    total: Decimal = ZERO

    def __add__(self, other: Cell) -> Cell:
        return Cell(self.count + other.count, self.total + other.total)


@dataclass(frozen=True, slots=True)
class Row:
    """A status with its cells, and their sum."""

    label: str
    link: str
    cells: Sequence[Cell]

    @property
    def whole(self) -> Cell:
        return sum(self.cells, Cell())


def work_queues(page: Any, request: HttpRequest) -> HttpResponse:
    """All queues on one page: how many wait, and for how long the first of them has."""
    check_may_view(page, request)
    papers = queues(ProviderInvoice, ApprovalStatus, "approval_status", "creation_date")
    groups = [
        ("Provider invoices", linked(ProviderInvoice, [inbox.waiting_queue(), *papers])),
        ("Claims", linked(Claim, queues(Claim, statuses_of(Claim)))),
        ("Invoices", linked(Invoice, queues(Invoice, statuses_of(Invoice)))),
    ]
    first = inbox.waiting().first() if page.has_add_permission(request) else None
    context = {"groups": groups, "next_link": claim_address(first) if first else None}
    return shown(page, request, "funding/queues.html", "Work queues", context)


def linked(model: Any, found: Sequence[Queue]) -> list[dict[str, Any]]:
    """The queues in which anything waits, each with the list it is worked off in."""
    return [
        {"queue": queue, "link": list_address(model, status=queue.status)} for queue in found if queue.count
    ]


def next_claim(page: Any, request: HttpRequest) -> HttpResponse:
    """The claim form of the provider invoice that waits longest."""
    check_may_view(page, request)
    first = inbox.waiting().first()
    return redirect(claim_address(first) if first else list_address(ProviderInvoice, status=inbox.WAITING))


def month_end(page: Any, request: HttpRequest) -> HttpResponse:
    """Claims by status and the month they were entered in, and how long open ones have stood."""
    check_may_view(page, request)
    months = last_months()
    entered, aged = by_month(months), by_age()
    context = {
        "months": months,
        "rows": entered,
        "totals": totals(entered, len(months)),
        "ages": ["Up to 30 days", "31 to 60", "61 to 90", "Over 90"],
        "open": aged,
        "open_totals": totals(aged, len(AGES) + 1),
        "currency": Subscriber.current().currency,
    }
    return shown(page, request, "funding/month_end.html", "Month end", context)


def last_months() -> list[dt.date]:
    """The first days of the last months, this one first."""
    today = clock.today()
    number = today.year * 12 + today.month - 1
    return [dt.date(each // 12, each % 12 + 1, 1) for each in range(number, number - MONTHS, -1)]


def by_month(months: Sequence[dt.date]) -> list[Row]:
    """Current claims entered in each of the months, by status; one query."""
    since = timezone.make_aware(dt.datetime.combine(months[-1], dt.time.min))
    entered = Claim.objects.filter(archive_date=None, creation_date__gte=since).order_by()
    month = TruncMonth("creation_date")
    found = entered.values_list("funding_status", month).annotate(count=Count("pk"), sum=Sum("total"))
    return rows({(status, at.date()): Cell(count, total) for status, at, count, total in found}, months)


def by_age() -> list[Row]:
    """Current claims that something is still expected of, by how long they have stood; one query."""
    now = clock.now()
    ages = [
        When(status_date__gte=now - dt.timedelta(days=days), then=Value(place))
        for place, days in enumerate(AGES)
    ]
    open_ones = [status.value for status in ClaimStatus if status.value not in SETTLED]
    claims = Claim.objects.filter(archive_date=None, funding_status__in=open_ones).order_by()
    age = Case(*ages, default=Value(len(AGES)), output_field=IntegerField())
    found = claims.values_list("funding_status", age).annotate(count=Count("pk"), sum=Sum("total"))
    return rows(
        {(status, at): Cell(count, total) for status, at, count, total in found}, range(len(AGES) + 1)
    )


def rows(cells: dict[tuple[str, Any], Cell], places: Sequence[Any]) -> list[Row]:
    """A row for each status that has anything."""
    statuses = {status for status, _ in cells}
    return [
        Row(
            str(status.label),
            list_address(Claim, status=status.value),
            [cells.get((status.value, place), Cell()) for place in places],
        )
        for status in ClaimStatus
        if status.value in statuses
    ]


def totals(found: Sequence[Row], places: int) -> list[Cell]:
    """The sums below the columns, and of them all."""
    columns = [sum((row.cells[place] for row in found), Cell()) for place in range(places)]
    return [*columns, sum(columns, Cell())]


def check_may_view(page: Any, request: HttpRequest) -> None:
    if not page.has_view_permission(request):
        raise PermissionDenied


def shown(
    page: Any, request: HttpRequest, template: str, title: str, context: dict[str, Any]
) -> HttpResponse:
    """A page in the frame of the back office."""
    request.current_app = page.admin_site.name
    frame = {**page.admin_site.each_context(request), "title": title, "media": page.media}
    return TemplateResponse(request, template, {**frame, **context})
