"""The viewset that every resource derives from."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.functional import cached_property
from django.utils.module_loading import import_string
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.viewsets import GenericViewSet

from apps.base.declaration.resource import PATCH, V2_1, BodyKind, Resource
from apps.base.declaration.schema import EntitySet
from apps.base.declaration.service import get_service
from apps.base.errors import RECORD_CHANGED, NotFound, PreconditionFailed, ServiceError
from apps.base.etags import matches_etag
from apps.base.replica import database_for_lists
from apps.odata.apply.reader import TransformedReader
from apps.odata.errors import BadQuery, MethodNotAllowed, PreconditionRequired
from apps.odata.http.delta_payloads import respond_delta
from apps.odata.http.filters import ODataFilterBackend, PlainFilterBackend
from apps.odata.http.formats import (
    CSVRenderer,
    JSONBodyParser,
    NDJSONRenderer,
    ODataJSONRenderer,
    RenderedRecords,
)
from apps.odata.http.headers import requested_version
from apps.odata.http.keys import read_key
from apps.odata.http.pagination import KeysetPagination, PageReader
from apps.odata.http.read_log import get_read_log
from apps.odata.http.views import ODataView
from apps.odata.query.options import EXPAND_ALL, QueryOptions
from apps.odata.query.stored_values import make_etag
from apps.odata.read.addresses import MemberAddress, follow, read_member
from apps.odata.read.projection import bind_projection
from apps.odata.read.reader import JsonReader, filter_rows
from apps.odata.write import dispatch
from apps.odata.write.dispatch import Created
from apps.odata.write.upserts import AlternateValue, create_named

OPTIONS_OF_LISTS = (*("filter", "orderby", "top", "skip", "search", "skiptoken", "deltatoken", "apply"),)


class ODataViewSet(GenericViewSet, ODataView):
    """The endpoints of one resource, all derived from its declaration.

    A subclass declares ``resource = ClaimResource``; it may add methods with DRF's ``@action``.
    """

    resource: ClassVar[type[Resource]]
    lookup_url_kwarg = "key"
    parser_classes: Sequence[type[BaseParser]] = (JSONBodyParser,)
    renderer_classes = (ODataJSONRenderer, NDJSONRenderer, CSVRenderer)
    #: The actions that have a format to choose; other responses are JSON.
    negotiated_actions = ("list", "list_references", "query", "retrieve", "member")
    filter_backends = (ODataFilterBackend, PlainFilterBackend)
    pagination_class = KeysetPagination
    #: The further right of its resource that an action needs: ``@action(right="files")``.
    right = ""
    #: The collection in context URLs where it lies in a record: ``Claim({key})/LineItems``.
    context = ""

    def initialize_request(self, request: HttpRequest, *args: object, **kwargs: object) -> Request:
        """As DRF's, without the methods that are of version 2.1 only where that is not asked for."""
        added = self.resource.methods_of_2_1
        if added and requested_version(request) != V2_1:
            self.http_method_names = [name for name in self.http_method_names if name.upper() not in added]
        initialized = super().initialize_request(request, *args, **kwargs)
        # Else DRF looks for each in vain before it asks Django's request, a dozen times a request.
        initialized.META, initialized.method = request.META, request.method
        return initialized

    def http_method_not_allowed(self, request: Request, *args: object, **kwargs: object) -> HttpResponse:
        """As DRF's, but a method of version 2.1 alone is named as such, once the version itself is valid."""
        if request.method in self.resource.methods_of_2_1:
            self.refuse_plain_filters()
            name = "" if request.resolver_match is None else request.resolver_match.url_name
            is_set = name == f"{self.basename}-list" and self.resource.alternate_keys
            has_method = name == f"{self.basename}-detail" or (is_set and request.method == PATCH)
            if has_method and self.version != V2_1:
                message = f"Version {V2_1} has {request.method} here: send the header api-version: {V2_1}."
                raise MethodNotAllowed(message, headers={"Allow": ", ".join(self.allowed_methods)})
        return super().http_method_not_allowed(request, *args, **kwargs)

    @cached_property
    def entity_set(self) -> EntitySet:
        found = get_service(self.version).by_resource.get(self.resource)
        if found is None:
            first = self.resource.since
            raise NotFound(f"Version {first} has {self.resource.path}: send the header api-version: {first}.")
        return found

    @cached_property
    def address(self) -> str:
        """The address of the collection below the service, which the link to the next page has."""
        return str(self.entity_set.name)

    def read_key(self, text: str, entity_set: EntitySet | None = None) -> object:
        """The key in an address as the model stores it, of an alternate key that of its record.

        ``BadQuery`` when it is invalid, ``NotFound`` for an alternate key of no record.
        """
        entity_set = entity_set or self.entity_set
        key = read_key(text, entity_set, self.query_options.aliases)
        if not isinstance(key, AlternateValue):
            return key
        found = key.find_in(entity_set.visible_to(self.caller))
        if found is None:
            raise NotFound(f"There is no {entity_set.name} with {key}.")
        return found

    def get_queryset(self) -> QuerySet[Any]:
        """The records that the caller may see."""
        return self.entity_set.visible_to(self.caller)

    def find_record(self, key: str, rows: QuerySet[Any] | None = None) -> Any:
        """The record of the key in an address, among those that the caller may see; else ``NotFound``."""
        rows = self.get_queryset() if rows is None else rows
        return dispatch.Target(self.entity_set, self.read_key(key), rows, self.caller).read()

    def reader(self, rows: QuerySet[Model], options: QueryOptions, item: bool = False) -> JsonReader:
        """A reader of records, which have their ETags when the request names a level of metadata."""
        renderer: Any = self.request.accepted_renderer
        has_etags = renderer.format == "json" and renderer.requested.metadata in ("minimal", "full")
        return JsonReader(self.entity_set, rows, options, item, has_etags, self.caller, self.base_url)

    def transformed_reader(self, rows: QuerySet[Model]) -> JsonReader | TransformedReader:
        """A reader of the rows that $apply makes of the records, or of the records that it chooses."""
        options, caller = self.query_options, self.caller
        reader = TransformedReader(self.entity_set, rows, options, caller)
        if reader.records is None:
            return reader
        options = replace(options, orderby=options.orderby or reader.order)
        return self.reader(filter_rows(self.entity_set, reader.records, options, caller), options)

    def rendered(
        self,
        reader: PageReader,
        records: Sequence[str],
        bare: bool = False,
        count: int | None = None,
        links: Mapping[str, str] | None = None,
        removed: Sequence[str] = (),
    ) -> RenderedRecords:
        """The data of a response: the records that a reader has read, or with ``bare`` the one record."""
        collection = self.context or str(self.entity_set.name)
        context = f"{collection}{reader.select_list}{'/$entity' if bare else ''}"
        if self.query_options.only_references:
            context = "$ref" if bare else "Collection($ref)"
        return RenderedRecords(
            self.base_url,
            context,
            records,
            self.entity_set.type,
            collection,
            bare,
            count,
            links or {},
            removed,
            reader.computed,
        )

    # --- reading --------------------------------------------------------------------------------------

    def list(self, request: Request) -> HttpResponseBase:
        """A page of the collection in JSON, or a stream of all of it in another format."""
        is_tracked = self.query_options.deltatoken is not None or self.preferences.tracks_changes
        # The log of changes is the primary's, of which a replica may lack the last ones.
        database = DEFAULT_DB_ALIAS if is_tracked else database_for_lists()
        return self.respond_list(request, self.get_queryset().using(database))

    def respond_list(self, request: Request, rows: QuerySet[Model]) -> HttpResponseBase:
        rows = self.filter_queryset(rows)
        renderer: Any = request.accepted_renderer
        if renderer.format == "json":
            records: Any = self.paginate_queryset(rows)
            paginator: Any = self.paginator
            if isinstance(paginator.reader, TransformedReader):
                get_read_log().log_count(self.entity_set, len(records), self.query_options.parameters)
            else:
                self.log_records(records, is_list=True)
            return self.get_paginated_response(records)
        options = self.query_options
        if options.deltatoken is not None:
            raise BadQuery("$deltatoken is answered in application/json only.", target="$deltatoken")
        reader = self.reader(rows, options) if options.apply is None else self.transformed_reader(rows)
        is_table = renderer.format == "csv"
        if is_table and options.shows_undeclared and isinstance(reader, JsonReader):
            raise BadQuery("What $compute and $ref make is served in JSON.", target="$format")
        log_stream = partial(
            get_read_log().log_stream, query=options.parameters, has_others=self.expands_others
        )
        if is_table:
            table = reader.table()
            rows_read = log_stream(self.entity_set, table.rows, json_of=table.json_of)
            texts = renderer.stream(table, rows_read)
        else:
            texts = renderer.stream(log_stream(self.entity_set, reader.stream()))
        response = StreamingHttpResponse(texts, content_type=f"{renderer.media_type}; charset=utf-8")
        if is_table:
            response["Content-Disposition"] = f'attachment; filename="{self.entity_set.name}.csv"'
        return response

    @property
    def expands_others(self) -> bool:
        """True when $expand names something: ``*`` stands for parts of the record alone."""
        return any(item.name != "*" for item in self.query_options.expand)

    def log_records(self, records: Sequence[str], is_list: bool = False) -> None:
        query = self.query_options.parameters
        get_read_log().log_records(
            self.entity_set, records, query, is_list=is_list, has_others=self.expands_others
        )

    def query(self, request: Request) -> HttpResponseBase:
        """``POST /{set}/$query``: as GET, for queries that are too long for an address."""
        return self.list(request)

    def list_references(self, request: Request) -> HttpResponseBase:
        """``/{set}/$ref``: the addresses of the records."""
        self.choose_references(self.address)
        return self.list(request)

    def choose_references(self, address: str) -> None:
        """Answer with the addresses of the records at ``address`` alone."""
        options = self.query_options
        for name in ("select", "expand", "compute", "apply", "deltatoken"):
            if getattr(options, name):
                raise BadQuery(f"${name} does not go with $ref, which shows no members.", target=f"${name}")
        self.query_options = replace(options, only_references=True)
        self.address = f"{address}/$ref"

    def count(self, request: Request) -> HttpResponse:
        """``/{set}/$count``: the number of records."""
        self.refuse_transformations()
        rows = self.filter_queryset(self.get_queryset().using(database_for_lists()))
        number = self.reader(rows, self.query_options).count()
        get_read_log().log_count(self.entity_set, number, self.query_options.parameters)
        return self.respond(b"%d" % number)

    def retrieve(self, request: Request, key: str) -> HttpResponse:
        """One record with its ETag."""
        return self.respond_record(request, self.get_queryset(), self.read_key(key))

    def refuse_transformations(self) -> None:
        if self.query_options.apply is not None:
            raise BadQuery("$apply counts with aggregate($count as Number).", target="$apply")
        if self.query_options.deltatoken is not None:
            raise BadQuery("A delta is read, not counted.", target="$deltatoken")

    def refuse_options_of_lists(self, request: Request) -> None:
        """An address that is no collection has no rows to choose, and is JSON."""
        self.refuse_choices("is for collections; this address is one record")
        self.refuse_plain_filters()
        if request.accepted_renderer.format not in ("json", "txt"):
            raise BadQuery("One record is served as application/json.", target="$format")

    def refuse_choices(self, reason: str) -> None:
        """``BadQuery`` with the reason where an option chooses or orders records."""
        for name in OPTIONS_OF_LISTS:
            if getattr(self.query_options, name) not in (None, ()):
                raise BadQuery(f"${name} {reason}.", target=f"${name}")

    def respond_record(self, request: Request, rows: QuerySet[Model], key: object) -> HttpResponse:
        self.refuse_options_of_lists(request)
        reader = self.reader(rows, self.query_options, item=True)
        record, etag = reader.record(key)
        if_none_match = request.META.get("HTTP_IF_NONE_MATCH", "")
        if etag and if_none_match and matches_etag(if_none_match, etag):
            return self.respond(headers={"ETag": etag}, status=304)
        headers = {"ETag": etag, "Preference-Applied": self.preferences.applied()}
        self.log_records([record])
        return self.respond(self.rendered(reader, [record], bare=True), headers)

    def member(self, request: Request, key: str, members: str) -> HttpResponseBase:
        """``/claim({key})/LineItems`` and all other addresses behind a record."""
        name, record_key = self.entity_set.name, self.read_key(key)
        rows = self.get_queryset().filter(pk=record_key)
        start = MemberAddress(self.entity_set, rows, rows, name, f"{name}({record_key})")
        address = follow(start, members.split("/"), self.read_key, self.caller)
        owner, self.entity_set = self.entity_set, address.entity_set
        self.context, self.address = address.context, address.path
        if address.ending == "$ref":
            self.choose_references(address.path)
        response = self.respond_member(request, address)
        if address.ending == "$count":
            number = int(getattr(response, "content", b"0"))
            get_read_log().log_count(owner, number, self.query_options.parameters, record_key)
        else:
            get_read_log().log_key(owner, record_key, self.query_options.parameters)
        return response

    def respond_member(self, request: Request, address: MemberAddress) -> HttpResponseBase:
        if address.value is not None:
            return self.respond_value(request, address)
        if address.objects:
            return self.respond_object(request, address)
        if not address.is_list:
            return self.respond_related(request, address)
        if not address.owner.exists():
            raise no_record(address.path)
        if address.ending == "$count":
            self.refuse_transformations()
            return self.respond(b"%d" % self.filter_queryset(address.rows).order_by().count())
        return self.respond_list(request, address.rows)

    member_text = member  # the number of a list (``/$count``), the bare value of a property (``/$value``)

    def respond_related(self, request: Request, address: MemberAddress) -> HttpResponse:
        """One record that another one leads to; 204 where it leads to none."""
        key = address.rows.order_by().values_list("pk", flat=True).first()
        if key is not None:
            return self.respond_record(request, address.rows, key)
        if address.path.endswith(")") or not address.owner.exists():
            raise no_record(address.path)
        return self.respond(status=204)

    def respond_object(self, request: Request, address: MemberAddress) -> HttpResponse:
        """A complex property; 204 where it is null."""
        self.refuse_options_of_lists(request)
        if self.query_options.compute:
            raise BadQuery("$compute is for records; this address is a part of one.", target="$compute")
        projection = bind_projection(address.type, self.query_options, item=True)
        json = read_member(address, projection.selection)
        if json is None:
            raise no_record(address.path)
        if json == "null":
            return self.respond(status=204)
        context = f"{address.path}{projection.select_list}"
        return self.respond(
            RenderedRecords(self.base_url, context, [json], address.type, address.path, bare=True)
        )

    def respond_value(self, request: Request, address: MemberAddress) -> HttpResponseBase:
        """A property, with ``/$value`` its bare value; 204 where it is null."""
        self.refuse_options_of_lists(request)
        for name in ("select", "expand", "compute"):
            if getattr(self.query_options, name):
                raise BadQuery(f"${name} is for records; this address is one value.", target=f"${name}")
        value = read_member(address)
        if value is None:
            raise no_record(address.path)
        if value == "null":
            return self.respond(status=204)
        if address.ending == "$value":
            text = json.loads(value) if value.startswith('"') else value
            return self.respond(text.encode())
        context = json.dumps(f"{self.base_url}$metadata#{address.path}")
        return self.respond(f'{{"@odata.context":{context},"value":{value}}}'.encode())

    # --- writing --------------------------------------------------------------------------------------

    def create(self, request: Request) -> HttpResponse:
        """POST: all records of the body are stored, or none."""
        return self.respond_once(request, partial(self.respond_created, request))

    def respond_once(
        self, request: Request, respond: Callable[[], HttpResponse], digest: bytes | None = None
    ) -> HttpResponse:
        """``respond()``, or the stored response to an earlier request with the same Idempotency-Key.

        ``digest`` identifies a body that has been read already.
        """
        if "Idempotency-Key" not in request.headers:
            return respond()
        wrapper: Callable[..., HttpResponse] = import_string(settings.ODATA_POST_WRAPPER)
        response = wrapper(request, lambda: self.finalize_response(request, respond()), digest)
        if "Idempotency-Replayed" in response and response.content:
            records = [response.content.decode()]
            get_read_log().log_records(self.entity_set, records, (), is_list=False, has_others=True)
        return response

    def handle_exception(self, exc: Exception) -> HttpResponse:
        if isinstance(exc, ServiceError) and exc.details:
            get_read_log().log_refusal(self.entity_set, [detail.code for detail in exc.details])
        response: HttpResponse = super().handle_exception(exc)
        return response

    def respond_created(self, request: Request) -> HttpResponse:
        self.refuse_plain_filters()
        return self.respond_stored(self.store(request))

    def respond_stored(self, created: Created) -> HttpResponse:
        """The new records, without a body when that is preferred."""
        preferences, keys = self.preferences, created.keys
        location = f"{self.base_url}{self.entity_set.name}({keys[0]})" if len(keys) == 1 else ""
        is_minimal = preferences.result == "minimal"
        applied = preferences.applied(is_write=True, has_body=not is_minimal)
        headers: dict[str, str | None] = {"Location": location, "Preference-Applied": applied}
        if is_minimal:
            return self.respond(headers={**headers, "OData-EntityId": location}, status=204)
        reader = self.reader(self.get_queryset(), EXPAND_ALL)
        found = reader.read(keys)
        records, etags = zip(*(found[key] for key in keys), strict=True)
        headers["ETag"] = etags[0] if location else None
        if self.entity_set.names_others:
            query = self.query_options.parameters
            get_read_log().log_records(self.entity_set, records, query, is_list=True, has_others=True)
        return self.respond(self.rendered(reader, records, bare=created.bare), headers, 201)

    def store(self, request: Request) -> Created:
        """Create the records of the body. Resources whose bodies are not JSON override it."""
        return dispatch.create(self.entity_set, self.parse_body(request), self.caller, self.ignores_warnings)

    @property
    def ignores_warnings(self) -> bool:
        ignored = self.query_options.service.get("ignoreWarnings", "false").lower()
        if self.resource.has_warnings and ignored not in ("true", "false", "1", "0"):
            raise BadQuery("ignoreWarnings must be true or false.", target="ignoreWarnings")
        return ignored in ("true", "1")

    def update(self, request: Request, key: str) -> HttpResponse:
        """PUT: the body replaces the record; members it does not have become null or their default."""
        respond_to_put = partial(self.respond_changed, request, key, BodyKind.WHOLE)
        return self.respond_once(request, respond_to_put) if self.version == V2_1 else respond_to_put()

    def partial_update(self, request: Request, key: str) -> HttpResponse:
        """PATCH: the record takes the members of the body and keeps the others."""
        return self.respond_once(request, partial(self.respond_changed, request, key, BodyKind.PARTIAL))

    def respond_changed(self, request: Request, key: str, kind: BodyKind) -> HttpResponse:
        """The changed record; the new one where the address has an alternate key of none."""
        self.refuse_plain_filters()
        body = self.parse_body(request)
        named, records = read_key(key, self.entity_set, self.query_options.aliases), self.get_queryset()
        record_key = named.find_in(records) if isinstance(named, AlternateValue) else named
        if isinstance(named, AlternateValue) and record_key is None:
            if request.META.get("HTTP_IF_MATCH", "").strip():
                raise PreconditionFailed(f"There is no {self.entity_set.name} with {named}.")
            return self.respond_stored(
                create_named(self.entity_set, records, named, body, self.caller, self.ignores_warnings)
            )
        target = self.target(record_key)
        if isinstance(named, AlternateValue):
            target = replace(target, named_by=named.key)
        dispatch.update(target, body, kind, self.ignores_warnings)
        return self.respond_updated(request, target.key)

    def upsert(self, request: Request) -> HttpResponse:
        """PATCH of the set: a delta payload, whose records are created, changed or archived."""
        return self.respond_once(request, partial(respond_delta, self))

    def destroy(self, request: Request, key: str) -> HttpResponse:
        """DELETE: the record is archived."""
        return self.respond_once(request, partial(self.respond_archived, key))

    def respond_archived(self, key: str) -> HttpResponse:
        self.refuse_plain_filters()
        dispatch.archive(self.target(self.read_key(key)), self.ignores_warnings)
        return self.respond(status=204)

    def target(self, key: object) -> dispatch.Target:
        """The record that a request changes; in version 2.1 it must say which state it has read."""
        if_match = self.request.META.get("HTTP_IF_MATCH", "").strip()
        if_none_match = self.request.META.get("HTTP_IF_NONE_MATCH", "").strip()
        if self.version == V2_1 and not if_match and if_none_match != "*":
            message = "Send If-Match with the record's ETag, or * for any state of it."
            raise PreconditionRequired(message, target="If-Match")
        is_conditional = if_match not in ("", "*") or if_none_match
        check = self.check_preconditions if is_conditional else None
        return dispatch.Target(self.entity_set, key, self.get_queryset(), self.caller, check)

    def respond_updated(self, request: Request, record_key: object) -> HttpResponse:
        """The record after a write with its ETag, without a body when that is preferred."""
        # Whoever has given the record out of hand sees it once more.
        reader = self.reader(self.entity_set.resource.visible_to(self.caller), EXPAND_ALL, item=True)
        record, etag = reader.record(record_key)
        preferences = self.preferences
        is_minimal = preferences.result == "minimal"
        applied = preferences.applied(is_write=True, has_body=not is_minimal)
        headers = {"ETag": etag, "Preference-Applied": applied}
        if is_minimal:
            return self.respond(headers=headers, status=204)
        # A change of nothing shows a record as a GET does, and the history has no entry of it.
        self.log_records([record])
        return self.respond(self.rendered(reader, [record], bare=True), headers)

    def check_preconditions(self, record: Model) -> None:
        """``PreconditionFailed`` unless If-Match names the record as it is, and If-None-Match does not."""
        etag_field, headers = self.entity_set.etag_field, self.request.META
        etag = "" if etag_field is None else make_etag(getattr(record, etag_field))
        if_match, if_none_match = headers.get("HTTP_IF_MATCH"), headers.get("HTTP_IF_NONE_MATCH")
        if if_match and etag and not matches_etag(if_match, etag):
            raise PreconditionFailed(RECORD_CHANGED)
        if if_none_match and matches_etag(if_none_match, etag):
            raise PreconditionFailed("If-None-Match names the record as it is: it exists.")


def no_record(address: str) -> NotFound:
    return NotFound(f"There is no record at {address}.")
