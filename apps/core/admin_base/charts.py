"""Bar charts that are drawn on the server: no script, links in the bars, the colours of both themes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from apps.base.errors import plural

#: The share of a column that its bar fills.
BAR_SHARE = 0.7
#: At most so many lines across the chart.
GRID_LINES = 5


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a column: a sum of money, the list that it links to, and how many records that has."""

    value: Decimal | int
    link: str = ""
    count: int = 0


@dataclass(frozen=True, slots=True)
class Series:
    """The bars of one colour, one for each column; ``colour`` is a class of ``back_office.css``."""

    label: str
    colour: str
    bars: Sequence[Bar]


@dataclass(frozen=True, slots=True)
class PlacedBar:
    """A bar with its place in the drawing, and the words that describe it."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    link: str
    words: str


@dataclass(frozen=True, slots=True)
class BarChart:
    """Stacked bars over named columns, each with its sum above it, with a labelled axis and a legend.

    ``noun``: what the bars count.
    """

    #: The size of the drawing, and where the columns begin and end in it.
    width: ClassVar[int] = 720
    height: ClassVar[int] = 150
    left: ClassVar[int] = 88
    top: ClassVar[int] = 26
    bottom: ClassVar[int] = 124

    title: str
    columns: Sequence[str]
    series: Sequence[Series]
    noun: str

    @property
    def totals(self) -> list[Decimal]:
        bars = zip(*(each.bars for each in self.series), strict=True)
        return [sum((Decimal(bar.value) for bar in column), Decimal(0)) for column in bars]

    @property
    def top_value(self) -> int:
        """The value at the top of the axis: the least round one above all columns."""
        step = self.grid_step
        return max(1, math.ceil(max(self.totals, default=0) / step)) * step

    @property
    def grid_step(self) -> int:
        """1, 2 or 5 times a power of ten, so that few lines reach the highest column."""
        highest = max([Decimal(1), *self.totals])
        steps = (factor * 10**power for power in range(15) for factor in (1, 2, 5))
        return next(step for step in steps if step * GRID_LINES >= highest)

    @property
    def grid(self) -> list[tuple[float, int]]:
        """The height and the value of each line across the chart."""
        values = range(0, self.top_value + 1, self.grid_step)
        return [(self.place(value), value) for value in values]

    def place(self, value: Decimal | int) -> float:
        """The height of a value in the drawing."""
        return round(self.bottom - float(value) / self.top_value * (self.bottom - self.top), 1)

    @property
    def column_width(self) -> float:
        return (self.width - self.left) / max(len(self.columns), 1)

    @property
    def column_labels(self) -> list[tuple[float, str]]:
        return [
            (round(self.left + (number + 0.5) * self.column_width, 1), label)
            for number, label in enumerate(self.columns)
        ]

    @property
    def column_sums(self) -> list[tuple[float, float, Decimal]]:
        """The middle and the top of each column that has a bar, and its sum."""
        middles = [middle for middle, _ in self.column_labels]
        columns = zip(middles, self.totals, strict=True)
        return [(middle, self.place(total) - 6, total) for middle, total in columns if total]

    @property
    def bars(self) -> list[PlacedBar]:
        placed = []
        width = self.column_width * BAR_SHARE
        for number, label in enumerate(self.columns):
            base = Decimal(0)
            x = self.left + number * self.column_width + (self.column_width - width) / 2
            for series in self.series:
                bar = series.bars[number]
                if not bar.value:
                    continue
                top, bottom = self.place(base + bar.value), self.place(base)
                words = f"{label}, {series.label}: {bar.value:,}, {plural(bar.count, self.noun)}"
                place = round(x, 1), top, round(width, 1), round(bottom - top, 1)
                placed.append(PlacedBar(*place, series.colour, bar.link, words))
                base += bar.value
        return placed
