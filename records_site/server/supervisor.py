"""The parent: it listens, loads the site once, and forks worker processes, again whenever one ends.

SIGTERM and SIGINT end it when the running requests are answered. SIGHUP executes it anew, so that it loads
the code that is there then; new workers replace the old ones one by one. When that code does not load, the
old workers stay.
"""

import argparse
import atexit
import contextlib
import gc
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from records_site.server.handover import execute_anew, take_over

#: One that ends before it has run for so many seconds is started again after a pause, which doubles.
HEALTHY_SECONDS = 10
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 30.0
#: Seconds that workers have to end; more than `worker.STOP_SECONDS`.
STOP_SECONDS = 35

#: Seconds from one start of the worker of background tasks to the next.
TASK_WORKER_PAUSE = 5.0

#: The variable that names the folder in which all workers count (records_site.metrics).
METRICS = "PROMETHEUS_MULTIPROC_DIR"

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
    """The parent of the workers. ``handed_over`` is what it knew before it executed itself anew."""

    def __init__(
        self,
        listener: socket.socket,
        workers: int,
        threads: int,
        does_tasks: bool,
        handed_over: dict[str, Any] | None = None,
    ) -> None:
        known = handed_over or {}
        self.listener, self.wanted, self.threads = listener, workers, threads
        self.does_tasks, self.next_task_worker = does_tasks, 0.0
        self.workers = {int(key): Worker(**each) for key, each in known.get("workers", {}).items()}
        self.generation: int = known.get("generation", 0)
        self.is_loaded = False
        self.failed_loads: int = known.get("failed_loads", 0)
        self.early_ends = 0
        self.next_start = 0.0
        self.stopped_at: float | None = None
        # Python writes the number of each signal into one pipe, a worker that serves its id into the other.
        self.signals, self.signals_write = os.pipe()
        ready: tuple[int, int] = known.get("ready") or os.pipe()
        self.ready, self.ready_write = ready
        for end in (self.signals, self.signals_write, self.ready):
            os.set_blocking(end, False)

    def run(self) -> None:
        """Keep the workers running until a signal ends them."""
        signal.set_wakeup_fd(self.signals_write)
        for name in SIGNALS:
            signal.signal(name, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # those that came while it executed itself anew
        self.load()
        while self.stopped_at is None or self.workers:
            self.take_notes()
            if self.stopped_at is None:
                self.start_missing()
            elif time.monotonic() - self.stopped_at > STOP_SECONDS:
                self.stop_all(signal.SIGKILL)
            select.select([self.signals, self.ready], [], [], 0.5 if self.is_changing else None)

    def load(self) -> None:
        """Load the site; what fails is tried again after a pause, by the whole program."""
        try:
            load_site()
        except (Exception, SystemExit):
            traceback.print_exc()
            pause = min(FIRST_PAUSE * 2**self.failed_loads, LONGEST_PAUSE)
            self.failed_loads, self.next_start = self.failed_loads + 1, time.monotonic() + pause
        else:
            self.is_loaded, self.failed_loads = True, 0

    def take_notes(self) -> None:
        """Take note of signals, of workers that serve now, and of those that have ended."""
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
        elif number == signal.SIGHUP and self.stopped_at is None:
            self.generation += 1
            self.failed_loads = 0
            self.execute_anew()

    def execute_anew(self) -> None:
        """Become a program that has nothing of the site yet; it knows the workers, and has the listener."""
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # they wait for it
        for number in self.read(self.signals):
            if number in (signal.SIGTERM, signal.SIGINT):
                self.handle_signal(number)
        if self.stopped_at is None:
            files = (self.listener.fileno(), self.ready, self.ready_write)
            try:
                execute_anew(files, self.known)
            except OSError:
                traceback.print_exc()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    @property
    def known(self) -> dict[str, Any]:
        return {
            "listener": self.listener.fileno(),
            "ready": (self.ready, self.ready_write),
            "metrics": os.environ[METRICS],
            "generation": self.generation,
            "failed_loads": self.failed_loads,
            "workers": {key: asdict(worker) for key, worker in self.workers.items()},
        }

    def stop_all(self, number: int) -> None:
        for worker_id in self.workers:
            self.stop(worker_id, number)

    def stop(self, worker_id: int, number: int) -> None:
        worker = self.workers[worker_id]
        if number == signal.SIGKILL or not worker.stopping:  # a second SIGTERM would end a task in the middle
            os.kill(worker_id, number)  # one that has ended is there until it is reaped
        worker.stopping = True

    def start_missing(self) -> None:
        if not self.is_loaded:
            if time.monotonic() >= self.next_start:
                self.execute_anew()
            return
        while len(self.current) < self.wanted and time.monotonic() >= self.next_start:
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
        atexit._clear()  # what the parent does at its end
        status = 1
        try:
            if does_tasks:
                os.close(self.ready_write)
                self.listener.close()
                do_tasks()
            else:
                serve(self.listener, self.threads, self.ready_write, parent=os.getppid())
            status = 0
        except Exception:
            sys.excepthook(*sys.exc_info())
        finally:
            atexit._run_exitfuncs()
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


def remove_gauges(worker_id: int) -> None:
    """Forget how many connections a worker that has ended had; what it counted stays."""
    for path in Path(os.environ[METRICS]).glob(f"gauge_live*_{worker_id}.db"):
        path.unlink()


def load_site() -> None:
    """Load all that workers have in common, before they are forked from the parent.

    What they share stays shared while nothing writes to it, and looking for garbage would: so it is left out.
    """
    gc.disable()
    from records_site.server.loading import load

    load()
    gc.collect()
    FILLERS.extend(fill_holes())
    gc.freeze()


#: Objects that nothing reads, where there were holes among those that are shared.
FILLERS: list[list[bytes]] = []


def fill_holes() -> Iterator[list[bytes]]:
    """Fill the holes that loading leaves: a worker that put its objects there would copy a page for each.

    Objects of a size lie side by side once Python has no hole of that size left and takes fresh memory.
    """
    header = sys.getsizeof(b"")
    for size in range(48, 513, 16):
        fillers = [bytes(size - header)]
        in_a_row = 0
        while in_a_row < 30:
            fillers.append(bytes(size - header))
            in_a_row = in_a_row + 1 if id(fillers[-1]) == id(fillers[-2]) + size else 0
        yield fillers


def serve(listener: socket.socket, threads: int, ready: int, parent: int) -> None:
    """What a worker does."""
    from records_site.wsgi import application  # noqa: I001  the site is imported by workers only, settings first
    from records_site.server.worker import Server

    look_for_garbage()
    server = Server(application, listener, threads, parent)
    signal.signal(signal.SIGTERM, server.stop)
    os.write(ready, b"%d " % os.getpid())
    server.run_with_read_log()


def do_tasks() -> None:
    """What the worker of background tasks does."""
    from records_site.server.loading import run_command

    look_for_garbage()
    os.setsid()  # a terminal's interrupt is the parent's, which sends SIGTERM once
    run_command("worker", "--with-parent", "--skip-checks")


def look_for_garbage() -> None:
    # After 700 new objects, as Python has it, looking for garbage is a third of the time of a large body; with
    # 50,000 a worker has 15 MiB of it.
    gc.set_threshold(10_000, 10, 10)
    gc.enable()


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
    known = take_over()
    listener = socket.socket(fileno=known["listener"]) if known else listen(options.host, options.port)
    os.environ[METRICS] = known.get("metrics") or tempfile.mkdtemp(prefix="records-metrics-")
    try:
        Supervisor(listener, options.workers, options.threads, not options.no_worker, known).run()
    finally:
        shutil.rmtree(os.environ[METRICS], ignore_errors=True)
