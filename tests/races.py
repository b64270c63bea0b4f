"""Calls that begin at the same moment, each on a connection of its own."""

import os
import threading

from django.db import connection

#: How often each race is tried; `./run test races` tries more often.
ROUNDS = int(os.environ.get("RACE_ROUNDS", "3"))


def call_at_once(*calls):
    """The results of the calls, in their order; none may fail or return ``None``."""
    start, results = threading.Barrier(len(calls)), [None] * len(calls)

    def run(number, call):
        try:
            start.wait(20)
            results[number] = call()
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=numbered) for numbered in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert None not in results
    return results
