"""Writes in one transaction, tried again when another writer got in the way."""

import sqlite3
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import DatabaseError, IntegrityError, OperationalError, connection, transaction

from apps.base.errors import Conflict, InvalidRecords

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")

#: How often a write is tried that other writers get in the way of.
ATTEMPTS = 3

UNIQUE_OR_REFERENCE = frozenset({"23503", "23505", "23P01"})
SERIALIZATION_DEADLOCK_OR_LOCK = frozenset({"40001", "40P01", "55P03"})


def retry_on_conflict(write: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let a function write in one transaction, and again when another writer got in the way.

    The next attempt finds the other writer's record, so that the ``Conflict`` names the field; or it finds
    nothing any more, and the write succeeds.
    """

    @wraps(write)
    def write_in_transaction(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        lost: DatabaseError | None = None
        for _ in range(ATTEMPTS):
            try:
                # A transaction of our own checks its foreign keys when it commits.
                nested = connection.in_atomic_block
                with transaction.atomic():
                    written = write(*arguments, **options)
                    if nested:
                        check_constraints()
                return written
            except InvalidRecords as refused:
                if lost is None:
                    raise
                raise Conflict("Another writer was first.", details=refused.details) from lost
            except (IntegrityError, OperationalError) as error:
                if not is_lost_race(error):
                    raise
                lost = error
        raise Conflict("Others write the same records now; send the request again.") from lost

    return write_in_transaction


def check_constraints() -> None:
    """Check foreign keys now, not at commit. SQLite checks them when the outermost ``atomic`` is left."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")


def is_lost_race(error: DatabaseError) -> bool:
    """True when another writer is to blame, not the statement."""
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return cause.sqlite_errorname in (
            "SQLITE_CONSTRAINT_UNIQUE",
            "SQLITE_CONSTRAINT_PRIMARYKEY",
            "SQLITE_CONSTRAINT_FOREIGNKEY",
        )
    state = getattr(cause, "sqlstate", None)
    return state in UNIQUE_OR_REFERENCE or state in SERIALIZATION_DEADLOCK_OR_LOCK
