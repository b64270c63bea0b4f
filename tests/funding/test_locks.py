"""Who comes second sees what the first has done: each test fails without the lock that its call takes."""

import io

import pytest
from django.core.management import call_command
from django.db import connection

from apps.base import clock
from apps.base.drafts import ValidationFailed
from apps.funding.models import Claim, Invoice, ProviderInvoice
from apps.funding.services.claim_files import erase_scheme_numbers
from apps.funding.services.claim_sums import find_claim_sum_faults, recount_claim_sums
from apps.funding.services.invariants import find_money_faults
from apps.funding.services.invoice_mail import mail_invoice
from apps.funding.services.provider_invoices import archive_provider_invoices
from apps.funding.services.transitions import apply_transition
from tests.api.caller import Caller, an_application
from tests.funding.builders import a_claim, a_claim_file, a_price_book, a_provider_invoice
from tests.funding.guide_files import as_csv, last_year
from tests.funding.test_invoice_mail import an_approved_invoice
from tests.funding.test_recurring import D, a_recurring_invoice, run
from tests.people.records import an_administrator
from tests.races import call_during

pytestmark = [
    pytest.mark.postgres("SQLite has one writer and its test database one connection"),
    pytest.mark.django_db(transaction=True),
]


def test_two_tasks_at_once_send_an_invoice_once(mail_server):
    invoice = an_approved_invoice()
    call_during(*[lambda: mail_invoice.call(str(invoice.pk), None, 0)] * 2)
    assert len(mail_server.received) == 1


def test_a_provider_invoice_that_is_claimed_meanwhile_is_not_archived():
    invoice = a_provider_invoice()
    with pytest.raises(ValidationFailed):
        call_during(
            lambda: a_claim(provider_invoice=invoice),
            lambda: archive_provider_invoices(ProviderInvoice.objects.filter(pk=invoice.pk)),
        )


def test_a_recurring_invoice_that_is_archived_meanwhile_makes_no_other():
    invoice = a_recurring_invoice()
    archive = lambda: apply_transition(Invoice, [invoice.pk], "archive")  # noqa: E731
    assert call_during(archive, lambda: run(D(2026, 12, 1))) == []


def test_a_check_of_the_money_waits_for_a_payment():
    claim = a_claim(funding_status="AgencyClaimed")
    pay = lambda: apply_transition(Claim, [claim.pk], "pay")  # noqa: E731
    assert call_during(pay, lambda: list(find_money_faults())) == []


def test_of_two_recounts_of_the_sums_of_claims_the_second_adds_nothing():
    a_claim()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE funding_claimsum_change SET number = number + 1")
    assert call_during(recount_claim_sums, recount_claim_sums) == 0
    assert list(find_claim_sum_faults()) == []


def test_of_two_imports_of_a_price_guide_the_second_changes_nothing(tmp_path):
    a_price_book(name="Guide")
    path = str(as_csv(tmp_path / "guide.csv", last_year()))

    def run():
        said = io.StringIO()
        call_command("import_price_guide", path, "--price-book=Guide", stdout=said)
        return said.getvalue()

    assert "0 new, 0 changed" in call_during(run, run)


def test_two_erasures_in_one_claim_file_blank_both_rows():
    file = a_claim_file([a_claim(), a_claim()])
    lines = list(file.lines.order_by("position").values_list("pk", flat=True))
    call_during(*(lambda line=line: erase_scheme_numbers([line]) for line in lines))
    file.refresh_from_db()
    assert bytes(file.content).splitlines()[1:] == [b"405,", b"405,"]


def test_a_decision_about_what_changed_meanwhile_is_refused():
    caller, invoice = Caller(an_application()), a_provider_invoice()
    address = f"providerInvoice/{invoice.pk}"
    etag = caller.get(address)["ETag"]
    body = {"Action": "Approve", "StaffGuid": str(an_administrator().pk)}

    def change():
        clock.reset_now()
        invoice.reference = "Another"
        invoice.save()

    answer = call_during(change, lambda: caller.post(f"{address}/Action", body, If_Match=etag))
    assert answer.status_code == 412
