"""The threads of a worker and the queues before them."""

import threading
import time

from records_site.server import threads
from records_site.server.threads import ThreadPool

PATIENCE = 0.01


class Task:
    def __init__(self):
        self.begun, self.may_end = threading.Event(), threading.Event()

    def service(self):
        self.begun.set()
        self.may_end.wait(20)


def test_a_task_is_refused_while_threads_are_busy_and_not_while_one_is_free():
    pool = ThreadPool(threads=1, share=1, patience=PATIENCE)
    first, second = Task(), Task()
    with pool.changed:  # so that the free thread cannot take it yet, as on a machine without a free processor
        pool.add("caller", first)
        time.sleep(2 * PATIENCE)
        assert pool.remove_expired() == []
    assert first.begun.wait(20)
    pool.add("caller", second)
    time.sleep(2 * PATIENCE)
    assert not pool.add("caller", Task())
    assert pool.remove_expired() == [second]
    first.may_end.set()


class Clock:
    """The time of the pool, which stands still."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr(threads, "time", self)

    def monotonic(self):
        return self.now


def overloaded_pool(clock):
    """A pool of one thread, its running task, and three that have waited for 1.5 seconds."""
    pool = ThreadPool(threads=1, share=1, patience=20)
    quick, running, waiting = Task(), Task(), [Task() for _ in range(3)]
    pool.add("caller", quick)
    pool.add("caller", running)
    quick.may_end.set()
    assert running.begun.wait(20)  # the caller's requests take next to nothing so far
    for task in waiting:
        assert pool.add("caller", task)
    clock.now += 1.5
    return pool, running, waiting


def test_a_burst_waits_and_an_overload_is_refused_early(monkeypatch):
    clock = Clock(monkeypatch)
    pool, running, waiting = overloaded_pool(clock)
    clock.now -= 1
    assert pool.remove_expired() == []
    clock.now += 1
    assert not pool.add("caller", Task())
    assert pool.remove_expired() == waiting
    assert pool.add("other", Task())
    running.may_end.set()


def test_a_queue_that_is_empty_for_a_moment_ends_no_overload(monkeypatch):
    clock = Clock(monkeypatch)
    pool, running, waiting = overloaded_pool(clock)
    assert pool.remove_expired() == waiting
    running.may_end.set()
    while pool.busy:
        time.sleep(0.01)
    clock.now += 0.5
    assert pool.remove_expired() == []
    assert pool.callers["caller"].is_overloaded
    clock.now += 2
    assert pool.remove_expired() == []
    assert pool.callers == {}


def test_in_an_overload_the_newest_of_a_long_queue_is_served_first(monkeypatch):
    monkeypatch.setattr(threads, "WEIGHT", 0)  # the one that runs does not count
    clock = Clock(monkeypatch)
    pool, running, waiting = overloaded_pool(clock)
    assert pool.remove_expired() == waiting
    old, older, newest = Task(), Task(), Task()
    for task in (older, old):
        pool.add("caller", task)
    clock.now += threads.OVERLOAD_SECONDS * 0.6
    pool.add("caller", newest)
    running.may_end.set()
    assert newest.begun.wait(20)
    assert not any(task.begun.is_set() for task in (old, older))
    clock.now += threads.OVERLOAD_SECONDS * 0.6
    assert pool.remove_expired() == [older, old]
    newest.may_end.set()


def test_others_are_served_in_their_order(monkeypatch):
    clock = Clock(monkeypatch)
    pool = ThreadPool(threads=1, share=1, patience=20)
    running, first, second = Task(), Task(), Task()
    pool.add("caller", running)
    assert running.begun.wait(20)
    for task in (first, second):
        pool.add("caller", task)
    clock.now += 0.5
    running.may_end.set()
    assert first.begun.wait(20)
    assert not second.begun.is_set()
    first.may_end.set()
    second.may_end.set()
