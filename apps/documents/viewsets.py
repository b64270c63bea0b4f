"""The endpoints of documents (interface.md 4, 4.5, 4.6)."""

from functools import cached_property
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request

from apps.documents import resources
from apps.documents.downloads import file_response
from apps.documents.openapi import DOWNLOAD, UPLOAD
from apps.documents.parsers import Upload, UploadParser
from apps.documents.storage import FileBatch
from apps.documents.uploads import create_documents_of_upload
from apps.odata.http.formats import JSONBodyParser
from apps.odata.http.router import ODataRouter
from apps.odata.http.viewsets import ODataViewSet
from apps.odata.write.dispatch import Created


class DocumentViewSet(ODataViewSet):
    """Uploaded files."""

    resource = resources.DocumentResource
    parser_classes = (UploadParser,)

    @cached_property
    def file_batch(self) -> FileBatch:
        """The files that the parser stores."""
        return FileBatch()

    def parse_body(self, request: Request) -> Any:
        """A file and its data are uploaded as a form; what changes the data is JSON."""
        if request.method == "PATCH":
            request.parsers = [JSONBodyParser()]
        return super().parse_body(request)

    def get_parser_context(self, http_request: HttpRequest) -> dict[str, object]:
        return {**super().get_parser_context(http_request), "file_batch": self.file_batch}

    @extend_schema(operation=UPLOAD)
    def create(self, request: Request) -> HttpResponse:
        """POST: all files of the form are stored, or none; a repeated upload is recognised by its digest."""
        self.refuse_plain_filters()
        with self.file_batch:
            self.upload: Upload = self.parse_body(request)
            return self.respond_once(request, lambda: self.respond_created(request), self.upload.digest)

    def store(self, request: Request) -> Created:
        return create_documents_of_upload(self.entity_set, self.upload, self.caller)

    @extend_schema(operation=DOWNLOAD)
    @action(detail=True, methods=["get"], url_path="Download", url_name="download")
    def download(self, request: Request, key: str) -> HttpResponseBase:
        """The file as it was stored (interface.md 4.6); of archived documents as well."""
        self.refuse_plain_filters()
        return file_response(self.find_record(key), request._request)


router = ODataRouter()
router.register_module(resources, DocumentViewSet)
