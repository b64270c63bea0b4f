"""What a request costs here and in stock Django REST framework: the promises, and what was measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models.base import Model
from django.test.utils import CaptureQueriesContext

from apps.core.models import TimestampedModel
from apps.funding.models import Claim
from apps.people.models import Client
from bench import claims
from bench.answers import check_same
from bench.calling import Caller
from bench.measuring import Contender, measure

#: Given anew with every record that is stored.
NEW = frozenset({"ClientGuid", "guid", "CreationDate", "creation_date", "ModifyDate", "modify_date"})
CODE = "BENCH-"


@dataclass(frozen=True)
class Promise:
    """A request, the least ratio of CPU (stock's to ours) promised for it, and how to make it."""

    title: str
    ratio: float
    contenders: Callable[[Caller], tuple[Contender, Contender]]
    samples: int
    calls: int = 1


@contextmanager
def plain_instances() -> Iterator[None]:
    """Within the block, instances load without what our history needs: stock code has no such cost."""
    ours = TimestampedModel.__dict__["from_db"]
    TimestampedModel.from_db = classmethod(Model.from_db.__func__)  # type: ignore[attr-defined, assignment, method-assign]
    try:
        yield
    finally:
        TimestampedModel.from_db = ours  # type: ignore[method-assign]


class Stock(Contender):
    """The stock side, with instances as stock code loads them."""

    def __init__(self, call: Callable[[], object], **around: Callable[[], object]) -> None:
        super().__init__("stock", self.plainly, **around)
        self.inner = call

    def plainly(self) -> None:
        with plain_instances():
            self.inner()


def one_client(caller: Caller) -> tuple[Contender, Contender]:
    key = Client.objects.order_by("guid").values_list("pk", flat=True)[7]
    return readers(caller, f"/api/client/{key}", "", f"/stock/client/{key}/", "", 1)


def page_of_clients(caller: Caller) -> tuple[Contender, Contender]:
    return readers(caller, "/api/client", "", "/stock/client/", "page_size=1000", 1_000)


def staff_with_parts(caller: Caller) -> tuple[Contender, Contender]:
    return readers(caller, "/api/staff", "$expand=*", "/stock/staff/", "page_size=100", 100)


def one_claim(caller: Caller) -> tuple[Contender, Contender]:
    key = Claim.objects.order_by("guid").values_list("pk", flat=True)[7]
    return readers(caller, f"/api/claim/{key}", "$expand=*", f"/stock/whole-claim/{key}/", "", 1)


def page_of_claims(caller: Caller) -> tuple[Contender, Contender]:
    return readers(caller, "/api/claim", "", "/stock/claim/", "page_size=1000", 1_000)


def page_of_whole_claims(caller: Caller) -> tuple[Contender, Contender]:
    return readers(caller, "/api/claim", "$expand=*", "/stock/whole-claim/", "page_size=1000", 1_000)


def page_of_claims_with_contact(caller: Caller) -> tuple[Contender, Contender]:
    """A navigation property to another set, whose right is checked."""
    query = "$expand=Contact($select=FirstName,LastName,ArchiveDate)"
    return readers(caller, "/api/claim", query, "/stock/claim-with-contact/", "page_size=1000", 1_000)


def readers(
    caller: Caller, ours: str, our_query: str, stock: str, stock_query: str, size: int
) -> tuple[Contender, Contender]:
    """Two GETs of ``size`` records that answer the same."""

    def ask_ours() -> bytes:
        return caller(caller.request(ours, our_query, HTTP_PREFER=f"odata.maxpagesize={size}"))

    def ask_stock() -> bytes:
        return caller(caller.request(stock, stock_query))

    check_same(json.loads(ask_ours()), json.loads(ask_stock()), size)
    return Contender("ours", ask_ours), Stock(ask_stock)


def new_clients(caller: Caller) -> tuple[Contender, Contender]:
    """POST of 1,000 clients, answered with the records; what was stored is taken away after each."""
    entries = [entry(number) for number in range(1_000)]
    ours = json.dumps({"value": entries}).encode()
    stock = json.dumps([dict(columns(entry)) for entry in entries]).encode()

    def post_ours() -> bytes:
        return caller(caller.request("/api/client", "", ours))

    def post_stock() -> bytes:
        return caller(caller.request("/stock/new-client/", "", stock))

    answers = []
    for post in (post_ours, post_stock):
        remove_new_clients()
        answers.append(json.loads(post()))
    check_same(*answers, expected=1_000, ignored=NEW)
    around: dict[str, Callable[[], object]] = {"prepare": remove_new_clients, "clean": remove_new_clients}
    return Contender("ours", post_ours, **around), Stock(post_stock, **around)


def entry(number: int) -> dict[str, Any]:
    """A client as an integration sends it."""
    return {
        "BusinessName": f"Measured Provider {number:04} Pty Ltd",
        "BusinessNumber": "51824753556",
        "UniqueCode": f"{CODE}{number:04}",
        "ExternalReference": f"ledger/{number}",
        "BusinessPhone": "02 5550 1234",
        "WebAddress": "https://provider.example",
        "Address": {
            "StreetAddress": f"{number} Example Street",
            "Suburb": "Perth",
            "State": "WA",
            "Country": "Australia",
            "PostCode": "6000",
        },
    }


def columns(record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """An entry under the names of the columns."""
    for name, value in record.items():
        if isinstance(value, dict):
            yield from columns(value)
        else:
            yield "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_"), value


def remove_new_clients() -> None:
    remove_new("people_client")


def remove_new(table: str) -> None:
    """Remove the records that a measurement made, and their history."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM core_change WHERE record_key IN"
            f" (SELECT guid::text FROM {table} WHERE unique_code LIKE %s)",
            [f"{CODE}%"],
        )
        cursor.execute(f"DELETE FROM {table} WHERE unique_code LIKE %s", [f"{CODE}%"])


PROMISES = (
    Promise("one client", 3, one_client, samples=40, calls=40),
    Promise("page of 1,000 clients", 7, page_of_clients, samples=25, calls=2),
    Promise("100 staff with all parts", 6.5, staff_with_parts, samples=25, calls=3),
    Promise("POST of 1,000 clients", 15, new_clients, samples=7),
    Promise("one claim with its lines", 3.5, one_claim, samples=40, calls=40),
    Promise("page of 1,000 claims", 7, page_of_claims, samples=25, calls=2),
    Promise("… with lines", 7, page_of_whole_claims, samples=25, calls=1),
    Promise("… with the contact", 7, page_of_claims_with_contact, samples=25, calls=1),
    Promise("POST of 1 claim", 3, claims.new_claims(1, Stock), samples=15, calls=1),
    Promise("POST of 100 claims", 12, claims.new_claims(100, Stock), samples=9),
    Promise("POST of 1,000 claims", 20, claims.new_claims(1_000, Stock), samples=5),
)

HEAD = (
    f"{'':26}{'CPU of Python, ms':^26}{'of PostgreSQL, ms':^20}{'both':>7} {'wall, ms':^20}"
    f"{'statements':^14}\n"
    f"{'':26}{'ours':>8}{'stock':>9}{'ratio':>9}{'ours':>10}{'stock':>9}{'ratio':>8}{'ours':>11}{'stock':>9}"
    f"{'ours':>8}{'stock':>7}  promised, of Python"
)


def speed(caller: Caller) -> Iterator[str]:
    """Lines of the table, one promise after the other."""
    yield HEAD
    for promise in PROMISES:
        ours, stock = promise.contenders(caller)
        measure((ours, stock), promise.samples, promise.calls)
        yield line(promise, ours, stock)


def line(promise: Promise, ours: Contender, stock: Contender) -> str:
    mine, theirs = ours.cost, stock.cost
    ratio = theirs.python / mine.python
    both = (theirs.python + theirs.postgresql) / (mine.python + mine.postgresql)
    verdict = "kept" if ratio >= promise.ratio else "MISSED"
    return (
        f"{promise.title:26}{ms(mine.python):>8}{ms(theirs.python):>9}{ratio:>8.1f}×"
        f"{ms(mine.postgresql):>10}{ms(theirs.postgresql):>9}{both:>7.1f}×{ms(mine.wall):>11}{ms(theirs.wall):>9}"
        f"{statements(ours):>8}{statements(stock):>7}  {promise.ratio:g}× {verdict}"
    )


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f}" if seconds < 0.1 else f"{seconds * 1000:.0f}"


def statements(contender: Contender) -> int:
    contender.prepare()
    with CaptureQueriesContext(connection) as captured:
        contender.call()
    contender.clean()
    return len(captured)
