"""The common part of operators' commands: errors in a sentence, and the arguments about a person."""

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error, OperationalError, ProgrammingError

from apps.operations.tables import OperationError
from apps.people.models import Staff
from apps.people.services import find_staff


class OperatorCommand(BaseCommand):
    """A command whose operator reads a sentence, not a traceback."""

    def execute(self, *args: object, **options: object) -> str | None:
        try:
            return super().execute(*args, **options)
        except (BrokenPipeError, OperationalError, ProgrammingError):
            # Of `| head`, or of a database that is away, locked, full or not migrated: see manage.py.
            raise
        except (OperationError, Error, OSError) as error:
            raise CommandError(str(error)) from error


def add_person_arguments(parser: CommandParser) -> None:
    parser.add_argument("person", metavar="CONTACT", help="a guid, a scheme number or a unique code")
    parser.add_argument("--by", metavar="EMAIL", required=True, help="the login of who does it")
    parser.add_argument(
        "--own-client",
        action="store_true",
        help="with the contact's client record and its documents, where it stands for the person alone",
    )


def staff_member(login: str) -> Staff:
    """The staff member of that login, which is open. Raises ``OperationError`` otherwise."""
    found = find_staff(login)
    if found is None or not found.is_active:
        raise OperationError(f"Nobody signs in as {login}.")
    return found
