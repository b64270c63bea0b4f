"""The files of a plan manager's day beside all claims: claim file, results, remittance, payment run, pages.

What a step stores is rolled back after each sample. Then it is done once more, for the next one to go on.
"""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from apps.base import clock
from apps.core.models import Subscriber
from apps.funding.file_formats.answer_files import sha256_of
from apps.funding.file_formats.remittances import read_remittance
from apps.funding.file_formats.results import read_results
from apps.funding.models import Claim, Invoice
from apps.funding.services.claim_files import create_claim_files, mark_sent, plan_claim_files
from apps.funding.services.claim_results import import_results
from apps.funding.services.remittances import import_remittance
from apps.payments.choices import RunStatus
from apps.payments.models import BankAccount, PaymentRun, PaymentRunItem
from apps.payments.services.ready import open_claims
from apps.payments.services.runs import create_run, release_run
from apps.payments.services.statements import make_statements, participants_of
from apps.people.models import Client, Staff
from bench.calling import Caller
from bench.measuring import Contender, sampled
from tests.funding.answer_files import a_payment, a_result, as_csv

#: The lines of the files that are measured, and the payees of a run.
SIZES, PAYEES = (500, 5_000), 2_000
#: The participants whose statements are made, where so many had supports in the last month.
PARTICIPANTS = 1_000
SAMPLES = 3
#: Of so many lines one is refused.
REFUSED_OF = 16
#: Seconds of CPU, of Python and of PostgreSQL together.
MOST_OF_A_FILE, MOST_OF_A_RUN = 5.0, 3.0
MOST_OF_THE_TRACKER, MOST_OF_STATEMENTS = 0.15, 120.0
#: MiB of a process.
MOST_MEMORY = 300
HEADER = f"{'':<34}{'rows':>7}{'Python':>9}{'PostgreSQL':>12}{'statements':>12}"
#: What was paid before counts as paid out, by one payment of an opening run.
PAID_OUT = """
    INSERT INTO payments_paymentrunclaim (item_id, claim_id, amount, returned)
    SELECT %s, guid, amount_paid - paid_earlier, FALSE FROM funding_claim
    WHERE amount_paid <> paid_earlier AND send_payment_to <> 'PlanManager'
"""
KEEP_PAID_OUT = """
    UPDATE funding_claim SET paid_out =
    CASE send_payment_to WHEN 'PlanManager' THEN 0 ELSE amount_paid - paid_earlier END
"""


@dataclass(frozen=True)
class Row:
    """A step about so many lines or payees, and what it may cost at most."""

    title: str
    rows: int
    call: Callable[[], object]
    most: float | None = None

    def measure(self) -> str:
        """The least of some samples, since others use the machine as well; the statements of another run."""
        contender = Contender(self.title, self.undone)
        self.undone()
        costs = [sampled(contender, calls=1) for _ in range(SAMPLES)]
        cost = min(costs, key=lambda each: each.python + each.postgresql)
        with CaptureQueriesContext(connection) as captured:
            self.undone()
        verdict = ""
        if self.most is not None:
            is_kept = cost.python + cost.postgresql <= self.most
            verdict = f"  at most {self.most:g} s: {'kept' if is_kept else 'MISSED'}"
        return (
            f"{self.title:<34}{self.rows:>7,}{cost.python:>9.2f}{cost.postgresql:>12.2f}"
            f"{len(captured):>12,}{verdict}"
        )

    def undone(self) -> None:
        """Do the step in a transaction that stores nothing."""
        clock.reset_now()
        with transaction.atomic():
            self.call()
            transaction.set_rollback(True)


def money(caller: Caller) -> Iterator[str]:
    """A table of seconds of CPU, a step a line; then pages."""
    with connection.cursor() as cursor:
        # The CPU of further processes would be left out.
        cursor.execute("SET max_parallel_workers_per_gather = 0")
        prepare(cursor)
        pool = claimable_claims(cursor)
        browser = signed_in()
        yield f"beside {Claim.objects.count():,} claims, seconds of CPU"
        yield HEADER
        yield page(browser, "page: claims", "funding/claim/").measure()
        for size in SIZES:
            approve(cursor, pool, size)
            with TemporaryDirectory() as folder:
                for row in files_of_a_day(Path(folder), browser, size):
                    yield row.measure()
        give_payees(cursor)
        for row in payment_run(browser):
            yield row.measure()
        month = last_month()
        yield memory_of_statements(month, participants_of(month).count())
        yield page(browser, "page: claims, all of it done", "funding/claim/").measure()


