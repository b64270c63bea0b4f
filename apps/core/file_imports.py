"""Imports of people and programs: a file is stored; a worker reads its columns, checks it and imports it."""

import datetime as dt
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone
from django_tasks import TaskContext, task

from apps.base import clock
from apps.base.declaration.resource import V2_1
from apps.base.declaration.service import get_service
from apps.base.errors import system_reason
from apps.core import history
from apps.core.cancel_marks import CancelMark
from apps.core.file_import_kinds import (
    RECORD_COUNTS,
    ImportKind,
    ImportOrder,
    find_kind,
    permitted_kinds,
    short,
    wire_sentence,
)
from apps.core.history import Author
from apps.core.import_undo import UndoRefused, undo_changes
from apps.core.importing.report import IssueKind, RowIssue
from apps.core.importing.runs import ImportCancelled, ImportDisplay
from apps.core.models import Change, FileImport, FileImportPage, Notice
from apps.core.models import ImportStatus as Status
from apps.core.notices import write_notices
from apps.core.read_log import READ_LOG, is_logged
from apps.core.table_files.formats import SAVE_AS
from apps.core.table_files.tables import ImportFileError
from apps.core.task_queue import has_failed, task_author, withdraw_task
from apps.core.virus_scanner import virus_in, virus_sentence

logger = logging.getLogger(__name__)

#: Rows with issues on a page, and pages of them; all issues are in the file of issues.
SHOWN_ROWS, SHOWN_PAGES = 100, 100
#: Different cells of one kind of issue that are shown, to say what they mean.
SHOWN_VALUES = 20
#: The option with the status that an import has again when it cannot be undone.
UNDONE_FROM = "undone_from"
#: What holds for an import that ended before the end of its file.
GOES_ON = "What it had stored is stored; imported again, it goes on from there."


@dataclass
class RowIssues:
    """A row with issues: its cells, and beside which column (none: the whole row) each issue stands."""

    number: int
    cells: list[str]
    issues: list[tuple[int | None, bool, str]] = field(default_factory=list)


class IssueCollector:
    """Collects the rows with issues in pages; those behind the first wait in a file."""

    def __init__(self, kind: ImportKind, spill: Path) -> None:
        self.kind, self.spill = kind, spill
        self.first: list[Any] = []
        self.rows = list[RowIssues]()
        self.pages = 0

    def add(self, issue: RowIssue, line: str) -> None:
        if self.pages == SHOWN_PAGES:
            return
        if not self.rows or self.rows[-1].number != issue.row.number:
            if len(self.rows) == SHOWN_ROWS:
                self.end_page()
            self.rows.append(RowIssues(issue.row.number, [short(cell) for cell in issue.row.cells]))
        sentence = short_sentence(self.kind.plain(issue.message))
        self.rows[-1].issues.append((issue.column, issue.is_warning, sentence))

    def end_page(self) -> None:
        rows = [asdict(row) for row in self.rows]
        if self.pages:
            with self.spill.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows) + "\n")
        else:
            self.first = rows
        self.pages, self.rows = self.pages + 1, []

    def store(self, file_import: FileImport) -> None:
        """Store the pages behind the first in place of those of an earlier check."""
        if self.rows and self.pages < SHOWN_PAGES:
            self.end_page()
        file_import.pages.all().delete()
        if self.pages < 2:
            return
        with self.spill.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 2):
                FileImportPage.objects.create(file_import=file_import, number=number, rows=json.loads(line))


class ImportWatch:
    """How far a run is, what it says of the whole file, and why it must stop."""

    def __init__(self, file_import: FileImport, reword: Callable[[str], str]) -> None:
        self.file_import, self.reword = file_import, reword
        self.notices: list[str] = []
        self.progress = (0, 0)
        self.lost_rights = ""

    def show_notice(self, text: str) -> None:
        self.notices.append(short_sentence(self.reword(text)))

    def show_progress(self, done: int, total: int) -> None:
        self.progress = done, total
        if not connection.in_atomic_block:  # within a transaction nobody else would see it before its end
            FileImport.objects.filter(pk=self.file_import.pk).update(rows_done=done, rows_total=total)

    def must_stop(self) -> bool:
        if is_cancelled(self.file_import):
            return True
        clock.reset_now()  # a login that was disabled after the last batch is disabled
        self.lost_rights = lost_rights(self.file_import)
        return bool(self.lost_rights)


