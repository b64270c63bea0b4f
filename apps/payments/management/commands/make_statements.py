"""Make the statements of a month, and let them be mailed."""

import datetime as dt
from argparse import ArgumentTypeError
from collections import Counter
from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.db.models import Q

from apps.base.errors import Refusal, plural
from apps.core.management.base import ServiceCommand
from apps.core.models import normalised
from apps.payments.models import month_name
from apps.payments.services.statement_mail import enqueue_mail, find_recipients, unsent_statements
from apps.payments.services.statements import make_statements, read_month
from apps.people.merging import find_in_use
from apps.people.models import Contact


class Command(ServiceCommand):
    help = (
        "Makes the statements of a month, a corrected one where its claims changed since. With --send a"
        " worker mails those that a consent is recorded for. A second run makes and sends none twice."
        " Exit status: 0 made, 1 the month is not over or nobody has the code."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--month", metavar="MONTH", type=month_argument, required=True, help="2026-07")
        parser.add_argument(
            "--contact", metavar="CODE", help="only of the participant with this code or number"
        )
        parser.add_argument("--send", action="store_true", help="let a worker mail what was not sent yet")
        parser.add_argument("--dry-run", action="store_true", help="show what would be made, store nothing")

    def handle(
        self,
        *args: object,
        month: dt.date,
        contact: str | None,
        send: bool,
        dry_run: bool,
        **options: object,
    ) -> None:
        contacts = None if contact is None else [find_participant(contact).pk]
        # Stored chunk by chunk, so that a run that breaks off has made what it had made.
        try:
            if dry_run:
                with transaction.atomic():
                    made = make_statements(month, contacts)
                    transaction.set_rollback(True)
            else:
                made = make_statements(month, contacts)
        except Refusal as refused:
            raise CommandError(str(refused)) from None
        verb = "would be made" if dry_run else "made"
        self.stdout.write(
            f"{month_name(month)}: {plural(made.made, 'statement')} {verb}, {made.corrected:,} of them"
            f" corrected; {made.unchanged:,} stay as they are."
        )
        if send and not dry_run:
            self.send(month, contacts)

    def send(self, month: dt.date, contacts: list[UUID] | None) -> None:
        """Enqueue the mail of what can be sent, and count the others by reason."""
        statements = unsent_statements(month).order_by("pk")
        if contacts is not None:
            statements = statements.filter(contact__in=contacts)
        recipients = find_recipients(statements)
        reasons = Counter(each.obstacle.value for each in recipients.values() if each.obstacle)
        keys = [key for key, each in recipients.items() if each.obstacle is None]
        for key in keys:
            enqueue_mail(key)
        self.stdout.write(f"{len(keys):,} will be sent by mail.")
        for reason, count in reasons.items():
            self.stdout.write(f"{reason}: {count:,}")


def month_argument(text: str) -> dt.date:
    try:
        return read_month(text)
    except ValueError:
        raise ArgumentTypeError(f"{text} is no month; write it as 2026-07.") from None


def find_participant(text: str) -> Contact:
    """The contact of that unique code or scheme number."""
    named = Contact.objects.filter(Q(unique_code_key=normalised(text)) | Q(scheme_number=text))
    found = find_in_use(named.select_related("merged_into")[:10])
    if len(found) != 1:
        raise CommandError(f"{'Several contacts have' if found else 'No contact has'} the code {text}.")
    return found[0]
