"""What an import tells: every fault with its cell, the sums, and the file of the rows that did not go in."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

from apps.core.importing.delimited import DelimitedTable
from apps.core.importing.headers import REASON
from apps.core.importing.opening import format_of
from apps.core.importing.tables import Row, Table, Unusable, letters
from apps.odata.read.flattening import formula_safe

#: So much of a cell is quoted in a message.
QUOTED = 60


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing found in a row: a fault, or with ``is_warning`` something that was let in.

    ``column`` is the index in the file; ``None`` when the fault is the whole row's or of a field the file
    has no column for. A warning that ``keeps_out`` its record is one that nobody has taken upon themselves.
    """

    row: Row
    column: int | None
    code: str
    message: str
    is_warning: bool = False
    keeps_out: bool = False


@dataclass(slots=True)
class Sums:
    """How many records went which way, and in how many ``lines`` of the file those that were judged stood.

    ``kept_out`` are those of the refused that only warnings keep out.
    """

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    refused: int = 0
    warned: int = 0
    kept_out: int = 0
    lines: int = 0

    @property
    def rows(self) -> int:
        return self.new + self.changed + self.unchanged + self.refused

    def __str__(self) -> str:
        return (
            f"{self.rows:,} rows: {self.new:,} new, {self.changed:,} changed, {self.unchanged:,} unchanged, "
            f"{self.refused:,} refused; {self.warned:,} warned of"
        )


class Report:
    """Collects the remarks of an import: tells each, writes refused rows to a file, keeps the sums.

    Holds no rows, however many are refused. ``tell`` is given each remark as one line of text.
    """

    def __init__(self, table: Table, errors: Path, tell: Callable[[str, Remark], None]) -> None:
        self.table = table
        self.errors = errors
        self.tell = tell
        self.sums = Sums()
        #: Whether several rows may be one record.
        self.has_lists = False
        self._file: RefusedRows | None = None

    def warn(self, remarks: Sequence[Remark]) -> None:
        """Tell the warnings of a row that goes in."""
        self.sums.warned += bool(remarks)
        for remark in remarks:
            self.tell(self.line(remark), remark)

    def refuse(self, row: Row, remarks: Sequence[Remark]) -> None:
        """Tell every fault of a row and put it into the file of refused rows."""
        self.refuse_record([row], remarks)

    def refuse_record(self, rows: Sequence[Row], remarks: Sequence[Remark]) -> None:
        """Tell every fault of the rows of a record and put all of them into the file of refused rows."""
        self.sums.refused += 1
        self.sums.kept_out += all(remark.is_warning for remark in remarks)
        for remark in remarks:
            self.tell(self.line(remark), remark)
        blamed = [remark for remark in remarks if remark.keeps_out or not remark.is_warning]
        if self._file is None:
            self._file = refused_rows(self.errors, self.table)
        for row in rows:
            reasons = [self.reason(remark) for remark in blamed if remark.row is row]
            self._file.add(row, " ".join(reasons) or self.whose_fault(blamed[0]))

    def whose_fault(self, remark: Remark) -> str:
        """The reason of a row that has no fault: which one of its record has."""
        number = f"{remark.row.number:,}" if remark.row.item is None else f"{remark.row.item:,} of its list"
        word = self.table.row_word if remark.row.item is None else "item"
        return f"SameRecord: {word} {number} keeps its record out, which goes in whole."

    def place(self, remark: Remark) -> str:
        """``row 12, B12 (Email)``; without a column only the row."""
        place = f"{self.table.row_word} {remark.row.number:,}"
        if remark.column is None:
            item = f", item {remark.row.item:,}" if remark.row.item else ""
            return place + item
        header = self.header(remark)
        if self.table.has_letters:
            return f"{place}, {letters(remark.column)}{remark.row.number} ({header})"
        return f"{place}, {header}"

    def header(self, remark: Remark) -> str:
        """The header of the column, with the number of the item where the file holds lists."""
        assert remark.column is not None
        header = self.table.header[remark.column].strip()
        name, slash, inner = header.partition("/")
        if remark.row.item is None or name.casefold() not in {one.casefold() for one in self.table.lists}:
            return header
        return f"{name}[{remark.row.item}]{slash}{inner}"

    def line(self, remark: Remark) -> str:
        """The whole remark as one line."""
        word = "warning " if remark.is_warning else ""
        return f"{self.place(remark)}: {word}{remark.code}: {self.sentence(remark)}"

    def reason(self, remark: Remark) -> str:
        """The remark as it stands beside its row."""
        code = f"warning {remark.code}" if remark.is_warning else remark.code
        if remark.column is None:
            return f"{code}: {remark.message}"
        return f"{self.header(remark)}: {code}: {self.sentence(remark)}"

    def sentence(self, remark: Remark) -> str:
        if remark.column is None or remark.column >= len(remark.row.cells):
            return remark.message
        cell = remark.row.cells[remark.column]
        return f"{remark.message} It is {quoted(cell)}." if cell.strip() else remark.message

    @property
    def errors_written(self) -> bool:
        return self._file is not None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def quoted(cell: str) -> str:
    """A cell's text in quotation marks on one line, not longer than a message can bear."""
    text = "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in cell)
    return f"“{text}”" if len(text) <= QUOTED else f"“{text[: QUOTED - 1]}…”"


