"""The command ``import_service_bookings``: bookings from the list that the agency's portal exports."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from apps.core.importing.definition import ImportOptions
from apps.core.management.arguments import SOME_REFUSED, add_day_order
from apps.core.management.base import ServiceCommand
from apps.core.management.commands.import_records import ERRORS_HELP, display_of, summary
from apps.engagements.imports.service_bookings import import_bookings


class Command(ServiceCommand):
    help = (
        "Imports service bookings from the agency portal's list (CSV or XLSX). Bookings are known by their"
        " number, participants by their scheme number; plans are found or created. Rejected rows go to a file"
        " with the reason; a second run changes nothing. Exit status: 0 all rows imported, 1 some rejected,"
        " 2 the file cannot be read."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--dry-run", action="store_true", help="validate every row, save none")
        parser.add_argument("--errors", metavar="FILE", type=Path, help=ERRORS_HELP)
        parser.add_argument(
            "--create-participants",
            action="store_true",
            help="create contacts for participants whose scheme number no contact has",
        )
        add_day_order(parser)

    def handle(self, *args: object, **options: Any) -> None:
        import_options = ImportOptions(
            errors=options["errors"], dry_run=options["dry_run"], day_first=options["day_first"]
        )
        with display_of(self) as display:
            report, created = import_bookings(
                options["file"], import_options, options["create_participants"], display
            )
        self.stdout.write(summary(report, import_options))
        if created.plans or created.participants:
            self.stdout.write(
                f"Also created: {created.plans:,} plans, {created.participants:,} participants."
            )
        if report.counts.rejected:
            sys.exit(SOME_REFUSED)
