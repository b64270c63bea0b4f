"""Work queues: how many records wait in each status and since when; the next invoice to claim."""

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db import connection, models
from django.db.models import Count, Min, Q, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import number_format
from django.utils.functional import cached_property

from apps.core.admin_base import COUNT_LIMIT
from apps.core.admin_base.display import admin_url, days_since
from apps.funding.choices import ClaimStatus
from apps.funding.models import WAITS_FOR_CLAIM, Claim, ProviderInvoice
from apps.funding.statuses import RESUBMITTABLE

#: Nobody looks through more search results than so many.
RESULT_LIMIT = 100

#: The parameter that chooses a queue in its list, and the queue of provider invoices without a claim.
STATUS = "status"
WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Queue:
    """The current records of one status; ``oldest``: since when the first of them waits."""

    status: str
    label: str
    count: int
    oldest: dt.datetime | None = None

    @property
    def count_label(self) -> str:
        text = number_format(min(self.count, COUNT_LIMIT), force_grouping=True)
        return f"{text}+" if self.count > COUNT_LIMIT else text

    @property
    def days(self) -> int | None:
        """For how many days the oldest has waited."""
        return None if self.oldest is None else days_since(self.oldest)


def choices_of(model: type[models.Model], column: str) -> list[tuple[str, str]]:
    """The values and labels that a column of the model has."""
    field: Any = model._meta.get_field(column)
    return [(value, str(label)) for value, label in field.flatchoices]


def load_queues(
    model: type[models.Model],
    column: str = "funding_status",
    since: str = "status_date",
    left_out: Collection[str] = (),
) -> list[Queue]:
    """A queue for each status but those left out, in one statement: counted on its index, up to the limit.

    A bill that was resubmitted has left its queue.
    """
    quote = connection.ops.quote_name
    table, status, moment = quote(model._meta.db_table), quote(column), quote(since)
    not_resubmitted = (
        f" AND NOT EXISTS (SELECT 1 FROM {table} AS later"  # noqa: S608  our own names
        f" WHERE later.resubmission_of_id = {table}.guid AND later.archive_date IS NULL)"
    )

    def count_query(value: str) -> str:
        current = f"FROM {table} WHERE {status} = %s AND archive_date IS NULL"
        current += not_resubmitted if value in RESUBMITTABLE else ""
        return (  # our own names, and a number of ours
            f"SELECT %s, count(*), min({moment}) FROM"  # noqa: S608
            f" (SELECT {moment} {current} ORDER BY {moment} LIMIT {COUNT_LIMIT + 1}) AS capped"
        )

    choices = [choice for choice in choices_of(model, column) if choice[0] not in left_out]
    with connection.cursor() as cursor:
        cursor.execute(
            " UNION ALL ".join(count_query(value) for value, _ in choices),
            [word for value, _ in choices for word in (value, value)],
        )
        rows = {name: (count, oldest) for name, count, oldest in cursor.fetchall()}
    return [Queue(value, label, rows[value][0], read_moment(rows[value][1])) for value, label in choices]


def read_moment(value: Any) -> dt.datetime | None:
    """A moment as the engine gives it: SQLite gives a text in UTC."""
    if isinstance(value, str):
        value = parse_datetime(value)
    if value is not None and timezone.is_naive(value):
        value = value.replace(tzinfo=dt.UTC)
    return value


def queue_tabs(queues: Sequence[Queue], chosen: str, is_all: bool | None = None) -> list[dict[str, Any]]:
    """The tabs of a list: all records, and each queue that has any or is chosen."""
    tabs = [{"label": "All", "count": "", "link": "?", "on": not chosen if is_all is None else is_all}]
    for queue in queues:
        if queue.count or queue.status in (chosen, WAITING):
            link, is_chosen = f"?{STATUS}={queue.status}", queue.status == chosen
            tabs.append({"label": queue.label, "count": queue.count_label, "link": link, "on": is_chosen})
    return tabs


def load_hold_reasons(model: Any) -> list[dict[str, Any]]:
    """Why bills are on hold: each reason with how many there are and since when, the most common first."""
    on_hold = model._default_manager.filter(funding_status=ClaimStatus.ON_HOLD, archive_date=None).order_by()
    reasons = on_hold.values("status_reason").annotate(count=Count("pk"), oldest=Min("status_date"))
    return list(reasons.order_by("-count", "status_reason")[:12])


# --- provider invoices without a claim ------------------------------------------------------------------


def load_provider_invoice_queues() -> list[Queue]:
    """The invoices that wait for a claim, and a queue for each approval status."""
    first = waiting_invoices().values_list("creation_date", flat=True).first()
    waiting = Queue(WAITING, "To be claimed", waiting_invoices()[: COUNT_LIMIT + 1].count(), first)
    return [waiting, *load_queues(ProviderInvoice, "approval_status", "creation_date")]


def waiting_invoices() -> QuerySet[ProviderInvoice]:
    """Those that wait for a claim, the oldest first; the database has an index of these and no others."""
    return ProviderInvoice.objects.filter(WAITS_FOR_CLAIM).order_by("creation_date", "guid")


def next_waiting_invoice(invoice: ProviderInvoice) -> ProviderInvoice | None:
    """The one that waits next after this one; the first of all after the last."""
    later = Q(creation_date__gt=invoice.creation_date) | Q(
        creation_date=invoice.creation_date, guid__gt=invoice.pk
    )
    following = waiting_invoices().filter(creation_date__gte=invoice.creation_date).filter(later).first()
    return following or waiting_invoices().exclude(pk=invoice.pk).first()


def new_claim_url(provider_invoice: ProviderInvoice) -> str:
    """The claim form filled from a provider invoice."""
    return admin_url(Claim, "add", provider_invoice=provider_invoice.pk)


# --- pages ----------------------------------------------------------------------------------------------


class AutocompletePaginator(Paginator):
    """Pages of suggestions: counted in their order, and no further than is useful."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows[:RESULT_LIMIT].count())
