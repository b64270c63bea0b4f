"""What grows with the data: the same requests beside 7,000 and beside 1,000,000 lines, in turns."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model
from django.test import Client as Browser

from apps.base import clock
from apps.funding.models import Claim, ClaimLine
from apps.funding.services.claim_sums import add_up_claim_sums, recount_claim_sums
from apps.funding.services.transitions import apply_transition
from apps.funding.validation.transitions import TransitionName
from apps.people.models import Contact, Staff
from bench import claims
from bench.calling import Caller
from bench.management.commands.fill import COPIED, copy_rows
from bench.measuring import NOTHING, Contender, measure
from bench.money import signed_in, visit
from bench.speed import CODE, remove_new

#: The larger side has about so many.
LINES, CONTACTS = 1_000_000, 200_000
LARGE = "growth_large"
PAGE, WRITTEN = 20, 1_000
SAMPLES = 7
#: Copies of contacts have numbers and names of their own. Those of claims are of another copy of the contact,
#: lie a week further back each, and are paid and paid out: nobody lets a hundred thousand wait.
COPIED_CONTACT = {
    "guid": "md5(guid::text || copy)::uuid",
    "creation_date": "creation_date - copy * interval '1 hour'",
    "modify_date": "modify_date - copy * interval '1 hour'",
    "last_name": "last_name || '-' || initcap(substr(md5(copy::text), 1, 5))",
    "unique_code": "unique_code || '-' || copy",
    "unique_code_key": "unique_code_key || '-' || copy",
    "primary_email": "replace(primary_email, '@', copy || '@')",
    "phone1": "phone1 || ' ' || copy",
    "representative_id": "NULL",
    "merged_into_id": "NULL",
}
WEEKS = "{} - copy * 7"
PAID = (
    "CASE WHEN funding_status IN ('Approved', 'AwaitingStaffApproval', 'OnHold', 'AgencyClaimed')"
    " THEN {} ELSE {} END"
)
PAID_AMOUNT = PAID.format("total", "amount_paid")
COPIED_CLAIM = {
    **COPIED["funding_claim"],
    "contact_id": "md5(contact_id::text || 1 + mod(copy, {copies}))::uuid",
    "creation_date": "creation_date - copy * interval '7 days'",
    "funding_status": PAID.format("'AgencyFullyPaid'", "funding_status"),
    "amount_paid": PAID_AMOUNT,
    "paid_out": f"CASE send_payment_to WHEN 'PlanManager' THEN 0 ELSE {PAID_AMOUNT} - paid_earlier END",
    **{name: WEEKS.format(name) for name in ("start_date", "end_date", "due_date")},
}
COPIED_LINE = {
    **COPIED["funding_claimline"],
    **{name: WEEKS.format(name) for name in ("from_date", "to_date", "first_day", "last_day")},
}


@dataclass(frozen=True)
class Work:
    """What is measured: how much of it may cost ``most``, and how often ``call`` does it."""

    title: str
    call: Callable[[], object]
    most: float | None = None
    unit: float = 1_000.0
    clean: Callable[[], object] = NOTHING


def growth(caller: Caller) -> Iterator[str]:
    """A table in Markdown, a row for each kind of work."""
    browser = signed_in()
    began = time.monotonic()
    small, large = make_databases(add_copies)
    sizes = []
    works = []
    for database in (small, large):
        use(database)
        sizes.append(f"{ClaimLine.objects.count():,} lines")
        works.append(list(all_work(caller, browser)))
    made = time.monotonic() - began
    yield f"Milliseconds of CPU, of Python + of PostgreSQL. The copies were made in {made:.0f} s."
    yield ""
    yield f"| Work | {' | '.join(sizes)} | | at most |"
    yield "|---|--:|--:|--:|--:|"
    for one, other in zip(*works, strict=True):
        yield compared(one, other, small, large)
    use(small)


def compared(one: Work, other: Work, small: BaseDatabaseWrapper, large: BaseDatabaseWrapper) -> str:
    contenders = [
        Contender(work.title, work.call, partial(use, database), work.clean)
        for work, database in ((one, small), (other, large))
    ]
    measure(contenders, SAMPLES)
    units = zip((each.cost for each in contenders), (one.unit, other.unit), strict=True)
    costs = [(cost.python * unit, cost.postgresql * unit) for cost, unit in units]
    cells = " | ".join(f"{figure(python)} + {figure(database)}" for python, database in costs)
    sums = [sum(cost) for cost in costs]
    verdict = ""
    if other.most is not None:
        verdict = f"{other.most:g}{'' if sums[1] <= other.most else ': MISSED'}"
    return f"| {other.title} | {cells} | {sums[1] / sums[0]:.1f}× | {verdict} |"


def figure(number: float) -> str:
    return f"{number:.1f}" if number < 20 else f"{number:,.0f}"


# --- the two databases ----------------------------------------------------------------------------------


def make_databases(grow: Callable[[], None]) -> tuple[BaseDatabaseWrapper, BaseDatabaseWrapper]:
    """The database as it was filled, and a copy of it that is the default one when it grows."""
    small = connections[DEFAULT_DB_ALIAS]
    template = small.settings_dict["NAME"]
    with small._nodb_cursor() as cursor:
        small.close()
        cursor.execute(f"DROP DATABASE IF EXISTS {LARGE}")
        cursor.execute(f"CREATE DATABASE {LARGE} TEMPLATE {template}")
    large = connections.create_connection(DEFAULT_DB_ALIAS)
    large.settings_dict = {**deepcopy(small.settings_dict), "NAME": LARGE}
    use(large)
    grow()
    return small, large


def use(database: BaseDatabaseWrapper) -> None:
    """Let everything that asks for the default connection have this one; nothing is planned in parallel."""
    connections[DEFAULT_DB_ALIAS] = database
    with connection.cursor() as cursor:
        # The CPU of further processes would be left out.
        cursor.execute("SET max_parallel_workers_per_gather = 0")


def add_copies() -> None:
    """Copies of contacts, claims and lines."""
    lines = ClaimLine.objects.count()
    people, copies = CONTACTS // Contact.objects.count(), LINES // lines
    claim = {**COPIED_CLAIM, "contact_id": COPIED_CLAIM["contact_id"].format(copies=people - 1)}
    sources: list[tuple[type[Model], dict[str, str], int]] = [
        (Contact, COPIED_CONTACT, people - 1),
        (Claim, claim, copies - 1),
        (ClaimLine, COPIED_LINE, copies - 1),
    ]
    with connection.cursor() as cursor:
        for model, copied, number in sources:
            unchecked(copy_rows, cursor, model, copied, number)()
        recount_claim_sums()  # unchecked are triggers as well
        add_up_claim_sums()
        cursor.execute("VACUUM ANALYZE")


def unchecked(call: Callable[..., object], *arguments: object) -> Callable[[], None]:
    """The call without PostgreSQL's checks of references: for copies, and for what nothing refers to."""

    def call_unchecked() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
            call(*arguments)
            cursor.execute("SET session_replication_role = DEFAULT")

    return call_unchecked


