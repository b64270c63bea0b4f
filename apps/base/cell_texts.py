"""Values as the texts of cells, guarded where a spreadsheet would run them. Imports nothing of the site."""

import csv
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from io import StringIO
from itertools import islice

#: Between the values of a list of records in one cell: ``Teams/TeamId`` is ``3; 7``.
LIST_SEPARATOR = "; "

#: So many lines of CSV are one piece of a stream.
LINES_AT_ONCE = 100

# The start of a cell that a spreadsheet runs as a formula. It includes apostrophes, so that removing one
# restores exactly the original text.
_LOOKS_LIKE_FORMULA = re.compile(r"'*[=+\-@\t\r]")
FIRST_OF_FORMULA = frozenset("'=+-@\t\r")


def text_of(value: object) -> str:
    """A JSON value as the text of a cell, numbers with all their digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)


def formula_safe(value: object) -> str:
    """The text of a cell with an apostrophe before it where a spreadsheet would run it as a formula.

    Numbers stay as they are; ``formula_restored`` is the inverse.
    """
    if not isinstance(value, str):
        return text_of(value)
    # Few texts begin like this, and an export asks it of each of its cells.
    return f"'{value}" if value[:1] in FIRST_OF_FORMULA and _LOOKS_LIKE_FORMULA.match(value) else value


def formula_restored(text: str) -> str:
    """The original text of ``formula_safe``."""
    return text[1:] if text[:1] == "'" and _LOOKS_LIKE_FORMULA.match(text) else text


def csv_texts(rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Rows as CSV (RFC 4180), many lines in each text; who makes the cells guards them."""
    lines, left = StringIO(newline=""), iter(rows)
    write = csv.writer(lines).writerows
    while batch := list(islice(left, LINES_AT_ONCE)):
        write(batch)
        yield lines.getvalue()
        lines.seek(0)
        lines.truncate()
