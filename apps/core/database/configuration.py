"""Django's configuration of a database, from its address."""

from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

SCHEMES = ("sqlite", "postgres", "postgresql")
NO_ADDRESS = (
    "That is not the address of a database: sqlite:///path and postgres://user:password@host:5432/name are."
    " In a password / is written as %2F, ? as %3F, # as %23, % as %25."
)


def read_database_url(
    url: str, statement_seconds: float, lock_seconds: float, idle_seconds: float
) -> dict[str, object]:
    """The entry of ``DATABASES`` for a database on one of our backends; 0 seconds are no limit.

    ``ImproperlyConfigured`` for the address of anything else.
    """
    scheme, _, rest = url.partition("://")
    # What stands behind two slashes is a host: SQLite would have a database in memory, gone with its process.
    if scheme not in SCHEMES or (scheme == "sqlite" and not rest.startswith("/")):
        raise ImproperlyConfigured(NO_ADDRESS)
    try:
        database: dict[str, Any] = environ.Env.db_url_config(url)
    except ValueError:  # whose text may have a part of the password
        raise ImproperlyConfigured(NO_ADDRESS) from None
    if database["NAME"] in ("", ":memory:"):
        raise ImproperlyConfigured(NO_ADDRESS)
    database["ATOMIC_REQUESTS"] = False
    if database["ENGINE"].endswith("sqlite3"):
        database["ENGINE"] = "apps.core.database.sqlite"
        # pytest-django gives each of its workers a database in memory under the name of Django's engine only.
        database["TEST"] = {"NAME": ":memory:"}
        database["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
            "PRAGMA busy_timeout=20000;",
        }
        return database
    database["ENGINE"] = "apps.core.database.postgresql"
    database["OPTIONS"] = {
        "connect_timeout": 2,
        "options": f"-c statement_timeout={statement_seconds * 1000:.0f}"
        f" -c lock_timeout={lock_seconds * 1000:.0f}"
        f" -c idle_in_transaction_session_timeout={idle_seconds * 1000:.0f}"
        # Of prepared statements, which find few records by their keys: else most are planned each time again.
        " -c plan_cache_mode=force_generic_plan"
        # Compiling the statement of a page of many columns takes a second each time, running it a tenth.
        " -c jit=off"
        # PostgreSQL's 4 is of disks that turn. With it all of 500,000 claims are read to count those of five
        # of 300 account managers: 150 ms, and 17 by their participants. Sums of all by status: 132, and 61.
        " -c random_page_cost=1.1",
        **database.get("OPTIONS", {}),
    }
    database["CONN_HEALTH_CHECKS"] = True
    database["TIME_ZONE"] = "Australia/Sydney"  # until the subscriber's zone is read (base.clock)
    return database
