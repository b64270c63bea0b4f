"""Make the accounts export of all that is new."""

import datetime as dt
from pathlib import Path

from django.core.management.base import CommandError, CommandParser

from apps.base import clock
from apps.base.errors import Refusal, plural
from apps.core.management.arguments import INVALID_INPUT, SOME_REFUSED, add_made_files, write_made_file
from apps.core.management.base import ServiceCommand
from apps.payments.services.accounts_exports import (
    AccountsPlan,
    create_accounts_export,
    last_day_of_month_before,
    plan_accounts_export,
    write_files,
)


class Command(ServiceCommand):
    help = (
        "Makes the accounts export of all that happened until a day and was not exported, and writes its"
        " files into a folder (docs/accounts.md). Exit status: 0 an export was made, 1 nothing is new or"
        " something is missing, 2 the day or the folder cannot be used."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_made_files(parser, "the last day, 2026-07-31; that of last month")

    def handle(
        self, *args: object, until: dt.date | None, dry_run: bool, out: Path, **options: object
    ) -> None:
        if not out.is_dir():
            raise CommandError(f"{out} is no folder.", returncode=INVALID_INPUT)
        last_day = until or last_day_of_month_before(clock.today())
        try:
            plan = plan_accounts_export(last_day)
        except Refusal as refused:
            raise CommandError(str(refused), returncode=INVALID_INPUT) from None
        self.list_rows(plan)
        try:
            if plan.problem:
                raise Refusal(plan.problem)
            if dry_run:
                self.stdout.write(f"{plural(len(write_files(plan)), 'file')} would be made.")
            else:
                self.make(last_day, out)
        except Refusal as refused:
            raise CommandError(str(refused), returncode=SOME_REFUSED) from None

    def list_rows(self, plan: AccountsPlan) -> None:
        for label, count, amount in plan.rows:
            self.stdout.write(f"{label}: {count:,}, {amount:,.2f}.")

    def make(self, until: dt.date, out: Path) -> None:
        export = create_accounts_export(until)
        for file in export.files.all():
            path = out / file.file_name
            write_made_file(path, file.content, export)
            self.stdout.write(f"{path}: {plural(file.line_count, 'line')}, {file.total:,.2f}.")
