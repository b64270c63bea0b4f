"""Work queues: how many records wait in each status and since when; the next invoice to claim."""

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.core.paginator import Paginator
from django.db import connection, models
from django.db.models import Count, Exists, F, Min, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import number_format
from django.utils.functional import cached_property

from apps.core.admin_base import COUNT_LIMIT
from apps.core.admin_base.display import admin_url, days_since
from apps.funding.choices import ApprovalStatus, ClaimStatus
from apps.funding.models import WAITS_FOR_CLAIM, Claim, ProviderInvoice, resubmission_exists
from apps.funding.statuses import EDITABLE, RESUBMITTABLE

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
    model: type[models.Model], column: str = "funding_status", left_out: Collection[str] = ()
) -> list[Queue]:
    """A queue for each status but those left out. A bill that was resubmitted has left its queue."""
    moments_of = provider_invoice_moments if model is ProviderInvoice else partial(bill_moments, model)
    choices = [choice for choice in choices_of(model, column) if choice[0] not in left_out]
    parts = [capped_count(value, moments_of(value)) for value, _ in choices]
    with connection.cursor() as cursor:
        statement = " UNION ALL ".join(sql for sql, _ in parts)
        cursor.execute(statement, [value for _, params in parts for value in params])
        rows = {name: (count, oldest) for name, count, oldest in cursor.fetchall()}
    return [Queue(value, label, rows[value][0], read_moment(rows[value][1])) for value, label in choices]


def capped_count(status: str, moments: QuerySet[Any, Any]) -> tuple[str, tuple[Any, ...]]:
    """SQL and parameters of a row: the status, the number of moments up to the limit, the first of them."""
    # Not public, and the only way to the text of a part of a statement; the counts of every list test it.
    sql, params = moments.order_by("moment")[: COUNT_LIMIT + 1].query.sql_with_params()
    return f"SELECT %s, count(*), min(moment) FROM ({sql}) AS capped", (status, *params)  # noqa: S608


def bill_moments(model: type[Any], status: str) -> QuerySet[Any, Any]:
    """Since when the current bills of a status have had it."""
    bills = model._default_manager.filter(funding_status=status, archive_date=None).order_by()
    if status in RESUBMITTABLE:
        bills = bills.exclude(resubmission_exists(model))
    return bills.values(moment=F("status_date"))


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


# --- provider invoices ----------------------------------------------------------------------------------


#: Somebody still has to decide about provider invoices in these, unless a claim has decided it.
UNDECIDED = frozenset(
    {
        ApprovalStatus.UNACTIONED.value,
        ApprovalStatus.ON_HOLD_BY_CLIENT.value,
        ApprovalStatus.ON_HOLD_BY_PLAN_MANAGER.value,
    }
)
DECIDED = frozenset(ApprovalStatus.values) - UNDECIDED
#: Of provider invoices with claims: those with one before its approval, and those with one after it.
CURRENT_CLAIMS = Claim.objects.filter(archive_date=None).order_by()
HAS_ENTERED_CLAIM = Q(pk__in=CURRENT_CLAIMS.filter(funding_status__in=EDITABLE).values("provider_invoice"))
HAS_APPROVED_CLAIM = Q(
    Exists(CURRENT_CLAIMS.filter(provider_invoice=OuterRef("pk")).exclude(funding_status__in=EDITABLE))
)
#: Of undecided ones: whoever approved a claim has decided about the provider invoice that it is built on.
NEEDS_DECISION = Q(is_claimed=False) | HAS_ENTERED_CLAIM & ~HAS_APPROVED_CLAIM


def load_provider_invoice_queues(left_out: Collection[str] = ()) -> list[Queue]:
    """The invoices that wait for a claim, and a queue for each approval status but those left out."""
    first = waiting_invoices().values_list("creation_date", flat=True).first()
    waiting = Queue(WAITING, "To be claimed", waiting_invoices()[: COUNT_LIMIT + 1].count(), first)
    return [waiting, *load_queues(ProviderInvoice, "approval_status", left_out)]


def provider_invoice_moments(status: str) -> QuerySet[Any, Any]:
    """When the current provider invoices of an approval status were received; of undecided ones, the work."""
    received = ProviderInvoice.objects.filter(approval_status=status, archive_date=None).order_by()
    moments = received.values(moment=F("creation_date"))
    if status not in UNDECIDED:
        return moments
    # Two queries, each with its index: nearly all claims, and their provider invoices, are settled.
    claimed = moments.filter(HAS_ENTERED_CLAIM, ~HAS_APPROVED_CLAIM, is_claimed=True)
    return moments.filter(is_claimed=False).union(claimed, all=True)


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
