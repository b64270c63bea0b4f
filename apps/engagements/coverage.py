"""What a day's support is covered by: the plan, the booking in it, and what is left. The face for funding.

Nothing of claims is known here. Whoever claims asks ``coverage_of`` or, for many lines at once, ``coverages``
(three queries, however many), and afterwards tells ``booking.record_amounts`` what it claimed.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from apps.engagements.categories import support_item
from apps.engagements.choices import ParticipantType
from apps.engagements.models import (
    ZERO,
    Budgeted,
    CategoryBudget,
    ClientEngagement,
    ServiceBooking,
    last_day_of,
)
from apps.odata.any_of import AnyOf
from apps.odata.batched_queries import Conversation, alone, prepared_query


class Support(NamedTuple):
    """A support given to a contact on a day.

    ``item`` is a code of the price guide, ``category`` the number of its category, told by the code when
    left out; ``pace_category`` the one that PACE plans count it by, ``category`` when left out.
    ``management`` prefers a booking managed that way where several would do.
    """

    contact: UUID
    on: dt.date
    item: str | None = None
    category: int | None = None
    management: str | None = None
    pace_category: int | None = None

    @property
    def category_number(self) -> int | None:
        if self.category is not None:
            return self.category
        told = support_item(self.item)
        return None if told is None else told.category


class CoveringPlan(NamedTuple):
    """A plan as far as it covers supports."""

    pk: UUID
    is_pace: bool
    first_day: dt.date
    last_day: dt.date


class CoveringBudget(NamedTuple):
    """A service booking, or of a PACE plan its budget for a category, as far as it covers supports.

    ``left`` is its budget less claimed, waiting and used elsewhere. The days are those of its plan where it
    has none of its own.
    """

    pk: UUID
    model: type[Budgeted]
    plan: UUID
    first_day: dt.date
    last_day: dt.date
    management_type: str
    left: Decimal
    category: int | None
    category_name: str | None
    support_item: str | None = None
    support_purpose: str | None = None
    booking_number: str | None = None

    def __str__(self) -> str:
        category = None if self.category is None else f"{self.category:02} {self.category_name}"
        what = self.support_item or category or self.support_purpose
        return f"{what} ({self.booking_number})" if self.booking_number else str(what)


class Coverage(NamedTuple):
    """What covers a support.

    ``plan`` and ``budget`` cover its day; without one, ``nearest_plan`` and ``nearest_budget`` are those for
    the same participant and the same support whose dates come closest, ``None`` when there are none at all.
    """

    plan: CoveringPlan | None = None
    budget: CoveringBudget | None = None
    nearest_plan: CoveringPlan | None = None
    nearest_budget: CoveringBudget | None = None

    @property
    def booking(self) -> CoveringBudget | None:
        """The service booking that covers the support; none of a PACE plan."""
        return self.budget if self.budget is not None and self.budget.model is ServiceBooking else None

    @property
    def category_budget(self) -> CoveringBudget | None:
        """The budget by category that covers the support; only of a PACE plan."""
        return self.budget if self.budget is not None and self.budget.model is CategoryBudget else None

    @property
    def left(self) -> Decimal | None:
        """What is left of the budget; ``None`` when nothing covers the support."""
        return None if self.budget is None else self.budget.left


NOTHING = Coverage()


def coverage_of(
    contact: UUID,
    on: dt.date,
    item: str | None = None,
    category: int | None = None,
    management: str | None = None,
    pace_category: int | None = None,
) -> Coverage:
    """What covers one support; see ``Support``."""
    return coverages([Support(contact, on, item, category, management, pace_category)])[0]


def coverages(supports: Sequence[Support], freed: Mapping[UUID, Decimal] | None = None) -> list[Coverage]:
    """What covers each of the supports, in their order.

    ``freed``, by the key of a budget: what counts as left of it again, since a bill that drew on it is
    being entered anew.
    """
    return alone(covering(supports, freed))


def covering(
    supports: Sequence[Support], freed: Mapping[UUID, Decimal] | None = None
) -> Conversation[list[Coverage]]:
    """The same as a conversation: the plans, then the budgets of those that are looked at."""
    plans = plans_told((yield plans_asked({support.contact for support in supports})))
    held = [plans.get(support.contact, ()) for support in supports]
    found = [plan_on(support.on, theirs) for support, theirs in zip(supports, held, strict=True)]
    # Budgets are many: those of plans that cover, and all of a participant only where none does.
    searched = {id(plan): plan for plan in found if plan is not None}
    for plan, theirs in zip(found, held, strict=True):
        if plan is None:
            searched.update((id(each), each) for each in theirs)
    budgets = yield from finding_budgets({plan.pk: plan for plan in searched.values()}, freed or {})
    by_plan = {number: budgets.get(plan.pk, ()) for number, plan in searched.items()}
    return [
        covered_by(support, plan, by_plan[id(plan)])
        if plan is not None
        else nearest_to(support, theirs, budgets)
        for support, plan, theirs in zip(supports, found, held, strict=True)
    ]


# --- what there is --------------------------------------------------------------------------------------


def current_plans(contacts: Iterable[UUID]) -> Mapping[UUID, Sequence[ClientEngagement]]:
    """The plans of participants that are not archived, the newest first."""
    field = ClientEngagement._meta.get_field("participant")
    rows = ClientEngagement.objects.filter(AnyOf(field, contacts), archive_date=None)
    found: dict[UUID, list[ClientEngagement]] = defaultdict(list)
    for plan in rows.order_by("-plan_start_date", "guid"):
        found[plan.participant_id].append(plan)
    return found


@prepared_query
def plans_asked(contacts: Any) -> QuerySet[Any, Any]:
    field = ClientEngagement._meta.get_field("participant")
    rows = ClientEngagement.objects.filter(AnyOf(field, contacts), archive_date=None)
    days = ("plan_start_date", "plan_end_date", "no_active_plan_from_date")
    return rows.order_by("-plan_start_date", "guid").values_list(
        "participant", "pk", "participant_type", *days
    )


def plans_told(rows: Iterable[tuple[Any, ...]]) -> Mapping[UUID, Sequence[CoveringPlan]]:
    """As ``current_plans``, no more of them than covers supports."""
    found: dict[UUID, list[CoveringPlan]] = defaultdict(list)
    for contact, key, kind, first, end, inactive_from in rows:
        is_pace = kind == ParticipantType.PACE
        found[contact].append(CoveringPlan(key, is_pace, first, last_day_of(end, inactive_from)))
    return found


AMOUNTS = ("budget", "used_elsewhere", "claimed", "waiting")
SHARED = ("pk", "engagement", "management_type", "category__number", "category__name", *AMOUNTS)
OWN = ("booking_start_date", "booking_end_date", "support_item", "support_purpose", "booking_number")


@prepared_query
def bookings_asked(plans: Any) -> QuerySet[Any, Any]:
    rows = ServiceBooking.objects.filter(AnyOf(ServiceBooking._meta.get_field("engagement"), plans))
    return rows.order_by("pk").values_list(*SHARED, *OWN)


@prepared_query
def category_budgets_asked(plans: Any) -> QuerySet[Any, Any]:
    rows = CategoryBudget.objects.filter(AnyOf(CategoryBudget._meta.get_field("engagement"), plans))
    return rows.order_by("pk").values_list(*SHARED)


def finding_budgets(
    plans: Mapping[UUID, CoveringPlan], freed: Mapping[UUID, Decimal]
) -> Conversation[Mapping[UUID, Sequence[CoveringBudget]]]:
    """The service bookings, or the budgets by category, of each plan."""
    found: dict[UUID, list[CoveringBudget]] = defaultdict(list)
    told = yield [bookings_asked(plans), category_budgets_asked(plans)]
    models: tuple[type[Budgeted], ...] = (ServiceBooking, CategoryBudget)
    for model, rows in zip(models, told, strict=True):
        for row in rows:
            key, plan_key, management, category, name, budget, elsewhere, claimed, waiting, *booked = row
            plan = plans[plan_key]
            first, last, *texts = booked or (None, None)
            left = budget - elsewhere - claimed - waiting + freed.get(key, ZERO)
            days = (first or plan.first_day, last or plan.last_day)
            found[plan_key].append(
                CoveringBudget(key, model, plan_key, *days, management, left, category, name, *texts)
            )
    return found


# --- what of it covers a support ------------------------------------------------------------------------


def plan_on(day: dt.date, plans: Iterable[CoveringPlan]) -> CoveringPlan | None:
    for plan in plans:
        if plan.first_day <= day <= plan.last_day:
            return plan
    return None


def covered_by(support: Support, plan: CoveringPlan, budgets: Iterable[CoveringBudget]) -> Coverage:
    """Choose among the budgets of the plan that covers a support's day."""
    fitting = fitting_for(support, budgets, plan.is_pace)
    day = support.on
    covering = [budget for budget in fitting if budget.first_day <= day <= budget.last_day]
    if covering:
        if len(covering) == 1:
            return Coverage(plan, covering[0])
        return Coverage(plan, min(covering, key=lambda budget: rank(budget, support)))
    return Coverage(plan, nearest_budget=nearest_budget(support, fitting))


