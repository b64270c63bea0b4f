"""The parent: it listens, and starts worker processes again whenever one ends, that of background tasks too.

SIGTERM and SIGINT end it when the running requests are answered, SIGHUP replaces the workers one by one.
The parent imports nothing of the site: a reload finds new code, and when that does not start, the old workers
stay.
"""

import argparse
import contextlib
import gc
import os
import select
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

#: One that ends before it has run for so many seconds is started again after a pause, which doubles.
HEALTHY_SECONDS = 10
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 30.0
#: Seconds that workers have to end; more than `worker.STOP_SECONDS`.
STOP_SECONDS = 35

#: Seconds from one start of the worker of background tasks to the next.
TASK_WORKER_PAUSE = 5.0
TASK_WORKER = (sys.executable, str(Path(__file__).parents[2] / "manage.py"), "worker", "--with-parent")

#: What the parent handles.
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


@dataclass
class Worker:
    """A worker process; it serves from ``ready`` on. ``does_tasks``: it does background tasks."""

    generation: int
    does_tasks: bool = False
    started_at: float = field(default_factory=time.monotonic)
    ready: bool = False
    stopping: bool = False


class Supervisor:
    """The parent of the workers."""

    def __init__(self, listener: socket.socket, workers: int, threads: int, does_tasks: bool) -> None:
        self.listener, self.wanted, self.threads = listener, workers, threads
        self.does_tasks, self.next_task_worker = does_tasks, 0.0
        self.workers: dict[int, Worker] = {}
        self.generation = 0
        self.early_ends = 0
        self.next_start = 0.0
        self.stopped_at: float | None = None
        # Python writes the number of each signal into one pipe, a worker that serves its id into the other.
        self.signals, self.signals_write = os.pipe()
        self.ready, self.ready_write = os.pipe()
        for end in (self.signals, self.signals_write, self.ready):
            os.set_blocking(end, False)

    def run(self) -> None:
        """Keep the workers running until a signal ends them."""
        signal.set_wakeup_fd(self.signals_write)
        for name in SIGNALS:
            signal.signal(name, lambda *_: None)
        while self.stopped_at is None or self.workers:
            if self.stopped_at is None:
                self.start_missing()
            elif time.monotonic() - self.stopped_at > STOP_SECONDS:
                self.stop_all(signal.SIGKILL)
            select.select([self.signals, self.ready], [], [], 0.5 if self.is_changing else None)
            for number in self.read(self.signals):
                self.handle_signal(number)
            for worker_id in self.read(self.ready).split():
                self.note_ready(int(worker_id))
            self.reap()

    @property
    def is_changing(self) -> bool:
        """Whether time alone changes what is to be done."""
        return self.stopped_at is not None or len(self.current) < self.wanted or self.lacks_task_worker

    @property
    def current(self) -> list[Worker]:
        """Those of the current code that serve requests."""
        return [
            worker
            for worker in self.workers.values()
            if worker.generation == self.generation and not worker.does_tasks
        ]

    @property
    def lacks_task_worker(self) -> bool:
        task_workers = [worker for worker in self.workers.values() if worker.does_tasks]
        return self.does_tasks and all(worker.stopping for worker in task_workers)

    @staticmethod
    def read(pipe: int) -> bytes:
        with contextlib.suppress(BlockingIOError):
            return os.read(pipe, 65536)
        return b""

    def handle_signal(self, number: int) -> None:
        if number in (signal.SIGTERM, signal.SIGINT):
            self.stop_all(signal.SIGTERM if self.stopped_at is None else signal.SIGKILL)
            self.stopped_at = self.stopped_at or time.monotonic()
            self.listener.close()  # so that it ends with the last worker that accepts whoever still waits
        elif number == signal.SIGHUP:
            self.generation += 1
            self.early_ends, self.next_start = 0, 0.0

    def stop_all(self, number: int) -> None:
        for worker_id in self.workers:
            self.stop(worker_id, number)

    def stop(self, worker_id: int, number: int) -> None:
        worker = self.workers[worker_id]
        if number == signal.SIGKILL or not worker.stopping:  # a second SIGTERM would end a task in the middle
            os.kill(worker_id, number)  # one that has ended is there until it is reaped
        worker.stopping = True

    def start_missing(self) -> None:
        # The first serves sooner when no other takes its processors: loading takes seconds.
        startable = self.wanted if any(worker.ready for worker in self.current) else 1
        while len(self.current) < startable and time.monotonic() >= self.next_start:
            self.start(Worker(self.generation))
        if self.lacks_task_worker and time.monotonic() >= self.next_task_worker:
            self.next_task_worker = time.monotonic() + TASK_WORKER_PAUSE
            self.start(Worker(self.generation, does_tasks=True))

    def start(self, worker: Worker) -> None:
        # A new worker has the parent's handlers at first, which would swallow what ends it.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        worker_id = os.fork()
        if not worker_id:
            self.become_worker(worker.does_tasks)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        self.workers[worker_id] = worker

    def become_worker(self, does_tasks: bool) -> NoReturn:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal; the parent sends SIGTERM
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        for end in (self.signals, self.signals_write, self.ready):
            os.close(end)
        status = 1
        try:
            if does_tasks:
                os.setsid()  # a terminal's interrupt is the parent's, which sends SIGTERM once
                os.execv(TASK_WORKER[0], TASK_WORKER)  # noqa: S606  the arguments are ours
            serve(self.listener, self.threads, self.ready_write, parent=os.getppid())
            status = 0
        except Exception:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            # Not through the frames of the parent; threads that still run end with the process.
            os._exit(status)

    def note_ready(self, worker_id: int) -> None:
        """A worker serves now: one of an earlier generation may go, and with the last new one all."""
        worker = self.workers.get(worker_id)
        if worker is None or worker.generation < self.generation:
            return
        worker.ready = True
        older = [
            key
            for key, other in self.workers.items()
            if other.generation < self.generation and not other.stopping
        ]
        all_ready = sum(other.ready for other in self.current) == self.wanted
        serving = [key for key in older if not self.workers[key].does_tasks]
        for old_id in older if all_ready else serving[:1]:
            self.stop(old_id, signal.SIGTERM)

    def reap(self) -> None:
        """Take note of the workers that have ended."""
        while self.workers:
            worker_id, status = os.waitpid(-1, os.WNOHANG)
            if not worker_id:
                return
            worker = self.workers.pop(worker_id)
            remove_gauges(worker_id)
            if worker.stopping:
                continue
            reason = os.waitstatus_to_exitcode(status)
            print(f"server: worker {worker_id} ended ({reason})", file=sys.stderr, flush=True)
            if worker.does_tasks:
                continue
            now = time.monotonic()
            self.early_ends = 0 if now - worker.started_at > HEALTHY_SECONDS else self.early_ends + 1
            # What ends one worker early ends all that are started with it: that is one time.
            times = (self.early_ends + self.wanted - 1) // self.wanted
            self.next_start = now + (min(FIRST_PAUSE * 2 ** (times - 1), LONGEST_PAUSE) if times else 0)


