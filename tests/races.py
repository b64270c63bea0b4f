"""Calls that begin at the same moment, each on a connection of its own."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

from django.db import close_old_connections, connection

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
        close_old_connections()  # what an earlier test has ended
        clock.reset_now()  # a thread keeps the time of its last request
        start.wait(60)
        return call()

    results = list(_threads.map(run, calls, timeout=120))
    assert None not in results
    return results


def close_connections():
    """Of all threads: the barrier lets none of them close twice."""
    call_at_once(*[lambda: connection.close() or True] * MAX_CALLS)
