"""The spending of a budget: what remains, the amount per day, and the date it runs out."""

import datetime as dt
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from apps.base.money import ZERO, to_cents


@dataclass(frozen=True, slots=True)
class Spending:
    """The state of a budget, or of a sum of budgets, on a day; amounts in the subscriber's currency."""

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
    def remaining(self) -> Decimal:
        return self.budget - self.spent

    # --- time

    @property
    def days(self) -> int:
        return (self.last_day - self.first_day).days + 1

    @property
    def days_elapsed(self) -> int:
        """Days up to today, including today."""
        return min(max((self.today - self.first_day).days + 1, 0), self.days)

    @property
    def days_left(self) -> int:
        return self.days - self.days_elapsed

    # --- speed

    @property
    def per_day(self) -> Decimal:
        """The average amount spent on a day."""
        return self.spent / self.days_elapsed if self.days_elapsed else ZERO

    @property
    def run_out_date(self) -> dt.date | None:
        """The day on which nothing remains at the present speed; ``None`` when the budget lasts to the end.

        There is no forecast before the first day, nor while nothing has been spent.
        """
        if self.remaining <= 0:
            return self.today if self.spent else None
        if self.per_day <= 0 or not self.days_left:
            return None
        days = int(self.remaining / self.per_day)
        return self.today + dt.timedelta(days=days) if days < self.days_left else None

    @property
    def days_before_end(self) -> int:
        """How many days before the last one the budget runs out; 0 when it lasts."""
        day = self.run_out_date
        return 0 if day is None else max((self.last_day - day).days, 0)

    @property
    def remaining_at_end(self) -> Decimal:
        """The rest of the last day at the present speed; negative when the budget is too small."""
        return to_cents(self.remaining - self.per_day * self.days_left)

    # --- percentages

    def percentage(self, amount: Decimal) -> int:
        """An amount as a whole per cent of the budget."""
        if not self.budget:
            return 100 if amount > 0 else 0
        return int((100 * amount / self.budget).quantize(Decimal(1), ROUND_HALF_UP))

    @property
    def spent_percentage(self) -> int:
        return self.percentage(self.spent)

    @property
    def elapsed_percentage(self) -> int:
        """How much of the time has passed; a budget spent evenly has the same percentage."""
        return 100 * self.days_elapsed // self.days
