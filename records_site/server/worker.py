"""One worker process: waitress, with limits on what slow, many and greedy clients can take.

waitress reads whole requests and sends responses in one loop, beside the threads that serve, and keeps what
is large on disk: a slow client costs a socket, no thread. Added here: clients that are too slow lose their
connection, one caller cannot take all threads, a request that would wait too long is refused, and health has
threads of its own.
"""

import contextlib
import ctypes
import gc
import hashlib
import os
import resource
import select
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from threading import Semaphore
from typing import Any

from django.conf import settings
from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer

from apps.core.read_log import READ_LOG
from records_site import metrics
from records_site.server.connections import MEMORY_BYTES, Channel, StreamLimitReached
from records_site.server.parsing import RequestParser
from records_site.server.refusals import BUSY, MAX_HEADER_BYTES
from records_site.server.threads import ThreadPool

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

HEALTH_PATHS = ("/livez", "/readyz", "/metrics")

#: Seconds that a request waits for a thread, before it is refused.
QUEUE_SECONDS = 0.5
#: Seconds that running requests have to end when the worker is stopped. A connection without any is closed a
#: little later, since its client may be sending a request.
STOP_SECONDS = 30
STOP_IDLE_SECONDS = 1
#: Seconds between two looks at all connections.
TICK_SECONDS = 0.25
#: Seconds after which memory that was used for requests goes back to the system: it takes 0.4 ms.
TRIM_SECONDS = 10
MAX_CONNECTIONS = 4_000
#: More would leave less to the other workers when many clients come at once.
ACCEPTED_AT_ONCE = 10
#: A thread that writes a stream waits for the reader when this much of it is on disk.
STREAM_AHEAD_BYTES = 16 * 1024 * 1024
WRITE_BYTES = 32 * 1024
#: Bytes on disk of all connections; those with the most are closed beyond it.
MAX_SPOOL_BYTES = 4 * 1024**3
MAX_KNOWN_CREDENTIALS = 10_000
#: Statuses whose responses end with their headers.
WITHOUT_BODY = ("1", "204", "304")


class LimitedApplication:
    """The site's application, of which only so many threads write streams to their readers at once."""

    def __init__(self, application: Application, streams: int) -> None:
        self.application, self.slots = application, Semaphore(streams)
        #: The application that a hash of an Authorization header belongs to.
        self.callers: dict[bytes, str] = {}

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        status = ""

        def note_status(given: str, *others: Any) -> Any:
            nonlocal status
            status = given
            return start_response(given, *others)

        response: Any = self.application(environ, note_status)
        if "access.application" in environ:
            self.remember(environ["HTTP_AUTHORIZATION"], environ["access.application"])
        # Bytes behind such a response would be taken for the beginning of the next one (RFC 9112, 6.3).
        if environ["REQUEST_METHOD"] == "HEAD" or status.startswith(WITHOUT_BODY):
            if hasattr(response, "close"):
                response.close()
            return ()
        if not getattr(response, "streaming", False):
            return response
        if not self.slots.acquire(blocking=False):
            response.close()
            raise StreamLimitReached
        return self.stream(response)

    def stream(self, response: Any) -> Iterator[bytes]:
        try:
            yield from join_pieces(response)
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


def is_page(request: RequestParser) -> bool:
    """Whether somebody waits for the response in front of a screen."""
    return request.path.lower().startswith("/admin/") and "AUTHORIZATION" not in request.headers


def join_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of a stream, whose pieces are single records, in fewer writes."""
    joined = bytearray()
    for piece in pieces:
        joined += piece
        if len(joined) >= WRITE_BYTES:
            yield bytes(joined)
            joined.clear()
    yield bytes(joined)


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("latin-1")).digest()


class Server(TcpWSGIServer):
    """The loop of one worker."""

    channel_class = Channel

    def __init__(self, application: Application, listener: socket.socket, threads: int, parent: int) -> None:
        self.parent, self.threads = parent, threads
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
        elif not self.pool.add(self.caller(request, channel.addr[0]), channel, is_page(request)):
            self.refuse(channel)

    def refuse(self, channel: Any) -> None:
        for request in channel.requests[:1]:  # none when the client is gone
            request.error = BUSY
            self.refusals.add("", channel)

    def maintenance(self, now: float) -> None:
        """waitress's own, which cannot close what has stalled: `close_some` does."""

    def run_with_read_log(self) -> None:
        """Serve, and write the entries of the read log meanwhile; those that wait at the end too."""
        READ_LOG.start()
        try:
            self.run()
        finally:
            READ_LOG.stop()

    def run(self) -> None:
        """Serve until `stop`, then until all connections are closed or their time is over."""
        metrics.WORKER_STARTS.inc()
        metrics.WORKERS.set(1)
        metrics.THREADS.set(self.threads)
        next_tick = next_trim = 0.0
        while self.accepting or (self.active_channels and self.stopped_seconds < STOP_SECONDS):
            wasyncore.poll2(TICK_SECONDS, self._map)
            if self.accepting and self.stopped_at is not None:
                self.accept_last()
            for channel in self.pool.remove_expired():
                self.refuse(channel)
            # The loop turns several times a request; a look at all connections each time would cost as much.
            if time.monotonic() >= next_tick:
                next_tick = time.monotonic() + TICK_SECONDS
                self.close_some()
                self.set_gauges()
            if time.monotonic() >= next_trim:
                next_trim = time.monotonic() + TRIM_SECONDS
                self.tidy()
            if os.getppid() != self.parent:  # killed: nobody else would stop this worker
                self.stop()

    def tidy(self) -> None:
        """Give back the memory of what was served, and of garbage that requests left, if none runs."""
        if gc.get_count()[1] and not self.pool.busy:
            gc.collect()
        give_back_memory()

    def set_gauges(self) -> None:
        metrics.CONNECTIONS.set(len(self.active_channels))
        metrics.WAITING.set(self.pool.waiting)
        metrics.BUSY_THREADS.set(self.pool.busy)

    def stop(self, *signal: Any) -> None:
        self.stopped_at = self.stopped_at or time.monotonic()

    @property
    def stopped_seconds(self) -> float:
        return 0.0 if self.stopped_at is None else time.monotonic() - self.stopped_at

    def accept_last(self) -> None:
        """Accept the clients that wait, and listen no more: they would see a reset once nobody listens."""
        for _ in range(self.adj.backlog):
            if not select.select([self.socket], [], [], 0)[0]:
                break
            super().handle_accept()
        self.accepting = False
        wasyncore.dispatcher.close(self)  # where all workers have done so, the system refuses further clients

    def close_some(self) -> None:
        """Close the connections whose clients are too slow, too many, or have too much on disk."""
        now = time.monotonic()
        for channel in list(self.active_channels.values()):
            is_done = channel.is_idle and min(now - channel.used_at, self.stopped_seconds) > STOP_IDLE_SECONDS
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


#: glibc keeps what was freed, in a list for each thread. Other libraries have no such function.
give_back_memory: Callable[..., object] = partial(getattr(ctypes.CDLL(None), "malloc_trim", int), 0)


def max_connections() -> int:
    """As many as there are files for: a connection with a large body and a large response has three."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = 3 * MAX_CONNECTIONS + 500
    if hard != resource.RLIM_INFINITY:
        files = min(files, hard)
    with contextlib.suppress(ValueError):  # macOS has a limit besides these two
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(100, (files - 500) // 3)
