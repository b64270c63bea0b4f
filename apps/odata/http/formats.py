"""Formats of bodies and of responses: parsers, renderers, and the negotiation that chooses both.

A parser reads the bytes of a body within its limit; ``apps.odata.write`` decodes the records in it. The
database writes the JSON of each record, so a renderer only joins texts and never encodes a record again.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, cast

from django.conf import settings
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apps.base.cell_texts import csv_texts
from apps.base.declaration.schema import NavigationProperty, StructuredType
from apps.base.errors import TooLarge
from apps.odata.errors import BadQuery, NotAcceptable, UnsupportedMediaType
from apps.odata.http.record_writer import RecordWriter
from apps.odata.query.media_types import MediaType, preferred_media_type
from apps.odata.query.operands import Operand
from apps.odata.read.tables import RecordTable

# --- parsers --------------------------------------------------------------------------------------------


class RawBodyParser(BaseParser):
    """The bytes of a body of at most ``API_MAX_BODY_BYTES``, not read when Content-Length is above that.

    ``refusal`` is the message of the 415 response to another media type.
    """

    refusal: ClassVar[str]

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, object] | None = None
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
        self,
        stream: object,
        media_type: str | None = None,
        parser_context: Mapping[str, object] | None = None,
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


@dataclass(slots=True)
class RenderedRecords:
    """Records of a response, each the text of its JSON; ``bare``: it is one record, without ``value``.

    ``type`` is their type; ``path`` is the address of their collection below ``base_url``. ``links`` are
    those of a page by their annotation (``@odata.nextLink``), ``removed`` the texts of the removed entries
    of a delta. ``computed`` are the values and objects in them that have no declaration, by their paths.
    """

    base_url: str
    context: str
    records: Sequence[str]
    type: StructuredType
    path: str
    bare: bool = False
    count: int | None = None
    links: Mapping[str, str] = field(default_factory=dict)
    removed: Sequence[str] = ()
    computed: Mapping[str, Operand | NavigationProperty] = field(default_factory=dict)


class ODataJSONRenderer(BaseRenderer):
    """``{"@odata.context", "@odata.count"?, "value": [...], "@odata.nextLink"?}``, or one record.

    The last page of a tracked query has ``@odata.deltaLink`` in place of the next link.
    """

    media_type = MediaType().content_type
    format = "json"
    charset = None
    requested = MediaType()

    def choose(self, requested: MediaType) -> None:
        """Render in the media type that the request names."""
        self.requested, self.media_type = requested, requested.content_type

    def render(
        self,
        data: RenderedRecords | bytes | None,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        if not isinstance(data, RenderedRecords):
            return data or b""
        requested, records = self.requested, data.records
        view = (renderer_context or {})["view"]
        omits_nulls = view.preferences.omits_nulls
        metadata, has_text_numbers = requested.metadata, requested.has_text_numbers
        names_types = metadata == "full" or (metadata == "minimal" and data.computed)
        if names_types or has_text_numbers or omits_nulls:
            writer = RecordWriter(
                data.base_url, view.version, metadata, has_text_numbers, omits_nulls, data.computed
            )
            records = writer.write(records, data.type, data.path)
        context_url = json.dumps(f"{data.base_url}$metadata#{data.context}")
        context = "" if metadata == "none" else f'"@odata.context":{context_url}'
        if data.bare:
            (record,) = records
            comma = "," if context and len(record) > 2 else ""
            return f"{{{context}{comma}".encode() + record[1:].encode()
        start = f"{{{context}{',' if context else ''}"
        if data.count is not None:
            start += f'"@odata.count":{json.dumps(str(data.count)) if has_text_numbers else data.count},'
        links = "".join(f",{json.dumps(name)}:{json.dumps(link)}" for name, link in data.links.items())
        # Record by record: one letter beyond ASCII in a page would make encoding all of it slow.
        body = b",".join([record.encode() for record in (*records, *data.removed)])
        return f'{start}"value":['.encode() + body + f"]{links}}}".encode()


class NDJSONRenderer(BaseRenderer):
    """A whole collection as a stream of constant memory, the JSON of a record on each line."""

    media_type = "application/x-ndjson"
    format = "ndjson"

    def stream(self, records: Iterable[str]) -> Iterator[str]:
        return ndjson_lines(records)


def ndjson_lines(records: Iterable[str]) -> Iterator[str]:
    """The JSON of a record on each line."""
    for record in records:
        yield record.replace("\n", " ") + "\n"  # PostgreSQL puts line breaks between the items of lists


class CSVRenderer(BaseRenderer):
    """A whole collection as a stream of constant memory, nested members flattened (``Address/Suburb``)."""

    media_type = "text/csv"
    format = "csv"

    def stream(self, table: RecordTable, rows: Iterable[object]) -> Iterator[str]:
        """A header of member names, then a line for each of the table's rows.

        Numbers keep their digits; cells that a spreadsheet would run as a formula are made text.
        """
        return csv_texts(chain([table.header], map(table.cells_of, rows)))


class BytesRenderer(BaseRenderer):
    """Bytes as they are."""

    charset = None

    def render(
        self,
        data: bytes,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, object] | None = None,
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


class ODataContentNegotiation(BaseContentNegotiation):
    """$format has priority over Accept. Only the ``negotiated_actions`` of a viewset have formats to choose;
    the responses of writes are JSON, whose parameters the request may name.

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
        action, accept = getattr(view, "action", None), request.META.get("HTTP_ACCEPT", "")
        is_read = action in getattr(view, "negotiated_actions", ())
        if not is_read and action not in ("create", "update", "upsert"):
            return renderer, str(renderer.media_type)
        formats = tuple([str(each.format) for each in renderers])
        requested = view.query_options.format
        if requested is None and accept:
            requested = preferred_media_type(accept, formats, is_read)
        if requested is not None and is_read:
            renderer = renderers[formats.index(requested.format)]
        if requested is not None and isinstance(renderer, ODataJSONRenderer):
            renderer.choose(requested)
        return renderer, str(renderer.media_type)


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
