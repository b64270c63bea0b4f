"""New claims one at a time from many clients, and a body in which every line is faulty."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

from django.db import connection

from bench.calling import Caller, Refused
from bench.claims import QUERY, entries, ground
from bench.servers import ROUNDS, Request, Samples, Server, requests

CLIENTS = 32
TITLE = "POST of 1 claim"
RECORDS, LINES = 1_000, 50
FAULTY_LINE = {"Quantity": "x", "Price": [1], "FromDate": "2025-13-01"}
MOST_SECONDS = 2.0


def writes(caller: Caller) -> Iterator[str]:
    yield faulty_lines(caller)
    server = Server("ours", caller.token)
    try:
        server.wait_until_ready()
        yield from claims_of_many_clients(server, requests()[TITLE])
    finally:
        server.stop()


def claims_of_many_clients(server: Server, request: Request) -> Iterator[str]:
    server.load(request, CLIENTS, Samples())  # loads what first requests load
    samples = Samples()
    python, postgresql, wall, clients = cpu(server)
    for _ in range(ROUNDS):
        server.load(request, CLIENTS, samples)
    python, postgresql, wall, clients = (
        after - before for after, before in zip(cpu(server), (python, postgresql, wall, clients), strict=True)
    )
    posts = len(samples.seconds)
    cost = (python + postgresql) / posts
    yield f"{TITLE}, {CLIENTS} clients: {samples}"
    yield (
        f"CPU of each: server {python / posts * 1000:.1f} ms, PostgreSQL {postgresql / posts * 1000:.1f} ms,"
        f" clients {clients / posts * 1000:.1f} ms; server and PostgreSQL had"
        f" {(python + postgresql) / wall:.2f} processors. With two for them alone: {2 / cost:.0f}/s"
    )


def cpu(server: Server) -> tuple[float, float, float, float]:
    """CPU seconds of the server and of PostgreSQL, the time, and CPU seconds of this process."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        processes = [Path(f"/proc/{pid}/schedstat") for (pid,) in cursor.fetchall()]
    postgresql = sum(int(file.read_text().split()[0]) for file in processes) / 1e9
    return server.cpu_seconds(), postgresql, time.perf_counter(), time.process_time()


def faulty_lines(caller: Caller) -> str:
    records = [entry | {"LineItems": [FAULTY_LINE] * LINES} for entry in entries(ground(RECORDS))]
    environ = caller.request("/api/claim", QUERY, json.dumps({"value": records}).encode())
    begun = time.process_time()
    try:
        caller(environ)
    except Refused:
        seconds = time.process_time() - begun
        verdict = "kept" if seconds <= MOST_SECONDS else "MISSED"
        return (
            f"{RECORDS:,} claims with {LINES} faulty lines each: refused in {seconds:.2f} s of Python's CPU"
            f" (at most {MOST_SECONDS:.0f}: {verdict})"
        )
    raise AssertionError("faulty claims are stored")
