"""One worker process: waitress, with limits on what slow, many and greedy clients can take.

waitress reads whole requests and sends responses in one loop, beside the threads that serve, and keeps what
is large on disk: a slow client costs a socket, no thread. Added here: clients that are too slow lose their
connection, one caller cannot take all threads, a request that would wait too long is refused, and health has
threads of its own.
"""

import hashlib
import os
import resource
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from threading import Semaphore
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.urls import get_resolver
from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import TcpWSGIServer
from waitress.task import ErrorTask, WSGITask

from apps.core.views import known_migrations
from apps.documents.parsers import MAX_FIELD_BYTES
from apps.odata import errors
from apps.odata.errors import ODataError
from records_site.failures import error_of_address
from records_site.threads import ThreadPool

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

HEALTH_PATHS = ("/livez", "/readyz")

#: Seconds that a client has for its headers; in each further span of them it sends or reads so many bytes a
#: second of a body.
CLIENT_SECONDS = 30
CLIENT_BYTES_PER_SECOND = 8 * 1024
#: Seconds that a connection may be idle between two requests.
IDLE_SECONDS = 75
#: Seconds that a request waits for a thread, before it is refused.
QUEUE_SECONDS = 0.5
#: Seconds that running requests have to end when the worker is stopped. A connection without any is closed a
#: little later, since a client that has just had a response may be sending its next request.
STOP_SECONDS = 30
STOP_IDLE_SECONDS = 1
#: Seconds between two looks at all connections.
TICK_SECONDS = 0.25
#: Seconds for which the rest of a refused body is read and dropped.
DISCARD_SECONDS = 5

MAX_CONNECTIONS = 4_000
#: More would leave less to the other workers when many clients come at once.
ACCEPTED_AT_ONCE = 10
MAX_HEADER_BYTES = 64 * 1024
MAX_CHUNK_HEADER_BYTES = 1024
#: Bodies and responses of one connection beyond this size are on disk.
MEMORY_BYTES = 64 * 1024
#: A thread that writes a stream waits for the reader when this much of it is on disk.
STREAM_AHEAD_BYTES = 16 * 1024 * 1024
#: Bytes on disk of all connections; those with the most are closed beyond it.
MAX_SPOOL_BYTES = 4 * 1024**3
MAX_KNOWN_CREDENTIALS = 10_000


class HeadersTooLarge(ODataError, status=431, code="TooLarge"):
    """Headers beyond ``MAX_HEADER_BYTES``."""


BUSY = errors.Unavailable("The service is busy. Try again in a second.", headers={"Retry-After": "1"})
_ERRORS: dict[int, ODataError] = {
    413: errors.TooLarge("The body is too large."),
    431: HeadersTooLarge(f"The headers hold at most {MAX_HEADER_BYTES:,} bytes."),
    500: errors.InternalError("Something went wrong here."),
    501: errors.NotSupported("Bodies are sent plain or chunked."),
}


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

    def __init__(self, adj: Adjustments) -> None:
        super().__init__(adj)
        self.progress = Progress(0)

    def parse_header(self, header_plus: bytes) -> None:
        super().parse_header(header_plus)
        # A proxy in front might find the end of such a body elsewhere (RFC 9112, 6.3).
        if "TRANSFER_ENCODING" in self.headers or (self.chunked and "CONTENT_LENGTH" in self.headers):
            raise ParsingError("Transfer-Encoding with Content-Length or HTTP/1.0")
        self.body_limit = settings.API_MAX_BODY_BYTES
        if self.headers.get("CONTENT_TYPE", "").lower().startswith("multipart/"):
            upload = settings.DOCUMENT_MAX_FILES * (settings.DOCUMENT_MAX_BYTES + MAX_FIELD_BYTES)
            self.body_limit = max(self.body_limit, upload)

    def received(self, data: bytes) -> int:
        consumed: int = super().received(data)
        if self.error is None:
            self.check_size()
        if self.error is not None:
            self.completed, self.expect_continue = True, False
        return consumed

    def check_size(self) -> None:
        if max(self.content_length, self.body_bytes) > self.body_limit:
            self.error = errors.TooLarge(f"A body holds at most {self.body_limit:,} bytes.")
        elif self.chunked and self.chunk_header_bytes > MAX_CHUNK_HEADER_BYTES:
            self.error = errors.BadBody("The chunks of the body cannot be read.")

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


