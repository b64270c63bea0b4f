"""The command ``import_remittances``: what the agency paid of the lines of claim files."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from apps.base import clock
from apps.core.table_files.tables import Table
from apps.funding.file_formats.answer_files import sha256_of
from apps.funding.file_formats.remittances import DAY_FORMS, read_remittance
from apps.funding.management.commands.import_results import AnswerCommand
from apps.funding.services.answers import AnswerReport
from apps.funding.services.remittances import import_remittance


class Command(AnswerCommand):
    help = (
        "Imports remittances of the agency, and records what it paid of claims and invoices, line by line. A"
        " second run changes nothing. Exit status: 0 all in, 1 some rows were not applied, 2 a file cannot be"
        " used."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--day-form",
            choices=list(DAY_FORMS),
            help="how PayReqDocDate is written, where the file does not show it",
        )

    def import_file(self, path: Path, options: dict[str, Any]) -> tuple[Table, AnswerReport]:
        table, rows = read_remittance(path, clock.today(), options["day_form"])
        return table, import_remittance(rows, path.name, sha256_of(path), options["dry_run"])
