"""Texts of components and funding periods that are pasted: their rows become those of a file."""

import csv
import datetime as dt
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

from apps.base.declaration.values import WireValueError
from apps.core.importing.cells import cleaned, letters_of
from apps.core.importing.columns import day_columns
from apps.core.importing.days import month_number, share_order
from apps.core.importing.fixed_columns import find_columns
from apps.core.importing.report import RowIssue
from apps.core.models import Subscriber
from apps.core.table_files.tables import ImportFileError, Row, Table
from apps.engagements.imports.component_rows import (
    ReadComponent,
    component_columns,
    find_component_columns,
    group_rows,
    read_component_row,
    read_component_rows,
    read_supports,
)

#: Rows of a pasted text; a plan has some dozens.
MAX_PASTED = 1_000

_DAY = re.compile(
    r"(?:\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}"
    r"|\d{1,2}(?:st|nd|rd|th)?[ -]?(?P<month>[A-Za-z]{3,9})[ ,.-]{0,9}\d{2,4})",
    re.ASCII,
)
# No day has more characters: each would be tried with all blanks behind it.
_TWO_DAYS = re.compile(r"(.{1,40}?)(?: *[–—] *| +- +| +to +| +until +)(.+)")
_START_OF_AMOUNT = re.compile(r"\$? ?\d{1,3}")
_REST_OF_AMOUNT = re.compile(r"\d{3}(?:\.\d+)?")
NO_HEADER = ("component", "categories", "period_from", "period_to", "released", "amount")


def is_day(text: str) -> bool:
    """True for what is meant as a day, whether or not it exists."""
    found = _DAY.fullmatch(text)
    return found is not None and (found["month"] is None or month_number(found["month"]) > 0)


def holds_day(text: str) -> bool:
    """True for a day, or for two in one cell."""
    pair = _TWO_DAYS.fullmatch(text)
    return is_day(text) or (pair is not None and is_day(pair[1]) and is_day(pair[2]))


class PastedTable(Table):
    """Rows of a pasted text, with the header that it has, or that of ``NO_HEADER``.

    Cells are apart by tabs, by several blanks, or by commas. Without a header the days show which cell is
    which: the name and the supports stand before them, the amount after. A row without a name is of the
    component before it, as in tables whose cells are joined.
    """

    row_word = "line"
    has_cell_addresses = False

    def __init__(self, text: str) -> None:
        super().__init__(Path("pasted"))
        lines = [(number, split_line(line)) for number, line in enumerate(text.splitlines(), start=1)]
        self.lines = [(number, cells) for number, cells in lines if any(cells)]
        first = self.lines[0][1] if self.lines else []
        has_names = len(first) > 1 and not any(re.search(r"\d", cell) for cell in first)
        found = self.names_of(first) if has_names else frozenset()
        has_days = any(map(holds_day, (cell for _, cells in self.lines for cell in cells)))
        #: Whether the first line names the columns. Where it does not name those of days, the days show them.
        self.has_header = {"period_from", "period_to"} <= found or ("amount" in found and not has_days)
        self.header = first if self.has_header else list(NO_HEADER)
        self.lines = self.lines[1:] if has_names and (self.has_header or len(self.lines) > 1) else self.lines

    def names_of(self, header: Sequence[str]) -> frozenset[str]:
        """The columns that a line names; none where two have one name."""
        table = Table(self.path)
        table.header = header
        try:
            return frozenset(find_columns(table, component_columns()).by_name)
        except ImportFileError:
            return frozenset()

    def rows(self) -> Iterator[Row]:
        previous: Sequence[str] = ()
        identity = [at for at, header in enumerate(self.header) if letters_of(header) in IDENTITY]
        for number, cells in self.lines:
            row = Row(number, *self.cells_of(cells))
            if row.defect is None:
                if previous and not any(row.cells[index] for index in identity):
                    given = dict(zip(identity, (previous[index] for index in identity), strict=True))
                    row = row._replace(cells=[given.get(at, cell) for at, cell in enumerate(row.cells)])
                previous = row.cells
            yield row

    def cells_of(self, cells: list[str]) -> tuple[list[str], str | None]:
        """The cells of the header's columns, and what is wrong with the line."""
        if not self.has_header:
            return cells_by_days(cells)
        width = len(self.header)
        cells = cells if len(cells) <= width else joined_amounts(cells)
        while len(cells) > width and not cells[-1]:
            cells.pop()
        if len(cells) > width:
            return (
                cells,
                f"has {len(cells)} cells where the header has {width}: copy it again, or put tabs between.",
            )
        return [*cells, *[""] * (width - len(cells))], None


def identity_headers() -> frozenset[str]:
    """The headers of the columns that name a component."""
    names = ("component", "categories", "stated_supports")
    columns = [each for each in component_columns() if each.name in names]
    return frozenset(letters_of(text) for each in columns for text in (each.name, *each.headers))


IDENTITY = identity_headers()


