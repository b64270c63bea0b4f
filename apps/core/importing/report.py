"""The report of an import: every issue with its cell, the counts, and the file of the rejected rows."""

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from apps.base.cell_texts import formula_safe
from apps.base.errors import system_reason
from apps.core.importing.rejected_rows import RejectedRows, open_rejected_rows
from apps.core.table_files.tables import ImportFileError, Row, Table, column_letters

#: So many characters of a cell are quoted in a message.
QUOTED = 60
#: Different cells of an issue that are counted, and different issues: the rest of them is only in the file.
COUNTED_VALUES, COUNTED_KINDS = 50, 200
#: Sentences of one code in one column that are kinds of their own; with more, each is about its own record,
#: and all are one kind.
SENTENCES_OF_A_CODE = 5
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class RowIssue:
    """An error of a row, or with ``is_warning`` something unusual.

    ``column`` is the index in the file; ``None`` when the issue is the whole row's or of a field that the
    file has no column for. ``is_of_record``: the cell is understood, and its record is what is unusual.
    """

    row: Row
    column: int | None
    code: str
    message: str
    is_warning: bool = False
    is_of_record: bool = False


@dataclass(slots=True)
class IssueKind:
    """Issues of a column that say the same: how many, the first's sentence, how often which cell.

    ``column`` is the index in the file, ``None`` for whole rows. ``values`` are none of whole rows. Where the
    sentences differ, in a number at least, ``message`` is that of the cell ``example`` alone.
    """

    column: int | None
    code: str
    is_warning: bool
    is_of_record: bool
    message: str
    example: str
    is_example: bool = False
    count: int = 0
    values: Counter[str] = field(default_factory=Counter)

    def absorb(self, other: "IssueKind") -> None:
        """Take in the issues of another kind."""
        self.is_example = True
        self.count += other.count
        self.values += other.values


#: The header of the file of issues.
HEADER = ("Severity", "Row", "Column", "Value", "Code", "Sentence")
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


class IssueFile:
    """The issues of an import as a CSV file, a line each. ``ImportFileError`` when it cannot be written."""

    def __init__(self, path: Path) -> None:
        try:
            self.file = path.open("w", encoding="utf-8-sig", errors="replace", newline="")
        except OSError as error:
            raise ImportFileError(f"{path.name} cannot be written: {system_reason(error)}.") from None
        self.writer = csv.writer(self.file)
        self.writer.writerow(HEADER)

    def add(self, *cells: str) -> None:
        """Add an issue, as ``HEADER`` has it."""
        self.writer.writerow(map(formula_safe, cells))

    def close(self) -> None:
        self.file.close()


