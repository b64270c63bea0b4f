"""Many subscribers on one installation: each has a process and a database of its own, told by a file.

A folder has a file ``NAME.env`` for each, as systemd reads it (``NAME=value`` lines). What they must not
share is checked before anything is migrated or routed.
"""

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connections

from apps.core.database.configuration import read_database_url
from apps.core.database.migrations import applied_migrations, known_migrations
from apps.operations.tables import OperationError

#: What every subscriber has for itself, and no two share.
OWN_SETTINGS = ("DATABASE_URL", "VAR_DIR", "SECRET_KEY", "PORT", "ALLOWED_HOSTS")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_LINE = re.compile(r"(?:export\s+)?([A-Z][A-Z0-9_]*)=(.*)")


@dataclass(frozen=True)
class SubscriberFile:
    """The settings of one subscriber: its environment variables."""

    name: str
    settings: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> "SubscriberFile":
        lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
        matches = (_LINE.fullmatch(line) for line in lines if not line.startswith(("#", ";")))
        return cls(path.stem, {match[1]: match[2].strip().strip("\"'") for match in matches if match})

    @property
    def hosts(self) -> list[str]:
        """The host names that are led to it; the machine's own names lead to every subscriber."""
        hosts = (host.strip().lower() for host in self.settings.get("ALLOWED_HOSTS", "").split(","))
        return [host for host in hosts if host not in ("", "localhost", "127.0.0.1", "[::1]")]

    def own(self, setting: str) -> list[str]:
        return self.hosts if setting == "ALLOWED_HOSTS" else list(filter(None, [self.settings.get(setting)]))


def read_subscribers(folder: Path) -> list[SubscriberFile]:
    """The subscribers of a folder, by name. ``OperationError`` names what is missing or shared."""
    files = sorted(folder.glob("*.env"))
    if not files:
        raise OperationError(f"{folder} has no file NAME.env.")
    subscribers = [SubscriberFile.read(path) for path in files]
    if faults := [*faults_of(subscribers)]:
        raise OperationError("\n".join(faults))
    return subscribers


def faults_of(subscribers: Sequence[SubscriberFile]) -> Iterator[str]:
    for subscriber in subscribers:
        if not _NAME.fullmatch(subscriber.name):
            yield f"{subscriber.name}.env: the name has small letters, digits and hyphens only."
    for setting in OWN_SETTINGS:
        owner: dict[str, str] = {}
        for subscriber in subscribers:
            values = subscriber.own(setting)
            if not values:
                yield f"{subscriber.name}.env has no {setting}."
            for value in values:
                if other := owner.get(value):
                    # The value may be a secret.
                    yield f"{subscriber.name}.env and {other}.env have the same {setting}."
                owner[value] = subscriber.name


# --- migrations -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Migrated:
    """The result for a subscriber's database; without a reason it is up to date."""

    name: str
    reason: str = ""


def migrate_subscribers(subscribers: Sequence[SubscriberFile], parallel: int) -> Iterator[Migrated]:
    """Migrate the database of each, so many at a time; each as it is done, whether it worked or not.

    Processes are forked from this one, which has read the site's code already: that takes longer than most
    migrations.
    """
    connections.close_all()  # a connection must not be used by two processes
    with ProcessPoolExecutor(parallel, mp_context=get_context("fork")) as processes:
        jobs = [
            processes.submit(migrate, subscriber.name, subscriber.settings["DATABASE_URL"])
            for subscriber in subscribers
        ]
        for job in as_completed(jobs):
            yield job.result()


def migrate(name: str, url: str) -> Migrated:
    """Migrate one database in a process that does nothing else."""
    connections.close_all()
    try:
        database = read_database_url(url, 0, settings.DATABASE_LOCK_SECONDS, 0)
        connections.databases[DEFAULT_DB_ALIAS] = connections.configure_settings(
            {DEFAULT_DB_ALIAS: database}
        )[DEFAULT_DB_ALIAS]
        connections[DEFAULT_DB_ALIAS] = connections.create_connection(DEFAULT_DB_ALIAS)
        if set(known_migrations()) - set(applied_migrations(connections[DEFAULT_DB_ALIAS])):
            call_command("migrate", verbosity=0, interactive=False)
    except Exception as error:  # one that fails must not keep the others from theirs
        return Migrated(name, f"{type(error).__name__}: {error}".splitlines()[0])
    finally:
        connections.close_all()
    return Migrated(name)


# --- routes ---------------------------------------------------------------------------------------------


def haproxy_backends(subscribers: Sequence[SubscriberFile]) -> str:
    """HAProxy's backends, one for each subscriber, named after it."""
    return "".join(
        f"backend {subscriber.name}\n"
        f"    option httpchk GET /readyz\n"
        f"    http-check send hdr Host {subscriber.hosts[0]}\n"
        f"    server one 127.0.0.1:{subscriber.settings['PORT']} check inter 5s fall 2 rise 1 maxconn 200\n\n"
        for subscriber in subscribers
    )


def haproxy_hosts(subscribers: Sequence[SubscriberFile]) -> str:
    """The lines of HAProxy's map from a host name to a backend."""
    return "".join(f"{host} {subscriber.name}\n" for subscriber in subscribers for host in subscriber.hosts)
