"""The endpoints of documents (interface.md 4, 4.5, 4.6)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request

from apps.documents import resources
from apps.documents.describing import DOWNLOAD, UPLOAD
from apps.documents.keeping import kept_together
from apps.documents.models import Document
from apps.documents.receiving import FILES, LISTS, Upload, read_upload, receive
from apps.documents.sending import file_answer
from apps.odata import protocol, writing
from apps.odata.errors import Conflict, Fault, NotFound, UnsupportedMediaType, ValidationFailed
from apps.odata.keys import read_key
from apps.odata.options import QueryOptions
from apps.odata.views import RecordViewSet
from apps.odata.writing import Created

_PLACE = re.compile(r"value\[(\d+)\](?:/(\w+).*)?")

#: The members of a document, by the form fields that give them.
FIELD_OF = dict(
    zip(("CreatedByStaffGuid", "DocumentCategory", "ClientGuid", "DocumentName"), LISTS, strict=True)
)


class DocumentViewSet(RecordViewSet):
    """Uploaded files."""

    resource = resources.DocumentResource

    @extend_schema(operation=UPLOAD)
    def create(self, request: Request) -> HttpResponse:
        """POST: all files of the form are kept, or none; a repeated upload is known by what is in it."""
        self.refuse_plain(self.query_options())
        if not request.content_type.lower().startswith("multipart/form-data"):
            raise UnsupportedMediaType("Documents are sent as multipart/form-data.")
        told = self.told_length(request)
        with kept_together() as keeping, told_by_field():
            self.upload = receive(request._request.read, request.content_type, told, keeping)
            return self.once(request, lambda: self.created(request), self.upload.digest)

    upload: Upload

    def stored(self, request: Request, options: QueryOptions) -> Created:
        return writing.create_of(self.entity_set, lambda: read_upload(self.entity_set, self.upload))

    @extend_schema(operation=DOWNLOAD)
    @action(detail=True, methods=["get"], url_path="Download", url_name="download")
    def download(self, request: Request, key: str) -> HttpResponseBase:
        """The file as it was stored (interface.md 4.6); of archived documents as well."""
        self.refuse_plain(self.query_options())
        guid = read_key(self.entity_set, key)
        visible = self.entity_set.resource.visible_to(request.auth)
        document: Document | None = visible.filter(pk=guid).first()
        if document is None:
            raise NotFound(f"There is no {self.entity_set.name} {guid}.")
        return protocol.finish(file_answer(document, request._request))


class DocumentCategoryViewSet(RecordViewSet):
    """Categories of documents."""

    resource = resources.DocumentCategoryResource


VIEWSETS = (DocumentViewSet, DocumentCategoryViewSet)


@contextmanager
def told_by_field() -> Iterator[None]:
    """Refusals name the fields of the form: ``ClientGuidList[1]`` for ``value[1]/ClientGuid``."""
    try:
        yield
    except (ValidationFailed, Conflict) as refused:
        raise replace(refused, details=tuple(map(by_field, refused.details))) from refused.__cause__


def by_field(fault: Fault) -> Fault:
    found = _PLACE.fullmatch(fault.target or "")
    if found is None:
        return fault
    each = FIELD_OF.get(found[2] or "")
    return replace(fault, target=f"{each.name if each else FILES}[{found[1]}]")