# --- the steps ------------------------------------------------------------------------------------------


def files_of_a_day(folder: Path, browser: Browser, size: int) -> Iterator[Row]:
    """A claim file of so many lines and the answers to it."""
    most = MOST_OF_A_FILE
    yield Row("claim file: page before it", size, partial(visit, browser, "funding/claimfile/add/"), most)
    yield Row("claim file: made", size, create_claim_files, most)
    (file,) = create_claim_files()
    mark_sent(file.pk)
    lines = list(file.lines.all())
    paid = [line for number, line in enumerate(lines) if number % REFUSED_OF]
    results = [
        a_result(line.reference, amount=line.amount)
        if number % REFUSED_OF
        else a_result(line.reference, "ERROR", "C04 Quantity over approved")
        for number, line in enumerate(lines)
    ]
    path = as_csv(folder / "results.csv", results)
    yield Row("results: preview", size, partial(read_and_import_results, path, dry_run=True), most)
    yield Row("results: applied", size, partial(read_and_import_results, path), most)
    read_and_import_results(path)
    day = f"{clock.today():%Y%m%d}"
    payments = [a_payment(line.reference, line.amount, str(line.pk), day) for line in paid]
    path = as_csv(folder / "remittance.csv", payments)
    yield Row("remittance: preview", len(paid), partial(read_and_import_remittance, path, dry_run=True), most)
    yield Row("remittance: applied", len(paid), partial(read_and_import_remittance, path), most)
    read_and_import_remittance(path)


def read_and_import_results(path: Path, dry_run: bool = False) -> None:
    report = import_results(read_results(path)[1], path.name, dry_run)
    assert not report.tallies["unmatched"].count + report.tallies["in_conflict"].count


def read_and_import_remittance(path: Path, dry_run: bool = False) -> None:
    rows = read_remittance(path, clock.today(), "YYYYMMDD")[1]
    report = import_remittance(rows, path.name, sha256_of(path), dry_run)
    assert report.tallies["applied"].count == len(rows)


def payment_run(browser: Browser) -> Iterator[Row]:
    """A run of all payees, made and released with its files."""
    yield page(browser, "page: ready to pay", "payments/paymentrun/ready/")
    maker, releaser = Staff.objects.filter(role__all_permissions=True).order_by("pk")[:2]
    make = partial(create_run, None, clock.today(), maker)
    yield Row("payment run: made", PAYEES, make, MOST_OF_A_RUN)
    run = make()
    assert run.items.count() == PAYEES
    yield Row("payment run: released", PAYEES, partial(release_run, run.pk, releaser), MOST_OF_A_RUN)
    release_run(run.pk, releaser)
    yield page(browser, "page: the run", f"payments/paymentrun/{run.pk}/run/")
    yield page(browser, "page: home", "")
    yield Row("page: the tracker", 1, partial(visit, browser, "funding/claim/tracker/"), MOST_OF_THE_TRACKER)
    month = last_month()
    people = list(participants_of(month).values_list("pk", flat=True)[:PARTICIPANTS])
    yield Row("statements: made", len(people), partial(make_statements, month, people), MOST_OF_STATEMENTS)


def last_month() -> dt.date:
    return (clock.today().replace(day=1) - dt.timedelta(days=1)).replace(day=1)


def memory_of_statements(month: dt.date, people: int) -> str:
    """The most memory that the statements of all take, by the command in a process of its own."""
    command = ["make_statements", "--month", f"{month:%Y-%m}", "--dry-run"]
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "django", *command], stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    peak = used.ru_maxrss / 1024
    verdict = f"  at most {MOST_MEMORY} MiB: {'kept' if peak <= MOST_MEMORY else 'MISSED'}"
    return f"{'statements: memory, MiB':<34}{people:>7,}{peak:>9.0f}{verdict}"


