"""Content negotiation: the parser of a body, and the renderer that $format or the Accept header chooses."""

from collections.abc import Sequence
from typing import Any, cast

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apps.odata.errors import BadQuery, NotAcceptable, UnsupportedMediaType

#: Media types of an Accept header besides those of the renderers, and the formats they stand for.
_JSON_MEDIA_TYPES = {"application/json": "json", "application/*": "json", "*/*": "json", "text/html": "json"}


class ODataContentNegotiation(BaseContentNegotiation):
    """$format has priority over Accept; both count only for the ``negotiated_actions`` of a viewset.

    Each parser has the message of the 415 response to other media types in its attribute ``refusal``.
    """

    def select_parser(self, request: Request, parsers: Sequence[Any]) -> BaseParser:
        media_type = request.content_type.split(";")[0].strip().lower()
        for parser in parsers:
            if parser.media_type == media_type:
                return cast("BaseParser", parser)
        raise UnsupportedMediaType(parsers[0].refusal)

    def select_renderer(
        self, request: Request, renderers: Sequence[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        view, renderer = request.parser_context["view"], renderers[0]
        if getattr(view, "action", None) in getattr(view, "negotiated_actions", ()):
            accept = request.META.get("HTTP_ACCEPT", "")
            format_ = view.query_options.format
            if format_ is None and accept:
                format_ = preferred_format(accept, renderers)
            if format_ is not None:
                renderer = next(renderer for renderer in renderers if renderer.format == format_)
        return renderer, str(renderer.media_type)


def preferred_format(accept: str, renderers: Sequence[BaseRenderer]) -> str:
    """The format with the highest quality in an Accept header; of equal ones the first."""
    formats = {renderer.media_type: renderer.format for renderer in renderers} | _JSON_MEDIA_TYPES
    best, best_quality = "", 0.0
    for item in accept.split(","):
        media_type, *parameters = (word.strip().lower() for word in item.split(";"))
        quality = next((read_quality(text[2:]) for text in parameters if text.startswith("q=")), 1.0)
        if media_type in formats and quality > best_quality:
            best, best_quality = str(formats[media_type]), quality
    if not best:
        raise NotAcceptable("Served are application/json, application/x-ndjson and text/csv.")
    return best


def read_quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


class MetadataNegotiation(BaseContentNegotiation):
    """XML, unless $format or an Accept header without XML chooses JSON."""

    def select_renderer(
        self, request: Request, renderers: Sequence[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        xml, json = renderers
        formats: list[str] = request.parser_context["view"].formats
        if len(formats) > 1:
            raise BadQuery("$format is given twice.", target="$format")
        accept = request.META.get("HTTP_ACCEPT", "")
        if formats:
            media_type = formats[0].partition(";")[0].strip().lower()
            if media_type not in ("xml", "application/xml", "json", "application/json"):
                raise NotAcceptable("$metadata is served as xml and json.", target="$format")
            is_json = media_type.endswith("json")
        else:
            is_json = "json" in accept and "xml" not in accept and "*/*" not in accept
        renderer: Any = json if is_json else xml
        return renderer, renderer.media_type