def short_sentence(text: str) -> str:
    return text.replace("\0", "")[:500]


def import_kind_of(file_import: FileImport) -> ImportKind:
    """How the file is imported; ``ImportFileError`` where this version does not."""
    kind = find_kind(file_import.kind)
    if kind is None:
        raise ImportFileError(f"{file_import.kind} can no longer be imported.")
    return kind


def count_words(file_import: FileImport) -> Sequence[str]:
    """The words for the numbers of the file's kind; none of a kind that is no longer imported."""
    kind = find_kind(file_import.kind)
    return () if kind is None else kind.count_words


def count_texts(file_import: FileImport, words: Iterable[str]) -> list[str]:
    """``12 new`` and so on, for what there is."""
    counts = file_import.counts
    return [f"{counts[word]:,} {word.replace('_', ' ')}" for word in words if counts.get(word)]


def create_file_import(
    kind: ImportKind,
    name: str,
    content: bytes,
    staff_id: UUID | None,
    mapping: str = "",
    application_id: UUID | None = None,
    answers: Mapping[str, object] = {},
) -> FileImport:
    """Store a file and let a worker read it; ``mapping``: under which name its columns and values were kept.

    A person answers the questions of the kind later; a program gives the ``answers``, and with ``by_headers``
    no columns: with ``imports_at_once`` the file is not checked before it is imported.

    The caller has looked whether there is such a mapping. Raises ``ImportFileError`` for a file that is empty
    or of another kind or has a virus, and what the scanner raises.
    """
    file_name = Path(name).name[-255:]
    if Path(file_name).suffix.lower() not in kind.suffixes:
        advice = SAVE_AS if ".xlsx" in kind.suffixes else "the name's end says how to read it"
        raise ImportFileError(f"{file_name} is none of {', '.join(kind.suffixes)}; {advice}.")
    if not content:
        raise ImportFileError(f"{file_name} is empty.")
    if virus := virus_in(content):
        raise ImportFileError(virus_sentence(file_name, virus))
    options = {**{option.name: option.default for option in kind.options}, **answers}
    if mapping:
        options["mapping"] = mapping
    file_import = FileImport(
        kind=kind.name,
        file_name=file_name,
        content=content,
        options=options,
        staff_id=staff_id,
        application_id=application_id,
    )
    with transaction.atomic():
        file_import.save()
        start(file_import, Status.READING)
    return file_import


def write_file(file_import: FileImport, folder: Path) -> Path:
    """The file under its own name, which messages quote, in a folder without others."""
    name = Path(file_import.file_name)
    path = folder / "file" / f"{name.stem[:50]}{name.suffix[:10]}"
    path.parent.mkdir()
    path.write_bytes(bytes(file_import.content or b""))
    return path


def start(file_import: FileImport, status: Status, **values: object) -> bool:
    """Let a worker do what the status says; ``False`` when somebody else has changed the import meanwhile.

    The history names whoever asks for it, who may be another than brought the file.
    """
    author = history.author()
    CancelMark(file_import.pk).clear()
    with transaction.atomic():
        unchanged = FileImport.objects.filter(pk=file_import.pk, status=file_import.status)
        fresh = {"rows_done": 0, "rows_total": 0, "message": "", "finished_at": None}
        if not unchanged.update(status=status, **fresh, **values):
            return False
        staff = None if author.staff_id is None else str(author.staff_id)
        result = process_file_import.enqueue(str(file_import.pk), staff, author.application)
        FileImport.objects.filter(pk=file_import.pk).update(task_id=result.id)
    return True


