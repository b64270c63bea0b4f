"""The arguments and exit statuses that several commands have in common."""

import datetime as dt
from argparse import ArgumentParser, ArgumentTypeError

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


def read_day(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text} is no date; write it as 2026-07-31.") from None
