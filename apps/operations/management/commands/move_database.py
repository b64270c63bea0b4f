"""The command ``move_database``: every record into another database, also of the other engine."""

from django.core.management.base import CommandParser

from apps.base.errors import plural
from apps.operations.management.base import OperatorCommand
from apps.operations.services.moves import move_database


class Command(OperatorCommand):
    help = (
        "Copies every record, the history and the logins into an empty database, and compares every table."
        " Stop the service before, and set DATABASE_URL to URL after. Documents stay where they are."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("url", metavar="URL", help="sqlite:///path or postgres://user:password@host/name")

    def handle(self, *args: object, url: str, **options: object) -> None:
        contents = move_database(url)
        for name, table in contents.items():
            self.stdout.write(f"{table.sha256}  {table.rows:>10,}  {name}")
        rows = sum(table.rows for table in contents.values())
        self.stdout.write(
            f"Copied {plural(rows, 'row')} of {plural(len(contents), 'table')};"
            " the checksums above are those of both databases."
        )
