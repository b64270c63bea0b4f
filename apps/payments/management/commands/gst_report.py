"""Write the GST report of a quarter as CSV."""

from django.core.management.base import CommandError, CommandParser

from apps.core.management.arguments import INVALID_INPUT
from apps.core.management.base import ServiceCommand
from apps.payments.services.gst_report import Quarter, load_gst_report


class Command(ServiceCommand):
    help = (
        "Writes what was paid of the organisation's own supplies in a quarter, by tax, as CSV to the standard"
        " output (docs/accounts.md). Exit status: 0 written, 2 there is no such quarter."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("quarter", help="July to September 2026 is 2026-Q3")

    def handle(self, *args: object, quarter: str, **options: object) -> None:
        try:
            chosen = Quarter.of(quarter)
        except ValueError as error:
            raise CommandError(str(error), returncode=INVALID_INPUT) from None
        self.stdout.write(load_gst_report(chosen).as_csv().decode(), ending="")
