"""Statements that a connection to PostgreSQL parses and plans once, and then executes by name.

Planning is most of what PostgreSQL does for a statement on few records. ``PREPARE`` and ``EXECUTE`` are SQL,
so that several statements go in one trip, which the driver's own prepared statements do not.
"""

from functools import lru_cache
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

#: A connection keeps the plans of so many statements; others are planned each time, as usual.
MAX_STATEMENTS = 200
#: The longest identifier of PostgreSQL.
MAX_NAME = 63

_numbers = count(1)
#: The names of the statements that each connection of the driver has prepared.
_names: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()


def by_name(connection: Any, label: str, sql: str) -> str:
    """``EXECUTE`` of a statement with the same parameters, for which ``sql`` has placeholders and no values.

    ``label`` is the name in logs. The statement itself where it cannot be prepared: on SQLite, and behind a
    pooler that gives each transaction another connection, for which server-side cursors are disabled too.
    """
    if connection.vendor != "postgresql" or connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"):
        return sql
    connection.ensure_connection()
    names = _names.setdefault(connection.connection, set())
    name, call, definition = texts_of(label, sql)
    if name not in names:
        if len(names) >= MAX_STATEMENTS:
            return sql
        with connection.wrap_database_errors:
            connection.connection.execute(definition)
        names.add(name)
    return call


@lru_cache(maxsize=2 * MAX_STATEMENTS)
def texts_of(label: str, sql: str) -> tuple[str, str, str]:
    """The name of a statement, its EXECUTE and its PREPARE."""
    number = next(_numbers)
    name = f"{label[: MAX_NAME - 10]} {number}"
    places = sql.replace("%%", "").count("%s")
    arguments = f"({', '.join(['%s'] * places)})" if places else ""
    body = sql % tuple(f"${place}" for place in range(1, places + 1))
    return name, f'EXECUTE "{name}"{arguments}', f'PREPARE "{name}" AS {body}'
