"""The back office's form for uploading many files at once."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect
from django.core.files.uploadedfile import UploadedFile
from unfold.widgets import UnfoldAdminSelectWidget

from apps.documents.keeping import kept_together
from apps.documents.models import Document, DocumentCategory
from apps.documents.receiving import Upload, store_upload
from apps.odata.declaration.service import get_service
from apps.people.models import Client


class UploadForm(forms.Form):
    """What holds for all files of an upload, where a file's own row says nothing else."""

    category = forms.ModelChoiceField(
        queryset=DocumentCategory.objects.none(),
        required=False,
        label="Category of all files",
        widget=UnfoldAdminSelectWidget(),
    )
    client = forms.ModelChoiceField(
        queryset=Client.objects.filter(archive_date=None), required=False, label="Client of all files"
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        open_categories = DocumentCategory.objects.filter(archive_date=None)
        self.fields["category"].queryset = open_categories  # type: ignore[attr-defined]
        looked_up = AutocompleteSelect(Document._meta.get_field("client"), admin.site)
        looked_up.choices = self.fields["client"].choices  # type: ignore[attr-defined]
        self.fields["client"].widget = looked_up


def upload(files: list[UploadedFile], lists: dict[str, list[str]]) -> list[Any]:
    """File what somebody chose in the back office; the guids. Raises as ``store_upload`` and ``keep`` do."""
    with kept_together() as keeping:
        kept = [keeping.keep(file.chunks(), file.name or "") for file in files]
        return store_upload(get_service().by_model[Document], Upload(kept, lists, b"")).keys
