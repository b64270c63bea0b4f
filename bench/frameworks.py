"""The same requests to this service, stock DRF, django-ninja, FastAPI with SQLAlchemy, and bare psycopg."""

from __future__ import annotations

import asyncio
import csv
import json
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection

from apps.base.declaration import service
from apps.core.importing.definition import ImportOptions
from apps.core.importing.runs import ImportDisplay, import_file
from apps.people.models import Client, Contact
from bench.answers import check_same
from bench.bare import statement_of
from bench.calling import Caller, Refused
from bench.import_contacts import write_contacts
from bench.measuring import Contender, measure
from bench.others import contact_files
from bench.others.fastapi_app import app
from bench.over_http import cap_versions, over_http
from bench.speed import CODE, NEW, Stock, columns, entry, ms, remove_new, remove_new_clients

PAGE = 1_000
CONTACTS = 20_000
PACKAGES = ("django-ninja", "django-import-export", "fastapi", "sqlalchemy", "gunicorn", "uvicorn")
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
            **{"type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}},
            **{"http_version": "1.1", "scheme": "http"},
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
    one = read(caller, asgi, f"client/{key}", "", f"client/{key}/", "", f"client/{key}", 1)
    yield row("one client", one, calls=30)
    size = f"size={PAGE}"
    stock = f"page_size={PAGE}"
    title = f"page of {PAGE:,} clients"
    yield row(title, read(caller, asgi, "client", "", "client/", stock, f"client?{size}", PAGE))
    title = "… with addresses and key contact"
    whole = f"whole-client?{size}"
    yield row(title, read(caller, asgi, "client", "$expand=*", "new-client/", stock, whole, PAGE))
    for number in (1, 100, 1_000):
        yield row(f"POST of {number:,} client{'s' * (number > 1)}", write(caller, asgi, number))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "contacts.csv"
        write_contacts(file, CONTACTS, name_parts=2)
        file.write_text(file.read_text().replace("\nP", f"\n{CODE}"))
        yield row(f"import of {CONTACTS:,} contacts from CSV", imports(asgi, file), samples=2)
        import_by_ours(file)
    title = f"export of {Contact.objects.count():,} contacts as CSV"
    yield row(title, exports(caller, asgi), samples=3)
    remove_new_contacts()
    yield ""
    yield from over_http(caller)
    versions = [f"{name} {version(name)}" for name in PACKAGES]
    yield f"\n{', '.join(versions + cap_versions())};"


def read(
    caller: Caller,
    asgi: AsgiCaller,
    ours: str,
    query: str,
    stock: str,
    stock_query: str,
    other: str,
    size: int,
) -> list[Contender | None]:
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
    others = [Stock(get_ninja), Contender("fastapi", get_fastapi), *bare]
    return [Contender("ours", get_ours), Stock(get_stock), *others]


def fetch_bare(get_ours: Callable[[], bytes]) -> Callable[[], bytes]:
    """Our own statement through psycopg alone."""
    statement = statement_of(get_ours, "people_client")

    def fetch() -> bytes:
        with psycopg.Cursor(connection.connection) as cursor:
            rows = cursor.execute(statement).fetchall()
        return ("[" + ",".join(row[0] for row in rows[:PAGE]) + "]").encode()

    return fetch


def write(caller: Caller, asgi: AsgiCaller, number: int) -> list[Contender | None]:
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
        Stock(post, **around) if name in ("stock", "ninja") else Contender(name, post, **around)
        for name, post in posts.items()
    ]


def imports(asgi: AsgiCaller, file: Path) -> list[Contender | None]:
    """Imports of the same new contacts from a file."""

    around: dict[str, Any] = {"prepare": remove_new_contacts, "clean": remove_new_contacts}
    ours = Contender("ours", lambda: import_by_ours(file), **around)
    stock = Stock(lambda: contact_files.import_by_resource(file), **around)
    fastapi = Contender("fastapi", lambda: asgi("/contact.csv", "", file.read_bytes()), **around)
    bare = Contender("psycopg", lambda: contact_files.copy_from_file(connection.connection, file), **around)
    new = Contact.objects.filter(unique_code__startswith=CODE).order_by("unique_code")
    stored = []
    for contender in (ours, stock, fastapi, bare):
        contender.prepare()
        contender.call()
        stored.append([*new.values(*contact_files.COLUMNS.values())])
        check_same(stored[0], stored[-1], CONTACTS)
    return [ours, stock, None, fastapi, bare]


def import_by_ours(file: Path) -> None:
    import_file(service.get_service().by_path["contact"], file, ImportOptions(), ImportDisplay())


def remove_new_contacts() -> None:
    with connection.cursor() as cursor:
        # Without a look into each table that could refer to them.
        cursor.execute("SET session_replication_role = replica")
        remove_new("people_contact")
        cursor.execute("RESET session_replication_role")
        cursor.execute("VACUUM people_contact")


def exports(caller: Caller, asgi: AsgiCaller) -> list[Contender | None]:
    """Exports of the same columns of all contacts."""
    person = "UniqueCode,FirstName,LastName,PersonalTitle,Gender,Birthday,SchemeNumber,PrimaryEmail,Phone1"
    address = (f"Address/{name}" for name in ("StreetAddress", "Suburb", "State", "PostCode", "Country"))
    query = f"$format=csv&$select={','.join((person, *address))}"

    def export_by_ours() -> bytes:
        return caller(caller.request("/api/contact", query))

    def export_bare() -> bytes:
        return contact_files.copy_to_bytes(connection.connection)

    expected = read_csv(export_by_ours())
    for export in (contact_files.export_by_resource, lambda: asgi("/contact.csv"), export_bare):
        check_same(expected, read_csv(export()), len(expected), frozenset({"ContactGuid"}))
    return [
        Contender("ours", export_by_ours),
        Stock(contact_files.export_by_resource),
        None,
        Contender("fastapi", lambda: asgi("/contact.csv")),
        Contender("psycopg", export_bare),
    ]


def read_csv(file: bytes) -> list[dict[str, str | None]]:
    lines = csv.DictReader(file.decode("utf-8-sig").splitlines())
    return [{name: value or None for name, value in line.items()} for line in lines]


def row(title: str, contenders: list[Contender | None], samples: int = 7, calls: int = 1) -> str:
    measured = [each for each in contenders if each]
    measure(measured, samples, calls)
    own = measured[0].cost.python
    cells = [""] * len(NAMES)
    for at, each in enumerate(contenders):
        if each:
            cells[at] = f"{ms(each.cost.python)} · {ms(each.cost.wall)} ms"
            cells[at] += f" ({each.cost.python / own:.1f}×)" if at else ""
    return f"| {title} | {' | '.join(cells)} |"
