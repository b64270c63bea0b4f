"""Remittance advice by mail: once for each payment of a released run, however often it is tried."""

from functools import partial
from uuid import UUID

from django.core.mail import EmailMessage
from django.db import transaction
from django.utils.formats import date_format
from django_tasks import task

from apps.base import clock
from apps.base.errors import Refusal
from apps.core import history
from apps.core.mailing import author_may, mail_once
from apps.core.models import Change, Subscriber
from apps.core.read_log import log_shown
from apps.core.task_queue import task_author
from apps.payments.choices import RunStatus
from apps.payments.models import PaymentRunItem
from apps.people.models import Client, Contact


def payee_email(payee: Client | Contact) -> str | None:
    """The address that advice is sent to: of an organisation, its key contact's."""
    contact = payee.key_contact if isinstance(payee, Client) else payee
    return contact.email_address if contact is not None else None


def items_without_advice(run: UUID) -> list[PaymentRunItem]:
    """The payments of a released run whose advice was not sent, with the names and addresses of payees."""
    items = PaymentRunItem.objects.filter(run=run, run__status=RunStatus.RELEASED, advice_sent_at=None)
    items = items.filter(returned_at=None).select_related("client__key_contact", "contact")
    of_contacts = ("first_name", "last_name", "primary_email", "secondary_email")
    return list(
        items.only(
            "client__business_name",
            *(f"client__key_contact__{column}" for column in of_contacts),
            *(f"contact__{column}" for column in of_contacts),
        )
    )


@transaction.atomic
def send_advice(run: UUID) -> int:
    """Let a worker mail what was not sent yet, to payees with an email address; how many that are."""
    waiting = [each for each in items_without_advice(run) if payee_email(each.payee)]
    if not waiting:
        raise Refusal("No remittance advice of this run is to be sent.")
    staff = history.author().staff_id
    for each in waiting:
        mail_advice.enqueue(each.pk, str(staff) if staff else None, 0)
    return len(waiting)


@task()
def mail_advice(key: int, staff: str | None, failures: int) -> None:
    """Mail the advice of one payment, unless that was done; a server that fails is asked again later."""
    with task_author(history.Author(Change.Channel.BACK_OFFICE, UUID(staff) if staff else None)):
        mail_once(mail_advice, (key, staff), failures, partial(send_advice_once, key))


def send_advice_once(key: int) -> None:
    """Send, with the row locked: of two tasks the second finds that it was sent."""
    # Imported with the first PDF: reportlab is a twelfth of a worker's start.
    from apps.payments.remittance_pdf import advice_pdf

    rows = PaymentRunItem.objects.select_for_update(of=("self",))
    item = rows.select_related("run", "client__key_contact", "contact").get(pk=key)
    address = payee_email(item.payee)
    if item.advice_sent_at is not None or item.returned_at is not None or address is None:
        return
    if not author_may("payments.change_paymentrun", item.run):
        return
    organisation = Subscriber.current()
    day = date_format(item.run.day, "j M Y")
    message = EmailMessage(
        subject=" ".join(f"{organisation.name}: remittance advice of {day}".split()),
        body=f"We pay {organisation.currency} {item.amount:,.2f} on {day}, with the reference"
        f" {item.reference}.\n\nThe invoices are in the attached file.",
        to=[address],
    )
    message.attach("remittance-advice.pdf", advice_pdf(item), "application/pdf")
    item.advice_sent_at = clock.now()
    item.save(update_fields=["advice_sent_at"])
    message.send()
    log_shown("Export", {type(item.payee): [item.payee.pk]}, "remittance advice")