def cancel(file_import: FileImport) -> bool:
    """Let its worker stop before the next batch; where none has begun, the import ends at once.

    ``False`` for one that is not cancelled, since it is done or being undone. On SQLite a worker that checks
    a file keeps others from writing: it is asked to stop before anything is written here.
    """
    if file_import.status in FileImport.cancellable_statuses:
        CancelMark(file_import.pk).set()
    will_stop = store_cancelled(file_import)
    if file_import.status != Status.CANCELLING:
        CancelMark(file_import.pk).clear()
    return will_stop


@transaction.atomic
def store_cancelled(file_import: FileImport) -> bool:
    imports = FileImport.objects.filter(pk=file_import.pk)
    is_new = imports.filter(status__in=FileImport.cancellable_statuses).update(status=Status.CANCELLING)
    file_import.refresh_from_db(fields=["status", "task_id", "rows_done"])
    if is_new and withdraw_task(file_import.task_id):
        finish_cancelled(file_import)
    return file_import.status in {Status.CANCELLING, Status.CANCELLED}


def is_cancelled(file_import: FileImport) -> bool:
    if CancelMark(file_import.pk).is_set():
        return True
    return FileImport.objects.filter(pk=file_import.pk, status=Status.CANCELLING).exists()


def start_import(file_import: FileImport) -> bool:
    """Let a worker import what was checked; ``False`` for another status."""
    return file_import.status == Status.CHECKED and start(file_import, Status.IMPORTING)


def start_undo(file_import: FileImport) -> bool:
    """Let a worker undo what is stored; ``False`` where that is nothing."""
    options = {**file_import.options, UNDONE_FROM: file_import.status}
    return file_import.has_stored and start(file_import, Status.UNDOING, options=options)


def note_dead_task(file_import: FileImport) -> None:
    """Say so where the task of a running import has failed without a word."""
    if file_import.is_running and has_failed(file_import.task_id):
        finish(file_import, Status.FAILED, message=f"It ended unexpectedly. {GOES_ON}")


@transaction.atomic
def finish(file_import: FileImport, status: Status, **values: object) -> None:
    """Store how it ended, and let its person know; of what comes before the import the page tells."""
    for name, value in {"status": status, "finished_at": timezone.now(), **values}.items():
        setattr(file_import, name, value)
    file_import.save(update_fields=["status", "finished_at", *values])
    CancelMark(file_import.pk).clear()
    if file_import.staff_id is not None and status not in {Status.UPLOADED, Status.CHECKED}:
        done = count_texts(file_import, [word for word in count_words(file_import) if word != "unchanged"])
        result = file_import.message or ", ".join(done) or "nothing changed"
        text = f"{file_import.file_name}: {status.lower()}. {result}"
        url = reverse("admin:core_fileimport_file", args=[file_import.pk])
        kind = Notice.Kind.FINISHED
        write_notices([Notice(staff_id=file_import.staff_id, kind=kind, text=text, url=url)])


def finish_cancelled(file_import: FileImport, reason: str = "", **values: object) -> None:
    """Store that it was cancelled, why, and after how many rows; of a check nothing is stored."""
    text = "It was cancelled; nothing was stored."
    if file_import.rows_done:
        rows = f"{file_import.rows_done:,} row{'' if file_import.rows_done == 1 else 's'}"
        text = f"It was cancelled after {rows}, and what is stored stays."
        text += " Imported again, the file goes on from there."
    of_import: dict[str, object] = {"counts": {}, **values}  # else those of the check are left
    message = f"{reason} {text}".lstrip()
    finish(file_import, Status.CANCELLED, message=message, rows_done=file_import.rows_done, **of_import)