class RefusalTask(ErrorTask):
    """Answers a request that reaches no view, in the error shape of its address."""

    def execute(self) -> None:
        error = self.request.error
        if not isinstance(error, ODataError):  # one of waitress's own
            error = _ERRORS.get(error.code) or errors.BadQuery("The request cannot be understood.")
        response = refusal(error, getattr(self.request, "path", "/").lower())
        self.status = f"{response.status_code} {response.reason_phrase}"
        self.response_headers.extend(response.items())
        self.set_close_on_finish()
        self.content_length = len(response.content)
        self.write(b"" if getattr(self.request, "command", "") == "HEAD" else response.content)


def refusal(error: ODataError, path: str) -> HttpResponse:
    """The response to an error, with the headers that others get from middleware."""
    response = error_of_address(error, path)
    for name, value in settings.REFUSAL_HEADERS.items():
        response.headers.setdefault(name, value)
    return response


class RequestTask(WSGITask):
    """Calls the application."""

    def service(self) -> None:
        try:
            super().service()
        except errors.Unavailable as error:  # by `LimitedApplication`, before anything was written
            self.request.error = error
            RefusalTask(self.channel, self.request).service()
            self.close_on_finish = True

    def build_response_header(self) -> bytes:
        if self.channel.server.stopped_at is not None:
            self.set_close_on_finish()
        header: bytes = super().build_response_header()
        if self.request.command == "HEAD":
            self.chunked_response = False  # else the mark of the end of the chunks would follow
        return header


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


class LimitedApplication:
    """The site's application, of which only so many threads write streams to their readers at once."""

    def __init__(self, application: Application, streams: int) -> None:
        self.application, self.slots = application, Semaphore(streams)
        #: The application that a hash of an Authorization header belongs to.
        self.callers: dict[bytes, str] = {}

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        response: Any = self.application(environ, start_response)
        if "access.application" in environ:
            self.remember(environ["HTTP_AUTHORIZATION"], environ["access.application"])
        if not getattr(response, "streaming", False):
            return response
        if not self.slots.acquire(blocking=False):
            response.close()
            raise BUSY
        return self.stream(response)

    def stream(self, response: Any) -> Iterator[bytes]:
        try:
            yield from response
        finally:
            self.slots.release()
            response.close()

    def remember(self, authorization: str, application: str) -> None:
        if len(self.callers) >= MAX_KNOWN_CREDENTIALS:
            self.callers.clear()
        self.callers[digest(authorization)] = application

    def caller(self, request: RequestParser, address: str) -> bytes | str:
        """Whoever sent a request: an application, a browser's session, or an address."""
        authorization = request.headers.get("AUTHORIZATION")
        if authorization:
            key = digest(authorization)
            return self.callers.get(key, key)
        if request.headers.get("COOKIE"):
            return digest(request.headers["COOKIE"])
        forwarded = request.headers.get("X_FORWARDED_FOR", "") if settings.TRUST_PROXY else ""
        return forwarded.rpartition(",")[2].strip() or address


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("latin-1")).digest()


