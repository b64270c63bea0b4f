"""Values as the texts of cells, guarded where a spreadsheet would run them. Imports nothing of the site."""

import re
from decimal import Decimal

#: Between the values of a list of records in one cell: ``Teams/TeamId`` is ``3; 7``.
LIST_SEPARATOR = "; "

# The start of a cell that a spreadsheet runs as a formula. It includes apostrophes, so that removing one
# restores exactly the original text.
_LOOKS_LIKE_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_FIRST_OF_FORMULA = frozenset("'=+-@\t\r")


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
    return f"'{value}" if value[:1] in _FIRST_OF_FORMULA and _LOOKS_LIKE_FORMULA.match(value) else value


def formula_restored(text: str) -> str:
    """The original text of ``formula_safe``."""
    return text[1:] if text[:1] == "'" and _LOOKS_LIKE_FORMULA.match(text) else text
