"""Work queues: how many records wait in each status and since when; the next invoice to claim."""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial, reduce
from operator import or_
from types import MappingProxyType
from typing import Any

from django.core.paginator import Paginator
from django.db import connection, models
from django.db.models import Case, Count, Exists, F, Min, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.expressions import Combinable
from django.db.models.lookups import Range
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.functional import cached_property

from apps.base import clock
from apps.base.money import ZERO, to_cents
from apps.core.admin_base import COUNT_LIMIT
from apps.core.admin_base.display import admin_url, capped_label, days_since
from apps.core.computed import MoneySum
from apps.funding.choices import ApprovalStatus
from apps.funding.models import (
    WAITS_FOR_CLAIM,
    Claim,
    ClaimFileLine,
    ClaimLine,
    ClaimWindow,
    ClaimWindows,
    ProviderInvoice,
    resubmission_exists,
    supports_that_end,
)
from apps.funding.statuses import EDITABLE, RESUBMITTABLE, UNCLAIMED, ClaimStatus

#: Nobody looks through more search results than so many.
RESULT_LIMIT = 100

#: Nothing waits since before this moment.
LONG_AGO = dt.datetime(1900, 1, 1, tzinfo=dt.UTC)
#: The parameter that chooses a queue in its list, and the queue of provider invoices without a claim.
STATUS = "status"
WAITING = "waiting"
#: The queue of bills that the agency refused, wholly or some lines of them.
REFUSED_BY_AGENCY = "refused-by-agency"
REFUSED_LABEL = "Refused by the agency"


@dataclass(frozen=True, slots=True)
class Queue:
    """The current records of one status, and their sum; ``oldest``: since when the first of them waits.

    ``late``: how many of them wait for too long.
    """

    status: str
    label: str
    count: int
    oldest: dt.datetime | None = None
    amount: Decimal = ZERO
    late: int = 0

    @property
    def count_label(self) -> str:
        return capped_label(self.count)

    @property
    def days(self) -> int | None:
        """For how many days the oldest has waited."""
        return None if self.oldest is None else days_since(self.oldest)


def choices_of(model: type[models.Model], column: str) -> list[tuple[str, str]]:
    """The values and labels that a column of the model has."""
    field: Any = model._meta.get_field(column)
    return [(value, str(label)) for value, label in field.flatchoices]


def load_queues(
    records: QuerySet[Any],
    column: str = "funding_status",
    left_out: Collection[str] = (),
    late_before: Mapping[str, dt.datetime] = MappingProxyType({}),
) -> list[Queue]:
    """A queue of the records for each status but those left out. A resubmitted bill has left its queue.

    ``late_before``: by status, the moment before which what waits is late.
    """
    model: type[models.Model] = records.model
    waits_of = partial(provider_invoice_waits if model is ProviderInvoice else bill_waits, records)
    choices = choices_of(model, column)
    if model is not ProviderInvoice:
        choices.append((REFUSED_BY_AGENCY, REFUSED_LABEL))
    choices = [choice for choice in choices if choice[0] not in left_out]
    parts = [capped_count(value, waits_of(value), late_before.get(value, LONG_AGO)) for value, _ in choices]
    with connection.cursor() as cursor:
        statement = " UNION ALL ".join(sql for sql, _ in parts)
        cursor.execute(statement, [value for _, params in parts for value in params])
        rows = {name: columns for name, *columns in cursor.fetchall()}
    queues = []
    for value, label in choices:
        count, oldest, amount, late = rows[value]
        queues.append(Queue(value, label, count, read_moment(oldest), to_cents(amount), late))
    return queues


def capped_count(
    status: str, waits: QuerySet[models.Model, object], late: dt.datetime
) -> tuple[str, tuple[Any, ...]]:
    """SQL and parameters of a row: the status, the number up to the limit, the first moment, sum, late ones.

    The oldest are counted, so that the limit leaves out none of the late ones.
    """
    # Not public, and the only way to the text of a part of a statement; the counts of every list test it.
    sql, params = waits.order_by("moment")[: COUNT_LIMIT + 1].query.sql_with_params()
    columns = "%s, count(*), min(moment), sum(amount), count(CASE WHEN moment < %s THEN 1 END)"
    limit = connection.ops.adapt_datetimefield_value(late)
    return f"SELECT {columns} FROM ({sql}) AS capped", (status, limit, *params)  # noqa: S608


def bill_waits(bills: QuerySet[Any], status: str) -> QuerySet[models.Model, object]:
    """Since when the current bills of a queue have had their status, and their totals."""
    if status == REFUSED_BY_AGENCY:
        # Two queries, each with its index.
        partly = bills_in(bills, ClaimStatus.AGENCY_PARTIALLY_PAID).filter(has_refused_lines(bills.model))
        waits = partly.values(moment=F("status_date"), amount=F("total"))
        return bill_waits(bills, ClaimStatus.REJECTED).union(waits, all=True)
    found = bills_in(bills, status)
    if status in RESUBMITTABLE:
        found = found.exclude(resubmission_exists(bills.model))
    return found.values(moment=F("status_date"), amount=F("total"))


