"""The file of a form: in the storage as soon as it is chosen, a document once the form is saved.

So a form that is shown again with errors keeps its file. A file whose form is never saved is deleted by
``services.sweep``.
"""

from dataclasses import asdict

from django import forms
from django.core import signing
from django.core.files.uploadedfile import UploadedFile

from apps.base.drafts import apply_rules, raise_if_invalid
from apps.documents.drafts import DocumentDraft
from apps.documents.services import attach_file
from apps.documents.storage import FileBatch, StoredFile, document_storage, find_used_keys
from apps.documents.validation import FILE_RULES

SALT = "documents.form_files"
#: Shorter than the age of files that the sweep deletes.
TOKEN_SECONDS = 12 * 3600


def store_form_file(upload: UploadedFile) -> StoredFile:
    """Store a chosen file. Raises ``ValidationFailed`` for one that no document may have."""
    batch = FileBatch()
    try:
        stored = batch.store(upload.chunks(), upload.name or "")
        drafts = [document_draft(stored)]
        raise_if_invalid(drafts, apply_rules(drafts, FILE_RULES))
    except Exception:
        batch.delete_all()
        raise
    return stored


def document_draft(file: StoredFile, **members: object) -> DocumentDraft:
    """The draft of a document with this file and its name."""
    draft = DocumentDraft({"name": None, **members})
    attach_file(draft, file)
    return draft


def file_token(file: StoredFile) -> str:
    """The file as a signed text for a hidden field."""
    return signing.dumps({**asdict(file), "content": sorted(file.content)}, salt=SALT, compress=True)


def read_file_token(token: str) -> StoredFile:
    """Raises ``BadSignature`` for another text, and for a token that has expired."""
    values = signing.loads(token, salt=SALT, max_age=TOKEN_SECONDS)
    return StoredFile(**{**values, "content": frozenset(values["content"])})


class StoredFileField(forms.CharField):
    """A hidden field with the token of a file; the script of the page stores the file that is chosen."""

    widget = forms.HiddenInput

    def clean(self, value: object) -> StoredFile | None:
        token = super().clean(value)
        if not token:
            return None
        try:
            file = read_file_token(token)
        except signing.BadSignature:
            raise forms.ValidationError("Choose the file again.", code="Expired") from None
        if find_used_keys([file.storage_key]):
            message = f"{file.file_name} is a document already: this form was saved before."
            raise forms.ValidationError(message, code="AlreadyUsed")
        if not document_storage().exists(file.storage_key):
            raise forms.ValidationError("Choose the file again.", code="NotFound")
        return file
