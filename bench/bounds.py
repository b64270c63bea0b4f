"""What may not grow with the data: statements of a request, pages far behind, the memory of an export."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.funding.models import Claim
from apps.people.models import Client
from bench import claims
from bench.calling import Caller
from bench.measuring import Contender, measure
from bench.speed import ms

PAGE = 1_000
FAR = 190
MEBIBYTE = 1024 * 1024


def bounds(caller: Caller) -> Iterator[str]:
    # First, while the process has not grown by other things.
    yield from export(caller, "contact", "contacts with all parts")
    yield from export(caller, "claim", "claims with their lines")
    yield from statements(caller)
    yield from statements_of_posts(caller)
    yield from deep_page(caller, "contact")
    yield from deep_page(caller, "claim")


def statements(caller: Caller) -> Iterator[str]:
    """Every statement of some requests, the credentials' included."""
    key = Client.objects.values_list("pk", flat=True)[0]
    for path, query in (
        (f"/api/client/{key}", ""),
        ("/api/client", "$filter=contains(BusinessName,'a')&$orderby=BusinessName"),
        ("/api/staff", "$expand=*"),
        ("/api/staff", "$expand=*&$count=true"),
        (f"/api/claim/{Claim.objects.values_list('pk', flat=True)[0]}", "$expand=*"),
        ("/api/claim", "$expand=*"),
        ("/api/contact", "$expand=Client,AccountManager($select=LastName)&$search=a"),
    ):
        caller(caller.request(path, query))
        with CaptureQueriesContext(connection) as captured:
            caller(caller.request(path, query))
        of_credentials = sum("access_" in each["sql"] for each in captured.captured_queries)
        rest = len(captured) - of_credentials
        yield f"statements  {rest} + {of_credentials} for the credentials: GET {path[:24]}?{query}"


def statements_of_posts(caller: Caller) -> Iterator[str]:
    """A POST of few and of many claims needs the same."""
    for number in (1, 10, 100, 1_000):
        post = claims.poster(caller, number)
        counts = []
        for _ in range(2):
            claims.remove_claims()
            with CaptureQueriesContext(connection) as captured:
                post()
            counts.append(len(captured))
        claims.remove_claims()
        yield f"statements  {counts[-1]} in all: POST of {number:,} claims of {claims.LINES} lines"


def deep_page(caller: Caller, path: str) -> Iterator[str]:
    """The 190th page of 1,000 against the first; both go on by the nextLink."""
    first: dict[str, Any] = caller.request(f"/api/{path}", "", HTTP_PREFER=f"odata.maxpagesize={PAGE}")
    query = ""
    for _ in range(FAR - 1):
        link = caller.json({**first, "QUERY_STRING": query})["@odata.nextLink"]
        query = urlsplit(link).query
    near = Contender("first", lambda: caller(dict(first)))
    far = Contender("far", lambda: caller({**first, "QUERY_STRING": query}))
    assert len(caller.json({**first, "QUERY_STRING": query})["value"]) == PAGE
    measure((near, far), samples=21)
    ratio = far.cost.wall / near.cost.wall
    yield (
        f"deep page   of {path}s: first {ms(near.cost.wall)} ms, {FAR}th {ms(far.cost.wall)} ms on the wall:"
        f" {ratio:.2f}× (at most 1.3×: {'kept' if ratio <= 1.3 else 'MISSED'})"
    )


def export(caller: Caller, path: str, what: str) -> Iterator[str]:
    """Growth of this process while it streams every record with all parts as NDJSON."""
    environ = caller.request(f"/api/{path}", "$expand=*&$top=2000&$format=ndjson")
    for _ in caller.pieces(environ):  # what the first export of a process loads is no growth
        pass
    before = most = resident_bytes()
    lines = 0
    began = time.perf_counter()
    for _ in caller.pieces({**environ, "QUERY_STRING": "$expand=*&$format=ndjson"}):
        lines += 1
        if lines % 500 == 0:
            most = max(most, resident_bytes())
    seconds = time.perf_counter() - began
    grown = (most - before) / MEBIBYTE
    yield (
        f"export      {lines:,} {what} in {seconds:.1f} s; memory grew by {grown:.1f} MiB"
        f" from {before / MEBIBYTE:.0f} (at most 30: {'kept' if grown <= 30 else 'MISSED'})"
    )


def resident_bytes() -> int:
    """Memory of this process, as Linux tells it."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
