#!/usr/bin/env python
"""Django's command line for this service."""

import gc
import os
import signal
import sys
from typing import NoReturn

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import Error, OperationalError, ProgrammingError, connection


def main() -> None:
    # As the server's workers: after 700 objects, as Python does, it takes a third of the time of ``migrate``.
    gc.set_threshold(10_000)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "records_site.settings")
    # Closed by whoever started the command: nothing is read then, and what is written goes nowhere.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    try:
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except BrokenPipeError:
        # Its reader, `head` for example, has read enough. Python would write the rest at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except (OperationalError, ProgrammingError) as error:
        if lacks_migrations(error):
            end_with("The database lacks tables or columns of this version: ./run migrate makes them.")
        if isinstance(error, ProgrammingError):
            raise
        end_with(f"The database cannot be used: {error}")
    except (ImproperlyConfigured, OSError) as error:
        if settings.configured:
            raise
        end_with(f"The settings cannot be used: {error}")


def lacks_migrations(error: Exception) -> bool:
    """True for an error of a table or column that is missing, in a database that is not up to date."""
    if not any(
        words in str(error) for words in ("no such table", "no column", "no such column", "does not exist")
    ):
        return False
    from apps.core.database.migrations import applied_migrations, known_migrations

    try:
        return bool(set(known_migrations()) - set(applied_migrations(connection)))
    except Error:
        return False


def end_with(sentence: str) -> NoReturn:
    """To be called where an error is handled: its traceback is shown to who asks for it."""
    if "--traceback" in sys.argv:
        raise
    sys.stderr.write(f"{sentence}\n")
    # As for a file that cannot be read: 1 is for records that were not taken.
    sys.exit(2)


if __name__ == "__main__":
    main()