@contextlib.contextmanager
def folder_of_metrics() -> Iterator[None]:
    """The folder in which all workers count (records_site.metrics), while the parent runs."""
    with tempfile.TemporaryDirectory(prefix="records-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        yield


def remove_gauges(worker_id: int) -> None:
    """Forget how many connections a worker that has ended had; what it counted stays."""
    for path in Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]).glob(f"gauge_live*_{worker_id}.db"):
        path.unlink()


def serve(listener: socket.socket, threads: int, ready: int, parent: int) -> None:
    """What a worker does."""
    gc.disable()  # what is loaded stays: looking for garbage meanwhile is an eighth of a worker's start
    from records_site.wsgi import application  # noqa: I001  the site is imported by workers only, settings first
    from records_site.server.worker import Server, load_views

    load_views()
    gc.freeze()
    # After 700 new objects, as Python has it, looking for garbage is a third of the time of a large body.
    gc.set_threshold(50_000, 10, 10)
    gc.enable()
    server = Server(application, listener, threads, parent)
    signal.signal(signal.SIGTERM, server.stop)
    os.write(ready, b"%d " % os.getpid())
    server.run_with_read_log()


def listen(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)
    listener.listen(1024)
    return listener


def main() -> None:
    parser = argparse.ArgumentParser(prog="records_site.server", description="The production server.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--threads", type=int, default=8, help="of each worker")
    parser.add_argument("--no-worker", action="store_true", help="background tasks are done elsewhere")
    options = parser.parse_args()
    with folder_of_metrics():
        listener = listen(options.host, options.port)
        Supervisor(listener, options.workers, options.threads, not options.no_worker).run()
