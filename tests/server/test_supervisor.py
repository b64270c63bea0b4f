"""The parent of the workers: what it does when workers end, on a reload and on a stop."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.server.server_process import free_port, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the workers' ids from /proc")

ROOT = Path(__file__).resolve().parents[2]

#: The server without a site, and with workers that only name themselves. Files break its parts.
PROGRAM = """
import contextlib, os, pathlib, select, signal, time
from records_site.server import sites, supervisor

def there(name):
    return pathlib.Path(os.environ["TMPDIR"], name).exists()

def load_site():
    while there("slow"):
        time.sleep(0.02)
    if there("unloadable"):
        raise RuntimeError("broken")

def do_tasks():
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    while not stopped:
        time.sleep(0.05)

def serve(listener, threads, ready, parent):
    if there("broken"):
        raise RuntimeError("broken")
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    os.write(ready, b"%d " % os.getpid())
    listener.setblocking(False)
    while not stopped:
        select.select([listener], [], [], 0.05)
        with contextlib.suppress(BlockingIOError):
            client, _ = listener.accept()
            client.sendall(b"%d" % os.getpid())
            client.close()

supervisor.serve, supervisor.load_site, supervisor.do_tasks = serve, load_site, do_tasks
sites.TASK_WORKER_PAUSE = 0.1
supervisor.main()
"""


class Parent:
    def __init__(self, folder, *arguments):
        self.broken, self.unloadable = folder / "broken", folder / "unloadable"
        self.slow, self.log = folder / "slow", folder / "log"
        self.port = free_port()
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, "--port", str(self.port), "--workers", "2", *arguments],
                cwd=ROOT,
                env={**os.environ, "TMPDIR": str(folder)},
                stderr=log,
            )

    def worker(self):
        """The id of the worker that answers; None when none does in time."""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 5) as client:
            return int(client.recv(20))

    def workers(self):
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return {int(number) for number in children.split()}

    def serving(self):
        """The ids of both workers, once both answer."""
        seen = set()
        wait_for(lambda: seen.add(self.worker()) or len(seen - {None}) == 2)
        return seen - {None}


@pytest.fixture(params=[["--no-worker"]], ids=["requests"])
def parent(tmp_path, request):
    started = Parent(tmp_path, *request.param)
    yield started
    started.process.terminate()
    assert started.process.wait(60) == 0


with_task_worker = pytest.mark.parametrize("parent", [[]], indirect=True, ids=["tasks"])


def test_a_worker_that_is_killed_five_times_is_replaced_each_time(parent):
    for _ in range(5):
        victim = wait_for(parent.worker)
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: victim not in parent.workers())  # noqa: B023
    wait_for(lambda: len(parent.workers()) == 2)
    assert parent.log.read_text().count("ended (-9)") == 5


def test_workers_that_cannot_start_are_tried_again_after_longer_and_longer_pauses(parent):
    workers = parent.serving()
    parent.broken.touch()
    for worker_id in workers:
        with contextlib.suppress(ProcessLookupError):  # it looked for the file late, and has ended itself
            os.kill(worker_id, signal.SIGKILL)
    wait_for(lambda: parent.log.read_text().count("ended (1)") >= 2)
    time.sleep(1)
    assert parent.log.read_text().count("ended (1)") <= 10  # hundreds without pauses
    parent.broken.unlink()
    assert wait_for(parent.worker)


def test_a_reload_replaces_all_workers(parent):
    before = parent.serving()
    parent.process.send_signal(signal.SIGHUP)
    while before & parent.workers():
        assert parent.worker()
    assert len(parent.workers()) == 2
    assert parent.log.read_text() == ""


def test_a_reload_with_code_that_does_not_load_leaves_the_workers_in_place_until_it_does(parent):
    before = parent.serving()
    parent.unloadable.touch()
    parent.process.send_signal(signal.SIGHUP)
    wait_for(lambda: parent.log.read_text().count("RuntimeError: broken") >= 2)
    assert parent.serving() == before
    parent.unloadable.unlink()
    wait_for(lambda: not before & parent.workers())
    assert parent.worker()


def test_a_reload_with_workers_that_do_not_start_leaves_the_old_ones_in_place(parent):
    before = parent.serving()
    parent.broken.touch()
    parent.process.send_signal(signal.SIGHUP)
    wait_for(lambda: parent.log.read_text().count("ended (1)") >= 2)
    assert before <= parent.workers()
    assert parent.worker() in before


def test_a_server_whose_code_does_not_load_tries_again(parent):
    before = parent.serving()
    parent.unloadable.touch()
    parent.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "RuntimeError: broken" in parent.log.read_text())
    for worker_id in before:
        os.kill(worker_id, signal.SIGKILL)
    wait_for(lambda: not parent.workers())
    parent.unloadable.unlink()
    assert wait_for(parent.worker)


def test_reloads_that_come_while_one_runs_leave_the_right_number_of_workers(parent):
    before = parent.serving()
    for _ in range(5):
        parent.process.send_signal(signal.SIGHUP)
        time.sleep(0.05)
    wait_for(lambda: not before & parent.workers())
    assert len(parent.serving()) == 2
    wait_for(lambda: len(parent.workers()) == 2)
    assert "Traceback" not in parent.log.read_text()


def test_an_interrupt_while_new_code_loads_ends_the_server(parent):
    parent.serving()
    parent.slow.touch()
    parent.process.send_signal(signal.SIGHUP)
    time.sleep(0.5)  # it loads now
    parent.process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    parent.slow.unlink()
    assert parent.process.wait(60) == 0


def test_the_folder_of_metrics_outlives_reloads_and_goes_with_the_server(parent, tmp_path):
    before = parent.serving()
    (folder,) = tmp_path.glob("records-metrics-*")
    parent.process.send_signal(signal.SIGHUP)
    wait_for(lambda: not before & parent.workers())
    assert [*tmp_path.glob("records-metrics-*")] == [folder]
    parent.process.terminate()
    assert parent.process.wait(60) == 0
    assert not folder.exists()


def test_a_second_interrupt_ends_workers_that_do_not_stop(parent):
    workers = parent.serving()
    for worker_id in workers:
        os.kill(worker_id, signal.SIGSTOP)
    parent.process.send_signal(signal.SIGINT)
    time.sleep(1)  # two that come at once are one
    assert parent.process.poll() is None
    parent.process.send_signal(signal.SIGINT)
    assert parent.process.wait(60) == 0


@with_task_worker
def test_the_worker_of_background_tasks_is_replaced_when_it_is_killed_and_on_a_reload(parent):
    def task_worker():
        return next(iter(wait_for(lambda: parent.workers() - serving if len(parent.workers()) == 3 else ())))

    serving = parent.serving()
    first = task_worker()
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: first not in parent.workers())
    second = task_worker()
    parent.process.send_signal(signal.SIGHUP)
    wait_for(lambda: not {*serving, second} & parent.workers())
    serving = parent.serving()
    assert task_worker() not in {first, second}
    assert parent.log.read_text() == f"server: worker {first} ended (-9)\n"
