"""The requests of a batch, served one after the other by the views of their addresses."""

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from django.db import DatabaseError, IntegrityError, transaction
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from apps.base import clock
from apps.base.errors import Conflict, NotFound, ServiceError, TooLarge
from apps.base.retries import is_lost_race
from apps.odata.errors import BadQuery, FailedDependency, NotAcceptable, TooCostly
from apps.odata.http.batch.batched_request import BatchedRequest, batched_environ
from apps.odata.http.batch.messages import (
    AtomicityGroup,
    BatchItem,
    BatchResponse,
    GroupResponse,
    IndividualRequest,
    IndividualResponse,
)
from apps.odata.http.batch.references import resolve_query, resolve_reference, resolve_references
from apps.odata.http.exceptions import error_response
from apps.odata.http.middleware import call_view

#: Headers that the response to the batch has for all of them.
_HEADERS_OF_BATCH = frozenset({"cache-control", "content-security-policy", "vary", "api-supported-versions"})


#: Seconds after which the credentials of a batch are checked again: it may outlive its token.
CALLER_SECONDS = 1
#: Seconds, and bytes of responses, after which no further request of a batch is begun.
MAX_SECONDS, MAX_RESPONSE_BYTES = 10, 64 * 1024 * 1024
#: Bytes of a URL before its query, as many as servers take: escapes of more would fill the memory.
MAX_PATH = 8_000
_ORIGIN = re.compile(rb"https?://([^/?#]*)", re.IGNORECASE)
#: A set with the select list of a context URL: what Syncfusion's adaptor takes for the address of the set.
_SET_IN_CONTEXT = re.compile(rb"(/?\w+)\((?=\w+,).*?\)(?=\(|\Z)")


class BatchProcessor:
    """Serves the requests of one batch.

    ``batch`` is its request, ``base_url`` the address of the service. After an error the requests that
    are left are served only with ``continue_on_error``.
    """

    def __init__(self, batch: Request, base_url: str, continue_on_error: bool) -> None:
        self.batch, self.base_url, self.continue_on_error = batch, base_url, continue_on_error
        self.root = urlsplit(base_url).path.encode()
        self.start = self.checked = time.monotonic()
        self.caller: object = batch.auth
        self.requests = self.response_bytes = 0
        #: The responses so far by the identifiers of their requests; of a group by its name, one of its own.
        self.responses: dict[str, IndividualResponse] = {}

    def process(self, items: Sequence[BatchItem]) -> BatchResponse:
        responses: list[IndividualResponse | GroupResponse] = []
        for item in items:
            responses.append(self.serve_group(item) if isinstance(item, AtomicityGroup) else self.serve(item))
            if responses[-1].is_error and not self.continue_on_error:
                break
        return BatchResponse(responses)

    def serve_group(self, group: AtomicityGroup) -> GroupResponse:
        """Serve the requests of a group in one transaction, until one fails."""
        responses: list[IndividualResponse] = []
        error: IndividualResponse | None = None
        try:
            with transaction.atomic():
                for request in group.requests:
                    responses.append(self.serve(request))
                    if responses[-1].is_error:
                        error = responses[-1]
                        transaction.set_rollback(True)
                        break
        except DatabaseError as exception:  # from what is checked when the transaction ends
            refusal: Exception = exception
            if isinstance(exception, IntegrityError) or is_lost_race(exception):
                refusal = Conflict(
                    "Another request stored the same at the same time. Nothing of the group was stored."
                )
            error = self.refuse(group.requests[-1], refusal)
        if error is not None:
            reason = FailedDependency(
                f"Nothing of {group.name} was stored, because one of its requests failed."
            )
            responses = [
                error if request.id == error.id else self.refuse(request, reason)
                for request in group.requests
            ]
        self.responses.update((response.id, response) for response in responses)
        if responses:
            self.responses[group.name] = error or responses[-1]
        return GroupResponse(group.name, responses, error)

    def serve(self, request: IndividualRequest) -> IndividualResponse:
        self.requests += 1
        try:
            response = self.individual_response(request)
        except ServiceError as error:
            response = self.refuse(request, error)
        self.response_bytes += len(response.body)
        self.responses[request.id] = response
        return response

    def refuse(self, request: IndividualRequest, error: Exception) -> IndividualResponse:
        return read_response(request, error_response(error, self.batch))

    def individual_response(self, request: IndividualRequest) -> IndividualResponse:
        """The response of the view at the address of the request."""
        self.check_limits()
        if any(self.responses[name].is_error for name in request.depends_on):
            raise FailedDependency("A request failed that this one depends on.")
        request = resolve_references(self.with_idempotency_key(request), self.responses)
        authorization = self.batch.META.get("HTTP_AUTHORIZATION")
        if request.headers.get("authorization", authorization) != authorization:
            raise BadQuery("A batch has one Authorization header, its own.", target="Authorization")
        path, query = split_url(request.url, self.batch, self.root)
        if url := resolve_reference(path, self.responses):
            path, _ = split_url(url, self.batch, self.root)
        query = resolve_query(query, self.responses)
        clock.reset_now()
        response = respond_for(self.batch, self.current_caller(), request, path, query)
        if response.streaming:  # not closed: Django would end the request, and the connection to the database
            raise NotAcceptable("No stream is served in a batch; ask for JSON, or send the request alone.")
        own_address = self.base_url + path.decode("latin-1")
        return read_response(request, response, "" if request.method == "POST" else own_address)

    def current_caller(self) -> object:
        """The caller with current rights; ``Unauthenticated`` when the token is no longer valid."""
        if time.monotonic() - self.checked >= CALLER_SECONDS:
            view: Any = self.batch.parser_context["view"]
            self.caller = Request(self.batch._request, authenticators=view.get_authenticators()).auth
            self.checked = time.monotonic()
        return self.caller

    def check_limits(self) -> None:
        """Refuse to go on after too long a time, or with too large a response."""
        if time.monotonic() - self.start > MAX_SECONDS:
            raise TooCostly(f"The batch takes over {MAX_SECONDS} seconds; send what is left again.")
        if self.response_bytes > MAX_RESPONSE_BYTES:
            limit = f"{MAX_RESPONSE_BYTES:,} bytes"
            raise TooLarge(f"The responses to a batch hold at most {limit}; send what is left again.")

    def with_idempotency_key(self, request: IndividualRequest) -> IndividualRequest:
        """The request with a key made of its batch's, so that a repeated batch stores nothing twice."""
        key = self.batch.headers.get("Idempotency-Key")
        if key is None or request.method != "POST" or "idempotency-key" in request.headers:
            return request
        return replace(request, headers={**request.headers, "idempotency-key": f"{key}#{self.requests}"})