def split_line(line: str) -> list[str]:
    """The cells of a line: by tabs where it has one, else by several blanks, else by commas."""
    if "\t" in line:
        cells = line.split("\t")
    else:
        cells = re.split(r"\s{2,}", line.strip())
        by_commas = next(csv.reader([line.strip()], skipinitialspace=True), [])
        if len(cells) < 2 or (len(cells) == 2 and len(by_commas) > 2):
            cells = by_commas
    return [cleaned(cell).strip('"') for cell in cells]


def cells_before_amount(cells: Sequence[str]) -> int:
    """The number of cells before the first amount, which is not the first cell; all where there is none."""
    for index, cell in enumerate(cells[1:], start=1):
        if "$" in cell or re.fullmatch(r"[\d, ]+\.\d\d", cell):
            return index
    return len(cells)


def joined_amounts(cells: Sequence[str]) -> list[str]:
    """Cells in which ``$12`` and ``500.00``, which a comma of thousands has parted, are one again."""
    found: list[str] = []
    for cell in cells:
        before = found[-1].replace(",", "") if found else ""
        is_amount = _START_OF_AMOUNT.fullmatch(found[-1].partition(",")[0]) if found else None
        if is_amount and "." not in before and _REST_OF_AMOUNT.fullmatch(cell):
            found[-1] += f",{cell}"
        else:
            found.append(cell)
    return found


def cells_by_days(cells: Sequence[str]) -> tuple[list[str], str | None]:
    """The cells of a line without a header, in the order of ``NO_HEADER``, and what is wrong with it."""
    split: list[str] = []
    for cell in cells:
        pair = _TWO_DAYS.fullmatch(cell) if holds_day(cell) and not is_day(cell) else None
        split += [pair[1], pair[2]] if pair else [cell]
    at = [index for index, cell in enumerate(split) if is_day(cell)]
    if not at:
        days, width = ["", ""], cells_before_amount(split)
        before, amounts = split[:width], [cell for cell in joined_amounts(split[width:]) if cell]
        if len(amounts) != 1:
            return split, (
                "has no days: a row is a component, its categories or stated supports, from, to and released."
            )
        released, amount = "", amounts[0]
    elif len(at) == 1:
        return split, f"has one day, {split[at[0]]}, where a period has its first and its last."
    elif len(at) > 2:
        return split, f"has {len(at)} days where a period has two: write each period in a row of its own."
    else:
        before, days = split[: at[0]], [split[at[0]], split[at[1]]]
        amounts = [cell for cell in joined_amounts(split[at[1] + 1 :]) if cell]
        if len(amounts) > 1:
            return split, f"has {len(amounts)} cells after its days where it has one: what is released."
        released, amount = amounts[0] if amounts else "", ""
    before = [cell for cell in before if cell]
    name, supports = (before[0], before[1:]) if before else ("", [])
    if len(before) == 1 and reads_as_supports(name):
        name, supports = "", [name]
    return [name, ", ".join(supports), *days, released, amount], None


def reads_as_supports(text: str) -> bool:
    try:
        read_supports(text)
    except WireValueError:
        return False
    return True


_ADVICE_FOR_FILES = re.compile(r"[;:,] [^;:]*--[a-z-]+[^.]*(?=\.)")


def read_pasted(text: str) -> tuple[PastedTable, list[ReadComponent]]:
    """The components in a pasted text; days are read in the organisation's order."""
    table = PastedTable(text)
    columns = find_component_columns(table, Subscriber.current().day_first).by_name
    rows = list(table.rows())
    if len(rows) > MAX_PASTED:
        raise ImportFileError(
            f"There are {len(rows):,} rows, and {MAX_PASTED:,} are the most that are read: import them."
        )
    days = day_columns(columns.values())
    for row in rows:
        for index, column in days.items() if row.defect is None else ():
            column.observe(row.cells[index])
    share_order(days.values())
    found = read_component_rows(rows, columns)
    for line in found:
        line.errors = [each if "--" not in each.message else without_advice(each) for each in line.errors]
    return table, group_rows(found)


def read_periods(text: str) -> tuple[list[tuple[dt.date, dt.date, Decimal]], list[str]]:
    """The periods of one component in a text, a line each, and a sentence about each line that is none."""
    table = PastedTable(text)
    columns = find_component_columns(table, Subscriber.current().day_first).by_name
    periods, sentences = [], []
    for row in table.rows():
        named = row if row.defect is not None else row._replace(cells=["-", *row.cells[1:]])
        line = read_component_row(named, columns)
        sentences += [f"Line {row.number}: {without_advice(issue).message}" for issue in line.errors]
        if line.period is not None:
            periods.append(line.period)
        elif not line.errors:
            sentences.append(f"Line {row.number}: A period has from, to and released.")
    return sorted(periods), sentences


def without_advice(issue: RowIssue) -> RowIssue:
    """The issue without the options of a command, which a page has not."""
    return RowIssue(issue.row, issue.column, issue.code, _ADVICE_FOR_FILES.sub("", issue.message))
