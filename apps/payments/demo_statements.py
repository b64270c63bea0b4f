"""The demo data of statements: three months of some participants, in every state."""

import datetime as dt
from collections.abc import Sequence
from uuid import UUID

from apps.base import clock
from apps.core import history
from apps.core.demo import Context, draft_of
from apps.funding.models import Claim
from apps.funding.services.transitions import apply_transition
from apps.funding.statuses import ClaimStatus
from apps.payments.choices import StatementRecipient
from apps.payments.drafts import ConsentDraft
from apps.payments.models import Statement, StatementConsent
from apps.payments.services.consents import create_consents
from apps.payments.services.statement_mail import find_recipients, mark_sent, note_error, unsent_statements
from apps.payments.services.statements import make_statements
from apps.people.models import Contact, Staff

#: Statements of so many participants and months.
PARTICIPANTS, MONTHS = 20, 3
#: Of so many participants one has recorded no consent.
WITHOUT_CONSENT = 4
#: What changes the figures of a claim in these statuses.
MOVES = {ClaimStatus.APPROVED: "claim", ClaimStatus.AWAITING_STAFF_APPROVAL: "archive"}


def load_statements(context: Context) -> None:
    """Consents, statements of the last months, a corrected one; those of the last month are not sent yet."""
    claims = Claim.objects.filter(archive_date=None, contact__archive_date=None)
    people = list(dict.fromkeys(claims.order_by("-end_date", "pk").values_list("contact", flat=True)[:2000]))
    contacts = list(Contact.objects.filter(pk__in=people[:PARTICIPANTS]).order_by("creation_date", "pk"))
    keys = [each.pk for each in contacts]
    months = last_months(context.workdays[-1])
    with context.clock_at(months[0], 9):
        record_consents(context, contacts, months[0])
    for month in months:
        day = next(each for each in context.workdays if each > clock.month_end(month))
        with context.clock_at(day, 9):
            make_statements(month, keys)
        if month != months[-1]:
            with context.clock_at(day, 10):
                send_all(month)
    with context.clock_at(context.workdays[-1], 15):
        move_one(months[-1], keys)
        make_statements(months[-1], keys)
        for each in sendable(months[-1])[:1]:
            note_error(each.pk, OSError("550 No such mailbox"))
    context.report(Statement, Statement.objects.count())


def last_months(day: dt.date) -> list[dt.date]:
    """The first days of the last months that are over on a day, the oldest first."""
    return [clock.months_after(day.replace(day=1), -number) for number in range(MONTHS, 0, -1)]


def record_consents(context: Context, contacts: list[Contact], day: dt.date) -> None:
    """Most of them want statements by mail; who has a representative, to that person."""
    drafts = [
        draft_of(
            ConsentDraft,
            StatementConsent,
            contact=contact,
            recipient=StatementRecipient.REPRESENTATIVE.value
            if contact.representative_id
            else StatementRecipient.PARTICIPANT.value,
            since=day,
            note="Service agreement",
        )
        for number, contact in enumerate(contacts, 1)
        if number % WITHOUT_CONSENT
    ]
    staff = context.records[Staff][0]
    with history.as_author(history.author()._replace(staff_id=staff.pk)):
        context.create(StatementConsent, create_consents, drafts)


def sendable(month: dt.date) -> list[Statement]:
    statements = list(unsent_statements(month).order_by("pk"))
    recipients = find_recipients(statements)
    return [each for each in statements if recipients[each.pk].obstacle is None]


def send_all(month: dt.date) -> None:
    """Mark them as sent: demo data mails nobody."""
    statements = sendable(month)
    recipients = find_recipients(statements)
    for each in statements:
        mark_sent(each, recipients[each.pk].person)


def move_one(month: dt.date, contacts: Sequence[UUID]) -> None:
    """Let a claim go on after the statement of its month was made, which is corrected then."""
    claims = Claim.objects.filter(
        contact__in=contacts, archive_date=None, line_items__last_day__range=(month, clock.month_end(month))
    )
    for status, name in MOVES.items():
        claim = claims.filter(funding_status=status).order_by("pk").first()
        if claim is not None and apply_transition(Claim, [claim.pk], name).done:
            return
