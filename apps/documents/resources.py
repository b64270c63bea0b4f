"""The resources of documents, declared in the words of interface.md 2.6 and 4.5."""

from typing import Any

from django.db.models import QuerySet

from apps.core.resources import LookupResource
from apps.documents.imports import DocumentImport
from apps.documents.models import Document, DocumentCategory
from apps.documents.services import create_documents
from apps.odata.declaration.resource import (
    GET,
    POST,
    Key,
    NestedType,
    Optional,
    ReadOnly,
    RefersTo,
    Required,
    Resource,
)


class DocumentCategorySummary(NestedType):
    type_name = "DocumentCategoryBrief"
    model = DocumentCategory
    fields = (Key("DocumentCategoryGuid"), ReadOnly("Name"), ReadOnly("ArchiveDate"))


class DocumentResource(Resource):
    """An uploaded file with its name, client and category."""

    model = Document
    path = "document"
    search = ("name", "file_name")
    methods = GET, POST
    fields = (
        Key("DocumentGuid"),
        Optional("DocumentName", source="name"),
        Optional("ClientGuid", source="client"),
        Required("CreatedByStaffGuid", source="created_by", write_only=True),
        ReadOnly("CreationDate"),
        ReadOnly("ArchiveDate"),
        RefersTo("DocumentCategory", DocumentCategorySummary, source="category", required=True),
    )
    create = create_documents
    importing = DocumentImport

    def visible_to(self, caller: Any) -> QuerySet[Document]:
        return Document.objects.all()


class DocumentCategoryResource(LookupResource):
    """A category of documents."""

    model = DocumentCategory
    path = "documentCategory"
    fields = (
        Key("DocumentCategoryGuid"),
        ReadOnly("Name"),
        ReadOnly("CreationDate"),
        ReadOnly("ModifyDate"),
        ReadOnly("ArchiveDate"),
    )
