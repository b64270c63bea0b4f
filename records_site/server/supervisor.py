"""The parent: it listens, loads the site once, and forks worker processes, again whenever one ends.

SIGTERM and SIGINT end it when the running requests are answered. SIGHUP executes it anew, so that it loads
the code that is there then; new workers replace the old ones one by one. When that code does not load, the
old workers stay. One parent serves one site, or those of all subscribers of a folder.
"""

import argparse
import atexit
import contextlib
import gc
import json
import os
import secrets
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from records_site.server.handover import execute_anew, take_over
from records_site.server.sites import FIRST_PAUSE, LONGEST_PAUSE, Site, Worker, listen

#: Seconds that workers have to end; more than `worker.STOP_SECONDS`.
STOP_SECONDS = 35
#: Sites that start their workers at once: more would only wait for the processors.
STARTING_AT_ONCE = 4

#: The variable that names the folder in which all workers of a site count (records_site.metrics).
METRICS = "PROMETHEUS_MULTIPROC_DIR"

#: What the parent handles.
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


class Supervisor:
    """The parent of the workers. ``known`` is what it knew before it executed itself anew."""

    def __init__(self, options: argparse.Namespace, known: dict[str, Any]) -> None:
        self.options, self.folder = options, Path(os.environ[METRICS])
        self.sites = [self.taken_over(each) for each in known.get("sites", ())]
        if not options.subscribers and not self.sites:
            self.add_site("", options.port)
        self.generation: int = known.get("generation", 0)
        self.is_loaded = False
        self.failed_loads: int = known.get("failed_loads", 0)
        self.next_load = 0.0
        self.stopped_at: float | None = None
        # Python writes the number of each signal into one pipe, a worker that serves its id into the other.
        self.signals, self.signals_write = os.pipe()
        ready: tuple[int, int] = known.get("ready") or os.pipe()
        self.ready, self.ready_write = ready
        for end in (self.signals, self.signals_write, self.ready):
            os.set_blocking(end, False)

    def taken_over(self, known: dict[str, Any]) -> Site:
        return Site.taken_over(known, self.options.workers, not self.options.no_worker)

    def add_site(self, name: str, port: int, file: str = "") -> None:
        metrics = self.folder / name
        metrics.mkdir(exist_ok=True)
        listener = listen(self.options.host, port)
        self.sites.append(
            Site(listener, str(metrics), self.options.workers, not self.options.no_worker, name, file)
        )

    def run(self) -> None:
        """Keep the workers running until a signal ends them."""
        signal.set_wakeup_fd(self.signals_write)
        for name in SIGNALS:
            signal.signal(name, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # those that came while it executed itself anew
        self.load()
        while self.stopped_at is None or any(site.workers for site in self.sites):
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
            if self.options.subscribers:
                self.find_subscribers()
        except (Exception, SystemExit):
            traceback.print_exc()
            pause = min(FIRST_PAUSE * 2**self.failed_loads, LONGEST_PAUSE)
            self.failed_loads, self.next_load = self.failed_loads + 1, time.monotonic() + pause
        else:
            self.is_loaded, self.failed_loads = True, 0

    def find_subscribers(self) -> None:
        """Serve the subscribers that the folder has now; those whose file or port is gone are stopped."""
        found = read_subscribers(self.options.subscribers)
        for site in self.sites:
            if [site.name, site.port, site.file] not in found:
                site.stop_all(signal.SIGTERM)
        served = [[site.name, site.port, site.file] for site in self.served]
        for name, port, file in found:
            if [name, port, file] not in served:
                self.add_site(name, port, file)

    @property
    def served(self) -> list[Site]:
        """The sites but for those that stop: nobody misses their workers when they end."""
        return [site for site in self.sites if not site.is_stopping]

    def take_notes(self) -> None:
        """Take note of signals, of workers that serve now, and of those that have ended."""
        for number in self.read(self.signals):
            self.handle_signal(number)
        for worker_id in map(int, self.read(self.ready).split()):
            if (site := self.site_of(worker_id)) is not None:
                site.note_ready(worker_id, self.generation)
        self.reap()

    def site_of(self, worker_id: int) -> Site | None:
        return next((site for site in self.sites if worker_id in site.workers), None)

    @property
    def is_changing(self) -> bool:
        """Whether time alone changes what is to be done."""
        return (
            self.stopped_at is not None
            or not self.is_loaded
            or any(site.is_changing(self.generation) for site in self.sites)
        )

    @staticmethod
    def read(pipe: int) -> bytes:
        with contextlib.suppress(BlockingIOError):
            return os.read(pipe, 65536)
        return b""

    def handle_signal(self, number: int) -> None:
        if number in (signal.SIGTERM, signal.SIGINT):
            self.stop_all(signal.SIGTERM if self.stopped_at is None else signal.SIGKILL)
            self.stopped_at = self.stopped_at or time.monotonic()
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
            files = (*(site.listener.fileno() for site in self.served), self.ready, self.ready_write)
            try:
                execute_anew(files, self.known)
            except OSError:
                traceback.print_exc()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    @property
    def known(self) -> dict[str, Any]:
        return {
            "sites": [site.known for site in self.served],
            "ready": (self.ready, self.ready_write),
            "folder": str(self.folder),
            "generation": self.generation,
            "failed_loads": self.failed_loads,
        }

    def stop_all(self, number: int) -> None:
        for site in self.sites:
            site.stop_all(number)

    def start_missing(self) -> None:
        if not self.is_loaded:
            if time.monotonic() >= self.next_load:
                self.execute_anew()
            return
        for site in self.sites:
            if sum(each.is_starting(self.generation) for each in self.sites) < STARTING_AT_ONCE:
                site.start_missing(self.generation, self.start)

    def start(self, site: Site, worker: Worker) -> None:
        # A new worker has the parent's handlers at first, which would swallow what ends it.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        worker_id = os.fork()
        if not worker_id:
            self.become_worker(site, worker.does_tasks)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        site.workers[worker_id] = worker

    def become_worker(self, site: Site, does_tasks: bool) -> NoReturn:
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
            for other in self.sites:
                if other is not site or does_tasks:
                    other.listener.close()
            os.environ[METRICS] = site.metrics
            if site.file:
                be_subscriber(site.file)
            look_for_garbage()
            if does_tasks:
                os.close(self.ready_write)
                do_tasks()
            else:
                serve(site.listener, self.options.threads, self.ready_write, parent=os.getppid())
            status = 0
        except Exception:
            sys.excepthook(*sys.exc_info())
        finally:
            atexit._run_exitfuncs()
            sys.stderr.flush()
            # Not through the frames of the parent; threads that still run end with the process.
            os._exit(status)

    def reap(self) -> None:
        """Take note of the workers that have ended."""
        while any(site.workers for site in self.sites):
            worker_id, status = os.waitpid(-1, os.WNOHANG)
            if not worker_id:
                break
            if (site := self.site_of(worker_id)) is not None:
                site.note_end(worker_id, status)
        if self.stopped_at is None:
            self.sites = [site for site in self.sites if site.workers or not site.is_stopping]


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


def read_subscribers(folder: str) -> list[list[Any]]:
    """Name, port and file of each subscriber, read by a process that ends: their secrets are in no other."""
    from records_site.server.loading import subscribers_of

    reading, writing = os.pipe()
    reader = os.fork()
    if not reader:
        status = 1
        try:
            os.write(writing, json.dumps(subscribers_of(folder)).encode())
            status = 0
        except Exception as error:
            print(f"server: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    os.close(writing)
    with open(reading) as pipe:
        text = pipe.read()
    if os.waitpid(reader, 0)[1]:
        raise RuntimeError(f"the subscribers in {folder} cannot be served")
    found: list[list[Any]] = json.loads(text)
    return found


def be_subscriber(file: str) -> None:
    from records_site.server.loading import be_subscriber, read_settings_again

    be_subscriber(file)
    read_settings_again()


def serve(listener: socket.socket, threads: int, ready: int, parent: int) -> None:
    """What a worker does."""
    from records_site.wsgi import application  # noqa: I001  the site is imported by workers only, settings first
    from records_site.server.worker import Server

    server = Server(application, listener, threads, parent)
    signal.signal(signal.SIGTERM, server.stop)
    os.write(ready, b"%d " % os.getpid())
    server.run_with_read_log()


def do_tasks() -> None:
    """What the worker of background tasks does."""
    from records_site.server.loading import run_command

    os.setsid()  # a terminal's interrupt is the parent's, which sends SIGTERM once
    run_command("worker", "--with-parent", "--skip-checks")


def look_for_garbage() -> None:
    # After 700 new objects, as Python has it, looking for garbage is a third of the time of a large body.
    # What waits for it, up to 15 MiB, is looked for when nothing is served (`Server.tidy`).
    gc.set_threshold(10_000, 10, 10)
    gc.enable()


def be_nobody(folder: str) -> None:
    """Load the site with settings of no subscriber. Each has its own, so that none of these stays."""
    os.environ |= {
        "VAR_DIR": folder,
        "DATABASE_URL": f"sqlite:///{folder}/nobody.sqlite3",
        "SECRET_KEY": secrets.token_urlsafe(50),
        "ALLOWED_HOSTS": "nobody.invalid",
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="records_site.server", description="The production server.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--subscribers", help="a folder with a file NAME.env for each; they name their ports")
    parser.add_argument("--workers", type=int, default=1, help="of each subscriber")
    parser.add_argument("--threads", type=int, default=8, help="of each worker")
    parser.add_argument("--no-worker", action="store_true", help="background tasks are done elsewhere")
    options = parser.parse_args()
    known = take_over()
    os.environ[METRICS] = known.get("folder") or tempfile.mkdtemp(prefix="records-metrics-")
    if options.subscribers:
        os.chmod(os.environ[METRICS], 0o711)  # noqa: S103  folders in it belong to subscribers' accounts
        be_nobody(os.environ[METRICS])
    try:
        Supervisor(options, known).run()
    finally:
        shutil.rmtree(os.environ[METRICS], ignore_errors=True)
