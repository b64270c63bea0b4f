"""The objects that documents refer to (interface.md 2.6)."""

from apps.documents.models import DocumentCategory
from apps.odata.declaration.resource import Key, NestedType, ReadOnly


class DocumentCategoryBrief(NestedType):
    model = DocumentCategory
    fields = (Key("DocumentCategoryGuid"), ReadOnly("Name"), ReadOnly("ArchiveDate"))
