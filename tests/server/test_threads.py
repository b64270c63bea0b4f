"""The threads of a worker and the queues before them."""

import threading
import time

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
