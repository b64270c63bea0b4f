"""Groups of the claims or invoices that a list's filters leave, by month or status, with their sums."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F
from django.db.models.functions import TruncMonth
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from unfold.utils import parse_date_str

from apps.base.money import ZERO
from apps.core.admin_base import Page
from apps.core.admin_base.list_views import filters_of
from apps.core.admin_base.pages import PageAdmin
from apps.core.computed import MoneySum
from apps.core.read_log import READ_LOG
from apps.funding.admin.month_end import BillSum, entered_in
from apps.funding.admin.queues import STATUS
from apps.funding.statuses import RESUBMITTABLE, STATUSES

GROUPS = Page("groups/<str:by>", method="GET")
#: The groupings: the heading of the column, what bills are grouped by, and the order of the groups.
GROUPINGS: dict[str, tuple[str, object, Callable[[Any], Any]]] = {
    "month": ("Month of entry", TruncMonth("creation_date"), lambda month: -month.timestamp()),
    "status": ("Status", F("funding_status"), list(STATUSES).index),
}


@dataclass(frozen=True, slots=True)
class BillGroup:
    """A row of the page; ``link`` opens the list of exactly its bills."""

    label: str
    link: str
    cell: BillSum


class GroupingAdmin(PageAdmin):
    """A list of bills with a page of its groups."""

    list_pages = (GROUPS,)

    def group_links(self, request: HttpRequest) -> list[tuple[str, str, str]]:
        """The name, label and address of each grouping, with the same filters."""
        filters = filters_of(request.GET)
        return [(name, f"By {name}", f"{self.page_url('groups', name)}?{filters}") for name in GROUPINGS]

    def groups_page(self, request: HttpRequest, by: str) -> HttpResponse:
        """The groups of what the filters of the address leave, with their numbers and sums."""
        if by not in GROUPINGS:
            raise Http404
        heading, expression, order = GROUPINGS[by]
        filtered = self.filtered_records(request)
        bills = self.model._default_manager.filter(pk__in=filtered.order_by().values("pk")).order_by()
        found = bills.values_list(expression).annotate(count=Count("pk"), sum=MoneySum("total"))
        rows = [
            BillGroup(
                f"{value:%B %Y}" if by == "month" else STATUSES[value].label,
                f"{self.page_url('changelist')}?{group_filters(request.GET, by, value)}",
                BillSum(count, total or ZERO),
            )
            for value, count, total in sorted(found, key=lambda group: order(group[0]))
        ]
        filters = filters_of(request.GET)
        if filters:
            names = "&".join(f"{name}=?" for name in request.GET)
            READ_LOG.add(self.model, "Count", sum(row.cell.count for row in rows), b"", names)
        return self.render_page(
            request,
            "funding/groups.html",
            f"{self.opts.verbose_name_plural} by {by}".capitalize(),
            rows=rows,
            total=sum((row.cell for row in rows), BillSum()),
            by=by,
            heading=heading,
            is_filtered=bool(filters),
            groupings=self.group_links(request),
            list_link=f"{self.page_url('changelist')}?{filters}",
        )


def group_filters(query: QueryDict, by: str, value: Any) -> str:
    """The filters of the list and those that leave the bills of one group."""
    filters = QueryDict(filters_of(query), mutable=True)
    if by == "status":
        filters[STATUS] = value
        if value in RESUBMITTABLE:
            filters.setdefault("resubmitted", "all")  # else its list leaves out those that were
        return filters.urlencode()
    for (name, day), narrower in zip(entered_in(value.date()).items(), (max, min), strict=True):
        given = parse_date_str(filters.get(name, ""))
        filters[name] = str(narrower(day, given) if given else day)
    return filters.urlencode()
