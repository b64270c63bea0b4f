"""Responses that are files to store, under the names of RFC 6266."""

import re
from collections.abc import Iterable
from urllib.parse import quote

from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse

_NOT_PLAIN = re.compile(r"[^ !#-\[\]-~]|%")


def bytes_response(content: bytes, file_name: str, media_type: str) -> HttpResponse:
    """Bytes that are kept in a row, or were just made, as a file to store."""
    return HttpResponse(content, content_type=media_type, headers=attachment_headers(file_name))


def parts_response(parts: Iterable[bytes | str], file_name: str, media_type: str) -> StreamingHttpResponse:
    """Bytes or texts of which one part at a time is in memory, as a file to store."""
    return StreamingHttpResponse(parts, content_type=media_type, headers=attachment_headers(file_name))


def attachment_headers(file_name: str) -> dict[str, str]:
    return {
        "Content-Disposition": content_disposition(file_name, "attachment"),
        "Content-Security-Policy": settings.DATA_SECURITY_POLICY,
        "X-Content-Type-Options": "nosniff",
    }


def content_disposition(file_name: str, kind: str) -> str:
    """``attachment; filename="Plan _.pdf"; filename*=UTF-8''Plan%20%C3%A9.pdf``; the second when needed."""
    plain = _NOT_PLAIN.sub("_", file_name)
    value = f'{kind}; filename="{plain}"'
    return value if plain == file_name else f"{value}; filename*=UTF-8''{quote(file_name, safe='')}"
