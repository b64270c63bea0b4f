"""The back office's pages for documents and their categories."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from unfold.contrib.filters.admin import AutocompleteSelectFilter, RangeDateFilter, RelatedDropdownFilter
from unfold.decorators import display
from unfold.utils import parse_date_str

from apps.core.admin_base import ArchivedFilter, RecordAdmin
from apps.documents.file_types import allowed
from apps.documents.filing import revise_documents
from apps.documents.models import Document, DocumentCategory
from apps.documents.receiving import FILES, LISTS
from apps.documents.sending import IMAGES, PDF, file_answer
from apps.documents.upload_forms import UploadForm, upload
from apps.odata.errors import ErrorDetail, ODataError, plural
from apps.people.admin import LookupAdmin

_PLACE = re.compile(r"(\w+)\[(\d+)\]")

STAFF, CATEGORIES, CLIENTS, NAMES = (each.name for each in LISTS)


class DaysFilter(RangeDateFilter):
    """From the first day to the end of the last, in the subscriber's zone."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        first, last = (self.used_parameters.get(f"{self.parameter_name}_{end}") for end in ("from", "to"))
        for operator, text in (("gte", first), ("lte", last)):
            day = parse_date_str(text) if isinstance(text, str) else None
            if day is not None:
                queryset = queryset.filter(**{f"{self.parameter_name}__date__{operator}": day})
        return queryset


@admin.register(DocumentCategory)
class DocumentCategoryAdmin(LookupAdmin):
    """What kinds of papers are told apart."""

    menu_order = 850
    icon = "category"


@admin.register(Document)
class DocumentAdmin(RecordAdmin):
    """Documents: uploaded here or elsewhere, looked at, filed under another name, archived."""

    update = staticmethod(revise_documents)
    menu_group = "Records"
    menu_order = 100
    icon = "folder_open"
    change_form_before_template = "documents/preview.html"

    class Media:
        css: ClassVar[Any] = {"all": ["documents.css"]}

    list_display = ("name", "client", "category", "created_by", "kilobytes", "creation_date", "archived")
    list_select_related = ("client", "category", "created_by")
    list_filter = (
        ArchivedFilter,
        ("client", AutocompleteSelectFilter),
        ("category", RelatedDropdownFilter),
        ("created_by", AutocompleteSelectFilter),
        ("creation_date", DaysFilter),
    )
    list_filter_submit = True
    search_fields = ("name", "file_name", "client__business_name", "sha256__exact")
    search_help_text = "Name, file, client or SHA-256"
    ordering = ("-creation_date", "-guid")
    readonly_fields = ("file", "media_type", "kilobytes", "sha256", "created_by")
    fieldsets = (
        (None, {"fields": ("name", ("category", "client"))}),
        ("File", {"fields": ("file", ("media_type", "kilobytes"), "sha256", "created_by")}),
    )

    @display(description="size", ordering="size")
    def kilobytes(self, document: Document) -> str:
        return filesizeformat(document.size)

    @display(description="file")
    def file(self, document: Document) -> str:
        address = self.page_url("download", document.pk)
        return format_html('<a class="rs-link" href="{}">{}</a>', address, document.file_name)

    # --- its own pages

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("<path:object_id>/download/", view(self.download_view), name="documents_document_download"),
            path("<path:object_id>/preview/", view(self.preview_view), name="documents_document_preview"),
            *super().get_urls(),
        ]

    def record_links(self, request: HttpRequest, object_id: str) -> list[dict[str, str]]:
        link = {"title": "Download", "icon": "download", "link": self.page_url("download", object_id)}
        return [link, *super().record_links(request, object_id)]

    def download_view(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        return self.sent(request, object_id)

    def preview_view(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """The file as a browser shows it, for a frame of ours that lets it do nothing."""
        return self.sent(request, object_id, inline=True)

    def sent(self, request: HttpRequest, object_id: str, inline: bool = False) -> HttpResponseBase:
        document = self.get_object(request, object_id)
        if document is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if not self.has_view_permission(request, document):
            raise PermissionDenied
        try:
            return file_answer(document, request, inline and preview_of(document) is not None)
        except ODataError as refused:
            return HttpResponse(refused.message, status=refused.status, content_type="text/plain")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        document = self.get_object(request, object_id)
        shown = preview_of(document) if document is not None else None
        preview = (shown, self.page_url("preview", object_id)) if shown else None
        return super().change_view(
            request, object_id, form_url, {"preview": preview, **(extra_context or {})}
        )

    # --- uploading

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Many files at once, a row for each; without the page's script all are filed alike."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = UploadForm(request.POST if request.method == "POST" else None)
        refusals: list[str] = []
        if request.method == "POST" and form.is_valid():
            try:
                number = len(upload(*self.asked(request, form)))
            except ODataError as refused:
                if wants_json(request):
                    return JsonResponse(told(refused), status=refused.status)
                refusals = [refused.message, *(sentence(fault) for fault in refused.details)]
            else:
                self.message_user(request, f"{plural(number, 'document')} uploaded.", messages.SUCCESS)
                address = reverse("admin:documents_document_changelist")
                return JsonResponse({"url": address}) if wants_json(request) else redirect(address)
        context = {
            **self.admin_site.each_context(request),
            "title": "Upload documents",
            "opts": self.opts,
            "form": form,
            "media": self.media + form.media,
            "refusals": refusals,
            "limits": {
                "files": settings.DOCUMENT_MAX_FILES,
                "bytes": settings.DOCUMENT_MAX_BYTES,
                "types": sorted(allowed()),
            },
        }
        return TemplateResponse(request, "documents/upload.html", context)

    def asked(self, request: HttpRequest, form: UploadForm) -> tuple[list[Any], dict[str, list[str]]]:
        """The files, and the lists that go with them: of the rows, else the same for all."""
        files: Any = request.FILES.getlist(FILES)
        same = {
            CATEGORIES: getattr(form.cleaned_data["category"], "pk", ""),
            CLIENTS: getattr(form.cleaned_data["client"], "pk", ""),
            NAMES: "",
        }
        lists = {
            name: request.POST.getlist(name) or [str(value)] * len(files) for name, value in same.items()
        }
        return files, {STAFF: [str(request.user.pk)] * len(files), **lists}


def preview_of(document: Document) -> str | None:
    """How a browser can show the file: ``image``, ``pdf``, or not."""
    if document.media_type in IMAGES:
        return "image"
    return "pdf" if document.media_type == PDF else None


def wants_json(request: HttpRequest) -> bool:
    return request.headers.get("Accept", "") == "application/json"


LABELS: dict[str, str] = {CATEGORIES: "category", CLIENTS: "client", NAMES: "name", FILES: "file"}


def told(refused: ODataError) -> dict[str, Any]:
    """A refusal for the page's script: each fault with its row and column."""
    return {"message": refused.message, "faults": [placed(fault) for fault in refused.details]}


def placed(fault: ErrorDetail) -> dict[str, Any]:
    found = _PLACE.fullmatch(fault.target or "")
    row, name = (int(found[2]), found[1]) if found else (None, fault.target or "")
    return {"row": row, "column": LABELS.get(name, ""), "message": fault.message}


def sentence(fault: ErrorDetail) -> str:
    """A fault for people without a script: ``File 2, category: …``."""
    at = placed(fault)
    place = "" if at["row"] is None else f"File {at['row'] + 1}, {at['column']}: "
    return place + fault.message
