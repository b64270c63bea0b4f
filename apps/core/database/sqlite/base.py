"""Django's SQLite backend, whose statements end when the time of their request is over.

SQLite has no statement_timeout, and no regexp_replace.
"""

import re
import sqlite3
from collections.abc import Mapping

from django.db.backends.sqlite3 import base

from apps.base import clock

#: Steps of SQLite's machine between two looks at the clock: a fraction of a millisecond.
STEPS = 20_000


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: Mapping[str, object]) -> sqlite3.Connection:
        connection: sqlite3.Connection = super().get_new_connection(conn_params)
        connection.set_progress_handler(clock.is_time_over, STEPS)
        connection.create_function("regexp_replace", 4, regexp_replace, deterministic=True)
        return connection


def regexp_replace(text: str | None, pattern: str, replacement: str, flags: str) -> str | None:
    """PostgreSQL's function of this name, with the flag ``g`` or none."""
    return None if text is None else re.sub(pattern, replacement, text, count="g" not in flags)
