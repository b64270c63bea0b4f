"""The back office's pages of imports: a file is read, checked and imported, and what became of it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect
from django.utils.text import capfirst
from unfold.contrib.filters.admin import ChoicesDropdownFilter, DropdownFilter
from unfold.decorators import action, display

from apps.base.errors import ServiceError
from apps.core.admin_base import DateTimeRangeFilter, Page, RecordFilter
from apps.core.admin_base.display import list_column
from apps.core.admin_base.forms import code_label
from apps.core.admin_base.pages import ReadOnlyAdmin
from apps.core.downloads import bytes_response
from apps.core.file_import_kinds import (
    ENCODING,
    TABLE_OPTIONS,
    ImportKind,
    find_kind,
    permitted_kinds,
    table_options,
)
from apps.core.file_imports import (
    SHOWN_ROWS,
    cancel,
    count_texts,
    count_words,
    create_file_import,
    log_rows,
    note_dead_task,
    start,
    start_import,
    start_undo,
)
from apps.core.importing.mappings import keep_mapping, mapping_names
from apps.core.models import FileImport, ImportMapping
from apps.core.models import ImportStatus as Status
from apps.core.table_files.tables import ImportFileError, column_letters

LIST_COLUMNS = ("file", "kind_title", "status_label", "result", "begun_by", "created_at")
COLOURS = {
    "Imported": "success",
    "Failed": "danger",
    "Undone": "warning",
    "Cancelled": "warning",
    "Importing": "info",
    "Reading": "info",
    "Checking": "info",
}
#: Statuses of a file that is checked with other columns or options.
CHECKED_AGAIN = frozenset({Status.UPLOADED, Status.CHECKED, Status.FAILED, Status.CANCELLED})
#: Different values of a column of which each is shown; of more those that stand there again and again.
FEW_VALUES = 5
#: As many files as are read in one go.
MOST_FILES = 50
#: The parameter of the list for the imports that were begun in one go.
KEYS_PARAMETER = "guid__in"
#: Characters of what a value means.
CELL_LIMIT = 500


class ImportKindFilter(DropdownFilter):
    """The imports of one kind of file."""

    title = "kind"
    parameter_name = "kind_of_file"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        return [(kind.name, kind.title) for kind in permitted_kinds(request.user)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        return queryset.filter(kind=self.value()) if self.value() else queryset


@admin.register(FileImport)
class FileImportAdmin(ReadOnlyAdmin):
    """The imports of files that the person may import."""

    purpose = (
        "Files that were imported, with what became of each row. Import is on the list of the "
        "records that a file has."
    )
    menu_group = "Administration"
    menu_order = 915
    menu_title = "Imports"
    icon = "upload_file"
    list_display = LIST_COLUMNS
    list_display_links = ("file",)
    list_select_related = ("staff", "application")
    list_filter = (
        ImportKindFilter,
        ("status", ChoicesDropdownFilter),
        ("staff", RecordFilter),
        ("created_at", DateTimeRangeFilter),
    )
    search_fields = ("file_name",)
    actions = ("import_certain",)
    record_pages = (
        Page("file"),
        Page("progress", method="GET"),
        Page("rejected-rows", method="GET"),
        Page("issues", method="GET"),
        Page("content", method="GET"),
    )

    class Media:
        css: ClassVar[dict[str, Sequence[str]]] = {"all": ["imports.css"]}
        js = ("file_import.js",)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(permitted_kinds(request.user))

    def has_view_permission(self, request: HttpRequest, obj: FileImport | None = None) -> bool:
        names = {kind.name for kind in permitted_kinds(request.user)}
        return bool(names) if obj is None else obj.kind in names

    has_add_permission = has_module_permission

    def get_queryset(self, request: HttpRequest) -> QuerySet[FileImport]:
        imports = super().get_queryset(request).defer("content", "rejected_rows", "all_issues")
        return imports.filter(kind__in=[kind.name for kind in permitted_kinds(request.user)])

    file = list_column("file", "file_name")

    @display(description="kind", ordering="kind")
    def kind_title(self, file_import: FileImport) -> str:
        kind = find_kind(file_import.kind)
        return file_import.kind if kind is None else kind.title

    status_label = list_column("status", "get_status_display", ordering="status", label=COLOURS)
    begun_by = list_column("begun by", "author_name", ordering="staff")

    @display(description="result")
    def result(self, file_import: FileImport) -> str:
        """Why nothing was done, the sums of a file, or its counts."""
        kind = find_kind(file_import.kind)
        if kind is not None and kind.takes_many_files and file_import.notices and not file_import.message:
            return str(file_import.notices[0])
        return file_import.message or ", ".join(count_texts(file_import, count_words(file_import)))

    @action(description="Import what is certain", permissions=["add"], icon="check")
    def import_certain(self, request: HttpRequest, queryset: QuerySet[FileImport]) -> None:
        """Import the checked files of which nothing is asked and no row has a fault; name the others."""
        begun = 0
        for record in queryset.order_by("created_at", "guid"):
            if (reason := find_obstacle(record)) or not start(record, Status.IMPORTING):
                text = f"{record.file_name} was left: {reason or 'somebody else has begun it'}."
                messages.warning(request, text)
            else:
                begun += 1
        if begun:
            messages.success(request, f"{begun:,} file{'' if begun == 1 else 's'} will be imported.")

    # --- uploading

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: object = None
    ) -> HttpResponse:
        """The kind and the file; its columns are shown on the import's own page."""
        kinds = permitted_kinds(request.user)
        if not kinds:
            return self._get_obj_does_not_exist_redirect(request, self.opts, "")
        mappings = ImportMapping.objects.filter(kind__in=[kind.name for kind in kinds])
        name, error, status = request.GET.get("kind"), "", 200
        if request.method == "POST":
            name = request.POST.get("kind")
            kind = next((kind for kind in kinds if kind.name == name), None)
            try:
                if address := self.store_files(request, kind, mappings):
                    return redirect(address)
            except ImportFileError as reason:
                error = str(reason) if kind is None else kind.plain(str(reason))
            except ServiceError as refusal:
                error, status = refusal.message, refusal.status
        page = self.render_page(
            request,
            "admin/file_import_add.html",
            "Import a file",
            kinds=sorted(kinds, key=lambda kind: kind.title),
            chosen=name,
            error=error,
            takes_many=any(kind.takes_many_files for kind in kinds),
            file_types=",".join(dict.fromkeys(suffix for kind in kinds for suffix in kind.suffixes)),
            mappings=[
                (mapping, kind.title) for mapping in mappings for kind in kinds if kind.name == mapping.kind
            ],
        )
        page.status_code = status
        return page

    def store_files(
        self, request: HttpRequest, kind: ImportKind | None, mappings: QuerySet[ImportMapping]
    ) -> str:
        """Store the files of a form; the address of their imports, empty where each was refused by a message.

        Raises what ``create_file_import`` raises, and ``ImportFileError`` for what is left out or too much.
        """
        files = request.FILES.getlist("file")
        if kind is None or not files:
            raise ImportFileError("Choose what the file contains, and the file.")
        if len(files) > (MOST_FILES if kind.takes_many_files else 1):
            limit = f"at most {MOST_FILES} at once" if kind.takes_many_files else "one at a time"
            raise ImportFileError(f"Files of this kind are read {limit}; you chose {len(files)}.")
        mapping = mappings.filter(pk=pk_of(request.POST.get("mapping")) or 0).first()
        if mapping is not None and mapping.kind != kind.name:
            raise ImportFileError(f"“{mapping}” was kept for files of another kind.")
        mapping_name = mapping.name if mapping is not None else ""
        if len(files) == 1:
            content, staff = files[0].read(), request.user.pk
            record = create_file_import(kind, files[0].name or "", content, staff, mapping_name)
            return self.page_url("file", record.pk)
        keys = create_imports(request, kind, files, mapping_name)
        return f"{self.page_url('changelist')}?{KEYS_PARAMETER}={','.join(keys)}" if keys else ""

    # --- one import

    def file_page(self, request: HttpRequest, record: FileImport) -> HttpResponse:
        """The page that the status asks for: columns to choose, a preview, a progress bar, or the result."""
        kind = next(kind for kind in permitted_kinds(request.user) if kind.name == record.kind)
        if request.method == "POST":
            self.change_status(request, record, kind)
            return redirect(self.page_url("file", record.pk))
        note_dead_task(record)
        last = record.pages.count() + 1
        number = min(max(pk_of(request.GET.get("page")) or 1, 1), last)
        near = sorted({1, *range(number - 2, number + 3), last})
        rows = record.issues if number == 1 else record.pages.get(number=number).rows
        log_rows(record, "List", len(rows) or 1)  # the first values of each column
        members = kind.columns()
        good = kind.good_count(record.counts)
        return self.render_page(
            request,
            "admin/file_import.html",
            f"Import of {record.file_name}",
            record,
            kind=kind,
            file_import=record,
            is_cancellable=record.status in FileImport.cancellable_statuses,
            guid=str(record.pk),
            members={name: code_label(name) for name in members},
            options=[(option, record.options.get(option.name)) for option in kind.options],
            columns=[(column_letters(number), column) for number, column in enumerate(record.columns)],
            kinds=[kind_cells(each, record) for each in record.issue_kinds],
            values=list(value_rows(record, kind)),
            mapping_names=mapping_names(kind.name),
            rows=[row_cells(row, record) for row in rows],
            first_row=(number - 1) * SHOWN_ROWS + 1,
            pages=[page for page in near if 1 <= page <= last] if last > 1 else [],
            page_number=number,
            headers=[column["header"] for column in record.columns],
            left_out=[column["header"] for column in record.columns if members and not column["member"]],
            count_texts=count_texts(record, (*kind.count_words, "with_warnings", "left_out")),
            good=good,
            stored=good and record.has_stored,
            has_file=FileImport.objects.filter(pk=record.pk, content__isnull=False).exists(),
            has_issues=FileImport.objects.filter(pk=record.pk, all_issues__isnull=False).exists(),
            has_rejected=FileImport.objects.filter(pk=record.pk, rejected_rows__isnull=False).exists(),
        )

    def change_status(self, request: HttpRequest, record: FileImport, kind: ImportKind) -> None:
        """Do what the person pressed; a second press of the same button does nothing."""
        pressed = request.POST.get("action")
        if pressed == "check" and record.status in CHECKED_AGAIN:
            self.check_file(request, record, kind)
        elif pressed == "import" and not start_import(record):
            messages.info(request, "Its import was begun already: this press did nothing.")
        elif pressed == "undo" and kind.undoable:
            start_undo(record)
        elif pressed == "cancel":
            cancel(record)

    def check_file(self, request: HttpRequest, record: FileImport, kind: ImportKind) -> None:
        """Take over columns and options; a worker checks the file, and reads it anew where they say how."""
        before = dict(record.options)
        record.options["by_headers"] = record.options["imports_at_once"] = False
        record.options["mapping"] = request.POST.get("mapping", "")
        for option in kind.options:
            given = request.POST.get(option.name, "").strip()
            record.options[option.name] = option.answer(given)
        is_read_anew = any(
            (before.get(name) or "") != (record.options.get(name) or "")
            for name in (*(option.name for option in (*TABLE_OPTIONS, ENCODING)), "mapping")
        )
        if is_read_anew or not record.columns:
            try:
                table_options(record.options)
            except ImportFileError as reason:
                messages.error(request, str(reason))
            else:
                start(record, Status.READING, options=record.options)
            return
        members = kind.columns()
        for number, column in enumerate(record.columns):
            chosen = request.POST.get(f"column_{number}", "")
            column["member"] = chosen if chosen in members else ""
            column["values"] = given_values(request.POST, number)
        name = " ".join(request.POST.get("keep", "").split())
        if name and members:
            try:
                keep_columns(kind, name, record)
            except ImportFileError as reason:
                messages.error(request, str(reason))
                return
            record.options["mapping"] = name
        start(record, Status.CHECKING, options=record.options, columns=record.columns)

    def progress_page(self, request: HttpRequest, record: FileImport) -> JsonResponse:
        note_dead_task(record)
        return JsonResponse(
            {"running": record.is_running, "done": record.rows_done, "total": record.rows_total}
        )

    def rejected_rows_page(self, request: HttpRequest, record: FileImport) -> HttpResponse:
        name = f"{record.file_name.rpartition('.')[0]}.rejected.xlsx"
        return stored_file(record, record.rejected_rows, name, record.counts.get("rejected", 0))

    def issues_page(self, request: HttpRequest, record: FileImport) -> HttpResponse:
        name = f"{record.file_name.rpartition('.')[0]}.issues.csv"
        count = sum(kind["count"] for kind in record.issue_kinds)
        return stored_file(record, record.all_issues, name, count)

    def content_page(self, request: HttpRequest, record: FileImport) -> HttpResponse:
        return stored_file(record, record.content, record.file_name, sum(record.counts.values()))


