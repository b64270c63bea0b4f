"""Rate limits of callers: requests per minute and in 24 hours, counted over all workers.

A worker takes permits from the database in batches and spends them from memory. Its first batches of a
minute are as large as what it has spent, so that rare callers are counted one by one and busy ones cost
one write in fifteen requests. Permits of small limits are always taken singly, and so are exact.

SQLite has one writer at a time. A batch for which it has no lock soon is granted, so that a long import
delays no reader, and counted with the next one; no worker alone grants more than the limit.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any

from django.conf import settings
from django.db import OperationalError, connection
from django.db.models import F, Min, Sum
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from apps.access.callers import NO_LIMITS, ApplicationCaller, Limits, hash_secret
from apps.access.models import ApiApplication, Usage
from apps.base.errors import Forbidden, ServiceError, TooManyRequests, plural
from apps.odata.http.batch.batched_request import BatchedRequest

logger = logging.getLogger(__name__)

MINUTES_OF_A_DAY = 24 * 60
#: Wrong secrets in a minute from one address, and for one application.
FAILURES_OF_ADDRESS = Limits(per_minute=60, per_day=0)
FAILURES_OF_CLIENT = Limits(per_minute=20, per_day=0)
#: A batch is at most this share of the limit, so that few permits lie unspent in a worker.
SHARE_OF_MINUTE, SHARE_OF_DAY = 40, 400
LARGEST_BATCH = 250
NO_LIMIT = 2_000_000_000
#: In place of a count: the database could not be asked soon.
LOCKED = -1
#: Beyond so many callers, those of earlier minutes are forgotten.
MAX_CALLERS = 10_000

# Earlier minutes no longer change, and the current one is read from the locked row itself: two workers
# that take the last permits at once cannot both get them.
_EARLIER = """(SELECT COALESCE(SUM(earlier.requests), 0) FROM access_usage earlier
    WHERE earlier.caller = %(caller)s AND earlier.minute > %(day_ago)s AND earlier.minute < %(minute)s)"""
_TAKE = """
    INSERT INTO access_usage (caller, minute, requests)
    SELECT %(caller)s, %(minute)s, %(permits)s
    WHERE %(permits)s + {earlier} <= %(per_day)s
    ON CONFLICT (caller, minute) DO UPDATE SET requests = access_usage.requests + excluded.requests
    WHERE access_usage.requests + excluded.requests <= %(per_minute)s
      AND access_usage.requests + excluded.requests + {earlier} <= %(per_day)s
    RETURNING requests
"""
_TAKE_OF_MINUTE = _TAKE.format(earlier="0")
_TAKE_OF_DAY = _TAKE.format(earlier=_EARLIER)

#: How long a read waits for a writer on SQLite, which has one writer at a time.
SQLITE_WAIT_MS = 100


class ApplicationThrottle(BaseThrottle):
    """429 above the caller's requests per minute, 403 above its quota, both with Retry-After."""

    def allow_request(self, request: Request, view: object) -> bool:
        # Without credentials the answer is 401 anyway. A request of a batch was counted with it, before a
        # transaction was open.
        if request.auth is not None and not isinstance(request._request, BatchedRequest):
            count_request(request.auth)
        return True


def count_request(caller: Any) -> None:
    """Count one request of the caller, or refuse it; note when the application was last used."""
    try:
        first_of_minute = RATE_LIMITER.take_permit(caller.identity, caller.limits)
    except LimitReached as reached:
        raise limit_error(caller, reached) from None
    if first_of_minute and isinstance(caller, ApplicationCaller):
        with short_wait_on_sqlite():
            ApiApplication.objects.filter(pk=caller.guid).update(last_used_at=timezone.now())


