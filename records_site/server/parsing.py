"""Requests while they arrive: how large and how slow they may be."""

import logging
import time
from typing import Any

from django.conf import settings
from waitress.adjustments import Adjustments
from waitress.parser import HTTPRequestParser, ParsingError

from apps.access.authentication import CHALLENGES
from apps.base import errors
from apps.documents.parsers import MAX_FIELD_BYTES

logger = logging.getLogger(__name__)

#: Seconds that a client has for its headers; in each further span of them it sends or reads so many bytes a
#: second of a body.
CLIENT_SECONDS = 30
CLIENT_BYTES_PER_SECOND = 8 * 1024
MAX_CHUNK_HEADER_BYTES = 1024
#: A body without credentials is a request for a token or a form to sign in.
MAX_ANONYMOUS_BYTES = 64 * 1024
HEAD = b"HEAD "
NOT_KEPT = errors.Unavailable(
    "The service cannot keep a body of this size now.", headers={"Retry-After": "30"}
)


class Progress:
    """What a client has sent or read since a moment."""

    def __init__(self, total: int) -> None:
        self.since, self.total = time.monotonic(), total

    def is_too_slow(self, total: int) -> bool:
        now = time.monotonic()
        if now - self.since < CLIENT_SECONDS:
            return False
        is_too_slow = total - self.total < CLIENT_SECONDS * CLIENT_BYTES_PER_SECOND
        self.since, self.total = now, total
        return is_too_slow


class RequestParser(HTTPRequestParser):
    """Reads one request, within the limit of its kind of body."""

    error: Any
    body_limit = 0
    is_anonymous = True
    #: As much of the request as tells HEAD from all others, one that cannot be parsed too.
    begin = b""

    def __init__(self, adj: Adjustments) -> None:
        super().__init__(adj)
        self.progress = Progress(0)

    def parse_header(self, header_plus: bytes) -> None:
        super().parse_header(header_plus)
        # A proxy in front might find the end of such a body elsewhere (RFC 9112, 6.3).
        if "TRANSFER_ENCODING" in self.headers or (self.chunked and "CONTENT_LENGTH" in self.headers):
            raise ParsingError("Transfer-Encoding with Content-Length or HTTP/1.0")
        self.is_anonymous = not ("AUTHORIZATION" in self.headers or "COOKIE" in self.headers)
        self.body_limit = settings.API_MAX_BODY_BYTES
        if self.is_anonymous:
            self.body_limit = min(self.body_limit, MAX_ANONYMOUS_BYTES)
        elif self.headers.get("CONTENT_TYPE", "").lower().startswith("multipart/form-data"):
            upload = settings.DOCUMENT_MAX_FILES * (settings.DOCUMENT_MAX_BYTES + MAX_FIELD_BYTES)
            self.body_limit = max(self.body_limit, upload)

    def received(self, data: bytes) -> int:
        if len(self.begin) < len(HEAD):
            self.begin = (self.begin + data[:80]).lstrip()[: len(HEAD)]
        try:
            consumed: int = super().received(data)
        except OSError as error:
            logger.error("a body cannot be kept in the folder of temporary files: %s", error)
            self.error, consumed = NOT_KEPT, len(data)
        if self.error is None:
            self.check_size()
        if self.error is not None:
            self.completed, self.expect_continue = True, False
        return consumed

    def check_size(self) -> None:
        size = max(self.content_length, self.body_bytes)
        if self.is_anonymous and size > MAX_ANONYMOUS_BYTES:
            self.error = errors.Unauthenticated(
                f"Without credentials a body holds at most {MAX_ANONYMOUS_BYTES:,} bytes.",
                headers={"WWW-Authenticate": CHALLENGES},
            )
        elif size > self.body_limit:
            self.error = errors.TooLarge(f"A body holds at most {self.body_limit:,} bytes.")
        elif self.chunked and self.chunk_header_bytes > MAX_CHUNK_HEADER_BYTES:
            self.error = errors.BadBody("The chunks of the body cannot be read.")

    @property
    def is_head(self) -> bool:
        """Whether the response must have no body."""
        return self.begin == HEAD

    @property
    def body_bytes(self) -> int:
        """Bytes of the body that have been read."""
        return 0 if self.body_rcv is None else len(self.body_rcv)

    @property
    def chunk_header_bytes(self) -> int:
        """Bytes of a chunk's header, or of the trailer; waitress has no limit for them."""
        if self.body_rcv is None:
            return 0
        return max(len(self.body_rcv.control_line), len(self.body_rcv.trailer))
