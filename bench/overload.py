"""Four times as many clients as keep all threads busy: how long those who are served wait, and refusals."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import quantiles

from bench.calling import Caller
from bench.servers import Request, Samples, Server, requests

CLIENTS = 32
OVERLOAD = 4
MOST = 2.0
#: The first of them counts as a burst, which may wait.
SECONDS = 10.0
#: Of quicker requests the clients themselves would be measured, who share the processors.
TITLES = ("page of 300 claims", "POST of 1 claim")


def overload(caller: Caller) -> Iterator[str]:
    server = Server("ours", caller.token)
    try:
        server.wait_until_ready()
        yield f"{'':20}{'clients':>8}{'served':>9}{'median':>10}{'p99':>10}{'refused':>9}"
        every = requests()
        for title in TITLES:
            yield from compare(server, title, every[title])
    finally:
        server.stop()


def compare(server: Server, title: str, request: Request) -> Iterator[str]:
    server.load(request, CLIENTS, Samples())  # loads what first requests load
    few, many = Samples(), Samples()
    server.load(request, CLIENTS, few, SECONDS)
    server.load(request, CLIENTS * OVERLOAD, many, SECONDS)
    (median, p99), (slower_median, slower_p99) = centiles(few), centiles(many)
    ratio = max(slower_median / median, slower_p99 / p99)
    for clients, samples in ((CLIENTS, few), (CLIENTS * OVERLOAD, many)):
        centre, slowest = centiles(samples)
        served = len(samples.seconds) / SECONDS
        refused = samples.refused / SECONDS
        yield f"{title:20}{clients:>8}{served:>7.0f}/s{centre:>7.0f} ms{slowest:>7.0f} ms{refused:>7.0f}/s"
    yield f"{'':20}{ratio:.1f}× as long (at most {MOST:.0f}×: {'kept' if ratio <= MOST else 'MISSED'})"


def centiles(samples: Samples) -> tuple[float, float]:
    """The median and the 99th percentile, in milliseconds."""
    steps = quantiles(samples.seconds, n=100)
    return steps[49] * 1000, steps[98] * 1000
