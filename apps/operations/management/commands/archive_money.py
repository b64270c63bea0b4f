"""The command ``archive_money``: old claim files, answers and payment runs, moved into files."""

import datetime as dt
from pathlib import Path

from django.core.management.base import CommandParser
from django.db import transaction

from apps.core.management.arguments import read_day
from apps.core.management.base import ServiceCommand
from apps.operations.management.base import OperatorCommand
from apps.operations.services.money_archives import archive_money
from apps.operations.services.money_plans import last_day, plan_archive


class Command(OperatorCommand, ServiceCommand):
    help = (
        "Writes claim files, the agency's answers and payment runs that are older than RETENTION_YEARS into a"
        " ZIP file for each year below DIR, reads it again, and deletes them from the database. Claims stay,"
        " and what was paid out of them is known. Encrypted when BACKUP_PASSPHRASE or BACKUP_PASSPHRASE_FILE"
        " is set. A second run finds nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path)
        parser.add_argument(
            "--until", metavar="DATE", type=read_day, help="of before this day, not of all that is old"
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would go, and stop")

    def handle(
        self, *args: object, folder: Path, until: dt.date | None, dry_run: bool, **options: object
    ) -> None:
        end = last_day(until)
        with transaction.atomic():
            plan = plan_archive(end)
        if dry_run:
            for year in sorted(plan.years):
                self.stdout.write(f"{year}: {plan.summary(year)} would be archived.")
        else:
            for line in archive_money(folder, end) if plan.years else ():
                self.stdout.write(line)
        if not plan.years:
            self.stdout.write(f"Nothing from before {end} can be archived.")
        for line in plan.stays:
            self.stdout.write(f"Stays: {line}")
