"""How many records wait in each status, and since when: counts that stay quick however many there are."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db import connection, models
from django.db.models import Count, Min
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import number_format
from django.utils.functional import cached_property

from apps.funding.choices import ClaimStatus
from apps.odata import clock

#: Nobody works off more than so many one by one; beyond it a queue says "10,000+".
MOST_COUNTED = 10_000

#: Nobody looks through more than so many of what a search offers.
MOST_OFFERED = 100


@dataclass(frozen=True, slots=True)
class Queue:
    """The current records of one status; ``oldest`` is since when the first of them waits."""

    status: str
    label: str
    count: int
    oldest: dt.datetime | None = None

    @property
    def told(self) -> str:
        """The count as people read it."""
        text = number_format(min(self.count, MOST_COUNTED), force_grouping=True)
        return f"{text}+" if self.count > MOST_COUNTED else text

    @property
    def days(self) -> int | None:
        """For how many days the oldest has waited."""
        return None if self.oldest is None else days_since(self.oldest)


def days_since(moment: dt.datetime) -> int:
    """Whole days of the calendar from a moment until today, in the subscriber's zone."""
    return (clock.today() - timezone.localtime(moment).date()).days


def queues(
    model: type[models.Model], statuses: Any, column: str = "funding_status", since: str = "status_date"
) -> list[Queue]:
    """A queue for each status, in one statement: each is counted on its index, up to the cap."""
    quote = connection.ops.quote_name
    table, status, moment = quote(model._meta.db_table), quote(column), quote(since)
    current = f"FROM {table} WHERE {status} = %s AND archive_date IS NULL"
    one = (  # our own names, and a number of ours
        f"SELECT %s, (SELECT count(*) FROM (SELECT 1 {current} LIMIT {MOST_COUNTED + 1}) AS capped),"  # noqa: S608
        f" (SELECT {moment} {current} ORDER BY {moment} LIMIT 1)"
    )
    wanted: Sequence[tuple[str, str]] = statuses.choices
    with connection.cursor() as cursor:
        cursor.execute(
            " UNION ALL ".join([one] * len(wanted)), [word for value, _ in wanted for word in (value,) * 3]
        )
        found = {name: (count, oldest) for name, count, oldest in cursor.fetchall()}
    return [Queue(value, str(label), found[value][0], moment_of(found[value][1])) for value, label in wanted]


def moment_of(value: Any) -> dt.datetime | None:
    """A moment as the engine gives it: SQLite tells it as a text of UTC."""
    if isinstance(value, str):
        value = parse_datetime(value)
    if value is not None and timezone.is_naive(value):
        value = value.replace(tzinfo=dt.UTC)
    return value


def reasons_of_holds(model: Any) -> list[dict[str, Any]]:
    """Why bills are on hold: each reason with how many there are and since when, the most common first."""
    held = model._default_manager.filter(funding_status=ClaimStatus.ON_HOLD, archive_date=None).order_by()
    found = held.values("status_reason").annotate(count=Count("pk"), oldest=Min("status_date"))
    return list(found.order_by("-count", "status_reason")[:12])


class CappedPaginator(Paginator):
    """Pages of a list whose rows are counted up to the cap: beyond it, somebody narrows the list down."""

    @cached_property
    def count(self) -> int:
        some: Any = self.object_list
        return int(some.order_by()[:MOST_COUNTED].count())


class ShortPaginator(Paginator):
    """Pages of what is offered while somebody types: counted in their order, and no further than it helps."""

    @cached_property
    def count(self) -> int:
        some: Any = self.object_list
        return int(some[:MOST_OFFERED].count())