class Server(TcpWSGIServer):
    """The loop of one worker."""

    channel_class = Channel

    def __init__(self, application: Application, listener: socket.socket, threads: int, parent: int) -> None:
        self.parent = parent
        limited = LimitedApplication(application, streams=max(1, threads // 2))
        self.caller = limited.caller
        self.pool = ThreadPool(threads, share=max(1, threads * 3 // 4), patience=QUEUE_SECONDS)
        self.health = {path: ThreadPool(1, share=1) for path in HEALTH_PATHS}
        self.refusals = ThreadPool(1, share=1)
        self.stopped_at: float | None = None
        adjustments = Adjustments(
            sockets=[listener],
            ident=None,  # no Server header
            threads=0,
            connection_limit=max_connections(),
            channel_request_lookahead=1,  # so that a client that is gone is noticed
            # Headers of proxies are the settings' business (TRUST_PROXY).
            clear_untrusted_proxy_headers=False,
            log_socket_errors=False,
            max_request_header_size=MAX_HEADER_BYTES,
            inbuf_overflow=MEMORY_BYTES,
            outbuf_overflow=MEMORY_BYTES,
            outbuf_high_watermark=STREAM_AHEAD_BYTES,
            recv_bytes=64 * 1024,
            max_request_body_size=2**62,  # `RequestParser` has the limits
        )
        information = (listener.family, listener.type, listener.proto, listener.getsockname())
        super().__init__(
            limited,
            {},
            _sock=listener,
            dispatcher=self,
            adj=adjustments,
            sockinfo=information,
            bind_socket=False,
        )

    def handle_accept(self) -> None:
        """Accept some of the clients that wait: one in each turn of the loop, as waitress does, is slow."""
        for _ in range(ACCEPTED_AT_ONCE):
            connections = len(self.active_channels)
            super().handle_accept()
            if len(self.active_channels) == connections:
                return

    def fix_addr(self, addr: tuple[Any, ...]) -> tuple[Any, ...]:
        """The client's address; on a socket of both families IPv4 has another spelling."""
        return (addr[0].removeprefix("::ffff:"), *addr[1:])

    def add_task(self, channel: Channel) -> None:
        """Let a request be served by the threads that it belongs to."""
        request = channel.requests[0]
        if request.error is not None:
            self.refusals.add("", channel)
        elif request.path.rstrip("/") in self.health:
            self.health[request.path.rstrip("/")].add("", channel)
        elif not self.pool.add(self.caller(request, channel.addr[0]), channel):
            self.refuse(channel)

    def refuse(self, channel: Any) -> None:
        for request in channel.requests[:1]:  # none when the client is gone
            request.error = BUSY
            self.refusals.add("", channel)

    def maintenance(self, now: float) -> None:
        """waitress's own, which cannot close what has stalled: `close_some` does."""

    def run(self) -> None:
        """Serve until `stop`, then until all connections are closed or their time is over."""
        while self.stopped_at is None or (
            self.active_channels and time.monotonic() - self.stopped_at < STOP_SECONDS
        ):
            wasyncore.poll2(TICK_SECONDS, self._map)
            for channel in self.pool.remove_expired():
                self.refuse(channel)
            self.close_some()
            if os.getppid() != self.parent:  # killed: nobody else would stop this worker
                self.stop()

    def stop(self, *signal: Any) -> None:
        self.accepting = False
        self.stopped_at = self.stopped_at or time.monotonic()

    def close_some(self) -> None:
        """Close the connections whose clients are too slow, too many, or have too much on disk."""
        now = time.monotonic()
        for channel in list(self.active_channels.values()):
            is_done = (
                self.stopped_at is not None and channel.is_idle and now - channel.used_at > STOP_IDLE_SECONDS
            )
            if is_done or channel.is_overdue(now):
                channel.handle_close()
        channels = list(self.active_channels.values())
        surplus = len(channels) - self.adj.connection_limit * 3 // 4
        if surplus > 0:
            waiting = [channel for channel in channels if not (channel.requests or channel.total_outbufs_len)]
            for channel in sorted(waiting, key=lambda channel: channel.opened_at)[:surplus]:
                channel.handle_close()
        spooled = sum(channel.spool_bytes for channel in channels)
        for channel in sorted(channels, key=lambda channel: channel.spool_bytes, reverse=True):
            if spooled <= MAX_SPOOL_BYTES:
                break
            spooled -= channel.spool_bytes
            channel.handle_close()


def load_views() -> None:
    """What Django would load with the first request, and readiness with its own."""
    get_resolver().url_patterns  # noqa: B018  a property that imports every view
    known_migrations()


def max_connections() -> int:
    """As many as there are files for: a connection with a large body and a large response has three."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = 3 * MAX_CONNECTIONS + 500
    if hard != resource.RLIM_INFINITY:
        files = min(files, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return max(100, (files - 500) // 3)
