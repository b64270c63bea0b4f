"""One hundred GETs in a batch against the same requests one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator

from apps.people.models import Client
from bench.calling import Caller
from bench.measuring import Contender, measure

REQUESTS = 100
LEAST = 3.0


def batch(caller: Caller) -> Iterator[str]:
    """CPU of Python; neither side has a network, of which a batch saves 99 round trips besides."""
    keys = Client.objects.order_by("guid").values_list("pk", flat=True)[:REQUESTS]
    paths = [f"client/{key}" for key in keys]

    def send_alone() -> list[bytes]:
        return [caller(caller.request(f"/api/{path}")) for path in paths]

    def send_batch() -> bytes:
        requests = [{"id": str(n), "method": "get", "url": path} for n, path in enumerate(paths)]
        return caller(caller.request("/api/$batch", body=json.dumps({"requests": requests}).encode()))

    responses = json.loads(send_batch())["responses"]
    assert [response["body"] for response in responses] == [json.loads(body) for body in send_alone()]
    alone, together = Contender("alone", send_alone), Contender("batch", send_batch)
    measure((alone, together), samples=15)
    ratio = alone.cost.python / together.cost.python
    verdict = "kept" if ratio >= LEAST else "MISSED"
    yield (
        f"{REQUESTS} clients: {together.cost.python * 1000:.0f} ms of CPU in a batch,"
        f" {alone.cost.python * 1000:.0f} one by one: {ratio:.1f}× (at least {LEAST:g}×: {verdict});"
        f" wall {together.cost.wall * 1000:.0f} and {alone.cost.wall * 1000:.0f} ms"
    )
