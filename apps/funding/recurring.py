"""The run that makes recurring invoices again, each for every period that has begun (interface.md 2.4)."""

from __future__ import annotations

import datetime as dt
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby, islice, takewhile
from typing import Any
from uuid import UUID

from django.db import InterfaceError, OperationalError
from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.engagements.coverage import load_current_plans
from apps.engagements.models import ClientEngagement
from apps.funding.models import Invoice, InvoiceLine
from apps.funding.recurrence import Recurrence
from apps.funding.services.create import create_invoices
from apps.funding.services.defaults import apply_invoice_defaults
from apps.funding.statuses import statuses_where
from apps.odata import clock
from apps.odata.any_of import AnyOf
from apps.odata.write.dispatch import retry_on_conflict
from apps.odata.write.drafts import Draft, ValidationFailed

logger = logging.getLogger(__name__)

#: Recurring invoices looked through at once, and invoices stored in one transaction.
BATCH = 200
STORED_AT_ONCE = 500

#: More missed periods of one recurring invoice than this are a slip in its dates: three years of days.
MOST_CAUGHT_UP = 1_100

ENDED = statuses_where(lambda row: row.ends_recurrence)


@dataclass(frozen=True, slots=True)
class Made:
    """An invoice that was made, or in a trial would be: of which recurring one, for which day."""

    recurring: str
    day: dt.date
    number: str
    total: Decimal


@dataclass(frozen=True, slots=True)
class NotMade:
    """An invoice that was due and could not be made, and why."""

    recurring: str
    day: dt.date
    reason: str


@dataclass(frozen=True, slots=True)
class Due:
    """A period of a recurring invoice for which none was made yet."""

    recurring: UUID
    number: str
    period: int
    day: dt.date


class Trial(Exception):
    """Takes back what was stored; ``made`` is what it was."""

    def __init__(self, made: list[Made]) -> None:
        super().__init__()
        self.made = made


def make_recurring_invoices(until: dt.date, dry_run: bool = False) -> Iterator[Made | NotMade]:
    """Make every invoice that is due up to ``until``, and tell of each, batch by batch.

    They are stored in spite of warnings, which are kept with them for whoever approves. Runs may come twice,
    and at the same moment from two machines: a period has one invoice. What cannot be made is told and does
    not stop the others; the next run tries again.
    """
    for keys in batches(recurring_invoices(until)):
        clock.reset_now()
        dues: list[Due] = []
        for _, some in groupby(due_of(keys, until), key=lambda pair: pair[0].recurring):
            of_one = [due for due, _ in some]
            if len(of_one) > MOST_CAUGHT_UP:
                yield too_many(of_one[0], until)
            else:
                dues += of_one
        dues.sort(key=chronologically)
        for start in range(0, len(dues), STORED_AT_ONCE):
            yield from attempt(dues[start : start + STORED_AT_ONCE], until, dry_run)


def recurring_invoices(until: dt.date) -> QuerySet[Invoice]:
    """The invoices whose calendar has begun and was not ended.

    A resubmission does not recur itself: the invoice it was made of goes on.
    """
    live = Exists(Invoice.objects.filter(resubmission_of=OuterRef("pk"), archive_date=None).order_by())
    return Invoice.objects.filter(
        live | ~Q(funding_status__in=ENDED),
        is_recurring=True,
        archive_date=None,
        resubmission_of=None,
        recurring_start_date__lte=until,
    )


def batches(invoices: QuerySet[Invoice]) -> Iterator[list[UUID]]:
    """Their keys, so many at a time; no cursor stays open while others are stored."""
    keys = list(invoices.order_by("pk").values_list("pk", flat=True)[:BATCH])
    while keys:
        yield keys
        keys = list(invoices.filter(pk__gt=keys[-1]).order_by("pk").values_list("pk", flat=True)[:BATCH])


def chronologically(due: Due) -> tuple[dt.date, UUID]:
    return due.day, due.recurring


# --- what is due ----------------------------------------------------------------------------------------


def due_of(keys: Sequence[UUID], until: dt.date, lock: bool = False) -> list[tuple[Due, Invoice]]:
    """The periods of recurring invoices that none was made for, each with its invoice; three queries.

    Those of an invoice stand together, in their order; a little more than can be caught up is not told.
    Locked, the recurring invoices stay as they are, and nobody else makes any of them meanwhile.
    """
    key: Any = Invoice._meta.pk
    rows = recurring_invoices(until).filter(AnyOf(key, keys)).select_related("contact", "staff")
    if lock:
        rows = rows.select_for_update(of=("self",))
    invoices = list(rows.order_by("pk"))
    plans = load_current_plans({invoice.contact_id for invoice in invoices})
    made = days_made(invoice.pk for invoice in invoices)
    found = []
    for invoice in invoices:
        rhythm = rhythm_of(invoice)
        last = plan_end(invoice, plans.get(invoice.contact_id, ()))
        days = takewhile(
            lambda each: last is None or rhythm.begins(each[0]) <= last,  # noqa: B023  used up at once
            rhythm.days(min(until, invoice.recurring_end_date or until)),
        )
        missing = ((period, day) for period, day in days if day not in made[invoice.pk])
        for period, day in islice(missing, MOST_CAUGHT_UP + 1):
            found.append((Due(invoice.pk, invoice.invoice_number, period, day), invoice))
    return found


