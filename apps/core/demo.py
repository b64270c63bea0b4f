"""Demo data: sets in their order, repeatable chance, the days of the past, and records of services."""

from __future__ import annotations

import datetime as dt
import tomllib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property, lru_cache
from operator import attrgetter
from pathlib import Path
from random import Random
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import models, transaction

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.drafts import D, Draft
from apps.core.bulk_insert import plain
from apps.core.domains import DEMO, find_parts
from apps.core.models import normalised
from apps.core.services import draft_class_of, service_of

YEARS = 3

Record = TypeVar("Record", bound=models.Model)
Item = TypeVar("Item")


# --- sets -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Size:
    """How many records of a kind a set loads: an option of the command.

    ``least_ratio``: a size that was not asked for is at least one for each so many of this one.
    """

    name: str
    default: int
    least: int
    help: str
    least_ratio: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DemoSet:
    """The demo data of one app. Sets are loaded in the order of ``settings.DEMO_APPS``."""

    sizes: tuple[Size, ...]
    #: Rows of these make a database one that is in use.
    models: tuple[type[models.Model], ...]
    load: Callable[[Context], None]
    #: Returns the seeds whose demo data the database holds; only the first set needs it.
    loaded_seeds: Callable[[], set[int]] = set


def complete_sizes(sizes: Iterable[Size], asked: Mapping[str, int]) -> dict[str, int]:
    """The number of records of each size: as asked for, else the default or what larger sizes need."""
    known = list(sizes)
    found = {size.name: asked.get(size.name, size.default) for size in known}
    for size in known:
        for name, ratio in size.least_ratio.items():
            if name in found and name not in asked:
                found[name] = max(found[name], found[size.name] // ratio)
    return found


def demo_sets() -> tuple[DemoSet, ...]:
    """The sets of the apps in ``settings.DEMO_APPS``."""
    return tuple(find_parts(DEMO, settings.DEMO_APPS))


def read_data(module: str) -> dict[str, Any]:
    """The data of a module of demo data, from the file beside it: ``demo.toml`` for ``demo.py``."""
    return tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8"), parse_float=Decimal)


# --- loading --------------------------------------------------------------------------------------------


@dataclass
class Context:
    """The input of a set. All that it gives depends on seed, day and sizes alone."""

    seed: int
    as_of: dt.date
    zone: ZoneInfo
    sizes: Mapping[str, int]
    #: Receives the progress: a model and how many rows of it were stored.
    report: Callable[[type[models.Model], int], None]
    #: Whether each step is a transaction of its own: a large load; else all are one, which somebody began.
    in_steps: bool = False
    #: The day of the past that it is now; ``clock.today()`` takes too long to ask for every line of a bill.
    today: dt.date = field(init=False)
    #: The current records of the sets loaded so far, by model, in the order of their creation.
    records: defaultdict[type[models.Model], list[Any]] = field(default_factory=lambda: defaultdict(list))
    #: The drafts of records that nobody reads back, with their keys, in the order of their creation.
    stored: defaultdict[type[models.Model], list[tuple[Any, Any]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def chance(self, name: str) -> Random:
        """A repeatable source of chance; each name has its own, so that one list's length moves no other."""
        return Random(f"{self.seed}/{name}")  # noqa: S311  no secret is made of it

    @cached_property
    def workdays(self) -> tuple[dt.date, ...]:
        """The weekdays of the years before the demo's day, the oldest first."""
        days = (self.as_of - dt.timedelta(days=ago) for ago in range(round(YEARS * 365.25), 0, -1))
        return tuple(day for day in days if day.weekday() < 5)

    def day(self, ago: int) -> dt.date:
        return self.as_of - dt.timedelta(days=ago)

    @contextmanager
    def clock_at(self, day: dt.date, hours: float) -> Iterator[dt.datetime]:
        """Within the block, a step, it is so many hours past midnight of that day, for every service."""
        self.today = day
        midnight = dt.datetime.combine(day, dt.time(), self.zone).astimezone(dt.UTC)
        step = transaction.atomic() if self.in_steps else nullcontext()
        with step, clock.set_to(midnight + dt.timedelta(hours=hours)):
            yield clock.now()

    def batches(self, items: Sequence[Item], name: str) -> Iterator[Sequence[Item]]:
        """The items spread evenly over the years: a batch of eight to 500 on each of some workdays.

        Within each turn of the loop it is the batch's day.
        """
        count = min(max(36, len(items) // 500), (len(items) + 7) // 8, len(self.workdays))
        chance = self.chance(f"days of {name}")
        for number in range(count):
            day = self.workdays[len(self.workdays) * number // count]
            with self.clock_at(day, 8 + 9 * chance.random()):
                yield items[len(items) * number // count : len(items) * (number + 1) // count]

    def create(
        self,
        model: type[Record],
        service: Callable[..., Sequence[object]],
        drafts: Sequence[Draft],
        **options: object,
    ) -> list[Record]:
        """The records that a service makes of drafts, in the order of the drafts."""
        if not drafts:
            return []
        keys = service(drafts, **options)
        found = {record.pk: record for record in model._default_manager.filter(AnyOf("pk", keys))}
        made = [found[key] for key in keys]
        self.records[model] += made
        self.report(model, len(made))
        return made

    def store(
        self,
        model: type[models.Model],
        service: Callable[..., Sequence[Any]],
        drafts: Sequence[Draft],
        **options: object,
    ) -> Sequence[Any]:
        """As ``create``, for records of which the drafts say enough; their keys."""
        if not drafts:
            return []
        keys = service(drafts, **options)
        self.stored[model] += zip(keys, drafts, strict=True)
        self.report(model, len(keys))
        return keys

    def archive(self, model: type[models.Model], records: Iterable[models.Model]) -> None:
        """Archive records; sets that follow do not refer to them."""
        keys = {record.pk for record in records}
        service_of(model, "archive")(model._default_manager.filter(pk__in=keys))
        self.records[model] = [each for each in self.records[model] if each.pk not in keys]


def draft_of(draft_class: type[D], model: type[models.Model], **values: object) -> D:
    """A draft of a new record: the given values, and the model's defaults for what is left out."""
    return draft_class({**defaults_of(model), **values}, given=values)


@lru_cache(maxsize=32)
def defaults_of(model: type[models.Model]) -> dict[str, object]:
    """The values of a record of which nothing is given; moments and identifiers are the service's."""
    columns = [
        column
        for column in model._meta.concrete_fields
        if not (
            column.primary_key
            or hasattr(column, "text_field")
            or (column.has_default() and callable(column.default))
        )
    ]
    values = {each.name: plain(each.get_default()) if each.has_default() else None for each in columns}
    return values | {each.name: () for each in model._meta.many_to_many}


def change_of(draft_class: type[D], record: models.Model, **values: object) -> D:
    """A draft that changes these members of a record."""
    return draft_class(values, given=values, key=record.pk)


def load_lookups(
    model: Any,
    entries: Iterable[str | Mapping[str, Any]],
    is_archived: bool = False,
    **common: object,
) -> dict[str, Any]:
    """The records of a short list by the names of these entries; a service creates those that are missing.

    ``common`` are values of all entries, which records of the same name in other lists do not have.
    """
    rows = [{"name": entry} if isinstance(entry, str) else entry for entry in entries]
    names = {row["name"]: normalised(row["name"]) for row in rows}
    existing = model._default_manager.filter(name_key__in=names.values(), **common)
    known = set(existing.values_list("name_key", flat=True))
    draft_class = draft_class_of(model)
    missing = [
        draft_of(draft_class, model, **row, **common) for row in rows if names[row["name"]] not in known
    ]
    keys = service_of(model, "create")(missing)
    if is_archived:
        service_of(model, "archive")(existing.filter(pk__in=keys))
    found = {record.name_key: record for record in existing.all()}
    return {name: found[name_key] for name, name_key in names.items()}


def existing(records: Sequence[Record]) -> Sequence[Record]:
    """The records among these, which are in order, that were created by now; the first one when none was."""
    return records[: max(bisect_right(records, clock.now(), key=attrgetter("creation_date")), 1)]


def sometimes(chance: Random, share: float, value: Item) -> Item | None:
    """The value in that share of cases, else nothing."""
    return value if chance.random() < share else None
