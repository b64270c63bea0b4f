"""The command ``export_person``: everything of one participant, for an access request."""

from pathlib import Path

from django.core.management.base import CommandError, CommandParser

from apps.base.errors import plural
from apps.core.history import Author, as_author
from apps.core.management.base import ServiceCommand
from apps.operations.management.base import OperatorCommand, add_person_arguments, staff_member
from apps.operations.personal_records import find_own_client, find_person
from apps.operations.services.person_exports import export_person


class Command(OperatorCommand, ServiceCommand):
    help = (
        "Writes everything of a participant into a new ZIP file: records as JSON and as a page to read, the"
        " files of documents, the history. The history of the contact records who exported it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_person_arguments(parser)
        parser.add_argument("file", metavar="FILE.zip", type=Path)

    def handle(
        self, *args: object, person: str, file: Path, by: str, own_client: bool, **options: object
    ) -> None:
        with as_author(Author(staff_id=staff_member(by).pk)):
            contact = find_person(person)
            export = export_person(contact, find_own_client(contact) if own_client else None, file)
        self.stdout.write(
            f"{file}: {plural(export.record_count, 'record')}, {plural(len(export.files), 'file')},"
            f" {plural(len(export.changes), 'change')}."
        )
        if contact.client and not own_client:
            self.stdout.write(
                f"Not included: the client record {contact.client} and its documents."
                " --own-client includes them where it stands for this person alone."
            )
        if export.faults:
            raise CommandError("\n".join([*export.faults, "The file holds everything else."]))
