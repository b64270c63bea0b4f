"""The file of rejected rows: the format and columns of the file imported, with the reason in one more."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

from apps.base.cell_texts import formula_safe
from apps.base.errors import system_reason
from apps.core.importing.columns import REASON
from apps.core.table_files.formats import format_of
from apps.core.table_files.tables import ImportFileError, Row, Table

#: The rows of a record, each with its reason.
Rejected = Sequence[tuple[Row, str]]


class RejectedRows:
    """The file; formats are subclasses. A reason of an earlier import gives way to the new one."""

    def __init__(self, path: Path, table: Table) -> None:
        self.path, self.table = path, table
        self.header = [header for header in table.header if header.strip() != REASON] + [REASON]

    def add(self, rejected: Rejected) -> None:
        """Add the rows of a record."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def cells(self, row: Row, reason: str) -> list[str]:
        """The cells under the header; of a row too long the cells beyond follow the reason."""
        names = self.table.header
        padded = [*row.cells, *[""] * (len(names) - len(row.cells))]
        cells = [cell for cell, name in zip(padded, names, strict=False) if name.strip() != REASON]
        return [*cells, reason, *padded[len(names) :]]


class DelimitedRejectedRows(RejectedRows):
    def __init__(self, path: Path, table: Table) -> None:
        super().__init__(path, table)
        encoding = table.encoding or "utf-8-sig"
        if encoding.startswith("utf-16"):
            encoding = "utf-16"  # with its byte order mark, whether or not it was read with one
        self.file = path.open("w", encoding=encoding, errors="replace", newline="")
        self.writer = csv.writer(self.file, delimiter=table.delimiter or ",")
        self.writer.writerow(map(formula_safe, self.header))

    def add(self, rejected: Rejected) -> None:
        for row, reason in rejected:
            self.writer.writerow(map(formula_safe, self.cells(row, reason)))

    def close(self) -> None:
        self.file.close()


class WorkbookRejectedRows(RejectedRows):
    def __init__(self, path: Path, table: Table) -> None:
        super().__init__(path, table)
        path.touch()
        self.book = Workbook(write_only=True)
        self.sheet = self.book.create_sheet("Rejected")
        self.sheet.append([text_cell(self.sheet, header) for header in self.header])

    def add(self, rejected: Rejected) -> None:
        for row, reason in rejected:
            self.sheet.append([text_cell(self.sheet, cell) for cell in self.cells(row, reason)])

    def close(self) -> None:
        self.book.save(self.path)


def text_cell(sheet: Any, text: str) -> Any:
    """A cell that no spreadsheet takes for a formula, without characters that no workbook can have."""
    cell = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("", text) or None)
    if cell.value is not None:
        cell.data_type = "s"
    return cell


class JsonLinesRejectedRows(RejectedRows):
    """NDJSON. Lists are lists again."""

    #: What is written before the first record, between records, and after the last.
    marks = ("", "\n", "\n")

    def __init__(self, path: Path, table: Table) -> None:
        super().__init__(path, table)
        self.file = path.open("w", encoding="utf-8")
        self.mark = self.marks[0]

    def add(self, rejected: Rejected) -> None:
        records: list[dict[str, Any]] = []
        for row, reason in rejected:
            cells = zip(self.header, self.cells(row, reason), strict=False)
            records.append({name: cell for name, cell in cells if cell})
        for record in records if self.table.list_name is None else [self.with_list(records)]:
            self.file.write(self.mark + json.dumps(record, ensure_ascii=False))
            self.mark = self.marks[1]

    def with_list(self, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The record of whose list each row is an item; the reason of the first is the record's own."""
        name = str(self.table.list_name)
        items = []
        for number, row in enumerate(rows):
            item = {key.removeprefix(f"{name}/"): row[key] for key in row if key.startswith(f"{name}/")}
            item.pop(REASON, None)
            items.append({**item, REASON: row[REASON]} if number else item)
        record = {key: cell for key, cell in rows[0].items() if not key.startswith(f"{name}/")}
        return {**record, name: items} if any(items) else record

    def close(self) -> None:
        self.file.write(self.marks[2])
        self.file.close()


class JsonRejectedRows(JsonLinesRejectedRows):
    marks = ('{"value": [\n', ",\n", "\n]}\n")


_WRITERS: dict[str, type[RejectedRows]] = {
    "csv": DelimitedRejectedRows,
    "xlsx": WorkbookRejectedRows,
    "json": JsonRejectedRows,
    "ndjson": JsonLinesRejectedRows,
}


def open_rejected_rows(path: Path, table: Table) -> RejectedRows:
    """Open the file; ``ImportFileError`` when it cannot be written."""
    try:
        return _WRITERS[format_of(path)](path, table)
    except OSError as error:
        raise ImportFileError(f"{path.name} cannot be written: {system_reason(error)}.") from None
