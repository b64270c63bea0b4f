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


def test_a_burst_waits_and_an_overload_is_refused_early(monkeypatch):
    monkeypatch.setattr(threads, "BURST_SECONDS", 0.5)
    pool = ThreadPool(threads=1, share=1, patience=20)
    quick, running, waiting = Task(), Task(), Task()
    pool.add("caller", quick)
    pool.add("caller", running)
    quick.may_end.set()
    assert running.begun.wait(20)  # the caller's requests take next to nothing so far
    pool.add("caller", waiting)
    time.sleep(0.1)
    assert pool.remove_expired() == []
    time.sleep(0.5)
    assert not pool.add("caller", Task())
    assert pool.remove_expired() == [waiting]
    assert pool.add("other", Task())
    running.may_end.set()


def test_who_finds_a_free_thread_again_may_wait_again(monkeypatch):
    monkeypatch.setattr(threads, "BURST_SECONDS", 0.0)
    pool = ThreadPool(threads=2, share=1, patience=20)
    first, second, third = Task(), Task(), Task()
    pool.add("caller", first)
    assert first.begun.wait(20)
    pool.add("caller", second)
    first.may_end.set()
    second.may_end.set()
    assert second.begun.wait(20)
    while pool.busy:
        time.sleep(0.01)
    assert pool.callers == {}
    pool.add("caller", third)
    assert third.begun.wait(20)
    assert pool.callers["caller"].crowded_since is None
    third.may_end.set()
