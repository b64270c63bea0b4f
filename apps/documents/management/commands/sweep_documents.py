"""Remove files without a document."""

import argparse
import datetime as dt
import re
from typing import Any

from django.core.management.base import CommandParser

from apps.base.errors import plural
from apps.core.management.base import ServiceCommand
from apps.documents.services import sweep

_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


class Command(ServiceCommand):
    help = (
        "Removes files without a document: those left by a process that died during an upload"
        " and those of forms that were never saved. Safe at any time; run it once a day."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--older-than",
            metavar="AGE",
            type=parse_age,
            default="1d",
            help="keep files written since then: 30m, 6h, 1d (the default), 0m",
        )
        parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")

    def handle(self, *args: object, older_than: dt.timedelta, dry_run: bool, **options: Any) -> None:
        result = sweep(older_than, dry_run)
        if options["verbosity"] > 1 or dry_run:
            for key in result.keys:
                self.stdout.write(key)
        action = "would be removed" if dry_run else "removed"
        self.stdout.write(f"{plural(len(result.keys), 'file')} without a document {action}.")
        if result.unfinished:
            self.stdout.write(f"{plural(result.unfinished, 'unfinished upload')} aborted.")


def parse_age(text: str) -> dt.timedelta:
    """``90m``, ``6h``, ``1d`` as a duration."""
    found = re.fullmatch(r"(\d{1,5})([mhd])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not an age: 30m, 6h and 1d are")
    return dt.timedelta(**{_UNITS[found[2]]: int(found[1])})
