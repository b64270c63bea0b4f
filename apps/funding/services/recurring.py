"""Recurring invoices: a new invoice for every period of their calendar that has begun (interface.md 2.4)."""

import datetime as dt
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby, islice, takewhile
from uuid import UUID

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.drafts import Issue, ValidationFailed
from apps.base.retries import retry_on_conflict
from apps.engagements.coverage import load_current_plans
from apps.funding.drafts import InvoiceDraft, LineDraft
from apps.funding.models import Invoice, InvoiceLine
from apps.funding.models.prices import PriceTable, load_price_table
from apps.funding.services.create import create_invoices
from apps.funding.services.recurrence_calendar import Recurrence
from apps.funding.statuses import statuses_where

logger = logging.getLogger(__name__)

#: Recurring invoices read in one batch, and invoices created in one transaction.
BATCH = 200
CREATED_AT_ONCE = 500

#: More missed periods of one recurring invoice than this are a mistake in its dates: three years of days.
MAX_MISSED_PERIODS = 1_100

#: The next period of any frequency begins within it.
LONGEST_PERIOD = dt.timedelta(days=366)

CONTACT_ARCHIVED = "The participant is archived. Archive the recurring invoice, or restore the participant."

RECURRENCE_ENDED = statuses_where(lambda row: row.ends_recurrence)


@dataclass(frozen=True, slots=True)
class CreatedInvoice:
    """An invoice that was created, or in a dry run would be: from which recurring one, for which day."""

    recurring: str
    day: dt.date
    number: str
    total: Decimal


@dataclass(frozen=True, slots=True)
class FailedInvoice:
    """An invoice that was due and could not be created, and why."""

    recurring: str
    day: dt.date
    reason: str


@dataclass(frozen=True, slots=True)
class DuePeriod:
    """A period of a recurring invoice that has no invoice yet."""

    recurring: UUID
    number: str
    period: int
    day: dt.date


class PeriodsInvalid(Exception):
    """Some of the invoices cannot be created; nothing was stored. ``messages``: why, by their periods."""

    def __init__(self, failed: ValidationFailed, periods: Sequence[DuePeriod]) -> None:
        super().__init__()
        self.messages: dict[DuePeriod, list[str]] = defaultdict(list)
        for number, issue in failed.issues:
            self.messages[periods[number]].append(issue.message)


def create_recurring_invoices(
    until: dt.date, dry_run: bool = False
) -> Iterator[CreatedInvoice | FailedInvoice]:
    """Create every invoice that is due up to ``until``, batch by batch.

    Warnings do not stop them: they are acknowledged, for whoever approves. Runs may be repeated, and may
    overlap on two machines: a period has one invoice. One that cannot be created does not stop the others;
    the next run tries again.
    """
    for keys in read_batches(recurring_invoices(until)):
        clock.reset_now()
        periods: list[DuePeriod] = []
        found = (period for period, _ in load_due_periods(keys, until))
        for _, missed in groupby(found, key=lambda period: period.recurring):
            of_one = list(missed)
            if len(of_one) > MAX_MISSED_PERIODS:
                yield too_many_missed(of_one[0], until)
            else:
                periods += of_one
        periods.sort(key=by_day)
        for start in range(0, len(periods), CREATED_AT_ONCE):
            yield from create_batch(periods[start : start + CREATED_AT_ONCE], until, dry_run)


def recurring_invoices(until: dt.date) -> QuerySet[Invoice]:
    """The invoices whose calendar has begun and was not ended.

    A resubmission does not recur itself: its original does.
    """
    resubmission = Invoice.objects.filter(resubmission_of=OuterRef("pk"), archive_date=None).order_by()
    return Invoice.objects.filter(
        Exists(resubmission) | ~Q(funding_status__in=RECURRENCE_ENDED),
        is_recurring=True,
        archive_date=None,
        resubmission_of=None,
        recurring_start_date__lte=until,
    )


def read_batches(invoices: QuerySet[Invoice]) -> Iterator[list[UUID]]:
    """Their keys, so many at a time; no cursor stays open while others are stored."""
    keys = list(invoices.order_by("pk").values_list("pk", flat=True)[:BATCH])
    while keys:
        yield keys
        keys = list(invoices.filter(pk__gt=keys[-1]).order_by("pk").values_list("pk", flat=True)[:BATCH])


def by_day(period: DuePeriod) -> tuple[dt.date, UUID]:
    return period.day, period.recurring


