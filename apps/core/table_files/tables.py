"""A file to import, whatever its format: a header and rows of text."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from apps.base.errors import plural

#: More columns than any resource has members; a file beyond it is no table of records.
MAX_COLUMNS = 1_000
#: Characters of one row, whatever its format.
MAX_ROW = 1_000_000

#: The header is looked for in so many rows, since a title may precede it.
HEADER_ROWS = 20
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

    def with_whole_characters(self) -> "Row":
        """The row, with a defect where JSON gave it half a character (``"\\ud800"``), which is no text."""
        cells = [cell.encode("utf-8", "replace").decode() for cell in self.cells]
        if cells == self.cells:
            return self
        return self._replace(cells=cells, defect="has half a character in a text.")


class Table:
    """A file opened as a header and rows, which may be read more than once. Formats are subclasses.

    ``encoding`` and ``delimiter`` are those of a text file.
    """

    #: What a row is called: "row" where there is a header, "record" or "line" where there is none.
    row_word = "row"
    #: Whether cells have addresses as in a spreadsheet (``B12``).
    has_cell_addresses = True
    #: Whether an apostrophe before what looks like a formula is not part of the text.
    has_formula_guards = False

    def __init__(self, path: Path) -> None:
        self.path = path
        #: The names of the columns as they are in the file.
        self.header: Sequence[str] = ()
        self.header_row = 1
        #: The sheet of a workbook that is read, and all it has.
        self.sheet, self.sheets = "", list[str]()
        #: The sheets that are not hidden.
        self.shown_sheets = list[str]()
        #: The member that is a list of items in the file itself, each item a row.
        self.list_name: str | None = None
        self.encoding: str | None = None
        self.delimiter: str | None = None
        #: Rows that say what the header says: lists that were printed repeat it on each page.
        self.repeated_headers = 0

    def sheet_rows(self) -> Iterator[list[str]]:
        """The cells of every row of a sheet, the header's among them; ``ImportFileError`` where it breaks."""
        raise NotImplementedError

    @cached_property
    def first_rows(self) -> list[list[str]]:
        """The rows among which the header is; none of a format that has no such row."""
        return [*islice(self.sheet_rows(), HEADER_ROWS)] if self.has_cell_addresses else []

    def find_header(self, header_row: int | None) -> None:
        """Set the header: the row that the user names, else the first row with a cell.

        A single cell above wider rows is the sheet's title: then the first row with several cells is it.
        """
        found: tuple[int, list[str]] | None = None
        rows = self.first_rows if header_row is None else islice(self.sheet_rows(), header_row)
        for number, cells in enumerate(rows, start=1):
            names = sum(bool(cell.strip()) for cell in cells)
            if number == header_row or (header_row is None and names > 1):
                found = number, cells
                break
            if found is None and names and header_row is None:
                found = number, cells
        if found is None or not any(cell.strip() for cell in found[1]):
            where = f" in row {header_row:,}" if header_row else ": its first row must name the columns"
            raise ImportFileError(f"{self.path.name} has no header{where}.")
        self.header_row, self.header = found
        check_width(len(self.header))

    def rows(self) -> Iterator[Row]:
        """Every row after the header that has a cell; ``ImportFileError`` where the file breaks off."""
        width, header = len(self.header), [*self.header]
        has_names = sum(map(bool, header)) > 1
        self.repeated_headers = 0
        for number, cells in islice(enumerate(self.sheet_rows(), start=1), self.header_row, None):
            if not any(cells):
                continue  # spreadsheets save formatted rows without a value as delimiters
            while len(cells) > width and not cells[-1]:
                cells.pop()
            if cells == header and has_names:
                self.repeated_headers += 1
            elif len(cells) == width:
                yield Row(number, cells)
            else:
                # It may have lost a cell in its middle, so nothing in it can be trusted.
                defect = f"has {len(cells):,} cells where the header has {width:,}."
                yield Row(number, cells, defect)

    def notices(self) -> list[str]:
        """Notices to the user about how the file was read."""
        found = []
        if self.header_row != 1:
            found.append(f"Row {self.header_row:,} is the header; --header-row names another.")
        if self.repeated_headers:
            repeated = plural(self.repeated_headers, "row")
            found.append(f"Left out {repeated} that repeat{'s' * (self.repeated_headers == 1)} the header.")
        return found


def column_letters(index: int) -> str:
    """The name a spreadsheet gives a column: 0 is ``A``, 26 is ``AA``."""
    letters = ""
    while index >= 0:
        letters = chr(ord("A") + index % 26) + letters
        index = index // 26 - 1
    return letters


def check_width(width: int) -> None:
    """``ImportFileError`` for a header wider than any table of records."""
    if width > MAX_COLUMNS:
        raise ImportFileError(
            f"The header has {width:,} columns; {MAX_COLUMNS:,} are the most that are read."
        )
