"""Restores: the content of a backup, or of another database, loaded into an empty one in one transaction."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, IntegrityError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor

from apps.core.database.migrations import Migrations, applied_migrations, known_migrations
from apps.core.models import Change
from apps.documents.storage import UploadStream, delete_files, document_storage, read_file, sync_to_disk
from apps.operations.backup_files import (
    KEY_FILE,
    BackupReader,
    FileContent,
    Manifest,
    TableContent,
    document_file,
)
from apps.operations.tables import (
    ContentSum,
    DatabaseTable,
    OperationError,
    load_tables,
    read_rows,
    write_last_number,
    write_rows,
)


@dataclass(frozen=True, slots=True)
class Restore:
    """A restored backup. ``has_secret_key``: the service must be started again, to sign with the backup's."""

    folder: Path
    manifest: Manifest
    has_secret_key: bool


def restore_backup(folder: Path, replace: bool = False) -> Restore:
    """Put a backup's tables and documents into the database and the storage.

    Every checksum is compared before the first write, and every table again before the end. Raises
    ``OperationError`` for a backup that is damaged or made by a newer version, and for a database with
    records unless ``replace``; the database is as it was then.
    """
    reader = BackupReader(folder)
    if faults := reader.find_damaged_files():
        raise OperationError("\n".join([*faults, "The backup is damaged; nothing was restored."]))
    manifest = reader.read_manifest()
    if not replace and holds_records(connections[DEFAULT_DB_ALIAS]):
        raise OperationError(
            "The database holds records already, and nothing was written. --replace deletes them first."
        )
    new_files: list[str] = []
    try:
        with loaded_database(DEFAULT_DB_ALIAS, manifest.migrations, manifest.tables, reader.read_table):
            # Before the rows that name them are committed, as in an upload.
            for key, content in manifest.documents.items():
                if not document_storage().exists(key):
                    new_files.append(key)
                restore_document(key, content, reader.read(document_file(key)))
    except BaseException:
        delete_files(new_files)
        raise
    has_secret_key = manifest.has_secret_key and not os.environ.get("SECRET_KEY")
    if has_secret_key:
        restore_secret_key(b"".join(reader.read(KEY_FILE)))
    return Restore(reader.folder, manifest, has_secret_key)


def restore_document(key: str, content: FileContent, chunks: Iterable[bytes]) -> None:
    """Put the file of a document into the storage, unless it is there already."""
    storage = document_storage()
    if storage.exists(key):
        if ContentSum.of(read_file(key)).sha256 == content.sha256:
            return
        storage.delete(key)
    stream: Any = UploadStream(chunks, limit=content.size)
    storage.save(key, stream)
    if stream.hash.hexdigest() != content.sha256:
        raise OperationError(f"The file of document {key} is not the one that was written to the backup.")


def restore_secret_key(key: bytes) -> None:
    path = settings.VAR_DIR / KEY_FILE
    temporary = path.with_name(f"{KEY_FILE}.restored")
    temporary.unlink(missing_ok=True)
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(key)
    sync_to_disk(temporary)
    temporary.replace(path)


# --- the database ---------------------------------------------------------------------------------------


@contextmanager
def loaded_database(
    alias: str,
    migrations: Migrations,
    contents: Mapping[str, TableContent],
    read_table: Callable[[str], Iterator[bytes]],
) -> Iterator[None]:
    """Load tables into a database and compare them; the block runs in the same transaction, before its end.

    What the database holds is deleted. The schema is made as the content's migrations left it, and brought
    up to date after. Raises ``OperationError``.
    """
    connection = connections[alias]
    tables = load_tables(migrations)
    if missing := {table.name for table in tables} ^ contents.keys():
        raise OperationError(f"The tables are not those of its migrations: {', '.join(sorted(missing))}.")
    # SQLite changes tables only without checks of references, and says so only outside of a transaction.
    connection.disable_constraint_checking()
    try:
        with transaction.atomic(using=alias):
            prepare_schema(connection, migrations, tables)
            set_reference_checks(connection, "DEFERRED")
            for table in tables:
                content = contents[table.name]
                write_rows(connection, table, read_table(table.name))
                if content.last_number is not None:
                    write_last_number(connection, table, content.last_number)
            check_tables(connection, tables, contents)
            check_references(connection)
            if tuple(sorted(migrations)) != known_migrations():
                call_command("migrate", database=alias, verbosity=0)
            yield
    finally:
        connection.enable_constraint_checking()


def prepare_schema(
    connection: BaseDatabaseWrapper, migrations: Migrations, tables: tuple[DatabaseTable, ...]
) -> None:
    """Leave empty tables, as these migrations make them."""
    existing = applied_migrations(connection)
    if existing != tuple(sorted(migrations)):
        if existing:
            names = [*(table.name for table in load_tables(existing)), "django_migrations"]
            remove_from(connection, names, "DROP TABLE", "DROP TABLE")
        # A table with a check that still waits cannot be changed by the next migration.
        set_reference_checks(connection, "IMMEDIATE")
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes(), clean_start=True)
        wanted = set(migrations)
        executor.migrate(None, [step for step in plan if (step[0].app_label, step[0].name) in wanted])
    # Migrations write rows, which the content has as well.
    remove_from(connection, [table.name for table in tables], "TRUNCATE", "DELETE FROM")


def remove_from(
    connection: BaseDatabaseWrapper, names: list[str], postgresql_action: str, sqlite_action: str
) -> None:
    """PostgreSQL takes tables that refer to each other in one statement only, which SQLite does not have."""
    tables = [connection.ops.quote_name(name) for name in names]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"{postgresql_action} {', '.join(tables)}")
        else:
            for table in tables:
                cursor.execute(f"{sqlite_action} {table}")


def check_tables(
    connection: BaseDatabaseWrapper, tables: tuple[DatabaseTable, ...], contents: Mapping[str, TableContent]
) -> None:
    """Raises ``OperationError`` when a table is not what was to be loaded."""
    for table in tables:
        total, expected = ContentSum.of(read_rows(connection, table)), contents[table.name]
        if (total.rows, total.sha256) != (expected.rows, expected.sha256):
            raise OperationError(
                f"{table.name}: {total.rows:,} rows with SHA-256 {total.sha256} were loaded instead of"
                f" {expected.rows:,} rows with {expected.sha256}. Nothing was restored."
            )


def check_references(connection: BaseDatabaseWrapper) -> None:
    """Raises ``OperationError`` when a row refers to one that is missing."""
    try:
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                # Planned for empty tables, the checks would take a hundred times longer.
                cursor.execute("ANALYZE")
            set_reference_checks(connection, "IMMEDIATE")
        else:
            connection.check_constraints()
    except IntegrityError as error:
        raise OperationError(
            f"A row refers to one that is missing: {error}. Nothing was restored."
        ) from error


def set_reference_checks(connection: BaseDatabaseWrapper, moment: str) -> None:
    """When PostgreSQL checks references: ``DEFERRED`` to the end, or ``IMMEDIATE``, those that wait too."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SET CONSTRAINTS ALL {moment}")


def holds_records(connection: BaseDatabaseWrapper) -> bool:
    """True when anybody wrote to the database; what migrations write has no history."""
    existing = connection.introspection.table_names()
    with connection.cursor() as cursor:
        for table in (Change._meta.db_table, apps.get_model(settings.AUTH_USER_MODEL)._meta.db_table):
            if table in existing:
                cursor.execute(f'SELECT EXISTS (SELECT 1 FROM "{table}")')  # noqa: S608  our own names
                if cursor.fetchone()[0]:
                    return True
    return False
