"""The base of commands that read or write records."""

from django.core.management.base import BaseCommand
from django.utils import timezone

from apps.base import clock
from apps.core.models import Subscriber


class ServiceCommand(BaseCommand):
    """A command that begins as a request does: the clock is read, and days are those of the organisation."""

    def execute(self, *args: object, **options: object) -> str | None:
        clock.reset_now()
        with timezone.override(Subscriber.current().zone):
            return super().execute(*args, **options)