def too_many(first: Due, until: dt.date) -> NotMade:
    reason = (
        f"More than {MOST_CAUGHT_UP:,} invoices are due from {first.day} to {until}. If its dates are a slip,"
        " archive it and enter it anew; else make fewer at a time, up to an earlier day."
    )
    return NotMade(first.number, first.day, reason)


def rhythm_of(invoice: Invoice) -> Recurrence:
    # The database has no recurring invoice without these two.
    assert invoice.recurring_start_date is not None
    assert invoice.recurring_frequency is not None
    return Recurrence(invoice.recurring_start_date, invoice.recurring_frequency, invoice.start_date)


def plan_end(invoice: Invoice, plans: Sequence[ClientEngagement]) -> dt.date | None:
    """The last day of the plan in which the invoice began to recur; ``None`` without a plan."""
    began = max(invoice.start_date, rhythm_of(invoice).since)
    return next((plan.last_day for plan in plans if plan.covers(began)), None)


def days_made(keys: Iterable[UUID]) -> Mapping[UUID, set[dt.date]]:
    """The days that invoices were made for, archived ones included."""
    days: dict[UUID, set[dt.date]] = defaultdict(set)
    column: Any = Invoice._meta.get_field("recurrence_of")
    rows = Invoice.objects.filter(AnyOf(column, set(keys)), recurrence_of__isnull=False).order_by()
    for key, day in rows.values_list("recurrence_of", "recurrence_date"):
        if key is not None and day is not None:
            days[key].add(day)
    return days


# --- making them ----------------------------------------------------------------------------------------


def attempt(dues: Sequence[Due], until: dt.date, dry_run: bool) -> Iterator[Made | NotMade]:
    """Make the invoices together, without those that cannot be; a fault nobody foresaw is narrowed down."""
    if not dues:
        return
    try:
        yield from retry_on_conflict(lambda: store(dues, until, dry_run))
    except Trial as trial:
        yield from trial.made
    except Faulty as invalid:
        yield from invalid.reasons.values()
        yield from attempt([due for due in dues if due not in invalid.reasons], until, dry_run)
    except (InterfaceError, OperationalError):
        raise  # the database is gone: it would be for each of the others as well
    except Exception as error:
        if len(dues) == 1:
            logger.exception("The recurring invoice %s could not be made again", dues[0].number)
            yield NotMade(dues[0].number, dues[0].day, f"{type(error).__name__}: {error}".strip())
            return
        half = len(dues) // 2
        yield from attempt(dues[:half], until, dry_run)
        yield from attempt(dues[half:], until, dry_run)


class Faulty(Exception):
    """Some of the invoices cannot be made; nothing was stored."""

    def __init__(self, reasons: Mapping[Due, NotMade]) -> None:
        super().__init__()
        self.reasons = reasons


def store(dues: Sequence[Due], until: dt.date, dry_run: bool) -> list[Made]:
    """Store the invoices of those periods that are still due. Needs a transaction."""
    asked = set(dues)
    keys = sorted({due.recurring for due in dues})
    still = [(due, invoice) for due, invoice in due_of(keys, until, lock=True) if due in asked]
    still.sort(key=lambda pair: chronologically(pair[0]))
    refuse_archived_participants(still)
    drafts = drafts_of(still)
    try:
        create_invoices(drafts, ignore_warnings=True)
    except ValidationFailed as refused:
        raise Faulty(reasons_of(refused, [due for due, _ in still])) from refused
    made = [
        Made(due.number, due.day, draft.invoice_number, draft.total)
        for (due, _), draft in zip(still, drafts, strict=True)
    ]
    if dry_run:
        raise Trial(made)
    return made


def refuse_archived_participants(still: Iterable[tuple[Due, Invoice]]) -> None:
    reason = "The participant is archived. Archive the recurring invoice, or restore the participant."
    reasons = {
        due: NotMade(due.number, due.day, reason)
        for due, invoice in still
        if invoice.contact.archive_date is not None
    }
    if reasons:
        raise Faulty(reasons)


