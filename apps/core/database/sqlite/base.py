"""Django's SQLite backend, whose statements end when the time of their request is over.

SQLite has no statement_timeout, and no regexp_replace.
"""

import os
import re
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from django.db.backends.sqlite3 import base

from apps.base import clock

#: Steps of SQLite's machine between two looks at the clock: a fraction of a millisecond.
STEPS = 20_000


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: Mapping[str, object]) -> sqlite3.Connection:
        make_private_file(conn_params["database"])
        connection: sqlite3.Connection = super().get_new_connection(conn_params)
        connection.set_progress_handler(clock.is_time_over, STEPS)
        connection.create_function("regexp_replace", 4, regexp_replace, deterministic=True)
        return connection


def make_private_file(name: object) -> None:
    """Make the file of a new database for its owner alone; its journals have the mode of the file.

    SQLite makes it for everybody to read, under most accounts, with the secrets that it holds.
    """
    if not isinstance(name, str | Path) or str(name).startswith(("file:", ":memory:")):
        return
    with suppress(OSError):  # SQLite says better what is wrong with the folder
        os.close(os.open(name, os.O_CREAT | os.O_EXCL, 0o600))


def regexp_replace(text: str | None, pattern: str, replacement: str, flags: str) -> str | None:
    """PostgreSQL's function of this name, with the flag ``g`` or none."""
    return None if text is None else re.sub(pattern, replacement, text, count="g" not in flags)
