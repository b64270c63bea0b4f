"""The migrations of the code, and those that a database has."""

from functools import cache

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

#: Each the label of its app, and its name.
Migrations = tuple[tuple[str, str], ...]


@cache
def code_migrations() -> MigrationLoader:
    """The migrations of the code, read from the disk once, without a look at a database."""
    return MigrationLoader(None)


def known_migrations() -> Migrations:
    return tuple(sorted(code_migrations().graph.nodes))


def applied_migrations(connection: BaseDatabaseWrapper) -> Migrations:
    """The migrations that a database has, as far as the code knows them."""
    applied = MigrationRecorder(connection).applied_migrations()
    return tuple(each for each in known_migrations() if each in applied)
