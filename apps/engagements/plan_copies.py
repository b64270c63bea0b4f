"""Drafts of a plan and its budgets that begin as those of the plan that it replaces; nothing is stored here.

Amounts are copied as they are. Days of bookings and funding periods that lie some whole months after the old
plan's first day come to lie as many months after the new one's, other days as many days after it.
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from apps.base import clock
from apps.base.money import ZERO
from apps.engagements.drafts import BookingDraft, ComponentDraft, EngagementDraft, PeriodDraft
from apps.engagements.models import CategoryBudget, ClientEngagement, FundingPeriod, ServiceBooking

DAY = dt.timedelta(days=1)

#: What a new plan has from the old one. Its other dates are those of the old one alone.
PLAN_COLUMNS = (
    *("participant", "participant_type", "is_agency_managed", "is_self_managed", "is_plan_managed"),
    *("support_coordinator", "person_responsible_for_direct_fees", "plan_manager", "endorsement_date"),
)
#: A booking's number is the agency's, and what others used was used of the old plan.
BOOKING_COLUMNS = (
    *("support_purpose", "support_item", "category", "budget_manager", "budget", "management_type"),
)
COMPONENT_COLUMNS = (
    *("category", "component_name", "further_categories", "stated_items", "budget", "management_type"),
)


class PlanTerms(NamedTuple):
    """The terms of a new plan, known before its budgets are entered."""

    first_day: dt.date
    last_day: dt.date
    total: Decimal


class DayMoves(NamedTuple):
    """The days of an old plan as they come to lie in the new one."""

    old_first: dt.date
    old_last: dt.date
    new_first: dt.date
    new_last: dt.date

    def moved(self, day: dt.date) -> dt.date:
        """A day on which something begins; it may lie after the new plan, up to the calendar's end."""
        if day <= self.old_first:
            return self.new_first
        months = 12 * (day.year - self.old_first.year) + day.month - self.old_first.month
        try:
            if day.day != self.old_first.day:
                return self.new_first + (day - self.old_first)
            return clock.months_after(self.new_first, months)
        except OverflowError:
            return dt.date.max

    def moved_end(self, day: dt.date) -> dt.date:
        """A day on which something ends, at most the new plan's last day."""
        if day >= self.old_last:
            return self.new_last
        return min(self.moved(day + DAY) - DAY, self.new_last)


def plan_draft(plan: ClientEngagement, terms: PlanTerms) -> EngagementDraft:
    """The plan that follows another one."""
    values = {name: getattr(plan, name) for name in PLAN_COLUMNS}
    values |= {
        "plan_start_date": terms.first_day,
        "plan_end_date": terms.last_day,
        "total_budget_amount": terms.total,
    }
    return EngagementDraft(values, values)


def booking_draft(
    booking: ServiceBooking, engagement: ClientEngagement, moves: DayMoves
) -> BookingDraft | None:
    """The booking of the new plan; ``None`` for one whose days would lie after that plan."""
    start, end = booking.booking_start_date, booking.booking_end_date
    first, last = start and moves.moved(start), end and moves.moved_end(end)
    if first and first > moves.new_last:
        return None
    if first and last:
        # One that ended before its plan began, which nothing forbids, would end before it begins.
        last = max(first, last)
    days = {"booking_start_date": first, "booking_end_date": last}
    return BookingDraft(*copied(booking, BOOKING_COLUMNS, engagement=engagement, **days))


def component_draft(budget: CategoryBudget, engagement: ClientEngagement) -> ComponentDraft:
    """The component of the new plan; its funding periods are drafts of their own (``moved_periods``)."""
    return ComponentDraft(*copied(budget, COMPONENT_COLUMNS, engagement=engagement))


def copied(record: object, columns: Sequence[str], **values: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of a draft, and the same as those that are given."""
    members = {**{name: getattr(record, name) for name in columns}, "used_elsewhere": ZERO, **values}
    return members, members


def moved_periods(periods: Iterable[FundingPeriod], moves: DayMoves) -> list[PeriodDraft]:
    """The funding periods of the new plan's component, which release as much as those of the old one.

    They begin and end with the plan. What would be released after its end is released with the last one.
    """
    released: list[tuple[dt.date, Decimal]] = []
    for period in sorted(periods, key=lambda period: period.first_day):
        first = moves.moved(period.first_day) if released else moves.new_first
        if released and (first > moves.new_last or first <= released[-1][0]):
            day, amount = released.pop()
            released.append((day, amount + period.released))
        else:
            released.append((first, period.released))
    ends = [*(first - DAY for first, _ in released[1:]), moves.new_last]
    rows = zip(released, ends, strict=False)
    return [PeriodDraft.of(first, last, amount) for (first, amount), last in rows]
