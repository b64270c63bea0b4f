"""The views of no resource: the service document, $metadata, unknown addresses."""

import hashlib
import json
from functools import cached_property

from django.http import HttpResponse
from rest_framework.request import Request

from apps.base.declaration.service import get_service
from apps.base.errors import NotFound
from apps.base.etags import matches_etag
from apps.odata.http.formats import CSDLJSONRenderer, CSDLXMLRenderer, MetadataNegotiation
from apps.odata.http.views import ODataView
from apps.odata.metadata.csdl import csdl_json, csdl_xml
from apps.odata.query.options import parameters


class ServiceDocumentView(ODataView):
    """``GET /api/``: the list of entity sets (OData 4.01, JSON Format 5)."""

    def get(self, request: Request) -> HttpResponse:
        self.refuse_plain_filters()
        entity_sets = [
            {"name": entity_set.name, "kind": "EntitySet", "url": entity_set.path}
            for entity_set in get_service(self.version).entity_sets
        ]
        document = {"@odata.context": f"{self.base_url}$metadata", "value": entity_sets}
        return self.respond(json.dumps(document, ensure_ascii=False).encode())


class MetadataView(ODataView):
    """``GET /api/$metadata``: the data model as CSDL."""

    renderer_classes = (CSDLXMLRenderer, CSDLJSONRenderer)
    content_negotiation_class = MetadataNegotiation

    #: The values of $format are others here than of records.
    own_options = ("format",)

    @cached_property
    def formats(self) -> list[str]:
        names = ("$format", "format")
        return [value for name, value in parameters(self.query_string) if name.lower() in names]

    def get(self, request: Request) -> HttpResponse:
        """The document, or 304 when the caller has it: it changes with the version of the service only."""
        self.refuse_plain_filters()
        is_xml = request.accepted_renderer.format == "xml"
        service = get_service(self.version)
        document = csdl_xml(service) if is_xml else csdl_json(service)
        etag = f'W/"{hashlib.blake2b(document, digest_size=8).hexdigest()}"'
        headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
        if matches_etag(request.META.get("HTTP_IF_NONE_MATCH", ""), etag):
            return self.respond(headers=headers, status=304)
        return self.respond(document, headers)


class UnknownAddressView(ODataView):
    """Every other address below /api/; the response is the same for all callers."""

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        raise NotFound("There is nothing at this address; /api/ names the entity sets.")