# --- the work -------------------------------------------------------------------------------------------


def all_work(caller: Caller, browser: Browser) -> Iterator[Work]:
    yield from searches(caller)
    yield from days(caller)
    yield from rare(caller)
    yield from office(browser)
    yield from sums(caller, browser)
    yield from pages(caller)
    yield from exports(caller)
    yield from writes(caller)
    yield from follows(caller)


def get(caller: Caller, path: str, **options: str) -> Callable[[], bytes]:
    """A GET of so many records, as an application pages through them."""
    query = "&".join(f"${name}={quote(value)}" for name, value in options.items())
    size = options.get("top", str(PAGE))
    return lambda: caller(caller.request(f"/api/{path}", query, HTTP_PREFER=f"odata.maxpagesize={size}"))


def filtered(caller: Caller, path: str, condition: str, most: float) -> Work:
    call = get(caller, path, filter=condition)
    assert json.loads(call())["value"], condition
    return Work(f"`{path}?$filter={shape_of(condition)}`", call, most)


def shape_of(condition: str) -> str:
    """The condition without its values, which differ from one side to the other."""
    return re.sub(r"'[^']*'|[0-9a-f-]{10,}", "…", condition)


def searches(caller: Caller) -> Iterator[Work]:
    known = Contact.objects.exclude(phone1=None).exclude(primary_email=None).order_by("guid")[7]
    call = get(caller, "contact", search=known.primary_email.partition("@")[0])
    assert json.loads(call())["value"]
    yield Work("`contact?$search=`", call, 5)
    yield filtered(caller, "contact", f"PrimaryEmail eq '{known.primary_email}'", 10)
    yield filtered(caller, "contact", f"Phone1 eq '{known.phone1}'", 10)
    yield filtered(caller, "contact", f"contains(LastName,'{known.last_name[1:]}')", 10)
    yield filtered(caller, "contact", f"startswith(LastName,'{known.last_name[:-1]}')", 10)


