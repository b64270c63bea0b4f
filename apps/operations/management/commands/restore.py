"""The command ``restore``: a backup, put into the database and the storage of documents."""

from pathlib import Path

from django.core.management.base import CommandParser

from apps.base.errors import plural
from apps.operations.management.base import OperatorCommand
from apps.operations.services.restores import restore_backup


class Command(OperatorCommand):
    help = (
        "Restores a backup into an empty database of either engine, and the documents into their storage."
        " DIR is a backup, or a folder of backups: then the newest. Stop the service before."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path)
        parser.add_argument(
            "--replace", action="store_true", help="delete all records that the database holds before"
        )

    def handle(self, *args: object, folder: Path, replace: bool, **options: object) -> None:
        restore = restore_backup(folder, replace)
        manifest = restore.manifest
        for name, table in manifest.tables.items():
            self.stdout.write(f"{table.sha256}  {table.rows:>10,}  {name}")
        rows = sum(table.rows for table in manifest.tables.values())
        self.stdout.write(
            f"Restored {restore.folder}: {plural(rows, 'row')} of {plural(len(manifest.tables), 'table')},"
            f" each with the checksum of the backup, and {plural(len(manifest.documents), 'document')}."
        )
        for fault in manifest.faults:
            self.stdout.write(f"Not in the backup: {fault}.")
        if restore.has_secret_key:
            self.stdout.write("The secret key was restored: start the service again.")