def nearest_to(
    support: Support,
    plans: Sequence[CoveringPlan],
    budgets: Mapping[UUID, Sequence[CoveringBudget]],
) -> Coverage:
    """What comes closest to a support whose day no plan covers."""
    if not plans:
        return NOTHING
    closest = min(plans, key=lambda plan: distance(support.on, plan.first_day, plan.last_day))
    fitting = [
        budget for plan in plans for budget in fitting_for(support, budgets.get(plan.pk, ()), plan.is_pace)
    ]
    return Coverage(nearest_plan=closest, nearest_budget=nearest_budget(support, fitting))


def nearest_budget(support: Support, fitting: Iterable[CoveringBudget]) -> CoveringBudget | None:
    return min(
        fitting,
        key=lambda each: (distance(support.on, each.first_day, each.last_day), rank(each, support)),
        default=None,
    )


def fitting_for(support: Support, budgets: Iterable[CoveringBudget], is_pace: bool) -> list[CoveringBudget]:
    """The budgets that are for the support: for its item, or for all of its category."""
    category = support.category_number
    if is_pace and support.pace_category is not None:
        category = support.pace_category
    return [
        budget
        for budget in budgets
        if (
            same_code(budget.support_item, support.item)
            if budget.support_item
            else budget.category is not None and budget.category == category
        )
    ]


