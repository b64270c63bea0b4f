"""The base of commands that read or write records."""

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError
from django.utils import timezone

from apps.base import clock
from apps.core.models import Subscriber


class ServiceCommand(BaseCommand):
    """A command that begins as a request does: the clock is read, and days are those of the organisation.

    It ends with a sentence when the database is away, locked or full.
    """

    def execute(self, *args: object, **options: object) -> str | None:
        clock.reset_now()
        try:
            with timezone.override(Subscriber.current().zone):
                return super().execute(*args, **options)
        except OperationalError as error:
            # As for a file that cannot be read: 1 is for records that were not taken.
            raise CommandError(f"The database cannot be used: {error}", returncode=2) from error
