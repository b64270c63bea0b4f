"""The first pass over a file: how many rows it has, the order of its days, what stands below the table."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from apps.core.importing.days import DayColumn, share_order
from apps.core.importing.headers import quote_header
from apps.core.importing.report import RowIssue
from apps.core.table_files.tables import Row, Table

#: More rows than stand below any table.
MAX_FOOTER = 20
_TOTAL = re.compile(r"\W*(?:grand |sub-?)?(?:totals?|sum|count|number of|no\.? of)\b", re.IGNORECASE)
#: Nobody is called so: it is a total however few columns there are.
_BARE_TOTAL = re.compile(r"\W*(?:grand |sub-?)?totals?\W*", re.IGNORECASE)
_END = re.compile(
    r"\W*(?:end of (?:report|list|file|export|data)\b"
    r"|(?:printed|generated|exported|produced|created|report(?:ed)?|page)(?: (?:on|by|at|date|of)\b|:| ?\d)"
    r"|[\d,]+ (?:records?|rows?|lines?|entries)\b)|[*=_-]{3,}",
    re.IGNORECASE,
)
#: A count or a sum: what has more digits in one piece is a telephone or a business number.
_AMOUNT = re.compile(r"-?\$? ?(?:\d{1,7}|\d{1,3}(?:,\d{3})+)(?:\.\d+)?")


@dataclass
class FirstPass:
    """The findings about a file: its records' rows, and the rows ``footer`` below them."""

    table: Table
    row_count: int = 0
    footer: list[Row] = field(default_factory=list)

    def rows(self) -> Iterator[Row]:
        """The rows of the table itself."""
        return islice(self.table.rows(), self.row_count)

    def footer_issues(self) -> Iterator[RowIssue]:
        """A warning for each row that is left out."""
        for row in self.footer:
            text = next(cell.strip() for cell in row.cells if cell.strip())
            message = f"“{text[:60]}” stands below the table and is no record: it is left out."
            yield RowIssue(row, None, "Footer", message, is_warning=True)


def look_through(table: Table, day_columns: Mapping[int, DayColumn]) -> FirstPass:
    """Read every row once; ``ImportFileError`` where the file breaks off, so that nothing of it is saved.

    Every day is shown to its column, by the column's index.
    """
    found = FirstPass(table)
    columns, width = tuple(day_columns.items()), len(table.header)
    below: list[Row] = []
    for row in table.rows():
        cells = row.cells
        is_short = (len(cells) - cells.count("")) * 2 <= width or _BARE_TOTAL.fullmatch("".join(cells[:1]))
        if is_short and table.has_cell_addresses and is_footer(row):
            below.append(row)
            continue
        found.row_count += 1 + len(below)
        below.clear()
        if row.defect is None:
            for index, column in columns:
                column.observe(cells[index])
    share_order(day_columns.values())
    if len(below) > MAX_FOOTER or not found.row_count:
        found.row_count += len(below)
    else:
        found.footer = below
    return found


def is_footer(row: Row) -> bool:
    """True when a row with few cells sums up a table, or says who printed it: ``Total suppliers``, 5000."""
    first, *others = [cell.strip() for cell in row.cells if cell.strip()] or [""]
    amounts = [bool(_AMOUNT.fullmatch(cell)) for cell in others]
    if not all(amounts):
        return False
    if _TOTAL.match(first):
        return bool(amounts) or _AMOUNT.search(first) is not None
    return _END.match(first) is not None


def day_notices(table: Table, day_columns: Mapping[int, DayColumn]) -> Iterator[str]:
    """Notices about columns of days that are read in the order that is rare here."""
    for index, column in day_columns.items():
        if column.is_found_month_first:
            subject = quote_header(index, table.header[index], table)
            advice = "as days of the file show that have no other reading. --day-first turns that."
            yield f"{subject[:1].upper()}{subject[1:]} is read with the month first, {advice}"