def days(caller: Caller) -> Iterator[Work]:
    """Days in the middle, by which claims are not sorted."""
    for name, column in (("StartDate", "start_date"), ("DueDate", "due_date")):
        known = (
            Claim.objects.exclude(**{column: None}).order_by(column, "guid").values_list(column, flat=True)
        )
        day = known[known.count() // 2]
        yield filtered(caller, "claim", f"{name} eq {day}", 10)
        oldest = known[known.count() // 1_000]
        call = get(caller, "claim", filter=f"{name} le {oldest}", orderby=f"{name} desc")
        yield Work(f"… `{name} le …&$orderby={name} desc`", call, 10)
        yield Work(f"… `{name} le …`", get(caller, "claim", filter=f"{name} le {oldest}"), 10)


def rare(caller: Caller) -> Iterator[Work]:
    """Conditions that no claim meets: without an index all claims would be read for them."""
    nobody = Staff.objects.exclude(pk__in=Claim.objects.values("staff")).order_by("guid")[0]
    for condition in (
        f"StaffGuid eq {nobody.pk}",
        "ExternalInvoiceNumber eq 'NONE'",
        "EndDate ge 2099-01-01",
        "PaymentDate ge 2099-01-01",
    ):
        call = get(caller, "claim", filter=condition)
        assert not json.loads(call())["value"], condition
        yield Work(f"`claim?$filter={shape_of(condition)}`, of which there is none", call, 10)


def office(browser: Browser) -> Iterator[Work]:
    page = "funding/claim/"
    for title, place in (("participant", 2), ("provider", 3), ("first day", 4), ("total", 5)):
        yield Work(f"office: claims by {title}", partial(visit, browser, f"{page}?o={place}"), 100)
    provider = Claim.objects.order_by("guid")[7].provider_id
    yield Work(
        "office: claims of a provider",
        partial(visit, browser, f"{page}?provider__guid__exact={provider}"),
    )


def sums(caller: Caller, browser: Browser) -> Iterator[Work]:
    yield Work("`claim/$count`", get(caller, "claim/$count"), 10)
    yield Work("office: home", partial(visit, browser, ""), 10)
    for member in ("FundingStatus", "ProviderGuid"):
        apply = f"groupby(({member}),aggregate(Total with sum as Amount,$count as Number))"
        yield Work(f"`$apply` by {member}", get(caller, "claim", apply=apply), 10)


def pages(caller: Caller) -> Iterator[Work]:
    key = Claim.objects.order_by("guid").values_list("pk", flat=True)[7]
    yield Work("one claim with its lines", get(caller, f"claim/{key}", expand="*"))
    provider = Claim.objects.order_by("guid")[7].provider_id
    yield filtered(caller, "claim", f"ProviderGuid eq {provider}", 3)
    yield Work("page of 1,000 claims with lines", get(caller, "claim", expand="*", top="1000"))


def exports(caller: Caller) -> Iterator[Work]:
    call, number = get(caller, "contact", format="csv"), Contact.objects.count()
    yield Work("CSV of contacts, a row, in µs", call, 15, 1e6 / number)


def writes(caller: Caller) -> Iterator[Work]:
    """Writes are taken back after each sample."""
    entries = claims.entries(claims.ground(WRITTEN))
    for number in (1, WRITTEN):
        call = post(caller, f"claim?{claims.QUERY}", entries[:number])
        yield Work(
            f"POST of {number:,} claim{'s' * (number > 1)}", call, clean=unchecked(claims.remove_claims)
        )
    people = [
        {
            "FirstName": "Measured",
            "LastName": f"Person {number}",
            "PrimaryEmail": f"person.{number}@bench.example",
            "Phone1": f"02 5550 {number:04}",
            "UniqueCode": f"{CODE}{number}",
        }
        for number in range(WRITTEN)
    ]
    call = post(caller, "contact", people)
    yield Work(f"POST of {WRITTEN:,} contacts", call, clean=unchecked(remove_new, "people_contact"))
    waiting = Claim.objects.filter(funding_status="AwaitingStaffApproval", archive_date=None)
    keys = list(waiting.order_by("guid").values_list("pk", flat=True)[:WRITTEN])
    yield Work("status of 1,000 claims", partial(approve, keys), unit=1e6 / len(keys))


def post(caller: Caller, address: str, entries: list[dict[str, Any]]) -> Callable[[], bytes]:
    body = json.dumps({"value": entries}).encode()
    path, _, query = address.partition("?")
    return lambda: caller(caller.request(f"/api/{path}", query, body))


def approve(keys: list[UUID]) -> None:
    clock.reset_now()
    with transaction.atomic():
        assert len(apply_transition(Claim, keys, TransitionName.APPROVE).done) == len(keys)
        transaction.set_rollback(True)


def follows(caller: Caller) -> Iterator[Work]:
    """What programs do that keep a cursor, and that know people by their own codes; version 2.1."""
    moments = Claim.objects.order_by("modify_date").values_list("modify_date", flat=True)
    moment = moments[moments.count() // 2].strftime("%Y-%m-%dT%H:%M:%SZ")
    query = f"$filter={quote(f'ModifyDate ge {moment}')}&$orderby=ModifyDate&version=2.1"
    paged = {"HTTP_PREFER": "odata.maxpagesize=1000"}
    call = lambda: caller(caller.request("/api/claim", query, **paged))  # noqa: E731
    assert json.loads(call())["value"]
    yield Work("page of 1,000 claims by `ModifyDate`", call)
    people = [
        {"UniqueCode": f"{CODE}{number}", "FirstName": "New", "LastName": f"Person {number}"}
        for number in range(WRITTEN)
    ]
    body = json.dumps({"@context": "#$delta", "value": people}).encode()
    asked = {"REQUEST_METHOD": "PATCH", "HTTP_PREFER": "return=minimal"}
    call = lambda: caller(caller.request("/api/contact", "version=2.1", body, **asked))  # noqa: E731
    clean = unchecked(remove_new, "people_contact")
    yield Work(f"upsert of {WRITTEN:,} contacts that are new", call, clean=clean)
