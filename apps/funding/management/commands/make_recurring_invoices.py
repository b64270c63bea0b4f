"""Create the invoices of recurring invoices that are due."""

import datetime as dt

from django.core.management.base import CommandError, CommandParser

from apps.base import clock
from apps.base.errors import plural
from apps.core.management.arguments import SOME_REFUSED, read_day
from apps.core.management.base import ServiceCommand
from apps.funding.services.recurring import FailedInvoice, create_recurring_invoices


class Command(ServiceCommand):
    help = (
        "Makes an invoice for every period of every recurring invoice that has begun and has none: until it"
        " ends, or the participant's plan does. Run it every day, on as many machines as you like: a second"
        " run makes nothing. Exit status: 0 all made, 1 some could not be, 2 the date cannot be used."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--until", metavar="DATE", type=read_day, help="the last day that is due, 2026-07-31; today"
        )
        parser.add_argument("--dry-run", action="store_true", help="show what would be made, store nothing")

    def handle(self, *args: object, until: dt.date | None, dry_run: bool, **options: object) -> None:
        last_day = until or clock.today()
        created, failed = self.run(last_day, dry_run)
        summary = f"{plural(created, 'invoice')} {'would be ' if dry_run else ''}made up to {last_day}"
        if failed:
            raise CommandError(f"{summary}; {failed:,} could not be, see above.", returncode=SOME_REFUSED)
        self.stdout.write(f"{summary}.")

    def run(self, until: dt.date, dry_run: bool) -> tuple[int, int]:
        """How many were created, and how many failed; each is written as soon as it is known."""
        created = failed = 0
        for each in create_recurring_invoices(until, dry_run):
            if isinstance(each, FailedInvoice):
                failed += 1
                self.stderr.write(f"{each.recurring}, {each.day}: {each.reason}")
            else:
                created += 1
                # The number of a dry run is given to another invoice.
                number = "" if dry_run else f"{each.number}, "
                self.stdout.write(f"{each.recurring}, {each.day}: {number}{each.total:,.2f}")
        return created, failed
