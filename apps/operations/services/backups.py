"""Backups: every table and file of one moment, written while the service goes on."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper

from apps.core.database.migrations import Migrations, applied_migrations
from apps.documents.models import Document
from apps.documents.storage import read_file
from apps.operations.backup_files import (
    KEY_FILE,
    BackupWriter,
    FileContent,
    Manifest,
    TableContent,
    compress,
    delete_old_backups,
    document_file,
    new_backup,
    table_file,
)
from apps.operations.tables import (
    ContentSum,
    DatabaseTable,
    OperationError,
    load_tables,
    read_last_number,
    read_rows,
    snapshot,
)

#: The table of documents, and the columns that name and describe their files.
DOCUMENTS = Document._meta.db_table


@dataclass(frozen=True, slots=True)
class Backup:
    """A complete backup."""

    folder: Path
    manifest: Manifest
    deleted: list[Path]


def create_backup(parent: Path, keep: int = 0) -> Backup:
    """Write a backup into a new folder below ``parent``; then delete all but the newest ``keep`` (0: none).

    Raises ``OperationError``, and leaves nothing behind then.
    """
    with snapshot() as connection, new_backup(parent) as (writer, folder):
        migrations = applied_migrations(connection)
        if not migrations:
            raise OperationError("The database has no tables: ./run migrate makes them.")
        tables = load_tables(migrations)
        lock_tables(connection, tables)
        manifest = write_content(writer, connection, migrations, tables)
        writer.finish(manifest)
    deleted = delete_old_backups(parent, keep) if keep else []
    return Backup(folder, manifest, deleted)


def lock_tables(connection: BaseDatabaseWrapper, tables: tuple[DatabaseTable, ...]) -> None:
    """Until the snapshot ends no migration changes a table; whoever writes is not held up."""
    if connection.vendor == "postgresql" and tables:
        names = ", ".join(connection.ops.quote_name(table.name) for table in tables)
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {names} IN ACCESS SHARE MODE")


def write_content(
    writer: BackupWriter,
    connection: BaseDatabaseWrapper,
    migrations: Migrations,
    tables: tuple[DatabaseTable, ...],
) -> Manifest:
    contents = {table.name: write_table(writer, connection, table) for table in tables}
    documents: dict[str, FileContent] = {}
    faults = []
    # A document's file is stored before its row and never changed: it is there, whoever writes meanwhile.
    for key, sha256 in document_files(connection) if DOCUMENTS in contents else ():
        try:
            chunks = read_file(key)
        except FileNotFoundError:
            faults.append(f"document {key}: the file is missing")
            continue
        total = ContentSum()
        writer.write(document_file(key), total.watch(chunks))
        documents[key] = FileContent(total.size, total.sha256)
        if total.sha256 != sha256:
            faults.append(f"document {key}: the file was changed: its SHA-256 differs")
    secret_key = own_secret_key()
    if secret_key:
        writer.write(KEY_FILE, [secret_key.encode()])
    return Manifest(
        created=dt.datetime.now(dt.UTC).replace(microsecond=0),
        engine=connection.vendor,
        migrations=migrations,
        tables=contents,
        documents=documents,
        has_secret_key=bool(secret_key),
        faults=faults,
    )


def write_table(
    writer: BackupWriter, connection: BaseDatabaseWrapper, table: DatabaseTable, below: int | None = None
) -> TableContent:
    total = ContentSum()
    writer.write(table_file(table.name), compress(total.watch(read_rows(connection, table, below))))
    last_number = read_last_number(connection, table) if table.number_column else None
    return TableContent(table.columns, total.rows, total.sha256, last_number)


def document_files(connection: BaseDatabaseWrapper) -> Iterator[tuple[str, str]]:
    """The storage key and SHA-256 of every document."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(f'SELECT storage_key, sha256 FROM "{DOCUMENTS}" ORDER BY storage_key')  # noqa: S608
        while rows := cursor.fetchmany(1_000):
            yield from rows


def own_secret_key() -> str | None:
    """The secret key, where this installation made it (settings ``kept_secret``)."""
    path = settings.VAR_DIR / KEY_FILE
    generated = path.read_text().strip() if path.exists() else ""
    return generated if generated == settings.SECRET_KEY else None
