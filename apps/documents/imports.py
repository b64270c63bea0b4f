"""Imports of documents: a folder of files, and an index that says what each of them is."""

import hashlib
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings

from apps.base.declaration.resource import Optional, Required
from apps.base.declaration.values import WireValueError
from apps.base.drafts import Issue, ValidationFailed
from apps.base.errors import ServiceError
from apps.core.importing.cells import CleanedText
from apps.core.importing.columns import RecordColumn
from apps.core.importing.definition import ImportDefinition
from apps.core.table_files.tables import ImportFileError
from apps.documents.drafts import DocumentDraft
from apps.documents.models import MAX_PATH_LENGTH, Document
from apps.documents.services import attach_file, create_documents, update_documents
from apps.documents.storage import CHUNK_SIZE, FileBatch, StoredFile

#: Between a file's path and its hash in ``Document.import_source``.
HASH = "#"
SOURCE = re.compile(rf".+{HASH}[0-9a-f]{{64}}")


class DocumentImport(ImportDefinition):
    """Rows name files by their path from the index. The same row with the same bytes is there already."""

    columns = (
        RecordColumn("ClientBusinessName", ("Client", "Client name")),
        RecordColumn("ClientUniqueCode", ("Client code",)),
        RecordColumn("DocumentCategory/Name", ("Category", "Category/Name")),
        RecordColumn("DocumentCategory/DocumentCategoryGuid", ("Category/DocumentCategoryGuid",)),
        RecordColumn(
            "CreatedByStaffPrimaryEmail",
            ("Created by", "Created by email", "CreatedBy/PrimaryEmail", "Added by", "Uploaded by"),
        ),
        RecordColumn("CreatedByStaffUniqueCode", ("Created by code", "CreatedBy/UniqueCode")),
        RecordColumn("CreatedByStaffGuid", ("CreatedBy/StaffGuid",)),
        RecordColumn("DocumentName", ("Name",)),
        RecordColumn("File", ("File name", "Path")),
    )
    fields = (Optional("File", source="import_source"), Required("CreatedByStaffGuid", source="created_by"))

    def __init__(self) -> None:
        self.cleaners = {"import_source": self.with_hash}
        self.files = FileBatch()

    def with_hash(self, text: str) -> CleanedText:
        """A path with the hash of the file there, so that another file of the same name is another one."""
        if SOURCE.fullmatch(text):
            return CleanedText(text)  # of an export, of documents that exist
        path = self.file_at(text)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return CleanedText(f"{path.relative_to(self.folder).as_posix()}{HASH}{digest}")

    def file_at(self, text: str) -> Path:
        """The file of that path below the folder of the index; ``WireValueError`` when there is none."""
        if len(text) > MAX_PATH_LENGTH:
            raise WireValueError("TooLong", f"may have {MAX_PATH_LENGTH} characters at most.")
        path = (self.folder / text.replace("\\", "/")).resolve()
        if not path.is_relative_to(self.folder):
            raise WireValueError("NotAllowed", "lies outside the folder of the index.")
        if not path.is_file():
            raise WireValueError("NotFound", f"is not there: {text} in the folder of the index.")
        if path.stat().st_size > settings.DOCUMENT_MAX_BYTES:
            raise WireValueError("TooLarge", f"is larger than {settings.DOCUMENT_MAX_BYTES:,} bytes.")
        return path

    def create(self, drafts: Sequence[DocumentDraft], **options: Any) -> Any:
        issues = []
        for number, draft in enumerate(drafts):
            path = self.folder / (draft.get("import_source") or "").rpartition(HASH)[0]
            if "import_source" not in draft.invalid and not path.is_file():
                issues.append((number, Issue("Required", "import_source", "A new document has a file.")))
                draft.mark_invalid("import_source")
            if "import_source" in draft.invalid:
                for name in ("file_name", "size", "content", "virus", "name", "storage_key"):
                    draft.mark_invalid(name)
            elif draft.get("storage_key") is None:  # else stored already: drafts may be passed several times
                attach_file(draft, self.stored(path))
        if issues:
            raise ValidationFailed(issues)
        return create_documents(drafts)

    def stored(self, path: Path) -> StoredFile:
        try:
            with path.open("rb") as file:
                return self.files.store(iter(partial(file.read, CHUNK_SIZE), b""), path.name)
        except ServiceError as error:
            raise ImportFileError(f"{path.name}: {error.message}") from None

    def update(self, drafts: Sequence[DocumentDraft], **options: Any) -> Any:
        sources = dict(
            Document.objects.filter(pk__in=[draft.key for draft in drafts]).values_list("pk", "import_source")
        )
        issues = [
            (number, Issue("NotAllowed", "import_source", "A document's file stays; add another document."))
            for number, draft in enumerate(drafts)
            if draft.get("import_source") not in (None, sources[draft.key])
        ]
        if issues:
            raise ValidationFailed(issues)
        return update_documents(drafts)

    def close(self) -> None:
        self.files.delete_unused()
