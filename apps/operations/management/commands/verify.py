"""The command ``verify``: looks for damage in a backup, or in the database and the documents."""

from pathlib import Path

from django.core.management.base import CommandError, CommandParser

from apps.base.errors import plural
from apps.core import read_log_chain
from apps.operations.management.base import OperatorCommand
from apps.operations.money_files import find_faults
from apps.operations.services.erasure import find_unfinished_certificates
from apps.operations.services.verification import (
    count_files_without_document,
    verify_backup,
    verify_installation,
)


class Command(OperatorCommand):
    help = (
        "Reads every byte of a backup or an archive, or without PATH every row and document of this"
        " installation, and names what is damaged or missing. Exits with 1 when anything is."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", metavar="PATH", nargs="?", type=Path)

    def handle(self, *args: object, path: Path | None, **options: object) -> None:
        if path and path.is_file():
            name, faults = str(path), find_faults(path)
        elif path:
            backup, faults = verify_backup(path)
            name = str(backup)
        else:
            name, faults = "The database and its documents", verify_installation()
            faults += find_unfinished_certificates()
            if unused := count_files_without_document():
                self.stdout.write(f"{plural(unused, 'file')} without a document: ./run sweep_documents.")
            if head := read_log_chain.head_of_chain():
                self.stdout.write(f"The read log ends with {head}.")
        if faults:
            raise CommandError("\n".join([*faults, f"{name}: {plural(len(faults), 'fault')}."]))
        self.stdout.write(f"{name}: no fault.")
