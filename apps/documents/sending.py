"""A document's bytes on their way out: as stored, whole or a range, or left to the web server.

RFC 9110 for ranges and conditions, RFC 6266 for names.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from apps.documents.keeping import storage_failure
from apps.documents.models import Document
from apps.documents.storage import documents
from apps.odata.errors import ODataError
from apps.odata.http.headers import matches_etag

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)
_NOT_PLAIN = re.compile(r"[^ !#-\[\]-~]|%")

#: What a browser may do with a file that it shows in spite of everything: nothing.
SANDBOX = "default-src 'none'; sandbox"
PREVIEW = (
    "default-src 'none'; img-src 'self'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'"
)

#: The types that a browser shows by itself, without running anything in them.
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"})
PDF = "application/pdf"


class NoSuchPart(ODataError):
    """A range that begins behind the file's end."""

    status: ClassVar[int] = 416
    default_code: ClassVar[str] = "RangeNotSatisfiable"


def file_answer(document: Document, request: HttpRequest, inline: bool = False) -> HttpResponseBase:
    """The file of a document: 200, 206 for one range, or 304. ``inline`` shows it in our own pages.

    Raises ``NoSuchPart`` for other ranges, and ``StorageFails`` when the bytes cannot be had.
    """
    answer = conditional_answer(document, request)
    answer["ETag"] = etag(document)
    answer["Accept-Ranges"] = "bytes"
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Content-Disposition"] = disposition(document.file_name, "inline" if inline else "attachment")
    answer["Content-Security-Policy"] = PREVIEW if inline else SANDBOX
    if inline:
        answer["X-Frame-Options"] = "SAMEORIGIN"
    return answer


def conditional_answer(document: Document, request: HttpRequest) -> HttpResponseBase:
    asked = request.META.get("HTTP_IF_NONE_MATCH", "")
    if asked and matches_etag(asked, etag(document)):
        return HttpResponse(status=304)
    if settings.DOCUMENT_ACCEL_PREFIX:
        return left_to_web_server(document)
    start, stop = asked_range(request, document) or (0, document.size)
    if start >= stop:
        raise NoSuchPart(
            f"The file has {document.size:,} bytes.", headers={"Content-Range": f"bytes */{document.size}"}
        )
    part = (start, stop) != (0, document.size) or is_for_range(request, document)
    answer_of = head_answer if request.method == "HEAD" else body_answer
    answer = answer_of(document, start, stop, 206 if part else 200)
    answer["Content-Length"] = str(stop - start)
    if part:
        answer["Content-Range"] = f"bytes {start}-{stop - 1}/{document.size}"
    return answer


def left_to_web_server(document: Document) -> HttpResponse:
    """nginx sends the file, ranges and all; it takes over our headers."""
    answer = HttpResponse(content_type=document.media_type)
    answer["X-Accel-Redirect"] = settings.DOCUMENT_ACCEL_PREFIX + quote(document.storage_key)
    return answer


def head_answer(document: Document, start: int, stop: int, status: int) -> Any:
    return HttpResponse(status=status, content_type=document.media_type)


def body_answer(document: Document, start: int, stop: int, status: int) -> Any:
    try:
        pieces = documents().reading(document.storage_key, start, stop - start)
    except Exception as trouble:
        raise storage_failure("read", trouble) from trouble
    return StreamingHttpResponse(pieces, status=status, content_type=document.media_type)


def etag(document: Document) -> str:
    """Strong: the bytes' own hash."""
    return f'"{document.sha256}"'


def asked_range(request: HttpRequest, document: Document) -> tuple[int, int] | None:
    """The one range asked for, as (start, stop); an empty one when it cannot be had; None for the whole.

    Several ranges, other units and what is no range at all are answered with the whole, as RFC 9110 allows.
    """
    if not is_for_range(request, document):
        return None
    found = _RANGE.fullmatch(request.META["HTTP_RANGE"].strip().replace(" ", ""))
    assert found is not None
    first, last = found[1], found[2]
    if not first:
        return max(document.size - int(last), 0), document.size if int(last) else 0
    stop = min(int(last) + 1, document.size) if last else document.size
    return int(first), stop


def is_for_range(request: HttpRequest, document: Document) -> bool:
    """Whether a range is asked for that is understood, of the file as the caller knows it."""
    if request.method != "GET":
        return False
    found = _RANGE.fullmatch(request.META.get("HTTP_RANGE", "").strip().replace(" ", ""))
    if found is None or not (found[1] or found[2]):
        return False
    if found[1] and found[2] and int(found[1]) > int(found[2]):
        return False
    condition = request.META.get("HTTP_IF_RANGE", "").strip()
    return not condition or condition == etag(document)


def disposition(file_name: str, kind: str) -> str:
    """``attachment; filename="Plan _.pdf"; filename*=UTF-8''Plan%20%C3%A9.pdf``; the second when needed."""
    plain = _NOT_PLAIN.sub("_", file_name)
    told = f'{kind}; filename="{plain}"'
    return told if plain == file_name else f"{told}; filename*=UTF-8''{quote(file_name, safe='')}"
