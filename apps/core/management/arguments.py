"""The arguments and exit statuses that several commands have in common."""

import datetime as dt
from argparse import ArgumentTypeError

#: Exit statuses: some of the records were refused; the input cannot be used, and nothing was tried.
SOME_REFUSED, INVALID_INPUT = 1, 2


def read_day(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text} is no date; write it as 2026-07-31.") from None
