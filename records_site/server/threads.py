"""Threads that serve requests, shared fairly among the callers who wait for one."""

import logging
import math
import time
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Protocol

logger = logging.getLogger(__name__)


class Task(Protocol):
    def service(self) -> None: ...


#: Where every request of a caller has had to wait for so many seconds, it sends more than can be served.
BURST_SECONDS = 1.0
#: Then a request waits at most so many times as long as one of the caller's takes: the queue stays short, and
#: those who are served hardly notice how many there are.
OVERLOAD_TURNS = 3
#: … or so many seconds, where they take next to nothing: nobody minds those.
OVERLOAD_SECONDS = 0.1
#: Of the last request, in the mean of the seconds that a caller's requests take.
WEIGHT = 0.1


@dataclass(frozen=True, slots=True)
class QueuedTask:
    """A task and when it was queued, in seconds of ``time.monotonic``."""

    task: Task
    queued_at: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class Caller:
    """Somebody whose tasks wait or run."""

    queue: deque[QueuedTask] = field(default_factory=deque)
    running: int = 0
    #: Since when no task of this caller has found a free thread.
    crowded_since: float | None = None
    #: The mean of what its tasks take, once one has ended.
    seconds: float | None = None

    def end(self, seconds: float) -> None:
        """A task of it has taken so long."""
        self.running -= 1
        mean = seconds if self.seconds is None else self.seconds
        self.seconds = mean + (seconds - mean) * WEIGHT


class ThreadPool:
    """Threads, and a queue for each caller.

    ``share`` is the number of threads that one caller can use at once, ``patience`` the seconds that a
    task waits at most while all threads or its caller's share are busy, before its caller is refused;
    without it every task waits.
    """

    def __init__(self, threads: int, share: int, patience: float | None = None) -> None:
        self.threads, self.share, self.patience = threads, share, patience
        self.callers: dict[Hashable, Caller] = {}  # in the order in which they take turns
        self.changed = Condition()
        for _ in range(threads):
            Thread(target=self.serve, daemon=True).start()

    @property
    def waiting(self) -> int:
        with self.changed:
            return sum(len(caller.queue) for caller in self.callers.values())

    @property
    def busy(self) -> int:
        with self.changed:
            return self.running

    @property
    def running(self) -> int:
        return sum(caller.running for caller in self.callers.values())

    def add(self, name: Hashable, task: Task) -> bool:
        """Queue a task; False when this caller's tasks wait too long already."""
        with self.changed:
            caller = self.callers.setdefault(name, Caller())
            now = time.monotonic()
            if self.has_free_thread(caller):
                caller.crowded_since = None
            else:
                caller.crowded_since = caller.crowded_since or now
                if caller.queue and caller.queue[0].queued_at < now - self.longest_wait(caller, now):
                    return False
            caller.queue.append(QueuedTask(task))
            self.changed.notify()
        return True

    def longest_wait(self, caller: Caller, now: float) -> float:
        """Seconds that a task of a caller may wait."""
        if self.patience is None:
            return math.inf
        is_burst = caller.crowded_since is None or now - caller.crowded_since < BURST_SECONDS
        if is_burst or caller.seconds is None:
            return self.patience
        return min(self.patience, max(OVERLOAD_SECONDS, OVERLOAD_TURNS * caller.seconds))

    def remove_expired(self) -> list[Task]:
        """Take the tasks out of the queues that have waited too long."""
        expired = []
        with self.changed:
            now = time.monotonic()
            for name, caller in list(self.callers.items()):
                if self.has_free_thread(caller):
                    continue  # it takes the oldest task when the processor lets it
                oldest = now - self.longest_wait(caller, now)
                while caller.queue and caller.queue[0].queued_at < oldest:
                    expired.append(caller.queue.popleft().task)
                self.forget_idle(name)
        return expired

    def has_free_thread(self, caller: Caller) -> bool:
        return self.running < self.threads and caller.running < self.share

    def serve(self) -> None:
        """What each thread does."""
        while True:
            with self.changed:
                while (name := self.next_caller()) is None:
                    self.changed.wait()
                task = self.take(name)
            begun = time.monotonic()
            try:
                task.service()
            except BaseException:  # whatever a request raises, its thread serves the next one
                logger.exception("a request failed outside of the application")
            with self.changed:
                caller = self.callers[name]
                caller.end(time.monotonic() - begun)
                self.forget_idle(name)

    def next_caller(self) -> Hashable | None:
        return next(
            (name for name, caller in self.callers.items() if caller.queue and caller.running < self.share),
            None,
        )

    def take(self, name: Hashable) -> Task:
        caller = self.callers.pop(name)
        self.callers[name] = caller  # the last of those who take turns
        caller.running += 1
        return caller.queue.popleft().task

    def forget_idle(self, name: Hashable) -> None:
        if not (self.callers[name].queue or self.callers[name].running):
            del self.callers[name]
