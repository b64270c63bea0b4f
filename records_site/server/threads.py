"""Threads that serve requests, shared fairly among the callers who wait for one."""

import logging
import time
from collections import Counter, deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Protocol

logger = logging.getLogger(__name__)


class Task(Protocol):
    def service(self) -> None: ...


@dataclass(frozen=True, slots=True)
class QueuedTask:
    """A task and when it was queued, in seconds of ``time.monotonic``."""

    task: Task
    queued_at: float = field(default_factory=time.monotonic)


class ThreadPool:
    """Threads, and a queue for each caller.

    ``share`` is the number of threads that one caller can use at once, ``patience`` the seconds that a
    task waits at most while all threads or its caller's share are busy, before its caller is refused.
    """

    def __init__(self, threads: int, share: int, patience: float = float("inf")) -> None:
        self.threads, self.share, self.patience = threads, share, patience
        self.queues: dict[Hashable, deque[QueuedTask]] = {}  # in the order in which callers take turns
        self.running: Counter[Hashable] = Counter()
        self.changed = Condition()
        for _ in range(threads):
            Thread(target=self.serve, daemon=True).start()

    @property
    def waiting(self) -> int:
        with self.changed:
            return sum(map(len, self.queues.values()))

    @property
    def busy(self) -> int:
        with self.changed:
            return self.running.total()

    def add(self, caller: Hashable, task: Task) -> bool:
        """Queue a task; False when this caller's tasks wait too long already."""
        with self.changed:
            queue = self.queues.setdefault(caller, deque())
            waits_long = bool(queue) and time.monotonic() - queue[0].queued_at > self.patience
            if waits_long and not self.has_free_thread(caller):
                return False
            queue.append(QueuedTask(task))
            self.changed.notify()
        return True

    def remove_expired(self) -> list[Task]:
        """Take the tasks out of the queues that have waited too long."""
        expired = []
        with self.changed:
            oldest = time.monotonic() - self.patience
            for caller, queue in list(self.queues.items()):
                if self.has_free_thread(caller):
                    continue  # it takes the oldest task when the processor lets it
                while queue and queue[0].queued_at < oldest:
                    expired.append(queue.popleft().task)
                if not queue:
                    del self.queues[caller]
        return expired

    def has_free_thread(self, caller: Hashable) -> bool:
        return self.running.total() < self.threads and self.running[caller] < self.share

    def serve(self) -> None:
        """What each thread does."""
        while True:
            with self.changed:
                while (caller := self.next_caller()) is None:
                    self.changed.wait()
                task = self.take(caller)
            try:
                task.service()
            except BaseException:  # whatever a request raises, its thread serves the next one
                logger.exception("a request failed outside of the application")
            with self.changed:
                self.running[caller] -= 1
                if not self.running[caller]:
                    del self.running[caller]

    def next_caller(self) -> Hashable | None:
        return next((caller for caller in self.queues if self.running[caller] < self.share), None)

    def take(self, caller: Hashable) -> Task:
        queue = self.queues.pop(caller)
        task = queue.popleft().task
        if queue:
            self.queues[caller] = queue  # the last of those who take turns
        self.running[caller] += 1
        return task
