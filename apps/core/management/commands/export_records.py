"""Export records into a CSV, XLSX, JSON or NDJSON file."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from apps.base.errors import plural
from apps.core.exporting import export_file
from apps.core.management.arguments import INVALID_INPUT
from apps.core.management.base import ServiceCommand
from apps.core.management.commands.import_records import entity_set_of
from apps.core.table_files.tables import ImportFileError


class Command(ServiceCommand):
    help = "Writes records into a CSV, XLSX, JSON or NDJSON file that import_records reads."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("resource", help="for example contact")
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--filter", help="which records: \"Address/State eq 'NSW'\", as $filter of the interface"
        )
        parser.add_argument("--columns", help="which columns: LastName,Address/Suburb")

    def handle(self, *args: object, **options: Any) -> None:
        names = [name.strip() for name in (options["columns"] or "").split(",") if name.strip()]
        try:
            entity_set = entity_set_of(options["resource"])
            number = export_file(entity_set, options["file"], options["filter"], names)
        except ImportFileError as reason:
            raise CommandError(str(reason), returncode=INVALID_INPUT) from None
        self.stdout.write(f"{plural(number, 'record')} in {options['file']}.")
