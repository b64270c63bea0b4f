"""$apply over all claims against hand-written SQL through bare psycopg."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote

import psycopg
from django.db import connection

from bench.bare import cpu
from bench.calling import Caller
from bench.measuring import Contender, measure

MOST = 1.3
#: The transformations, each with the SELECT of the same rows.
SUMS = {
    "aggregate(Total with sum as Amount,$count as Number)": "SELECT SUM(total), COUNT(*) FROM funding_claim",
    "groupby((FundingStatus),aggregate(Total with sum as Amount,$count as Number))": (
        "SELECT funding_status, SUM(total), COUNT(*) FROM funding_claim GROUP BY funding_status ORDER BY 1"
    ),
    "filter(Total gt 500)/groupby((ProviderGuid),aggregate(Total with average as Mean))/topcount(10,Mean)": (
        "SELECT provider_id, AVG(total) FROM funding_claim WHERE total > 500"
        " GROUP BY provider_id ORDER BY 2 DESC LIMIT 10"
    ),
    "join(LineItems as Item)/groupby((Item/Product/Code),aggregate(Item/Total with sum as Claimed))": (
        "SELECT code, SUM(total) FROM funding_claimline"
        " JOIN funding_product ON guid = product_id GROUP BY code ORDER BY code"
    ),
}


def sums(caller: Caller) -> Iterator[str]:
    """CPU of Python and of PostgreSQL together, request by request."""
    for apply, statement in SUMS.items():

        def ask(apply: str = apply) -> bytes:
            return caller(caller.request("/api/claim", f"$apply={quote(apply)}"))

        def fetch(statement: str = statement) -> bytes:
            with psycopg.Cursor(connection.connection) as cursor:
                return json.dumps(cursor.execute(statement).fetchall(), default=str).encode()

        assert len(json.loads(ask())["value"]) == len(json.loads(fetch()))
        ours, theirs = Contender("ours", ask), Contender("psycopg", fetch)
        measure((ours, theirs), samples=15, calls=2)
        ratio = cpu(ours.cost) / cpu(theirs.cost)
        verdict = "kept" if ratio <= MOST else "MISSED"
        yield (
            f"{apply}: {cpu(ours.cost) * 1000:.1f} ms of CPU, hand-written SQL"
            f" {cpu(theirs.cost) * 1000:.1f}: {ratio:.2f}× (at most {MOST}×: {verdict})"
        )