def count_failure(client_id: str, request: HttpRequest) -> None:
    """Count wrong credentials of an application, and refuse at once when there were too many.

    Only failures are counted, so that nobody can lock out an application by guessing: whoever has the secret
    gets in.
    """
    address = counted_address(request)
    try:
        RATE_LIMITER.take_permit(f"guesses from:{address}"[:80], FAILURES_OF_ADDRESS)
        RATE_LIMITER.take_permit(f"guesses at:{hash_secret(client_id)}", FAILURES_OF_CLIENT)
    except LimitReached as reached:
        logger.warning("Too many wrong client secrets from %s", address)
        headers = {"Retry-After": str(reached.retry_after)}
        raise TooManyRequests("Too many attempts failed.", headers=headers) from None


def client_address(request: HttpRequest) -> str | None:
    """The IP address of the client; behind a trusted proxy, the one that the proxy saw."""
    forwarded = request.headers.get("X-Forwarded-For", "") if settings.TRUST_PROXY else ""
    for text in (forwarded.rpartition(",")[2].strip(), request.META.get("REMOTE_ADDR", "")):
        with contextlib.suppress(ValueError):
            return str(ipaddress.ip_address(text))
    return None


def counted_address(request: HttpRequest) -> str:
    """The address that failures are counted under: of IPv6 the first of its network of 64 bits.

    Whoever has one address of such a network has all, and could guess from another one each time.
    """
    address = ipaddress.ip_address(client_address(request) or "0.0.0.0")  # noqa: S104  a socket without one
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    mapped = address.ipv4_mapped
    return str(mapped or ipaddress.IPv6Network((address, 64), strict=False).network_address)


def limit_error(caller: Any, reached: LimitReached) -> ServiceError:
    headers = {"Retry-After": str(reached.retry_after)}
    wait = f"Try again in {plural(reached.retry_after, 'second')}."
    if reached.of_day:
        quota = plural(caller.limits.per_day, "request")
        return Forbidden(
            f"The quota of {quota} in 24 hours is used up. {wait}", code="QuotaExceeded", headers=headers
        )
    rate = plural(caller.limits.per_minute, "request")
    return TooManyRequests(f"The limit is {rate} a minute. {wait}", headers=headers)


# --- permits --------------------------------------------------------------------------------------------


class LimitReached(Exception):
    """No permit is left; ``retry_after`` is in seconds, ``of_day`` says which limit it is."""

    def __init__(self, retry_after: int, of_day: bool) -> None:
        self.retry_after, self.of_day = retry_after, of_day
        super().__init__(f"no permit for {retry_after} s")


