"""Files of one form, such as another system writes: their columns are known, and nobody chooses them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.base.errors import plural
from apps.core.importing.cells import letters_of
from apps.core.importing.columns import REASON, CellIssue, ImportColumn
from apps.core.importing.report import RowIssue
from apps.core.table_files.tables import ImportFileError, Row, Table, column_letters


class InvalidRows(Exception):
    """A file with faults, of which nothing may be stored; each is a sentence that names row and column."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__(f"Nothing was stored: {plural(len(faults), 'fault')}.")
        self.faults = list(faults)


@dataclass(frozen=True)
class FoundColumns:
    """The columns of a file, by their names; headers that are ``unknown``, columns that it must not lack."""

    by_name: Mapping[str, ImportColumn]
    unknown: Sequence[str]
    missing: Sequence[ImportColumn]


def find_columns(
    table: Table, columns: Iterable[ImportColumn], day_first: bool | None = None
) -> FoundColumns:
    """The columns by their headers, in any order and spelling; ``ImportFileError`` when two are the same.

    ``day_first`` is what the person says of the order of days.
    """
    columns = list(columns)
    known = {letters_of(header): column for column in columns for header in (column.name, *column.headers)}
    found: dict[str, ImportColumn] = {}
    unknown = []
    for index, header in enumerate(table.header):
        column = known.get(letters_of(header))
        if column is None:
            is_reason = letters_of(header) == letters_of(REASON)
            unknown += [header.strip()] if header.strip() and not is_reason else []
            continue
        if column.name in found:
            pair = f"{column_letters(found[column.name].index)} and {column_letters(index)}"
            raise ImportFileError(f"Columns {pair} are both {found[column.name].header.strip()}.")
        found[column.name] = column.in_file(table, index, day_first)
    needed = [column for column in columns if column.in_every_file or column.in_every_row]
    return FoundColumns(found, unknown, [column for column in needed if column.name not in found])


def read_row(
    row: Row, columns: Mapping[str, ImportColumn]
) -> tuple[dict[str, Any], list[tuple[ImportColumn, CellIssue]]]:
    """The values of a row that is no defect, by their columns' names, and what is wrong or was corrected."""
    values: dict[str, Any] = {}
    issues: list[tuple[ImportColumn, CellIssue]] = []
    for name, column in columns.items():
        value = column.values(row.cells[column.index])
        if isinstance(value, CellIssue):
            issues.append((column, value))
            value = value.value
        elif value is None and column.in_every_row:
            issues.append((column, CellIssue("Required", "is required.")))
        values[name] = value
    return values, issues


@dataclass(eq=False)
class FixedRow:
    """A row of the columns that its file has, with the issues found so far."""

    row: Row
    columns: Mapping[str, ImportColumn]
    errors: list[RowIssue] = field(default_factory=list)
    warnings: list[RowIssue] = field(default_factory=list)

    def add_error(self, column: str, code: str, message: str) -> None:
        self.errors.append(self.issue(column, code, message))

    def issue(self, column: str, code: str, message: str, is_warning: bool = False) -> RowIssue:
        found = self.columns.get(column)
        return RowIssue(self.row, None if found is None else found.index, code, message, is_warning)

    def add_cell_issues(
        self, issues: Iterable[tuple[ImportColumn, CellIssue]], warnings: list[RowIssue]
    ) -> None:
        """Add what ``read_row`` found; ``warnings`` are the list for those of cells."""
        for column, found in issues:
            message = found.about("It").message
            issue = RowIssue(self.row, column.index, found.code, message, found.is_warning)
            (warnings if found.is_warning else self.errors).append(issue)
