"""Invoices to clients by mail: one is *Sent* when the server has taken it, else it stays and is named."""

import pytest
from django_tasks_db.models import DBTaskResult

from apps.core.models import Notice, PersonalDataRead
from apps.funding.models import Invoice
from apps.funding.services.invoice_mail import mail_invoice, send_invoices
from tests.funding.admin_forms import INVOICES
from tests.funding.builders import an_invoice
from tests.people.lost_rights import lose_rights, see_some
from tests.people.records import a_contact, a_role, a_staff_member, an_administrator
from tests.tasks import NotStored, let_retries_be_due, run_tasks, store_one_task

pytestmark = pytest.mark.django_db

EMAIL = "mia@example.org"


def an_approved_invoice(email=EMAIL, accepts="Yes", **columns):
    contact = a_contact(primary_email=email, accepts_email_contact=accepts)
    usual = {"invoice_claim_type": "InvoiceToClient", "funding_status": "Approved"}
    return an_invoice(contact=contact, **{**usual, **columns})


def status(invoice):
    return Invoice.objects.get(pk=invoice.pk).funding_status


def test_it_is_sent_once_the_server_has_taken_it_and_only_once(mail_server):
    staff, invoice = an_administrator(), an_approved_invoice(invoice_number="INV-7")
    for _ in range(2):
        assert send_invoices([invoice.pk], staff).done == [invoice.pk]
    assert status(invoice) == "Approved"
    run_tasks()
    ((to, message),) = mail_server.received
    assert (to, status(invoice)) == ([EMAIL], "Sent")
    (file,) = message.iter_attachments()
    assert file.get_filename() == "INV-7.pdf"
    assert file.get_content().startswith(b"%PDF-")
    assert invoice.moves.get().staff == staff
    read = PersonalDataRead.objects.get(record_type="funding.invoice", kind="Export")
    assert (read.staff, read.record_keys) == (staff, invoice.pk.bytes)
    (refused,) = send_invoices([invoice.pk], staff).refused
    assert "Sent" in refused.message or "sent" in refused.message


def test_a_server_that_refuses_once_is_asked_again_and_it_stays_approved_until_then(mail_server):
    invoice = an_approved_invoice()
    mail_server.refusals = 1
    send_invoices([invoice.pk], None)
    run_tasks()
    assert (mail_server.received, status(invoice)) == ([], "Approved")
    let_retries_be_due()
    run_tasks()
    assert (len(mail_server.received), status(invoice)) == (1, "Sent")


def test_a_server_that_never_takes_it_is_told_to_who_sent_it(mail_server):
    staff, invoice = an_administrator(), an_approved_invoice()
    mail_server.refusals = 100
    send_invoices([invoice.pk], staff)
    for _ in range(5):
        run_tasks()
        let_retries_be_due()
    assert status(invoice) == "Approved"
    notice = Notice.objects.get(staff=staff)
    assert notice.text.startswith(f"{invoice} was not mailed to {invoice.contact}")
    assert "try again later" in notice.text


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"email": None}, "has no email address"),
        ({"accepts": "No"}, "does not accept email"),
        ({"invoice_claim_type": "InvoiceToAgency"}, "agency"),
        ({"funding_status": "AwaitingStaffApproval"}, "awaiting"),
    ],
)
def test_what_cannot_be_mailed_is_named_and_stays(mail_server, columns, reason):
    invoice = an_approved_invoice(**columns)
    result = send_invoices([invoice.pk], an_administrator())
    assert not result.done
    (refused,) = result.refused
    assert reason in refused.message.lower()
    mail_invoice.call(str(invoice.pk), None, 0)
    run_tasks()
    assert mail_server.received == []


def test_when_the_task_of_one_cannot_be_stored_there_is_none_of_the_others(monkeypatch):
    invoices = [an_approved_invoice().pk, an_approved_invoice().pk]
    store_one_task(monkeypatch)
    with pytest.raises(NotStored):
        send_invoices(invoices, an_administrator())
    assert not DBTaskResult.objects.exists()


@pytest.mark.parametrize("change", [lose_rights, see_some])
def test_what_somebody_had_sent_who_may_no_longer_is_not_sent(mail_server, change):
    staff, invoice = an_administrator(), an_approved_invoice()
    send_invoices([invoice.pk], staff)
    change(staff)
    run_tasks()
    assert (mail_server.received, status(invoice)) == ([], "Approved")


def test_it_needs_the_permission_to_send(mail_server):
    staff = a_staff_member(role=a_role("funding.administer_funding_invoices"))
    (refused,) = send_invoices([an_approved_invoice().pk], staff).refused
    assert "lacks the permission" in refused.message


def test_pages_send_one_or_those_that_are_selected(mail_server, client):
    client.force_login(an_administrator())
    first, second, third = an_approved_invoice(), an_approved_invoice(), an_approved_invoice(email=None)
    shown = client.get(f"{INVOICES}{first.pk}/mail/").content.decode()
    assert EMAIL in shown
    client.post(f"{INVOICES}{first.pk}/mail/")
    assert "has no email address" in client.get(f"{INVOICES}{third.pk}/mail/").content.decode()
    keys = [str(second.pk), str(third.pk)]
    answer = client.post(INVOICES, {"action": "mail_selected", "index": "0", "_selected_action": keys})
    assert "has no email address" in answer.content.decode()
    run_tasks()
    assert [status(each) for each in (first, second, third)] == ["Sent", "Sent", "Approved"]
    assert f"{first.pk}/mail/" not in client.get(f"{INVOICES}{first.pk}/change/").content.decode()
    assert f"{third.pk}/mail/" in client.get(f"{INVOICES}{third.pk}/change/").content.decode()
