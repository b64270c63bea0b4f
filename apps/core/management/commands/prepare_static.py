"""Collect the files that browsers keep: compressed, under names that change with their content."""

import hashlib

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

#: Of packages whose pages nobody is served.
IGNORED = ["rest_framework", "redoc"]


class Command(BaseCommand):
    help = "Collects static files, compressed and with hashed names, unless they are the same as last time."

    def handle(self, *args: object, **options: object) -> None:
        stamp = settings.STATIC_ROOT / "stamp"
        current = fingerprint()
        if stamp.exists() and stamp.read_text() == current:
            return
        try:
            call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=IGNORED)
            stamp.write_text(current)
        except OSError as error:
            raise CommandError(f"The files for browsers cannot be written: {error}") from error


def fingerprint() -> str:
    """A hash of the paths, sizes and times of all files."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list(IGNORED):
            digest.update(f"{path} {storage.size(path)} {storage.get_modified_time(path)}\n".encode())
    return digest.hexdigest()
