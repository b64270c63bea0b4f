"""What a day's support is covered by: the plan, the booking in it, and what is left. The face for funding.

Nothing of claims is known here. Whoever claims asks ``coverage_of`` or, for many lines at once, ``coverages``
(three queries, however many), and afterwards tells ``booking.record_amounts`` what it claimed.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from apps.engagements.categories import support_item
from apps.engagements.choices import ManagementType
from apps.engagements.models import Budgeted, CategoryBudget, ClientEngagement, ServiceBooking
from apps.odata.among import Among


@dataclass(frozen=True, slots=True)
class Support:
    """A support given to a contact on a day.

    ``item`` is a code of the price guide, ``category`` the number of its category, told by the code when
    left out. ``management`` prefers a booking managed that way where several would do.
    """

    contact: UUID
    on: dt.date
    item: str | None = None
    category: int | None = None
    management: ManagementType | None = None

    @property
    def category_number(self) -> int | None:
        told = support_item(self.item)
        return self.category if self.category is not None or told is None else told.category


@dataclass(frozen=True, slots=True)
class Coverage:
    """What covers a support.

    ``plan`` and ``budget`` cover its day; without one, ``nearest_plan`` and ``nearest_budget`` are those for
    the same participant and the same support whose dates come closest, ``None`` when there are none at all.
    A budget is a service booking, or of a PACE plan its budget for the category.
    """

    plan: ClientEngagement | None = None
    budget: Budgeted | None = None
    nearest_plan: ClientEngagement | None = None
    nearest_budget: Budgeted | None = None

    @property
    def booking(self) -> ServiceBooking | None:
        """The service booking that covers the support; none of a PACE plan."""
        return self.budget if isinstance(self.budget, ServiceBooking) else None

    @property
    def left(self) -> Decimal | None:
        """Budget less claimed, waiting and used elsewhere; ``None`` when nothing covers the support."""
        return None if self.budget is None else self.budget.left


def coverage_of(
    contact: UUID,
    on: dt.date,
    item: str | None = None,
    category: int | None = None,
    management: ManagementType | None = None,
) -> Coverage:
    """What covers one support; see ``Support``."""
    return coverages([Support(contact, on, item, category, management)])[0]


def coverages(supports: Sequence[Support]) -> list[Coverage]:
    """What covers each of the supports, in their order."""
    plans = current_plans({support.contact for support in supports})
    budgets = budgets_of([plan.pk for held in plans.values() for plan in held])
    return [covering(support, plans.get(support.contact, ()), budgets) for support in supports]


def current_plans(contacts: Iterable[UUID]) -> Mapping[UUID, Sequence[ClientEngagement]]:
    """The plans of participants that are not archived, the newest first."""
    field = ClientEngagement._meta.get_field("participant")
    rows = ClientEngagement.objects.filter(Among(field, contacts), archive_date=None)
    found: dict[UUID, list[ClientEngagement]] = defaultdict(list)
    for plan in rows.order_by("-plan_start_date", "guid"):
        found[plan.participant_id].append(plan)
    return found


def budgets_of(plans: Sequence[UUID]) -> Mapping[UUID, Sequence[Budgeted]]:
    """The service bookings, or the budgets by category, of plans; each with its plan's dates to hand."""
    found: dict[UUID, list[Budgeted]] = defaultdict(list)
    for model in (ServiceBooking, CategoryBudget):
        rows = model.objects.filter(Among(model._meta.get_field("engagement"), plans))
        for budget in rows.select_related("category", "engagement").order_by("pk"):
            found[budget.engagement_id].append(budget)
    return found


def covering(
    support: Support, plans: Sequence[ClientEngagement], budgets: Mapping[UUID, Sequence[Budgeted]]
) -> Coverage:
    """Choose among a participant's plans and their budgets."""
    plan = next((each for each in plans if each.covers(support.on)), None)
    searched = plans if plan is None else [plan]
    fitting = [budget for each in searched for budget in budgets.get(each.pk, ()) if is_for(budget, support)]
    fitting.sort(key=lambda budget: rank(budget, support))
    nearest = min(fitting, key=lambda budget: distance(support.on, *days_of(budget)), default=None)
    if plan is None:
        closest = min(plans, key=lambda each: distance(support.on, *days_of_plan(each)), default=None)
        return Coverage(nearest_plan=closest, nearest_budget=nearest)
    covered = [budget for budget in fitting if distance(support.on, *days_of(budget)) == 0]
    if not covered:
        return Coverage(plan=plan, nearest_budget=nearest)
    return Coverage(plan=plan, budget=covered[0])


def is_for(budget: Budgeted, support: Support) -> bool:
    """Whether the budget is for the support: for its item, or for all of its category."""
    if isinstance(budget, ServiceBooking) and budget.support_item:
        return same_code(budget.support_item, support.item)
    assert isinstance(budget, ServiceBooking | CategoryBudget)
    return budget.category is not None and budget.category.number == support.category_number


def same_code(one: str, other: str | None) -> bool:
    return other is not None and one.strip().casefold() == other.strip().casefold()


def rank(budget: Budgeted, support: Support) -> tuple[bool, bool, bool, int]:
    """First a booking for the item itself, then one managed as preferred, then one with money left."""
    for_item = isinstance(budget, ServiceBooking) and bool(budget.support_item)
    as_preferred = support.management is None or budget.management_type == support.management
    return not for_item, not as_preferred, budget.left <= 0, -days_of(budget)[0].toordinal()


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
