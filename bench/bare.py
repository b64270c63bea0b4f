"""Pages against the same statement through bare psycopg: what the whole stack costs on top of its query."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
from django.db import connection
from django.test.utils import CaptureQueriesContext

from bench.calling import Caller
from bench.measuring import Contender, Cost, measure

PAGE = 1_000
MOST = 1.4
REQUESTS = (("claims", "/api/claim", ""), ("claims with lines", "/api/claim", "$expand=*"))


def bare(caller: Caller) -> Iterator[str]:
    """CPU of Python and of PostgreSQL together, request by request."""
    for title, path, query in REQUESTS:

        def ask(path: str = path, query: str = query) -> bytes:
            return caller(caller.request(path, query, HTTP_PREFER=f"odata.maxpagesize={PAGE}"))

        statement = statement_of(ask)

        def fetch(statement: str = statement) -> bytes:
            with psycopg.Cursor(connection.connection) as cursor:
                rows = cursor.execute(statement).fetchall()
            return ("[" + ",".join(row[0] for row in rows[:PAGE]) + "]").encode()

        assert len(fetch()) > 0.9 * len(ask())
        ours, theirs = Contender("ours", ask), Contender("psycopg", fetch)
        measure((ours, theirs), samples=25, calls=2)
        ratio = cpu(ours.cost) / cpu(theirs.cost)
        verdict = "kept" if ratio <= MOST else "MISSED"
        yield (
            f"page of {PAGE:,} {title}: {cpu(ours.cost) * 1000:.1f} ms of CPU, psycopg alone"
            f" {cpu(theirs.cost) * 1000:.1f}: {ratio:.2f}× (at most {MOST}×: {verdict})"
        )


def cpu(cost: Cost) -> float:
    return cost.python + cost.postgresql


def statement_of(ask: object, table: str = "funding_claim") -> str:
    """The statement that reads the page, as the driver sent it."""
    assert callable(ask)
    with CaptureQueriesContext(connection) as captured:
        ask()
    statements = [each["sql"] for each in captured.captured_queries]
    return str(next(sql for sql in statements if table in sql))
