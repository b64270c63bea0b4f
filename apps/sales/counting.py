"""What the boards of sales show: stages with their sums, follow-ups by when they are due, wins by source.

Sums are made by the database and lists are cut there, so that each board costs the same few queries however
many opportunities there are.
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
#: Opportunities shown in a column of the board, and in a part of the list of follow-ups.
CARDS = 20
FOLLOW_UPS = 50

CARD_COLUMNS = (
    *("id", "name", "stage_id", "outcome", "modify_date"),
    *("upfront_value_of_sale", "recurring_annual_value", "chance_of_sales"),
    *("expected_date", "follow_up_date", "expiry_date"),
    *("owner__first_name", "owner__last_name", "follow_up_staff__first_name", "follow_up_staff__last_name"),
    *("primary_contact__first_name", "primary_contact__last_name"),
)
Card = dict[str, Any]


def current() -> QuerySet[Opportunity]:
    """Opportunities that are not archived."""
    return Opportunity.objects.filter(archive_date=None)


def cut(parts: Iterable[QuerySet[Opportunity]], size: int) -> list[Card]:
    """The first ``size`` opportunities of each part, in one query; each part is ordered already."""
    # Each part finds its few keys by an index; asked for together by OR, the whole table would be read.
    found: list[Any] = [
        Opportunity.objects.filter(pk__in=part.values("pk")[:size]).order_by().values(*CARD_COLUMNS)
        for part in parts
    ]
    return list(found[0].union(*found[1:], all=True)) if found else []


# --- the board ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Column:
    """A stage, what stands in it, and the first of its opportunities."""

    stage: OpportunityStage
    count: int = 0
    upfront: Decimal = Decimal(0)
    recurring: Decimal = Decimal(0)
    weighted: Decimal = Decimal(0)
    cards: list[Card] = field(default_factory=list)

    @property
    def hidden(self) -> int:
        """How many opportunities of the stage are not shown."""
        return self.count - len(self.cards)


def board(opportunities: QuerySet[Opportunity], cards: int = CARDS) -> list[Column]:
    """A column for every current stage, and for archived ones that are not empty; three queries.

    Weighted is what the first year is worth times the chance: all of it when won, nothing when lost or when
    nobody told a chance.
    """
    columns = {stage.pk: Column(stage) for stage in OpportunityStage.objects.order_by("position", "name")}
    rows: Any = opportunities.order_by().values("stage_id").annotate(number=Count("pk"), **sums())
    for row in rows:
        column = columns[row["stage_id"]]
        column.count = row["number"]
        column.upfront, column.recurring = in_cents(row["upfront"]), in_cents(row["recurring"])
        column.weighted = in_cents(row["weighted"], Decimal(100))
    shown = [column for column in columns.values() if column.count or not column.stage.is_archived]
    latest = opportunities.order_by("-modify_date", "-id")
    for card in cut([latest.filter(stage=column.stage) for column in shown if column.count], cards):
        columns[card["stage_id"]].cards.append(card)
    for column in shown:
        column.cards.sort(key=lambda card: (card["modify_date"], card["id"]), reverse=True)
    return shown


def sums() -> dict[str, Any]:
    """Sums of upfront and recurring values, and of both times the chance in per cent."""
    amount = DecimalField(max_digits=24, decimal_places=4)
    nothing = Value(Decimal(0), output_field=amount)
    upfront, recurring = (Coalesce(F(name), nothing, output_field=amount) for name in VALUES)
    chance = Case(
        When(outcome=Outcome.SALE_SUCCESSFUL, then=Value(Decimal(100))),
        When(outcome=Outcome.SALE_UNSUCCESSFUL, then=nothing),
        default=Coalesce(F("chance_of_sales"), nothing, output_field=amount),
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


def totals(columns: Sequence[Column]) -> dict[str, Any]:
    """The sums over all columns."""
    names = ("count", "upfront", "recurring", "weighted")
    return {name: sum(getattr(column, name) for column in columns) for name in names}


# --- follow-ups -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Due:
    """Follow-ups that are due in one stretch of time, soonest first; ``count`` may be more than are shown."""

    title: str
    count: int
    cards: list[Card]


def follow_ups(person: Staff | None, size: int = FOLLOW_UPS) -> list[Due]:
    """Somebody's follow-ups (everybody's for ``None``): overdue, today, later this week; two queries.

    A week ends on Sunday.
    """
    today = clock.today()
    sunday = today + dt.timedelta(days=6 - today.weekday())
    stretches = {
        "overdue": Q(follow_up_date__lt=today),
        "today": Q(follow_up_date=today),
        "later": Q(follow_up_date__gt=today, follow_up_date__lte=sunday),
    }
    waiting = current().filter(follow_up_date__lte=sunday)
    if person is not None:
        waiting = waiting.filter(follow_up_staff=person)
    numbers = waiting.aggregate(**{name: Count("pk", filter=when) for name, when in stretches.items()})
    ordered = waiting.order_by("follow_up_date", "id")
    found = cut([ordered.filter(when) for when in stretches.values()], size)
    parts: dict[str, list[Card]] = defaultdict(list)
    for card in sorted(found, key=lambda card: (card["follow_up_date"], card["id"])):
        day = card["follow_up_date"]
        parts["overdue" if day < today else "today" if day == today else "later"].append(card)
    return [Due(TITLES[name], numbers[name], parts[name]) for name in stretches]


TITLES = {"overdue": "Overdue", "today": "Today", "later": "Later this week"}


# --- the funnel -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class SourceRow:
    """What came of one source: how many reached each stage, and how they ended."""

    label: str
    all: int = 0
    reached: list[int] = field(default_factory=list)
    won: int = 0
    lost: int = 0
    deferred: int = 0
    value_won: Decimal = Decimal(0)

    @property
    def win_rate(self) -> Decimal | None:
        """Won of those decided, in per cent; nothing while none is decided."""
        decided = self.won + self.lost
        return (Decimal(100) * self.won / decided).quantize(Decimal("0.1")) if decided else None


@dataclass(slots=True)
class Funnel:
    """The stages in their order, a row for each source that has opportunities, and one for all."""

    stages: list[OpportunityStage]
    rows: list[SourceRow]
    total: SourceRow


def funnel(since: dt.datetime | None) -> Funnel:
    """What came of the opportunities made since then, archived ones included; two queries.

    An opportunity has reached the stage it stands in and all before it.
    """
    stages = list(OpportunityStage.objects.order_by("position", "name"))
    places = {stage.pk: number for number, stage in enumerate(stages)}
    made = (
        Opportunity.objects.all() if since is None else Opportunity.objects.filter(creation_date__gte=since)
    )
    groups: Any = (
        made.order_by()
        .values("source", "stage_id", "outcome")
        .annotate(number=Count("pk"), **{name: Sum(name, default=Decimal(0)) for name in VALUES})
    )
    labels: dict[str | None, Any] = {**dict(Source.choices), None: "Not told"}
    rows = {source: SourceRow(str(label), reached=[0] * len(stages)) for source, label in labels.items()}
    total = SourceRow("All", reached=[0] * len(stages))
    for group in groups:
        for row in (rows[group["source"]], total):
            count_group(row, group, places[group["stage_id"]])
    found = sorted((row for row in rows.values() if row.all), key=lambda row: (-row.all, row.label))
    return Funnel(stages, found, total)


def count_group(row: SourceRow, group: dict[str, Any], place: int) -> None:
    """Add opportunities of one source, stage and outcome to a row."""
    number = group["number"]
    row.all += number
    for reached in range(place + 1):
        row.reached[reached] += number
    if group["outcome"] == Outcome.SALE_SUCCESSFUL:
        row.won += number
        row.value_won += in_cents(sum(Decimal(group[name]) for name in VALUES))
    elif group["outcome"] == Outcome.SALE_UNSUCCESSFUL:
        row.lost += number
    elif group["outcome"] == Outcome.DEFERRED:
        row.deferred += number
