"""Tables from sheets of Excel workbooks, which are zip files and may be bombs."""

import datetime as dt
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import openpyxl

from apps.core.table_files.tables import MAX_ROW, UNCALCULATED, ImportFileError, Table

#: Bytes of everything in the workbook once unpacked, and of what must be in memory at once.
MAX_UNPACKED = 1 << 30
MAX_SHARED = 64 << 20
MAX_SHEETS = 200
MAX_FILES = 2_000
#: Bytes of a sheet from one tag to the next (the format ends a cell at 32,767 characters) and from one row to
#: the next: the parser holds them until it has seen the end.
MAX_TEXT = 1 << 20
MAX_BETWEEN_ROWS = 16 << 20
_PIECE = 1 << 16
_TAG, _ROW, _FORMULA = (
    re.compile(rb"<" + tag) for tag in (rb"[\w/]", rb"(?:\w+:)?row[ />]", rb"(?:\w+:)?f[ />]")
)
#: The last row that the format knows; empty rows before a far one cost time.
MAX_ROWS = 1_048_576

#: What the zip reader and the XML parser raise for damaged files.
_UNPACKING = (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError)
_BROKEN = (*_UNPACKING, ParseError, LookupError, ValueError, TypeError, AttributeError)


class WorkbookTable(Table):
    """One sheet of an XLSX file: the first unless another is named. Cells come with their types."""

    def __init__(self, path: Path, sheet: str | None = None, header_row: int | None = None) -> None:
        super().__init__(path)
        check_size(path)
        self.has_formulas = scan_sheets(path)
        try:
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        except _BROKEN as error:
            raise ImportFileError(
                f"{path.name} cannot be read as an XLSX workbook: {first_line(error)}"
            ) from None
        self.sheets = [found.title for found in book.worksheets]
        book.close()
        if not self.sheets:
            raise ImportFileError(f"{path.name} has no sheet with cells.")
        self.sheet = sheet or self.sheets[0]
        if self.sheet not in self.sheets:
            raise ImportFileError(f"{path.name} has no sheet {sheet}; it has {', '.join(self.sheets[:10])}.")
        self.find_header(header_row)
        while self.header[-1] == "":
            self.header = self.header[:-1]

    def sheet_rows(self) -> Iterator[list[str]]:
        books = [openpyxl.load_workbook(self.path, read_only=True, data_only=True)]
        if self.has_formulas:
            books.append(openpyxl.load_workbook(self.path, read_only=True))
        number = 0
        try:
            sheets = [book[self.sheet] for book in books]
            for sheet in sheets:
                # The size that a sheet states can be anything; cells are counted as they come.
                sheet.reset_dimensions()
            rows: Iterator[list[str]]
            if self.has_formulas:
                rows = map(texts_of_formula_row, *(sheet.iter_rows() for sheet in sheets))
            else:
                rows = ([text_of(value) for value in row] for row in sheets[0].iter_rows(values_only=True))
            for number, cells in enumerate(rows, start=1):
                if number > MAX_ROWS:
                    raise ImportFileError(
                        f"{self.sheet} has rows beyond {MAX_ROWS:,}, where every sheet ends."
                    )
                if sum(map(len, cells)) > MAX_ROW:
                    raise ImportFileError(f"Row {number:,} has more than {MAX_ROW:,} characters.")
                # Empty cells at the end of a row, and empty rows, are not stored in a sheet.
                yield cells + [""] * (len(self.header) - len(cells)) if any(cells) else []
        except _BROKEN as error:
            raise ImportFileError(
                f"{self.path.name} is damaged after row {number:,} of {self.sheet}: {first_line(error)}"
            ) from None
        finally:
            for book in books:
                book.close()

    def notices(self) -> list[str]:
        found = []
        if len(self.sheets) > 1:
            found.append(f"Read from the sheet {self.sheet}; --sheet names another of {len(self.sheets):,}.")
        return found + super().notices()


def check_size(path: Path) -> None:
    """``ImportFileError`` for a workbook that would unpack into more than a workbook of records is."""
    try:
        with zipfile.ZipFile(path) as archive:
            files = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise ImportFileError(f"{path.name} is not an XLSX workbook.") from None
    sheets = sum(file.filename.startswith("xl/worksheets/") for file in files)
    largest = max((file.file_size for file in files if "/worksheets/" not in file.filename), default=0)
    if sum(file.file_size for file in files) > MAX_UNPACKED or largest > MAX_SHARED or len(files) > MAX_FILES:
        raise ImportFileError(f"{path.name} unpacks into too much; save the sheet as CSV and import that.")
    if sheets > MAX_SHEETS:
        raise ImportFileError(f"{path.name} has {sheets:,} sheets; {MAX_SHEETS} are the most that are read.")


def scan_sheets(path: Path) -> bool:
    """Whether a sheet has formulas; only then is the workbook read twice, for their values and for them.

    ``ImportFileError`` for a sheet that the parser would take into memory whole. Reads sheets in pieces.
    """
    has_formulas = False
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if "/worksheets/" not in name:
                    continue
                since_tag = since_row = 0
                tail = b""
                with archive.open(name) as sheet:
                    while read := sheet.read(_PIECE):
                        piece, tail = tail + read, read[-16:]  # a tag may begin in one piece, end in the next
                        since_tag = 0 if _TAG.search(piece) else since_tag + len(read)
                        since_row = 0 if _ROW.search(piece) else since_row + len(read)
                        if since_tag > MAX_TEXT or since_row > MAX_BETWEEN_ROWS or b"<![CDATA[" in piece:
                            raise ImportFileError(
                                f"{path.name} has too much in one cell or row to be a sheet of records."
                            )
                        has_formulas = has_formulas or _FORMULA.search(piece) is not None
    except _UNPACKING as error:
        raise ImportFileError(f"{path.name} cannot be unpacked: {first_line(error)}") from None
    return has_formulas


def texts_of_formula_row(values: Sequence[Any], formulas: Sequence[Any]) -> list[str]:
    """The texts of a row's cells; ``UNCALCULATED`` for a formula whose value was never stored."""
    return [
        # A formula that gives an empty text has the type of a text.
        UNCALCULATED
        if formula.data_type == "f" and cell.value is None and cell.data_type != "str"
        else text_of(cell.value)
        for cell, formula in zip(values, formulas, strict=True)
    ]


def text_of(value: Any) -> str:
    """A cell's value as the text that reads back to it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat(" ")
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # a spreadsheet knows no whole numbers
    return str(value)


def first_line(error: Exception) -> str:
    """The first sentence of a library's complaint, short."""
    text = str(error).strip().splitlines()
    return text[0][:120] if text else type(error).__name__
