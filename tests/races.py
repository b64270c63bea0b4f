"""Calls at the same moment, each on a connection of its own."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from django.db import close_old_connections, connection, transaction

from apps.base import clock

#: How often each race is tried; `./run test races` tries more often.
ROUNDS = int(os.environ.get("RACE_ROUNDS", "3"))
MAX_CALLS = 20

#: Each keeps its connection from one trial to the next: a new one costs more than most calls.
_threads = ThreadPoolExecutor(MAX_CALLS)


def call_at_once(*calls):
    """The results of the calls, in their order; none may fail or return ``None``."""
    start = threading.Barrier(len(calls))

    def run(call):
        start.wait(60)
        return begin_anew(call)

    results = list(_threads.map(run, calls, timeout=120))
    assert None not in results
    return results


def begin_anew(call):
    close_old_connections()  # what an earlier test has ended
    clock.reset_now()  # a thread keeps the time of its last request
    return call()


def call_during(change, call):
    """The result of a call that begins before a change is committed, and has to wait for it."""
    with transaction.atomic():
        change()
        waiting = _threads.submit(begin_anew, call)
        wait_until_somebody_waits(waiting.done)
    return waiting.result(60)


def wait_until_somebody_waits(is_done=lambda: False):
    """Until somebody waits for a lock; fails where nobody does, or the call ``is_done`` before."""
    until = time.monotonic() + 30
    with connection.cursor() as cursor:
        while time.monotonic() < until and not is_done():
            # A transaction sees the activity of its first look until it asks anew.
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            # Of this database only: other tests of the same run wait for their own locks in the same server.
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            if cursor.fetchone()[0]:
                return
            time.sleep(0.02)
    raise AssertionError("nobody waits for the lock")


def close_connections():
    """Of all threads: the barrier lets none of them close twice."""
    call_at_once(*[lambda: connection.close() or True] * MAX_CALLS)
