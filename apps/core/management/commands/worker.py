"""Does the background tasks: imports, exports, notices."""

import fcntl
import logging
import os
import shutil
import signal
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import close_old_connections
from django.utils.module_loading import import_string
from django_tasks_db.management.commands import db_worker

from apps.core.task_queue import repeat_unfinished_tasks

PARENT_SECONDS = 1

logger = logging.getLogger(__name__)


class Command(db_worker.Command):
    help = (
        "Does the background tasks: first those that it had begun when it was killed. One worker of a name"
        " works at a time; another waits until it ends. ./run demo and ./run serve start one."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--name", default="worker", help="of a further worker on this machine (default: %(default)s)"
        )
        parser.add_argument(
            "--with-parent", action="store_true", help="end when the parent process has ended"
        )

    def handle(self, *args: object, name: str, with_parent: bool, **options: Any) -> None:
        if not name.isidentifier():
            raise CommandError(f"--name {name}: letters, digits and underscores.")
        if with_parent:
            threading.Thread(target=end_with_parent, args=[os.getppid()], daemon=True).start()
        try:
            lock = (settings.VAR_DIR / f"{name}.lock").open("a+")
        except OSError as error:
            raise CommandError(f"VAR_DIR cannot be written: {error}") from error
        with lock:
            worker_id = take(lock)
            with temporary_files_in(settings.VAR_DIR / f"{name}.files"):
                self.work(worker_id, options)

    def work(self, worker_id: str, options: dict[str, Any]) -> None:
        if repeated := repeat_unfinished_tasks(worker_id):
            self.stdout.write(f"{repeated} unfinished tasks of a worker that ended.")
        if not options["batch"]:
            for path, seconds in settings.PERIODIC_SERVICES.items():
                threading.Thread(target=call_repeatedly, args=[path, seconds], daemon=True).start()
        super().handle(**{**options, "worker_id": worker_id})


def call_repeatedly(path: str, seconds: float) -> None:
    """Call a service again and again, beside the tasks; an error is logged, and does not end it."""
    service = import_string(path)
    while True:
        close_old_connections()
        try:
            service()
        except Exception:
            logger.exception("%s", path)
        time.sleep(seconds)


@contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """Let temporary files be in a folder that begins empty: a killed worker may have left people's files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    usual, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = usual
        shutil.rmtree(folder, ignore_errors=True)


def take(lock: TextIO) -> str:
    """Wait until no other process has the lock; returns the id that is in it, new the first time.

    The id is the same after each restart, in a new container too: so a worker knows what it had begun.
    """
    fcntl.flock(lock, fcntl.LOCK_EX)
    lock.seek(0)
    worker_id = lock.read()
    if not worker_id:
        worker_id = str(uuid.uuid4())
        lock.write(worker_id)
        lock.flush()
    return worker_id


def end_with_parent(parent: int) -> None:
    """Ends this process like its parent would have, were it not killed."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
