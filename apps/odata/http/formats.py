"""Formats of bodies and of responses: parsers, renderers, and the negotiation that chooses both.

A parser reads the bytes of a body within its limit; ``apps.odata.write`` decodes the records in it. The
database writes the JSON of each record, so a renderer only joins texts and never encodes a record again.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, cast

from django.conf import settings
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apps.odata.declaration.schema import StructuredType
from apps.odata.errors import BadQuery, NotAcceptable, TooLarge, UnsupportedMediaType
from apps.odata.read.flattening import cells, columns, formula_safe
from apps.odata.read.record_json import Selection

# --- parsers --------------------------------------------------------------------------------------------


class RawBodyParser(BaseParser):
    """The bytes of a body of at most ``API_MAX_BODY_BYTES``, not read when Content-Length is above that.

    ``refusal`` is the message of the 415 response to another media type.
    """

    refusal: ClassVar[str]

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> bytes:
        limit: int = settings.API_MAX_BODY_BYTES
        message = f"A body holds at most {limit:,} bytes."
        if content_length(stream) > limit:
            raise TooLarge(message)
        body: bytes = stream.read(limit + 1)
        if len(body) > limit:
            raise TooLarge(message)
        return body


class JSONBodyParser(RawBodyParser):
    """Records in JSON."""

    media_type = "application/json"
    refusal = "A body is sent as application/json."

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> bytes:
        for parameter in (media_type or "").split(";")[1:]:
            name, _, value = parameter.strip().lower().partition("=")
            if name == "charset" and value.strip('"') not in ("utf-8", "utf8"):
                raise UnsupportedMediaType("A body is sent in UTF-8.")
        return super().parse(stream, media_type, parser_context)


class QueryParser(RawBodyParser):
    """The query string of a ``$query`` request."""

    media_type = "text/plain"
    refusal = "The query is sent as text/plain."


class FormQueryParser(QueryParser):
    """The query string of a ``$query`` request that an HTML form sends."""

    media_type = "application/x-www-form-urlencoded"


def content_length(request: Request) -> int:
    """The Content-Length of a body without Content-Encoding; packed bodies are not supported."""
    if request.META.get("HTTP_CONTENT_ENCODING", "identity").lower() not in ("", "identity"):
        raise UnsupportedMediaType("A body is sent without Content-Encoding.")
    text = request.META.get("CONTENT_LENGTH") or "0"
    if not text.isdecimal() or len(text) > 18:
        raise BadQuery("Content-Length must be a number of bytes.")
    return int(text)


# --- renderers ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RenderedRecords:
    """Records of a response, each the text of its JSON; ``bare``: it is one record, without ``value``."""

    context_url: str
    records: Sequence[str]
    bare: bool = False
    count: int | None = None
    next_link: str = ""


class ODataJSONRenderer(BaseRenderer):
    """``{"@odata.context", "@odata.count"?, "value": [...], "@odata.nextLink"?}``, or one record."""

    media_type = "application/json; odata.metadata=minimal"
    format = "json"
    charset = None

    def render(
        self,
        data: RenderedRecords | bytes | None,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        if not isinstance(data, RenderedRecords):
            return data or b""
        start = f'{{"@odata.context":{json.dumps(data.context_url)}'
        if data.bare:
            (record,) = data.records
            return f"{start}{',' if len(record) > 2 else ''}".encode() + record[1:].encode()
        count = "" if data.count is None else f'"@odata.count":{data.count},'
        end = f'],"@odata.nextLink":{json.dumps(data.next_link)}}}' if data.next_link else "]}"
        # Record by record: one letter beyond ASCII in a page would make encoding all of it slow.
        records = b",".join([record.encode() for record in data.records])
        return f'{start},{count}"value":['.encode() + records + end.encode()


class NDJSONRenderer(BaseRenderer):
    """A whole collection as a stream of constant memory, the JSON of a record on each line."""

    media_type = "application/x-ndjson"
    format = "ndjson"

    def stream(self, type_: StructuredType, selection: Selection, records: Iterable[str]) -> Iterator[str]:
        return ndjson_lines(records)


def ndjson_lines(records: Iterable[str]) -> Iterator[str]:
    """The JSON of a record on each line."""
    for record in records:
        yield record.replace("\n", " ") + "\n"  # PostgreSQL puts line breaks between the items of lists


class CSVRenderer(BaseRenderer):
    """A whole collection as a stream of constant memory, nested members flattened (``Address/Suburb``)."""

    media_type = "text/csv"
    format = "csv"

    def stream(self, type_: StructuredType, selection: Selection, records: Iterable[str]) -> Iterator[str]:
        """A header of member names, then a line for each record (RFC 4180).

        Numbers keep their digits; cells that a spreadsheet would run as a formula are made text.
        """
        selected = columns(type_, selection)
        writer: Any = csv.writer(Echo())
        yield writer.writerow(column.name for column in selected)
        for record in records:
            values = cells(json.loads(record, parse_float=Decimal), selected)
            yield writer.writerow(formula_safe(value) for value in values)


class Echo:
    """A file that returns what is written to it, with which Django's documentation streams CSV."""

    def write(self, text: str) -> str:
        return text


class BytesRenderer(BaseRenderer):
    """Bytes as they are."""

    charset = None

    def render(
        self,
        data: bytes,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return data


class PlainTextRenderer(BytesRenderer):
    """The number of records (``/$count``)."""

    media_type = "text/plain"
    format = "txt"


class CSDLXMLRenderer(BytesRenderer):
    """``$metadata`` in XML."""

    media_type = "application/xml"
    format = "xml"


class CSDLJSONRenderer(BytesRenderer):
    """``$metadata`` in JSON."""

    media_type = "application/json"
    format = "json"


# --- negotiation ----------------------------------------------------------------------------------------

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
        xml_renderer, json_renderer = renderers
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
        renderer: Any = json_renderer if is_json else xml_renderer
        return renderer, renderer.media_type
