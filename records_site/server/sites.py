"""What a parent serves: one site, or those of the subscribers of a folder (docs/scale.md), and workers."""

import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

#: A worker that ends before it has run for so many seconds is started again after a pause, which doubles.
HEALTHY_SECONDS = 10
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 30.0

#: Seconds from one start of the worker of background tasks to the next.
TASK_WORKER_PAUSE = 5.0


@dataclass
class Worker:
    """A worker process; it serves from ``ready`` on. ``does_tasks``: it does background tasks."""

    generation: int
    does_tasks: bool = False
    started_at: float = field(default_factory=time.monotonic)
    ready: bool = False
    stopping: bool = False


@dataclass
class Site:
    """A site and its workers, by their process ids. ``metrics``: the folder in which all of them count.

    A subscriber's has a file with its settings, which its workers read and their parent does not.
    """

    listener: socket.socket
    metrics: str
    wanted: int
    does_tasks: bool
    name: str = ""
    file: str = ""
    workers: dict[int, Worker] = field(default_factory=dict)
    early_ends: int = 0
    next_start: float = 0.0
    next_task_worker: float = 0.0
    is_stopping: bool = False

    @classmethod
    def taken_over(cls, known: dict[str, Any], wanted: int, does_tasks: bool) -> Self:
        """A site of which the parent told itself (``known``)."""
        workers = {int(key): Worker(**each) for key, each in known["workers"].items()}
        listener = socket.socket(fileno=known["listener"])
        return cls(listener, known["metrics"], wanted, does_tasks, known["name"], known["file"], workers)

    @property
    def port(self) -> int:
        port: int = self.listener.getsockname()[1]
        return port

    @property
    def known(self) -> dict[str, Any]:
        """What the parent tells itself when it executes itself anew."""
        return {
            "listener": self.listener.fileno(),
            "metrics": self.metrics,
            "name": self.name,
            "file": self.file,
            "workers": {key: asdict(worker) for key, worker in self.workers.items()},
        }

    def is_changing(self, generation: int) -> bool:
        """Whether time alone changes what is to be done."""
        return not self.is_stopping and (
            len(self.current(generation)) < self.wanted or self.lacks_task_worker
        )

    def is_starting(self, generation: int) -> bool:
        return any(not worker.ready for worker in self.current(generation))

    def current(self, generation: int) -> list[Worker]:
        """Those of the current code that serve requests."""
        return [
            worker
            for worker in self.workers.values()
            if worker.generation == generation and not worker.does_tasks
        ]

    @property
    def lacks_task_worker(self) -> bool:
        task_workers = [worker for worker in self.workers.values() if worker.does_tasks]
        return self.does_tasks and all(worker.stopping for worker in task_workers)

    def start_missing(self, generation: int, start: Callable[["Site", Worker], None]) -> None:
        if self.is_stopping:
            return
        while len(self.current(generation)) < self.wanted and time.monotonic() >= self.next_start:
            start(self, Worker(generation))
        if self.lacks_task_worker and time.monotonic() >= self.next_task_worker:
            self.next_task_worker = time.monotonic() + TASK_WORKER_PAUSE
            start(self, Worker(generation, does_tasks=True))

    def note_ready(self, worker_id: int, generation: int) -> None:
        """A worker serves now: one of an earlier generation may go, and with the last new one all."""
        worker = self.workers[worker_id]
        if worker.generation < generation:
            return
        worker.ready = True
        older = [
            key for key, other in self.workers.items() if other.generation < generation and not other.stopping
        ]
        all_ready = sum(other.ready for other in self.current(generation)) == self.wanted
        serving = [key for key in older if not self.workers[key].does_tasks]
        for old_id in older if all_ready else serving[:1]:
            self.stop(old_id, signal.SIGTERM)

    def note_end(self, worker_id: int, status: int) -> None:
        """A worker has ended: another is started soon, unless it was told to end."""
        worker = self.workers.pop(worker_id)
        self.remove_gauges(worker_id)
        if worker.stopping:
            return
        reason = os.waitstatus_to_exitcode(status)
        whose = f" of {self.name}" if self.name else ""
        print(f"server: worker {worker_id}{whose} ended ({reason})", file=sys.stderr, flush=True)
        if worker.does_tasks:
            return
        now = time.monotonic()
        self.early_ends = 0 if now - worker.started_at > HEALTHY_SECONDS else self.early_ends + 1
        # What ends one worker early ends all that are started with it: that is one time.
        times = (self.early_ends + self.wanted - 1) // self.wanted
        self.next_start = now + (min(FIRST_PAUSE * 2 ** (times - 1), LONGEST_PAUSE) if times else 0)

    def remove_gauges(self, worker_id: int) -> None:
        """Forget how many connections a worker that has ended had; what it counted stays."""
        for path in Path(self.metrics).glob(f"gauge_live*_{worker_id}.db"):
            path.unlink()

    def stop_all(self, number: int) -> None:
        """End all workers, and start no others."""
        self.is_stopping = True
        for worker_id in self.workers:
            self.stop(worker_id, number)
        self.listener.close()  # so that it ends with the last worker that accepts whoever still waits

    def stop(self, worker_id: int, number: int) -> None:
        worker = self.workers[worker_id]
        if number == signal.SIGKILL or not worker.stopping:  # a second SIGTERM would end a task in the middle
            os.kill(worker_id, number)  # one that has ended is there until it is reaped
        worker.stopping = True


def listen(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)
    listener.listen(1024)
    return listener
