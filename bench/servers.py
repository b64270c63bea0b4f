"""Web servers side by side: what they cost, and what is left of them while clients are slow."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import quantiles

from apps.funding.models import Claim
from bench.calling import Caller
from bench.claims import QUERY, entries, ground

WORKERS = 2
ROUNDS, SECONDS = 4, 1.5
CLIENTS = (1, 8, 32)
SLOW_CLIENTS = 60
POSTS = 8_000  # more than will be made
STREAM = "/api/contact?$format=ndjson"

#: The command of each, by the module that it needs. Those that are not installed are left out.
SERVERS = {
    "ours": ("waitress", "{python} -m records_site.server --no-worker --port {port} --workers {workers}"),
    "granian": (
        "granian",
        "{python} -m granian records_site.wsgi:application --interface wsgi --no-ws --port {port}"
        " --workers {workers} --blocking-threads 4 --respawn-failed-workers --log-level error",
    ),
    "gthread": (
        "gunicorn",
        "{python} -m gunicorn records_site.wsgi:application --worker-class gthread --bind 127.0.0.1:{port}"
        " --workers {workers} --threads 8 --keep-alive 30 --log-level error --no-control-socket",
    ),
}


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    body: Callable[[], bytes] = bytes


@dataclass
class Samples:
    """Seconds of each answered request, and how many answers were no success."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0

    def __str__(self) -> str:
        if len(self.seconds) < 2:
            return f"{'—':>16}"
        p99 = quantiles(self.seconds, n=100)[98]
        refused = f" -{self.refused}" if self.refused else ""
        return f"{len(self.seconds) / (ROUNDS * SECONDS):6.0f}/s {p99 * 1000:5.0f} ms{refused}"


class Server:
    """One running server."""

    def __init__(
        self,
        name: str,
        token: str,
        workers: int = WORKERS,
        command: str = "",
        ready: str = "/readyz",
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        words = {"python": sys.executable, "port": self.port, "workers": workers}
        line = [word.format(**words) for word in (command or SERVERS[name][1]).split()]
        self.name, self.ready = name, ready
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        environment = {**os.environ, "PORT": str(self.port), **(environment or {})}
        if name != "ours":
            environment["PYTHONPATH"] = os.environ["BENCH_PACKAGES"]
        self.process = subprocess.Popen(
            line, stdout=subprocess.DEVNULL, start_new_session=True, env=environment, cwd=cwd
        )

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def connect(self, seconds: float = 30) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)

    def seconds_of(self, path: str, limit: float) -> float | None:
        """How long one GET on a fresh connection takes; None without an answer in time."""
        begin = time.perf_counter()
        connection = self.connect(limit)
        try:
            connection.request("GET", path, headers=self.headers)
            return time.perf_counter() - begin if connection.getresponse().status == 200 else None
        except OSError:
            return None
        finally:
            connection.close()

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + 60
        while self.seconds_of(self.ready, 2) is None:
            assert time.monotonic() < deadline, f"{self.name} does not start"
            time.sleep(0.2)

    def resident_mib(self) -> float:
        """Memory of the server and its workers (Linux only)."""
        pages = sum(int(text.split()[1]) for text in self.read_of_processes("statm"))
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def cpu_seconds(self) -> float:
        """CPU that the server and its workers have used (Linux only), in steps of a hundredth."""
        fields = (text.rpartition(")")[2].split() for text in self.read_of_processes("stat"))
        return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")

    def read_of_processes(self, name: str) -> Iterator[str]:
        """A file of /proc of each process of the server."""
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError):
                if os.getsid(int(process.name)) == self.process.pid:
                    yield (process / name).read_text()

    def load(self, request: Request, clients: int, samples: Samples, seconds: float = SECONDS) -> None:
        """So many clients, one request after the other on a connection each."""
        end = time.monotonic() + seconds
        threads = [threading.Thread(target=self.repeat, args=(request, end, samples)) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def repeat(self, request: Request, end: float, samples: Samples) -> None:
        connection = self.connect()
        while time.monotonic() < end:
            body = request.body()
            begin = time.perf_counter()
            try:
                connection.request(request.method, request.path, body or None, self.headers)
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                connection.close()  # the server closed it meanwhile, which the next request repairs
                continue
            if answer.status < 300:
                samples.seconds.append(time.perf_counter() - begin)
            else:
                samples.refused += 1
                time.sleep(0.05)
        connection.close()


def servers(caller: Caller) -> Iterator[str]:
    """Requests a second and the 99th percentile, in rounds that servers take in turn; then slow clients."""
    running = [
        Server(name, caller.token) for name, (module, _) in SERVERS.items() if find_spec(module) is not None
    ]
    try:
        for server in running:
            server.wait_until_ready()
        yield f"{'':26}{'clients':>7}" + "".join(f"{server.name:>22}" for server in running)
        for title, request in requests().items():
            for clients in CLIENTS:
                samples = {server.name: Samples() for server in running}
                for _ in range(ROUNDS):
                    for server in running:
                        server.load(request, clients, samples[server.name])
                yield f"{title:26}{clients:>7}" + "".join(f"{samples[s.name]!s:>22}" for s in running)
        yield f"{'memory, MiB':33}" + "".join(f"{server.resident_mib():>22.0f}" for server in running)
        for title, hold in SLOW.items():
            answers = [answers_beside(server, hold) for server in running]
            yield f"{title:33}" + "".join(f"{answer:>22}" for answer in answers)
    finally:
        for server in running:
            server.stop()


def requests() -> dict[str, Request]:
    key = Claim.objects.order_by("guid").values_list("pk", flat=True)[7]
    # Without a number of their own, so that the running number is a part of it.
    bodies = iter([json.dumps(entry | {"ClaimNumber": None}).encode() for entry in entries(ground(POSTS))])

    def new_claim() -> bytes:
        return next(bodies)  # from a list, which threads share safely

    return {
        "one claim": Request("GET", f"/api/claim/{key}"),
        "page of 300 claims": Request("GET", "/api/claim"),
        "stream of 1,000 contacts": Request("GET", f"{STREAM}&$top=1000"),
        "POST of 1 claim": Request("POST", f"/api/claim?{QUERY}", new_claim),
    }


# --- slow clients ---------------------------------------------------------------------------------------

TOKEN_REQUEST = (
    b"POST /connect/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
)
STREAM_REQUEST = b"GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\n\r\n"
SLOW = {
    f"{SLOW_CLIENTS} slow headers": b"GET /api/claim HTTP/1.1\r\nHost: localhost\r\nAccept:",
    f"{SLOW_CLIENTS} slow bodies": TOKEN_REQUEST + b"Content-Length: 10000\r\n\r\ng",
    f"{SLOW_CLIENTS} slow chunks": TOKEN_REQUEST + b"Transfer-Encoding: chunked\r\n\r\n5\r\ngrant",
    f"{SLOW_CLIENTS} slow readers of a stream": STREAM_REQUEST,
}


def answers_beside(server: Server, request: bytes) -> str:
    """Seconds of /livez and of a list beside slow clients: the slower of three each."""
    if b"%s" in request:
        request %= (STREAM.encode(), server.headers["Authorization"].encode())
    with contextlib.ExitStack() as stack:
        for _ in range(SLOW_CLIENTS):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", server.port))
            connection.sendall(request)
        time.sleep(3)
        words = []
        for path in ("/livez", "/api/claim?$top=1"):
            seconds = [server.seconds_of(path, 3) for _ in range(3)]
            words.append("none" if None in seconds else f"{max(filter(None, seconds)):.2f} s")
    time.sleep(1)
    return ", ".join(words)
