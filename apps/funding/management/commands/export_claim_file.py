"""Make the claim files of all approved claims and invoices to the agency."""

import datetime as dt
from pathlib import Path

from django.core.management.base import CommandError, CommandParser

from apps.base import clock
from apps.base.errors import Refusal, plural
from apps.core.management.arguments import INVALID_INPUT, SOME_REFUSED, add_made_files, write_made_file
from apps.core.management.base import ServiceCommand
from apps.funding.services.claim_files import ClaimFilePlan, create_claim_files, plan_claim_files


class Command(ServiceCommand):
    help = (
        "Makes claim files of all approved claims and invoices to the agency, and writes them into a folder"
        " (docs/money.md). Their bills are claimed then; what is left out is listed with its reason. Exit"
        " status: 0 files were made, 1 there is nothing to be sent, 2 the date or the folder cannot be used."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_made_files(parser, "bills that end by this day, 2026-07-31; today")

    def handle(
        self, *args: object, until: dt.date | None, dry_run: bool, out: Path, **options: object
    ) -> None:
        if not out.is_dir():
            raise CommandError(f"{out} is no folder.", returncode=INVALID_INPUT)
        last_day = until or clock.today()
        plan = plan_claim_files(last_day)
        self.list_left_out(plan)
        if not plan.files:
            raise CommandError(
                f"There is nothing to be sent of what ends by {last_day}.", returncode=SOME_REFUSED
            )
        if dry_run:
            self.stdout.write(
                f"{plural(len(plan.files), 'file')} of {plural(plan.line_count, 'line')},"
                f" {plan.total:,.2f}, would be made."
            )
            return
        self.make(last_day, out)

    def list_left_out(self, plan: ClaimFilePlan) -> None:
        for group in plan.left_out:
            for bill, sentences in group.bills:
                self.stdout.write(f"{bill.number}: {group.reason.label}. {' '.join(sentences)}")
        if plan.left_out:
            count = plural(len(plan.left_out_bills), "bill")
            self.stdout.write(f"{count} left out, {plan.left_out_total:,.2f}.")

    def make(self, until: dt.date, out: Path) -> None:
        try:
            files = create_claim_files(until)
        except Refusal as refusal:
            raise CommandError(str(refusal), returncode=SOME_REFUSED) from None
        if not files:
            raise CommandError("Somebody else has just made the files.", returncode=SOME_REFUSED)
        for file in files:
            path = out / file.file_name
            write_made_file(path, file.content, file)
            self.stdout.write(f"{path}: {plural(file.line_count, 'line')}, {file.total:,.2f}.")
