"""Clients over HTTP: each framework on the server that it usually runs on, many clients at once."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import quantiles
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.db import connection

from apps.people.models import Client
from bench.answers import check_same
from bench.calling import Caller, Refused
from bench.servers import SERVERS, Request, Samples, Server
from bench.speed import NEW, columns, entry, remove_new_clients
from bench.stock.serializers import ADDRESS, CLIENT, POSTAL_ADDRESS
from bench.writes import cpu

PAGE = 1_000
ROUNDS = 3
#: What is asked for, and by how many clients at once.
REQUESTS = {
    "one client": 32,
    f"page of {PAGE:,}": 8,
    "… with addresses and key contact": 8,
    "POST of 1 client": 32,
}
WHAT = (
    "answers a second · median / 99th percentile · CPU of the server + of PostgreSQL for each,"
    " and how much more CPU than here"
)
CAP = Path(os.environ["BENCH_PACKAGES"]) / "cap"
CAP_PACKAGES = ("@sap/cds", "@cap-js/postgres")
GUNICORN = SERVERS["gthread"][1].replace("records_site.wsgi", "bench.others.django_wsgi")
UVICORN = (
    "{python} -m uvicorn bench.others.fastapi_asgi:app --port {port} --workers {workers}"
    " --log-level warning --no-access-log"
)
NEWEST = "$orderby=creation_date%20desc,guid%20desc&$top=" + str(PAGE)


@dataclass(frozen=True)
class Side:
    """A framework: its server, the paths of its GETs in the order of ``REQUESTS``, and that of its POST."""

    name: str
    server: Server
    gets: Sequence[str]
    post: str
    body: Callable[[dict[str, Any]], Any]

    def requests(self) -> list[Request]:
        numbers = count()

        def new_client() -> bytes:
            return json.dumps(self.body(entry(next(numbers)))).encode()

        return [*(Request("GET", path) for path in self.gets), Request("POST", self.post, new_client)]


def over_http(caller: Caller) -> Iterator[str]:
    """A table in Markdown, a side a line."""
    clients = ", ".join(f"{title} ({number} clients)" for title, number in REQUESTS.items())
    yield f"Over HTTP, two processes each, {clients}: {WHAT}:\n"
    yield f"| Server | {' | '.join(REQUESTS)} |"
    yield "|---|" + "---:|" * len(REQUESTS)
    prepare_tables_for_cap()
    with contextlib.ExitStack() as stack:
        running = sides(caller.token, stack)
        requests = [side.requests() for side in running]
        check_answers(running, requests)
        cells = [
            measured(running, [each[at] for each in requests], clients)
            for at, clients in enumerate(REQUESTS.values())
        ]
    for at, side in enumerate(running):
        yield f"| {side.name} | {' | '.join(column[at] for column in cells)} |"
    if not cap_versions():
        yield f"| SAP CAP: not measured, for want of Node.js or of npm's registry |{' |' * len(REQUESTS)}"


def cap_versions() -> list[str]:
    """Empty where CAP is not installed."""
    if not (shutil.which("node") and (CAP / "installed").exists()):
        return []
    return [f"{name} {version_in(CAP / 'node_modules' / name)}" for name in CAP_PACKAGES]


def version_in(package: Path) -> str:
    return str(json.loads((package / "package.json").read_text())["version"])


def sides(token: str, stack: contextlib.ExitStack) -> list[Side]:
    """The running servers; the stack stops them."""
    key = Client.objects.order_by("guid").values_list("pk", flat=True)[7]

    def start(name: str, **options: Any) -> Server:
        server = Server(name, token, **options)
        stack.callback(server.stop)
        return server

    ours = start("ours")
    ours.headers["Prefer"] = f"odata.maxpagesize={PAGE}"
    django = start("django", command=GUNICORN, ready=f"/ninja/client/{key}")
    fastapi = start("fastapi", command=UVICORN, ready=f"/client/{key}")
    page, size = f"page_size={PAGE}", f"size={PAGE}"
    found = [
        Side(
            "this service",
            ours,
            (f"/api/client/{key}", "/api/client", "/api/client?$expand=*"),
            "/api/client",
            lambda record: record,
        ),
        Side(
            "stock DRF, gunicorn",
            django,
            (f"/stock/client/{key}/", f"/stock/client/?{page}", f"/stock/new-client/?{page}"),
            "/stock/new-client/",
            plain,
        ),
        Side(
            "django-ninja, gunicorn",
            django,
            (f"/ninja/client/{key}", f"/ninja/client?{size}", f"/ninja/whole-client?{size}"),
            "/ninja/client",
            lambda record: [plain(record)],
        ),
        Side(
            "FastAPI + SQLAlchemy, uvicorn",
            fastapi,
            (f"/client/{key}", f"/client?{size}", f"/whole-client?{size}"),
            "/client",
            lambda record: [plain(record)],
        ),
    ]
    if cap_versions():
        columns = f"$select={','.join(CLIENT)}"
        parts = "$expand=key_contact($select=guid,first_name,last_name,archive_date)"
        whole = f"$select={','.join((*CLIENT, *ADDRESS, *POSTAL_ADDRESS))}&{parts}"
        cap = start("cap", command="node cluster.js", ready="/cap", cwd=CAP, environment=cap_environment())
        found.append(
            Side(
                "SAP CAP, Node.js",
                cap,
                (
                    f"/cap/client({key})?{columns}",
                    f"/cap/client?{columns}&{NEWEST}",
                    f"/cap/client?{whole}&{NEWEST}",
                ),
                "/cap/client",
                plain,
            )
        )
    for server in {side.server.name: side.server for side in found}.values():
        server.wait_until_ready()
    return found


def plain(record: dict[str, Any]) -> dict[str, Any]:
    return dict(columns(record))


def cap_environment() -> dict[str, str]:
    """CAP's settings: the database, which it finds by the folder of its socket."""
    url = urlsplit(os.environ["DATABASE_URL"])
    database = {"host": parse_qs(url.query)["host"][0], "user": url.username, "database": url.path[1:]}
    return {"NODE_ENV": "production", "cds_requires_db_credentials": json.dumps(database)}


