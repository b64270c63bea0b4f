"""Statements through a pooler of transactions: all in one trip, and planned once a connection.

Such a pooler gives each transaction another connection to the server, which lacks what SQL has prepared on
the one before (``PREPARE``). What is prepared by the protocol it prepares again where it is missing:
PgBouncer does so from 1.21 on. psycopg's pipeline and cursors would do as much; five queries take them
365 µs of all processes' CPU, this 201, and a trip that plans each time 562.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from functools import lru_cache
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg import generators
from psycopg.abc import Transformer
from psycopg.adapt import PyFormat
from psycopg.pq import ConnStatus, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult

#: The parts of a statement: its label (none: it is planned each time), its text and its parameters.
Sent = tuple[str, str, Sequence[Any]]

#: A connection keeps so many statements; others are planned each time.
MAX_STATEMENTS = 200

_numbers = count(1)
#: The names that each connection of the driver has given to statements, by their text.
_names: WeakKeyDictionary[object, dict[str, bytes]] = WeakKeyDictionary()


def rows_of_trip(
    driver: psycopg.Connection[Any], transformer: Transformer, statements: Sequence[Sent]
) -> list[list[tuple[Any, ...]]]:
    """The rows of each statement. The first error is raised; nothing after it was done."""
    trip = Trip(driver, transformer)
    with driver.lock:
        results: list[PGresult] = driver.wait(trip.exchange(statements))
    failed = next((each for each in results if each.status == ExecStatus.FATAL_ERROR), None)
    if failed is not None:
        trip.forget_new_names()
        raise psycopg.errors.error_from_result(failed, encoding=driver.info.encoding)
    return [trip.rows_of(each) for each in results[-len(statements) :]]


class Trip:
    """One trip to the server, in the protocol's pipeline mode."""

    def __init__(self, driver: psycopg.Connection[Any], transformer: Transformer) -> None:
        self.driver, self.transformer = driver, transformer
        self.names = _names.setdefault(driver, {})
        self.new: list[str] = []

    def exchange(self, statements: Sequence[Sent]) -> Generator[Any, Any, list[PGresult]]:
        """Send the statements, and the beginning of a transaction where there is none yet; their results."""
        server: PGconn = self.driver.pgconn
        server.enter_pipeline_mode()
        try:
            preparing = [text for label, text, _ in statements if label and self.is_new(text)]
            if not self.driver.autocommit and server.transaction_status == TransactionStatus.IDLE:
                server.send_query_params(b"BEGIN", None)
            for text in dict.fromkeys(preparing):
                self.prepare(server, text)
            for label, text, params in statements:
                self.send(server, label, text, params)
            server.pipeline_sync()
            return (yield from results_of(server))
        finally:
            if server.status == ConnStatus.OK:
                with contextlib.suppress(psycopg.Error):  # broken off: what is left is the next one's error
                    server.exit_pipeline_mode()

    def is_new(self, text: str) -> bool:
        return text not in self.names and len(self.names) < MAX_STATEMENTS

    def prepare(self, server: PGconn, text: str) -> None:
        # Without types, which the server takes from the columns: the same as of a literal.
        self.names[text] = b"records %d" % next(_numbers)
        self.new.append(text)
        server.send_prepare(self.names[text], with_places(text))

    def send(self, server: PGconn, label: str, text: str, params: Sequence[object]) -> None:
        if label and text in self.names:
            values = self.transformer.dump_sequence(params, [PyFormat.TEXT] * len(params))
            server.send_query_prepared(self.names[text], values)
        else:
            literals = tuple(self.transformer.as_literal(each).decode() for each in params)
            server.send_query_params((text % literals).encode(), None)

    def forget_new_names(self) -> None:
        """Forget what may not be prepared, since something before it failed."""
        for text in self.new:
            self.names.pop(text, None)

    def rows_of(self, result: PGresult) -> list[tuple[Any, ...]]:
        if result.status != ExecStatus.TUPLES_OK:
            return []
        self.transformer.set_pgresult(result)
        rows: list[tuple[Any, ...]] = self.transformer.load_rows(0, result.ntuples, tuple)
        return rows


def results_of(server: PGconn) -> Generator[Any, Any, list[PGresult]]:
    """The results up to the end of the trip, but for those of preparing and beginning."""
    yield from generators.send(server)
    results: list[PGresult] = []
    while True:
        result = yield from generators.fetch(server)
        if result is None:
            continue
        if result.status == ExecStatus.PIPELINE_SYNC:
            return results
        results.append(result)


@lru_cache(maxsize=2 * MAX_STATEMENTS)
def with_places(text: str) -> bytes:
    """The text with ``$1`` for its first ``%s``."""
    places = text.replace("%%", "").count("%s")
    return (text % tuple(f"${place}" for place in range(1, places + 1))).encode()
