"""The commands of payments, and what ``./run verify`` finds of them."""

import datetime as dt
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from apps.base import clock
from apps.funding.models import Claim
from apps.payments.models import BankFile, PaymentRun, PaymentRunClaim, PaymentRunItem
from apps.payments.services.invariants import find_payment_faults
from apps.payments.services.runs import create_run, release_run
from tests.payments.builders import a_paid_claim, a_releaser, an_account, payment_settings
from tests.people.records import a_client

pytestmark = pytest.mark.django_db


@pytest.fixture
def claim():
    """A claim that is ready to be paid to a confirmed account."""
    payment_settings()
    provider = a_client(business_name="Harbour Lights")
    an_account(provider)
    return a_paid_claim("20.00", provider=provider)


def run(*arguments, **options):
    output = StringIO()
    call_command(*arguments, stdout=output, **options)
    return output.getvalue().splitlines()


def test_a_run_is_made_by_command_and_released_by_nobody(claim):
    assert run("make_payment_run", dry_run=True) == [
        f"A payment run would be made: 1 payment, 20.00, on {clock.today()}."
    ]
    assert not PaymentRun.objects.exists()
    day = clock.today() + dt.timedelta(days=1)
    assert run("make_payment_run", day=day) == [
        f"Payment run 1 is made, to be released: 1 payment, 20.00, on {day}."
    ]
    made = PaymentRun.objects.get()
    assert (made.status, made.made_by) == ("Draft", None)
    with pytest.raises(CommandError, match="Nothing is ready"):
        run("make_payment_run")


def test_returned_payments_are_imported_by_command_once(claim, tmp_path):
    made = release_run(create_run(None, clock.today(), None).pk, a_releaser())
    line = bytes(made.bank_files.get().content).split(b"\r\n")[1]
    path = tmp_path / "returns.aba"
    path.write_bytes(b"2" + line[1:17] + b"3" + line[18:112] + b"24301500\r\n")
    assert run("import_returns", path) == [
        "Payment run 1: 20.00 to Harbour Lights came back.",
        "1 came back, 0 known already, 0 of nobody.",
    ]
    assert run("import_returns", path, path) == ["0 came back, 2 known already, 0 of nobody."]
    path.write_bytes(b"2" + line[1:17] + b"3" + line[18:29] + b"7" + line[30:112] + b"24301500\r\n")
    reference = line[62:80].decode().rstrip()
    assert run("import_returns", path)[0] == (
        f"20.07 with the reference {reference} (account closed) is no payment made here."
    )
    path.write_bytes(b"x")
    with pytest.raises(CommandError, match="no returned payment"):
        run("import_returns", path)


# --- what verify finds ----------------------------------------------------------------------------------


def test_a_run_as_it_was_made_has_no_fault(claim):
    release_run(create_run(None, clock.today(), None).pk, a_releaser())
    assert list(find_payment_faults()) == []


def test_each_fault_of_a_run_is_found(claim):
    made = release_run(create_run(None, clock.today(), None).pk, a_releaser())

    def faults_after(model, **values):
        """The faults after a change of the only row, which is put back."""
        row = model.objects.get()
        before = {name: getattr(row, name) for name in values}
        model.objects.update(**values)
        found = list(find_payment_faults())
        model.objects.update(**before)
        return found

    content = bytes(made.bank_files.get().content)
    assert faults_after(BankFile, content=content.replace(b"2000", b"3000")) == [
        "bank file run-1-1.aba: it was changed: its SHA-256 differs"
    ]
    assert faults_after(BankFile, total=Decimal("21.00")) == [
        "bank file run-1-1.aba: 21.00, its payments come to 20.00",
        "Payment run 1: 20.00, its files come to 21.00",
    ]
    assert faults_after(PaymentRun, total=Decimal("21.00")) == [
        "Payment run 1: 21.00, its payments come to 20.00",
        "Payment run 1: 21.00, its files come to 20.00",
    ]
    assert faults_after(PaymentRunItem, amount=Decimal("19.00")) == [
        "Payment run 1: 20.00, its payments come to 19.00",
        "Payment run 1, payment 1: 19.00, its claims come to 20.00",
    ]
    assert faults_after(PaymentRunClaim, amount=Decimal("25.00")) == [
        "Payment run 1, payment 1: 20.00, its claims come to 25.00",
        f"claim {claim}: 20.00 paid out, runs have 25.00 of it",
    ]
    assert faults_after(Claim, paid_out=Decimal("25.00")) == [
        f"claim {claim}: 25.00 paid out, runs have 20.00 of it",
        f"claim {claim}: 25.00 were paid out, 0.00 were ever paid of it",
    ]
