"""The database that lists and exports are read from: a replica, or the primary."""

import time

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections

#: The alias of the replica in ``DATABASES``, where there is one.
REPLICA = "replica"
#: Seconds between two questions to a replica that is behind.
INTERVAL_SECONDS = 0.005


def database_for_lists() -> str:
    """The alias of the database that a list is read from now.

    It is the replica once that has replayed all that was committed when the request came, so that callers
    find what they stored. It is the primary while the replica is further behind than
    DATABASE_REPLICA_SECONDS, when it does not answer, and within a transaction.
    """
    if REPLICA not in settings.DATABASES:
        return DEFAULT_DB_ALIAS
    primary = connections[DEFAULT_DB_ALIAS]
    if primary.in_atomic_block:
        return DEFAULT_DB_ALIAS
    with primary.cursor() as cursor:
        # Not what is written of the log: without synchronous_commit, a commit is seen before it is.
        cursor.execute("SELECT pg_current_wal_insert_lsn()")
        (position,) = cursor.fetchone()
    try:
        return REPLICA if has_replayed(position) else DEFAULT_DB_ALIAS
    except OperationalError:
        return DEFAULT_DB_ALIAS


def has_replayed(position: str) -> bool:
    """True when the replica has the primary's log up to a position, within the time that is waited for it.

    A server that is no replica never has.
    """
    until = time.monotonic() + settings.DATABASE_REPLICA_SECONDS
    with connections[REPLICA].cursor() as cursor:
        while True:
            cursor.execute(
                "SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= %s::pg_lsn", [position]
            )
            if cursor.fetchone()[0]:
                return True
            if time.monotonic() >= until:
                return False
            time.sleep(INTERVAL_SECONDS)
