"""Batches in JSON (OData 4.01, JSON Format 19)."""

import base64
import binascii
import codecs
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import msgspec
from rest_framework.renderers import BaseRenderer

from apps.base.errors import BadBody
from apps.odata.http.batch.messages import (
    AtomicityGroup,
    BatchItem,
    BatchResponse,
    GroupResponse,
    IndividualRequest,
    IndividualResponse,
    check_items,
    check_number,
)
from apps.odata.http.formats import JSONBodyParser
from apps.odata.write.json_parser import RepeatedNames, parse_body


class JSONRequest(msgspec.Struct):
    """A request object."""

    id: str
    method: str
    url: str
    headers: dict[str, str] = {}
    body: msgspec.Raw = msgspec.Raw(b"null")
    group: str | None = msgspec.field(name="atomicityGroup", default=None)
    depends_on: list[str] = msgspec.field(name="dependsOn", default_factory=list)
    condition: object = msgspec.field(name="if", default=None)


class JSONBatch(msgspec.Struct):
    """The body of a batch."""

    requests: list[JSONRequest]


_DECODER = msgspec.json.Decoder(JSONBatch)


class JSONBatchParser(JSONBodyParser):
    """The items of a batch in JSON; ``BadBody`` for what is none, with the place of the fault."""

    refusal = "A batch is sent as multipart/mixed or application/json."

    def parse(
        self,
        stream: object,
        media_type: str | None = None,
        parser_context: Mapping[str, object] | None = None,
    ) -> Sequence[BatchItem]:
        raw = super().parse(stream, media_type, parser_context)
        try:
            batch = _DECODER.decode(raw.removeprefix(codecs.BOM_UTF8))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadBody(f"The batch cannot be read: {error}.") from None
        except RecursionError:
            raise BadBody("The batch nests too deep.") from None
        check_number(len(batch.requests))
        refuse_repeated_names(raw)
        items = list(batch_items(batch.requests))
        check_items(items)
        return items


def refuse_repeated_names(raw: bytes) -> None:
    """``BadBody`` where the batch, a request or its headers have two members of one name.

    Bodies are left to the views that read them.
    """
    batch = parse_body(raw, objects_per_record=len(raw))
    requests = batch["requests"]
    places = [f"$.requests[{at}]" for at in range(len(requests))]
    objects = [("$", batch), *zip(places, requests, strict=True)]
    objects += [(f"{place}.headers", request.get("headers")) for place, request in objects[1:]]
    for place, value in objects:
        if isinstance(value, RepeatedNames):
            raise BadBody(f"The batch cannot be read: {value.names[0][:60]} is given twice - at `{place}`.")


def batch_items(requests: Sequence[JSONRequest]) -> Iterator[BatchItem]:
    """Requests and groups; the requests of a group follow each other."""
    for name, group in groupby(requests, key=lambda request: request.group):
        members = [request_of_object(request) for request in group]
        if name is None:
            yield from members
        else:
            yield AtomicityGroup(name, members)


def request_of_object(request: JSONRequest) -> IndividualRequest:
    if not request.id:
        raise BadBody("A request of a batch in JSON needs an id.")
    if request.condition is not None:
        raise BadBody(f"Request {request.id}: conditions (if) are not supported; dependsOn is.")
    # WSGI shows the bytes of a header as Latin-1.
    headers = {name.lower(): text.encode().decode("latin-1") for name, text in request.headers.items()}
    body = b""
    if bytes(request.body) != b"null":
        body = decode_body(request, headers.setdefault("content-type", "application/json"))
    method, url = request.method.upper(), request.url.encode()
    return IndividualRequest(method, url, headers, body, request.id, request.depends_on)


def decode_body(request: JSONRequest, content_type: str) -> bytes:
    """The bytes of a body: JSON as it is, a text as a string, anything else as base64url."""
    if is_json_type(content_type):
        return bytes(request.body)
    text = json.loads(bytes(request.body))
    try:
        if not isinstance(text, str):
            raise ValueError
        if is_text_type(content_type):
            return text.encode()
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise BadBody(
            f"Request {request.id}: the body of {content_type[:60]} must be a string"
            f"{'' if is_text_type(content_type) else ' in base64url'}."
        ) from None


def is_json_type(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() in ("application/json", "")


def is_text_type(content_type: str) -> bool:
    return content_type.strip().lower().startswith("text/")


class JSONBatchRenderer(BaseRenderer):
    """``{"responses": [{"id", "atomicityGroup"?, "status", "headers", "body"?}]}``."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: BatchResponse | None,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, object] | None = None,
    ) -> bytes:
        if data is None:
            return b""
        return b'{"responses":[' + b",".join(response_objects(data)) + b"]}"


def response_objects(batch: BatchResponse) -> Iterator[bytes]:
    for item in batch.items:
        if isinstance(item, GroupResponse):
            yield from (response_object(response, item.name) for response in item.responses)
        else:
            yield response_object(item)


def response_object(response: IndividualResponse, group: str | None = None) -> bytes:
    """The JSON of one response; a JSON body stays as it was rendered."""
    members: dict[str, object] = {"id": response.id} if response.id else {}
    if group is not None:
        members["atomicityGroup"] = group
    members["status"] = response.status
    members["headers"] = {name.lower(): value for name, value in response.headers.items()}
    text = json.dumps(members, separators=(",", ":")).encode()
    if not response.body:
        return text
    return text[:-1] + b',"body":' + encode_body(response) + b"}"


def encode_body(response: IndividualResponse) -> bytes:
    content_type = response.headers.get("Content-Type", "")
    if is_json_type(content_type):
        return response.body
    if is_text_type(content_type):
        return json.dumps(response.body.decode()).encode()
    return json.dumps(base64.urlsafe_b64encode(response.body).decode().rstrip("=")).encode()
