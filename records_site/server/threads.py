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


#: A caller whose requests waited for most of the last second sends more than can be served, until they hardly
#: wait any more; these are the parts of the second.
OVERLOAD_BEGINS, OVERLOAD_ENDS = 0.6, 0.15
OVERLOAD_PERIOD_SECONDS = 1.0
#: Then a request waits at most so many times as long as one of the caller's takes: the queue stays short, and
#: those who are served hardly notice how many there are.
OVERLOAD_TURNS = 6
#: … or so many seconds, where they take next to nothing: nobody minds those.
OVERLOAD_SECONDS = 0.08
#: A page that takes longer does not hold programs back any more.
PAGE_SECONDS = 2.0
#: Of the last request, in the mean of the seconds that a caller's requests take.
WEIGHT = 0.1


@dataclass(frozen=True, slots=True)
class QueuedTask:
    """A task and when it was queued, in seconds of ``time.monotonic``."""

    task: Task
    queued_at: float


@dataclass(slots=True)
class Caller:
    """Somebody whose tasks wait or run; ``is_person``: their tasks are pages, and somebody waits for each."""

    is_person: bool = False
    queue: deque[QueuedTask] = field(default_factory=deque)
    #: When each of its running tasks was begun.
    begun: list[float] = field(default_factory=list)
    #: The part of the last second in which tasks waited: a mean in which a second ago counts a third.
    crowding: float = 0.0
    noted_at: float = 0.0
    is_overloaded: bool = False
    #: The mean of what its tasks take, once one has ended.
    seconds: float | None = None

    def note_crowding(self, now: float) -> None:
        """Take note of whether tasks have waited until ``now``: before the queue changes."""
        before = math.exp((self.noted_at - now) / OVERLOAD_PERIOD_SECONDS)
        self.crowding = self.crowding * before + (1 - before if self.queue else 0)
        self.noted_at = now
        limit = OVERLOAD_ENDS if self.is_overloaded else OVERLOAD_BEGINS
        self.is_overloaded = self.crowding > limit

    def has_waited(self, seconds: float, now: float) -> bool:
        """Whether a task of it has waited for more than so long."""
        return bool(self.queue) and self.queue[0].queued_at < now - seconds

    @property
    def running(self) -> int:
        return len(self.begun)

    def holds_back_programs(self, now: float) -> bool:
        """Whether a page waits or is made that need not take long; an export may."""
        return self.is_person and (
            bool(self.queue) or any(begun > now - PAGE_SECONDS for begun in self.begun)
        )

    def end(self, begun: float, now: float) -> None:
        """A task of it that was begun then has ended."""
        self.begun.remove(begun)
        seconds = now - begun
        mean = seconds if self.seconds is None else self.seconds
        self.seconds = mean + (seconds - mean) * WEIGHT


class ThreadPool:
    """Threads, and a queue for each caller.

    ``share`` is the number of threads that one caller can use at once, ``patience`` the seconds that a
    task waits at most while all threads or its caller's share are busy, before its caller is refused;
    without it every task waits.

    Threads of one process share a processor, so a page takes as many times as long as there are others beside
    it. Pages therefore come first, on threads that programs leave to them, and while one is made programs
    have ``beside_pages`` threads. Pages leave threads to programs: ``share`` is that of all people together.
    """

    def __init__(self, threads: int, share: int, patience: float | None = None) -> None:
        self.threads, self.share, self.patience = threads, share, patience
        self.of_programs = threads - threads // 8
        self.beside_pages = max(1, threads // 8)
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

    def add(self, name: Hashable, task: Task, is_page: bool = False) -> bool:
        """Queue a task; False when this caller's tasks wait too long already."""
        with self.changed:
            caller = self.callers.setdefault((name, is_page), Caller(is_page))
            now = time.monotonic()
            caller.note_crowding(now)
            if not self.has_free_thread(caller) and caller.has_waited(self.longest_wait(caller), now):
                return False
            caller.queue.append(QueuedTask(task, now))
            self.changed.notify()
        return True

    def longest_wait(self, caller: Caller) -> float:
        """Seconds that a task of a caller may wait."""
        if self.patience is None:
            return math.inf
        if not caller.is_overloaded or caller.seconds is None:
            return self.patience
        return min(self.patience, max(OVERLOAD_SECONDS, OVERLOAD_TURNS * caller.seconds))

    def remove_expired(self) -> list[Task]:
        """Take the tasks out of the queues that have waited too long."""
        expired = []
        with self.changed:
            now = time.monotonic()
            for name, caller in list(self.callers.items()):
                caller.note_crowding(now)
                if caller.queue and self.has_free_thread(caller):
                    continue  # it takes a task when the processor lets it
                while caller.has_waited(self.longest_wait(caller), now):
                    expired.append(caller.queue.popleft().task)
                self.forget_idle(name)
        return expired

    def has_free_thread(self, caller: Caller) -> bool:
        if self.running >= self.threads or caller.running >= self.share:
            return False
        others = [each for each in self.callers.values() if each.is_person is caller.is_person]
        running = sum(each.running for each in others)
        if caller.is_person:
            return running < self.share
        now = time.monotonic()
        has_pages = any(each.holds_back_programs(now) for each in self.callers.values())
        return running < (self.beside_pages if has_pages else self.of_programs)

    def serve(self) -> None:
        """What each thread does."""
        while True:
            with self.changed:
                while (name := self.next_caller()) is None:
                    self.changed.wait()
                task = self.take(name)
                begun = self.callers[name].begun[-1]
            try:
                task.service()
            except BaseException:  # whatever a request raises, its thread serves the next one
                logger.exception("a request failed outside of the application")
            with self.changed:
                caller = self.callers[name]
                caller.end(begun, time.monotonic())
                self.forget_idle(name)
                if caller.is_person:
                    self.changed.notify_all()  # programs may have more threads now

    def next_caller(self) -> Hashable | None:
        able = [
            name for name, caller in self.callers.items() if caller.queue and self.has_free_thread(caller)
        ]
        return next((name for name in able if self.callers[name].is_person), able[0] if able else None)

    def take(self, name: Hashable) -> Task:
        caller = self.callers.pop(name)
        self.callers[name] = caller  # the last of those who take turns
        now = time.monotonic()
        caller.note_crowding(now)
        caller.begun.append(now)
        # In an overload the oldest of a long queue are refused soon: served in their order, all would have
        # waited as long as anybody may.
        is_late = caller.is_overloaded and caller.has_waited(self.longest_wait(caller) / 2, now)
        return (caller.queue.pop() if is_late else caller.queue.popleft()).task

    def forget_idle(self, name: Hashable) -> None:
        caller = self.callers[name]
        if not (caller.queue or caller.running or caller.is_overloaded):
            del self.callers[name]