@task(takes_context=True)
def process_file_import(
    context: TaskContext, guid: str, staff: str | None = None, application: str | None = None
) -> None:
    """Read and check a file, import it, or undo that, as its status says, for a person or an application.

    Repeated, an import changes only the rest.
    """
    file_import = FileImport.objects.select_related("application").get(pk=guid)
    if not file_import.is_running:
        return  # done by an attempt that was killed right after it
    author = Author("Import", UUID(staff) if staff else None, application, request_id=guid)
    if staff is None and application is None:
        name = None if file_import.application is None else file_import.application.name
        author = author._replace(staff_id=file_import.staff_id, application=name)
    with task_author(author):
        try:
            if file_import.status == Status.CANCELLING:
                raise ImportCancelled  # while an attempt ran that was killed
            if reason := lost_rights(file_import):
                raise ImportFileError(reason)
            if file_import.status == Status.UNDOING:
                undo(file_import)
                return
            if file_import.status == Status.READING:
                read(file_import)
            if file_import.is_running:
                run(file_import, is_repeated=context.attempt > 1)
        except ImportCancelled:
            kind = import_kind_of(file_import)
            counts = counts_of_history(file_import, kind, {}) if file_import.rows_done else {}
            finish_cancelled(file_import, counts=counts)
        except (ImportFileError, OSError) as error:
            if isinstance(error, OSError):
                logger.warning("import %s is not finished: %s", guid, error)
                message = f"The server could not write its files: {system_reason(error)}. {GOES_ON}"
            else:
                message = wording_of(file_import, import_kind_of(file_import))(str(error))
            was_undoing = file_import.status == Status.UNDOING
            finish(
                file_import,
                status_before_undo(file_import) if was_undoing else Status.FAILED,
                message=message,
            )


def lost_rights(file_import: FileImport) -> str:
    """The sentence that whoever had this begun may do it no longer; else empty."""
    kind, staff = import_kind_of(file_import), history.author().staff_id
    if staff is not None:
        person = get_user_model()._base_manager.select_related("role").get(pk=staff)
        may_import = kind.name in {each.name for each in permitted_kinds(person)}
        return "" if may_import else f"{person} may no longer import these records."
    if file_import.application is None:
        return ""
    application, by_model = file_import.application, get_service(V2_1).by_model
    application.refresh_from_db()
    sets = [by_model[model] for model in (FileImport, kind.model)]
    if not application.is_archived and all(application.caller.may("write", each) for each in sets):
        return ""
    return f"{application} may no longer import these records."


def wording_of(file_import: FileImport, kind: ImportKind) -> Callable[[str], str]:
    """The way to say sentences of the importer to those who asked: a program, or a person at a page."""
    return wire_sentence if file_import.options.get("by_headers") else kind.plain


def read(file_import: FileImport) -> None:
    """Read the columns of the file with its options; with none that is recognised, a person chooses first."""
    kind = import_kind_of(file_import)
    with TemporaryDirectory() as folder:
        found = kind.read_columns(write_file(file_import, Path(folder)), file_import.options)
    file_import.columns = [asdict(column) for column in found]
    asks_person = kind.columns() and not file_import.options.get("by_headers")
    if asks_person and not any(column.member for column in found):
        of_check: dict[str, object] = {"counts": {}, "notices": [], "issues": [], "issue_kinds": []}
        of_check |= {"rejected_rows": None, "all_issues": None}
        finish(file_import, Status.UPLOADED, columns=file_import.columns, **of_check)
        return
    status = Status.IMPORTING if file_import.options.get("imports_at_once") else Status.CHECKING
    uncancelled = FileImport.objects.filter(pk=file_import.pk, status=Status.READING)
    if not uncancelled.update(status=status, columns=file_import.columns):
        raise ImportCancelled
    file_import.status = status


