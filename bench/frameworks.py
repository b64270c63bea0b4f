"""The same requests to this service, stock DRF, django-ninja, FastAPI with SQLAlchemy, and bare psycopg."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import psycopg
from django.db import connection

from apps.people.models import Client
from bench.answers import check_same
from bench.bare import statement_of
from bench.calling import Caller, Refused
from bench.measuring import Contender, measure
from bench.others.fastapi_app import app
from bench.speed import NEW, Stock, columns, entry, ms, remove_new_clients

PAGE = 1_000
NAMES = ("this service", "stock DRF", "django-ninja", "FastAPI + SQLAlchemy", "bare psycopg")


class AsgiCaller:
    """Calls an ASGI application as ``Caller`` does Django, in a loop that stays open."""

    def __init__(self, token: str) -> None:
        self.token, self.loop = token, asyncio.new_event_loop()

    def __call__(self, path: str, query: str = "", body: bytes = b"") -> bytes:
        return self.loop.run_until_complete(self.respond(path, query, body))

    async def respond(self, path: str, query: str, body: bytes) -> bytes:
        messages: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": body}

        async def send(message: Any) -> None:
            messages.append(message)

        headers = [(b"authorization", f"Bearer {self.token}".encode()), (b"host", b"localhost")]
        scope = {
            **{"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http"},
            **{"method": "POST" if body else "GET", "path": path, "raw_path": path.encode()},
            **{"query_string": query.encode(), "headers": [*headers, (b"content-type", b"application/json")]},
        }
        await app(scope, receive, send)
        if not 200 <= messages[0]["status"] < 300:
            raise Refused(f"{path}: {messages}"[:400])
        return b"".join(message.get("body", b"") for message in messages[1:])


def frameworks(caller: Caller) -> Iterator[str]:
    """A table in Markdown: CPU of Python and time on the wall, and how much more CPU it is than ours."""
    yield f"| Request | {' | '.join(NAMES)} |"
    yield "|---|" + "---:|" * len(NAMES)
    asgi = AsgiCaller(caller.token)
    key = Client.objects.order_by("guid").values_list("pk", flat=True)[7]
    yield row(
        "one client", read(caller, asgi, f"client/{key}", "", f"client/{key}/", "", f"client/{key}", 1), 30
    )
    size = f"size={PAGE}"
    stock = f"page_size={PAGE}"
    title = f"page of {PAGE:,} clients"
    yield row(title, read(caller, asgi, "client", "", "client/", stock, f"client?{size}", PAGE), 1)
    title = "… with addresses and key contact"
    whole = f"whole-client?{size}"
    yield row(title, read(caller, asgi, "client", "$expand=*", "new-client/", stock, whole, PAGE), 1)
    for number in (1, 100, 1_000):
        yield row(f"POST of {number:,} client{'s' * (number > 1)}", write(caller, asgi, number), 1)
    versions = ", ".join(f"{name} {version(name)}" for name in ("django-ninja", "fastapi", "sqlalchemy"))
    yield f"\n{versions};"


def read(
    caller: Caller,
    asgi: AsgiCaller,
    ours: str,
    query: str,
    stock: str,
    stock_query: str,
    other: str,
    size: int,
) -> list[Contender]:
    """GETs that answer the same records."""
    path, _, other_query = other.partition("?")

    def get_ours() -> bytes:
        return caller(caller.request(f"/api/{ours}", query, HTTP_PREFER=f"odata.maxpagesize={size}"))

    def get_stock() -> bytes:
        return caller(caller.request(f"/stock/{stock}", stock_query))

    def get_ninja() -> bytes:
        return caller(caller.request(f"/ninja/{path}", other_query))

    def get_fastapi() -> bytes:
        return asgi(f"/{path}", other_query)

    answer = json.loads(get_ours())
    for get in (get_stock, get_ninja, get_fastapi):
        check_same(answer, json.loads(get()), size)
    bare = [Contender("psycopg", fetch_bare(get_ours))] if size > 1 else []
    others = [Contender("ninja", get_ninja), Contender("fastapi", get_fastapi), *bare]
    return [Contender("ours", get_ours), Stock(get_stock), *others]


def fetch_bare(get_ours: Callable[[], bytes]) -> Callable[[], bytes]:
    """Our own statement through psycopg alone."""
    statement = statement_of(get_ours, "people_client")

    def fetch() -> bytes:
        with psycopg.Cursor(connection.connection) as cursor:
            rows = cursor.execute(statement).fetchall()
        return ("[" + ",".join(row[0] for row in rows[:PAGE]) + "]").encode()

    return fetch


def write(caller: Caller, asgi: AsgiCaller, number: int) -> list[Contender]:
    """POSTs of the same clients, answered with the records; what was stored is removed after each."""
    entries = [entry(at) for at in range(number)]
    ours = json.dumps({"value": entries}).encode()
    plain = json.dumps([dict(columns(each)) for each in entries]).encode()
    posts: dict[str, Callable[[], bytes]] = {
        "ours": lambda: caller(caller.request("/api/client", "", ours)),
        "stock": lambda: caller(caller.request("/stock/new-client/", "", plain)),
        "ninja": lambda: caller(caller.request("/ninja/client", "", plain)),
        "fastapi": lambda: asgi("/client", "", plain),
    }
    answers = []
    for post in posts.values():
        remove_new_clients()
        answers.append(json.loads(post()))
    for answer in answers[1:]:
        check_same(answers[0], answer, number, NEW)
    around: dict[str, Any] = {"prepare": remove_new_clients, "clean": remove_new_clients}
    return [
        Stock(post, **around) if name == "stock" else Contender(name, post, **around)
        for name, post in posts.items()
    ]


def row(title: str, contenders: list[Contender], calls: int) -> str:
    measure(contenders, samples=7, calls=calls)
    own = contenders[0].cost.python
    cells = [
        f"{ms(each.cost.python)} · {ms(each.cost.wall)} ms"
        + (f" ({each.cost.python / own:.1f}×)" if each is not contenders[0] else "")
        for each in contenders
    ]
    return f"| {title} | {' | '.join(cells + [''] * (len(NAMES) - len(cells)))} |"
