"""The command ``archive_history``: the oldest part of the history, moved into files."""

from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandParser

from apps.base.errors import plural
from apps.core.management.base import ServiceCommand
from apps.operations.management.base import OperatorCommand
from apps.operations.services.history_archives import archive_history


class Command(OperatorCommand, ServiceCommand):
    help = (
        "Writes the entries of the history that are older than --years into a new folder below DIR, reads it"
        " again, and deletes them from the database. `verify` checks the folder at any time."
        " Encrypted when BACKUP_PASSPHRASE or BACKUP_PASSPHRASE_FILE is set."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path)
        parser.add_argument(
            "--years",
            type=int,
            default=settings.RETENTION_YEARS,
            help="RETENTION_YEARS (default %(default)s) or more",
        )

    def handle(self, *args: object, folder: Path, years: int, **options: object) -> None:
        archive = archive_history(folder, years)
        self.stdout.write(f"{archive.folder}: {plural(archive.rows, 'row')} of the history.")