def same_code(one: str, other: str | None) -> bool:
    return other is not None and one.strip().casefold() == other.strip().casefold()


def rank(budget: CoveringBudget, support: Support) -> tuple[bool, bool, bool, int]:
    """First a booking for the item itself, then one managed as preferred, then one with money left."""
    as_preferred = support.management is None or budget.management_type == support.management
    return not budget.support_item, not as_preferred, budget.left <= 0, -budget.first_day.toordinal()


# --- days -----------------------------------------------------------------------------------------------


def days_of_plan(plan: ClientEngagement) -> tuple[dt.date, dt.date]:
    """The first and last day a plan covers."""
    return plan.plan_start_date, plan.last_day


def days_of(budget: Budgeted) -> tuple[dt.date, dt.date]:
    """The first and last day of a budget; those of its plan where it has none of its own."""
    assert isinstance(budget, ServiceBooking | CategoryBudget)
    plan = budget.engagement
    if not isinstance(budget, ServiceBooking):
        return days_of_plan(plan)
    return budget.booking_start_date or plan.plan_start_date, budget.booking_end_date or plan.last_day


def distance(day: dt.date, first: dt.date, last: dt.date) -> int:
    """How many days a day lies outside a range; 0 within it."""
    return max((first - day).days, (day - last).days, 0)
