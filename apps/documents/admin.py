"""The back office of documents and their categories."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, ClassVar, cast

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.signing import BadSignature
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from unfold.contrib.filters.admin import RelatedDropdownFilter
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget

from apps.access.callers import StaffCaller
from apps.base.batched_queries import AnyOf
from apps.base.declaration.service import get_service
from apps.base.drafts import ValidationFailed
from apps.base.errors import ErrorDetail, ServiceError, plural
from apps.core.admin_base import (
    ArchivedFilter,
    DateTimeRangeFilter,
    LookupAdmin,
    Page,
    RecordAdmin,
    RecordFilter,
    fieldset,
    record_panel,
    register_panels,
)
from apps.core.admin_base.display import admin_url, link, list_column
from apps.core.admin_base.forms import offer_visible_records
from apps.core.admin_base.record_fields import RecordSelect
from apps.core.caseload import visible_rows
from apps.documents.downloads import IMAGES, PDF, file_response
from apps.documents.file_types import allowed_extensions
from apps.documents.form_files import file_token, read_file_token, store_form_file
from apps.documents.models import Document, DocumentCategory
from apps.documents.parsers import FILES, PARALLEL_LISTS, Upload
from apps.documents.storage import FileBatch, StoredFile
from apps.documents.uploads import create_documents_of_upload
from apps.people.models import Client, Contact, Staff

_PLACE = re.compile(r"(\w+)\[(\d+)\]")

STAFF, CATEGORIES, CLIENTS, NAMES = (each.name for each in PARALLEL_LISTS)


class RequiredCategoryField(forms.ModelChoiceField):
    """Shown as required; each file may have its own category, and the service says which has none."""

    def validate(self, value: object) -> None:
        pass


class UploadForm(forms.Form):
    """The category and organisation of all files, for those without their own; the participant of all."""

    category = RequiredCategoryField(
        queryset=DocumentCategory.objects.none(),
        label="Category of all files",
        widget=UnfoldAdminSelectWidget(),
    )
    client = forms.ModelChoiceField(
        queryset=Client.objects.filter(archive_date=None), required=False, label="Organisation of all files"
    )
    contact = forms.ModelChoiceField(
        queryset=Contact.objects.filter(archive_date=None), required=False, label="Participant of all files"
    )

    def __init__(self, person: object, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        category = cast("Any", self.fields["category"])
        category.queryset = DocumentCategory.objects.filter(archive_date=None)
        for name in ("client", "contact"):
            field = cast("Any", self.fields[name])
            field.widget = RecordSelect(Document._meta.get_field(name), admin.site, choices=field.choices)
        offer_visible_records(self, person)


@admin.register(DocumentCategory)
class DocumentCategoryAdmin(LookupAdmin):
    """Categories of documents."""

    menu_order = 850
    icon = "category"


@admin.register(Document)
class DocumentAdmin(RecordAdmin):
    """Documents: upload, preview, download, rename, archive."""

    purpose = "Files of participants, organisations and plans: agreements, plans, provider invoices."
    menu_group = "Records"
    menu_order = 100
    icon = "folder_open"
    change_form_before_template = "documents/preview.html"
    list_pages = (Page("file", permission="add"),)
    record_pages = (Page("download", "Download"), Page("preview"), *RecordAdmin.record_pages)

    class Media:
        css: ClassVar[dict[str, Sequence[str]]] = {"all": ["documents.css"]}

    list_display = (
        *("name", "client", "contact", "category", "created_by", "kilobytes", "creation_date", "archived"),
    )
    list_select_related = ("client", "contact", "category", "created_by")
    list_filter = (
        ArchivedFilter,
        ("client", RecordFilter),
        ("contact", RecordFilter),
        ("category", RelatedDropdownFilter),
        ("created_by", RecordFilter),
        ("creation_date", DateTimeRangeFilter),
    )
    search_help_text = "Name, file, organisation or SHA-256"
    ordering = ("-creation_date", "-guid")
    readonly_fields = ("file", "media_type", "kilobytes", "sha256", "created_by")
    fieldsets = (
        fieldset(None, "name", "category", ("client", "contact")),
        fieldset("File", "file", ("media_type", "kilobytes"), "sha256", "created_by"),
    )

    kilobytes = list_column("size", "size", filesizeformat)

    @display(description="file")
    def file(self, document: Document) -> str:
        return link(self.page_url("download", document.pk), document.file_name)

    # --- download and preview

    def download_page(self, request: HttpRequest, record: Document, inline: bool = False) -> HttpResponseBase:
        try:
            return file_response(record, request, inline and preview_kind(record) is not None)
        except ServiceError as error:
            return HttpResponse(error.message, status=error.status, content_type="text/plain; charset=utf-8")

    def preview_page(self, request: HttpRequest, record: Document) -> HttpResponseBase:
        """The file as a browser shows it, for a frame without any rights."""
        return self.download_page(request, record, inline=True)

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: object, **options: object
    ) -> HttpResponse:
        document = context["original"]
        kind = preview_kind(document)
        preview = (kind, self.page_url("preview", document.pk)) if kind else None
        return super().render_change_form(request, {"preview": preview, **context}, *args, **options)

    # --- the file of another record's form (form_files)

    def file_page(self, request: HttpRequest) -> HttpResponseBase:
        """POST stores the file that was chosen in a form, GET shows it until the form is saved."""
        if request.method == "POST":
            return self.store_file(request)
        try:
            file = read_file_token(request.GET.get("token", ""))
        except BadSignature:
            raise Http404("The file has expired.") from None
        return self.preview_page(request, unsaved_document(file))

    def store_file(self, request: HttpRequest) -> JsonResponse:
        upload = request.FILES.get("file")
        if upload is None:
            return JsonResponse({"message": "Choose a file."}, status=400)
        try:
            return JsonResponse(form_file_data(store_form_file(upload)))
        except ValidationFailed as failed:
            return JsonResponse({"message": " ".join(each.message for _, each in failed.issues)}, status=400)
        except ServiceError as error:
            return JsonResponse({"message": error.message}, status=error.status)

    # --- uploading

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: object = None
    ) -> HttpResponse:
        """Many files at once, a row for each; without the page's script all have the same category."""
        if not self.has_add_permission(request):
            raise PermissionDenied(*self.explain_refusal(request, "add"))
        initial = {"category": self.default_category(request), **self.get_changeform_initial_data(request)}
        form = UploadForm(request.user, request.POST if request.method == "POST" else None, initial=initial)
        errors: list[str] = []
        if request.method == "POST" and form.is_valid():
            try:
                keys = self.upload(request, form)
            except ServiceError as error:
                if wants_json(request):
                    issues = [located_detail(detail) for detail in error.details]
                    return JsonResponse({"message": error.message, "issues": issues}, status=error.status)
                errors = [error.message, *(error_text(detail) for detail in error.details)]
            else:
                self.message_user(request, f"{plural(len(keys), 'document')} added.", messages.SUCCESS)
                address = self.uploaded_url(request, list(Document.objects.filter(AnyOf("pk", keys))))
                return JsonResponse({"url": address}) if wants_json(request) else redirect(address)
        elif request.method == "POST" and wants_json(request):
            message = " ".join(
                f"{form[name].label}: {text}" for name, texts in form.errors.items() for text in texts
            )
            return JsonResponse({"message": message}, status=400)
        return self.render_page(
            request,
            "documents/upload.html",
            "Add documents",
            form=form,
            media=self.media + form.media,
            errors=errors,
            limits={
                "files": settings.DOCUMENT_MAX_FILES,
                "bytes": settings.DOCUMENT_MAX_BYTES,
                "types": sorted(allowed_extensions()),
            },
        )

    def default_category(self, request: HttpRequest) -> object:
        """The category that the person chose last, else that of the newest document, else the only one."""
        current = Document.objects.filter(category__archive_date=None).order_by("-creation_date", "-guid")
        current = visible_rows(request.user, current)
        for documents in (current.filter(created_by=request.user.pk), current):
            newest = documents.values_list("category", flat=True).first()
            if newest is not None:
                return newest
        categories = DocumentCategory.objects.filter(archive_date=None).values_list("pk", flat=True)[:2]
        return categories[0] if len(categories) == 1 else None

    def uploaded_url(self, request: HttpRequest, documents: Sequence[Document]) -> str:
        """The page after an upload of these."""
        return self.page_url("changelist")

    def upload(self, request: HttpRequest, form: UploadForm) -> Sequence[object]:
        """Store the files with the values of their rows, or those for all files; the documents' keys."""
        files: Any = request.FILES.getlist(FILES)
        defaults = {
            CATEGORIES: getattr(form.cleaned_data["category"], "pk", ""),
            CLIENTS: getattr(form.cleaned_data["client"], "pk", ""),
            NAMES: "",
        }
        lists = {
            name: request.POST.getlist(name) or [str(value)] * len(files) for name, value in defaults.items()
        }
        lists[STAFF] = [str(request.user.pk)] * len(files)
        with FileBatch() as file_batch:
            stored_files = [file_batch.store(file.chunks(), file.name or "") for file in files]
            entity_set = get_service().by_model[Document]
            contact = form.cleaned_data["contact"]
            upload, caller = Upload(stored_files, lists, contact=contact), StaffCaller(request.user)
            return create_documents_of_upload(entity_set, upload, caller).keys