def create_imports(
    request: HttpRequest, kind: ImportKind, files: Sequence[UploadedFile], mapping: str
) -> list[str]:
    """The keys of the imports of several files, one of each content; messages name those that are refused."""
    names: dict[bytes, str] = {}
    keys = []
    for file in files:
        name, content = file.name or "", file.read()
        first = names.setdefault(sha256(content).digest(), name)
        if first is not name:
            messages.info(request, f"{name} is the same file as {first}: it is read once.")
            continue
        try:
            keys.append(str(create_file_import(kind, name, content, request.user.pk, mapping).pk))
        except ImportFileError as reason:
            messages.error(request, kind.plain(str(reason)))
        except ServiceError as refusal:
            messages.error(request, f"{name}: {refusal.message}")
    return keys


def find_obstacle(file_import: FileImport) -> str:
    """Why a file is not imported without a look at it; empty when it may be."""
    kind = find_kind(file_import.kind)
    if kind is None or not kind.takes_many_files:
        return "files of this kind are imported on their own page"
    if file_import.status != Status.CHECKED:
        return f"its status is {file_import.get_status_display()}"
    if file_import.counts.get("rejected") or any(not each["is_warning"] for each in file_import.issue_kinds):
        return "open it to see its faults"
    if any(each["code"] in kind.blocking_warnings for each in file_import.issue_kinds):
        return "open it to see its warnings"
    return "" if kind.good_count(file_import.counts) else "there is nothing to import in it"


