"""The endpoints of documents (interface.md 4, 4.5, 4.6)."""

from __future__ import annotations

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request

from apps.documents import resources
from apps.documents.describing import DOWNLOAD, UPLOAD
from apps.documents.keeping import kept_together
from apps.documents.models import Document
from apps.documents.receiving import Upload, receive, store_upload
from apps.documents.sending import file_answer
from apps.odata.errors import NotFound, UnsupportedMediaType
from apps.odata.http.parsers import content_length
from apps.odata.http.router import ODataRouter
from apps.odata.http.viewsets import ODataViewSet
from apps.odata.query.keys import read_key
from apps.odata.write.dispatch import Created


class DocumentViewSet(ODataViewSet):
    """Uploaded files."""

    resource = resources.DocumentResource

    @extend_schema(operation=UPLOAD)
    def create(self, request: Request) -> HttpResponse:
        """POST: all files of the form are stored, or none; the digest of an upload identifies its body."""
        self.refuse_plain_filters()
        if not request.content_type.lower().startswith("multipart/form-data"):
            raise UnsupportedMediaType("Documents are sent as multipart/form-data.")
        length = content_length(request)
        with kept_together() as keeping:
            self.upload = receive(request.read, request.content_type, length, keeping)
            return self.respond_once(request, lambda: self.respond_created(request), self.upload.digest)

    upload: Upload

    def store(self, request: Request) -> Created:
        return store_upload(self.entity_set, self.upload)

    @extend_schema(operation=DOWNLOAD)
    @action(detail=True, methods=["get"], url_path="Download", url_name="download")
    def download(self, request: Request, key: str) -> HttpResponseBase:
        """The file as it was stored (interface.md 4.6); of archived documents as well."""
        self.refuse_plain_filters()
        guid = read_key(self.entity_set, key)
        document: Document | None = self.get_queryset().filter(pk=guid).first()
        if document is None:
            raise NotFound(f"There is no {self.entity_set.name} {guid}.")
        return file_answer(document, request._request)


class DocumentCategoryViewSet(ODataViewSet):
    """Categories of documents."""

    resource = resources.DocumentCategoryResource


router = ODataRouter()
router.register("document", DocumentViewSet)
router.register("documentCategory", DocumentCategoryViewSet)
