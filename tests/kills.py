"""Processes that are killed in the middle: before a commit, right after it, or before a write."""

import contextlib
import os
import signal
import traceback
import warnings
from itertools import count

from django.db import connection, connections
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

#: Statements that write nothing themselves.
READS = ("SELECT", "SAVEPOINT", "RELEASE", "ROLLBACK", "BEGIN", "SET", "PRAGMA")


def kill_everywhere(call, state, within_transactions=False):
    """Kill a process that does the call, at its first place, then another at the second, until one lives.

    After each kill everything is as before, or done: ``state()`` tells. Returns the number of kills. Before
    any write of a transaction a kill leaves what one before its commit leaves, unless the call tells others.
    """
    before, done = state(), None
    for place in count(1):
        was_killed = was_killed_at(place, call, within_transactions)
        repeat_tasks_of_the_killed()
        after = state()
        if not was_killed:
            assert done in (None, after), "the last run changed what was done before"
            assert after != before, "nothing was done"
            return place - 1
        if after != before:
            assert done in (None, after), f"half of it, or twice, after the kill at place {place}"
            done = after


def was_killed_at(place, call, within_transactions):
    """Do the call in a process of its own, which dies at this place; ``False`` when it came to its end."""
    connection.close()  # the process has one of its own
    used = connections["default"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which it has none of
        process = os.fork()
    if process == 0:
        status = 1
        try:
            connections["default"] = used  # in the thread of Playwright's loop it would be another
            die_at(place, within_transactions)
            call()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    _, status = os.waitpid(process, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0, "the call failed by itself"
    return os.WIFSIGNALED(status)


def die_at(place, within_transactions):
    """Let this process kill itself when it has come to so many places."""
    places, commit = count(1), connection._commit

    def come_to_place():
        if next(places) == place:
            os.kill(os.getpid(), signal.SIGKILL)

    def execute_or_die(execute, sql, *arguments):
        is_place = within_transactions or not connection.in_atomic_block
        if is_place and not str(sql).lstrip().upper().startswith(READS):
            come_to_place()
        return execute(sql, *arguments)

    def commit_or_die():
        come_to_place()
        commit()
        come_to_place()

    connection._commit = commit_or_die
    connection.execute_wrappers.append(execute_or_die)


def repeat_tasks_of_the_killed():
    """What a worker does that starts again, as if each task were begun for the first time."""
    running = DBTaskResult.objects.filter(status=TaskResultStatus.RUNNING)
    running.update(status=TaskResultStatus.READY, worker_ids=[])


def refusals_ignored(call, *refusals):
    """The call, done before or not."""

    def run():
        with contextlib.suppress(*refusals):
            call()

    return run