# --- due periods ----------------------------------------------------------------------------------------


def load_due_periods(
    keys: Sequence[UUID], until: dt.date, lock: bool = False
) -> list[tuple[DuePeriod, Invoice]]:
    """The periods of recurring invoices that have no invoice yet, each with its recurring one; three queries.

    In the order of the invoices and their periods, with one more than may be missed at most. Locked, the
    recurring invoices stay as they are, and nobody else creates invoices from them meanwhile.
    """
    rows = recurring_invoices(until).filter(AnyOf("pk", keys)).select_related("contact", "staff")
    if lock:
        rows = rows.select_for_update(of=("self",))
    invoices = list(rows.order_by("pk"))
    plans = load_current_plans({invoice.contact_id for invoice in invoices})
    created = load_created_days(invoice.pk for invoice in invoices)
    found = []
    for invoice in invoices:
        recurrence = recurrence_of(invoice)
        # The plan is the one in which the invoice began to recur.
        began = max(invoice.start_date, recurrence.since)
        last = next((plan.last_day for plan in plans.get(invoice.contact_id, ()) if plan.covers(began)), None)
        days = takewhile(
            lambda each: last is None or recurrence.first_day(each[0]) <= last,  # noqa: B023  used up at once
            recurrence.days(min(until, invoice.recurring_end_date or until)),
        )
        missed = ((period, day) for period, day in days if day not in created[invoice.pk])
        for period, day in islice(missed, MAX_MISSED_PERIODS + 1):
            found.append((DuePeriod(invoice.pk, invoice.invoice_number, period, day), invoice))
    return found


def next_invoice_day(invoice: Invoice) -> dt.date | None:
    """The day of the first period that has no invoice yet; ``None`` when there is no such period."""
    if not invoice.is_recurring:
        return None
    began = max(clock.today(), invoice.start_date, recurrence_of(invoice).since)
    try:
        due = load_due_periods([invoice.pk], began + LONGEST_PERIOD)
    except OverflowError:  # the calendar of Python ends with the year 9999
        return None
    return due[0][0].day if due else None


def too_many_missed(first: DuePeriod, until: dt.date) -> FailedInvoice:
    reason = (
        f"More than {MAX_MISSED_PERIODS:,} invoices are due from {first.day} to {until}. If its dates are a"
        " mistake, archive it and enter it anew; else make fewer at a time, up to an earlier day."
    )
    return FailedInvoice(first.number, first.day, reason)


def recurrence_of(invoice: Invoice) -> Recurrence:
    # The database has no recurring invoice without these two.
    assert invoice.recurring_start_date is not None
    assert invoice.recurring_frequency is not None
    return Recurrence(invoice.recurring_start_date, invoice.recurring_frequency, invoice.start_date)


def load_created_days(keys: Iterable[UUID]) -> Mapping[UUID, set[dt.date]]:
    """The days that have an invoice already, archived ones included."""
    days: dict[UUID, set[dt.date]] = defaultdict(set)
    rows = Invoice.objects.filter(AnyOf("recurrence_of", set(keys)), recurrence_of__isnull=False).order_by()
    for key, day in rows.values_list("recurrence_of", "recurrence_date"):
        if key is not None and day is not None:
            days[key].add(day)
    return days


# --- creating invoices ----------------------------------------------------------------------------------


def create_batch(
    periods: Sequence[DuePeriod], until: dt.date, dry_run: bool
) -> Iterator[CreatedInvoice | FailedInvoice]:
    """Create the valid invoices in one transaction; an unexpected fault is narrowed down to its invoice."""
    try:
        yield from create_for_periods(periods, until, dry_run)
    except PeriodsInvalid as invalid:
        for period, messages in invalid.messages.items():
            yield FailedInvoice(period.number, period.day, " ".join(dict.fromkeys(messages)))
        if valid := [period for period in periods if period not in invalid.messages]:
            yield from create_batch(valid, until, dry_run)
    except (InterfaceError, OperationalError):
        raise  # the database is gone: it would be for each of the others as well
    except Exception as error:
        half = len(periods) // 2
        if half:
            yield from create_batch(periods[:half], until, dry_run)
            yield from create_batch(periods[half:], until, dry_run)
            return
        failed = periods[0]
        logger.exception("No invoice could be created from the recurring invoice %s", failed.number)
        yield FailedInvoice(failed.number, failed.day, f"{type(error).__name__}: {error}".strip())


