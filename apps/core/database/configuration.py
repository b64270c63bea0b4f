"""Django's configuration of a database, from its address."""

from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

SCHEMES = ("sqlite", "postgres", "postgresql")
NO_ADDRESS = (
    "That is not the address of a database: sqlite:///path and postgres://user:password@host/name are."
)


def read_database_url(
    url: str, statement_seconds: float, lock_seconds: float, idle_seconds: float
) -> dict[str, object]:
    """The entry of ``DATABASES`` for a database on one of our backends; 0 seconds are no limit.

    ``ImproperlyConfigured`` for the address of anything else.
    """
    if urlsplit(url).scheme not in SCHEMES:
        raise ImproperlyConfigured(NO_ADDRESS)
    database: dict[str, Any] = environ.Env.db_url_config(url)
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
        # of 300 account managers: 150 ms, and 17 by their participants.
        " -c random_page_cost=1.1",
        **database.get("OPTIONS", {}),
    }
    database["CONN_HEALTH_CHECKS"] = True
    database["TIME_ZONE"] = "Australia/Sydney"  # until the subscriber's zone is read (base.clock)
    return database