def split_url(url: bytes, sender: Request, root: bytes) -> tuple[bytes, bytes]:
    """The path below the service at ``root``, and the query, of a URL of any of OData's three forms."""
    path, _, query = url.partition(b"#")[0].partition(b"?")
    if len(path) > MAX_PATH:
        raise BadQuery(f"A URL has at most {MAX_PATH:,} bytes before its query.")
    path = _SET_IN_CONTEXT.sub(rb"\1", path, count=1)
    origin = _ORIGIN.match(path)
    if origin:
        if origin[1].decode("latin-1").lower() != sender.get_host().lower():
            raise NotFound("This address is of another host.")
        path = path[origin.end() :]
    elif not path.startswith(b"/"):
        return path, query
    if not (path + b"/").lower().startswith(root.lower()):
        raise NotFound(f"Only addresses below {root.decode()} can be named here.")
    return path[len(root) :], query


def respond_for(
    sender: Request, caller: object, request: IndividualRequest, path: bytes, query: bytes
) -> HttpResponseBase:
    """The response at a path below the service, for the caller of the request that names it."""
    batched = BatchedRequest(batched_environ(sender, request, path, query), sender, caller)
    return error_response(batched.fault, batched) if batched.fault else call_view(batched)


def read_response(
    request: IndividualRequest, response: HttpResponseBase, address: str = ""
) -> IndividualResponse:
    """The response to an individual request; ``address`` is the request's own."""
    assert isinstance(response, HttpResponse)
    headers = {name: value for name, value in response.items() if name.lower() not in _HEADERS_OF_BATCH}
    return IndividualResponse(
        request.id,
        response.status_code,
        response.reason_phrase,
        headers,
        b"" if request.method == "HEAD" else response.content,
        response.get("Location", address),
    )