def bills_in(bills: QuerySet[Any], status: str) -> QuerySet[Any]:
    return bills.filter(funding_status=status, archive_date=None).order_by()


def has_refused_lines(model: type[Any]) -> Exists:
    """The condition that the agency refused a line of a bill, which is neither paid nor resubmitted."""
    bill = str(model._meta.model_name)
    lines = ClaimFileLine.objects.filter(is_withdrawn=False, result__is_accepted=False)
    unpaid = lines.filter(**{f"{bill}_line__amount_paid": 0})
    newer = f"{bill}_line__resubmitted_as"
    current = unpaid.filter(Q(**{newer: None}) | Q(**{f"{newer}__archive_date__isnull": False}))
    return Exists(current.filter(**{bill: OuterRef("pk")}).order_by())


def refused_by_agency(model: type[Any]) -> Q:
    """The condition of the bills in the queue of that name."""
    partly = Q(funding_status=ClaimStatus.AGENCY_PARTIALLY_PAID) & Q(has_refused_lines(model))
    return Q(funding_status=ClaimStatus.REJECTED) & ~Q(resubmission_exists(model)) | partly


def read_moment(value: Any) -> dt.datetime | None:
    """A moment as the engine gives it: SQLite gives a text in UTC."""
    if isinstance(value, str):
        value = parse_datetime(value)
    if value is not None and timezone.is_naive(value):
        value = value.replace(tzinfo=dt.UTC)
    return value


def queue_tabs(queues: Sequence[Queue], chosen: str, is_all: bool | None = None) -> list[dict[str, object]]:
    """The tabs of a list: all records, and each queue that has any or is chosen."""
    tabs = [{"label": "All", "count": "", "link": "?", "on": not chosen if is_all is None else is_all}]
    for queue in queues:
        if queue.count or queue.status in (chosen, WAITING):
            link, is_chosen = f"?{STATUS}={queue.status}", queue.status == chosen
            tabs.append({"label": queue.label, "count": queue.count_label, "link": link, "on": is_chosen})
    return tabs


def load_hold_reasons(bills: QuerySet[Any]) -> list[dict[str, Any]]:
    """Why bills are on hold: each reason with how many there are and since when, the most common first."""
    on_hold = bills_in(bills, ClaimStatus.ON_HOLD)
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


def load_provider_invoice_queues(
    invoices: QuerySet[ProviderInvoice], left_out: Collection[str] = (), late_before: dt.datetime = LONG_AGO
) -> list[Queue]:
    """The invoices that wait for a claim, and a queue for each approval status but those left out.

    ``late_before``: what was received before that moment should have a claim. Two statements.
    """
    found = waiting_invoices(invoices)[: COUNT_LIMIT + 1].aggregate(
        count=Count("pk"),
        oldest=Min("creation_date"),
        amount=MoneySum("invoice_total"),
        late=Count("pk", filter=Q(creation_date__lt=late_before)),
    )
    waiting = Queue(WAITING, "To be claimed", **{**found, "amount": to_cents(found["amount"])})
    return [waiting, *load_queues(invoices, "approval_status", left_out)]


def provider_invoice_waits(
    invoices: QuerySet[ProviderInvoice], status: str
) -> QuerySet[models.Model, object]:
    """When the current provider invoices of an approval status were received, and their totals.

    Of undecided ones, those that are work.
    """
    received = invoices.filter(approval_status=status, archive_date=None).order_by()
    waits = received.values(moment=F("creation_date"), amount=F("invoice_total"))
    if status not in UNDECIDED:
        return waits
    # Two queries, each with its index: nearly all claims, and their provider invoices, are finished.
    claimed = waits.filter(HAS_ENTERED_CLAIM, ~HAS_APPROVED_CLAIM, is_claimed=True)
    return waits.filter(is_claimed=False).union(claimed, all=True)


def waiting_invoices(invoices: QuerySet[ProviderInvoice]) -> QuerySet[ProviderInvoice]:
    """The provider invoices that wait for a claim, the oldest first; the database has an index of them."""
    return invoices.filter(WAITS_FOR_CLAIM).order_by("creation_date", "guid")


def next_waiting_invoice(
    invoices: QuerySet[ProviderInvoice], invoice: ProviderInvoice
) -> ProviderInvoice | None:
    """The one that waits next after this one; the first of all after the last."""
    later = Q(creation_date__gt=invoice.creation_date) | Q(
        creation_date=invoice.creation_date, guid__gt=invoice.pk
    )
    waiting = waiting_invoices(invoices)
    following = waiting.filter(creation_date__gte=invoice.creation_date).filter(later).first()
    return following or waiting.exclude(pk=invoice.pk).first()


