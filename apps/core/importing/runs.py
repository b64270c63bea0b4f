"""One import from beginning to end: the file opened, its batches imported, its report written."""

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from django.db import connection, transaction
from django.utils import timezone

from apps.base import clock
from apps.base.declaration.schema import EntitySet
from apps.base.errors import Conflict
from apps.base.retries import retry_on_conflict
from apps.core import history
from apps.core.importing.batches import BatchImporter
from apps.core.importing.columns import ImportColumn, RecordColumn, RelatedColumn, day_columns
from apps.core.importing.days import DayColumn
from apps.core.importing.definition import ImportDefinition, ImportOptions
from apps.core.importing.file_declaration import definition_of, file_entity_set
from apps.core.importing.first_pass import FirstPass, day_notices, look_through
from apps.core.importing.headers import (
    header_row_of,
    item_list_of,
    known_headers,
    recognise_columns,
    spellings_of,
)
from apps.core.importing.records import ReadRecord, RecordRows
from apps.core.importing.report import ImportReport, ShowIssue
from apps.core.models import Subscriber
from apps.core.table_files.formats import format_of
from apps.core.table_files.opening import open_table
from apps.core.table_files.tables import ImportFileError, Row, Table

#: Rows that are read together and saved in one transaction.
BATCH = 5_000
#: New records of a file after which PostgreSQL looks at their table, and again at each multiple of them.
FIRST_ANALYSIS, NEXT_ANALYSIS = 1_000, 8
#: Sheets that are looked at where the first one has no header that is understood.
MAX_OTHER_SHEETS = 10
#: Records that wait until the end of the file for one that they name.
MAX_POSTPONED = 100_000


@dataclass
class ImportDisplay:
    """The display of an import to the user; every call may do nothing.

    ``reword`` says in the user's words what names options of commands, in the file of issues.
    ``is_cancelled`` is asked before each batch.
    """

    show_notice: Callable[[str], None] = lambda text: None
    show_issue: ShowIssue = lambda issue, line: None
    show_progress: Callable[[int, int], None] = lambda rows, total: None
    reword: Callable[[str], str] = str
    is_cancelled: Callable[[], bool] = lambda: False


class RollBack(Exception):
    """Raised to undo the whole import: a dry run, or a rejected row where all or none go in."""


class ImportCancelled(Exception):
    """Raised between two batches of an import that was cancelled: what is stored stays."""


def definition_for(entity_set: EntitySet) -> ImportDefinition:
    """How the resource is imported; ``ImportFileError`` when it is not."""
    definition = definition_of(entity_set)
    if definition is None:
        raise ImportFileError(f"{entity_set.path} cannot be imported.")
    return definition()


def import_file(
    entity_set: EntitySet, path: Path, options: ImportOptions, display: ImportDisplay
) -> ImportReport:
    """Import a file; ``ImportFileError`` when nothing of it can be, else the report of what was done.

    All good rows are saved, in transactions of many rows; with ``all_or_nothing`` all or none.
    """
    definition = definition_for(entity_set)
    definition.folder = path.resolve().parent
    entity_set = file_entity_set(entity_set)
    table = open_records(path, entity_set, definition, options)
    columns, notices = recognise_columns(table, entity_set, definition, options)
    for notice in (*table.notices(), *notices):
        display.show_notice(notice)
    errors, issues = errors_file(path, options), issue_file(path, options)
    report = ImportReport(table, errors, display.show_issue, issues, display.reword)
    found_by = match_fields(definition, columns, options.match)
    importer = BatchImporter(entity_set, columns, definition, found_by, report, options)
    must_undo = options.dry_run or options.all_or_nothing
    # Garbage is collected between batches: within one it would search the many objects of the batch over and
    # over, which have hardly a cycle. This saves a fifth of the time.
    gc.disable()
    try:
        with (
            history.as_author(import_author()),
            timezone.override(Subscriber.current().zone),
            transaction.atomic() if must_undo else nullcontext(),
        ):
            import_rows(importer, table, display)
            if options.dry_run or (options.all_or_nothing and report.counts.rejected):
                raise RollBack
    except RollBack:
        pass
    except ImportCancelled:
        report.is_cancelled = True
    finally:
        gc.enable()
        importer.first_rows.close()
        report.close()
        definition.close()
    return report


def open_records(
    path: Path,
    entity_set: EntitySet,
    definition: ImportDefinition,
    options: ImportOptions,
    max_rows: int | None = None,
) -> Table:
    """The file of a resource's records as a table; ``entity_set`` is declared as files have it."""
    items = item_list_of(entity_set.type)
    list_name = items.name if items is not None else None
    json_members = [column.name for column in definition.columns if isinstance(column, RelatedColumn)]
    by_spelling = spellings_of(entity_set, definition)

    def open_at(sheet: str | None, header_row: int | None, max_rows: int | None = max_rows) -> Table:
        return open_table(path, options.encoding, sheet, header_row, list_name, json_members, max_rows)

    def has_headers(table: Table) -> bool:
        return any(known_headers(table, by_spelling, options).values())

    def is_list(sheet: str) -> bool:
        try:
            return has_headers(open_at(sheet, None, max_rows=0))
        except ImportFileError:
            return False  # it is empty

    table = open_at(options.sheet, options.header_row)
    if options.header_row is not None:
        return table
    if options.sheet is None and table.sheets and not has_headers(table):
        # The first sheet of some workbooks says what the others have.
        others = [name for name in table.shown_sheets if name != table.sheet][:MAX_OTHER_SHEETS]
        found = next(filter(is_list, others), None)
        table = table if found is None else open_at(found, None)
    header_row = header_row_of(table, by_spelling, options)
    return table if header_row == table.header_row else open_at(table.sheet or None, header_row)


