"""How a budget is being spent: what is left, how fast it goes, and when it will be gone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from apps.engagements.coverage import days_of
from apps.engagements.models import ZERO, Budgeted, ClientEngagement

CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Spending:
    """The state of one budget, or of several together, on a day; amounts in the subscriber's currency."""

    first_day: dt.date
    last_day: dt.date
    today: dt.date
    budget: Decimal = ZERO
    used_elsewhere: Decimal = ZERO
    claimed: Decimal = ZERO
    paid: Decimal = ZERO
    waiting: Decimal = ZERO

    @property
    def spent(self) -> Decimal:
        return self.used_elsewhere + self.claimed + self.waiting

    @property
    def left(self) -> Decimal:
        return self.budget - self.spent

    @property
    def unpaid(self) -> Decimal:
        """Claimed, and not paid yet."""
        return self.claimed - self.paid

    # --- time

    @property
    def days(self) -> int:
        return (self.last_day - self.first_day).days + 1

    @property
    def days_gone(self) -> int:
        """Days up to today, today among them."""
        return min(max((self.today - self.first_day).days + 1, 0), self.days)

    @property
    def days_left(self) -> int:
        return self.days - self.days_gone

    # --- speed

    @property
    def a_day(self) -> Decimal:
        """What was spent on an average day."""
        return self.spent / self.days_gone if self.days_gone else ZERO

    @property
    def run_out_date(self) -> dt.date | None:
        """The day on which nothing is left if it goes on like this; ``None`` when it lasts to the end.

        Nothing is foretold before the first day, and nothing when nothing has been spent.
        """
        if self.left <= 0:
            return self.today if self.spent else None
        if self.a_day <= 0 or not self.days_left:
            return None
        days = int(self.left / self.a_day)
        return self.today + dt.timedelta(days=days) if days < self.days_left else None

    @property
    def days_short(self) -> int:
        """How many days before the last one the budget runs out; 0 when it lasts."""
        day = self.run_out_date
        return 0 if day is None else max((self.last_day - day).days, 0)

    @property
    def left_at_end(self) -> Decimal:
        """What will be left on the last day if it goes on like this; negative when it is too little."""
        return (self.left - self.a_day * self.days_left).quantize(CENT, ROUND_HALF_UP)

    # --- shares, in whole per cent

    def share(self, amount: Decimal) -> int:
        """An amount as per cent of the budget, as it is said."""
        if not self.budget:
            return 100 if amount > 0 else 0
        return int((100 * amount / self.budget).quantize(Decimal(1), ROUND_HALF_UP))

    @property
    def spent_share(self) -> int:
        return self.share(self.spent)

    @property
    def time_share(self) -> int:
        """How much of the time is gone; a budget spent evenly is spent to the same share."""
        return 100 * self.days_gone // self.days


def spending_of(budget: Budgeted, today: dt.date) -> Spending:
    """The state of one booking, or one budget by category."""
    first, last = days_of(budget)
    return Spending(
        first,
        max(first, last),
        today,
        budget.budget,
        budget.used_elsewhere,
        budget.claimed,
        budget.paid,
        budget.waiting,
    )


def spending_of_plan(plan: ClientEngagement, budgets: Iterable[Budgeted], today: dt.date) -> Spending:
    """The state of a plan as a whole: what its budgets draw, of the plan's total."""
    held = list(budgets)
    return Spending(
        plan.plan_start_date,
        max(plan.plan_start_date, plan.last_day),
        today,
        plan.total_budget_amount,
        sum((each.used_elsewhere for each in held), ZERO),
        sum((each.claimed for each in held), ZERO),
        sum((each.paid for each in held), ZERO),
        sum((each.waiting for each in held), ZERO),
    )
