"""The file of rejected rows: the format and columns of the file imported, with the reason in one more."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Protocol

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

from apps.core.importing.columns import REASON
from apps.core.importing.delimited import DelimitedTable
from apps.core.importing.file_formats import format_of
from apps.core.importing.tables import ImportFileError, Row, Table
from apps.odata.read.flattening import formula_safe


class RejectedRows(Protocol):
    """A file of the same format and columns as the one imported, with the reason in one more."""

    def add(self, row: Row, reason: str) -> None: ...

    def close(self) -> None: ...


def open_rejected_rows(path: Path, table: Table) -> RejectedRows:
    """Open the file; ``ImportFileError`` when it cannot be written."""
    try:
        return _WRITERS[format_of(path)](path, table)
    except OSError as error:
        raise ImportFileError(f"{path} cannot be written: {error.strerror or error}.") from None


def header_with_reason(table: Table) -> list[str]:
    """The file's header; a reason of an earlier import gives way to the new one."""
    return [header for header in table.header if header.strip() != REASON] + [REASON]


def cells_with_reason(table: Table, row: Row, reason: str) -> list[str]:
    """The cells under ``header_with_reason``; of a row too long the cells beyond follow the reason."""
    width = len(table.header)
    padded = [*row.cells, *[""] * (width - len(row.cells))]
    cells = [cell for cell, header in zip(padded, table.header, strict=False) if header.strip() != REASON]
    return [*cells, reason, *padded[width:]]


class DelimitedRejectedRows:
    def __init__(self, path: Path, table: Table) -> None:
        self.table = table
        encoding, delimiter = "utf-8-sig", ","
        if isinstance(table, DelimitedTable):
            # UTF-16 is written with its byte order mark, whether or not it was read with one.
            encoding = "utf-16" if table.encoding.startswith("utf-16") else table.encoding
            delimiter = table.delimiter
        self.file: IO[str] = path.open("w", encoding=encoding, errors="replace", newline="")
        self.writer = csv.writer(self.file, delimiter=delimiter)
        self.writer.writerow(header_with_reason(table))

    def add(self, row: Row, reason: str) -> None:
        self.writer.writerow(map(formula_safe, cells_with_reason(self.table, row, reason)))

    def close(self) -> None:
        self.file.close()


class WorkbookRejectedRows:
    def __init__(self, path: Path, table: Table) -> None:
        self.table, self.path = table, path
        path.touch()
        self.book = Workbook(write_only=True)
        self.sheet = self.book.create_sheet("Rejected")
        self.sheet.append(header_with_reason(table))

    def add(self, row: Row, reason: str) -> None:
        cells = cells_with_reason(self.table, row, reason)
        self.sheet.append([text_cell(self.sheet, cell) for cell in cells])

    def close(self) -> None:
        self.book.save(self.path)


def text_cell(sheet: Any, text: str) -> Any:
    """A cell that no spreadsheet takes for a formula, without characters that no workbook can have."""
    cell = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("", text) or None)
    if cell.value is not None:
        cell.data_type = "s"
    return cell


class JsonRejectedRows:
    """JSON with a comma ``between`` the records, NDJSON without. Lists are lists again."""

    def __init__(self, path: Path, table: Table, before: str, between: str, after: str) -> None:
        self.table, self.between, self.after = table, between, after
        self.file: IO[str] = path.open("w", encoding="utf-8")
        self.file.write(before)
        self.is_first = True
        self.record: dict[str, Any] | None = None

    def add(self, row: Row, reason: str) -> None:
        names, cells = header_with_reason(self.table), cells_with_reason(self.table, row, reason)
        record = {name: cell for name, cell in zip(names, cells, strict=False) if cell}
        items: dict[str, dict[str, str]] = {}
        for name in list(record):
            before, slash, inner = name.partition("/")
            if row.item is not None and slash and before in self.table.list_names and inner != REASON:
                items.setdefault(before, {})[inner] = record.pop(name)
        if row.item:
            assert self.record is not None
            for name, item in items.items():
                self.record.setdefault(name, []).append({**item, REASON: reason})
            return
        self.flush()
        self.record = record | {name: [item] for name, item in items.items()}

    def flush(self) -> None:
        """Write the record whose items were collected."""
        if self.record is None:
            return
        if not self.is_first:
            self.file.write(self.between)
        self.is_first = False
        self.file.write(json.dumps(self.record, ensure_ascii=False))
        self.record = None

    def close(self) -> None:
        self.flush()
        self.file.write(self.after)
        self.file.close()


_WRITERS: dict[str, Callable[[Path, Table], RejectedRows]] = {
    "csv": DelimitedRejectedRows,
    "xlsx": WorkbookRejectedRows,
    "json": lambda path, table: JsonRejectedRows(path, table, '{"value": [\n', ",\n", "\n]}\n"),
    "ndjson": lambda path, table: JsonRejectedRows(path, table, "", "\n", "\n"),
}
