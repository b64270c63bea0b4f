"""Downloads of documents: the whole file or a range (RFC 9110), or a redirect inside the web server."""

import re
from typing import ClassVar
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from apps.base.errors import ServiceError
from apps.base.etags import matches_etag
from apps.core.downloads import content_disposition
from apps.core.read_log import log_download
from apps.documents.models import Document
from apps.documents.storage import document_storage, storage_error

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)

#: A browser that shows a download in spite of everything runs nothing in it.
SANDBOX = f"{settings.DATA_SECURITY_POLICY}; sandbox"
#: `object-src`: the browser's own viewer of PDF files is an embedded object.
PREVIEW = (
    "default-src 'none'; img-src 'self'; object-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; "
    "frame-ancestors 'self'"
)

#: The types that a browser shows by itself, without running anything in them.
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"})
PDF = "application/pdf"


class RangeNotSatisfiable(ServiceError):
    """A range that begins behind the file's end."""

    status: ClassVar[int] = 416
    default_code: ClassVar[str] = "RangeNotSatisfiable"


def file_response(document: Document, request: HttpRequest, inline: bool = False) -> HttpResponseBase:
    """The file of a document: 200, 206 for one range, or 304. ``inline`` shows it in the back office.

    Raises ``RangeNotSatisfiable``, and ``StorageUnavailable`` when the bytes cannot be read.
    """
    known_etags = request.META.get("HTTP_IF_NONE_MATCH", "")
    response: HttpResponseBase
    if known_etags and matches_etag(known_etags, etag(document)):
        response = HttpResponse(status=304)
    elif settings.DOCUMENT_ACCEL_PREFIX:
        # nginx sends the file, ranges and all, with our headers.
        response = HttpResponse(content_type=document.media_type)
        response["X-Accel-Redirect"] = settings.DOCUMENT_ACCEL_PREFIX + quote(document.storage_key)
    else:
        response = range_response(document, request)
    if response.status_code != 304 and request.method != "HEAD":
        log_download(document)
    response["ETag"] = etag(document)
    response["Accept-Ranges"] = "bytes"
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Disposition"] = content_disposition(
        document.file_name, "inline" if inline else "attachment"
    )
    response["Content-Security-Policy"] = PREVIEW if inline else SANDBOX
    if inline:
        response["X-Frame-Options"] = "SAMEORIGIN"
    return response


def range_response(document: Document, request: HttpRequest) -> HttpResponseBase:
    byte_range = requested_range(document, request)
    start, stop = byte_range or (0, document.size)
    if start >= stop:
        raise RangeNotSatisfiable(
            f"The file has {document.size:,} bytes.", headers={"Content-Range": f"bytes */{document.size}"}
        )
    options = {"status": 200 if byte_range is None else 206, "content_type": document.media_type}
    response: HttpResponseBase
    if request.method == "HEAD":
        response = HttpResponse(**options)
    else:
        try:
            chunks = document_storage().read_range(document.storage_key, start, stop - start)
        except Exception as error:
            raise storage_error("read", error) from error
        response = StreamingHttpResponse(chunks, **options)
    response["Content-Length"] = str(stop - start)
    if byte_range is not None:
        response["Content-Range"] = f"bytes {start}-{stop - 1}/{document.size}"
    return response


def etag(document: Document) -> str:
    """Strong: the hash of the bytes."""
    return f'"{document.sha256}"'


def requested_range(document: Document, request: HttpRequest) -> tuple[int, int] | None:
    """The one range of the request as (start, stop), empty when it cannot be had; ``None`` for the whole.

    Several ranges, other units and what is no range are answered with the whole, as RFC 9110 allows; so is an
    If-Range with another ETag.
    """
    condition = request.META.get("HTTP_IF_RANGE", "").strip()
    if request.method != "GET" or (condition and condition != etag(document)):
        return None
    match = _RANGE.fullmatch(request.META.get("HTTP_RANGE", "").strip().replace(" ", ""))
    if match is None:
        return None
    first, last = match[1], match[2]
    if first and last and int(first) > int(last):
        return None
    if first:
        return int(first), min(int(last) + 1, document.size) if last else document.size
    if last:
        return max(document.size - int(last), 0), document.size if int(last) else 0
    return None