def reasons_of(refused: ValidationFailed, dues: Sequence[Due]) -> Mapping[Due, NotMade]:
    """What rules found, told of each invoice in one sentence after the other."""
    told: dict[Due, list[str]] = defaultdict(list)
    for number, finding in refused.issues:
        if finding.message not in told[dues[number]]:
            told[dues[number]].append(finding.message)
    return {due: NotMade(due.number, due.day, " ".join(messages)) for due, messages in told.items()}


# --- what they say --------------------------------------------------------------------------------------


def drafts_of(dues: Sequence[tuple[Due, Invoice]]) -> list[Draft]:
    """What the invoices of these periods are to be; four queries, however many there are.

    A line whose price was the price book's on its day has the price book's of its new day, if there is one;
    any other price stays.
    """
    invoices = {invoice.pk: invoice for _, invoice in dues}
    lines = lines_of(invoices)
    by_the_book = lines_by_the_book(invoices, lines)
    drafts = [invoice_draft(due, invoice, lines[due.recurring]) for due, invoice in dues]
    apply_invoice_defaults(drafts)
    for draft, (due, _) in zip(drafts, dues, strict=True):
        for line, original in zip(draft.line_items, lines[due.recurring], strict=True):
            if line.price is None or original.pk not in by_the_book:
                line.fill("price", original.price)
    return drafts


def lines_of(keys: Iterable[UUID]) -> Mapping[UUID, list[InvoiceLine]]:
    found: dict[UUID, list[InvoiceLine]] = defaultdict(list)
    column: Any = InvoiceLine._meta.get_field("invoice")
    rows = InvoiceLine.objects.filter(AnyOf(column, set(keys)), archive_date=None)
    for line in rows.select_related("product", "price_book", "cost_centre").order_by("position", "pk"):
        found[line.invoice_id].append(line)
    return found


def lines_by_the_book(
    invoices: Mapping[UUID, Invoice], lines: Mapping[UUID, Sequence[InvoiceLine]]
) -> set[UUID]:
    """The lines whose price is the price book's on their day: what a draft without a price would have."""
    drafts = [
        Draft({**dated(invoice), "line_items": [line_draft(line) for line in lines[key]]})
        for key, invoice in invoices.items()
    ]
    apply_invoice_defaults(drafts)
    return {
        line.pk
        for key, draft in zip(invoices, drafts, strict=True)
        for line, settled in zip(lines[key], draft.line_items, strict=True)
        if settled.price == line.price
    }


def dated(invoice: Invoice) -> dict[str, Any]:
    return {"contact": invoice.contact, "start_date": invoice.start_date, "end_date": invoice.end_date}


def invoice_draft(due: Due, invoice: Invoice, lines: Sequence[InvoiceLine]) -> Draft:
    """The entered invoice with its dates moved into the period; it is entered anew, and does not recur."""
    rhythm = rhythm_of(invoice)
    start, end = rhythm.span(invoice.start_date, invoice.end_date, due.period)
    values: dict[str, Any] = {
        "invoice_number": None,
        "external_invoice_number": None,
        "invoice_claim_type": invoice.invoice_claim_type,
        "start_date": start,
        "end_date": end,
        "due_date": invoice.due_date and rhythm.shifted(invoice.due_date, due.period),
        "is_recurring": False,
        "recurring_start_date": None,
        "recurring_end_date": None,
        "recurring_frequency": None,
        "contact": invoice.contact,
        "staff": invoice.staff,
        "recurrence_of": invoice,
        "recurrence_date": due.day,
        "line_items": [moved_line(line, rhythm, due.period) for line in lines],
    }
    return Draft(values, given=(name for name, value in values.items() if value is not None))


def moved_line(line: InvoiceLine, rhythm: Recurrence, period: int) -> Draft:
    draft = line_draft(line)
    from_date, to_date = line.from_date, line.to_date
    if from_date is not None and to_date is not None:
        from_date, to_date = rhythm.span(from_date, to_date, period)
    else:
        from_date = from_date and rhythm.shifted(from_date, period)
        to_date = to_date and rhythm.shifted(to_date, period)
    draft.fill("from_date", from_date)
    draft.fill("to_date", to_date)
    return draft


def line_draft(line: InvoiceLine) -> Draft:
    """A line without its price, which is found again."""
    values: dict[str, Any] = {
        "price_book": line.price_book,
        "product": line.product,
        "from_date": line.from_date,
        "to_date": line.to_date,
        "quantity": line.quantity,
        "price": None,
        "tax_choice": line.tax_choice,
        "claim_type": line.claim_type,
        "cancellation_reason": line.cancellation_reason,
        "notes": line.notes,
        "is_credit_item": line.is_credit_item,
        "cost_centre": line.cost_centre,
    }
    return Draft(values, given=(name for name, value in values.items() if value is not None))
