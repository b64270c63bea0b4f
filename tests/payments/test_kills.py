"""Every command and task about money is killed around each of its commits: never half, and done again.

The processes are real ones, on a database of their own.
"""

import io

import pytest
from django.core.management import CommandError, call_command

from apps.base import clock
from apps.base.errors import Refusal
from apps.core.file_import_kinds import import_kinds
from apps.core.file_imports import create_file_import, start
from apps.core.models import FileImport
from apps.funding.models import Claim, ClaimFile, ClaimResult, RemittanceLine
from apps.payments.models import BankFile, PaymentRun, PaymentRunItem
from apps.payments.services.remittance import send_advice
from apps.payments.services.runs import create_run, release_run
from tests.funding.answer_files import a_payment, a_result, as_csv
from tests.funding.claim_files import claimed_lines
from tests.funding.claimable import TODAY, a_claimable_claim, a_claimable_invoice, save_settings
from tests.kills import kill_everywhere, refusals_ignored
from tests.operations.databases import all_rows, default_database
from tests.payments.bank_returns import returns_of
from tests.payments.builders import a_paid_claim, a_releaser, an_account, payment_settings
from tests.people.records import a_client, a_contact
from tests.tasks import run_tasks

#: Tables of what a worker is at, which a kill may leave anywhere.
OF_WORKERS = ("django_tasks", "core_fileimport", "core_notice")


@pytest.fixture(autouse=True)
def office(databases, at):
    """A database of its own, on a day of March."""
    at(TODAY)
    with default_database(databases.create()):
        save_settings()
        payment_settings(payments_per_file=1)
        yield


def records():
    """Every row of every table, but for those of workers."""
    return {name: rows for name, rows in all_rows().items() if not name.startswith(OF_WORKERS)}


def command(*words):
    """A command that is killed and run again; there may be nothing left to do."""
    return refusals_ignored(lambda: call_command(*map(str, words), stdout=io.StringIO()), CommandError)


@pytest.fixture
def lines():
    """Claims and an invoice of two lines in a file that was sent."""
    bills = [a_claimable_claim(2, funding_status="AgencyClaimed") for _ in range(2)]
    return claimed_lines(*bills, a_claimable_invoice(2, funding_status="AgencyClaimed"))


@pytest.fixture
def run():
    """A released run of two payments, to payees with an email address."""
    for number in range(2):
        provider = a_client(key_contact=a_contact(primary_email=f"payee{number}@example.org"))
        an_account(provider)
        a_paid_claim("20.00", provider=provider)
    return release_run(create_run(None, clock.today(), None).pk, a_releaser())


# --- commands -------------------------------------------------------------------------------------------


def test_export_claim_file(tmp_path):
    for _ in range(2):
        a_claimable_claim(2)
    kills = kill_everywhere(command("export_claim_file", "--out", tmp_path), records)
    file = ClaimFile.objects.get()
    assert kills >= 2
    assert set(Claim.objects.values_list("funding_status", flat=True)) == {"AgencyClaimed"}
    assert (file.number, file.line_count, file.lines.count()) == (1, 4, 4)


def test_import_results(lines, tmp_path):
    answers = [a_result(line.reference, "ERROR", "C04") for line in lines[:3]]
    path = as_csv(tmp_path / "results.csv", answers + [a_result(line.reference) for line in lines[3:]])
    assert kill_everywhere(command("import_results", path), records) >= 2
    assert ClaimResult.objects.count() == 6
    assert Claim.objects.filter(funding_status="PaymentProviderRejected").count() == 1


def test_import_remittances(lines, tmp_path):
    rows = [a_payment(each.reference, "140.00", str(at), "20260228") for at, each in enumerate(lines[:5])]
    path = as_csv(tmp_path / "paid.csv", rows)
    assert kill_everywhere(command("import_remittances", path), records) >= 2
    assert RemittanceLine.objects.filter(is_applied=True).count() == 5
    assert set(Claim.objects.values_list("funding_status", flat=True)) == {"AgencyFullyPaid"}


def test_make_payment_run():
    for _ in range(2):
        provider = a_client()
        an_account(provider)
        a_paid_claim("20.00", provider=provider)
    assert kill_everywhere(command("make_payment_run"), records) >= 2
    assert (PaymentRun.objects.get().total, PaymentRunItem.objects.count()) == (40, 2)


def test_release_of_a_run():
    for _ in range(2):
        provider = a_client()
        an_account(provider)
        a_paid_claim("20.00", provider=provider)
    run, who = create_run(None, clock.today(), None), a_releaser()
    assert kill_everywhere(refusals_ignored(lambda: release_run(run.pk, who), Refusal), records) >= 2
    assert BankFile.objects.count() == 2


def test_import_returns(run, tmp_path):
    path = tmp_path / "returns.txt"
    path.write_bytes(returns_of(run))
    assert kill_everywhere(command("import_returns", path), records) >= 2
    assert PaymentRunItem.objects.filter(returned_at=None).count() == 0


# --- tasks ----------------------------------------------------------------------------------------------


def test_sending_of_remittance_advice(run, mail_server):
    """Each is sent; again only by a worker that was killed between the server's answer and the commit."""
    items = PaymentRunItem.objects.filter(run=run)

    def send():
        if items.filter(advice_sent_at=None).exists():
            send_advice(run.pk)
        run_tasks()

    is_untouched = lambda: items.filter(advice_sent_at=None).count() == 0  # noqa: E731
    assert kill_everywhere(send, is_untouched, within_transactions=True) > 10
    assert {to for recipients, _ in mail_server.received for to in recipients} == {
        "payee0@example.org",
        "payee1@example.org",
    }


@pytest.mark.parametrize("kind", ["results", "remittances", "returned-payments"])
def test_an_import_of_the_back_office(kind, run, lines, tmp_path):
    rows = {
        "results": [a_result(line.reference, "ERROR", "C04") for line in lines],
        "remittances": [
            a_payment(each.reference, "140.00", str(at), "20260228") for at, each in enumerate(lines)
        ],
    }
    content = as_csv(tmp_path / "answers.csv", rows[kind]).read_bytes() if kind in rows else returns_of(run)
    name = "answers.csv" if kind in rows else "returns.txt"
    (found,) = (each for each in import_kinds() if each.name == kind)
    key = create_file_import(found, name, content, None).pk

    def work():
        run_tasks()
        record = FileImport.objects.get(pk=key)
        if record.status == "Checked":
            start(record, FileImport.Status.IMPORTING)
            run_tasks()

    assert kill_everywhere(work, records) >= 8
    assert FileImport.objects.get(pk=key).status == "Imported"
