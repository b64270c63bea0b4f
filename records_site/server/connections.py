"""The connections of clients, and the threads' work on their requests."""

import socket
import time
from typing import Any

from waitress.channel import HTTPChannel
from waitress.task import WSGITask

from records_site.server.parsing import Progress, RequestParser
from records_site.server.refusals import BUSY, RefusalTask

#: Seconds that a connection may be idle between two requests.
IDLE_SECONDS = 75
#: Seconds for which the rest of a refused body is read and dropped.
DISCARD_SECONDS = 5
#: Bodies and responses of one connection beyond this size are on disk.
MEMORY_BYTES = 64 * 1024


class StreamLimitReached(Exception):
    """The application was called, and its response is not written: too many threads write streams already."""


class RequestTask(WSGITask):
    """Calls the application."""

    def service(self) -> None:
        try:
            super().service()
        except StreamLimitReached:
            self.request.error = BUSY
            RefusalTask(self.channel, self.request).service()
            self.close_on_finish = True

    def build_response_header(self) -> bytes:
        if self.channel.server.stopped_at is not None:
            self.set_close_on_finish()
        names = {name.lower().encode(): name.encode() for name, _ in self.response_headers}
        # waitress closes the connection after every response without a body or its length: HEAD, 204, 304.
        asks_to_close = self.request.headers.get("CONNECTION", "").lower() == "close"
        sends_body = self.has_body and not self.request.is_head
        stays_open = not (sends_body or self.close_on_finish or asks_to_close) and self.version == "1.1"
        header: bytes = super().build_response_header()
        if stays_open:
            self.close_on_finish = False
            header = header.replace(b"\r\nConnection: close\r\n", b"\r\n", 1)
        if self.request.is_head:
            self.chunked_response = False  # else the mark of the end of the chunks would follow
        # waitress writes Odata-Version; some clients look for OData-Version as the standard spells it.
        lines = (line.partition(b":") for line in header.split(b"\r\n"))
        return b"\r\n".join(names.get(name.lower(), name) + colon + value for name, colon, value in lines)


class Channel(HTTPChannel):
    """The connection of one client."""

    task_class = RequestTask
    error_task_class = RefusalTask
    parser_class = RequestParser
    close_when_flushed: bool

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.sendbuf_len = MEMORY_BYTES  # else a slow reader costs a read of megabytes for each packet
        self.opened_at = self.used_at = time.monotonic()
        self.sent_bytes = 0
        self.reading: Progress | None = None
        self.was_refused = False
        self.discarding_since: float | None = None

    def service(self) -> None:
        self.was_refused = self.requests[0].error is not None
        super().service()
        self.used_at = time.monotonic()

    def send(self, data: bytes, do_close: bool = True) -> int:
        sent: int = super().send(data, do_close)
        self.sent_bytes += sent
        return sent

    @property
    def is_idle(self) -> bool:
        return not (self.requests or self.request or self.total_outbufs_len)

    @property
    def spool_bytes(self) -> int:
        requests = [*self.requests, *([self.request] if self.request else [])]
        return int(self.total_outbufs_len) + sum(request.body_bytes for request in requests)

    def is_overdue(self, now: float) -> bool:
        """Whether the client is too slow, in what it sends or in what it reads."""
        if self.discarding_since is not None:
            return now - self.discarding_since > DISCARD_SECONDS
        if self.total_outbufs_len:
            self.reading = self.reading or Progress(self.sent_bytes)
            return self.reading.is_too_slow(self.sent_bytes)
        self.reading = None
        if self.requests:
            return False
        if self.request:
            return bool(self.request.progress.is_too_slow(self.request.body_bytes))
        return now - self.used_at > IDLE_SECONDS

    def handle_close(self) -> None:
        if self.request is not None:
            self.request.close()  # its body may be a file
        super().handle_close()

    def handle_expt(self) -> None:
        """Urgent data, which HTTP has none of; unread it would wake the loop for ever."""
        self.handle_close()

    # A refused body may still be arriving. A socket that is closed before all is read resets the connection,
    # and the client would never see the response.

    def handle_write(self) -> None:
        if not self.connected:  # closed a moment ago, by the same turn of the loop, when it was read
            return
        if self.was_refused and self.close_when_flushed and not self.total_outbufs_len:
            self.close_when_flushed = self.was_refused = False
            self.discarding_since = time.monotonic()
            self.socket.shutdown(socket.SHUT_WR)
        else:
            super().handle_write()

    def writable(self) -> bool:
        return self.discarding_since is None and bool(super().writable())

    def received(self, data: bytes) -> bool:
        return self.discarding_since is None and bool(super().received(data))