@retry_on_conflict
@transaction.atomic
def create_for_periods(periods: Sequence[DuePeriod], until: dt.date, dry_run: bool) -> list[CreatedInvoice]:
    """Create the invoices of those periods that are still due."""
    wanted = set(periods)
    keys = sorted({period.recurring for period in periods})
    due = [pair for pair in load_due_periods(keys, until, lock=True) if pair[0] in wanted]
    due.sort(key=lambda pair: by_day(pair[0]))
    archived = [
        (number, Issue("Archived", "contact", CONTACT_ARCHIVED))
        for number, (_, invoice) in enumerate(due)
        if invoice.contact.archive_date is not None
    ]
    drafts = make_drafts(due)
    try:
        if archived:
            raise ValidationFailed(archived)
        create_invoices(drafts, ignore_warnings=True)
    except ValidationFailed as failed:
        raise PeriodsInvalid(failed, [period for period, _ in due]) from failed
    transaction.set_rollback(dry_run)
    return [
        CreatedInvoice(period.number, period.day, draft.invoice_number, draft.total)
        for (period, _), draft in zip(due, drafts, strict=True)
    ]


# --- drafts ---------------------------------------------------------------------------------------------

#: The columns of a line that its copy has as well.
LINE_COLUMNS = (
    "price_book",
    "product",
    "quantity",
    "tax_choice",
    "claim_type",
    "cancellation_reason",
    "notes",
    "is_credit_item",
    "cost_centre",
)


def make_drafts(due: Sequence[tuple[DuePeriod, Invoice]]) -> list[InvoiceDraft]:
    """The drafts of the invoices of these periods; two queries, however many there are."""
    lines: dict[UUID, list[InvoiceLine]] = defaultdict(list)
    keys = {invoice.pk for _, invoice in due}
    rows = InvoiceLine.objects.filter(AnyOf("invoice", keys), archive_date=None).order_by("position", "pk")
    for line in rows.select_related("product", "price_book", "cost_centre"):
        lines[line.invoice_id].append(line)
    prices = load_price_table(line.product_id for originals in lines.values() for line in originals)
    return [next_invoice_draft(period, invoice, lines[invoice.pk], prices) for period, invoice in due]


def next_invoice_draft(
    period: DuePeriod, invoice: Invoice, lines: Sequence[InvoiceLine], prices: PriceTable
) -> InvoiceDraft:
    """The recurring invoice with its dates moved into the period; the new one does not recur."""
    recurrence = recurrence_of(invoice)
    start, end = recurrence.move_days(invoice.start_date, invoice.end_date, period.period)
    values = {
        "invoice_number": None,
        "external_invoice_number": None,
        "invoice_claim_type": invoice.invoice_claim_type,
        "start_date": start,
        "end_date": end,
        "due_date": invoice.due_date and recurrence.move_day(invoice.due_date, period.period),
        "is_recurring": False,
        "recurring_start_date": None,
        "recurring_end_date": None,
        "recurring_frequency": None,
        "contact": invoice.contact,
        "staff": invoice.staff,
        "recurrence_of": invoice,
        "recurrence_date": period.day,
        "line_items": [
            next_line_draft(line, invoice, recurrence, period.period, start, prices) for line in lines
        ],
    }
    return InvoiceDraft(values, given=values)


def next_line_draft(
    line: InvoiceLine,
    invoice: Invoice,
    recurrence: Recurrence,
    period: int,
    start: dt.date,
    prices: PriceTable,
) -> LineDraft:
    """The line with its dates moved into the period of the invoice that begins on ``start``.

    A line whose price was the price book's on its day has the price book's of its new day, if there is one;
    any other price stays.
    """
    from_date, to_date = line.from_date, line.to_date
    if from_date is not None and to_date is not None:
        from_date, to_date = recurrence.move_days(from_date, to_date, period)
    else:
        from_date = from_date and recurrence.move_day(from_date, period)
        to_date = to_date and recurrence.move_day(to_date, period)
    region = invoice.contact.scheme_price_guide_region
    before, after = (
        prices.find(line.price_book_id, line.product_id, region, day)
        for day in (line.first_day, from_date or start)
    )
    price = line.price
    if before is not None and before.amount == price and after is not None and after.amount is not None:
        price = after.amount
    values = {name: getattr(line, name) for name in LINE_COLUMNS}
    values |= {"from_date": from_date, "to_date": to_date, "price": price}
    return LineDraft(values, given=values)
