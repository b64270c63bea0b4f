"""Requests per minute and in 24 hours, counted over all workers."""

import contextlib
import itertools
import threading

import pytest
from django.db import OperationalError, connection, connections

from apps.access.callers import Limits
from apps.access.models import ApiApplication, Usage
from apps.access.services import purge_expired
from apps.access.throttling import LimitReached, RateLimiter, short_wait_on_sqlite
from tests.access.conftest import MINUTE

NONE = Limits(0, 0)
CALLER = "application:1"


class Clock:
    """Seconds since 1970 as a test wants them."""

    def __init__(self, minute=MINUTE, second=0):
        self.seconds = minute * 60 + second

    def __call__(self):
        return self.seconds

    def move(self, minutes):
        self.seconds += minutes * 60


def spent(limiter, limits, requests, caller=CALLER):
    """How many of so many requests are granted."""
    granted = 0
    for _ in range(requests):
        try:
            limiter.take_permit(caller, limits)
        except LimitReached:
            continue
        granted += 1
    return granted


@pytest.mark.django_db
@pytest.mark.parametrize("limit", [1, 2, 7, 39, 79])
def test_small_limits_are_exact_over_two_workers(limit):
    clock = Clock()
    workers = RateLimiter(clock), RateLimiter(clock)
    granted = sum(spent(worker, Limits(limit, 0), 1) for _ in range(limit) for worker in workers)
    assert granted == limit
    clock.move(minutes=1)
    assert spent(workers[0], Limits(limit, 0), limit + 5) == limit


@pytest.mark.django_db
@pytest.mark.parametrize("limit", [80, 600, 610, 5000])
def test_one_worker_is_granted_the_whole_of_a_large_limit_and_no_more(limit):
    assert spent(RateLimiter(Clock()), Limits(limit, 0), limit + 50) == limit


@pytest.mark.django_db
def test_two_busy_workers_are_never_granted_more_than_the_limit():
    clock = Clock()
    workers = RateLimiter(clock), RateLimiter(clock)
    granted = sum(spent(worker, Limits(600, 0), 1) for _ in range(600) for worker in workers)
    # What lies unspent in the other worker is at most one batch.
    assert 600 - 15 <= granted <= 600


@pytest.mark.django_db
def test_busy_callers_cost_one_write_in_a_dozen_requests(django_assert_max_num_queries):
    limiter = RateLimiter(Clock())
    with django_assert_max_num_queries(600 // 12):
        assert spent(limiter, Limits(600, 0), 600) == 600


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("limits", "writes"),
    [(Limits(79, 0), 10), (Limits(80, 0), 6), (Limits(0, 799), 10), (Limits(0, 800), 6)],
)
def test_permits_are_taken_in_pairs_once_two_are_a_small_share_of_the_limit(
    limits, writes, django_assert_num_queries
):
    limiter = RateLimiter(Clock())
    with django_assert_num_queries(writes):
        assert spent(limiter, limits, 10) == 10


@pytest.mark.django_db
def test_a_refused_caller_costs_the_database_nothing(django_assert_num_queries):
    limiter = RateLimiter(Clock())
    spent(limiter, Limits(2, 0), 3)
    with django_assert_num_queries(0):
        assert spent(limiter, Limits(2, 0), 100) == 0


@pytest.mark.django_db
def test_the_wait_lasts_until_the_minute_is_over():
    limiter = RateLimiter(Clock(second=18))
    spent(limiter, Limits(1, 0), 1)
    with pytest.raises(LimitReached) as reached:
        limiter.take_permit(CALLER, Limits(1, 0))
    assert (reached.value.retry_after, reached.value.of_day) == (42, False)


@pytest.mark.django_db
def test_callers_do_not_share_a_limit():
    limiter = RateLimiter(Clock())
    assert [spent(limiter, Limits(3, 0), 5, caller) for caller in ("a", "b")] == [3, 3]