def unsaved_document(file: StoredFile) -> Document:
    of_rules = {"content", "virus"}
    return Document(**{name: value for name, value in asdict(file).items() if name not in of_rules})


def form_file_data(file: StoredFile) -> dict[str, str]:
    """The values of a file that a form keeps; ``preview`` is empty for one that browsers do not show."""
    token, kind = file_token(file), preview_kind(unsaved_document(file))
    preview = admin_url(Document, "file", token=token) if kind else ""
    return {"token": token, "name": file.file_name, "kind": kind or "", "preview": preview}


def form_file_context(token: str | None) -> dict[str, object]:
    """The panel of a form's file: where it is stored, what it may be, and the file that was stored before."""
    try:
        file = form_file_data(read_file_token(token)) if token else None
    except BadSignature:
        file = None
    types = [f".{each}" for each in sorted(allowed_extensions())]
    limits = {"bytes": settings.DOCUMENT_MAX_BYTES, "types": types}
    return {"address": admin_url(Document, "file"), "file": file, **limits}


def preview_kind(document: Document) -> str | None:
    """How a browser can show the file: ``image``, ``pdf``, or not."""
    if document.media_type in IMAGES:
        return "image"
    return "pdf" if document.media_type == PDF else None


def wants_json(request: HttpRequest) -> bool:
    return request.headers.get("Accept", "") == "application/json"


COLUMNS: dict[str, str] = {CATEGORIES: "category", CLIENTS: "client", NAMES: "name", FILES: "file"}


def located_detail(detail: ErrorDetail) -> dict[str, Any]:
    """A detail of an error for the page's script, with its row and column."""
    match = _PLACE.fullmatch(detail.target or "")
    row, name = (int(match[2]), match[1]) if match else (None, detail.target or "")
    return {"row": row, "column": COLUMNS.get(name, ""), "message": detail.message}


def error_text(detail: ErrorDetail) -> str:
    """A detail for people without a script: ``File 2, category: …``."""
    located = located_detail(detail)
    place = "" if located["row"] is None else f"File {located['row'] + 1}, {located['column']}: "
    return place + detail.message


DOCUMENT_COLUMNS = ("name", "category", "kilobytes", "created_by", "creation_date")
register_panels(Client, record_panel(Document, DOCUMENT_COLUMNS, column="client", order=40, can_add=True))
register_panels(Contact, record_panel(Document, DOCUMENT_COLUMNS, column="contact", order=50, can_add=True))
register_panels(
    Staff, record_panel(Document, DOCUMENT_COLUMNS, column="created_by", title="Documents added", order=70)
)
