"""What every file to import is, whatever its format: a header and rows of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol

#: More columns than any resource has members; a file beyond it is no table of records.
MAX_COLUMNS = 1_000
#: Characters of one row, whatever its format.
MAX_ROW = 1_000_000

#: The header is looked for in so many rows, since a title may precede it.
HEADER_ROWS = 20
HEADER_NOTICE = "Row {:,} is the header; --header-row names another."
#: The text of a formula cell whose value the spreadsheet did not store.
UNCALCULATED = "#FORMULA!"


class ImportFileError(Exception):
    """A file that cannot be read or imported at all; the text is one sentence for the user."""


class Row(NamedTuple):
    """One row: its number as a spreadsheet shows it, its cells, and what is wrong with its form.

    Cells are texts as they are in the file, empty ones ``""``; typed cells come as the text that converts
    back to the same value (``2026-07-01``, ``true``). There are as many as in the header, unless there is a
    ``defect``. A record with a list in JSON is a row for each ``item`` of it, all of the record's number.
    """

    number: int
    cells: Sequence[str]
    defect: str | None = None
    item: int | None = None


class Table(Protocol):
    """A file opened as a table; ``rows`` may be read more than once."""

    #: What a row is called: "row" where there is a header, "record" or "line" where there is none.
    row_word: ClassVar[str]
    #: Whether cells have addresses as in a spreadsheet (``B12``).
    has_cell_addresses: ClassVar[bool]
    #: Whether an apostrophe before what looks like a formula is not part of the text.
    has_formula_guards: ClassVar[bool]
    #: The members that are lists of items in the file itself, each item a row.
    list_names: Sequence[str]

    @property
    def header(self) -> Sequence[str]:
        """The names of the columns as they are in the file."""
        ...

    def rows(self) -> Iterator[Row]:
        """Every row after the header; ``ImportFileError`` where the file stops making sense."""
        ...

    def notices(self) -> list[str]:
        """What the user should know about how the file was read."""
        ...


def column_letters(index: int) -> str:
    """The name a spreadsheet gives a column: 0 is ``A``, 26 is ``AA``."""
    name = ""
    index += 1
    while index:
        index, digit = divmod(index - 1, 26)
        name = chr(65 + digit) + name
    return name


def check_width(width: int) -> None:
    """``ImportFileError`` for a header wider than any table of records."""
    if width > MAX_COLUMNS:
        raise ImportFileError(
            f"The header has {width:,} columns; {MAX_COLUMNS:,} are the most that are read."
        )


def fit_to_width(cells: list[str], width: int) -> tuple[list[str], str | None]:
    """The cells without empty ones beyond the header, and the defect of a row that has too many or too few.

    A row that is too short may have lost a cell in its middle, so nothing in it can be trusted.
    """
    while len(cells) > width and not cells[-1]:
        cells.pop()
    if len(cells) == width:
        return cells, None
    return cells, f"has {len(cells):,} cells where the header has {width:,}."


def find_header(
    path: Path, rows: Iterable[tuple[int, list[str]]], header_row: int | None
) -> tuple[int, list[str]]:
    """The number and the cells of the header: of the row that the user names, else of the first row.

    A single cell above wider rows is the sheet's title: then the first row with several cells is the header.
    """
    first = None
    for number, cells in rows:
        names = sum(bool(cell.strip()) for cell in cells)
        if number == header_row or (header_row is None and names > 1):
            first = number, cells
            break
        if first is None and names and header_row is None:
            first = number, cells
    if first is None or not any(cell.strip() for cell in first[1]):
        where = f" in row {header_row:,}" if header_row else ": its first row must name the columns"
        raise ImportFileError(f"{path.name} has no header{where}.")
    check_width(len(first[1]))
    return first
