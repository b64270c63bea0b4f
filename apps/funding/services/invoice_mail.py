"""Invoices to clients by mail: one becomes *Sent* when the server of mail has taken it."""

from collections.abc import Iterable, Sequence
from functools import partial
from uuid import UUID

from django.core.mail import EmailMessage
from django.db import transaction
from django.urls import reverse
from django_tasks import task

from apps.base.batched_queries import AnyOf
from apps.base.errors import system_reason
from apps.core.caseload import is_visible
from apps.core.history import Author
from apps.core.mailing import mail_once
from apps.core.models import Change, Consent, Notice, Subscriber
from apps.core.notices import write_notices
from apps.core.read_log import log_shown
from apps.core.task_queue import task_author
from apps.funding.models import Invoice
from apps.funding.services.transitions import (
    RefusedTransition,
    TransitionResult,
    apply_transition,
    find_transition_refusals,
)
from apps.funding.validation.possible_transitions import missing_permission
from apps.funding.validation.transitions import TransitionName, transition_named
from apps.people.models import Contact, Staff

SEND = TransitionName.SEND


@transaction.atomic
def send_invoices(keys: Iterable[UUID], staff: Staff | None) -> TransitionResult:
    """Let a worker mail invoices; those that cannot be mailed are refused, each with the reason."""
    wanted = list(keys)
    found = Invoice.objects.filter(AnyOf("pk", wanted)).select_related("contact")
    invoices = sorted(found, key=lambda each: wanted.index(each.pk))
    problems = find_problems(invoices, staff)
    result = TransitionResult()
    for invoice in invoices:
        if problem := problems.get(invoice.pk):
            result.refused.append(RefusedTransition(invoice.pk, str(invoice), problem))
        else:
            mail_invoice.enqueue(str(invoice.pk), str(staff.pk) if staff else None, 0)
            result.done.append(invoice.pk)
    return result


def find_problems(invoices: Sequence[Invoice], staff: Staff | None) -> dict[UUID, str]:
    """Why invoices cannot be mailed, by key; their participants are loaded."""
    if missing := missing_permission(transition_named(SEND), staff):
        return {each.pk: f"Your role lacks the permission to {missing}." for each in invoices}
    unmailed = {each.pk: problem for each in invoices if (problem := mail_problem(each.contact))}
    return unmailed | find_transition_refusals(Invoice, invoices, SEND, staff)


def mail_problem(contact: Contact) -> str | None:
    """Why a participant cannot be written to by mail."""
    if contact.accepts_email_contact != Consent.YES:
        return f"{contact} does not accept email."
    return None if contact.email_address else f"{contact} has no email address."


@task()
def mail_invoice(key: str, staff: str | None, failures: int) -> None:
    """Mail an invoice, unless that was done; a server that fails is asked again later."""
    person = Staff.objects.filter(pk=staff).first() if staff else None
    with task_author(Author(Change.Channel.BACK_OFFICE, person.pk if person else None)):
        send, give_up = partial(send_unless_sent, UUID(key), person), partial(note_refusal, UUID(key), person)
        mail_once(mail_invoice, (key, staff), failures, send, give_up)


def send_unless_sent(key: UUID, staff: Staff | None) -> None:
    """Send, with the row locked, then set it *Sent*: nobody waits for budgets while the server answers."""
    # Imported with the first PDF: reportlab is a twelfth of a worker's start.
    from apps.funding.invoice_pdf import invoices_pdf

    rows = Invoice.objects.select_for_update(of=("self",)).select_related("contact")
    invoice = rows.get(pk=key)
    if find_problems([invoice], staff) or (staff is not None and not is_visible(staff, invoice)):
        return  # sent by another task, or changed meanwhile
    organisation = Subscriber.current()
    message = EmailMessage(
        subject=" ".join(f"{organisation.name}: invoice {invoice}".split()),
        body=f"The invoice over {organisation.currency} {invoice.total:,.2f} is in the attached file.\n\n"
        f"{organisation.name}\n{organisation.invoice_sender}".rstrip(),
        to=[invoice.contact.email_address or ""],
    )
    message.attach(f"{invoice}.pdf", invoices_pdf([invoice]), "application/pdf")
    message.send()
    apply_transition(Invoice, [key], SEND, staff)
    log_shown("Export", {Invoice: [key]}, "mail")


def note_refusal(key: UUID, staff: Staff | None, error: OSError) -> None:
    """Let the person know that the server did not take an invoice, which stays as it is."""
    if staff is None:
        return
    invoice = Invoice.objects.select_related("contact").get(pk=key)
    text = f"{invoice} was not mailed to {invoice.contact}: {' '.join(system_reason(error).split())}"
    address = reverse("admin:funding_invoice_change", args=[key])
    write_notices([Notice(staff_id=staff.pk, kind=Notice.Kind.FINISHED, text=text, url=address)])
