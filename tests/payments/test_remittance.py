"""Remittance advice: what a payee is told, and that each is sent once."""

from decimal import Decimal

import pytest
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from apps.base import clock
from apps.base.errors import Refusal
from apps.core import history
from apps.core.models import Subscriber
from apps.core.task_queue import repeat_unfinished_tasks
from apps.funding.models import Claim
from apps.funding.services.transitions import apply_transition
from apps.payments.models import PaymentRunItem
from apps.payments.remittance_pdf import advice_story
from apps.payments.services.remittance import mail_advice, send_advice
from apps.payments.services.returns import mark_returned
from apps.payments.services.runs import create_run, release_run
from tests.funding.test_invoice_pdf import texts
from tests.payments.builders import (
    a_claimed_claim,
    a_paid_claim,
    a_releaser,
    agency_pays,
    an_account,
    payment_settings,
    somebody,
)
from tests.people.lost_rights import lose_login, lose_rights, see_some
from tests.people.records import a_client, a_contact, an_administrator
from tests.tasks import NotStored, let_retries_be_due, run_tasks, store_one_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    """A released run with two payees with an email address, and one without."""
    payment_settings()
    for name, email in (("First", "first@example.org"), ("Second", "second@example.org"), ("Third", None)):
        provider = a_client(business_name=name, key_contact=a_contact(primary_email=email))
        an_account(provider)
        a_paid_claim("20.00", provider=provider, provider_invoice_reference=f"{name}-1")
    return release_run(create_run(None, clock.today(), None).pk, a_releaser())


def test_it_says_what_was_claimed_paid_and_why_not_all():
    payment_settings()
    provider = a_client(business_name="Harbour Lights")
    an_account(provider)
    a_paid_claim(
        "120.00", "100.50", provider=provider, provider_invoice_reference="INV-7", status_reason="Price limit"
    )
    a_paid_claim("5.00", provider=provider, provider_invoice_reference="INV-8")
    run = release_run(create_run(None, clock.today(), None).pk, a_releaser())
    found = list(texts(advice_story(run.items.get(), Subscriber(name="Southern Light"))))
    assert found[found.index("INV-7") :] == [
        *("INV-7", "Price limit", "120.00", "19.50", "100.50"),
        *("INV-8", "5.00", "0.00", "5.00"),
        *("Total", "105.50"),
    ]
    assert "Paid to Harbour Lights" in found


def test_what_is_set_off_has_the_reason_for_which_it_was_taken_back():
    payment_settings()
    provider = a_client()
    an_account(provider)
    claim = agency_pays(a_claimed_claim("50.00", provider=provider, provider_invoice_reference="INV-7"))
    release_run(create_run(None, clock.today(), None).pk, a_releaser())
    taken = {"amounts": {claim.pk: Decimal("10.00")}, "reason": "Credit note CN-7"}
    assert apply_transition(Claim, [claim.pk], "take-back", **taken).done
    assert apply_transition(Claim, [claim.pk], "write-off", reason="Nothing else to do").done
    a_paid_claim("30.00", provider=provider, provider_invoice_reference="INV-8")
    run = release_run(create_run(None, clock.today(), None, set_off=[claim.pk]).pk, a_releaser())
    found = list(texts(advice_story(run.items.get(), Subscriber(name="Southern Light"))))
    row = ["INV-7", "Set off, since it was taken back: Credit note CN-7", "50.00", "10.00", "-10.00"]
    start = found.index("INV-7")
    assert (found[start : start + 5], found[-2:]) == (row, ["Total", "20.00"])


def test_each_payee_with_an_address_gets_one_and_a_second_press_sends_none(run, mail_server):
    assert send_advice(run.pk) == 2
    assert send_advice(run.pk) == 2  # pressed twice, before a worker came
    run_tasks()
    assert sorted(to for to, _ in mail_server.received) == [["first@example.org"], ["second@example.org"]]
    message = mail_server.received[0][1]
    assert "remittance advice" in message["subject"]
    (file,) = message.iter_attachments()
    assert file.get_content().startswith(b"%PDF-")
    with pytest.raises(Refusal, match="No remittance advice"):
        send_advice(run.pk)