def errors_file(path: Path, options: ImportOptions) -> Path | None:
    """The file of rejected rows; ``ImportFileError`` at once when they cannot be.

    In the current folder unless the user names a file: that of the input may be another's. A dry run writes
    none but a new file that the user names.
    """
    if options.errors is None and options.dry_run:
        return None
    suffix = ".xlsx" if format_of(path) == "xlsx" else path.suffix
    errors = options.errors or Path(f"{path.stem}.errors{suffix}")
    format_of(errors)
    if errors.exists() and errors.samefile(path):
        raise ImportFileError(f"{errors} is the file to import; --errors must name another.")
    if errors.exists() and options.dry_run:
        raise ImportFileError(f"{errors} exists, and a dry run overwrites no file; --errors names another.")
    if not os.access(errors if errors.exists() else errors.parent, os.W_OK):
        raise ImportFileError(f"{errors} cannot be written; --errors names another place for rejected rows.")
    return errors


def issue_file(path: Path, options: ImportOptions) -> Path | None:
    """The file of all issues, if the user asks for it."""
    issues = options.issues
    if issues is not None and issues.exists() and issues.samefile(path):
        raise ImportFileError(f"{issues} is the file to import; --issues must name another.")
    return issues


def match_fields(
    definition: ImportDefinition, columns: Sequence[RecordColumn], name: str | None
) -> Sequence[str]:
    """The columns that rows are matched by: the one that the user names, else the resource's own."""
    if name is None:
        return definition.match_fields
    column = next((column for column in columns if column.name.casefold() == name.casefold()), None)
    if column is None:
        raise ImportFileError(f"--match {name}: no column of the file gives it.")
    if column.refers or "/" in column.name:
        raise ImportFileError(f"--match {name}: records are found by a value of their own.")
    return [column.name]


def import_author() -> history.Author:
    """The author known so far, by the channel of imports."""
    known = history.author()
    return history.Author("Import", known.staff_id, known.application, known.request_id)


@contextmanager
def import_of_fixed_columns(
    path: Path,
    table: Table,
    columns: Mapping[str, ImportColumn],
    options: ImportOptions,
    display: ImportDisplay,
) -> Iterator[tuple[ImportReport, Iterator[Row]]]:
    """The report of an import of a file of one form, and its rows, of which all are read within.

    Within, the author is that of imports, and days are those of the organisation.
    """
    errors, issues = errors_file(path, options), issue_file(path, options)
    report = ImportReport(table, errors, display.show_issue, issues, display.reword)
    clock.reset_now()
    try:
        with history.as_author(import_author()), timezone.override(Subscriber.current().zone):
            first_pass = look_through_days(table, day_columns(columns.values()), display)
            yield report, first_pass.rows()
            report.leave_out(list(first_pass.footer_issues()))
    finally:
        report.close()


def look_through_days(table: Table, days: Mapping[int, DayColumn], display: ImportDisplay) -> FirstPass:
    """The first pass over a file, and the notices about the order of its days."""
    first_pass = look_through(table, days)
    for notice in day_notices(table, days):
        display.show_notice(notice)
    return first_pass


def import_rows(importer: BatchImporter, table: Table, display: ImportDisplay) -> None:
    """Import every row; rows that name a later row of the file are tried again at its end."""
    first_pass = look_through_days(table, day_columns(importer.columns), display)
    if not first_pass.row_count:
        where = f"below the header in row {table.header_row:,}" if table.has_cell_addresses else "in the file"
        display.show_notice(f"There is no {table.row_word} {where}: nothing to import.")
    done, analysed_at = 0, FIRST_ANALYSIS
    postponed: list[RecordRows] = []
    for records in importer.grouper.batches(first_pass.rows(), BATCH):
        may_postpone = len(postponed) < MAX_POSTPONED
        postponed += importer.report_batch(import_batch(importer, records, display), may_postpone)
        done += sum(len(record.rows) for record in records)
        display.show_progress(done, first_pass.row_count)
        if importer.report.counts.new >= analysed_at:
            analysed_at *= NEXT_ANALYSIS
            importer.analyse()
        del records
        gc.collect(1)
    waiting = 0
    while postponed:
        # As long as one of them goes in, others may have waited for it.
        may_postpone, waiting = len(postponed) != waiting, len(postponed)
        records, postponed = postponed, []
        for start in range(0, len(records), BATCH):
            batch = records[start : start + BATCH]
            postponed += importer.report_batch(import_batch(importer, batch, display), may_postpone)
    importer.report.leave_out(list(first_pass.footer_issues()))


def import_batch(
    importer: BatchImporter, records: Sequence[RecordRows], display: ImportDisplay
) -> list[ReadRecord]:
    """Import a batch in one transaction, and again when another writer interfered."""
    if display.is_cancelled():
        raise ImportCancelled
    try:
        return write_batch(importer, records)
    except Conflict:
        raise ImportFileError(
            "Others write the same records just now. Import the file again: what is in remains unchanged."
        ) from None


@retry_on_conflict
def write_batch(importer: BatchImporter, records: Sequence[RecordRows]) -> list[ReadRecord]:
    if connection.vendor == "postgresql":
        # Batches of two imports take turns: rows are found by values that need not be unique, so that
        # both would create what neither finds. SQLite has one writer.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [importer.entity_set.path])
    clock.reset_now()
    return importer.import_batch(records)
