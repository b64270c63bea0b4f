"""The first pass over a file: how many rows it has, the order of its days, what stands below the table."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from apps.core.importing.days import DayColumn, share_order
from apps.core.importing.headers import quote_header, sentence_start
from apps.core.importing.report import RowIssue
from apps.core.table_files.tables import Row, Table

#: More rows than stand below any table.
MAX_FOOTER = 20
#: More sums than groups of any list.
MAX_SUMS = 10_000
_TOTAL = re.compile(r"\W*(?:grand |sub-?)?(?:totals?|sum|count|number of|no\.? of)\b", re.IGNORECASE)
#: Nobody is called so: it is a total however few columns there are.
_BARE_TOTAL = re.compile(r"\W*(?:grand |sub-?)?totals?\W*", re.IGNORECASE)
_END = re.compile(
    r"\W*+(?:end of (?:report|list|file|export|data)\b"
    r"|(?:printed|generated|exported|produced|created|report(?:ed)?|page)(?: (?:on|by|at|date|of)\b|:| ?\d)"
    r"|[\d,]+ (?:records?|rows?|lines?|entries)\b"
    r"|(?:copyright|confidential)\b)|[*=_-]{3,}|©",
    re.IGNORECASE,
)
#: Between the records of a list that was printed, below each page of it.
_PAGE = re.compile(
    r"\W*(?:page ?:? ?\d+(?: ?(?:of|/) ?\d+)?|(?:printed|generated|exported) (?:on|at)\b.*\d.*)\W*",
    re.IGNORECASE,
)
#: A count or a sum: what has more digits in one piece is a telephone or a business number.
_AMOUNT = re.compile(r"-?\$? ?(?:\d{1,7}|\d{1,3}(?:,\d{3})+)(?:\.\d+)?")


@dataclass
class FirstPass:
    """The findings about a file: its records' rows, the ``footer`` below them, sums and feet among them."""

    table: Table
    row_count: int = 0
    footer: list[Row] = field(default_factory=list)
    sums: dict[int, Row] = field(default_factory=dict)

    def take(self, rows: Iterable[Row]) -> None:
        """Count rows that might have ended the table, and keep the sums and feet of pages among them."""
        for row in rows:
            if len(self.sums) < MAX_SUMS and (is_sum(row) or is_foot_of_page(row)):
                self.sums[row.number] = row
            else:
                self.row_count += 1

    def rows(self) -> Iterator[Row]:
        """The rows of the table itself."""
        rows = islice(self.table.rows(), self.row_count + len(self.sums))
        return (row for row in rows if row.number not in self.sums) if self.sums else rows

    def footer_issues(self) -> Iterator[RowIssue]:
        """A warning for each row that is left out."""
        for row in self.sums.values():
            what = "the foot of a page" if is_foot_of_page(row) else "a sum"
            message = f"It is {what} and no record: it is left out."
            yield RowIssue(row, None, "Footer", message, is_warning=True)
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
    note, last_number = list[str](), 0
    is_in_note = False
    for row in table.rows():
        cells = row.cells
        if row.defect is None:
            for index, column in columns:
                column.observe(cells[index])
        filled = len(cells) - cells.count("")
        if row.number > last_number + 1 > 1:
            note, is_in_note = [], True
        last_number = row.number
        is_in_note = is_in_note and filled == 1 < width and len(note) < MAX_FOOTER
        note += ["".join(cells).strip()] if is_in_note else []
        is_short = filled * 2 <= width or _BARE_TOTAL.fullmatch("".join(cells[:1]))
        if table.has_cell_addresses and (is_in_note or (is_short and is_footer(row))):
            below.append(row)
            continue
        found.take(below)
        found.row_count += 1
        below.clear()
    share_order(day_columns.values())
    note_length = len(note) if is_in_note and is_note(note) else 0
    sums = below[: len(below) - note_length]
    own = next((length for length in range(len(sums), 0, -1) if not is_footer(sums[length - 1])), 0)
    found.take(below[:own])
    del below[:own]
    if len(below) > MAX_FOOTER or not found.row_count:
        found.row_count += len(below)
    else:
        found.footer = below
    return found


def is_sum(row: Row) -> bool:
    """True when a row has amounts behind the bare word Total, as below each group of some lists."""
    first, *others = [cell.strip() for cell in row.cells if cell.strip()] or [""]
    if not others or len(row.cells) < 3 or _BARE_TOTAL.fullmatch(first) is None:
        return False  # of two columns the other may be a code
    return is_footer(row)


def is_foot_of_page(row: Row) -> bool:
    """True when the only cell of a row says which page ends, or when the list was printed."""
    filled = [cell.strip() for cell in row.cells if cell.strip()]
    return len(row.cells) >= 3 and len(filled) == 1 and _PAGE.fullmatch(filled[0]) is not None


def is_note(texts: Sequence[str]) -> bool:
    """True when single cells below an empty row say that a report ends.

    Then none of them is a record: ``Clients by name`` neither, above ``Copyright …``.
    """
    return any(map(_END.match, texts)) and not any(map(_TOTAL.match, texts))


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
            subject = sentence_start(quote_header(index, table.header[index], table))
            advice = "as days of the file show that have no other reading. --day-first turns that."
            yield f"{subject} is read with the month first, {advice}"
