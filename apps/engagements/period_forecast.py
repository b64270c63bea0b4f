"""How long the money of a funding period lasts: what is left for its days, and the day it runs out."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from apps.base.money import ZERO, to_cents
from apps.engagements.funding_periods import PeriodAmounts, find_period, left_for, with_used_elsewhere

#: Before so many days of a period have passed, the pace is that of the period before it.
DAYS_OF_A_PACE = 14


@dataclass(frozen=True, slots=True)
class PeriodForecast:
    """The funding period of a day, what it and earlier ones have left, and the pace it is spent at."""

    first_day: dt.date
    last_day: dt.date
    today: dt.date
    left: Decimal
    per_day: Decimal

    @property
    def days_left(self) -> int:
        return (self.last_day - self.today).days

    @property
    def left_at_end(self) -> Decimal:
        """The money that the period leaves to the next at this pace; negative when it has too little."""
        return to_cents(self.left - self.per_day * self.days_left)

    @property
    def short(self) -> Decimal:
        """The money missing on the last day of the period at this pace; 0 when it lasts."""
        return max(-self.left_at_end, ZERO)

    @property
    def run_out_date(self) -> dt.date | None:
        """The day on which nothing is left at this pace; ``None`` when the period's money lasts."""
        if self.left <= 0:
            return self.today
        if self.per_day <= 0:
            return None
        days = int(self.left / self.per_day)
        return self.today + dt.timedelta(days=days) if days < self.days_left else None


def forecast_period(
    periods: Sequence[PeriodAmounts], used_elsewhere: Decimal, today: dt.date
) -> PeriodForecast | None:
    """The forecast for the period of today; ``None`` when today is in none.

    What others used has no day, so it counts in what is left and not in the pace.
    """
    position = find_period(periods, today)
    if position is None:
        return None
    period = periods[position]
    elapsed = (today - period.first_day).days + 1
    per_day = period.used / elapsed
    if elapsed < DAYS_OF_A_PACE and position:
        before = periods[position - 1]
        per_day = before.used / ((before.last_day - before.first_day).days + 1)
    left = left_for(with_used_elsewhere(periods, used_elsewhere), position)
    return PeriodForecast(period.first_day, period.last_day, today, left, per_day)
