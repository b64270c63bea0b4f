"""Making statements: one for each participant of a month, and a corrected one where its figures changed.

To make them again changes nothing, so that a worker that was killed begins again where it was.
"""

import datetime as dt
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.db.models import DateTimeField, Exists, F, OuterRef, Prefetch, QuerySet, Subquery
from django.db.models.functions import Coalesce, Lower, TruncMonth
from django.db.models.lookups import Exact

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.errors import Refusal
from apps.base.retries import retry_on_conflict
from apps.core import history, saving
from apps.core.bulk_insert import in_batches
from apps.core.models import Subscriber
from apps.engagements.models import ClientEngagement
from apps.funding.choices import InvoiceClaimType
from apps.funding.models import Claim, Invoice
from apps.payments.models import (
    Statement,
    StatementBudget,
    StatementLine,
    StatementRun,
    month_name,
)
from apps.payments.services.statement_figures import (
    AMOUNTS,
    StatementFigures,
    load_figures,
    plans_in,
)
from apps.payments.statement_text import find_changes, find_plan_change, statement_text
from apps.people.models import Contact

Part = TypeVar("Part", StatementLine, StatementBudget)

#: Participants whose statements are made in one transaction: a second of work.
CHUNK = 50


class Made(NamedTuple):
    """How many statements were made, how many of them correct one, and how many stay as they are."""

    made: int = 0
    corrected: int = 0
    unchanged: int = 0

    def plus(self, other: "Made") -> "Made":
        return Made(*(one + more for one, more in zip(self, other, strict=True)))


def read_month(text: str) -> dt.date:
    """The first day of ``2026-10``; raises ``ValueError`` for what has no month before and after it."""
    month = dt.date.fromisoformat(f"{text}-01")
    if month.year in (dt.MINYEAR, dt.MAXYEAR):
        raise ValueError(f"{text} is at the end of the calendar")
    return month


def participants_of(month: dt.date) -> QuerySet[Contact]:
    """Who gets a statement of a month: participants with a plan in it."""
    plans = ClientEngagement.objects.filter(plans_in(month), participant=OuterRef("pk"), archive_date=None)
    return Contact.objects.filter(Exists(plans), archive_date=None).order_by("pk")


def check_month(month: dt.date) -> None:
    """Raises ``Refusal`` for a month that is not over."""
    if clock.month_end(month) >= clock.today():
        raise Refusal(f"{month_name(month)} is not over: choose a month before.")


def make_statements(month: dt.date, contacts: Iterable[UUID] | None = None) -> Made:
    """Make the statements of a month, of these participants or of all; each chunk is a transaction.

    ``month`` is its first day. Raises ``Refusal`` when it is not over.
    """
    check_month(month)
    keys = list(participants_of(month).values_list("pk", flat=True)) if contacts is None else sorted(contacts)
    made = Made()
    for chunk in in_batches(keys, CHUNK):
        made = made.plus(make_chunk(month, chunk))
    return made


@retry_on_conflict
def make_chunk(month: dt.date, contacts: Sequence[UUID], run: StatementRun | None = None) -> Made:
    """Make the statements of some participants, and note in the same transaction how far the run is.

    Of two at once, the unique version lets one begin again, which finds that nothing is to do.
    """
    latest = load_latest(month, contacts)
    figures = load_figures(month, contacts, clock.today())
    people = {each.pk: each for each in Contact.objects.filter(AnyOf("guid", contacts))}
    new, replaced = [], []
    for key in contacts:
        before = latest.get(key, [])
        changes = []
        if before:
            changes = find_changes(before[0].lines.all(), figures[key].lines)
            changes += find_plan_change(before[0], figures[key].plan)
        if before and not changes:
            continue
        new.append(new_statement(month, people[key], figures[key], before, changes))
        replaced += before
    store_statements(new, [figures[each.contact_id] for each in new], replaced)
    corrected = sum(each.version > 1 for each in new)
    made = Made(len(new), corrected, len(contacts) - len(new))
    if run is not None:
        StatementRun.objects.filter(pk=run.pk).update(
            last_contact=contacts[-1],
            rows_done=F("rows_done") + len(contacts),
            made=F("made") + made.made,
            corrected=F("corrected") + made.corrected,
        )
    return made


def load_latest(month: dt.date, contacts: Sequence[UUID]) -> dict[UUID, list[Statement]]:
    """The current statements of participants with their lines, the latest first: after a merge two."""
    lines = Prefetch("lines", StatementLine.objects.order_by("position"))
    rows = Statement.objects.filter(AnyOf("contact", contacts), month=month, is_replaced=False)
    found: dict[UUID, list[Statement]] = {}
    for each in rows.defer("content").order_by("-version", "-guid").prefetch_related(lines):
        found.setdefault(each.contact_id, []).append(each)
    return found


