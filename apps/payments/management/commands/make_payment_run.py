"""Make a payment run of what is ready."""

import datetime as dt

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from apps.base import clock
from apps.base.errors import Refusal, plural
from apps.core.management.arguments import read_day
from apps.core.management.base import ServiceCommand
from apps.payments.services.runs import create_run


class Command(ServiceCommand):
    help = (
        "Makes a payment run of all that is ready for payees with a confirmed account. It is released in the"
        " back office, by a person: a command releases nothing. Exit status: 0 made, 1 nothing to make."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--day", metavar="DATE", type=read_day, help="of payment, 2026-07-31; today")
        parser.add_argument("--dry-run", action="store_true", help="show what would be made, store nothing")

    def handle(self, *args: object, day: dt.date | None, dry_run: bool, **options: object) -> None:
        with transaction.atomic():
            try:
                run = create_run(None, day or clock.today(), None)
            except Refusal as refused:
                raise CommandError(str(refused)) from None
            count = plural(run.items.count(), "payment")
            transaction.set_rollback(dry_run)
        # The number of a dry run is given to another one.
        made = "A payment run would be made" if dry_run else f"{run} is made, to be released"
        self.stdout.write(f"{made}: {count}, {run.total:,.2f}, on {run.day}.")