@pytest.mark.django_db
def test_the_quota_is_exact_and_rolls_over_24_hours():
    clock = Clock()
    workers = itertools.cycle([RateLimiter(clock), RateLimiter(clock)])
    limits = Limits(60, 10)
    granted = []
    for _ in range(26):  # an hour between, six requests each
        granted.append(sum(spent(next(workers), limits, 1) for _ in range(6)))
        clock.move(minutes=60)
    # Six and four use it up; 24 hours after each of those minutes they come back.
    assert granted == [6, 4, *[0] * 22, 6, 4]
    assert spent(next(workers), limits, 6, "another") == 6


@pytest.mark.django_db
def test_a_small_quota_is_exact_under_a_large_rate():
    clock = Clock()
    workers = RateLimiter(clock), RateLimiter(clock)
    limits = Limits(600, 100)
    assert sum(spent(worker, limits, 1) for _ in range(100) for worker in workers) == 100


@pytest.mark.django_db
def test_a_used_up_quota_says_when_the_oldest_requests_leave_the_window():
    clock = Clock()
    limiter = RateLimiter(clock)
    spent(limiter, Limits(60, 2), 2)
    clock.move(minutes=23 * 60)
    with pytest.raises(LimitReached) as reached:
        limiter.take_permit(CALLER, Limits(60, 2))
    assert (reached.value.retry_after, reached.value.of_day) == (3600, True)


@pytest.mark.django_db
def test_permits_that_were_not_spent_are_returned():
    clock = Clock()
    limiter = RateLimiter(clock)
    spent(limiter, Limits(600, 0), 17)  # draws 1, 1, 2, 4, 8, 15
    assert Usage.objects.get().requests == 31
    clock.move(minutes=1)
    spent(limiter, Limits(600, 0), 1)
    assert list(Usage.objects.order_by("minute").values_list("requests", flat=True)) == [17, 1]


@pytest.mark.django_db
def test_without_limits_everything_is_granted_and_counted():
    assert spent(RateLimiter(Clock()), NONE, 3000) == 3000
    assert Usage.objects.get().requests >= 3000


@pytest.mark.django_db
def test_a_clock_that_jumps_back_neither_fails_nor_grants_more():
    clock = Clock()
    limiter = RateLimiter(clock)
    assert spent(limiter, Limits(3, 0), 5) == 3
    clock.move(minutes=-10)
    assert spent(limiter, Limits(3, 0), 5) == 3
    clock.move(minutes=10)
    assert spent(limiter, Limits(3, 0), 5) == 0


@pytest.mark.django_db
def test_a_rate_limiter_forgets_callers_of_earlier_minutes(monkeypatch):
    monkeypatch.setattr("apps.access.throttling.MAX_CALLERS", 3)
    clock = Clock()
    limiter = RateLimiter(clock)
    for name in "abc":
        limiter.take_permit(name, NONE)
    clock.move(minutes=1)
    limiter.take_permit("d", NONE)
    assert set(limiter._allowances) == {"d"}


