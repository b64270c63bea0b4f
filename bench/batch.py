"""One hundred GETs in a batch against the same requests one by one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from statistics import median

from apps.people.models import Client
from bench.calling import Caller
from bench.measuring import Contender, measure
from bench.servers import Request, Server

REQUESTS = 100
ROUNDS = 15
LEAST = 3.0


def batch(caller: Caller) -> Iterator[str]:
    """Within one process, and over HTTP, where a batch saves 99 requests to the server besides."""
    keys = Client.objects.order_by("guid").values_list("pk", flat=True)[:REQUESTS]
    paths = [f"client/{key}" for key in keys]
    requests = [{"id": str(n), "method": "get", "url": path} for n, path in enumerate(paths)]
    body = json.dumps({"requests": requests}).encode()
    yield in_process(caller, paths, body)
    server = Server("ours", caller.token, workers=1)
    try:
        server.wait_until_ready()
        yield over_http(server, paths, body)
    finally:
        server.stop()


def in_process(caller: Caller, paths: list[str], body: bytes) -> str:
    def send_alone() -> list[bytes]:
        return [caller(caller.request(f"/api/{path}")) for path in paths]

    def send_batch() -> bytes:
        return caller(caller.request("/api/$batch", body=body))

    responses = json.loads(send_batch())["responses"]
    assert [response["body"] for response in responses] == [json.loads(each) for each in send_alone()]
    alone, together = Contender("alone", send_alone), Contender("batch", send_batch)
    measure((alone, together), samples=ROUNDS)
    ratio = alone.cost.python / together.cost.python
    return (
        f"{REQUESTS} clients within the process: {together.cost.python * 1000:.0f} ms of CPU in a batch,"
        f" {alone.cost.python * 1000:.0f} one by one: {ratio:.1f}×"
    )


def over_http(server: Server, paths: list[str], body: bytes) -> str:
    """CPU of the server with its worker, and what the client waits, on one connection that is kept."""
    connection = server.connect()

    def send(request: Request) -> None:
        connection.request(request.method, request.path, request.body() or None, server.headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status

    def send_alone() -> None:
        for path in paths:
            send(Request("GET", f"/api/{path}"))

    def send_batch() -> None:
        send(Request("POST", "/api/$batch", lambda: body))

    costs: dict[Callable[[], None], list[tuple[float, float]]] = {send_alone: [], send_batch: []}
    for number in range(ROUNDS + 1):
        for call, samples in costs.items():
            cpu, wall = server.cpu_seconds(), time.perf_counter()
            for _ in range(4):  # the system counts in steps of 10 ms
                call()
            if number:
                samples.append(((server.cpu_seconds() - cpu) / 4, (time.perf_counter() - wall) / 4))
    (alone, alone_wall), (together, together_wall) = (
        (median(cpu for cpu, _ in samples), median(wall for _, wall in samples)) for samples in costs.values()
    )
    verdict = "kept" if alone / together >= LEAST else "MISSED"
    return (
        f"{REQUESTS} clients over HTTP: {together * 1000:.0f} ms of the server's CPU in a batch,"
        f" {alone * 1000:.0f} one by one: {alone / together:.1f}× (at least {LEAST:g}×: {verdict});"
        f" the client waits {together_wall * 1000:.0f} and {alone_wall * 1000:.0f} ms"
    )
