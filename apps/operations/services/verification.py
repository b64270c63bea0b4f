"""Looks for damage: in a backup, or in the database and the documents of this installation."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

from django.db import Error, connection, transaction

from apps.core import read_log_chain
from apps.core.database.migrations import applied_migrations
from apps.documents.models import Document
from apps.documents.services import sweep
from apps.documents.storage import read_file
from apps.funding.services.answer_faults import find_answer_faults
from apps.funding.services.claim_sums import find_claim_sum_faults
from apps.funding.services.effects import recount_budgets
from apps.funding.services.invariants import find_claim_file_faults, find_money_faults
from apps.operations.backup_files import BackupReader, document_file
from apps.operations.tables import ContentSum, DatabaseTable, OperationError, load_tables, read_rows, snapshot
from apps.payments.services.invariants import find_payment_faults

# --- a backup -------------------------------------------------------------------------------------------


def verify_backup(folder: Path) -> tuple[Path, list[str]]:
    """The backup that was looked at, and what is wrong with it, a line for each fault."""
    reader = BackupReader(folder)
    return reader.folder, reader.find_damaged_files() or list(find_wrong_contents(reader))


def find_wrong_contents(reader: BackupReader) -> Iterator[str]:
    """Files that can be read but do not hold what the manifest says."""
    try:
        manifest = reader.read_manifest()
    except OperationError as error:
        yield f"manifest: {error}"
        return
    for name, table in manifest.tables.items():
        try:
            total = ContentSum.of(reader.read_table(name))
        except OperationError as error:
            yield f"table {name}: {error}"
            continue
        if (total.rows, total.sha256) != (table.rows, table.sha256):
            yield f"table {name}: its rows are not those of the manifest"
    for key, content in manifest.documents.items():
        try:
            total = ContentSum.of(reader.read(document_file(key)))
        except OperationError as error:
            yield f"document {key}: {error}"
            continue
        if total.sha256 != content.sha256:
            yield f"document {key}: its content is not that of the manifest"


# --- the installation -----------------------------------------------------------------------------------


def verify_installation() -> list[str]:
    """The faults of this installation's database and documents, a line for each."""
    return [
        *find_damaged_tables(),
        *find_damaged_documents(),
        *find_wrong_budgets(),
        *find_broken_read_log(),
        *find_wrong_money(),
        *find_wrong_payments(),
    ]


def find_damaged_tables() -> Iterator[str]:
    if connection.vendor == "sqlite":
        yield from find_damaged_pages()
    elif has_amcheck():
        yield from find_damaged_indexes()
    for table in load_tables(applied_migrations(connection)):
        if error := reading_error(table):
            yield f"table {table.name}: {error}"


def reading_error(table: DatabaseTable) -> str | None:
    """Why some row of a table cannot be read; ``None`` when all can."""
    try:
        with snapshot() as source:
            ContentSum.of(read_rows(source, table))
    except (Error, ValueError) as error:  # a value that no column of its kind can hold
        return f"cannot be read: {error}".strip()
    return None


def find_damaged_pages() -> Iterator[str]:
    """Pages, indexes and references of SQLite."""
    with connection.cursor() as cursor:
        try:
            cursor.execute("PRAGMA integrity_check")
            yield from (f"database: {line}" for (line,) in cursor.fetchall() if line != "ok")
            cursor.execute("PRAGMA foreign_key_check")
            for table, row, parent, _ in cursor.fetchall():
                yield f"table {table}: row {row} refers to a row of {parent} that is missing"
        except Error as error:
            yield f"database: {error}"


def has_amcheck() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'amcheck') AND"
            " COALESCE((SELECT has_function_privilege(oid, 'EXECUTE') FROM pg_proc"
            " WHERE proname = 'verify_heapam' LIMIT 1), FALSE)"
        )
        return bool(cursor.fetchone()[0])


def find_damaged_indexes() -> Iterator[str]:
    """The damage that PostgreSQL's extension amcheck finds, where an administrator has created it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relation.oid::regclass::text, kind.amname FROM pg_class relation"
            " JOIN pg_am kind ON kind.oid = relation.relam"
            " WHERE relation.relnamespace = current_schema()::regnamespace AND relation.relkind IN ('r', 'i')"
            " AND relation.relpersistence = 'p' AND kind.amname IN ('heap', 'btree') ORDER BY 1"
        )
        for name, kind in cursor.fetchall():
            try:
                if kind == "heap":
                    cursor.execute("SELECT blkno, msg FROM verify_heapam(%s)", [name])
                    yield from (f"table {name}: page {page}: {text}" for page, text in cursor.fetchall())
                else:
                    cursor.execute("SELECT bt_index_check(%s::regclass, TRUE)", [name])
            except Error as error:
                yield f"{'table' if kind == 'heap' else 'index'} {name}: {error}".strip()


def find_damaged_documents() -> Iterator[str]:
    """Documents whose file is missing, cannot be read, or has other bytes than were uploaded."""
    columns = Document.objects.order_by("storage_key").values_list("storage_key", "sha256")
    for key, sha256 in columns.iterator():
        try:
            total = ContentSum.of(read_file(key))
        except FileNotFoundError:
            yield f"document {key}: the file is missing"
        except Exception as error:  # whatever the client of the storage raises
            yield f"document {key}: the file cannot be read: {error}"
        else:
            if total.sha256 != sha256:
                yield f"document {key}: the file was changed: its SHA-256 differs"


def find_wrong_budgets() -> Iterator[str]:
    try:
        with transaction.atomic():
            found = recount_budgets()
            transaction.set_rollback(True)
    except Error as error:
        yield f"budgets: {error}"
        return
    if any(found):
        yield (
            f"budgets: {found} do not agree with their claims and invoices: ./run recount_budgets puts them"
            " right"
        )


def find_wrong_money() -> Iterator[str]:
    """Claims and invoices with more paid than they come to, or other sums than their entries or files say."""
    try:
        yield from find_money_faults()
        yield from find_claim_sum_faults()
        yield from find_answer_faults()
        yield from find_claim_file_faults()
    except Error as error:
        yield f"claims and invoices: {error}"


def find_wrong_payments() -> Iterator[str]:
    """Payment runs whose sums differ, bank files that were changed, claims paid out more than paid."""
    try:
        yield from find_payment_faults()
    except Error as error:
        yield f"payment runs: {error}"


def find_broken_read_log() -> Iterator[str]:
    """The first entry of the read log that was changed, added or follows one that was removed."""
    try:
        found = read_log_chain.find_break()
    except Error as error:
        found = f"cannot be read: {error}".strip()
    if found is not None:
        yield f"read log: {found}"


def count_files_without_document() -> int:
    """Files that an interrupted upload left a day ago or before: no fault, a sweep removes them."""
    return len(sweep(dt.timedelta(days=1), dry_run=True).keys)