@pytest.mark.django_db(transaction=True)
def test_a_fault_of_the_database_is_no_wait_for_a_writer():
    with pytest.raises(OperationalError, match="disk"), short_wait_on_sqlite():
        raise OperationalError("disk I/O error")


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres("on SQLite only one connection writes at a time")
def test_workers_that_take_permits_at_once_are_granted_the_limit_exactly():
    clock, granted = Clock(), []

    def work():
        limiter = RateLimiter(clock)
        granted.append(spent(limiter, Limits(50, 70), 40))
        connections.close_all()

    for expected in (50, 20):  # the minute's limit, then what the quota leaves
        granted.clear()
        threads = [threading.Thread(target=work) for _ in range(6)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert sum(granted) == expected
        clock.move(minutes=1)


on_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has many writers at once")


@contextlib.contextmanager
def a_long_write():
    """Another connection has SQLite's write lock meanwhile."""
    begun, done = threading.Event(), threading.Event()

    def long_import():
        with connection.cursor() as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            begun.set()
            done.wait(20)
            cursor.execute("ROLLBACK")
        connections.close_all()

    importing = threading.Thread(target=long_import)
    importing.start()
    try:
        assert begun.wait(20)
        yield
    finally:
        done.set()
        importing.join()


@pytest.mark.django_db(transaction=True)
@on_sqlite
def test_on_sqlite_a_long_write_does_not_delay_readers():
    """The permit is granted uncounted rather than waited for."""
    with a_long_write():
        assert spent(RateLimiter(Clock()), Limits(5, 0), 1) == 1
    assert not Usage.objects.exists()
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA busy_timeout").fetchone()[0] > 1000


@pytest.mark.django_db(transaction=True)
@on_sqlite
def test_what_a_worker_grants_during_a_long_write_is_counted_after_it():
    clock, limits = Clock(), Limits(30, 0)
    worker, other = RateLimiter(clock), RateLimiter(clock)
    spent(other, limits, 22)
    with a_long_write():
        assert spent(worker, limits, 6) == 6
    assert spent(worker, limits, 1) == 1
    assert Usage.objects.get().requests == 29
    assert spent(other, limits, 5) == 1


@pytest.mark.django_db(transaction=True)
@on_sqlite
def test_other_workers_grant_nothing_more_once_a_long_write_took_the_rest_of_the_limit():
    clock, limits = Clock(), Limits(30, 0)
    worker, other = RateLimiter(clock), RateLimiter(clock)
    spent(other, limits, 27)
    with a_long_write():
        spent(worker, limits, 5)
    assert spent(worker, limits, 1) == 0
    assert spent(other, limits, 1) == 0
    assert Usage.objects.get().requests == 32


@pytest.mark.django_db(transaction=True)
@on_sqlite
def test_a_worker_alone_keeps_the_limit_during_a_long_write():
    with a_long_write():
        assert spent(RateLimiter(Clock()), Limits(3, 0), 5) == 3


@pytest.mark.django_db(transaction=True)
@on_sqlite
def test_a_minute_that_ended_in_a_long_write_is_counted_in_the_next_one():
    clock = Clock()
    worker = RateLimiter(clock)
    with a_long_write():
        spent(worker, Limits(60, 0), 3)
    clock.move(minutes=1)
    spent(worker, Limits(60, 0), 1)
    assert list(Usage.objects.order_by("minute").values_list("requests", flat=True)) == [3, 1]


@pytest.mark.django_db
def test_above_the_rate_the_answer_is_429_with_the_wait(call, token, settings):
    settings.API_REQUESTS_PER_MINUTE = 2
    header = token("read")
    answers = [call("GET", header) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert 1 <= int(answers[-1]["Retry-After"]) <= 60
    assert b'"code": "TooManyRequests"' in answers[-1].content


@pytest.mark.django_db
def test_above_the_quota_the_answer_is_403_with_the_wait(call, token, settings):
    settings.API_REQUESTS_PER_DAY = 2
    header = token("read")
    answers = [call("GET", header) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 403]
    assert 23 * 3600 < int(answers[-1]["Retry-After"]) <= 24 * 3600
    assert b'"code": "QuotaExceeded"' in answers[-1].content


@pytest.mark.django_db
def test_an_application_can_have_limits_of_its_own(call, token, settings):
    settings.API_REQUESTS_PER_MINUTE = 1
    header = token("read")
    ApiApplication.objects.update(requests_per_minute=3)
    assert [call("GET", header).status_code for _ in range(4)] == [200, 200, 200, 429]


@pytest.mark.django_db
def test_the_limit_is_the_applications_not_the_tokens(call, token, settings):
    settings.API_REQUESTS_PER_MINUTE = 2
    first, other = token("read"), token("read", name="Other")
    assert [call("GET", one).status_code for one in (first, first, first)] == [200, 200, 429]
    assert call("GET", other).status_code == 200


@pytest.mark.django_db
def test_the_last_use_takes_no_more_than_one_write_a_minute(call, token):
    header = token("read")
    application = ApiApplication.objects.get()
    assert application.last_used_at is None
    call("GET", header)
    application.refresh_from_db()
    first = application.last_used_at
    assert first is not None
    stamp = application.modify_date
    call("GET", header), call("GET", header)
    application.refresh_from_db()
    assert (application.last_used_at, application.modify_date) == (first, stamp)


@pytest.mark.django_db
def test_counts_older_than_a_day_are_purged():
    spent(RateLimiter(Clock()), NONE, 1)
    spent(RateLimiter(), NONE, 1, "now")
    assert purge_expired()["usage counts"] == 1
    assert Usage.objects.get().caller == "now"
