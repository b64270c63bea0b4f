"""Imports of documents: a folder of files, and an index that says what each of them is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from apps.core.importing.additions import Cleaning, Importing
from apps.documents import validation
from apps.documents.models import MAX_PATH_LENGTH, Document, DocumentCategory
from apps.documents.services import attach_file, create_documents, update_documents
from apps.documents.storage import CHUNK_SIZE, FileBatch
from apps.odata.declaration.resource import Key, NestedType, Optional, ReadOnly, RefersTo, Required, Resource
from apps.odata.declaration.schema import EntitySet, bind_resource
from apps.odata.write.drafts import Draft, Issue, ValidationFailed
from apps.odata.write.json_values import JsonValueError
from apps.people.models import Client, Staff

#: Between a file's path and its hash in ``Document.import_source``.
HASH = "#"


class ClientInIndex(NestedType):
    model = Client
    fields = (Key("ClientGuid"), ReadOnly("BusinessName"), ReadOnly("UniqueCode"))


class CategoryInIndex(NestedType):
    model = DocumentCategory
    fields = (Key("DocumentCategoryGuid"), ReadOnly("Name"))


class StaffInIndex(NestedType):
    model = Staff
    fields = (Key("StaffGuid"), ReadOnly("PrimaryEmail"), ReadOnly("UniqueCode"))


class DocumentIndex(Resource):
    """A row of an index: which file, called what, about whom, of what kind, brought by whom."""

    model = Document
    path = "document"
    fields = (
        Key("DocumentGuid"),
        Required("File", source="import_source"),
        Optional("Name", aliases=("DocumentName",)),
        RefersTo("Client", ClientInIndex),
        RefersTo("Category", CategoryInIndex, required=True),
        RefersTo("CreatedBy", StaffInIndex, required=True),
    )

    def visible_to(self, caller: Any) -> QuerySet[Document]:
        return Document.objects.all()


class DocumentImport(Importing):
    """Rows name files by their path from the index. The same row with the same bytes is there already."""

    synonyms = {
        "Client": "Client/BusinessName",
        "Client name": "Client/BusinessName",
        "Client code": "Client/UniqueCode",
        "Category": "Category/Name",
        "Document category": "Category/Name",
        "Created by": "CreatedBy/PrimaryEmail",
        "Created by email": "CreatedBy/PrimaryEmail",
        "Created by code": "CreatedBy/UniqueCode",
        "Created by staff guid": "CreatedBy/StaffGuid",
        "Uploaded by": "CreatedBy/PrimaryEmail",
        "File name": "File",
        "Path": "File",
    }
    alike = ("import_source",)
    rules = validation.DOCUMENT_RULES

    def __init__(self, served: EntitySet) -> None:
        super().__init__(bind_resource(DocumentIndex))
        self.cleaners = {"File": self.with_hash}
        self.keeping = FileBatch()

    def with_hash(self, text: str) -> Cleaning:
        """A path with the hash of the file there, so that another file of the same name is another one."""
        path = self.file_at(text)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Cleaning(f"{path.relative_to(self.folder).as_posix()}{HASH}{digest}")

    def file_at(self, text: str) -> Path:
        """The file of that path below the folder of the index; ``ValueFault`` when there is none to take."""
        if len(text) > MAX_PATH_LENGTH:
            raise JsonValueError("TooLong", f"may have {MAX_PATH_LENGTH} characters at most.")
        path = (self.folder / text.replace("\\", "/")).resolve()
        if not path.is_relative_to(self.folder):
            raise JsonValueError("NotAllowed", "lies outside the folder of the index.")
        if not path.is_file():
            raise JsonValueError("NotFound", f"is not there: {text} in the folder of the index.")
        if path.stat().st_size > settings.DOCUMENT_MAX_BYTES:
            raise JsonValueError("TooLarge", f"is larger than {settings.DOCUMENT_MAX_BYTES:,} bytes.")
        return path

    def create(self, drafts: Sequence[Draft]) -> Any:
        for draft in drafts:
            if "import_source" in draft.invalid:
                for name in ("file_name", "size", "content", "name", "storage_key"):
                    draft.mark_invalid(name)
            elif "storage_key" not in draft.__dict__:  # kept before, if the verb is asked again
                path = self.folder / draft.import_source.rpartition(HASH)[0]
                attach_file(draft, self.keeping.store(pieces_of(path), path.name))
        return create_documents(drafts)

    def revise(self, drafts: Sequence[Draft]) -> Any:
        standing = dict(
            Document.objects.filter(pk__in=[draft.key for draft in drafts]).values_list("pk", "import_source")
        )
        moved = [
            (number, Issue("NotAllowed", "import_source", "A document's file stays; add another document."))
            for number, draft in enumerate(drafts)
            if draft.__dict__.get("import_source") not in (None, standing[draft.key])
        ]
        if moved:
            raise ValidationFailed(moved)
        return update_documents(drafts)

    def close(self) -> None:
        self.keeping.delete_unused()


def pieces_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(CHUNK_SIZE):
            yield piece
