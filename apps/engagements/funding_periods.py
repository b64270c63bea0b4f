"""Funding periods of a component: what a support of a day can draw on, and how an amount divides by days.

A support draws on the period of its day, then on what earlier periods left, the latest of them first; never
on a later one. So what a period did not have for its days is not paid, even when new money has come.
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from apps.base.money import ZERO

#: A first and a last day.
Days = tuple[dt.date, dt.date]


class PeriodAmounts(NamedTuple):
    """A funding period, what it releases, and what supports of its own days come to.

    ``key`` is that of its record, where it is stored.
    """

    first_day: dt.date
    last_day: dt.date
    released: Decimal
    used: Decimal = ZERO
    key: UUID | None = None


class PeriodBalance(NamedTuple):
    """The money that the supports of a period could draw, in the order of the periods.

    ``carried_in``: what earlier periods have left for it. ``left``: of its own money, after what its days and
    later ones drew. ``missing``: what its days came to and neither it nor earlier ones had.
    """

    carried_in: Decimal
    left: Decimal
    missing: Decimal


def draw(periods: Iterable[PeriodAmounts]) -> list[PeriodBalance]:
    """Draw what was used, period by period in the order of their days.

    What is left for a day is the same in whatever order supports were entered: a support takes the latest
    money that it may, which the fewest others could take.
    """
    left: list[Decimal] = []
    drawn: list[tuple[Decimal, Decimal]] = []
    total = ZERO
    for period in periods:
        carried_in, missing = total, period.used
        left.append(period.released)
        at = len(left)
        while missing and at:
            at -= 1
            part = min(missing, left[at])  # credits, below zero, give back
            left[at] -= part
            missing -= part
        total += period.released - period.used + missing
        drawn.append((carried_in, missing))
    return [
        PeriodBalance(carried_in, rest, missing)
        for (carried_in, missing), rest in zip(drawn, left, strict=True)
    ]


def find_period(periods: Sequence[PeriodAmounts], day: dt.date) -> int | None:
    """The position of the period of a day; ``None`` when the day lies in none."""
    return next((at for at, each in enumerate(periods) if each.first_day <= day <= each.last_day), None)


def left_for(periods: Sequence[PeriodAmounts], position: int) -> Decimal:
    """The money left for a support of a period's days; negative when they came to more than there was."""
    balances = draw(periods)
    return sum((each.left for each in balances[: position + 1]), ZERO) - balances[position].missing


def with_used_elsewhere(periods: Sequence[PeriodAmounts], amount: Decimal) -> list[PeriodAmounts]:
    """Periods after what others used, which has no day: it is taken from the earliest money that is there."""
    found = []
    for period in periods:
        part = min(amount, max(period.released - period.used, ZERO))
        amount -= part
        found.append(period._replace(used=period.used + part) if part else period)
    return found


def use_days(
    periods: Iterable[PeriodAmounts], first: dt.date, last: dt.date, amount: Decimal
) -> list[PeriodAmounts]:
    """Periods after a support of some days, which counts on each by its days."""
    return [
        each._replace(used=each.used + share_of_days(amount, (first, last), (each.first_day, each.last_day)))
        if lies_in(each, first, last)
        else each
        for each in periods
    ]


def lies_in(period: PeriodAmounts, first: dt.date, last: dt.date) -> bool:
    """True when one of the days, of a support, is a day of the period."""
    return first <= period.last_day and period.first_day <= last


def share_of_days(
    amount: Decimal, support: tuple[dt.date, dt.date], period: tuple[dt.date, dt.date]
) -> Decimal:
    """The part of a support's amount that falls on the days of a period, in cents.

    Each day has the same amount: the cents up to the last day in the period less the cents up to the day
    before it. So the parts of consecutive periods add up. For the database it is ``amounts.CENTS_UNTIL``.
    """
    (first, last), (period_first, period_last) = support, period
    if period_first <= first and last <= period_last:
        return amount
    days = (last - first).days + 1
    until = (min(last, period_last) - first).days + 1
    before = (max(first, period_first) - first).days
    if until <= before:
        return ZERO
    cents = int(amount * 100)
    return Decimal(_cents_until(cents, until, days) - _cents_until(cents, before, days)) / 100


def _cents_until(cents: int, day: int, days: int) -> int:
    """The cents of the first days, half a cent rounded away from zero."""
    sign = -1 if cents < 0 else 1
    return sign * ((2 * abs(cents) * day + days) // (2 * days))
