"""Django's SQLite backend, whose statements end when the time of their request is over.

SQLite has no statement_timeout.
"""

import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.db.backends.sqlite3 import base

#: Steps of SQLite's machine between two looks at the clock: a fraction of a millisecond.
STEPS = 20_000
_DEADLINE: ContextVar[float] = ContextVar("deadline", default=float("inf"))


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Within the block, statements on SQLite end after so many seconds; 0 is no limit."""
    token = _DEADLINE.set(time.monotonic() + seconds if seconds else float("inf"))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: Mapping[str, Any]) -> sqlite3.Connection:
        connection: sqlite3.Connection = super().get_new_connection(conn_params)
        connection.set_progress_handler(lambda: time.monotonic() > _DEADLINE.get(), STEPS)
        return connection
