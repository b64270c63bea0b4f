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
    assert pool.callers["caller", False].is_overloaded
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


def test_programs_leave_a_thread_to_pages():
    pool = ThreadPool(threads=8, share=6)
    programs = [Task() for _ in range(8)]
    for number, task in enumerate(programs):
        pool.add(number % 2, task)
    page = Task()
    pool.add("person", page, is_page=True)
    assert page.begun.wait(20)
    for task in (page, *programs):
        task.may_end.set()


def test_programs_have_few_threads_while_there_is_a_page_and_all_of_them_again_afterwards():
    pool = ThreadPool(threads=8, share=6)
    page, programs = Task(), [Task() for _ in range(5)]
    pool.add("person", page, is_page=True)
    assert page.begun.wait(20)
    for task in programs:
        pool.add("program", task)
    assert programs[0].begun.wait(20)
    with pool.changed:
        assert pool.running == 2
        assert pool.next_caller() is None
    page.may_end.set()
    assert all(task.begun.wait(20) for task in programs)
    for task in programs:
        task.may_end.set()


def test_a_page_that_takes_long_holds_nobody_back(monkeypatch):
    monkeypatch.setattr(threads, "PAGE_SECONDS", 0.0)
    pool = ThreadPool(threads=8, share=6)
    page, programs = Task(), [Task() for _ in range(5)]
    pool.add("person", page, is_page=True)
    assert page.begun.wait(20)
    for task in programs:
        pool.add("program", task)
    assert all(task.begun.wait(20) for task in programs)
    for task in (page, *programs):
        task.may_end.set()


def test_a_page_is_the_next_however_many_wait():
    pool = ThreadPool(threads=1, share=1)
    first, program, page = Task(), Task(), Task()
    pool.add("program", first)
    assert first.begun.wait(20)
    pool.add("program", program)
    pool.add("person", page, is_page=True)
    first.may_end.set()
    assert page.begun.wait(20)
    assert not program.begun.is_set()
    page.may_end.set()
    assert program.begun.wait(20)
    program.may_end.set()


def test_people_together_leave_threads_to_programs():
    pool = ThreadPool(threads=8, share=6)
    pages, program = [Task() for _ in range(9)], Task()
    for number, page in enumerate(pages):
        pool.add(number, page, is_page=True)
    pool.add("program", program)
    assert program.begun.wait(20)
    for task in (program, *pages):
        task.may_end.set()
