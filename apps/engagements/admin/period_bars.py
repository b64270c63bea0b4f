"""The funding periods of a component as a row of bars, and the parts that bars of budgets have as well."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from apps.base.money import ZERO
from apps.engagements.funding_periods import draw, left_for, with_used_elsewhere
from apps.engagements.models import FundingPeriod
from apps.engagements.spending import Spending


class Segment(NamedTuple):
    """A part of a bar: its CSS class, and its width in per cent."""

    name: str
    width: str


#: The CSS class, label and amount of each segment, in their order.
SpentAmounts = Sequence[tuple[str, str, Decimal]]


def spent_amounts(elsewhere: Decimal, amounts: Spending | FundingPeriod) -> SpentAmounts:
    return (
        ("elsewhere", "spent elsewhere", elsewhere),
        ("paid", "paid", amounts.paid),
        ("claimed", "claimed, not yet paid", amounts.claimed - amounts.paid),
        ("waiting", "waiting", amounts.waiting),
    )


def segments_of(amounts: SpentAmounts, width: Decimal) -> list[Segment]:
    """The segments in a bar that stands for ``width``."""
    return [Segment(name, f"{100 * amount / width:.2f}") for name, _, amount in amounts if amount > 0]


@dataclass(frozen=True, slots=True)
class PeriodBar:
    """A funding period: what it releases, what earlier ones left for it, and how that is spent.

    ``left`` is what another support of its days can draw, negative when they came to more than there was.
    ``is_after_plan``: the plan was ended before its first day.
    ``bills``: how many wait for a period that has not begun, such as ``12 claims``.
    """

    period: FundingPeriod
    carried_in: Decimal
    elsewhere: Decimal
    left: Decimal
    is_current: bool
    is_coming: bool
    is_after_plan: bool
    bills: str = ""

    @property
    def amounts(self) -> SpentAmounts:
        return spent_amounts(self.elsewhere, self.period)

    @property
    def over(self) -> Decimal:
        """By how much its supports came to more than there was."""
        return max(-self.left, ZERO)

    @property
    def segments(self) -> list[Segment]:
        return segments_of(self.amounts, self.width)

    @property
    def width(self) -> Decimal:
        """The amount that the whole bar stands for."""
        spent = sum((amount for _, _, amount in self.amounts), ZERO)
        return max(self.period.released + self.carried_in, spent)

    @property
    def own_share(self) -> str | None:
        """The place, in per cent, where the period's own money ends and what was carried in begins."""
        if not self.carried_in or not self.width:
            return None
        return f"{100 * self.period.released / self.width:.2f}"

    @property
    def is_waited_for(self) -> bool:
        """True for a period that has not begun and that entered supports wait for."""
        return self.is_coming and self.period.waiting > 0

    @property
    def waiting_over(self) -> Decimal:
        """The amount that waits for it beyond what can be drawn then."""
        return min(self.over, self.period.waiting)

    @property
    def is_used_up(self) -> bool:
        return self.left <= 0 < self.width and not self.is_waited_for and not self.is_after_plan

    @property
    def words(self) -> str:
        """The bar for screen readers and as its title."""
        parts = [f"{self.period}: {self.period.released:,.2f} released"]
        if self.carried_in:
            parts.append(f"{self.carried_in:,.2f} carried in")
        parts += [f"{amount:,.2f} {label}" for _, label, amount in self.amounts if amount]
        parts.append(f"{self.over:,.2f} over" if self.over else f"{self.left:,.2f} left")
        return ", ".join(parts)


def period_bars(
    periods: Sequence[FundingPeriod], used_elsewhere: Decimal, plan_end: dt.date, today: dt.date
) -> list[PeriodBar]:
    """A bar for each period, in their order; ``plan_end`` is the last day that the plan pays for."""
    own = [each.amounts for each in periods]
    amounts = with_used_elsewhere(own, used_elsewhere)
    return [
        PeriodBar(
            period,
            money.carried_in,
            all_used.used - used.used,
            left_for(amounts, position),
            period.first_day <= today <= min(period.last_day, plan_end),
            today < period.first_day <= plan_end,
            period.first_day > plan_end,
        )
        for position, (period, money, used, all_used) in enumerate(
            zip(periods, draw(amounts), own, amounts, strict=True)
        )
    ]


def waited_for(bars: Iterable[PeriodBar]) -> list[UUID]:
    """The keys of the periods that entered supports wait for."""
    return [each.period.pk for each in bars if each.is_waited_for]


def set_bills(bars: Iterable[PeriodBar], bills: Mapping[UUID, str]) -> list[PeriodBar]:
    """The bars with how many bills wait for them."""
    return [replace(each, bills=bills.get(each.period.pk, "")) for each in bars]
