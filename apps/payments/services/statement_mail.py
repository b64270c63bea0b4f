"""Statements by mail: to whom a participant consented, each once."""

import datetime as dt
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import partial
from typing import NamedTuple
from uuid import UUID

from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import QuerySet
from django_tasks import task

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.errors import Refusal, system_reason
from apps.core import history
from apps.core.mailing import author_may, mail_once
from apps.core.models import Change, Consent, Subscriber
from apps.core.read_log import log_shown
from apps.core.task_queue import task_author
from apps.payments.choices import StatementRecipient
from apps.payments.models import Statement, StatementConsent, month_name
from apps.people.models import Contact

ERROR_LENGTH = 300


class Obstacle(Enum):
    """Why a statement cannot be sent by mail, as people read it."""

    NO_CONSENT = "No consent to statements by mail is recorded"
    NO_REPRESENTATIVE = "They are to go to a representative, and none is named"
    ARCHIVED = "The person is archived"
    NO_MAIL = "The person does not accept email"
    NO_ADDRESS = "The person has no email address"


class Recipient(NamedTuple):
    """Who gets a participant's statements by mail, or why nobody does."""

    person: Contact | None
    obstacle: Obstacle | None


def load_consents(contacts: Iterable[UUID]) -> Mapping[UUID, StatementConsent]:
    """The consents that are not withdrawn, by participant."""
    rows = StatementConsent.objects.filter(AnyOf("contact", contacts), archive_date=None)
    return {each.contact_id: each for each in rows}


def recipient_of(contact: Contact, consent: StatementConsent | None) -> Recipient:
    """To whom a participant's statements go; their ``representative`` is loaded."""
    if consent is None:
        return Recipient(None, Obstacle.NO_CONSENT)
    is_own = consent.recipient == StatementRecipient.PARTICIPANT
    person = contact if is_own else contact.representative
    if person is None:
        return Recipient(None, Obstacle.NO_REPRESENTATIVE)
    if person.is_archived:
        return Recipient(person, Obstacle.ARCHIVED)
    if person.accepts_email_contact != Consent.YES:
        return Recipient(person, Obstacle.NO_MAIL)
    return Recipient(person, None if person.email_address else Obstacle.NO_ADDRESS)


def unsent_statements(month: dt.date) -> QuerySet[Statement]:
    """The statements of a month that nobody was sent, without their documents."""
    rows = Statement.objects.filter(month=month, is_replaced=False, sent_at=None, content__isnull=False)
    return rows.defer("content").select_related("contact__representative")


def find_recipients(statements: Iterable[Statement]) -> dict[UUID, Recipient]:
    """Who gets each of these statements, by its key; two statements of SQL at most."""
    rows = list(statements)
    consents = load_consents({each.contact_id for each in rows})
    return {each.pk: recipient_of(each.contact, consents.get(each.contact_id)) for each in rows}


@transaction.atomic
def send_statement(key: UUID) -> None:
    """Let a worker mail a statement; ``Refusal`` with the reason when it cannot be sent."""
    rows = Statement.objects.filter(pk=key).defer("content").select_related("contact__representative")
    statement = rows.get()
    obstacle = find_recipients([statement])[key].obstacle
    if problem := sent_already(statement) or (f"{obstacle.value}." if obstacle else None):
        raise Refusal(problem)
    enqueue_mail(key)


def sent_already(statement: Statement) -> str | None:
    if statement.is_replaced:
        return "A corrected one took its place: send that one."
    return "It was sent already." if statement.sent_at is not None else None


def enqueue_mail(key: UUID) -> None:
    staff = history.author().staff_id
    mail_statement.enqueue(str(key), str(staff) if staff else None, 0)


@task()
def mail_statement(key: str, staff: str | None, failures: int) -> None:
    """Mail a statement, unless that was done; a server that fails is asked again later."""
    with task_author(history.Author(Change.Channel.BACK_OFFICE, UUID(staff) if staff else None)):
        send = partial(send_statement_once, UUID(key))
        mail_once(mail_statement, (key, staff), failures, send, partial(note_error, UUID(key)))


def send_statement_once(key: UUID) -> None:
    """Send, with the row locked: of two tasks the second finds that it was sent."""
    rows = Statement.objects.select_for_update(of=("self",)).select_related("contact__representative")
    statement = rows.get(pk=key)
    person, obstacle = find_recipients([statement])[key]
    # A consent may be withdrawn meanwhile, a corrected statement made, the person erased.
    if sent_already(statement) or obstacle or person is None or statement.content is None:
        return
    if not author_may("payments.send_statement", statement):
        return
    organisation, month = Subscriber.current(), month_name(statement.month)
    message = EmailMessage(
        subject=" ".join(f"{organisation.name}: your statement for {month}".split()),
        body=f"The attached file says what was spent of the plan in {month}, and what is left of it.\n\n"
        f"{organisation.name}\n{organisation.invoice_sender}".rstrip(),
        to=[person.email_address or ""],
    )
    message.attach(f"statement-{statement.month:%Y-%m}.pdf", bytes(statement.content), "application/pdf")
    mark_sent(statement, person)
    message.send()
    log_shown("Export", {Statement: [statement.pk], Contact: [person.pk]}, "statement")


def mark_sent(statement: Statement, person: Contact | None) -> None:
    """Note to whom it was sent, and when."""
    statement.sent_at, statement.mail_error = clock.now(), None
    statement.sent_to = person.email_address if person is not None else None
    statement.save(update_fields=["sent_at", "sent_to", "mail_error"])


@transaction.atomic
def note_error(key: UUID, error: OSError) -> None:
    """Note why the server did not take a statement: its page and that of the month say so."""
    statement = Statement.objects.select_for_update(of=("self",)).defer("content").get(pk=key)
    statement.mail_error = " ".join(system_reason(error).split())[:ERROR_LENGTH] or type(error).__name__
    statement.save(update_fields=["mail_error"])
