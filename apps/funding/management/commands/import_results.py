"""The command ``import_results``: what the agency answered to the lines of claim files."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from django.core.management.base import CommandError, CommandParser

from apps.core import history
from apps.core.importing.fixed_columns import InvalidRows
from apps.core.importing.runs import import_author
from apps.core.management.arguments import INVALID_INPUT, SOME_REFUSED
from apps.core.management.base import ServiceCommand
from apps.core.table_files.tables import ImportFileError, Table
from apps.funding.file_formats.results import read_results
from apps.funding.services.answers import AnswerReport
from apps.funding.services.claim_results import import_results

#: So many faults, or rows that there is something to say about, are shown of a file.
SHOWN = 200


class AnswerCommand(ServiceCommand):
    """The common part of ``import_results`` and ``import_remittances``."""

    #: The rows of these words leave an exit status of 1.
    not_applied: ClassVar[Sequence[str]] = ("in_conflict", "not_applicable")

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, help="CSV, XLSX, or the JSON of a notification")
        parser.add_argument("--dry-run", action="store_true", help="tell what would happen, store nothing")

    def import_file(self, path: Path, options: dict[str, Any]) -> tuple[Table, AnswerReport]:
        raise NotImplementedError

    def handle(self, *args: object, files: list[Path], **options: Any) -> None:
        failed = refused = False
        with history.as_author(import_author()):
            for path in files:
                try:
                    table, report = self.import_file(path, options)
                except ImportFileError as reason:
                    # Most sentences begin with the name themselves.
                    text = str(reason)
                    self.stderr.write(text if text.startswith(path.name) else f"{path.name}: {text}")
                    failed = True
                    continue
                except InvalidRows as invalid:
                    self.show(path, [*invalid.faults, str(invalid)])
                    refused = True
                    continue
                rows = [f"{table.row_word} {note.row.number:,}: {note.message}" for note in report.notes]
                self.show(path, [*table.notices(), *report.summary(), *rows])
                refused |= any(report.counts[word] for word in self.not_applied)
        if options["dry_run"]:
            self.stdout.write("Nothing was stored: this was a trial.")
        if failed:
            raise CommandError("Some of it cannot be used.", returncode=INVALID_INPUT)
        if refused:
            sys.exit(SOME_REFUSED)

    def show(self, path: Path, lines: Sequence[str]) -> None:
        for line in lines[:SHOWN]:
            self.stdout.write(f"{path.name}: {line}")
        if len(lines) > SHOWN:
            self.stdout.write(f"{path.name}: {len(lines) - SHOWN:,} more are not shown.")


class Command(AnswerCommand):
    help = (
        "Imports results of the agency: which lines of claim files it accepts, and which it refuses. Claims"
        " and invoices of which it refuses every line are refused. A second run changes nothing. Exit status:"
        " 0 all in, 1 some rows were not applied, 2 a file cannot be used."
    )

    def import_file(self, path: Path, options: dict[str, Any]) -> tuple[Table, AnswerReport]:
        table, rows = read_results(path)
        return table, import_results(rows, path.name, options["dry_run"])