#: The bills that statements are made of, and the column by which a line of a statement names one.
BILLS: tuple[tuple[QuerySet[Any], str], ...] = (
    (Claim.objects.all(), "claim_number_key"),
    (
        Invoice.objects.filter(invoice_claim_type=InvoiceClaimType.INVOICE_TO_AGENCY),
        "invoice_number_key",
    ),
)


def with_first_change(statements: QuerySet[Statement]) -> QuerySet[Any]:
    """Statements with ``first_change``: when claims or invoices of their month changed since; or null.

    Those that a statement names count as well, since they may have left its participant or month. Amounts may
    be the same.
    """
    in_month = Exact(TruncMonth("line_items__last_day"), OuterRef("month"))
    named = StatementLine.objects.filter(statement=OuterRef(OuterRef("pk"))).values(key=Lower("number"))
    changes = [
        first_change_of(changed)
        for bills, key in BILLS
        for changed in (
            bills.filter(in_month, contact=OuterRef("contact")),
            bills.model.objects.filter(**{f"{key}__in": named}),
        )
    ]
    return statements.annotate(first_change=Coalesce(*changes))


def first_change_of(bills: QuerySet[Any]) -> Subquery:
    """When the first of these bills changed since a statement was made."""
    changed = bills.filter(modify_date__gt=OuterRef("creation_date"))
    # By the bare column PostgreSQL would read all changes from then on, by its index.
    first = changed.order_by(Coalesce("modify_date", "modify_date"))
    return Subquery(first.values("modify_date")[:1], DateTimeField())


def count_changed(month: dt.date) -> int:
    """How many current statements of a month have a ``first_change``; read once for all of them."""
    current = Statement.objects.filter(month=month, is_replaced=False)
    lines = StatementLine.objects.filter(statement__in=current).annotate(key=Lower("number"))
    days = (month, clock.month_end(month))
    changed: set[UUID] = set()
    for bills, key in BILLS:
        in_month = bills.filter(
            line_items__last_day__range=days,
            contact=OuterRef("contact"),
            modify_date__gt=OuterRef("creation_date"),
        )
        changed.update(current.filter(Exists(in_month)).values_list("pk", flat=True))
        named = bills.model.objects.filter(
            **{key: OuterRef("key")}, modify_date__gt=OuterRef("statement__creation_date")
        )
        changed.update(lines.filter(Exists(named)).order_by().values_list("statement", flat=True).distinct())
    return len(changed)


def new_statement(
    month: dt.date,
    contact: Contact,
    figures: StatementFigures,
    before: Sequence[Statement],
    changes: Sequence[str],
) -> Statement:
    """The statement of these figures, with its document."""
    # Imported with the first PDF: reportlab is a twelfth of a worker's start.
    from apps.payments.statement_pdf import statement_pdf

    author = history.author().staff_id
    plan = figures.plan
    statement = Statement(
        contact=contact,
        made_for=contact.pk,
        month=month,
        version=before[0].version + 1 if before else 1,
        creation_date=clock.now(),
        plan_first_day=plan.plan_start_date if plan else None,
        plan_last_day=plan.last_day if plan else None,
        changes="\n".join(changes),
        made_by_id=author,
        **{column: figures.sum(column) for column in AMOUNTS},
    )
    said = statement_text(statement, figures.lines, figures.budgets)
    statement.content = statement_pdf(said, contact, Subscriber.current())
    statement.sha256 = hashlib.sha256(statement.content).hexdigest()
    return statement


def store_statements(
    new: Sequence[Statement], figures: Sequence[StatementFigures], replaced: Sequence[Statement]
) -> None:
    """Store statements with their lines and budgets, and mark those that they replace."""
    for each in replaced:
        each.is_replaced = True
    saving.save_records(Statement, replaced)
    saving.insert_instances(Statement, new)
    history.write_entries(Statement, [each.pk for each in new], "Created")
    StatementLine.objects.bulk_create(numbered(new, [each.lines for each in figures]), batch_size=1000)
    StatementBudget.objects.bulk_create(numbered(new, [each.budgets for each in figures]), batch_size=1000)


def numbered(statements: Sequence[Statement], parts: Sequence[Sequence[Part]]) -> Iterator[Part]:
    """The parts of each statement with their statement and their position in it."""
    for statement, own in zip(statements, parts, strict=True):
        for position, part in enumerate(own, 1):
            part.statement, part.position = statement, position
            yield part
