"""The usual funding periods of a plan, and how an amount divides among periods; pure."""

import datetime as dt
from decimal import Decimal

from apps.base import clock
from apps.engagements.funding_periods import Days

#: The lengths of funding periods, in months.
USUAL_MONTHS = (1, 3, 6, 12)


def calendar_of(first: dt.date, last: dt.date, months: int) -> list[Days]:
    """Periods of so many months from the first day on; the last one ends with the plan."""
    span = (last.year - first.year) * 12 + last.month - first.month
    starts = [clock.months_after(first, each) for each in range(0, span + 1, months)]
    if starts[-1] > last:
        del starts[-1]
    ends = [start - dt.timedelta(days=1) for start in starts[1:]]
    return list(zip(starts, [*ends, last], strict=True))


def divide_evenly(amount: Decimal, number: int) -> list[Decimal]:
    """The parts of an amount in whole cents, all the same but the last, which has the rest."""
    cents = int(amount * 100)
    part = cents // number
    return [Decimal(each) / 100 for each in [*[part] * (number - 1), cents - part * (number - 1)]]
