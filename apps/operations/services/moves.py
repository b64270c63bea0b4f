"""The move of all records into another database, which may be of the other engine."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connections

from apps.core.database.configuration import read_database_url
from apps.core.database.migrations import applied_migrations
from apps.operations.backup_files import TableContent
from apps.operations.services.restores import holds_records, loaded_database
from apps.operations.tables import (
    ContentSum,
    OperationError,
    load_tables,
    read_last_number,
    read_rows,
    snapshot,
)

TARGET = "target"


def move_database(url: str) -> dict[str, TableContent]:
    """Copy every table of the database into an empty one; the content of both, by table.

    Documents stay in their storage. Raises ``OperationError`` when the target holds records, and when the
    database was written meanwhile; the target is as it was then.
    """
    with target_database(url) as alias, snapshot() as source:
        if holds_records(connections[alias]):
            raise OperationError(
                "The target holds records already, and nothing was written. Name an empty database."
            )
        migrations = applied_migrations(source)
        if not migrations:
            raise OperationError("The database has no tables: ./run migrate makes them.")
        tables = {table.name: table for table in load_tables(migrations)}
        contents = {}
        for table in tables.values():
            total = ContentSum.of(read_rows(source, table))
            last_number = read_last_number(source, table) if table.number_column else None
            contents[table.name] = TableContent(table.columns, total.rows, total.sha256, last_number)
        with (
            loaded_database(alias, migrations, contents, lambda name: read_rows(source, tables[name])),
            snapshot() as later,
        ):
            # Every change has a number: that of its entry in the history.
            numbered = [table for table in tables.values() if table.number_column]
            if any(read_last_number(later, each) != contents[each.name].last_number for each in numbered):
                raise OperationError("The database was written meanwhile: stop the service, and move again.")
    return contents


@contextmanager
def target_database(url: str) -> Iterator[str]:
    """The alias of another database within the block. Raises ``OperationError`` for a bad address."""
    try:
        target = read_database_url(url, 0, settings.DATABASE_LOCK_SECONDS, 0)
    except ImproperlyConfigured as error:
        raise OperationError(str(error)) from None
    source = connections[DEFAULT_DB_ALIAS].settings_dict
    if all(target.get(name, "") == source[name] for name in ("HOST", "PORT", "NAME")):
        raise OperationError("The target is the database that the service uses already.")
    # Migrations find the connection by its alias.
    connections.databases[TARGET] = connections.configure_settings({DEFAULT_DB_ALIAS: target})[
        DEFAULT_DB_ALIAS
    ]
    try:
        yield TARGET
    finally:
        connections[TARGET].close()
        del connections[TARGET], connections.databases[TARGET]
