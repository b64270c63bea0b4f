"""A second connection that takes every other step of an import, in a thread of its own (PostgreSQL only)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from contextvars import copy_context
from itertools import islice
from typing import Any, TypeVar

import psycopg
from django.db import OperationalError, connections

T = TypeVar("T")
#: The first and the last line.
Step = tuple[int, int]

#: So many steps wait for the partner or are done and wait for those before them; their rows are held.
AHEAD = 2

#: Seconds: the longest to wait for a server asked to stop a statement, and until it is asked again.
PATIENCE = 5
AGAIN = 0.2


class Partner:
    """The connection and its thread, in which it is Django's connection. Use ``partner`` to have one."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        # Staging writes to it from the thread that reads the file.
        connection.inc_thread_sharing()
        self._begun: list[Future[Any]] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="import", initializer=self._adopt)

    def _adopt(self) -> None:
        connections[self.connection.alias] = self.connection

    def begin(self, work: Callable[..., T], *words: Any) -> Future[T]:
        """Have the thread do it after what it has to do already, as the author who writes now."""
        begun = self._thread.submit(copy_context().run, work, *words)
        self._begun = [*(one for one in self._begun if not one.done()), begun]
        return begun

    def beside(self, work: Callable[..., T], ours: Sequence[Any], theirs: Sequence[Any]) -> T:
        """Do the work here with our words and there with theirs, at the same time; what comes of ours."""
        begun = self.begin(work, *theirs)
        result = work(*ours)
        begun.result()
        return result

    def in_turn(
        self, steps: Sequence[Step], ours: Callable[[int, int], T], theirs: Callable[[int, int], T]
    ) -> Iterator[T]:
        """What comes of each step, in order. Every second one is theirs, who may be some ahead."""
        further = iter(steps[1::2])
        begun = deque(self.begin(theirs, *step) for step in islice(further, AHEAD))
        for step in steps[::2]:
            yield ours(*step)
            if begun:
                done = begun.popleft()
                begun += [self.begin(theirs, *step) for step in islice(further, 1)]
                yield done.result()

    def stop(self) -> None:
        """Give up what is under way: a statement that runs is taken back."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        # Between two statements there is none to cancel, so it is asked until the thread is done.
        while running := [one for one in self._begun if not one.done()]:
            with suppress(psycopg.Error):
                self.connection.connection.cancel_safe(timeout=PATIENCE)
            wait(running, AGAIN)

    def close(self) -> None:
        self._thread.shutdown()
        self.connection.close()


@contextmanager
def partner(connection: Any) -> Iterator[Partner | None]:
    """A second connection like this one; ``None`` when the server has no more, or a pooler deals them out.

    Whoever leaves by an exception stops what the partner does. Nothing of it is left behind.
    """
    second = None if is_dealt(connection) else opened(connection)
    if second is None:
        yield None
        return
    taken = Partner(second)
    try:
        yield taken
    except BaseException:
        taken.stop()
        raise
    finally:
        taken.close()


def opened(connection: Any) -> Any:
    second = connection.copy()
    try:
        second.ensure_connection()
    except OperationalError:
        return None
    return second


def is_dealt(connection: Any) -> bool:
    """Whether a pooler stands between: two sessions of it might change places, with their tables."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (served_by,) = cursor.fetchone()
    raw: psycopg.Connection = connection.connection
    return bool(served_by != raw.info.backend_pid)
