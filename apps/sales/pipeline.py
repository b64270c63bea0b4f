"""Reports of the sales pipeline: stages with their sums, follow-ups by due date, wins by source.

The database sums and limits, so that each report takes the same few queries however many opportunities there
are.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db.models import Case, Count, DecimalField, F, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce

from apps.odata import clock
from apps.people.models import Staff
from apps.sales.choices import Outcome, Source
from apps.sales.models import Opportunity, OpportunityStage

CENT = Decimal("0.01")
#: Opportunities shown in a column of the board, and in a period of the follow-ups.
CARD_LIMIT = 20
FOLLOW_UP_LIMIT = 50

CARD_COLUMNS = (
    *("id", "name", "stage_id", "outcome", "modify_date"),
    *("upfront_value_of_sale", "recurring_annual_value", "chance_of_sales"),
    *("expected_date", "follow_up_date", "expiry_date"),
    *("owner__first_name", "owner__last_name", "follow_up_staff__first_name", "follow_up_staff__last_name"),
    *("primary_contact__first_name", "primary_contact__last_name"),
)
Card = dict[str, Any]


def current_opportunities() -> QuerySet[Opportunity]:
    return Opportunity.objects.filter(archive_date=None)


def first_cards(querysets: Iterable[QuerySet[Opportunity]], limit: int) -> list[Card]:
    """The first opportunities of each ordered queryset, in one query."""
    # Each queryset finds its few keys by an index; joined by OR, the whole table would be read.
    limited: list[Any] = [
        Opportunity.objects.filter(pk__in=queryset.values("pk")[:limit]).order_by().values(*CARD_COLUMNS)
        for queryset in querysets
    ]
    return list(limited[0].union(*limited[1:], all=True)) if limited else []


# --- the board ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class StageColumn:
    """A stage with the count, the sums and the first of its opportunities."""

    stage: OpportunityStage
    count: int = 0
    upfront: Decimal = Decimal(0)
    recurring: Decimal = Decimal(0)
    weighted: Decimal = Decimal(0)
    cards: list[Card] = field(default_factory=list)

    @property
    def more(self) -> int:
        """How many opportunities of the stage have no card."""
        return self.count - len(self.cards)


def stage_columns(opportunities: QuerySet[Opportunity], limit: int = CARD_LIMIT) -> list[StageColumn]:
    """A column for every current stage, and for archived ones that are not empty; three queries.

    Weighted is the value of the first year times the chance: all of it when won, nothing when lost or without
    a chance.
    """
    columns = {
        stage.pk: StageColumn(stage) for stage in OpportunityStage.objects.order_by("position", "name")
    }
    rows: Any = opportunities.order_by().values("stage_id").annotate(number=Count("pk"), **sum_expressions())
    for row in rows:
        column = columns[row["stage_id"]]
        column.count = row["number"]
        column.upfront, column.recurring = in_cents(row["upfront"]), in_cents(row["recurring"])
        column.weighted = in_cents(row["weighted"], Decimal(100))
    shown = [column for column in columns.values() if column.count or not column.stage.is_archived]
    latest = opportunities.order_by("-modify_date", "-id")
    not_empty = [latest.filter(stage=column.stage) for column in shown if column.count]
    for card in first_cards(not_empty, limit):
        columns[card["stage_id"]].cards.append(card)
    for column in shown:
        column.cards.sort(key=lambda card: (card["modify_date"], card["id"]), reverse=True)
    return shown


def sum_expressions() -> dict[str, Any]:
    """Sums of upfront and recurring values, and of both times the chance in per cent."""
    amount = DecimalField(max_digits=24, decimal_places=4)
    zero = Value(Decimal(0), output_field=amount)
    upfront, recurring = (Coalesce(F(name), zero, output_field=amount) for name in VALUES)
    chance = Case(
        When(outcome=Outcome.SALE_SUCCESSFUL, then=Value(Decimal(100))),
        When(outcome=Outcome.SALE_UNSUCCESSFUL, then=zero),
        default=Coalesce(F("chance_of_sales"), zero, output_field=amount),
        output_field=amount,
    )
    return {
        "upfront": Sum("upfront_value_of_sale", default=Decimal(0)),
        "recurring": Sum("recurring_annual_value", default=Decimal(0)),
        "weighted": Sum((upfront + recurring) * chance, output_field=amount),
    }


VALUES = ("upfront_value_of_sale", "recurring_annual_value")


def in_cents(amount: Any, divisor: Decimal = Decimal(1)) -> Decimal:
    return (Decimal(amount or 0) / divisor).quantize(CENT)


def total_of_columns(columns: Sequence[StageColumn]) -> dict[str, Any]:
    """The sums over all columns."""
    names = ("count", "upfront", "recurring", "weighted")
    return {name: sum(getattr(column, name) for column in columns) for name in names}


# --- follow-ups -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class FollowUpPeriod:
    """Follow-ups that are due in one period, soonest first; ``count`` may be more than have cards."""

    title: str
    count: int
    cards: list[Card]


def follow_up_periods(staff: Staff | None, limit: int = FOLLOW_UP_LIMIT) -> list[FollowUpPeriod]:
    """The follow-ups of a staff member (of all for ``None``): overdue, today, later this week; two queries.

    A week ends on Sunday.
    """
    today = clock.today()
    sunday = today + dt.timedelta(days=6 - today.weekday())
    periods = {
        "overdue": Q(follow_up_date__lt=today),
        "today": Q(follow_up_date=today),
        "later": Q(follow_up_date__gt=today, follow_up_date__lte=sunday),
    }
    due = current_opportunities().filter(follow_up_date__lte=sunday)
    if staff is not None:
        due = due.filter(follow_up_staff=staff)
    counts = due.aggregate(**{name: Count("pk", filter=condition) for name, condition in periods.items()})
    ordered = due.order_by("follow_up_date", "id")
    first = first_cards([ordered.filter(condition) for condition in periods.values()], limit)
    cards: dict[str, list[Card]] = defaultdict(list)
    for card in sorted(first, key=lambda card: (card["follow_up_date"], card["id"])):
        day = card["follow_up_date"]
        cards["overdue" if day < today else "today" if day == today else "later"].append(card)
    return [FollowUpPeriod(PERIOD_TITLES[name], counts[name], cards[name]) for name in periods]


PERIOD_TITLES = {"overdue": "Overdue", "today": "Today", "later": "Later this week"}


# --- the funnel -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class SourceRow:
    """The opportunities of one source: how many reached each stage, and their outcomes."""

    label: str
    count: int = 0
    reached: list[int] = field(default_factory=list)
    won: int = 0
    lost: int = 0
    deferred: int = 0
    value_won: Decimal = Decimal(0)

    @property
    def win_rate(self) -> Decimal | None:
        """Won of those decided, in per cent; ``None`` while none is decided."""
        decided = self.won + self.lost
        return (Decimal(100) * self.won / decided).quantize(Decimal("0.1")) if decided else None


@dataclass(slots=True)
class Funnel:
    """The stages in their order, a row for each source that has opportunities, and one for all."""

    stages: list[OpportunityStage]
    rows: list[SourceRow]
    total: SourceRow


def load_funnel(since: dt.datetime | None) -> Funnel:
    """The funnel of the opportunities created since then, archived ones included; two queries.

    An opportunity has reached its stage and all before it.
    """
    stages = list(OpportunityStage.objects.order_by("position", "name"))
    positions = {stage.pk: number for number, stage in enumerate(stages)}
    opportunities = (
        Opportunity.objects.all() if since is None else Opportunity.objects.filter(creation_date__gte=since)
    )
    groups: Any = (
        opportunities.order_by()
        .values("source", "stage_id", "outcome")
        .annotate(number=Count("pk"), **{name: Sum(name, default=Decimal(0)) for name in VALUES})
    )
    labels: dict[str | None, Any] = {**dict(Source.choices), None: "Not stated"}
    rows = {source: SourceRow(str(label), reached=[0] * len(stages)) for source, label in labels.items()}
    total = SourceRow("All", reached=[0] * len(stages))
    for group in groups:
        for row in (rows[group["source"]], total):
            add_group(row, group, positions[group["stage_id"]])
    not_empty = sorted((row for row in rows.values() if row.count), key=lambda row: (-row.count, row.label))
    return Funnel(stages, not_empty, total)


def add_group(row: SourceRow, group: dict[str, Any], position: int) -> None:
    """Add opportunities of one source, stage and outcome to a row."""
    number = group["number"]
    row.count += number
    for reached in range(position + 1):
        row.reached[reached] += number
    if group["outcome"] == Outcome.SALE_SUCCESSFUL:
        row.won += number
        row.value_won += in_cents(sum(Decimal(group[name]) for name in VALUES))
    elif group["outcome"] == Outcome.SALE_UNSUCCESSFUL:
        row.lost += number
    elif group["outcome"] == Outcome.DEFERRED:
        row.deferred += number
