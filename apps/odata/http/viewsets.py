"""The faces of the interface: a DRF viewset per resource, the service document and $metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from apps.odata.declaration.resource import Resource
from apps.odata.declaration.schema import EntitySet
from apps.odata.declaration.service import Service, get_service
from apps.odata.errors import (
    BadQuery,
    NotAcceptable,
    NotFound,
    PreconditionFailed,
    TooLarge,
    UnsupportedMediaType,
)
from apps.odata.http import protocol
from apps.odata.http.protocol import Preferences, preferences
from apps.odata.http.streams import csv_lines, ndjson_lines
from apps.odata.metadata import csdl
from apps.odata.metadata.service_document import service_document
from apps.odata.query.keys import read_key
from apps.odata.query.options import QueryOptions, parameters, parse_options
from apps.odata.read.reader import Page, Reading
from apps.odata.write import dispatch
from apps.odata.write.dispatch import Created

_DROPPED_FROM_NEXT = {"skiptoken", "skip", "top"}
#: Left unescaped in a nextLink, so that people can read it.
_PLAIN_IN_QUERY = "$,()/:@'*"


class ODataView(APIView):
    """What all views of the interface share: formats are ours to choose, errors have one shape."""

    @cached_property
    def service(self) -> Service:
        return get_service()

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """DRF's renderers are not used: the database writes the JSON."""
        return JSONRenderer(), protocol.JSON

    def options(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        return protocol.finish(HttpResponse(status=204), Allow=", ".join(self.allowed_methods))

    def base_url(self) -> str:
        """``https://host/api/``: everything is relative to it."""
        return self.request.build_absolute_uri("/api/")

    def query_string(self) -> bytes:
        """The bytes behind the question mark, as they came."""
        text: str = self.request.META.get("QUERY_STRING", "")
        return text.encode("latin-1", "replace")

    def query_options(self) -> QueryOptions:
        options = parse_options(self.query_string())
        protocol.check_version(options, self.request)
        return options

    def refuse_plain(self, options: QueryOptions) -> None:
        """Plain parameters are filters; an address without rows has none."""
        if options.plain:
            raise BadQuery(
                f"There is no parameter {options.plain[0][0][:60]} here.", target=options.plain[0][0]
            )


class RecordViewSet(ViewSetMixin, ODataView):
    """List, item, count, create and replace of one resource, all from its declaration.

    A subclass says ``resource = ClaimResource`` and may add ``@action`` methods of its own.
    """

    resource: ClassVar[type[Resource]]
    action: str

    @cached_property
    def entity_set(self) -> EntitySet:
        return self.service.by_resource[self.resource]

    # --- reading --------------------------------------------------------------------------------------

    def list(self, request: Request) -> HttpResponseBase:
        """A page of the collection, or all of it as a stream."""
        return self.collection(request, self.query_string())

    def query(self, request: Request) -> HttpResponseBase:
        """``POST /{set}/$query``: the query string as the body, for filters too long for an address."""
        media = request.content_type.split(";")[0].strip().lower()
        if media not in ("text/plain", "application/x-www-form-urlencoded"):
            raise UnsupportedMediaType("The query is sent as text/plain.")
        pieces = (self.query_string(), self.body(request).strip())
        return self.collection(request, b"&".join(piece for piece in pieces if piece))

    def collection(self, request: Request, query: bytes) -> HttpResponseBase:
        options = parse_options(query)
        protocol.check_version(options, request)
        wanted = protocol.wanted_format(options, request)
        reading = Reading(self.entity_set, request.auth, options)
        if wanted != "json":
            return self.streamed(reading, wanted)
        preferred = preferences(request)
        size = preferred.max_page_size or settings.API_PAGE_SIZE
        page = reading.page(size)
        after = "" if page.next_token is None else self.next_link(query, options, page, page.next_token)
        return protocol.finish(
            HttpResponse(self.page_body(page, after), content_type=protocol.JSON),
            Preference_Applied=preferred.applied,
        )

    def page_body(self, page: Page, next_link: str = "") -> bytes:
        """``{"@odata.context", "@odata.count"?, "value": [...], "@odata.nextLink"?}`` in UTF-8."""
        count = "" if page.count is None else f'"@odata.count":{page.count},'
        before = f'{{"@odata.context":{quoted(self.context_url(page.context))},{count}"value":['
        after = f'],"@odata.nextLink":{quoted(next_link)}}}' if next_link else "]}"
        # Row by row: one letter beyond ASCII in a page would make encoding all of it slow.
        return before.encode() + b",".join([row.encode() for row in page.rows]) + after.encode()

    def next_link(self, query: bytes, options: QueryOptions, page: Page, token: str) -> str:
        """The same query, going on behind the last row shown."""
        kept = [
            (name, value)
            for name, value in parameters(query)
            if name.lower().removeprefix("$") not in _DROPPED_FROM_NEXT
        ]
        if options.top is not None:
            kept.append(("$top", str(options.top - len(page.rows))))
        kept.append(("$skiptoken", token))
        return f"{self.base_url()}{self.entity_set.name}?{urlencode(kept, safe=_PLAIN_IN_QUERY)}"

    def streamed(self, reading: Reading, wanted: str) -> HttpResponseBase:
        """One body of constant memory, a record to a line."""
        if wanted == "ndjson":
            content: Iterator[str] = ndjson_lines(reading.stream())
            media = protocol.NDJSON
        else:
            content = csv_lines(self.entity_set.type, reading.shown.selection, reading.stream())
            media = protocol.CSV
        response = StreamingHttpResponse(content, content_type=f"{media}; charset=utf-8")
        if wanted == "csv":
            response["Content-Disposition"] = f'attachment; filename="{self.entity_set.name}.csv"'
        return protocol.finish(response)

    def count(self, request: Request) -> HttpResponse:
        """``/{set}/$count``: the number of rows as plain text."""
        reading = Reading(self.entity_set, request.auth, self.query_options())
        return protocol.finish(HttpResponse(str(reading.count()), content_type="text/plain"))

    def retrieve(self, request: Request, key: str) -> HttpResponse:
        """One record, bare, with its ETag."""
        options = self.query_options()
        refuse_for_item(options)
        self.refuse_plain(options)
        if protocol.wanted_format(options, request) != "json":
            raise BadQuery("One record is served as application/json.", target="$format")
        reading = Reading(self.entity_set, request.auth, options, item=True)
        row, stamp = reading.record(read_key(self.entity_set, key))
        tag = protocol.etag(stamp) if stamp is not None else ""
        asked = request.META.get("HTTP_IF_NONE_MATCH", "")
        if tag and asked and protocol.matches(asked, tag):
            return protocol.finish(HttpResponse(status=304), ETag=tag)
        body = self.item_body(reading.context, row)
        return protocol.finish(HttpResponse(body, content_type=protocol.JSON), ETag=tag)

    def context_url(self, fragment: str) -> str:
        return f"{self.base_url()}$metadata#{fragment}"

    def item_body(self, context: str, row: str) -> str:
        """The bare record with its context first."""
        url = quoted(self.context_url(f"{context}/$entity"))
        return f'{{"@odata.context":{url}{"," if len(row) > 2 else ""}{row[1:]}'

    # --- writing --------------------------------------------------------------------------------------

    def create(self, request: Request) -> HttpResponse:
        """POST: all records of the body are stored, or none."""
        return self.once(request, lambda: self.created(request))

    def once(
        self, request: Request, answer: Callable[[], HttpResponse], asked: bytes | None = None
    ) -> HttpResponse:
        """``answer()``, or what was answered when the same request came before.

        ``asked`` stands for the body where that was read already.
        """
        wrap: Callable[..., HttpResponse] = import_string(settings.ODATA_POST_WRAPPER)
        return protocol.finish(wrap(request, answer, asked))

    def created(self, request: Request) -> HttpResponse:
        options = self.query_options()
        self.refuse_plain(options)
        made = self.stored(request, options)
        preferred = preferences(request)
        location = f"{self.base_url()}{self.entity_set.name}({made.keys[0]})" if len(made.keys) == 1 else ""
        if preferred.minimal:
            return protocol.finish(
                HttpResponse(status=204),
                Location=location,
                OData_EntityId=location,
                Preference_Applied=preferred.applied,
            )
        reading = Reading(self.entity_set, request.auth, EXPANDED)
        rows = reading.records(made.keys)
        if made.bare:
            body = self.item_body(reading.context, rows[0]).encode()
        else:
            body = self.page_body(Page(rows, reading.context))
        return protocol.finish(
            HttpResponse(body, status=201, content_type=protocol.JSON),
            Location=location,
            Preference_Applied=preferred.applied,
        )

    def stored(self, request: Request, options: QueryOptions) -> Created:
        """Store what the body holds. Resources whose bodies are no JSON read them in their own way."""
        return dispatch.create(self.entity_set, self.json_body(request), **self.warning_options(options))

    def warning_options(self, options: QueryOptions) -> dict[str, bool]:
        """``ignoreWarnings`` for the resources that warn; elsewhere there is no such parameter."""
        text = options.service.get("ignoreWarnings")
        if not self.resource.has_warnings:
            return {}
        if text is None:
            return {"ignore_warnings": False}
        if text.lower() not in ("true", "false", "1", "0"):
            raise BadQuery("ignoreWarnings must be true or false.", target="ignoreWarnings")
        return {"ignore_warnings": text.lower() in ("true", "1")}

    def replace(self, request: Request, key: str) -> HttpResponse:
        """PUT: the record becomes what the body says; what it leaves out becomes null or its default."""
        options = self.query_options()
        self.refuse_plain(options)
        raw = self.json_body(request)
        wanted = request.META.get("HTTP_IF_MATCH", "")
        record_key = read_key(self.entity_set, key)
        dispatch.replace(
            self.entity_set,
            record_key,
            raw,
            check=lambda record: self.check_stamp(record, wanted),
            records=self.entity_set.resource.visible_to(request.auth),
        )
        return self.as_written(request, record_key)

    def as_written(self, request: Request, record_key: Any) -> HttpResponse:
        """The record as it is now, its parts expanded, with its ETag; of no body when that is preferred."""
        reading = Reading(self.entity_set, request.auth, EXPANDED, item=True)
        row, stamp = reading.record(record_key)
        preferred: Preferences = preferences(request)
        tag = protocol.etag(stamp) if stamp is not None else ""
        if preferred.minimal:
            return protocol.finish(HttpResponse(status=204), ETag=tag, Preference_Applied=preferred.applied)
        body = self.item_body(reading.context, row)
        return protocol.finish(
            HttpResponse(body, content_type=protocol.JSON), ETag=tag, Preference_Applied=preferred.applied
        )

    def check_stamp(self, record: Any, wanted: str) -> None:
        """Hold If-Match against the record as it stands under its lock."""
        if not wanted or self.entity_set.etag_field is None:
            return
        if not protocol.matches(wanted, protocol.etag(getattr(record, self.entity_set.etag_field))):
            raise PreconditionFailed("The record was changed since it was read; read it again.")

    # --- bodies ---------------------------------------------------------------------------------------

    def json_body(self, request: Request) -> bytes:
        media, *words = (word.strip().lower() for word in request.content_type.split(";"))
        if media != "application/json":
            raise UnsupportedMediaType("A body is sent as application/json.")
        charset = next((word[8:].strip('"') for word in words if word.startswith("charset=")), "utf-8")
        if charset not in ("utf-8", "utf8"):
            raise UnsupportedMediaType("A body is sent in UTF-8.")
        return self.body(request)

    def body(self, request: Request) -> bytes:
        """The bytes of a body of at most ``API_MAX_BODY_BYTES``; not read when it says it is longer."""
        told = self.told_length(request)
        limit: int = settings.API_MAX_BODY_BYTES
        if told > limit:
            raise too_large(limit)
        raw: bytes = request._request.read(limit + 1)
        if len(raw) > limit:
            raise too_large(limit)
        return raw

    def told_length(self, request: Request) -> int:
        """How many bytes the body is told to have, as it is sent: without an encoding of its own."""
        if request.META.get("HTTP_CONTENT_ENCODING", "identity").lower() not in ("", "identity"):
            raise UnsupportedMediaType("A body is sent without Content-Encoding.")
        told = request.META.get("CONTENT_LENGTH") or "0"
        if not told.isdecimal() or len(told) > 18:
            raise BadQuery("Content-Length must be a number of bytes.")
        return int(told)


EXPANDED = parse_options("$expand=*")


def too_large(limit: int) -> TooLarge:
    return TooLarge(f"A body holds at most {limit:,} bytes.")


def refuse_for_item(options: QueryOptions) -> None:
    """Options that choose rows say nothing about one record."""
    for name in ("filter", "orderby", "top", "skip", "search", "skiptoken"):
        if getattr(options, name) not in (None, ()):
            raise BadQuery(f"${name} is for collections; this address is one record.", target=f"${name}")


def quoted(text: str) -> str:
    """A URL as a JSON string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class ServiceDocumentView(ODataView):
    """``GET /api/``: what the service offers."""

    def get(self, request: Request) -> HttpResponse:
        options = self.query_options()
        self.refuse_plain(options)
        body = service_document(self.service, self.base_url())
        return protocol.finish(HttpResponse(body, content_type=protocol.JSON))


class MetadataView(ODataView):
    """``GET /api/$metadata``: the data model as CSDL, XML unless JSON is asked for."""

    def get(self, request: Request) -> HttpResponse:
        asked = list(parameters(self.query_string()))
        formats = [value for name, value in asked if is_format(name)]
        options = parse_options(urlencode([pair for pair in asked if not is_format(pair[0])]))
        protocol.check_version(options, request)
        self.refuse_plain(options)
        if wants_json_metadata(formats, request.META.get("HTTP_ACCEPT", "")):
            body, media = csdl.csdl_json(self.service), "application/json"
        else:
            body, media = csdl.csdl_xml(self.service), "application/xml"
        return protocol.finish(HttpResponse(body, content_type=media))


def is_format(name: str) -> bool:
    return name.lower() in ("$format", "format")


def wants_json_metadata(formats: Sequence[str], accept: str) -> bool:
    """$format says it, else an Accept header that names JSON and no XML."""
    if len(formats) > 1:
        raise BadQuery("$format is given twice.", target="$format")
    for told in formats:
        media = told.partition(";")[0].strip().lower()
        if media not in ("xml", "application/xml", "json", "application/json"):
            raise NotAcceptable("$metadata is served as xml and json.", target="$format")
        return media.endswith("json")
    return "json" in accept and "xml" not in accept and "*/*" not in accept


class NothingHereView(ODataView):
    """Every other address under /api/: the caller is not asked who it is to be told that it is not there."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise NotFound("There is nothing at this address.")
