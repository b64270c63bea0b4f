"""What demo data is made of: sets in their order, with chance, guids and moments that repeat."""

from __future__ import annotations

import datetime as dt
import itertools
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import models
from django.utils.module_loading import import_string

from apps.core import history
from apps.core.bulk_insert import bulk_insert

YEARS = 3
DAY_STARTS = dt.time(8)
WORKING_SECONDS = 10 * 3600
BATCH = 5_000


@dataclass(frozen=True, slots=True)
class Size:
    """How many records of a kind a set loads: an option of the command.

    ``brings``: sizes that were not asked for are at least one for each so many of this one.
    """

    name: str
    default: int
    least: int
    help: str
    brings: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DemoSet:
    """The demo data of one app. Sets are loaded in the order of ``settings.DEMO_DATA``."""

    name: str
    sizes: tuple[Size, ...]
    #: Rows of these make a database one that is in use.
    models: tuple[type[models.Model], ...]
    load: Callable[[Context], None]
    #: The seeds whose demo data the database holds; only the first set needs to know.
    seeds: Callable[[], set[int]] = set


def sizes_of(sizes: Iterable[Size], asked: Mapping[str, int]) -> dict[str, int]:
    """How many of each size: those asked for, and for the others their default, or what is brought."""
    known = list(sizes)
    found = {size.name: asked.get(size.name, size.default) for size in known}
    for size in known:
        for name, each in size.brings.items():
            if name in found and name not in asked:
                found[name] = max(found[name], found[size.name] // each)
    return found


def demo_sets() -> tuple[DemoSet, ...]:
    """The sets named by ``settings.DEMO_DATA``."""
    return tuple(import_string(path) for path in settings.DEMO_DATA)


@dataclass
class Context:
    """What a set is loaded with. All it gives depends on seed, day and sizes alone."""

    seed: int
    as_of: dt.date
    zone: ZoneInfo
    sizes: Mapping[str, int]
    #: Told about rows stored: their model, how many, and of how many (None: not known).
    stored: Callable[[type[models.Model], int, int | None], None]
    #: Left by a set for those after it: the staff, clients and contacts it made, by number.
    series: dict[str, Series] = field(default_factory=dict)

    def chance(self, name: str) -> Random:
        """Repeatable chance; each name has its own, so that one list's length moves no other."""
        return Random(f"{self.seed}/{name}")  # noqa: S311  nobody's secret

    @cached_property
    def anchor(self) -> dt.datetime:
        """Midnight at which the day of ``as_of`` begins: everything loaded is older."""
        return self._utc(self.as_of, dt.time())

    @cached_property
    def mornings(self) -> tuple[dt.datetime, ...]:
        """When work began, on each working day of the years before the anchor."""
        days = (self.as_of - dt.timedelta(days=ago) for ago in range(round(YEARS * 365.25), 0, -1))
        return tuple(self._utc(day, DAY_STARTS) for day in days if day.weekday() < 5)

    def _utc(self, day: dt.date, time: dt.time) -> dt.datetime:
        return dt.datetime.combine(day, time, self.zone).astimezone(dt.UTC)

    def make_series(self, name: str, count: int) -> Series:
        self.series[name] = Series(self, name, count)
        return self.series[name]

    def guid(self, name: str, made: dt.datetime) -> uuid.UUID:
        """A version 7 UUID of that moment (see ``identifiers.new_guid``) made random by the name."""
        random = int.from_bytes(blake2b(f"{self.seed}/{name}".encode(), digest_size=10).digest())
        value = (int(made.timestamp() * 1000) << 80 | random) & ~(0xF << 76) | 0x7 << 76
        return uuid.UUID(int=value & ~(0x3 << 62) | 0x2 << 62)

    def insert(
        self,
        model: type[models.Model],
        columns: tuple[str, ...],
        rows: Iterable[tuple[Any, ...]],
        count: int | None = None,
    ) -> None:
        """Store rows of values in the columns' order, in batches, with their history; ``count`` of them."""
        left, key = iter(rows), columns.index(model._meta.pk.attname)
        while batch := list(itertools.islice(left, BATCH)):
            bulk_insert(model, columns, batch)
            history.write_entries(model, [row[key] for row in batch], "Created")
            self.stored(model, len(batch), count)


@dataclass(frozen=True, slots=True)
class Series:
    """Records of one kind, evenly spread over the years, of which each number tells guid and moment.

    Whoever refers to a record needs its number only, so a set never holds what it has made.
    """

    context: Context
    name: str
    count: int

    def created(self, number: int) -> dt.datetime:
        """When a record was made: in working hours, later than the records before it."""
        mornings = self.context.mornings
        day, part = divmod((number + 0.5) * len(mornings) / self.count, 1)
        return mornings[int(day)] + dt.timedelta(seconds=int(part * WORKING_SECONDS))

    def guid(self, number: int) -> uuid.UUID:
        return self.context.guid(f"{self.name}/{number}", self.created(number))
