"""The sums of month end: claims by the month they were entered in, and by their age."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.db.models import Case, Count, IntegerField, Model, Q, QuerySet, Value, When

from apps.base import clock
from apps.base.money import ZERO
from apps.core.admin_base.display import list_url
from apps.core.computed import MoneySum
from apps.funding.models import Claim, resubmission_exists
from apps.funding.statuses import FINISHED, RESUBMITTABLE, STATUSES, ClaimStatus

#: How many months month end shows.
MONTHS = 12
#: The limits of the age groups, in days in their status; the last group is older.
AGES = (30, 60, 90)


@dataclass(frozen=True, slots=True)
class BillSum:
    """How many bills, the sum of their totals, and the address of their list."""

    count: int = 0
    total: Decimal = ZERO
    link: str = ""

    def __add__(self, other: BillSum) -> BillSum:
        return BillSum(self.count + other.count, self.total + other.total)


@dataclass(frozen=True, slots=True)
class StatusRow:
    """A status with its cells, and their sum."""

    status: str
    link: str
    cells: Sequence[BillSum]

    @property
    def label(self) -> str:
        return STATUSES[self.status].label

    @property
    def sum(self) -> BillSum:
        return sum(self.cells, BillSum())


def month_end_context(claims: QuerySet[Claim]) -> dict[str, object]:
    """The variables of the page: rows of sums of the claims by month and by age, and their totals."""
    months = last_months()
    entered, aged = rows_by_month(claims, months), rows_by_age(claims)
    return {
        "months": [(month, list_url(Claim, **entered_in(month))) for month in months],
        "rows": entered,
        "totals": column_sums(entered, len(months)),
        "ages": ["Up to 30 days", "31 to 60", "61 to 90", "Over 90"],
        "open": aged,
        "open_totals": column_sums(aged, len(AGES) + 1),
    }


def last_months(count: int = MONTHS) -> list[dt.date]:
    """The first days of the last months, this one first."""
    first = clock.today().replace(day=1)
    return [clock.months_after(first, -number) for number in range(count)]


def group_by_month(claims: QuerySet[Claim], months: Sequence[dt.date]) -> QuerySet[Model, tuple[object, ...]]:
    """Current claims entered in the months, the newest first: (status, number of the month, count)."""
    starts = [clock.start_of_day(month) for month in months]
    # Compared with the start of each month: to truncate each moment in the zone takes three times as long.
    is_in = [When(creation_date__gte=start, then=Value(number)) for number, start in enumerate(starts)]
    month = Case(*is_in, output_field=IntegerField())
    entered = claims.filter(archive_date=None, creation_date__gte=starts[-1]).order_by()
    return entered.values_list("funding_status", month).annotate(count=Count("*"))


def rows_by_month(claims: QuerySet[Claim], months: Sequence[dt.date]) -> list[StatusRow]:
    """Current claims entered in each of the months by status; one query."""
    found = group_by_month(claims, months).annotate(sum=MoneySum("total"))
    cells = {(status, months[number]): BillSum(count, total) for status, number, count, total in found}
    return status_rows(cells, {month: {**entered_in(month), "resubmitted": "all"} for month in months})


def entered_in(month: dt.date) -> dict[str, object]:
    """The filters of the list of bills that were entered in a month."""
    return {"creation_date_from": month, "creation_date_to": clock.month_end(month)}


def rows_by_age(claims: QuerySet[Claim]) -> list[StatusRow]:
    """Current claims of which something is still expected, by their days in this status; one query.

    Of a claim that was resubmitted, it is expected of the new one.
    """
    first_days = [clock.today() - dt.timedelta(days=days) for days in AGES]
    starts = [clock.start_of_day(day) for day in first_days]
    limits = [When(status_date__gte=start, then=Value(number)) for number, start in enumerate(starts)]
    age = Case(*limits, default=Value(len(AGES)), output_field=IntegerField())
    resubmitted = Q(resubmission_exists(Claim), funding_status__in=RESUBMITTABLE)
    open_claims = claims.filter(~Q(funding_status__in=FINISHED), ~resubmitted, archive_date=None).order_by()
    found = open_claims.values_list("funding_status", age).annotate(count=Count("pk"), sum=MoneySum("total"))
    cells = {(status, group): BillSum(count, total) for status, group, count, total in found}
    filters: dict[int, dict[str, object]] = {
        number: {"status_date_from": day} for number, day in enumerate(first_days)
    }
    for number, day in enumerate(first_days, 1):
        filters.setdefault(number, {})["status_date_to"] = day - dt.timedelta(days=1)
    return status_rows(cells, filters)


def status_rows(
    cells: Mapping[tuple[str, object], BillSum], columns: Mapping[Any, Mapping[str, object]]
) -> list[StatusRow]:
    """A row for each status that has any cell; the filters of a column lead to the lists of its cells."""
    statuses = {status for status, _ in cells}
    return [
        StatusRow(
            status.value,
            list_url(Claim, status=status.value),
            [
                replace(cell, link=list_url(Claim, status=status.value, **filters))
                if (cell := cells.get((status.value, column)))
                else BillSum()
                for column, filters in columns.items()
            ],
        )
        for status in ClaimStatus
        if status.value in statuses
    ]


def column_sums(rows: Sequence[StatusRow], columns: int) -> list[BillSum]:
    """The sums below the columns, and their sum."""
    sums = [sum((row.cells[number] for row in rows), BillSum()) for number in range(columns)]
    return [*sums, sum(sums, BillSum())]