def page(browser: Browser, title: str, address: str) -> Row:
    return Row(title, 1, partial(visit, browser, address))


def visit(browser: Browser, address: str) -> None:
    answer = browser.get(f"/admin/{address}", HTTP_HOST="localhost")
    assert answer.status_code == 200, f"{address}: {answer.status_code}"


def signed_in() -> Browser:
    """A browser of somebody who may see everything."""
    browser = Browser()
    person = Staff.objects.filter(role__all_permissions=True, disable_login_date=None).order_by("pk")[0]
    browser.force_login(person, settings.AUTHENTICATION_BACKENDS[-1])
    return browser


# --- the ground -----------------------------------------------------------------------------------------


def prepare(cursor: Any) -> None:
    """Whatever was paid was paid out, in runs that are gone; the organisation can be claimed for."""
    exports, runs = (
        ("entry", "file", "export"),
        ("bankfile", "paymentrunclaim", "paymentrunitem", "paymentrun"),
    )
    for table in (*(f"accounts{name}" for name in exports), *runs):
        cursor.execute(f"DELETE FROM payments_{table}")
    Subscriber.objects.update(registration_number="4050000001")
    Subscriber.clear_cache()
    Invoice.objects.filter(funding_status="Approved").update(funding_status="AwaitingStaffApproval")
    run = PaymentRun(number=1, day=clock.today(), status=RunStatus.OPENING)
    run.save()
    client = Client.objects.order_by("pk")[0]
    item = PaymentRunItem(run=run, position=1, client=client, amount=Decimal(1), reference="PAID BEFORE")
    item.save()
    cursor.execute(PAID_OUT, [item.pk])
    cursor.execute(KEEP_PAID_OUT)
    cursor.execute("VACUUM ANALYZE")


def claimable_claims(cursor: Any) -> list[tuple[UUID, int]]:
    """Claims that a file takes, each with the number of its lines; no claim is approved any more."""
    approved = list(
        Claim.objects.filter(funding_status="Approved", archive_date=None)
        .order_by("claim_number")
        .values_list("pk", flat=True)
    )
    plan = plan_claim_files(keys={Claim: approved[: 2 * sum(SIZES)], Invoice: []})
    set_status(cursor, approved, "AwaitingStaffApproval")
    return [(bill.key, len(bill.lines)) for bill in plan.bills]


def approve(cursor: Any, pool: list[tuple[UUID, int]], size: int) -> None:
    """Take claims of so many lines from the pool, and approve them."""
    chosen: list[UUID] = []
    while size:
        place = next(at for at, (_, lines) in enumerate(pool) if lines <= size)
        key, lines = pool.pop(place)
        chosen.append(key)
        size -= lines
    set_status(cursor, chosen, "Approved")
    cursor.execute("UPDATE funding_claim SET send_payment_to = 'Provider' WHERE guid = ANY(%s)", [chosen])


def set_status(cursor: Any, keys: list[UUID], status: str) -> None:
    cursor.execute("UPDATE funding_claim SET funding_status = %s WHERE guid = ANY(%s)", [status, keys])


def give_payees(cursor: Any) -> None:
    """Let what is ready be of so many organisations, each with an account that was confirmed."""
    confirmer = Staff.objects.order_by("pk")[0]
    BankAccount.objects.update(archive_date=clock.now())
    payees = list(Client.objects.filter(archive_date=None).order_by("pk")[:PAYEES])
    BankAccount.objects.bulk_create(
        BankAccount(
            client=payee,
            bsb="999-100",
            account_number=str(number),
            account_name=f"Payee {number}",
            confirmed_at=clock.now(),
            confirmed_by=confirmer,
            confirmed_for=payee.pk,
            confirmation="by telephone",
        )
        for number, payee in enumerate(payees, 10_000_000)
    )
    pairs = enumerate(open_claims().order_by("pk").values_list("pk", flat=True))
    cursor.executemany(
        "UPDATE funding_claim SET provider_id = %s WHERE guid = %s",
        [(payees[number % PAYEES].pk, key) for number, key in pairs],
    )
    cursor.execute("VACUUM ANALYZE")
