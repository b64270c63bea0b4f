"""Django's PostgreSQL backend, on connections that do not wait for a server that has become silent.

libpq waits for an answer as long as the network is there. A server that is stopped (``SIGSTOP``, a full host,
a storage that hangs) would hold every thread of the service for ever.
"""

import select
import socket
import struct
import time
from collections.abc import Generator, Mapping
from contextlib import suppress
from datetime import tzinfo
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, ClassVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import psycopg
from django.db.backends.postgresql import base
from psycopg.adapt import AdaptersMap
from psycopg.pq import Format

#: Seconds without an answer after which the server is asked for a sign of life; doubled after each.
FIRST_PROBE_SECONDS = 1.0
#: The server answers a probe within so many seconds, or it is silent.
PROBE_SECONDS = 0.5
#: For so many seconds no request tries a server again that was silent.
PAUSE_SECONDS = 1.0
#: PostgreSQL's SSLRequest: answered by one byte before any login.
SSL_REQUEST = struct.pack("!ii", 8, 80877103)

SILENT = "the database server does not answer"


def is_silent(host: str | None, port: Any) -> bool:
    """True when nothing answers at the address. Of several hosts, or of libpq's default, nothing is known."""
    if not host or "," in host:
        return False
    is_path = host.startswith("/")
    address: Any = f"{host}/.s.PGSQL.{port or 5432}" if is_path else (host, int(port or 5432))
    try:
        if is_path:
            probe = socket.socket(socket.AF_UNIX)
            probe.settimeout(PROBE_SECONDS)
            probe.connect(address)
        else:
            probe = socket.create_connection(address, PROBE_SECONDS)
        with probe:
            probe.sendall(SSL_REQUEST)
            probe.recv(1)
    except TimeoutError:
        return True
    except OSError:
        return False  # it refuses connections: libpq tells why
    return False


class Connection(psycopg.Connection[object]):
    """A connection that gives up when its server is silent."""

    #: Until when (``time.monotonic``) nobody of this process tries a server, by its (host, port).
    paused_until: ClassVar[dict[tuple[object, object], float]] = {}

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> object:
        # Not in psycopg's manual, but every statement passes it; tests/faults/ fails when one does not.
        return super().wait(self.watched(gen), *arguments, **options)

    def watched(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """The steps of ``gen``; psycopg resumes it ten times a second while nothing arrives."""
        interval = FIRST_PROBE_SECONDS
        next_probe = time.monotonic() + interval
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > next_probe:
                    if is_silent(self.info.host, self.info.port):
                        self.abandon()
                    interval *= 2
                    next_probe = time.monotonic() + interval
                wanted = gen.send(ready)
        except StopIteration as finished:
            return finished.value

    def abandon(self) -> None:
        pause(self.info.host, self.info.port)
        self.pgconn.finish()
        raise psycopg.OperationalError(SILENT)


def address_of(host: str | None, port: Any) -> tuple[str | None, int]:
    return host, int(port or 5432)


def pause(host: str | None, port: object) -> None:
    Connection.paused_until[address_of(host, port)] = time.monotonic() + PAUSE_SECONDS


@lru_cache
def moment_loader(zone: tzinfo) -> object:
    """psycopg's own reader of moments, in the session's zone: it takes a third of the time of Django's.

    Django's is a class of Python, which gives moments the zone of the connection; a session has the same one.
    """
    loader: Any = psycopg.adapters.get_loader(psycopg.adapters.types["timestamptz"].oid, Format.TEXT)
    members = {
        "format": Format.TEXT,
        "timezone": zone,  # Django's cursors look whether it is that of the connection
        "__new__": lambda cls, oid, context=None: loader(oid, context),
    }
    return type("MomentLoader", (), members)


class DatabaseWrapper(base.DatabaseWrapper):
    # Django calls ``Database.connect`` and looks up psycopg's exceptions in it.
    Database = SimpleNamespace(**{**vars(psycopg), "connect": Connection.connect})  # type: ignore[assignment]

    def get_new_connection(self, conn_params: Mapping[str, Any]) -> psycopg.Connection:
        host, port = conn_params.get("host"), conn_params.get("port")
        if time.monotonic() < Connection.paused_until.get(address_of(host, port), 0.0):
            raise psycopg.OperationalError(SILENT)
        if is_silent(host, port):
            pause(host, port)
            raise psycopg.OperationalError(SILENT)
        return super().get_new_connection(conn_params)

    def get_connection_params(self) -> dict[str, object]:
        params: dict[str, Any] = super().get_connection_params()
        params["context"] = AdaptersMap(params["context"])
        params["context"].register_loader("timestamptz", moment_loader(self.timezone))
        return params

    def rollback(self) -> None:
        super().rollback()
        self.follow_session_zone()

    def savepoint_rollback(self, sid: str) -> None:
        super().savepoint_rollback(sid)
        self.follow_session_zone()

    def follow_session_zone(self) -> None:
        """Read times in the zone of the session: a rollback undoes a change of it, unseen by Django."""
        if self.connection is None or self.connection.closed:
            return
        reported = (self.connection.pgconn.parameter_status(b"TimeZone") or b"").decode()
        if reported in ("", self.timezone_name):
            return
        with suppress(ZoneInfoNotFoundError, ValueError):  # a fixed offset has no name that Python knows
            ZoneInfo(reported)
            self.settings_dict["TIME_ZONE"] = reported
            for cached in ("timezone", "timezone_name"):
                vars(self).pop(cached, None)

    def is_usable(self) -> bool:
        """As Django's, but without its query while nothing has arrived: that is a trip for each request.

        A server that ends an idle connection sends why, or closes it, and both arrive.
        """
        poll = select.poll()
        try:
            poll.register(self.connection, select.POLLIN)
        except psycopg.Error:  # closed on this side
            return False
        return super().is_usable() if poll.poll(0) else True
