"""The command ``erase_person``: the erasure of a participant's records after their retention."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from apps.base.errors import plural
from apps.core.history import Author, as_author
from apps.core.management.base import ServiceCommand
from apps.operations.management.base import OperatorCommand, add_person_arguments, staff_member
from apps.operations.personal_records import find_own_client, find_person
from apps.operations.services.erasure import erase_person
from apps.operations.services.erasure_plans import check_erasure, plan_erasure
from apps.people.models import Staff


class Command(OperatorCommand, ServiceCommand):
    help = (
        "Erases the records of a participant whose retention is over, and writes a certificate of what was"
        " removed. Claims and invoices keep their amounts and name nobody. Cannot be undone."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_person_arguments(parser)
        parser.add_argument("--certificate", metavar="FILE", type=Path, help="the certificate, a new file")
        parser.add_argument(
            "--backups",
            metavar="DIR",
            type=Path,
            help="the folder of backups, which the report names",
        )
        parser.add_argument(
            "--archives",
            metavar="DIR",
            type=Path,
            help="the folder of archive_history and archive_money, for the same erasure",
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would be erased, and stop")
        parser.add_argument("--yes", action="store_true", help="erase without asking")

    def handle(self, *args: object, by: str, **options: Any) -> None:
        staff = staff_member(by)
        with as_author(Author(staff_id=staff.pk)):
            self.erase(staff, **options)

    def erase(
        self,
        staff: Staff,
        person: str,
        certificate: Path | None,
        own_client: bool,
        backups: Path | None,
        archives: Path | None,
        **options: object,
    ) -> None:
        contact = find_person(person)
        client = find_own_client(contact) if own_client else None
        plan = plan_erasure(contact, client, backups, archives)
        check_erasure(plan)
        self.stdout.write("\n".join([*plan.summary, "What remains:", *plan.remains]))
        if options["dry_run"]:
            return
        if certificate is None:
            raise CommandError("--certificate FILE says where the proof goes.")
        if not options["yes"]:
            confirm(contact.last_name)
        erasure = erase_person(contact, client, staff, certificate, backups, archives)
        for name, count in erasure.certificate.archives.items():
            noun = "row" if name.startswith("money-") else "change"
            self.stdout.write(f"{name}: {plural(count, noun)} without values")
        self.stdout.write(f"Erased. {certificate}: SHA-256 {erasure.sha256}")
        if erasure.remaining_files:
            raise CommandError(
                f"{plural(len(erasure.remaining_files), 'file')} could not be deleted:"
                " ./run sweep_documents deletes them tomorrow."
            )


def confirm(last_name: str) -> None:
    """Ask for the last name, as the guid of somebody else is pasted easily."""
    if not sys.stdin.isatty():
        raise CommandError("Nothing was erased: --yes confirms it where nobody can be asked.")
    if input("Cannot be undone. The contact's last name confirms it: ").strip() != last_name:
        raise CommandError("Nothing was erased: that is not the last name.")