def pk_of(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None


def given_values(answers: QueryDict, column: int) -> dict[str, str]:
    """The form's entries about the values of a column: ``{text: meaning}``, empty for an empty cell."""
    texts, means = answers.getlist(f"text_{column}"), answers.getlist(f"means_{column}")
    emptied = set(answers.getlist(f"empty_{column}"))
    pairs = zip(texts, means, strict=False)
    return {
        text: "" if text in emptied else mean.strip()[:CELL_LIMIT]
        for text, mean in pairs
        if mean.strip() or text in emptied
    }


def keep_columns(kind: ImportKind, name: str, record: FileImport) -> None:
    """Keep what the columns give and what their values mean for the next file."""
    named = [column for column in record.columns if column["header"]]
    columns = {column["header"]: column["member"] for column in named}
    keep_mapping(kind.name, name, columns, {column["header"]: column["values"] for column in named})


def kind_cells(issues: dict[str, Any], file_import: FileImport) -> dict[str, object]:
    """A kind of issues as the page lists it: how many, the column, the sentence, cells with their counts."""
    column, message = issues["column"], issues["message"]
    shown = file_import.columns[column] if column is not None and column < len(file_import.columns) else None
    if shown is not None:
        message = capfirst(message.removeprefix(f"{shown['member']} "))
    values = [(text, count) for text, count in issues["values"][:5] if text]
    return {**issues, "message": message, "header": shown["header"] if shown else "", "values": values}


def value_rows(file_import: FileImport, kind: ImportKind) -> Iterator[dict[str, object]]:
    """The values that are not understood, for which others can be given, and those for which they are."""
    known = kind.columns()
    for number, column in enumerate(file_import.columns):
        counts: Counter[str] = Counter()
        for issues in file_import.issue_kinds:
            if issues["column"] == number and column["member"] and not issues.get("is_of_record"):
                counts.update(dict(issues["values"]))
        means, member = column.get("values", {}), known.get(column["member"])
        may_mean = member.choices if member is not None else ()
        is_few = may_mean or len(counts) <= FEW_VALUES
        usual = [text for text, count in counts.most_common() if is_few or count > 1]
        for text in (*means, *(text for text in usual if text not in means)):
            yield {
                "column": number,
                "header": column["header"],
                "text": text,
                "count": counts.get(text),
                "means": means.get(text, ""),
                "is_emptied": text in means and not means[text],
                "choices": may_mean,
            }


def stored_file(file_import: FileImport, content: Any, name: str, row_count: int) -> HttpResponse:
    """The bytes as a download, which the read log has when the file is about people."""
    if content is None:
        raise Http404
    log_rows(file_import, "Download", row_count)
    return bytes_response(bytes(content), name, "application/octet-stream")


def row_cells(row: dict[str, Any], file_import: FileImport) -> dict[str, Any]:
    """A row of the preview: each cell with its own issues, and the issues of the whole row.

    An issue of a cell need not name the member, as the column says which one it is.
    """
    members = {number: column["member"] for number, column in enumerate(file_import.columns)}
    cells = [
        (
            cell,
            [
                (is_warning, capfirst(text.removeprefix(f"{members.get(number)} ")))
                for column, is_warning, text in row["issues"]
                if column == number
            ],
        )
        for number, cell in enumerate(row["cells"])
    ]
    of_row = [
        (is_warning, text)
        for column, is_warning, text in row["issues"]
        if column is None or column >= len(row["cells"])
    ]
    return {"number": row["number"], "cells": cells, "issues": of_row}
