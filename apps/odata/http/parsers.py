"""Parsers: the bytes of a body within its limit; ``apps.odata.write`` decodes the records in it."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.conf import settings
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from apps.odata.errors import BadQuery, TooLarge, UnsupportedMediaType


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
