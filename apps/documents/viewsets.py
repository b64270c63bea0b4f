"""The endpoints of documents (interface.md 4, 4.5, 4.6)."""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request

from apps.documents import resources
from apps.documents.downloads import file_response
from apps.documents.models import Document
from apps.documents.openapi import DOWNLOAD, UPLOAD
from apps.documents.parsers import Upload, UploadParser, check_content_length, read_boundary
from apps.documents.storage import FileBatch
from apps.documents.uploads import create_documents_of_upload
from apps.odata.errors import BadBody, NotFound, UnsupportedMediaType
from apps.odata.http import protocol
from apps.odata.http.viewsets import RecordViewSet
from apps.odata.query.keys import read_key
from apps.odata.query.options import QueryOptions
from apps.odata.write.dispatch import Created


class DocumentViewSet(RecordViewSet):
    """Uploaded files."""

    resource = resources.DocumentResource
    parser_classes = (UploadParser,)

    @cached_property
    def file_batch(self) -> FileBatch:
        """The files that the parser stores."""
        return FileBatch()

    def get_parser_context(self, http_request: HttpRequest) -> dict[str, Any]:
        return {**super().get_parser_context(http_request), "file_batch": self.file_batch}

    @extend_schema(operation=UPLOAD)
    def create(self, request: Request) -> HttpResponse:
        """POST: all files of the form are stored, or none; a repeated upload is recognised by its digest."""
        self.refuse_plain(self.query_options())
        if not request.content_type.lower().startswith("multipart/form-data"):
            raise UnsupportedMediaType("Documents are sent as multipart/form-data.")
        read_boundary(request.content_type)  # DRF would answer 415 to an overlong boundary
        check_content_length(self.told_length(request))
        with self.file_batch:
            upload = request.data
            if not isinstance(upload, Upload):  # DRF parses no empty body
                raise BadBody("The body is empty.")
            return self.once(request, lambda: self.created(request), upload.digest)

    def stored(self, request: Request, options: QueryOptions) -> Created:
        return create_documents_of_upload(self.entity_set, cast("Upload", request.data))

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
        return protocol.finish(file_response(document, request._request))


class DocumentCategoryViewSet(RecordViewSet):
    """Categories of documents."""

    resource = resources.DocumentCategoryResource


VIEWSETS = (DocumentViewSet, DocumentCategoryViewSet)