def test_when_the_task_of_one_cannot_be_stored_there_is_none_of_the_others(run, monkeypatch):
    store_one_task(monkeypatch)
    with pytest.raises(NotStored):
        send_advice(run.pk)
    assert not DBTaskResult.objects.exists()


def test_a_server_that_refuses_once_is_asked_again(run, mail_server):
    mail_server.refusals = 1
    send_advice(run.pk)
    run_tasks()
    assert len(mail_server.received) == 1
    assert PaymentRunItem.objects.filter(advice_sent_at=None).count() == 2
    let_retries_be_due()
    run_tasks()
    assert sorted(to for to, _ in mail_server.received) == [["first@example.org"], ["second@example.org"]]


def test_a_server_that_never_takes_it_ends_in_a_failed_task_and_another_press_begins_anew(run, mail_server):
    mail_server.refusals = 100
    send_advice(run.pk)
    minutes = []
    for _ in range(5):
        run_tasks()
        waits = DBTaskResult.objects.filter(run_after__gt=timezone.now()).values_list("run_after", flat=True)
        minutes += [round((wait - timezone.now()).total_seconds() / 60) for wait in waits[:1]]
        let_retries_be_due()
    assert minutes == [1, 10, 60, 360]  # as docs/payments.md says
    assert DBTaskResult.objects.failed().count() == 2
    mail_server.refusals = 0
    send_advice(run.pk)
    run_tasks()
    assert len(mail_server.received) == 2


def test_a_task_whose_worker_was_killed_sends_what_it_had_not_sent(run, mail_server):
    """Killed after it had sent, it sends nothing; before, it sends once."""
    send_advice(run.pk)
    item = PaymentRunItem.objects.get(client__business_name="First")
    mail_advice.call(item.pk, None, 0)
    DBTaskResult.objects.update(status="RUNNING", worker_ids=["killed"])
    assert repeat_unfinished_tasks("killed") == 2
    run_tasks()
    assert sorted(to for to, _ in mail_server.received) == [["first@example.org"], ["second@example.org"]]


def test_a_payment_that_came_back_meanwhile_is_not_told(run, mail_server):
    send_advice(run.pk)
    mark_returned(PaymentRunItem.objects.get(client__business_name="First").pk, "closed", None)
    run_tasks()
    assert [to for to, _ in mail_server.received] == [["second@example.org"]]
    with pytest.raises(Refusal, match="No remittance advice"):
        send_advice(run.pk)


@pytest.mark.parametrize("change", [lose_rights, see_some, lose_login])
def test_what_somebody_had_sent_who_may_no_longer_waits_for_another(run, mail_server, change):
    staff = an_administrator()
    with history.as_author(history.Author("Back office", staff.pk)):
        send_advice(run.pk)
    change(staff)
    run_tasks()
    assert mail_server.received == []
    with history.as_author(history.Author("Back office", an_administrator().pk)):
        assert send_advice(run.pk) == 2
    run_tasks()
    assert len(mail_server.received) == 2


def test_a_run_that_is_not_released_is_told_to_nobody():
    payment_settings()
    provider = a_client(key_contact=a_contact(primary_email="a@example.org"))
    an_account(provider)
    a_paid_claim("20.00", provider=provider)
    run = create_run(None, clock.today(), somebody())
    assert run.total == Decimal("20.00")
    with pytest.raises(Refusal, match="No remittance advice"):
        send_advice(run.pk)


def test_the_page_of_a_run_sends_it_and_names_payees_without_an_address(run, mail_server, ada, client):
    address = f"/admin/payments/paymentrun/{run.pk}/"
    shown = client.get(f"{address}run/")
    assert "1 without an email address (Third" in shown.content.decode()
    client.post(f"{address}send-advice/")
    run_tasks()
    assert len(mail_server.received) == 2
    item = run.items.first()
    advice = client.get(f"{address}advice/{item.pk}/")
    assert advice.content.startswith(b"%PDF-")
    assert advice.headers["Content-Disposition"] == (
        f'attachment; filename="remittance-{run.number}-{item.position}.pdf"'
    )