# --- the file of refused rows ---------------------------------------------------------------------------


class RefusedRows(Protocol):
    """A file of the same format and columns as the one imported, with the reason in one more."""

    def add(self, row: Row, reason: str) -> None: ...

    def close(self) -> None: ...


def refused_rows(path: Path, table: Table) -> RefusedRows:
    """Open the file; ``Unusable`` when it cannot be written."""
    try:
        return _WRITERS[format_of(path)](path, table)
    except OSError as error:
        raise Unusable(f"{path} cannot be written: {error.strerror or error}.") from None


def header_with_reason(table: Table) -> list[str]:
    """The file's header; a reason of an earlier import gives way to the new one."""
    return [header for header in table.header if header.strip() != REASON] + [REASON]


def cells_with_reason(table: Table, row: Row, reason: str) -> list[str]:
    """The cells under ``header_with_reason``; of a row too long the cells beyond follow the reason."""
    width = len(table.header)
    padded = [*row.cells, *[""] * (width - len(row.cells))]
    kept = [cell for cell, header in zip(padded, table.header, strict=False) if header.strip() != REASON]
    return [*kept, reason, *padded[width:]]


class DelimitedRefused:
    def __init__(self, path: Path, table: Table) -> None:
        self.table = table
        encoding, delimiter = "utf-8-sig", ","
        if isinstance(table, DelimitedTable):
            encoding, delimiter = table.encoding, table.delimiter
        self.file: IO[str] = path.open("w", encoding=encoding, errors="replace", newline="")
        self.writer = csv.writer(self.file, delimiter=delimiter)
        self.writer.writerow(header_with_reason(table))

    def add(self, row: Row, reason: str) -> None:
        self.writer.writerow(map(formula_safe, cells_with_reason(self.table, row, reason)))

    def close(self) -> None:
        self.file.close()


class WorkbookRefused:
    def __init__(self, path: Path, table: Table) -> None:
        self.table, self.path = table, path
        path.touch()
        self.book = Workbook(write_only=True)
        self.sheet = self.book.create_sheet("Refused")
        self.sheet.append(header_with_reason(table))

    def add(self, row: Row, reason: str) -> None:
        cells = cells_with_reason(self.table, row, reason)
        self.sheet.append([text_cell(self.sheet, cell) for cell in cells])

    def close(self) -> None:
        self.book.save(self.path)


def text_cell(sheet: Any, text: str) -> Any:
    """A cell that no spreadsheet takes for a formula, without signs that no workbook can hold."""
    cell = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("", text) or None)
    if cell.value is not None:
        cell.data_type = "s"
    return cell


class JsonRefused:
    """JSON when ``between`` the records stands a comma, NDJSON without. Lists are lists again."""

    def __init__(self, path: Path, table: Table, before: str, between: str, after: str) -> None:
        self.table, self.between, self.after = table, between, after
        self.file: IO[str] = path.open("w", encoding="utf-8")
        self.file.write(before)
        self.is_first = True
        self.held: dict[str, Any] | None = None

    def add(self, row: Row, reason: str) -> None:
        names, cells = header_with_reason(self.table), cells_with_reason(self.table, row, reason)
        record = {name: cell for name, cell in zip(names, cells, strict=False) if cell}
        items: dict[str, dict[str, str]] = {}
        for name in list(record):
            before, slash, inner = name.partition("/")
            if row.item is not None and slash and before in self.table.lists and inner != REASON:
                items.setdefault(before, {})[inner] = record.pop(name)
        if row.item:
            assert self.held is not None
            for name, item in items.items():
                self.held.setdefault(name, []).append({**item, REASON: reason})
            return
        self.flush()
        self.held = record | {name: [item] for name, item in items.items()}

    def flush(self) -> None:
        """Write the record whose items were collected."""
        if self.held is None:
            return
        if not self.is_first:
            self.file.write(self.between)
        self.is_first = False
        self.file.write(json.dumps(self.held, ensure_ascii=False))
        self.held = None

    def close(self) -> None:
        self.flush()
        self.file.write(self.after)
        self.file.close()


_WRITERS: dict[str, Callable[[Path, Table], RefusedRows]] = {
    "csv": DelimitedRefused,
    "xlsx": WorkbookRefused,
    "json": lambda path, table: JsonRefused(path, table, '{"value": [\n', ",\n", "\n]}\n"),
    "ndjson": lambda path, table: JsonRefused(path, table, "", "\n", "\n"),
}


def errors_beside(path: Path) -> Path:
    """Where refused rows go unless told: ``people.csv`` -> ``people.errors.csv``."""
    suffix = ".xlsx" if format_of(path) == "xlsx" else path.suffix
    return path.with_name(f"{path.stem}.errors{suffix}")


def in_order(remarks: Iterable[Remark]) -> list[Remark]:
    """The remarks of a row in the order of its columns, the row's own last."""
    return sorted(remarks, key=lambda remark: (remark.column is None, remark.column or 0))
