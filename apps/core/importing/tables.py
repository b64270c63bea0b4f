"""What every file to import is, whatever its format: a header and rows of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

#: More columns than any resource has members; a file beyond it is no table of records.
MAX_COLUMNS = 1_000
#: Characters of one row, whatever its format.
MAX_ROW = 1_000_000


class Unusable(Exception):
    """A file that cannot be read or used at all; the text is one sentence for the user."""


class Row(NamedTuple):
    """One row: its number as a spreadsheet shows it, its cells, and what is wrong with its form.

    Cells are texts as they stand in the file, empty ones ``""``; typed cells come as the text that reads
    back to the same value (``2026-07-01``, ``true``). There are as many as in the header, unless ``trouble``.
    A record that holds a list is a row for each ``item`` of it, all of the record's number.
    """

    number: int
    cells: Sequence[str]
    trouble: str | None = None
    item: int | None = None


class Table(Protocol):
    """A file opened as a table; ``rows`` may be read more than once."""

    #: What a row is called: "row" where there is a header, "record" or "line" where there is none.
    row_word: ClassVar[str]
    #: Whether cells have addresses as in a spreadsheet (``B12``).
    has_letters: ClassVar[bool]
    #: Whether an apostrophe before what looks like a formula is not part of the text.
    has_guards: ClassVar[bool]
    #: The members that are lists of items in the file itself, each item a row.
    lists: Sequence[str]

    @property
    def header(self) -> Sequence[str]:
        """The names of the columns as they stand in the file."""
        ...

    def rows(self) -> Iterator[Row]:
        """Every row after the header; ``Unusable`` where the file stops making sense."""
        ...

    def remarks(self) -> list[str]:
        """What the user should know about how the file was read."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where a cell stands, as the user finds it again."""

    row: int
    column: int | None
    header: str


def letters(index: int) -> str:
    """The name a spreadsheet gives a column: 0 is ``A``, 26 is ``AA``."""
    name = ""
    index += 1
    while index:
        index, digit = divmod(index - 1, 26)
        name = chr(65 + digit) + name
    return name


def check_width(width: int) -> None:
    """``Unusable`` for a header wider than any table of records."""
    if width > MAX_COLUMNS:
        raise Unusable(f"The header has {width:,} columns; {MAX_COLUMNS:,} are the most that are read.")


def ragged(cells: list[str], width: int) -> tuple[list[str], str | None]:
    """The cells brought to the header's width, and what was wrong when that cannot be done safely.

    Empty cells beyond the header are a spreadsheet's habit. A row that is too short may have lost a cell in
    its middle, so nothing in it can be trusted.
    """
    if len(cells) == width:
        return cells, None
    while len(cells) > width and not cells[-1]:
        cells.pop()
    if len(cells) == width:
        return cells, None
    return cells, f"has {len(cells):,} cells where the header has {width:,}."
