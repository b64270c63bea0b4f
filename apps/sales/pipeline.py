"""Reports of the sales pipeline: stages with their sums, follow-ups by due date, wins by source.

The database sums and limits, so that each report takes the same few queries however many opportunities there
are.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db.models import Case, Count, DecimalField, F, Q, QuerySet, Value, When, Window
from django.db.models.functions import Coalesce, RowNumber

from apps.base import clock
from apps.base.money import ZERO, to_cents
from apps.core.caseload import visible_rows
from apps.core.computed import MoneySum
from apps.sales.choices import Outcome, Source
from apps.sales.models import Opportunity, OpportunityStage

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
Card = dict[str, object]

AMOUNT = DecimalField(max_digits=24, decimal_places=4)
#: The value of an opportunity in its first year.
FIRST_YEAR_VALUE = Coalesce(F("upfront_value_of_sale"), ZERO, output_field=AMOUNT) + Coalesce(
    F("recurring_annual_value"), ZERO, output_field=AMOUNT
)
IS_WON = Q(outcome=Outcome.SALE_SUCCESSFUL)
IS_LOST = Q(outcome=Outcome.SALE_UNSUCCESSFUL)


def current_opportunities(person: object = None) -> QuerySet[Opportunity]:
    """The current opportunities that a person sees; without a person all."""
    return visible_rows(person, Opportunity.objects.filter(archive_date=None))


def first_cards(
    opportunities: QuerySet[Opportunity], group: str, order: Sequence[str], limit: int
) -> dict[object, list[Card]]:
    """The first opportunities of each group in that order, by the group; one query.

    Names are joined to these alone. All are numbered for it, 100,000 in a third of a second; a query for each
    group would read fewer of them.
    """
    rank = Window(RowNumber(), partition_by=group, order_by=order)
    first = opportunities.order_by().annotate(rank=rank).filter(rank__lte=limit)
    cards: dict[object, list[Card]] = defaultdict(list)
    columns = {group, *CARD_COLUMNS}
    for card in opportunities.filter(pk__in=first.values("pk")).order_by(*order).values(*columns):
        cards[card[group]].append(card)
    return cards


# --- the board ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class StageColumn:
    """A stage with the count, the sums and the first of its opportunities.

    ``weighted`` is the value of the first year times the chance: all of it when won, nothing when lost or
    without a chance.
    """

    stage: OpportunityStage
    count: int = 0
    upfront: Decimal = ZERO
    recurring: Decimal = ZERO
    weighted: Decimal = ZERO
    cards: list[Card] = field(default_factory=list)

    @property
    def more(self) -> int:
        """How many opportunities of the stage have no card."""
        return self.count - len(self.cards)


def stage_columns(opportunities: QuerySet[Opportunity], limit: int = CARD_LIMIT) -> list[StageColumn]:
    """A column for every current stage, and for archived ones that are not empty.

    Three queries; without cards (``limit`` 0) two.
    """
    chance = Case(
        When(IS_WON, then=Value(Decimal(100))),
        When(IS_LOST, then=Value(ZERO)),
        default=Coalesce(F("chance_of_sales"), ZERO, output_field=AMOUNT),
        output_field=AMOUNT,
    )
    rows = (
        opportunities.order_by()
        .values("stage_id")
        .annotate(
            number=Count("pk"),
            upfront=MoneySum("upfront_value_of_sale", default=ZERO),
            recurring=MoneySum("recurring_annual_value", default=ZERO),
            weighted=MoneySum(FIRST_YEAR_VALUE * chance, output_field=AMOUNT),
        )
    )
    cards: dict[object, list[Card]] = {}
    if limit:
        cards = first_cards(opportunities, "stage_id", ("-modify_date", "-id"), limit)
    columns = {
        stage.pk: StageColumn(stage) for stage in OpportunityStage.objects.order_by("position", "name")
    }
    for row in rows:
        column = columns[row["stage_id"]]
        column.count = row["number"]
        column.upfront, column.recurring = to_cents(row["upfront"]), to_cents(row["recurring"])
        column.weighted = to_cents(row["weighted"] / 100)
        column.cards = cards.get(row["stage_id"], [])
    return [column for column in columns.values() if column.count or not column.stage.is_archived]


# --- follow-ups -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class FollowUpPeriod:
    """Follow-ups that are due in one period, soonest first; ``count`` may be more than have cards."""

    title: str
    count: int
    cards: list[Card]


def follow_up_periods(
    opportunities: QuerySet[Opportunity], limit: int = FOLLOW_UP_LIMIT
) -> list[FollowUpPeriod]:
    """The follow-ups of the opportunities: overdue, today, later this week; two queries.

    A week ends on Sunday.
    """
    today = clock.today()
    sunday = today + dt.timedelta(days=6 - today.weekday())
    period = Case(
        When(follow_up_date__lt=today, then=Value("Overdue")),
        When(follow_up_date=today, then=Value("Today")),
        default=Value("Later this week"),
    )
    follow_ups = opportunities.filter(follow_up_date__lte=sunday).annotate(period=period)
    counts = dict(follow_ups.order_by().values_list("period").annotate(count=Count("pk")))
    cards = first_cards(follow_ups, "period", ("follow_up_date", "id"), limit)
    return [
        FollowUpPeriod(title, counts.get(title, 0), cards[title])
        for title in ("Overdue", "Today", "Later this week")
    ]


# --- the funnel -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class SourceRow:
    """The opportunities of one source: how many reached each stage, and their outcomes."""

    label: str
    reached: list[int]
    count: int
    won: int
    lost: int
    deferred: int
    value_won: Decimal

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


def load_funnel(opportunities: QuerySet[Opportunity], since: dt.datetime | None) -> Funnel:
    """The funnel of those of the opportunities that were created since then; three queries.

    An opportunity has reached its stage and all before it.
    """
    stages = list(OpportunityStage.objects.order_by("position", "name"))
    opportunities = opportunities.order_by()
    if since is not None:
        opportunities = opportunities.filter(creation_date__gte=since)
    reached = {
        f"reached_{number}": Count("pk", filter=Q(stage__in=stages[number:])) for number in range(len(stages))
    }
    sums: dict[str, object] = {
        "count": Count("pk"),
        "won": Count("pk", filter=IS_WON),
        "lost": Count("pk", filter=IS_LOST),
        "deferred": Count("pk", filter=Q(outcome=Outcome.DEFERRED)),
        "value_won": MoneySum(FIRST_YEAR_VALUE, filter=IS_WON, default=ZERO, output_field=AMOUNT),
    }

    def source_row(label: str, row: dict[str, Any]) -> SourceRow:
        values = {name: row[name] for name in sums}
        values["value_won"] = to_cents(values["value_won"])
        return SourceRow(label, [row[name] for name in reached], **values)

    labels: dict[str | None, object] = {**dict(Source.choices), None: "Not stated"}
    groups: Any = opportunities.values("source").annotate(**sums, **reached)
    rows = [source_row(str(labels[group["source"]]), group) for group in groups]
    rows.sort(key=lambda row: (-row.count, row.label))
    return Funnel(stages, rows, source_row("All", opportunities.aggregate(**sums, **reached)))
