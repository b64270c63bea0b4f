"""Django's SQLite backend, whose statements end when the time of their request is over.

SQLite has no statement_timeout.
"""

import sqlite3
from collections.abc import Mapping
from typing import Any

from django.db.backends.sqlite3 import base

from apps.odata import clock

#: Steps of SQLite's machine between two looks at the clock: a fraction of a millisecond.
STEPS = 20_000


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: Mapping[str, Any]) -> sqlite3.Connection:
        connection: sqlite3.Connection = super().get_new_connection(conn_params)
        connection.set_progress_handler(clock.is_time_over, STEPS)
        return connection