def prepare_tables_for_cap() -> None:
    """CAP stores keys as text, and so writes them without a cast to the type that their columns have."""
    with connection.cursor() as cursor:
        cursor.execute("DROP CAST IF EXISTS (text AS uuid)")
        cursor.execute("CREATE CAST (text AS uuid) WITH INOUT AS ASSIGNMENT")


def check_answers(sides: Sequence[Side], requests: Sequence[Sequence[Request]]) -> None:
    """Raise unless all sides answer each request with the same values."""
    for at, (title, expected) in enumerate(zip(REQUESTS, (1, PAGE, PAGE, 1), strict=True)):
        answers = []
        for side, own in zip(sides, requests, strict=True):
            answers.append(json.loads(fetch(side.server, own[at])))
            remove_new_clients()
            check_same(answers[0], answers[-1], expected, NEW if title.startswith("POST") else frozenset())


def fetch(server: Server, request: Request) -> bytes:
    with contextlib.closing(server.connect()) as opened:
        opened.request(request.method, request.path, request.body() or None, server.headers)
        answer = opened.getresponse()
        body = answer.read()
    if answer.status >= 300:
        raise Refused(f"{server.name} {request.path}: {answer.status} {body[:400]!r}")
    return body


@dataclass
class Figures:
    """Of one side and request: what was answered, in how many seconds, with how much CPU."""

    samples: Samples = field(default_factory=Samples)
    wall: float = 0
    server: float = 0
    postgresql: float = 0

    @property
    def cpu(self) -> float:
        """Seconds of each answer."""
        return (self.server + self.postgresql) / len(self.samples.seconds)

    def cell(self, ours: Figures) -> str:
        seconds = self.samples.seconds
        if len(seconds) < 2:
            return f"none, {self.samples.refused} refused"
        cuts = quantiles(seconds, n=100)
        each = f"{self.server / len(seconds) * 1000:.1f} + {self.postgresql / len(seconds) * 1000:.1f} ms"
        ratio = "" if self is ours else f" ({self.cpu / ours.cpu:.1f}×)"
        refused = f" −{self.samples.refused}" if self.samples.refused else ""
        times = f"{cuts[49] * 1000:.0f} / {cuts[98] * 1000:.0f} ms"
        return f"{len(seconds) / self.wall:.0f}/s{refused} · {times} · {each}{ratio}"


def measured(sides: Sequence[Side], requests: Sequence[Request], clients: int) -> list[str]:
    """The cells of one request, from rounds that the sides take in turn. The first round is no sample."""
    figures: list[Figures] = []
    for number in range(ROUNDS + 1):
        if number < 2:
            figures = [Figures() for _ in sides]
        for side, request, figure in zip(sides, requests, figures, strict=True):
            before = cpu(side.server)
            side.server.load(request, clients, figure.samples)
            server, postgresql, wall, _ = (
                after - then for after, then in zip(cpu(side.server), before, strict=True)
            )
            figure.server, figure.postgresql = figure.server + server, figure.postgresql + postgresql
            figure.wall += wall
            remove_new_clients()
    return [figure.cell(figures[0]) for figure in figures]
