"""``POST /api/$batch``: several requests in one (OData 4.01, Protocol 11.7)."""

import re
from typing import Any

from django.http import HttpResponse
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apps.base.errors import BadBody
from apps.odata.http.batch.batched_request import BatchedRequest
from apps.odata.http.batch.json_format import JSONBatchParser, JSONBatchRenderer
from apps.odata.http.batch.messages import requests_of
from apps.odata.http.batch.multipart_format import (
    MultipartBatchParser,
    MultipartBatchRenderer,
    batch_boundary,
)
from apps.odata.http.batch.processing import BatchProcessor
from apps.odata.http.formats import ODataContentNegotiation
from apps.odata.http.views import ODataView

_CONTINUE_ON_ERROR = re.compile(r"(?:odata\.)?continue-on-error(?:\s*=\s*\"?(true|false)\"?)?", re.IGNORECASE)


class BatchNegotiation(ODataContentNegotiation):
    """The format of the request; multipart for a JSON batch whose Accept header names only that.

    A multipart batch is answered in multipart whatever is accepted: clients (@odata/client) send their usual
    ``Accept: application/json`` with it, and read nothing else than what they sent.
    """

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        multipart, json = renderers
        accept = request.META.get("HTTP_ACCEPT", "").lower()
        takes_json = json.media_type in accept or "*/*" in accept or multipart.media_type not in accept
        is_json = request.content_type.lower().startswith(json.media_type)
        renderer = json if is_json and takes_json else multipart
        return renderer, renderer.media_type


class BatchView(ODataView):
    """All requests of a batch, in their order. A batch counts as as many requests as it holds."""

    parser_classes = (MultipartBatchParser, JSONBatchParser)
    renderer_classes = (MultipartBatchRenderer, JSONBatchRenderer)
    content_negotiation_class: type[BaseContentNegotiation] = BatchNegotiation

    def post(self, request: Request) -> HttpResponse:
        self.refuse_plain_filters()
        if isinstance(request._request, BatchedRequest):
            raise BadBody("A batch holds no other batch.")
        items = self.parse_body(request)
        for _ in range(1, sum(len(requests_of(item)) for item in items)):
            self.check_throttles(request)
        preference = _CONTINUE_ON_ERROR.search(request.META.get("HTTP_PREFER", ""))
        is_json = request.content_type.lower().startswith("application/json")
        continue_on_error = preference[1] != "false" if preference else is_json
        batch = BatchProcessor(request, self.base_url, continue_on_error).process(items)
        headers = {"Preference-Applied": preference[0]} if preference else {}
        response = self.respond(batch, headers)
        renderer: Any = request.accepted_renderer
        if renderer.format == "multipart":
            response["Content-Type"] += f"; boundary={batch_boundary(batch)}"
        return response
