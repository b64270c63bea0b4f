"""Files of what a list shows with its filters: the same columns as exports by command, which imports read."""

from tempfile import TemporaryFile

from django.contrib import messages
from django.db.models import Model, QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from apps.base.declaration.service import declared_set
from apps.base.errors import system_reason
from apps.base.replica import database_for_lists
from apps.core import exporting
from apps.core.admin_base.list_views import ListViewAdmin, filters_of
from apps.core.admin_base.pages import Page
from apps.core.caseload import caseload_of
from apps.core.file_exports import start_file_export
from apps.core.file_import_kinds import FILE_KINDS, permitted_kinds
from apps.core.table_files.tables import ImportFileError

#: As many records are exported while the person waits.
SMALL_EXPORT = 2_000
EXPORT = Page("export/<str:file_type>", method="GET")
#: The titles of the links, and the media types of the files, by their extension.
FILE_TYPES = {
    "csv": ("Export CSV", "text/csv; charset=utf-8"),
    "xlsx": ("Export Excel (XLSX)", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
}


class ExportAdmin(ListViewAdmin):
    """A list of records of a resource, of which what is filtered is exported."""

    base_pages = (*ListViewAdmin.base_pages, EXPORT)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        links = self.export_links(request.GET) if declared_set(self.model) else []
        context = {"export_links": links, "import_links": self.import_links(request), **(extra_context or {})}
        return super().changelist_view(request, context)

    def import_links(self, request: HttpRequest) -> list[dict[str, str]]:
        return [
            {
                "title": f"Import: {kind.title}" if kind in FILE_KINDS else "Import",
                "link": f"{reverse('admin:core_fileimport_add')}?kind={kind.name}",
            }
            for kind in permitted_kinds(request.user)
            if kind.model is self.model
        ]

    def export_links(self, query: QueryDict) -> list[dict[str, str]]:
        filters = filters_of(query)
        return [
            {"title": title, "link": f"{self.page_url('export', file_type)}?{filters}"}
            for file_type, (title, _) in FILE_TYPES.items()
        ]

    def exported_records(self, request: HttpRequest) -> QuerySet[Model]:
        """All records that the filters of the address leave."""
        found = self.filtered_records(request)
        records = self.model._default_manager.using(database_for_lists())
        return records.filter(pk__in=found.order_by().values("pk"))

    def export_page(self, request: HttpRequest, file_type: str) -> HttpResponseBase:
        """A file of few records at once; of many a worker writes it."""
        entity_set = declared_set(self.model)
        if entity_set is None or file_type not in FILE_TYPES:
            raise Http404
        rows = self.exported_records(request)
        name, media_type = f"{entity_set.name}.{file_type}", FILE_TYPES[file_type][1]
        if rows[SMALL_EXPORT:].exists():
            query = filters_of(request.GET)
            file_export = start_file_export(self.model, name, query, request.user.pk)
            return redirect("admin:core_fileexport_file", file_export.pk)
        try:
            file = TemporaryFile()  # noqa: SIM115  the response closes it
            exporting.WRITERS[file_type](
                file, *exporting.table_of(entity_set, rows, sees=caseload_of(request.user))
            )
        except (ImportFileError, OSError) as error:
            reason = system_reason(error) if isinstance(error, OSError) else error
            self.message_user(request, f"The file was not written: {reason}", messages.ERROR)
            return redirect(f"{self.page_url('changelist')}?{request.GET.urlencode()}")
        file.seek(0)
        return FileResponse(file, as_attachment=True, filename=name, content_type=media_type)
