"""The arguments and exit statuses that several commands have in common."""

import datetime as dt
from argparse import ArgumentParser, ArgumentTypeError
from contextlib import suppress
from pathlib import Path

from django.core.management.base import CommandError

#: Exit statuses: some of the records were refused; the input cannot be used, and nothing was tried.
SOME_REFUSED, INVALID_INPUT = 1, 2


def add_day_order(parser: ArgumentParser) -> None:
    """``day_first``: ``None`` unless the user says which way the days of a file are written."""
    order = parser.add_mutually_exclusive_group()
    order.add_argument(
        "--day-first",
        dest="day_first",
        action="store_true",
        default=None,
        help="03/04/2026 is 3 April, whatever the other days of its column show",
    )
    order.add_argument("--month-first", dest="day_first", action="store_false", help="it is 4 March")


def add_made_files(parser: ArgumentParser, until: str) -> None:
    """``until``, ``dry_run`` and ``out`` of a command that makes files of what happened until a day."""
    parser.add_argument("--until", metavar="DATE", type=read_day, help=until)
    parser.add_argument("--dry-run", action="store_true", help="show what would be made, store nothing")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, default=Path(), help="where the files go; the current folder"
    )


def write_made_file(path: Path, content: bytes | memoryview, made: object) -> None:
    """Write a stored file, which the page of what was ``made`` has as well."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise CommandError(
            f"{made} was made, and {path} cannot be written: {error.strerror}. Download it from its page.",
            returncode=INVALID_INPUT,
        ) from None


def read_day(text: str) -> dt.date:
    with suppress(ValueError):
        day = dt.date.fromisoformat(text)
        if day.isoformat() == text:  # Python reads 2026W051 and 20260731 as well
            return day
    raise ArgumentTypeError(f"{text} is no date; write it as 2026-07-31.")
