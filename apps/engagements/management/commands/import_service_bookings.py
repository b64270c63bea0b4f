"""The command ``import_service_bookings``: bookings from the list that the agency's portal exports."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.core.importing.runs import Wishes
from apps.core.importing.tables import Unusable
from apps.core.management.commands.import_records import SOME_REFUSED, UNUSABLE, following, summary
from apps.engagements.portal_importing import import_bookings


class Command(BaseCommand):
    help = (
        "Imports service bookings from the agency portal's list (CSV or XLSX). Bookings are known by their"
        " number, participants by their scheme number; plans are found or made. Bad rows come back in a file"
        " with the reason; a second run changes nothing. Exit status: 0 all rows in, 1 some refused, 2 the"
        " file cannot be used."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--dry-run", action="store_true", help="judge every row, store none")
        parser.add_argument(
            "--errors",
            metavar="FILE",
            type=Path,
            help="where refused rows go (FILE.errors.csv beside the file)",
        )
        parser.add_argument(
            "--create-participants",
            action="store_true",
            help="make contacts of participants whose scheme number nobody has",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with following(self) as listener:
                report, made = import_bookings(
                    options["file"],
                    options["errors"],
                    options["create_participants"],
                    options["dry_run"],
                    listener,
                )
        except Unusable as reason:
            raise CommandError(str(reason), returncode=UNUSABLE) from None
        self.stdout.write(summary(report, Wishes(dry_run=options["dry_run"])))
        if made.plans or made.participants:
            self.stdout.write(f"Made besides: {made.plans:,} plans, {made.participants:,} participants.")
        if report.sums.refused:
            sys.exit(SOME_REFUSED)
