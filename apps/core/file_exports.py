"""Exports in the background: a worker writes the file of a long list, whoever asked for it downloads it."""

import datetime as dt
import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO, Any, cast
from uuid import UUID

from django.conf import settings
from django.contrib import admin
from django.db import OperationalError, transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils import timezone
from django_tasks import task

from apps.base.declaration.service import declared_set
from apps.base.errors import system_reason
from apps.core import exporting
from apps.core.caseload import caseload_of, sight_digest
from apps.core.history import Author
from apps.core.history_display import model_of
from apps.core.models import Change, FileExport, FileExportPart, Notice
from apps.core.models import ExportStatus as Status
from apps.core.notices import write_notices
from apps.core.read_log import READ_LOG
from apps.core.table_files.tables import ImportFileError
from apps.core.task_queue import has_failed, task_author

logger = logging.getLogger(__name__)

PART_SIZE = 1024 * 1024
PROGRESS_SECONDS = 1.0


@transaction.atomic
def start_file_export(model: type[Model], file_name: str, query: str, staff_id: UUID | None) -> FileExport:
    """Let a worker write the file; pressed twice, there is one."""
    wanted = {
        "record_type": model._meta.label_lower,
        "file_name": file_name,
        "query": query,
        "staff_id": staff_id,
    }
    for running in FileExport.objects.filter(status=Status.EXPORTING, **wanted):
        note_dead_export(running)
        if running.is_running:
            return running
    file_export = FileExport.objects.create(**wanted)
    file_export.task_id = process_file_export.enqueue(str(file_export.pk)).id
    file_export.save(update_fields=["task_id"])
    return file_export


def note_dead_export(file_export: FileExport) -> None:
    """Say so where the task of a running export has failed without a word."""
    if file_export.is_running and has_failed(file_export.task_id):
        finish_export(file_export, Status.FAILED, "It ended unexpectedly. Export the list again.")


def finish_unwritten(file_export: FileExport, error: OSError) -> None:
    """Say why there is no file: the server's disk is full, or cannot be written."""
    logger.warning("export %s is not written: %s", file_export.pk, error)
    reason = f"The server could not write it: {system_reason(error)}. Tell who runs the service."
    finish_export(file_export, Status.FAILED, reason)


class ExportCancelled(Exception):
    """Raised while the file of an export is written that was cancelled."""


def cancel_export(file_export: FileExport) -> bool:
    """Let there be no file; ``False`` for an export that is done. Its worker ends within a second."""
    is_new = finish_export(file_export, Status.CANCELLED, "It was cancelled.")
    if not is_new:
        file_export.refresh_from_db(fields=["status"])
    return file_export.status == Status.CANCELLED


@transaction.atomic
def finish_export(file_export: FileExport, status: Status, message: str = "") -> bool:
    """Store how it ended, and let its person know; ``False`` where it had ended before."""
    values: dict[str, object] = {"status": status, "message": message, "finished_at": timezone.now()}
    values |= {"rows_done": file_export.rows_done, "rows_total": file_export.rows_total}
    if not running(file_export).update(**values):
        return False
    for name, value in values.items():
        setattr(file_export, name, value)
    if file_export.staff_id is not None and status != Status.CANCELLED:
        text = f"Your export is ready: {file_export}, {file_export.rows_done:,} records"
        if status == Status.FAILED:
            text = f"Your export failed: {file_export}. {message}"
        url = reverse("admin:core_fileexport_file", args=[file_export.pk])
        kind = Notice.Kind.FINISHED
        write_notices([Notice(staff_id=file_export.staff_id, kind=kind, text=text, url=url)])
    return True


def running(file_export: FileExport) -> QuerySet[FileExport]:
    """The export in the database, as long as it has not ended."""
    return FileExport.objects.filter(pk=file_export.pk, status=Status.EXPORTING)


@task()
def process_file_export(guid: str) -> None:
    """Write the file; repeated, it is written anew."""
    file_export = FileExport.objects.select_related("staff").get(pk=guid)
    if not file_export.is_running:
        return  # done by an attempt that was killed right after it
    with task_author(Author(Change.Channel.BACK_OFFICE, file_export.staff_id, request_id=guid)):
        try:
            with TemporaryFile() as file:
                write_table(file_export, file)
                file.seek(0)
                store_file(file_export, file)
        except ExportCancelled:
            pass  # nothing is stored
        except ImportFileError as error:
            finish_export(file_export, Status.FAILED, str(error))
        except OSError as error:
            finish_unwritten(file_export, error)
        READ_LOG.write()  # the thread that writes it is the server's


def write_table(file_export: FileExport, file: IO[bytes]) -> None:
    """Write what the list would show its person now, as far as they may view it."""
    model, staff = cast(Any, (model_of(file_export.record_type), file_export.staff))
    page: Any = admin.site.get_model_admin(model)
    request = HttpRequest()
    request.method, request.GET, request.user = "GET", QueryDict(file_export.query), staff
    if not page.has_view_permission(request):
        raise ImportFileError("You may not view these records.")
    file_export.sight = sight_digest(staff)
    file_export.save(update_fields=["sight"])
    records = page.exported_records(request)
    file_export.rows_done, file_export.rows_total = 0, records.count()
    entity_set = declared_set(page.model)
    assert entity_set is not None
    columns, lines = exporting.table_of(entity_set, records, sees=caseload_of(staff))
    write = exporting.WRITERS[file_export.file_name.rpartition(".")[2]]
    write(file, columns, with_progress(file_export, lines))


def with_progress(file_export: FileExport, records: Iterable[object]) -> Iterator[Any]:
    """The records, counted where whoever asked for them sees it, until the export is cancelled.

    Not while somebody else writes to SQLite: a connection that reads does not write then.
    """
    shown_at = 0.0
    for record in records:
        if time.monotonic() - shown_at >= PROGRESS_SECONDS:
            shown_at = time.monotonic()
            with suppress(OperationalError):
                done, total = file_export.rows_done, file_export.rows_total
                if not running(file_export).update(rows_done=done, rows_total=total):
                    raise ExportCancelled
        file_export.rows_done += 1
        yield record


@transaction.atomic
def store_file(file_export: FileExport, file: IO[bytes]) -> None:
    """Raises ``ExportCancelled``."""
    while content := file.read(PART_SIZE):
        FileExportPart.objects.create(file_export=file_export, content=content)
    if not finish_export(file_export, Status.READY):
        raise ExportCancelled


def read_parts(file_export: FileExport) -> Iterator[bytes]:
    """The bytes of the file, a part at a time."""
    parts = FileExportPart.objects.filter(file_export=file_export).order_by("pk")
    return map(bytes, parts.values_list("content", flat=True).iterator(chunk_size=1))


def delete_file_exports() -> int:
    """Delete exports after ``EXPORT_FILE_DAYS``; how many there were."""
    old = FileExport.objects.filter(
        created_at__lt=timezone.now() - dt.timedelta(days=settings.EXPORT_FILE_DAYS)
    )
    return old.delete()[1].get("core.FileExport", 0)
