"""The command ``import_components``: components of PACE plans and their funding periods from a file."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from apps.core.importing.definition import ImportOptions
from apps.core.management.arguments import SOME_REFUSED, add_day_order
from apps.core.management.base import ServiceCommand
from apps.core.management.commands.import_records import ERRORS_HELP, display_of, summary
from apps.engagements.imports.components import import_components


class Command(ServiceCommand):
    help = (
        "Imports components of PACE plans and their funding periods (CSV or XLSX, a period to a row). Plans"
        " are known by their participant and their first day, components by their name, else by what they pay"
        " for."
        " The components of a plan go in together; rejected rows go to a file with the reason; a second run"
        " changes nothing. Exit status: 0 all rows imported, 1 some rejected, 2 the file cannot be read."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--dry-run", action="store_true", help="validate every row, save none")
        parser.add_argument("--errors", metavar="FILE", type=Path, help=ERRORS_HELP)
        add_day_order(parser)

    def handle(self, *args: object, **options: Any) -> None:
        import_options = ImportOptions(
            errors=options["errors"], dry_run=options["dry_run"], day_first=options["day_first"]
        )
        with display_of(self) as display:
            report = import_components(options["file"], import_options, display)
        self.stdout.write(summary(report, import_options))
        if report.counts.rejected:
            sys.exit(SOME_REFUSED)
