"""The calendar of a recurring invoice: the days of its periods, and the dates of the invoice of each."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from apps.base import clock
from apps.funding.choices import RecurringFrequency

DAY = dt.timedelta(days=1)

#: Frequencies of a fixed number of days, and those that follow the months.
DAYS = {RecurringFrequency.DAILY: 1, RecurringFrequency.WEEKLY: 7, RecurringFrequency.FORTNIGHTLY: 14}
MONTHS = {RecurringFrequency.MONTHLY: 1, RecurringFrequency.YEARLY: 12}


def add_periods(day: dt.date, frequency: str, periods: int) -> dt.date:
    """The day so many periods later, or earlier when negative.

    In months that are too short it is the last day: 31 January, a month later, is 28 or 29 February. Always
    count from the original day: two months later it is 31 March. ``OverflowError`` beyond the calendar.
    """
    if frequency in DAYS:
        return day + dt.timedelta(days=DAYS[RecurringFrequency(frequency)] * periods)
    return clock.months_after(day, MONTHS[RecurringFrequency(frequency)] * periods)


def periods_until(day: dt.date, last: dt.date, frequency: str) -> int:
    """The greatest number of periods (negative ones too) that move ``day`` no further than ``last``."""
    if frequency in DAYS:
        return (last - day).days // DAYS[RecurringFrequency(frequency)]
    months = (last.year - day.year) * 12 + last.month - day.month
    periods = months // MONTHS[RecurringFrequency(frequency)]
    return periods if add_periods(day, frequency, periods) <= last else periods - 1


@dataclass(frozen=True, slots=True)
class Recurrence:
    """The calendar of an invoice that was entered for the period beginning on ``entered``.

    ``since`` is the day the calendar is counted from. The entered invoice is that of the period it begins in,
    so the first to be created is that of the next.
    """

    since: dt.date
    frequency: str
    entered: dt.date

    @property
    def entered_period(self) -> int:
        """The period of the calendar that the entered invoice belongs to."""
        return periods_until(self.since, self.entered, self.frequency)

    def days(self, until: dt.date) -> Iterator[tuple[int, dt.date]]:
        """(number of the period, its day) of all that follow the entered invoice, up to ``until``."""
        first = max(self.entered_period + 1, 0)
        for period in range(first, periods_until(self.since, until, self.frequency) + 1):
            yield period, add_periods(self.since, self.frequency, period)

    def first_day(self, period: int) -> dt.date:
        """The first day of the invoice of a period."""
        if add_periods(self.since, self.frequency, self.entered_period) == self.entered:
            return add_periods(self.since, self.frequency, period)
        return add_periods(self.entered, self.frequency, period - self.entered_period)

    def move_day(self, day: dt.date, period: int) -> dt.date:
        """The day in the invoice of a period that corresponds to a day of the entered invoice.

        The last day of a period stays one, so that 1 to 30 September is followed by 1 to 31 October.
        """
        if day == self.entered:
            return self.first_day(period)
        ended = self.entered_period + periods_until(self.entered, day + DAY, self.frequency)
        for end in (ended, ended + 1):
            if end > self.entered_period and self.first_day(end) == day + DAY:
                return self.first_day(end + period - self.entered_period) - DAY
        return add_periods(day, self.frequency, period - self.entered_period)

    def move_days(self, first: dt.date, last: dt.date, period: int) -> tuple[dt.date, dt.date]:
        """The two days of a range as ``move_day`` moves them; they stay in order in short months, too."""
        start = self.move_day(first, period)
        return start, max(start, self.move_day(last, period))