def run(file_import: FileImport, is_repeated: bool) -> None:
    kind, is_check = import_kind_of(file_import), file_import.status == Status.CHECKING
    plain = wording_of(file_import, kind)
    columns = [column["member"] for column in file_import.columns]
    values = [column.get("values", {}) for column in file_import.columns]
    watch = ImportWatch(file_import, plain)
    with TemporaryDirectory() as name:
        folder = Path(name)
        collector = IssueCollector(kind, folder / "pages")
        display = ImportDisplay(
            show_notice=watch.show_notice,
            show_issue=collector.add,
            show_progress=watch.show_progress,
            reword=plain,
            is_cancelled=watch.must_stop,
        )
        path, errors, issues = (
            write_file(file_import, folder),
            folder / "rejected.xlsx",
            folder / "issues.csv",
        )
        options = file_import.options
        brought_by = file_import.staff_id
        order = ImportOrder(path, errors, issues, options, columns, values, is_check, display, brought_by)
        outcome = kind.run(order)
        counts = dict(outcome.counts)
        if is_repeated and not is_check and kind.count_words == RECORD_COUNTS:
            counts |= counts_of_history(file_import, kind, counts)
        if outcome.is_cancelled and (is_check or options.get("all_or_nothing")):
            counts = {}
        with transaction.atomic():
            collector.store(file_import)
            values_to_store: dict[str, object] = {
                "counts": counts,
                "notices": watch.notices,
                "issue_kinds": [stored_kind(each, kind) for each in outcome.kinds],
                "issues": collector.first,
                "rejected_rows": errors.read_bytes() if errors.exists() else None,
                "all_issues": issues.read_bytes() if outcome.kinds and issues.exists() else None,
            }
            if outcome.is_cancelled:
                file_import.rows_done = max(file_import.rows_done, counts.get("rows", 0))
                finish_cancelled(file_import, watch.lost_rights, **values_to_store)
            else:
                # In one transaction they were not shown before.
                values_to_store["rows_done"], values_to_store["rows_total"] = watch.progress
                finish(file_import, Status.CHECKED if is_check else Status.IMPORTED, **values_to_store)


def stored_kind(issues: IssueKind, kind: ImportKind) -> dict[str, object]:
    """The kind of issues, with its most frequent cells as pairs of a text and how often it is there."""
    values = [(short_sentence(text), count) for text, count in issues.values.most_common(SHOWN_VALUES)]
    message, example = short_sentence(kind.plain(issues.message)), short_sentence(issues.example)
    return {**asdict(issues), "message": message, "example": example, "values": values}


def undo(file_import: FileImport) -> None:
    """Undo the import, all of it or nothing."""
    after_undo = import_kind_of(file_import).after_undo
    try:
        with transaction.atomic():
            undo_changes(changes_by_import(file_import))
            if after_undo is not None:
                after_undo()
    except UndoRefused as reason:
        finish(file_import, status_before_undo(file_import), message=f"It cannot be undone. {reason}")
    else:
        finish(file_import, Status.UNDONE)


def status_before_undo(file_import: FileImport) -> Status:
    return Status(file_import.options.get(UNDONE_FROM, Status.IMPORTED))


def changes_by_import(file_import: FileImport) -> QuerySet[Change]:
    """The history of what the import wrote, found by its days: the clock may have been set back meanwhile."""
    earliest = file_import.created_at - dt.timedelta(days=1)
    return Change.objects.filter(at__gte=earliest, request_id=str(file_import.pk))


def counts_of_history(
    file_import: FileImport, kind: ImportKind, counts: Mapping[str, int]
) -> Mapping[str, int]:
    """The records that all attempts together created and changed; the last one found them unchanged."""
    changes = changes_by_import(file_import).filter(record_type=kind.model._meta.label_lower)
    created = set(changes.filter(kind=Change.Kind.CREATED).values_list("record_key", flat=True))
    changed = set(changes.values_list("record_key", flat=True)) - created
    stored = sum(counts.get(word, 0) for word in ("new", "changed", "unchanged"))
    return {
        "new": len(created),
        "changed": len(changed),
        "unchanged": max(stored - len(created) - len(changed), 0),
    }


def log_rows(file_import: FileImport, kind: str, row_count: int) -> None:
    """Log rows of a file about people, which may be records of nobody yet."""
    model = import_kind_of(file_import).model
    if is_logged(model):
        READ_LOG.add(model, kind, row_count, b"", file_import._meta.label_lower)


def delete_import_files() -> int:
    """Delete files, rejected rows and shown rows of imports after ``IMPORT_FILE_DAYS``; how many imports."""
    old = timezone.now() - dt.timedelta(days=settings.IMPORT_FILE_DAYS)
    imports = FileImport.objects.filter(created_at__lt=old, content__isnull=False)
    FileImportPage.objects.filter(file_import__in=imports).delete()
    nothing: dict[str, object] = {"content": None, "rejected_rows": None, "all_issues": None}
    return imports.update(**nothing, issues=[], issue_kinds=[], columns=[])
