"""The windows within which supports can be claimed: rows of the organisation's settings, with days."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Coalesce

from apps.base.batched_queries import fetch_all, prepared_query
from apps.core.models import Record
from apps.funding.choices import WindowUnit

DAY = dt.timedelta(days=1)
#: More of either unit is a slip of the hand.
LONGEST = 1_000


class ClaimWindow(Record):
    """How long after the day of a support it can be claimed, for claims and supports from certain days on.

    ``is_confirmed``: somebody has read the rule; one that is only reported is applied, and warnings say so.
    """

    caseload_path = ""

    has_personal_data = False

    claimed_from = models.DateField(
        null=True, blank=True, help_text="For what is claimed on this day and later; empty for always."
    )
    number = models.PositiveSmallIntegerField(
        "length",
        validators=[MinValueValidator(1), MaxValueValidator(LONGEST)],
        help_text="After the day of the support; its last day counts.",
    )
    unit = models.CharField(max_length=5, choices=WindowUnit)
    supports_from = models.DateField(
        null=True, blank=True, help_text="For supports given on this day and later; empty for all."
    )
    is_confirmed = models.BooleanField(
        "confirmed", default=False, help_text="Somebody has read the rule itself. Else it is only reported."
    )

    class Meta(Record.Meta):
        verbose_name = "claim window"
        ordering = ("claimed_from", "supports_from", "guid")
        default_permissions = ()  # they belong to the organisation's settings
        constraints = (
            models.UniqueConstraint(
                Coalesce("claimed_from", Value(dt.date.min)),
                Coalesce("supports_from", Value(dt.date.min)),
                condition=Q(archive_date=None),
                name="funding_one_window_of_these_days",
            ),
            models.CheckConstraint(condition=Q(number__gt=0), name="funding_window_not_empty"),
        )

    @property
    def length(self) -> str:
        return length_text(self.number, self.unit)

    def __str__(self) -> str:
        since = f", claimed from {self.claimed_from:%d/%m/%Y}" if self.claimed_from else ""
        supports = f", supports from {self.supports_from:%d/%m/%Y}" if self.supports_from else ""
        return f"{self.length}{since}{supports}"

    @classmethod
    def current(cls) -> ClaimWindows:
        """The windows of now."""
        (rows,) = fetch_all([current_windows()])
        return windows_of(tuple(map(tuple, rows)))


def length_text(number: int, unit: str) -> str:
    """``90 days``, ``1 year``"""
    label = str(WindowUnit(unit).label)
    return f"{number:,} {label.removesuffix('s') if number == 1 else label}"


@dataclass(frozen=True, slots=True)
class Window:
    """A row as rules read it; the first day of the calendar where it holds for all days."""

    key: UUID
    claimed_from: dt.date
    supports_from: dt.date
    number: int
    unit: str
    is_confirmed: bool

    @property
    def length(self) -> str:
        return length_text(self.number, self.unit)

    def last_day(self, support: dt.date) -> dt.date:
        """The last day on which this window lets a support be claimed."""
        try:
            if self.unit == WindowUnit.DAYS:
                return support + dt.timedelta(days=self.number)
            return last_day_within(support, self.number)
        except (OverflowError, ValueError):
            return dt.date.max  # beyond the calendar


@dataclass(frozen=True, eq=False)
class ClaimWindows:
    """All windows; equal only to itself, so that functions which remember their results find it quickly."""

    rows: tuple[Window, ...] = ()

    def on(self, support: dt.date, day: dt.date) -> Window | None:
        """The window of a support of a day that is claimed on another: the one place that says which.

        Of those for both days, that for the latest days of claiming; then, for the latest supports.
        """
        rows = [row for row in self.rows if row.claimed_from <= day and row.supports_from <= support]
        return max(rows, key=lambda row: (row.claimed_from, row.supports_from), default=None)

    def last_claim_day(self, support: dt.date, today: dt.date) -> dt.date | None:
        """The day after which a support cannot be claimed any more, or could not; ``None`` of no end.

        A window that comes into force later may end it before the window of today does.
        """
        last = dt.date.min
        for start, end in self.periods(support):
            window = self.on(support, start)
            closed = end if window is None else min(end, window.last_day(support))
            if closed < start:
                continue
            if start > today and last < start - DAY:
                break  # a later window may open again what has ended
            last = closed
        return None if last == dt.date.max else last

    def periods(self, support: dt.date) -> Iterator[tuple[dt.date, dt.date]]:
        """First and last days of claiming between which the window of a support stays the same."""
        starts = {dt.date.min, *(row.claimed_from for row in self.rows if row.supports_from <= support)}
        for start, following in pairwise([*sorted(starts), None]):
            assert start is not None
            yield start, dt.date.max if following is None else following - DAY


@prepared_query
def current_windows() -> models.QuerySet[models.Model, tuple[object, ...]]:
    """The rows that ``windows_of`` takes."""
    first = Value(dt.date.min)
    return (
        ClaimWindow.objects.filter(archive_date=None)
        .order_by("guid")
        .values_list(
            "guid",
            Coalesce("claimed_from", first),
            Coalesce("supports_from", first),
            "number",
            "unit",
            "is_confirmed",
        )
    )


@lru_cache(maxsize=16)
def windows_of(rows: tuple[tuple[Any, ...], ...]) -> ClaimWindows:
    """The same windows of the same rows, so that what was found by them is remembered."""
    return ClaimWindows(tuple(Window(*row) for row in rows))


@dataclass(frozen=True, slots=True)
class ExpiredWindow:
    """The window that a support is out of, and the last day on which it could have been claimed."""

    window: Window
    last_day: dt.date


@lru_cache(maxsize=4096)
def find_expired_window(windows: ClaimWindows, support: dt.date, today: dt.date) -> ExpiredWindow | None:
    """The window that a support is out of when it is claimed today."""
    window = windows.on(support, today)
    if window is None or today <= window.last_day(support):
        return None
    last = windows.last_claim_day(support, today)
    assert last is not None
    return ExpiredWindow(window, last)


@lru_cache(maxsize=64)
def supports_that_end(
    windows: ClaimWindows, first: dt.date, last: dt.date, today: dt.date
) -> tuple[tuple[dt.date, dt.date], ...]:
    """The first and last days of supports that can be claimed up to a day between ``first`` and ``last``."""
    found = []
    starts = {dt.date.min, *(row.supports_from for row in windows.rows)}
    for start, following in pairwise([*sorted(starts), dt.date.max]):
        # Of the supports between two such days the same windows hold, so a later one never ends earlier.
        days = range(start.toordinal(), following.toordinal())

        def end_of(ordinal: int) -> dt.date:
            return windows.last_claim_day(dt.date.fromordinal(ordinal), today) or dt.date.max

        begin, end = bisect_left(days, first, key=end_of), bisect_right(days, last, key=end_of)
        if begin < end:
            found.append((dt.date.fromordinal(days[begin]), dt.date.fromordinal(days[end - 1])))
    return tuple(found)


def last_day_within(day: dt.date, years: int) -> dt.date:
    """The last day that is not later than so many years after a day.

    A 29th of February counts back to a 28th: supports of a 28th reach to a 29th, those of a 29th to a 28th.
    """
    following = day + DAY
    try:
        return following.replace(year=following.year + years) - DAY
    except ValueError:
        if following.year + years > dt.MAXYEAR:
            raise
        return dt.date(following.year + years, 2, 28)
