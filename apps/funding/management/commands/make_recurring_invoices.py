"""Make recurring invoices again, as far as they are due."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.core.models import Subscriber
from apps.funding.recurring import Made, NotMade, make_recurring_invoices
from apps.odata import clock
from apps.odata.errors import plural

NOT_ALL = 1
UNUSABLE = 2


class Command(BaseCommand):
    help = (
        "Makes an invoice for every period of every recurring invoice that has begun and has none: until it"
        " ends, or the participant's plan does. Run it every day, on as many machines as you like: a second"
        " run makes nothing. Exit status: 0 all made, 1 some could not be, 2 the date cannot be used."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--until", metavar="DATE", help="the last day that is due, 2026-07-31; today")
        parser.add_argument("--dry-run", action="store_true", help="tell what would be made, store nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        with timezone.override(Subscriber.current().zone):
            clock.reset_now()
            until = last_day(options["until"])
            made, missed = self.run(until, options["dry_run"])
        told = f"{plural(made, 'invoice')} {'would be ' if options['dry_run'] else ''}made up to {until}"
        if missed:
            raise CommandError(f"{told}; {missed:,} could not be, as told above.", returncode=NOT_ALL)
        self.stdout.write(f"{told}.")

    def run(self, until: dt.date, dry_run: bool) -> tuple[int, int]:
        """How many were made, and how many could not be; each is told as soon as it is known."""
        made = missed = 0
        for each in make_recurring_invoices(until, dry_run):
            if isinstance(each, NotMade):
                missed += 1
                self.stderr.write(f"{each.recurring}, {each.day}: {each.reason}")
            else:
                made += 1
                self.stdout.write(line_of(each, dry_run))
        return made, missed


def line_of(made: Made, dry_run: bool) -> str:
    """``INV-0000012, 2026-08-01: INV-0000040, 1,234.00``; the number is not known in a trial."""
    number = "" if dry_run else f"{made.number}, "
    return f"{made.recurring}, {made.day}: {number}{made.total:,.2f}"


def last_day(text: str | None) -> dt.date:
    if text is None:
        return clock.today()
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise CommandError(f"{text} is no date; write it as 2026-07-31.", returncode=UNUSABLE) from None
