"""Counts requests over all workers, and writes far less often than it counts.

A worker draws permits from the database in batches and spends them from memory. Its first batches of a
minute are as large as what it has spent, so that rare callers are counted one by one and busy ones cost
one write in fifteen requests. Small limits are always drawn singly, and so are exact.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from django.db import OperationalError, connection
from django.db.models import F, Min, Sum

from apps.access.callers import Limits
from apps.access.models import Usage

MINUTES_OF_A_DAY = 24 * 60
#: A batch is at most this share of the limit, so little can lie unspent in a worker.
SHARE_OF_MINUTE, SHARE_OF_DAY = 40, 400
LARGEST_BATCH = 250
NO_LIMIT = 2_000_000_000
#: Beyond so many callers those of earlier minutes are forgotten.
CALLERS_KEPT = 10_000

# Earlier minutes no longer change, and the current one is read from the locked row itself: two workers
# that draw the last permits at once cannot both get them.
_EARLIER = """(SELECT COALESCE(SUM(earlier.requests), 0) FROM access_usage earlier
    WHERE earlier.caller = %(caller)s AND earlier.minute > %(day_ago)s AND earlier.minute < %(minute)s)"""
_DRAW = """
    INSERT INTO access_usage (caller, minute, requests)
    SELECT %(caller)s, %(minute)s, %(permits)s
    WHERE %(permits)s + {earlier} <= %(per_day)s
    ON CONFLICT (caller, minute) DO UPDATE SET requests = access_usage.requests + excluded.requests
    WHERE access_usage.requests + excluded.requests <= %(per_minute)s
      AND access_usage.requests + excluded.requests + {earlier} <= %(per_day)s
    RETURNING requests
"""
_DRAW_OF_MINUTE = _DRAW.format(earlier="0")
_DRAW_OF_DAY = _DRAW.format(earlier=_EARLIER)

#: How long a reader stands in line behind a writer on SQLite, which has only one line.
SQLITE_PATIENCE_MS = 100


class LimitReached(Exception):
    """No permit is left; ``retry_after`` is in whole seconds, ``of_day`` tells the two limits apart."""

    def __init__(self, retry_after: int, of_day: bool) -> None:
        self.retry_after, self.of_day = retry_after, of_day
        super().__init__(f"no permit for {retry_after} s")


@dataclass(frozen=True, slots=True)
class Refusal:
    """That there are no permits until ``until`` (seconds since 1970)."""

    until: float
    of_day: bool

    def told(self, now: float) -> LimitReached:
        return LimitReached(max(1, math.ceil(self.until - now)), self.of_day)


@dataclass(slots=True)
class Allowance:
    """What this process holds of one caller's permits in one minute."""

    minute: int
    unspent: int = 0
    drawn: int = 0
    largest: int = LARGEST_BATCH
    refusal: Refusal | None = None

    def next_batch(self, limits: Limits) -> int:
        most = self.largest
        if limits.per_minute:
            most = min(most, limits.per_minute // SHARE_OF_MINUTE)
        if limits.per_day:
            most = min(most, limits.per_day // SHARE_OF_DAY)
        return max(1, min(most, self.drawn))


class Meter:
    """One process's purse of permits."""

    def __init__(self, seconds: Callable[[], float] = time.time) -> None:
        self._seconds = seconds
        self._held: dict[str, Allowance] = {}
        self._lock = Lock()

    def spend(self, caller: str, limits: Limits) -> bool:
        """Take one permit, or raise ``LimitReached``; whether it was the minute's first of all workers."""
        now = self._seconds()
        with self._lock:
            allowance, left_over = self._allowance(caller, int(now // 60))
            if allowance.unspent:
                allowance.unspent -= 1
                return False
            if allowance.refusal is not None:
                raise allowance.refusal.told(now)
            batch = allowance.next_batch(limits)
        # Outside the lock: the other threads of this process need not wait for the database.
        if left_over is not None:
            give_back(caller, left_over)
        return self._draw(caller, allowance, batch, limits, now)

    def _allowance(self, caller: str, minute: int) -> tuple[Allowance, Allowance | None]:
        """The caller's allowance of this minute, and the one it replaces if something is left of it."""
        before = self._held.get(caller)
        if before is not None and before.minute == minute:
            return before, None
        if len(self._held) >= CALLERS_KEPT:
            self._held = {name: held for name, held in self._held.items() if held.minute == minute}
        fresh = self._held[caller] = Allowance(minute)
        return fresh, before if before is not None and before.unspent else None

    def _draw(self, caller: str, allowance: Allowance, batch: int, limits: Limits, now: float) -> bool:
        permits = batch
        while permits:
            total = drawn(caller, allowance.minute, permits, limits)
            if total is not None:
                with self._lock:
                    allowance.unspent += permits - 1
                    allowance.drawn += permits
                return total == permits
            permits = allowance.largest = permits // 2  # fewer are left: the last ones are drawn singly
        allowance.refusal = refusal(caller, allowance.minute, limits)
        raise allowance.refusal.told(now)


def drawn(caller: str, minute: int, permits: int, limits: Limits) -> int | None:
    """Take ``permits`` from the database; what the caller has taken this minute, None when refused."""
    parameters: dict[str, str | int] = {
        "caller": caller,
        "minute": minute,
        "day_ago": minute - MINUTES_OF_A_DAY,
        "permits": permits,
        "per_minute": limits.per_minute or NO_LIMIT,
        "per_day": limits.per_day or NO_LIMIT,
    }
    row: tuple[int] | None = (NO_LIMIT,)  # stands when a long import holds SQLite's only write lock
    with not_in_line_behind_writers(), connection.cursor() as cursor:
        cursor.execute(_DRAW_OF_DAY if limits.per_day else _DRAW_OF_MINUTE, parameters)
        row = cursor.fetchone()
    return None if row is None else row[0]


def give_back(caller: str, allowance: Allowance) -> None:
    """Permits drawn in a minute that is over and not spent: they were no requests."""
    rows = Usage.objects.filter(caller=caller, minute=allowance.minute, requests__gte=allowance.unspent)
    with not_in_line_behind_writers():
        rows.update(requests=F("requests") - allowance.unspent)


def refusal(caller: str, minute: int, limits: Limits) -> Refusal:
    """Which limit it was, and until when it holds."""
    counted = Usage.objects.filter(caller=caller, minute__gt=minute - MINUTES_OF_A_DAY, requests__gt=0)
    day = counted.aggregate(requests=Sum("requests"), oldest=Min("minute"))
    if limits.per_day and (day["requests"] or 0) >= limits.per_day:
        return Refusal((day["oldest"] + MINUTES_OF_A_DAY) * 60, of_day=True)
    return Refusal((minute + 1) * 60, of_day=False)


@contextmanager
def not_in_line_behind_writers() -> Iterator[None]:
    """On SQLite skip a write that would have to wait: a long import must not hold up who only reads."""
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        patience = cursor.execute("PRAGMA busy_timeout").fetchone()[0]
        cursor.execute(f"PRAGMA busy_timeout = {SQLITE_PATIENCE_MS}")
        try:
            yield
        except OperationalError as error:
            if "locked" not in str(error):
                raise
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {patience}")


#: Of this process; what it shares with the others is in the database.
METER = Meter()
