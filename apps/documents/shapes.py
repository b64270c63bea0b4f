"""The objects that documents refer to (interface.md 2.6)."""

from apps.documents.models import DocumentCategory
from apps.odata.declaration import Key, ReadOnly, Shape


class DocumentCategoryBrief(Shape):
    model = DocumentCategory
    fields = (Key("DocumentCategoryGuid"), ReadOnly("Name"), ReadOnly("ArchiveDate"))
