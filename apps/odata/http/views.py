"""The base of all views of the interface."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django.conf import settings
from django.http import HttpResponse
from django.urls import get_script_prefix
from django.utils.functional import cached_property
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from apps.base.declaration.resource import Caller
from apps.odata.errors import BadQuery
from apps.odata.http.batch.batched_request import BatchedRequest
from apps.odata.http.formats import ODataContentNegotiation, ODataJSONRenderer
from apps.odata.http.headers import (
    Preferences,
    add_protocol_headers,
    check_versions,
    read_preferences,
    requested_version,
)
from apps.odata.query.lexer import IN_ADDRESS, IN_BODY
from apps.odata.query.options import OPTIONS_OF_A_PAGE, QueryOptions, option_name, parse_options

#: The action whose query is in the body: ``POST /{set}/$query``.
QUERY_IN_BODY = "query"


class ODataView(APIView):
    """The base of all views of the interface."""

    renderer_classes: Sequence[type[BaseRenderer]] = (ODataJSONRenderer,)
    content_negotiation_class: type[BaseContentNegotiation] = ODataContentNegotiation
    #: The query options, without the dollar sign, that the view reads itself.
    own_options: tuple[str, ...] = ()
    #: ``https://host/api/``, which all links begin with; behind a proxy with its prefix.
    base_url: str
    #: Who sends the request; ``None`` where a project authenticates nobody.
    caller: Caller | None
    #: Set by the router, of viewsets alone.
    action: str = ""
    #: What stands behind the question mark of the address, once ``query_string`` was read.
    sent_query_string: bytes

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """As DRF's, but the caller is checked first: nobody else learns what is wrong with a request."""
        sent = request._request
        if isinstance(sent, BatchedRequest):  # its batch has been authenticated
            self.base_url, request.user, request.auth = sent.base_url, sent.user, sent.caller
        else:
            self.base_url = f"{sent.scheme}://{sent.get_host()}{get_script_prefix()}api/"
        self.format_kwarg = None
        self.perform_authentication(request)
        self.caller = cast("Caller | None", request.auth)
        self.check_permissions(request)
        self.check_throttles(request)
        request.accepted_renderer, request.accepted_media_type = self.perform_content_negotiation(request)

    def finalize_response(
        self, request: Request, response: Any, *args: object, **kwargs: object
    ) -> HttpResponse:
        """In place of DRF's, which is for responses that are rendered later, and patches Vary."""
        response["Allow"] = self.headers["Allow"]
        return add_protocol_headers(response, self.version)

    def respond(
        self, data: object = None, headers: Mapping[str, str | None] = {}, status: int = 200
    ) -> HttpResponse:
        """A response in the format that was negotiated, with those of the headers that have a value.

        DRF's Response has its body rendered by the last middleware; to make one takes three times as long.
        """
        renderer: Any = self.request.accepted_renderer
        body = renderer.render(data, renderer.media_type, {"view": self}) if data is not None else b""
        given = {name: value for name, value in headers.items() if value}
        if body:
            given["Content-Type"] = renderer.media_type
        response = HttpResponse(body, status=status, headers=given)
        if not body:
            del response["Content-Type"]  # Django has one for every response
        return response

    def options(self, request: Request, *args: object, **kwargs: object) -> HttpResponse:
        return self.respond(status=204)

    @cached_property
    def version(self) -> str:
        """The version of the interface that is asked for."""
        return requested_version(self.request)

    @cached_property
    def preferences(self) -> Preferences:
        return read_preferences(self.request.META.get("HTTP_PREFER", ""), settings.API_MAX_PAGE_SIZE)

    @cached_property
    def query_string(self) -> bytes:
        """The bytes of the query string as they were sent, of ``$query`` requests with those of the body."""
        text: str = self.request.META.get("QUERY_STRING", "")
        self.sent_query_string = sent = text.encode("latin-1", "replace")
        if self.action != QUERY_IN_BODY:
            return sent
        body: bytes = self.parse_body(self.request)
        return b"&".join(filter(None, (sent, *others_of_body(body.strip(), sent))))

    def parse_body(self, request: Request) -> Any:
        """The body, by the parser of its media type. ``request.data`` calls no parser for an empty body."""
        negotiation: Any = request.negotiator
        parser = negotiation.select_parser(request, request.parsers)
        return parser.parse(request, request.content_type, request.parser_context)

    @cached_property
    def query_options(self) -> QueryOptions:
        limits = IN_BODY if self.action == QUERY_IN_BODY else IN_ADDRESS
        options = parse_options(self.query_string, self.own_options, limits)
        check_versions(options, self.request, self.version)
        return options

    def refuse_plain_filters(self) -> None:
        """An address that is no collection has no plain filters."""
        for name, _ in self.query_options.plain:
            raise BadQuery(f"There is no parameter {name[:60]} here.", target=name)


def others_of_body(body: bytes, sent: bytes) -> list[bytes]:
    """The parameters of a ``$query`` body but the options of a page that the address ``sent`` has as well.

    With them a link to the next page of a query that is too long for an address goes on in the same body.
    """
    in_address = {option_name(piece) for piece in sent.split(b"&")} & OPTIONS_OF_A_PAGE
    return [piece for piece in body.split(b"&") if option_name(piece) not in in_address]
