"""The back office's pages of one's own exports that a worker writes."""

import datetime as dt
from collections.abc import Sequence
from typing import Any, ClassVar

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from apps.core.admin_base import Page
from apps.core.admin_base.audit import kind_of_record
from apps.core.admin_base.display import list_column
from apps.core.admin_base.exports import FILE_TYPES
from apps.core.admin_base.pages import OwnRecordsAdmin
from apps.core.caseload import sight_digest
from apps.core.downloads import parts_response
from apps.core.file_exports import cancel_export, note_dead_export, read_parts
from apps.core.history_display import model_of
from apps.core.models import FileExport
from apps.core.read_log import READ_LOG, is_logged


@admin.register(FileExport)
class FileExportAdmin(OwnRecordsAdmin):
    """The exports of the person who looks, for the days that they are kept."""

    purpose = "Large exports that you asked for on a list are kept here for some days."
    menu_group = "Records"
    menu_order = 91
    icon = "download"
    list_display = ("file_name", "record_kind", "status_label", "rows_done", "created_at")
    list_filter = (("status", ChoicesDropdownFilter),)
    record_pages = (Page("file"), Page("progress", method="GET"), Page("content", method="GET"))

    class Media:
        css: ClassVar[dict[str, Sequence[str]]] = {"all": ["imports.css"]}
        js = ("file_import.js",)

    @display(description="kind of record", ordering="record_type")
    def record_kind(self, file_export: FileExport) -> str:
        return kind_of_record(file_export)

    status_label = list_column(
        "status",
        "status",
        label={"Ready": "success", "Failed": "danger", "Exporting": "info", "Cancelled": "warning"},
    )

    def list_page_of(self, file_export: FileExport) -> Any:
        """The page of the list that is exported; none where only another version of the service has it."""
        model = model_of(file_export.record_type)
        if model is None or not admin.site.is_registered(model):
            raise Http404
        return admin.site.get_model_admin(model)

    def file_page(self, request: HttpRequest, record: FileExport) -> HttpResponse:
        """How far the export is, or the link to its file; POST cancels it."""
        note_dead_export(record)
        if request.method == "POST":
            cancel_export(record)
            return redirect(self.page_url("file", record.pk))
        return self.render_page(
            request,
            "admin/file_export.html",
            f"Export of {record.file_name}",
            record,
            file_export=record,
            list_url=f"{self.list_page_of(record).page_url('changelist')}?{record.query}",
            available_until=timezone.localtime(record.created_at)
            + dt.timedelta(days=settings.EXPORT_FILE_DAYS),
        )

    def progress_page(self, request: HttpRequest, record: FileExport) -> JsonResponse:
        note_dead_export(record)
        return JsonResponse(
            {"running": record.is_running, "done": record.rows_done, "total": record.rows_total}
        )

    def content_page(self, request: HttpRequest, record: FileExport) -> StreamingHttpResponse:
        """The file, for whoever may still view the list, and sees the participants that it was made for."""
        page = self.list_page_of(record)
        if not page.has_view_permission(request):
            raise PermissionDenied
        if record.sight != sight_digest(request.user):
            raise PermissionDenied("What your role sees has changed since: export the list again.")
        if record.status != FileExport.Status.READY:
            raise Http404
        if is_logged(page.model):
            READ_LOG.add(page.model, "Download", record.rows_done, b"")
        media_type = FILE_TYPES[record.file_name.rpartition(".")[2]][1]
        return parts_response(read_parts(record), record.file_name, media_type)
