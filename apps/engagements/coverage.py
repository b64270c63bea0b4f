"""Coverage of supports: the plan of a support's day and the booking or category budget that pays for it.

Nothing of claims is known here. Callers send the query for plans with their own (``fetch_all``); the budgets
take one more trip, whatever the number of supports::

    [plan_rows] = fetch_all([plan_query({support.contact for support in supports})])
    coverages = load_coverages(supports, plan_rows)

What was claimed is posted afterwards by ``services.record_amounts``.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from django.db.models import Model, QuerySet

from apps.base.batched_queries import AnyOf, Rows, fetch_all, prepared_query
from apps.engagements.choices import ParticipantType
from apps.engagements.models import (
    ZERO,
    Budget,
    CategoryBudget,
    ClientEngagement,
    ServiceBooking,
    budget_label,
    last_day_of_plan,
)


class Support(NamedTuple):
    """A support given to a contact on a day.

    ``item`` is a code of the price guide, ``category`` the number of its category; ``pace_category`` is the
    one that PACE plans count it by, ``category`` when omitted. ``management`` prefers a booking of that
    management type where several fit.
    """

    contact: UUID
    day: dt.date
    item: str | None = None
    category: int | None = None
    management: str | None = None
    pace_category: int | None = None


class CoveringPlan(NamedTuple):
    """The columns of a plan that coverage depends on."""

    pk: UUID
    is_pace: bool
    first_day: dt.date
    last_day: dt.date


class CoveringBudget(NamedTuple):
    """The columns of a service booking, or of a PACE plan's category budget, that coverage depends on.

    ``remaining`` is the budget less claimed, waiting and used elsewhere. A budget without days of its own has
    those of its plan.
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

    def __str__(self) -> str:
        category = None if self.category is None else f"{self.category:02} {self.category_name}"
        return budget_label(self.support_item, category, self.support_purpose, self.booking_number)


class Coverage(NamedTuple):
    """The plan and the budget that cover a support.

    Where none covers its day, ``nearest_plan`` and ``nearest_budget`` are those of the same participant and
    support whose dates come closest; ``None`` when there are none at all.
    """

    plan: CoveringPlan | None = None
    budget: CoveringBudget | None = None
    nearest_plan: CoveringPlan | None = None
    nearest_budget: CoveringBudget | None = None


# --- first trip: plans ----------------------------------------------------------------------------------


@prepared_query
def plan_query(contacts: Iterable[object]) -> QuerySet[Model, tuple[object, ...]]:
    """The unarchived plans of participants, the newest first; rows for ``load_coverages``."""
    rows = ClientEngagement.objects.filter(AnyOf("participant", contacts), archive_date=None)
    days = ("plan_start_date", "plan_end_date", "no_active_plan_from_date")
    return rows.order_by("-plan_start_date", "guid").values_list(
        "participant", "pk", "participant_type", *days
    )


def match_plans(supports: Iterable[Support], rows: Rows) -> list[Sequence[CoveringPlan]]:
    """The plans whose budgets are read for each support; ``rows`` are those of ``plan_query``.

    Budgets are many: those of all plans of the participant are read only where no plan covers the day.
    """
    plans: dict[UUID, list[CoveringPlan]] = defaultdict(list)
    for contact, key, participant_type, start, end, inactive_from in rows:
        is_pace = participant_type == ParticipantType.PACE
        plans[contact].append(CoveringPlan(key, is_pace, start, last_day_of_plan(end, inactive_from)))
    matches: list[Sequence[CoveringPlan]] = []
    for support in supports:
        of_contact = plans.get(support.contact, ())
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


@prepared_query
def category_budget_query(plans: Iterable[object]) -> QuerySet[Model, tuple[object, ...]]:
    rows = CategoryBudget.objects.filter(AnyOf("engagement", plans))
    return rows.order_by("pk").values_list(*BUDGET_COLUMNS)


def load_coverages(
    supports: Sequence[Support], plan_rows: Rows, released: Mapping[UUID, Decimal] | None = None
) -> list[Coverage]:
    """The coverage of each support, in the order of the supports; ``plan_rows`` are those of ``plan_query``.

    ``released``, by the key of a budget, counts as remaining again: what a bill that is being replaced had
    claimed on it.
    """
    matches = match_plans(supports, plan_rows)
    plans = {plan.pk: plan for of_support in matches for plan in of_support}
    pace_plans = {plan.pk for plan in plans.values() if plan.is_pace}
    other_plans = plans.keys() - pace_plans
    queries = [
        booking_query(other_plans) if other_plans else None,
        category_budget_query(pace_plans) if pace_plans else None,
    ]
    budgets: dict[UUID, list[CoveringBudget]] = defaultdict(list)
    models: tuple[type[Budget], ...] = (ServiceBooking, CategoryBudget)
    for model, rows in zip(models, fetch_all(queries), strict=True):
        for key, plan_key, management, category, name, budget, elsewhere, claimed, waiting, *booking in rows:
            plan = plans[plan_key]
            start, end, *labels = booking or (None, None)
            remaining = budget - elsewhere - claimed - waiting
            if released:
                remaining += released.get(key, ZERO)
            days = (start or plan.first_day, end or plan.last_day)
            budgets[plan_key].append(
                CoveringBudget(key, model, plan_key, *days, management, remaining, category, name, *labels)
            )
    return [
        find_coverage(support, of_support, budgets)
        for support, of_support in zip(supports, matches, strict=True)
    ]


# --- the choice -----------------------------------------------------------------------------------------


def find_coverage(
    support: Support, plans: Sequence[CoveringPlan], budgets: Mapping[UUID, Sequence[CoveringBudget]]
) -> Coverage:
    """The plan of a support's day and the budget that covers it, or those that come closest."""
    plan = next((each for each in plans if each.first_day <= support.day <= each.last_day), None)
    suitable = [
        budget for each in plans for budget in filter_budgets(support, budgets.get(each.pk, ()), each.is_pace)
    ]
    covering = [budget for budget in suitable if budget.first_day <= support.day <= budget.last_day]
    if plan is not None and covering:
        return Coverage(plan, min(covering, key=lambda budget: rank(budget, support)))
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
    category = support.category
    if is_pace and support.pace_category is not None:
        category = support.pace_category
    item = support.item and support.item.strip().casefold()
    return [
        budget
        for budget in budgets
        if (
            budget.support_item.strip().casefold() == item
            if budget.support_item
            else budget.category is not None and budget.category == category
        )
    ]


def rank(budget: CoveringBudget, support: Support) -> tuple[bool, bool, bool, int]:
    """First the item itself, then the preferred management, then money remaining, then the latest."""
    is_preferred = support.management is None or budget.management_type == support.management
    return not budget.support_item, not is_preferred, budget.remaining <= 0, -budget.first_day.toordinal()


def distance(day: dt.date, first: dt.date, last: dt.date) -> int:
    """How many days a day lies outside a range; 0 within it."""
    return max((first - day).days, (day - last).days, 0)
