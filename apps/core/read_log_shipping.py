"""Entries of the read log, sent to syslog or a file as they are written: a line of JSON each.

They are in the database then, and a receiver that is slow or down keeps nobody waiting: a thread of its own
sends them. What it cannot send is missing there, which the chain of hashes shows (``core.read_log_chain``).
"""

import atexit
import logging
import os
import time
from collections.abc import Iterable
from functools import cache
from logging.handlers import QueueHandler, QueueListener, SysLogHandler, WatchedFileHandler
from queue import Queue
from typing import Any, cast
from urllib.parse import urlsplit

from django.conf import settings

logger = logging.getLogger(__name__)

#: Lines that wait for the receiver; later ones are not sent.
MAX_WAITING = 10_000
#: So long a process that ends waits for the receiver.
FLUSH_SECONDS = 2.0
#: A receiver that stays away is told of once in so many seconds.
SILENT_SECONDS = 60.0


class Receiver(logging.Handler):
    """Sends lines to where ``READ_LOG_TO`` says, to which it connects with the first that gets through."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address
        self.target: logging.Handler | None = None
        self.reported_at = -SILENT_SECONDS

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self.target is None:
                self.target = make_target(self.address)
                self.target.handleError = self.handleError  # type: ignore[method-assign]
            self.target.emit(record)
        except OSError:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:
        if time.monotonic() - self.reported_at >= SILENT_SECONDS:
            self.reported_at = time.monotonic()
            logger.exception("entries of the read log do not reach %s; the database has them", self.address)


class Outbox(QueueHandler):
    """Hands lines over to the thread that sends them."""

    def handleError(self, record: logging.LogRecord) -> None:
        logger.warning("an entry of the read log is not sent: %d others wait", MAX_WAITING)


def make_target(address: str) -> logging.Handler:
    """``syslog://host:514`` (UDP), ``syslog:/dev/log`` or ``file:/var/log/reads.jsonl``."""
    parts = urlsplit(address)
    if parts.scheme == "file":
        os.close(os.open(parts.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        return WatchedFileHandler(parts.path, encoding="utf-8")
    place: Any = (parts.hostname, parts.port or 514) if parts.hostname else parts.path
    target = SysLogHandler(place, facility=SysLogHandler.LOG_AUTHPRIV)
    target.ident, target.append_nul = "records-reads: ", False
    return target


@cache
def outbox() -> Outbox:
    """The outbox of this process, with its thread."""
    lines: Queue[object] = Queue(MAX_WAITING)
    # A daemon's thread: a receiver that hangs does not keep the process from ending.
    QueueListener(lines, Receiver(settings.READ_LOG_TO)).start()
    atexit.register(flush)
    return Outbox(lines)


def ship(lines: Iterable[str]) -> None:
    """Send the lines soon, where the setting says so."""
    if settings.READ_LOG_TO:
        for line in lines:
            outbox().handle(logging.LogRecord("reads", logging.INFO, "", 0, line, None, None))


def flush() -> None:
    """Wait a little until all lines are sent."""
    if not settings.READ_LOG_TO:
        return
    end, lines = time.monotonic() + FLUSH_SECONDS, cast("Queue[Any]", outbox().queue)
    while lines.unfinished_tasks and time.monotonic() < end:
        time.sleep(0.02)
