"""What an import reports: every issue with its cell, the counts, and the file of the rejected rows."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from apps.core.importing.rejected_rows import RejectedRows, open_rejected_rows
from apps.core.table_files.tables import Row, Table, column_letters

#: So many characters of a cell are quoted in a message.
QUOTED = 60


@dataclass(frozen=True, slots=True)
class RowIssue:
    """An error of a row, or with ``is_warning`` something unusual.

    ``column`` is the index in the file; ``None`` when the issue is the whole row's or of a field that the
    file has no column for.
    """

    row: Row
    column: int | None
    code: str
    message: str
    is_warning: bool = False


#: Shows an issue to the user: beside its cell, or as one line of text.
ShowIssue = Callable[[RowIssue, str], None]


@dataclass(slots=True)
class ImportCounts:
    """How many records were new, changed and so on, and how many ``rows`` of the file they were.

    ``unconfirmed`` are those of the rejected that only warnings keep out. ``left_out`` are rows that are no
    records, such as sums below a table.
    """

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    rejected: int = 0
    with_warnings: int = 0
    unconfirmed: int = 0
    left_out: int = 0
    rows: int = 0

    @property
    def records(self) -> int:
        return self.new + self.changed + self.unchanged + self.rejected


class ImportReport:
    """Collects the issues of an import: shows each, writes rejected rows to a file, keeps the counts.

    Holds no rows, however many are rejected. Without ``errors`` no file is written.
    """

    def __init__(self, table: Table, errors: Path | None, show: ShowIssue) -> None:
        self.table = table
        self.errors = errors
        self.show = show
        self.counts = ImportCounts()
        #: Whether several rows may be one record.
        self.has_items = False
        self._file: RejectedRows | None = None

    def warn(self, issues: Sequence[RowIssue]) -> None:
        """Show the warnings of a record that goes in."""
        self.counts.with_warnings += bool(issues)
        for issue in in_column_order(issues):
            self.show(issue, self.line(issue))

    def leave_out(self, issues: Sequence[RowIssue]) -> None:
        """Show why rows are left out, each of which is no record."""
        self.counts.left_out += len(issues)
        for issue in issues:
            self.show(issue, self.line(issue))

    def reject(
        self, rows: Sequence[Row], errors: Sequence[RowIssue], warnings: Sequence[RowIssue] = ()
    ) -> None:
        """Show every issue of a record and write its rows to the file of rejected rows.

        Among the errors are warnings that nobody confirmed.
        """
        self.counts.rejected += 1
        self.counts.unconfirmed += all(issue.is_warning for issue in errors)
        for issue in in_column_order([*errors, *warnings]):
            self.show(issue, self.line(issue))
        if self.errors is None:
            return
        if self._file is None:
            self._file = open_rejected_rows(self.errors, self.table)
        errors = in_column_order(errors)
        reasons = [" ".join(self.reason(issue) for issue in errors if issue.row is row) for row in rows]
        same_record = self.same_record(errors[0])
        self._file.add([(row, reason or same_record) for row, reason in zip(rows, reasons, strict=True)])

    def same_record(self, issue: RowIssue) -> str:
        """The reason of a row without an error: which row of its record has one."""
        number = f"{issue.row.number:,}" if issue.row.item is None else f"{issue.row.item:,} of its list"
        word = self.table.row_word if issue.row.item is None else "item"
        return f"SameRecord: {word} {number} keeps its record out, which goes in whole."

    def record_label(self, row: Row) -> str:
        """What a message about another row calls the record of this one."""
        return f"the record in {self.table.row_word} {row.number:,} of the file"

    def place(self, issue: RowIssue) -> str:
        """``row 12, B12 (Email)``; without a column only the row, of several sheets with the sheet."""
        sheet = f"sheet {self.table.sheet}, " if len(self.table.sheets) > 1 else ""
        place = f"{sheet}{self.table.row_word} {issue.row.number:,}"
        if issue.column is None:
            return place + (f", item {issue.row.item:,}" if issue.row.item else "")
        header = self.header(issue)
        if self.table.has_cell_addresses:
            return f"{place}, {column_letters(issue.column)}{issue.row.number} ({header})"
        return f"{place}, {header}"

    def header(self, issue: RowIssue) -> str:
        """The header of the column, with the number of the item where the file has lists."""
        assert issue.column is not None
        header = self.table.header[issue.column].strip()
        name, slash, inner = header.partition("/")
        if issue.row.item is None or name != self.table.list_name:
            return header
        return f"{name}[{issue.row.item}]{slash}{inner}"

    def line(self, issue: RowIssue) -> str:
        return f"{self.place(issue)}: {self.sentence(issue)}"

    def reason(self, issue: RowIssue) -> str:
        """The issue as it is written beside its row."""
        where = "" if issue.column is None else f"{self.header(issue)}: "
        return where + self.sentence(issue)

    def sentence(self, issue: RowIssue) -> str:
        cell = "" if issue.column is None else "".join(issue.row.cells[issue.column : issue.column + 1])
        value = f" It is {quoted(cell)}." if cell.strip() else ""
        return f"{'warning ' if issue.is_warning else ''}{issue.code}: {issue.message}{value}"

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def quoted(cell: str) -> str:
    """A cell's text in quotation marks on one line, not longer than a message should be."""
    text = "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in cell)
    return f"“{text}”" if len(text) <= QUOTED else f"“{text[: QUOTED - 1]}…”"


def in_column_order(issues: Iterable[RowIssue]) -> list[RowIssue]:
    """The issues of a row in the order of its columns, the row's own last."""
    return sorted(issues, key=lambda issue: (issue.column is None, issue.column or 0))
