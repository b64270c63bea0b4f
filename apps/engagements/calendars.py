"""The usual funding periods of a plan, and how an amount divides among periods; pure."""

import datetime as dt
from calendar import monthrange
from decimal import Decimal

from apps.engagements.funding_periods import Days

#: The lengths of funding periods, in months.
USUAL_MONTHS = (1, 3, 6, 12)


def calendar_of(first: dt.date, last: dt.date, months: int) -> list[Days]:
    """Periods of so many months from the first day on; the last one ends with the plan."""
    starts = [first]
    while (start := later(first, months * len(starts))) <= last:
        starts.append(start)
    ends = [start - dt.timedelta(days=1) for start in starts[1:]]
    return list(zip(starts, [*ends, last], strict=True))


def later(day: dt.date, months: int) -> dt.date:
    """The same day of a later month, or its last day where it is shorter."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return dt.date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def divide_evenly(amount: Decimal, number: int) -> list[Decimal]:
    """The parts of an amount in whole cents, all the same but the last, which has the rest."""
    cents = int(amount * 100)
    part = cents // number
    return [Decimal(each) / 100 for each in [*[part] * (number - 1), cents - part * (number - 1)]]