class ImportReport:
    """Collects the issues of an import: shows each, counts them, writes them and rejected rows to files.

    Holds no rows, however many are rejected. ``errors`` is the file of rejected rows, ``issues`` that of all
    issues, whose sentences are reworded; without them none is written.
    """

    def __init__(
        self,
        table: Table,
        errors: Path | None,
        show: ShowIssue,
        issues: Path | None = None,
        reword: Callable[[str], str] = str,
    ) -> None:
        self.table = table
        self.errors = errors
        self.show, self.reword = show, reword
        self.counts = ImportCounts()
        #: By column and code, and by sentence without numbers; of too many sentences by none.
        self._kinds: defaultdict[tuple[int | None, str], dict[str | None, IssueKind]] = defaultdict(dict)
        self._issue_file = IssueFile(issues) if issues is not None else None
        #: Whether somebody cancelled the import before its last row.
        self.is_cancelled = False
        #: Whether several rows may be one record.
        self.has_items = False
        self._file: RejectedRows | None = None

    @property
    def kinds(self) -> list[IssueKind]:
        """The kinds of issues: errors first, the most frequent first."""
        kinds = chain.from_iterable(of_code.values() for of_code in self._kinds.values())
        return sorted(kinds, key=lambda kind: (kind.is_warning, -kind.count))

    def note(self, issue: RowIssue) -> None:
        """Count an issue, write it to the file of issues, and show it."""
        cell, kind = self.cell(issue), self.kind_of(issue)
        if kind is not None:
            kind.count += 1
            kind.is_example |= issue.message != kind.message
            if issue.column is not None and (cell in kind.values or len(kind.values) < COUNTED_VALUES):
                kind.values[cell] += 1
        if self._issue_file is not None:
            header = "" if issue.column is None else self.header(issue)
            row = f"{issue.row.number}" + (f" item {issue.row.item}" if issue.row.item else "")
            sentence = self.reword(issue.message)
            severity = "warning" if issue.is_warning else "error"
            self._issue_file.add(severity, row, header, cell, issue.code, sentence)
        self.show(issue, self.line(issue))

    def kind_of(self, issue: RowIssue) -> IssueKind | None:
        """The kind that the issue counts as; ``None`` when there are too many."""
        kinds, sentence = self._kinds[issue.column, issue.code], _DIGITS.sub("0", issue.message)
        if sentence not in kinds and len(kinds) == SENTENCES_OF_A_CODE:
            first, *others = kinds.values()
            for each in others:
                first.absorb(each)
            kinds.clear()
            kinds[None] = first
        if None in kinds:
            return kinds[None]
        if sentence not in kinds:
            if sum(map(len, self._kinds.values())) >= COUNTED_KINDS:
                return None
            kinds[sentence] = IssueKind(
                issue.column,
                issue.code,
                issue.is_warning,
                issue.is_of_record,
                issue.message,
                self.cell(issue),
            )
        return kinds[sentence]

    def warn(self, issues: Sequence[RowIssue]) -> None:
        """Show the warnings of a record that goes in."""
        self.counts.with_warnings += bool(issues)
        for issue in in_column_order(issues):
            self.note(issue)

    def leave_out(self, issues: Sequence[RowIssue]) -> None:
        """Show why rows are left out, each of which is no record."""
        self.counts.left_out += len(issues)
        for issue in issues:
            self.note(issue)

    def reject(
        self, rows: Sequence[Row], errors: Sequence[RowIssue], warnings: Sequence[RowIssue] = ()
    ) -> None:
        """Show every issue of a record and write its rows to the file of rejected rows.

        Among the errors are warnings that nobody confirmed.
        """
        self.counts.rejected += 1
        self.counts.unconfirmed += all(issue.is_warning for issue in errors)
        for issue in in_column_order([*errors, *warnings]):
            self.note(issue)
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
        """The name of a record in a message about another row."""
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

    def cell(self, issue: RowIssue) -> str:
        """The text of the cell; empty for an issue of the whole row, and where the row is too short."""
        return "" if issue.column is None else "".join(issue.row.cells[issue.column : issue.column + 1])

    def kind_line(self, kind: IssueKind) -> str:
        """``69 × State, NotAChoice: … “Qld” 40 ×, “N.S.W.” 29 ×``.

        Where sentences differ: ``69 × State, StateAbbreviated: for example “Queensland”: …``.
        """
        place = "" if kind.column is None else f"{self.table.header[kind.column].strip()}, "
        values = [f"{quoted(value)} {count:,} ×" for value, count in kind.values.most_common(5) if value]
        message = kind.message
        if kind.is_example:
            message = f"for example{f' {quoted(kind.example)}' if kind.example else ''}: {message}"
        text = f"{kind.count:,} × {'warning ' if kind.is_warning else ''}{place}{kind.code}: {message}"
        return f"{text} {', '.join(values)}" if values else text

    def line(self, issue: RowIssue) -> str:
        return f"{self.place(issue)}: {self.sentence(issue)}"

    def reason(self, issue: RowIssue) -> str:
        """The issue as it is written beside its row."""
        where = "" if issue.column is None else f"{self.header(issue)}: "
        return where + self.sentence(issue)

    def sentence(self, issue: RowIssue) -> str:
        cell = self.cell(issue)
        value = f" It is {quoted(cell)}." if cell.strip() else ""
        return f"{'warning ' if issue.is_warning else ''}{issue.code}: {issue.message}{value}"

    def close(self) -> None:
        for file in (self._file, self._issue_file):
            if file is not None:
                file.close()


def quoted(cell: str) -> str:
    """A cell's text in quotation marks on one line, not longer than a message should be."""
    text = "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in cell)
    return f"“{text}”" if len(text) <= QUOTED else f"“{text[: QUOTED - 1]}…”"


def in_column_order(issues: Iterable[RowIssue]) -> list[RowIssue]:
    """The issues of a row in the order of its columns, the row's own last."""
    return sorted(issues, key=lambda issue: (issue.column is None, issue.column or 0))