def new_claim_url(provider_invoice: ProviderInvoice) -> str:
    """The claim form filled from a provider invoice."""
    return admin_url(Claim, "add", provider_invoice=provider_invoice.pk)


# --- claim windows --------------------------------------------------------------------------------------

#: What can be claimed for so many more days is work of its own, and what could until so many days ago.
LAPSE_DAYS, LAPSED_DAYS = dt.timedelta(days=14), dt.timedelta(days=14)
LAPSE_LABEL = f"Lapse within {LAPSE_DAYS.days} days"
LAPSED_LABEL = f"Lapsed in the last {LAPSED_DAYS.days} days"
#: The parameter that chooses them in their lists, and its values: all of them, and those that have lapsed.
WINDOW = "window"
LAPSING, LAPSED = "lapsing", "lapsed"


def lapse_conditions(model: type[models.Model]) -> dict[str, tuple[str, Q]]:
    """The conditions of what lapses and of what has lapsed, with their labels, by values of ``WINDOW``."""
    today, windows = clock.today(), ClaimWindow.current()
    condition = invoice_support_between if model is ProviderInvoice else claim_support_between
    first, yesterday = today - LAPSED_DAYS, today - dt.timedelta(days=1)
    return {
        LAPSING: (LAPSE_LABEL, condition(windows, first, today + LAPSE_DAYS)),
        LAPSED: (LAPSED_LABEL, condition(windows, first, yesterday)),
    }


#: The first day of a claim's supports. As a value of its own PostgreSQL looks up the lines of each open claim
#: by their index; joined, it would read the lines of all claims.
FIRST_SUPPORT = Subquery(
    ClaimLine.objects.filter(claim=OuterRef("pk"))
    .order_by()
    .values("claim")
    .annotate(first=Min("first_day"))
    .values("first")
)
NOTHING = Q(pk__in=())


def support_between(windows: ClaimWindows, support: Combinable, first: dt.date, last: dt.date) -> Q:
    """The condition that the support of a day can be claimed up to a day between two."""
    ranges = supports_that_end(windows, first, last, clock.today())
    return reduce(or_, (Q(Range(support, days)) for days in ranges), NOTHING)


def invoice_support_between(windows: ClaimWindows, first: dt.date, last: dt.date) -> Q:
    """The condition of provider invoices that wait for a claim; one without a day says nothing of its end."""
    return WAITS_FOR_CLAIM & support_between(windows, F("service_start_date"), first, last)


def claim_support_between(windows: ClaimWindows, first: dt.date, last: dt.date) -> Q:
    """The condition of claims that are not claimed from the agency."""
    open_claims = Q(archive_date=None, funding_status__in=UNCLAIMED)
    return open_claims & support_between(windows, FIRST_SUPPORT, first, last)


def load_lapsing_queue(records: QuerySet[Any]) -> Queue:
    """The queue of records that lapse, and as late ones those that have lapsed; one statement."""
    is_claim = records.model is Claim
    moment, amount = ("status_date", "total") if is_claim else ("creation_date", "invoice_total")
    (label, lapsing), (_, lapsed) = lapse_conditions(records.model).values()
    open_records = records.filter(lapsing).annotate(
        has_lapsed=Case(When(lapsed, then=True), default=False, output_field=models.BooleanField())
    )
    found = open_records.order_by()[: COUNT_LIMIT + 1].aggregate(
        count=Count("pk"),
        oldest=Min(moment),
        amount=MoneySum(amount),
        late=Count("pk", filter=Q(has_lapsed=True)),
    )
    return Queue(LAPSING, label, **{**found, "amount": to_cents(found["amount"])})


def lapsing_tabs(records: QuerySet[Any], is_chosen: bool) -> list[dict[str, object]]:
    """The tab of what lapses, when there is any or it is chosen."""
    queue = load_lapsing_queue(records)
    if not queue.count and not is_chosen:
        return []
    link = f"?{WINDOW}={LAPSING}"
    return [{"label": queue.label, "count": queue.count_label, "link": link, "on": is_chosen}]


#: What lapses is listed by the day of its first support.
LAPSE_ORDERING: dict[type[models.Model], tuple[str, ...]] = {
    Claim: ("start_date", "guid"),
    ProviderInvoice: ("service_start_date", "guid"),
}


# --- pages ----------------------------------------------------------------------------------------------


class AutocompletePaginator(Paginator):
    """Pages of suggestions: counted in their order, and no further than is useful."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows[:RESULT_LIMIT].count())
