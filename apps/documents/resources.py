"""The resources of documents, declared in the words of interface.md 2.6 and 4.5."""

from apps.base.declaration.resource import (
    DELETE,
    GET,
    PATCH,
    POST,
    Key,
    Optional,
    ReadOnly,
    RefersTo,
    Required,
    UnrestrictedResource,
)
from apps.core.archive import archive
from apps.core.resources import RECORD_DATES, LookupResource, lookup_summary
from apps.documents.drafts import DocumentDraft
from apps.documents.imports import DocumentImport
from apps.documents.models import Document, DocumentCategory
from apps.documents.services import create_documents, update_documents

DocumentCategorySummary = lookup_summary("DocumentCategoryBrief", DocumentCategory, "DocumentCategoryGuid")


class DocumentResource(UnrestrictedResource):
    """An uploaded file with its name, client and category."""

    model = Document
    path = "document"
    search = Document.searched.interface
    unpublished = ("contact",)
    methods = GET, POST
    methods_of_2_1 = PATCH, DELETE
    fields = (
        Key("DocumentGuid"),
        Optional("DocumentName", source="name"),
        Optional("ClientGuid", source="client", partner="Documents"),
        Required("CreatedByStaffGuid", source="created_by", write_only=True),
        ReadOnly("CreationDate"),
        ReadOnly("ArchiveDate"),
        RefersTo("DocumentCategory", DocumentCategorySummary, source="category", required=True),
    )
    draft_class = DocumentDraft
    create, update, archive = create_documents, update_documents, archive
    importing = DocumentImport


class DocumentCategoryResource(LookupResource):
    """A category of documents."""

    model = DocumentCategory
    path = "documentCategory"
    fields = (
        Key("DocumentCategoryGuid"),
        ReadOnly("Name"),
        *RECORD_DATES,
    )
