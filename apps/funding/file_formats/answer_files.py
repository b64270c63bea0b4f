"""The common part of results and remittances: files opened with limits, read row by row.

Source: docs/money.md. Columns are found by their names, in any order and case; what else a row has is kept
with it, but for the names and numbers of participants.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from apps.base.declaration.values import WireValueError
from apps.base.money import CENT
from apps.core.importing.cells import decimal_number, letters_of
from apps.core.importing.columns import CellIssue, ImportColumn
from apps.core.importing.fixed_columns import FoundColumns, InvalidRows, find_columns, read_row
from apps.core.importing.report import quoted
from apps.core.table_files.opening import open_table
from apps.core.table_files.tables import ImportFileError, Row, Table, column_letters

MAX_BYTES, MAX_ROWS = 25 << 20, 100_000
#: Characters of a reference, a payment number and a code.
MAX_NAME = 50

#: Columns about a participant, who is known by the claim: nothing of them is kept.
PERSONAL_COLUMNS = frozenset(
    {
        *("participant", "participantname", "participantbp", "participantnumber", "participantid"),
        *("participantdob", "name", "firstname", "lastname", "surname", "dateofbirth"),
        *("ndisnumber", "ndisno"),
    }
)


class AnswerRow(NamedTuple):
    """A row, what its known columns have by their names, and its other cells by their headers.

    Its cells about participants are emptied.
    """

    row: Row
    values: Mapping[str, Any]
    extra: Mapping[str, str]


def check_size(path: Path) -> None:
    """``ImportFileError`` for a file that is larger than any of the agency's."""
    if path.is_file() and path.stat().st_size > MAX_BYTES:
        raise ImportFileError(f"{path.name} is larger than {MAX_BYTES >> 20} MiB: split it.")


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_answers(path: Path) -> Table:
    check_size(path)
    return open_table(path)


def find_answer_columns(
    table: Table, columns: Sequence[ImportColumn], noun: str, other: Sequence[ImportColumn], other_noun: str
) -> FoundColumns:
    """The columns of a file; ``ImportFileError`` says that it is one of the other kind, or what it lacks."""
    name, found = table.path.name, find_columns(table, columns)
    if not found.missing:
        return found
    if not find_columns(table, other).missing:
        raise ImportFileError(f"{name} has {other_noun} of the agency, not {noun}: import it as such.")
    missing = ", ".join(column.headers[0] for column in found.missing)
    if not found.by_name:
        raise ImportFileError(f"{name} does not hold {noun} of the agency: it lacks {missing}.")
    word = "column" if len(found.missing) == 1 else "columns"
    raise ImportFileError(f"{name} lacks the {word} {missing}: is it what the agency sent?")


def read_rows(table: Table, found: FoundColumns) -> Iterator[AnswerRow]:
    """Every row; behind the last ``InvalidRows`` for faults, ``ImportFileError`` where there is none."""
    columns, faults, count = found.by_name, list[str](), 0
    used = {column.index for column in columns.values()}
    headers = [(index, header.strip()) for index, header in enumerate(table.header) if index not in used]
    personal = {index for index, header in headers if letters_of(header) in PERSONAL_COLUMNS}
    extra = [(index, header) for index, header in headers if header and index not in personal]
    for count, row in enumerate(table.rows(), start=1):
        if count > MAX_ROWS:
            raise ImportFileError(f"{table.path.name} has more than {MAX_ROWS:,} rows: split it.")
        place = f"{table.row_word} {row.number:,}"
        if any("\0" in cell for cell in row.cells):
            raise ImportFileError(f"{table.path.name}, {place} holds a NUL character; is this a text file?")
        if row.defect is not None:
            faults.append(f"{place} {row.defect}")
            continue
        values, issues = read_row(row, columns)
        faults += [fault_text(table, row, column, issue) for column, issue in issues if not issue.is_warning]
        cells = ["" if index in personal else cell for index, cell in enumerate(row.cells)]
        others = {header: cells[index] for index, header in extra if cells[index]}
        yield AnswerRow(row._replace(cells=cells), values, others)
    if not count:
        raise ImportFileError(f"{table.path.name} has no rows.")
    if faults:
        raise InvalidRows(faults)


def fault_text(table: Table, row: Row, column: ImportColumn, issue: CellIssue) -> str:
    """A fault of a cell with its place and its text: ``Row 12, C12: Amount must be a number. It is “x”.``"""
    place, text = f"{table.row_word} {row.number:,}", row.cells[column.index]
    if table.has_cell_addresses:
        place += f", {column_letters(column.index)}{row.number}"
    sentence = f"{place}: {issue.about(column.headers[0]).message}"
    return f"{sentence} It is {quoted(text)}." if text else sentence


_SIGNS_OF_AMOUNTS = frozenset("0123456789.,$+- ")


def parse_amount(text: str) -> Decimal:
    """``1234.50``, ``1,234.50`` or ``$1,234.50``, to the cent; never ``1.234,50``.

    The agency writes no ``(50.00)``: whoever did would have to say what it means.
    """
    if not set(text) <= _SIGNS_OF_AMOUNTS or text.endswith("-"):
        raise WireValueError("InvalidNumber", "must be a number.")
    amount = decimal_number(text)
    if amount.adjusted() >= 10:
        raise WireValueError("OutOfRange", "is more than any claim comes to.")
    if amount != amount.quantize(CENT):
        raise WireValueError("InvalidNumber", "has more than two decimals.")
    return amount.quantize(CENT)


def read_name(text: str) -> str:
    if len(text) > MAX_NAME:
        raise WireValueError("TooLong", f"has more than {MAX_NAME} characters.")
    return text
