"""Coverage of supports: the plan of a support's day and the booking or category budget that pays for it.

Nothing of claims is known here. Callers send the query for plans with their own (``fetch_all``); the budgets
take one more trip, whatever the number of supports::

    [plan_rows] = fetch_all([plan_query({support.contact for support in supports})])
    coverages = load_coverages(supports, plan_rows)

What was claimed is posted afterwards by ``amounts.record_amounts``.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Model, QuerySet

from apps.base.batched_queries import AnyOf, Rows, fetch_all, prepared_query
from apps.engagements.choices import ParticipantType
from apps.engagements.funding_periods import PeriodAmounts, use_days, with_used_elsewhere
from apps.engagements.models import (
    Budget,
    CategoryBudget,
    ClientEngagement,
    ServiceBooking,
    budget_label,
    codes_of,
    component_label,
    last_day_of_plan,
    numbers_of,
)


class Support(NamedTuple):
    """A support given to a contact on a day.

    ``item`` is a code of the price guide, ``category`` the number of its category, ``pace_category`` of the
    one that PACE plans count it by. ``management`` prefers a booking of that management type where several
    fit.
    """

    contact: UUID
    day: dt.date
    item: str | None = None
    category: int | None = None
    management: str | None = None
    pace_category: int | None = None


class CoveringPlan(NamedTuple):
    """The columns of a plan that coverage depends on.

    ``endorsed``: the day from which a PACE plan pays what its plan manager claims; ``None`` when unknown.
    """

    pk: UUID
    is_pace: bool
    first_day: dt.date
    last_day: dt.date
    endorsed: dt.date | None = None


class CoveringBudget(NamedTuple):
    """The columns of a service booking, or of a PACE plan's category budget, that coverage depends on.

    ``remaining`` is the budget less claimed, waiting and used elsewhere. A budget without days of its own has
    those of its plan. Of components: the ``further_categories`` that they pay for besides ``category``, the
    ``stated_items`` that they pay for alone, and their funding ``periods``; what was used elsewhere counts
    on the earliest.
    """

    pk: UUID
    model: type[Budget]
    plan: UUID
    first_day: dt.date
    last_day: dt.date
    management_type: str
    remaining: Decimal
    category: int | None
    category_name: str | None
    support_item: str | None = None
    support_purpose: str | None = None
    booking_number: str | None = None
    component_name: str | None = None
    further_categories: tuple[int, ...] = ()
    stated_items: tuple[str, ...] = ()
    periods: Sequence[PeriodAmounts] = ()

    def __str__(self) -> str:
        category = None if self.category is None else f"{self.category:02} {self.category_name}"
        if category is not None and self.model is CategoryBudget:
            return component_label(self.component_name, category, " ".join(self.stated_items).upper())
        return budget_label(self.support_item, category, self.support_purpose, self.booking_number)


class Coverage(NamedTuple):
    """The plan and the budget that cover a support.

    Where none covers its day, ``nearest_plan`` and ``nearest_budget`` are those of the same participant and
    support whose dates come closest; ``None`` when there are none at all. ``stated``: the component of the
    support's category, where no budget is for the support and this one is for others alone.
    """

    plan: CoveringPlan | None = None
    budget: CoveringBudget | None = None
    nearest_plan: CoveringPlan | None = None
    nearest_budget: CoveringBudget | None = None
    stated: CoveringBudget | None = None


# --- first trip: plans ----------------------------------------------------------------------------------


@prepared_query
def plan_query(contacts: Iterable[object]) -> QuerySet[Model, tuple[object, ...]]:
    """The unarchived plans of participants, in the order of their keys; rows for ``load_coverages``."""
    rows = ClientEngagement.objects.filter(AnyOf("participant", contacts), archive_date=None)
    days = ("plan_start_date", "plan_end_date", "no_active_plan_from_date", "endorsement_date")
    return rows.order_by("pk").values_list("participant", "pk", "participant_type", *days)


@prepared_query
def locked_plan_query(contacts: Iterable[object]) -> QuerySet[Model, tuple[object, ...]]:
    """As ``plan_query``, for those who count on budgets: the second of two finds what the first has used."""
    return plan_query.make(contacts).select_for_update(of=("self",), no_key=True)


def match_plans(supports: Iterable[Support], rows: Rows) -> list[Sequence[CoveringPlan]]:
    """The plans whose budgets are read for each support; ``rows`` are those of ``plan_query``.

    Budgets are many: those of all plans of the participant are read only where no plan covers the day.
    """
    plans: dict[UUID, list[CoveringPlan]] = defaultdict(list)
    for contact, key, participant_type, start, end, inactive_from, endorsed in rows:
        is_pace = participant_type == ParticipantType.PACE
        plans[contact].append(
            CoveringPlan(key, is_pace, start, last_day_of_plan(end, inactive_from), endorsed)
        )
    for of_contact in plans.values():
        of_contact.sort(key=attrgetter("first_day"), reverse=True)
    matches: list[Sequence[CoveringPlan]] = []
    for support in supports:
        of_contact = plans.get(support.contact, [])
        covering = [plan for plan in of_contact if plan.first_day <= support.day <= plan.last_day][:1]
        matches.append(covering or of_contact)
    return matches


def load_current_plans(contacts: Iterable[UUID]) -> Mapping[UUID, Sequence[ClientEngagement]]:
    """The unarchived plans of participants, the newest first; for callers that need whole records."""
    rows = ClientEngagement.objects.filter(AnyOf("participant", contacts), archive_date=None)
    plans: dict[UUID, list[ClientEngagement]] = defaultdict(list)
    for plan in rows.order_by("-plan_start_date", "guid"):
        plans[plan.participant_id].append(plan)
    return plans


# --- second trip: budgets -------------------------------------------------------------------------------

BUDGET_COLUMNS = (
    *("pk", "engagement", "management_type", "category__number", "category__name"),
    *("budget", "used_elsewhere", "claimed", "waiting"),
)
BOOKING_COLUMNS = (
    *("booking_start_date", "booking_end_date", "support_item", "support_purpose", "booking_number"),
)


@prepared_query
def booking_query(plans: Iterable[object]) -> QuerySet[Model, tuple[object, ...]]:
    rows = ServiceBooking.objects.filter(AnyOf("engagement", plans))
    return rows.order_by("pk").values_list(*BUDGET_COLUMNS, *BOOKING_COLUMNS)


#: A row for each funding period, and one for a component without.
COMPONENT_COLUMNS = (
    *("component_name", "further_categories", "stated_items", "periods__first_day", "periods__last_day"),
    *("periods__released", "periods__claimed", "periods__waiting", "periods__pk"),
)


@prepared_query
def category_budget_query(plans: Iterable[object]) -> QuerySet[Model, tuple[object, ...]]:
    rows = CategoryBudget.objects.filter(AnyOf("engagement", plans))
    return rows.order_by("pk", "periods__first_day").values_list(*BUDGET_COLUMNS, *COMPONENT_COLUMNS)


#: The totals of lines that a bill counts on a budget, with their first and last days.
Released = Mapping[UUID, Sequence[tuple[dt.date, dt.date, Decimal]]]


def load_coverages(
    supports: Sequence[Support], plan_rows: Rows, released: Released | None = None
) -> list[Coverage]:
    """The coverage of each support, in the order of the supports; ``plan_rows`` are those of ``plan_query``.

    ``released``, by the key of a budget, counts as remaining again: what a bill that is being replaced had
    claimed on it.
    """
    matches = match_plans(supports, plan_rows)
    plans = {plan.pk: plan for of_support in matches for plan in of_support}
    pace_plans = {plan.pk for plan in plans.values() if plan.is_pace}
    other_plans = plans.keys() - pace_plans
    bookings, components = fetch_all(
        [
            booking_query(other_plans) if other_plans else None,
            category_budget_query(pace_plans) if pace_plans else None,
        ]
    )
    budgets: dict[UUID, list[CoveringBudget]] = defaultdict(list)
    for row in bookings:
        start, end, item, purpose, number = row[BOOKING_START:]
        budget = build_budget(ServiceBooking, row, plans, released or {})
        budget = budget._replace(
            first_day=start or budget.first_day,
            last_day=end or budget.last_day,
            support_item=item,
            support_purpose=purpose,
            booking_number=number,
        )
        budgets[budget.plan].append(budget)
    for _, rows in groupby(components, itemgetter(0)):
        budget = build_component(list(rows), plans, released or {})
        budgets[budget.plan].append(budget)
    return [
        find_coverage(support, of_support, budgets)
        for support, of_support in zip(supports, matches, strict=True)
    ]


#: Where the columns of a booking, or of a component, begin in a row.
BOOKING_START = len(BUDGET_COLUMNS)


def build_budget(
    model: type[Budget], row: Sequence[Any], plans: Mapping[UUID, CoveringPlan], released: Released
) -> CoveringBudget:
    """The budget of a row, with the days of its plan."""
    key, plan_key, management, category, name, budget, elsewhere, claimed, waiting = row[:BOOKING_START]
    remaining = budget - elsewhere - claimed - waiting
    for _, _, total in released.get(key, ()):
        remaining += total
    plan = plans[plan_key]
    return CoveringBudget(
        key, model, plan_key, plan.first_day, plan.last_day, management, remaining, category, name
    )


def build_component(
    rows: Sequence[Sequence[Any]], plans: Mapping[UUID, CoveringPlan], released: Released
) -> CoveringBudget:
    """The component of some rows, one for each of its funding periods."""
    budget = build_budget(CategoryBudget, rows[0], plans, released)
    name, further, stated, *_ = rows[0][BOOKING_START:]
    periods: list[PeriodAmounts] = []
    for row in rows:
        first, last, amount, claimed, waiting, key = row[BOOKING_START + 3 :]
        if key is not None:
            periods.append(PeriodAmounts(first, last, amount, claimed + waiting, key))
    if periods:
        for start, end, total in released.get(budget.pk, ()):
            periods = use_days(periods, start, end, -total)
        if elsewhere := rows[0][BUDGET_COLUMNS.index("used_elsewhere")]:
            periods = with_used_elsewhere(periods, elsewhere)
    return budget._replace(
        component_name=name,
        further_categories=numbers_of(further) if further else (),
        stated_items=codes_of(stated) if stated else (),
        periods=periods,
    )


# --- the choice -----------------------------------------------------------------------------------------


def find_coverage(
    support: Support, plans: Sequence[CoveringPlan], budgets: Mapping[UUID, Sequence[CoveringBudget]]
) -> Coverage:
    """The plan of a support's day and the budget that covers it, or those that come closest.

    ``plans``: the plan of the day alone, all of the participant where there is none (``match_plans``).
    """
    plan = next((each for each in plans if each.first_day <= support.day <= each.last_day), None)
    suitable = [
        budget for each in plans for budget in filter_budgets(support, budgets.get(each.pk, ()), each.is_pace)
    ]
    covering = [budget for budget in suitable if budget.first_day <= support.day <= budget.last_day]
    if plan is not None and covering:
        return Coverage(plan, min(covering, key=lambda budget: rank(budget, support)))
    if plan is not None and plan.is_pace and not suitable:
        return Coverage(plan, stated=find_stated(support, budgets.get(plan.pk, ())))
    nearest_budget = min(
        suitable,
        key=lambda each: (distance(support.day, each.first_day, each.last_day), rank(each, support)),
        default=None,
    )
    if plan is not None:
        return Coverage(plan, nearest_budget=nearest_budget)
    nearest_plan = min(
        plans, key=lambda each: distance(support.day, each.first_day, each.last_day), default=None
    )
    return Coverage(nearest_plan=nearest_plan, nearest_budget=nearest_budget)


def filter_budgets(
    support: Support, budgets: Iterable[CoveringBudget], is_pace: bool
) -> list[CoveringBudget]:
    """The budgets for the support's item, or for the whole of its category."""
    category = support.pace_category if is_pace else support.category
    item = support.item and support.item.strip().casefold()
    found = []
    for budget in budgets:
        if budget.support_item:
            is_for_it = budget.support_item.strip().casefold() == item
        elif budget.stated_items:
            is_for_it = item in budget.stated_items
        else:
            is_for_it = category is not None and (
                category == budget.category or category in budget.further_categories
            )
        if is_for_it:
            found.append(budget)
    return found


def find_stated(support: Support, budgets: Iterable[CoveringBudget]) -> CoveringBudget | None:
    """The component of a PACE plan for the support's category that pays for other supports alone."""
    of_category = (each for each in budgets if each.category == support.pace_category)
    return next((each for each in of_category if each.stated_items), None)


def rank(budget: CoveringBudget, support: Support) -> tuple[bool, bool, bool, int]:
    """First the item itself, then the preferred management, then money remaining, then the latest."""
    is_preferred = support.management is None or budget.management_type == support.management
    return (
        not (budget.support_item or budget.stated_items),
        not is_preferred,
        budget.remaining <= 0,
        -budget.first_day.toordinal(),
    )


def distance(day: dt.date, first: dt.date, last: dt.date) -> int:
    """How many days a day lies outside a range; 0 within it."""
    return max((first - day).days, (day - last).days, 0)