@dataclass(slots=True)
class Allowance:
    """The permits that this process has of one caller in one minute.

    ``uncounted`` permits were granted without the database, which has still to count them.
    ``blocked_until`` (seconds since 1970): no permits before then, by the limit of the day if ``of_day``.
    """

    minute: int
    unspent: int = 0
    taken: int = 0
    uncounted: int = 0
    largest: int = LARGEST_BATCH
    blocked_until: float = 0
    of_day: bool = False

    def next_batch(self, limits: Limits) -> int:
        most = self.largest
        if limits.per_minute:
            most = min(most, limits.per_minute // SHARE_OF_MINUTE)
        if limits.per_day:
            most = min(most, limits.per_day // SHARE_OF_DAY)
        return max(1, min(most, self.taken))

    def limit_reached(self, now: float) -> LimitReached:
        return LimitReached(max(1, math.ceil(self.blocked_until - now)), self.of_day)


class RateLimiter:
    """The permits of one process."""

    def __init__(self, seconds: Callable[[], float] = time.time) -> None:
        self._seconds = seconds
        self._allowances: dict[str, Allowance] = {}
        self._lock = Lock()

    def take_permit(self, caller: str, limits: Limits) -> bool:
        """Spend one permit, or raise ``LimitReached``; whether it was the minute's first of all workers."""
        now = self._seconds()
        minute = int(now // 60)
        with self._lock:
            allowance = former = self._allowances.get(caller)
            if allowance is None or allowance.minute != minute:
                allowance = self._add_allowance(caller, minute)
            if allowance.unspent:
                allowance.unspent -= 1
                return False
            if allowance.blocked_until:
                raise allowance.limit_reached(now)
            batch, owed = allowance.next_batch(limits), allowance.uncounted
            allowance.uncounted = 0
        # Outside the lock: the other threads of this process need not wait for the database.
        if former is not None and former is not allowance:
            correct_count(caller, former)
        return self._take_batch(caller, allowance, batch, owed, limits, now)

    def _add_allowance(self, caller: str, minute: int) -> Allowance:
        if len(self._allowances) >= MAX_CALLERS:
            self._allowances = {name: a for name, a in self._allowances.items() if a.minute == minute}
        allowance = self._allowances[caller] = Allowance(minute)
        return allowance

    def _take_batch(
        self, caller: str, allowance: Allowance, batch: int, owed: int, limits: Limits, now: float
    ) -> bool:
        permits = 0 if 0 < limits.per_minute <= allowance.taken else batch
        while permits:
            total = take_permits(caller, allowance.minute, permits + owed, limits)
            if total is not None:
                with self._lock:
                    allowance.unspent += permits - 1
                    allowance.taken += permits
                    if total == LOCKED:
                        allowance.uncounted += permits + owed
                return total == permits + owed
            permits = allowance.largest = permits // 2  # fewer are left: the last ones are taken singly
        if owed:  # beyond the limit: so the other workers grant no more either
            take_permits(caller, allowance.minute, owed, NO_LIMITS)
        block(caller, allowance, limits)
        raise allowance.limit_reached(now)


def take_permits(caller: str, minute: int, permits: int, limits: Limits) -> int | None:
    """Take permits from the database; what the caller has taken this minute, or ``LOCKED``.

    None when refused.
    """
    parameters: dict[str, str | int] = {
        "caller": caller,
        "minute": minute,
        "day_ago": minute - MINUTES_OF_A_DAY,
        "permits": permits,
        "per_minute": limits.per_minute or NO_LIMIT,
        "per_day": limits.per_day or NO_LIMIT,
    }
    row: tuple[int] | None = (LOCKED,)
    with short_wait_on_sqlite(), connection.cursor() as cursor:
        cursor.execute(_TAKE_OF_DAY if limits.per_day else _TAKE_OF_MINUTE, parameters)
        row = cursor.fetchone()
    return None if row is None else row[0]


def correct_count(caller: str, allowance: Allowance) -> None:
    """Correct the count of a minute that is over by the permits that were not counted or not spent."""
    missing = allowance.uncounted - allowance.unspent
    if missing > 0:
        take_permits(caller, allowance.minute, missing, NO_LIMITS)
    elif missing < 0:
        rows = Usage.objects.filter(caller=caller, minute=allowance.minute, requests__gte=-missing)
        with short_wait_on_sqlite():
            rows.update(requests=F("requests") + missing)


def block(caller: str, allowance: Allowance, limits: Limits) -> None:
    """Note on the allowance which limit was reached, and until when."""
    day_ago = allowance.minute - MINUTES_OF_A_DAY
    usage = Usage.objects.filter(caller=caller, minute__gt=day_ago, requests__gt=0)
    day = usage.aggregate(requests=Sum("requests"), oldest=Min("minute"))
    allowance.of_day = bool(limits.per_day) and (day["requests"] or 0) >= limits.per_day
    end = day["oldest"] + MINUTES_OF_A_DAY if allowance.of_day else allowance.minute + 1
    allowance.blocked_until = end * 60


@contextlib.contextmanager
def short_wait_on_sqlite() -> Iterator[None]:
    """On SQLite skip a write that would have to wait: a long import must not delay readers."""
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        usual_wait = cursor.execute("PRAGMA busy_timeout").fetchone()[0]
        cursor.execute(f"PRAGMA busy_timeout = {SQLITE_WAIT_MS}")
        try:
            yield
        except OperationalError as error:
            if "locked" not in str(error):
                raise
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {usual_wait}")


#: Of this process; what it shares with the others is in the database.
RATE_LIMITER = RateLimiter()
