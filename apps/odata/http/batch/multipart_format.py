"""Batches in the multipart format (OData 4.01, Protocol 11.7.7)."""

import re
from collections.abc import Iterator, Mapping, Sequence

from django.utils.http import parse_header_parameters
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
from apps.odata.http.formats import RawBodyParser

#: Line ends are CRLF, or LF alone as some clients write them.
_BLANK_LINE = re.compile(rb"(?:\A|\r?\n)\r?\n")
_LINE_END = re.compile(rb"\r?\n")
#: Clients leave out the version, and write blanks into the URL.
_REQUEST_LINE = re.compile(rb"([A-Za-z]{1,20}) +(.*)")
#: In a pattern of its own: behind blanks of a URL, each would be tried as the last.
_VERSION = re.compile(rb"HTTP/[0-9.]{1,9}\Z")
MAX_VERSION = len("HTTP/") + 9

#: A client (o.js) recognises the responses of a change set by this beginning of their boundary.
CHANGE_SET_PREFIX = "changesetresponse_"


class MultipartBatchParser(RawBodyParser):
    """The items of a multipart batch; ``BadBody`` for what is none."""

    media_type = "multipart/mixed"
    refusal = "A batch is sent as multipart/mixed or application/json."

    def parse(
        self,
        stream: object,
        media_type: str | None = None,
        parser_context: Mapping[str, object] | None = None,
    ) -> Sequence[BatchItem]:
        raw = super().parse(stream, media_type, parser_context)
        requests = 0
        items: list[BatchItem] = []
        for headers, content in body_parts(raw, media_type or ""):
            if is_multipart(headers):
                members = []
                for part_headers, part in body_parts(content, headers["content-type"]):
                    check_number(requests := requests + 1)
                    members.append(request_of_part(part_headers, part))
                items.append(AtomicityGroup(f"changeset.{len(items)}", members))
            else:
                check_number(requests := requests + 1)
                items.append(request_of_part(headers, content))
        check_items(items)
        return items


def is_multipart(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").lower().startswith("multipart/mixed")


def body_parts(raw: bytes, content_type: str) -> Iterator[tuple[dict[str, str], bytes]]:
    """The headers and the content of each part; what is before the first and behind the last is ignored."""
    boundary = parse_header_parameters(content_type)[1].get("boundary", "")
    if not 0 < len(boundary) <= 70:
        raise BadBody("multipart/mixed needs a boundary of 1 to 70 characters.")
    delimiter = re.compile(
        rb"(?:\A|\r?\n)--" + re.escape(boundary.encode("latin-1", "replace")) + rb"(--)?[ \t]*(?=\r?\n|\Z)"
    )
    start = None
    for match in delimiter.finditer(raw):
        if start is not None:
            # Without the end of the boundary's own line. The headers end with the first blank line.
            part = _LINE_END.sub(b"", raw[start : match.start()], count=1)
            head, *content = _BLANK_LINE.split(part, maxsplit=1)
            yield read_headers(_LINE_END.split(head)), content[0] if content else b""
        if match[1]:
            return
        start = match.end()
    raise BadBody("A multipart body is not closed: the line --boundary-- is missing.")


def read_headers(lines: Sequence[bytes]) -> dict[str, str]:
    """Headers by their name in lower case."""
    headers: dict[str, str] = {}
    for line in filter(None, lines):
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon or not name.strip() or name[0].isspace():
            raise BadBody(
                f"A part of the batch has a header without a name: {line[:40].decode('latin-1')!r}."
            )
        headers[name.strip().lower()] = value.strip()
    return headers


def request_of_part(part_headers: Mapping[str, str], content: bytes) -> IndividualRequest:
    """The HTTP request that a part holds."""
    content_type = part_headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/http":
        raise BadBody("A part of the batch is application/http, or multipart/mixed for a change set.")
    encoding = part_headers.get("content-transfer-encoding", "binary").lower()
    if encoding not in ("binary", "8bit", "7bit"):
        raise BadBody("Content-Transfer-Encoding is binary in a batch.")
    head, *body = _BLANK_LINE.split(content.lstrip(b"\r\n"), maxsplit=1)
    line, *header_lines = _LINE_END.split(head)
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        raise BadBody("A part of the batch begins with a request line, such as GET client HTTP/1.1.")
    headers = read_headers(header_lines)
    identifier = part_headers.get("content-id") or headers.get("content-id", "")
    url = match[2].rstrip(b" ")
    if version := _VERSION.search(url, max(len(url) - MAX_VERSION, 0)):
        url = url[: version.start()].rstrip(b" ")
    method = match[1].decode().upper()
    return IndividualRequest(method, url, headers, body[0] if body else b"", identifier.strip("<>"))


class MultipartBatchRenderer(BaseRenderer):
    """A part for each response, and a nested body for each change set that succeeded."""

    media_type = "multipart/mixed"
    format = "multipart"
    charset = None

    def render(
        self,
        data: BatchResponse | None,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, object] | None = None,
    ) -> bytes:
        if data is None:
            return b""
        parts = [
            item_part(item, f"{CHANGE_SET_PREFIX}{number}_{data.boundary}")
            for number, item in enumerate(data.items)
        ]
        return multipart_body(parts, batch_boundary(data))


def batch_boundary(batch: BatchResponse) -> str:
    return f"batchresponse_{batch.boundary}"


def item_part(item: IndividualResponse | GroupResponse, boundary: str) -> bytes:
    """The part of a response. A change set that failed has one response, its error."""
    if isinstance(item, IndividualResponse):
        return response_part(item)
    if item.error is not None:
        return response_part(item.error)
    body = multipart_body([response_part(response) for response in item.responses], boundary)
    return f"Content-Type: multipart/mixed; boundary={boundary}\r\n\r\n".encode() + body


def multipart_body(parts: Sequence[bytes], boundary: str) -> bytes:
    # OpenUI5 needs a line end behind the last boundary.
    return b"".join(
        [*(f"--{boundary}\r\n".encode() + part + b"\r\n" for part in parts), f"--{boundary}--\r\n".encode()]
    )


def response_part(response: IndividualResponse) -> bytes:
    lines = ["Content-Type: application/http", "Content-Transfer-Encoding: binary"]
    if response.id:
        lines.append(f"Content-ID: {response.id}")
    headers = {**response.headers, "Content-Length": str(len(response.body))}
    lines += ["", f"HTTP/1.1 {response.status} {response.reason}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + response.body
