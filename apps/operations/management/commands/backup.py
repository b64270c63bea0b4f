"""The command ``backup``: every table and document of one moment, while the service goes on."""

import argparse
from pathlib import Path

from django.core.management.base import CommandError, CommandParser

from apps.base.errors import plural
from apps.operations.management.base import OperatorCommand
from apps.operations.services.backups import create_backup


class Command(OperatorCommand):
    help = (
        "Writes a backup of every table and document into a new folder below DIR, while the service goes on."
        " Encrypted when BACKUP_PASSPHRASE or BACKUP_PASSPHRASE_FILE is set."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path)
        parser.add_argument(
            "--keep", metavar="N", type=number_to_keep, default=0, help="delete all but the newest N backups"
        )

    def handle(self, *args: object, folder: Path, keep: int, **options: object) -> None:
        backup = create_backup(folder, keep)
        manifest = backup.manifest
        rows = sum(table.rows for table in manifest.tables.values())
        self.stdout.write(
            f"{backup.folder}: {plural(rows, 'row')} of {plural(len(manifest.tables), 'table')},"
            f" {plural(len(manifest.documents), 'document')}."
        )
        for old in backup.deleted:
            self.stdout.write(f"{old}: deleted.")
        if manifest.faults:
            raise CommandError("\n".join([*manifest.faults, "The backup holds everything else."]))


def number_to_keep(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of backups: 1 or more")
    return int(text)
