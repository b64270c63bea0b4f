"""Tables from sheets of Excel workbooks, which are zip files and may be bombs."""

import datetime as dt
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

from apps.core.table_files.tables import MAX_ROW, UNCALCULATED, ImportFileError, Table

#: Bytes of everything in the workbook once unpacked, of any part but the sheets, and of the formats of cells:
#: a workbook of records has some kilobytes of them.
MAX_UNPACKED = 1 << 30
MAX_SHARED = 64 << 20
MAX_STYLES = 1 << 20
MAX_SHEETS = 200
MAX_FILES = 2_000
#: The last row that the format knows; empty rows before a far one cost time.
MAX_ROWS = 1_048_576

#: What calamine does not tell from an empty cell: errors, and formulas whose value was never stored.
_UNTOLD = re.compile(
    rb"""<(?:\w+:)?c\b[^<>]*\bt=["']e["']"""
    rb"|(?:</(?:\w+:)?f>|<(?:\w+:)?f\b[^<>]*/>)\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*<|</(?:\w+:)?c>)"
)
#: Signs without which a piece of a sheet has neither.
_SIGNS = (b't="e"', b"t='e'", b"<f", b":f")
#: A whole number with more digits than calamine keeps.
_LONG_NUMBER = re.compile(rb"v>-?\d{16,}<")
_PIECE, _OVERLAP = 1 << 18, 1 << 10

#: What the zip reader, the XML parser and calamine raise for damaged files.
_UNPACKING = (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError)
_BROKEN = (*_UNPACKING, CalamineError, ParseError, LookupError, ValueError, TypeError, AttributeError)


class WorkbookTable(Table):
    """One sheet of an XLSX file: the first that is shown and has cells, unless another is named.

    Cells come with their types.
    """

    def __init__(self, path: Path, sheet: str | None = None, header_row: int | None = None) -> None:
        super().__init__(path)
        check_size(path)
        self.has_untold_cells = has_untold_cells(path)
        try:
            book = CalamineWorkbook.from_path(path)
            found = [each for each in book.sheets_metadata if each.typ == SheetTypeEnum.WorkSheet]
            found.sort(key=lambda each: each.visible != SheetVisibleEnum.Visible)
            self.sheets = [each.name for each in found]
            if not self.sheets:
                raise ImportFileError(f"{path.name} has no sheet with cells.")
            if sheet and sheet not in self.sheets:
                names = ", ".join(self.sheets[:10])
                raise ImportFileError(f"{path.name} has no sheet {sheet}; it has {names}.")
            self.shown_sheets = [each.name for each in found if each.visible == SheetVisibleEnum.Visible]
            for name in [sheet] if sheet else self.shown_sheets or self.sheets:
                self.sheet, self.cells = name, book.get_sheet_by_name(name)
                if self.cells.start is not None:
                    break
        except _BROKEN as error:
            raise ImportFileError(
                f"{path.name} cannot be read as an XLSX workbook: {first_line(error)}"
            ) from None
        self.find_header(header_row)
        while self.header[-1] == "":
            self.header = self.header[:-1]

    def sheet_rows(self) -> Iterator[list[str]]:
        number = 0
        try:
            for number, cells in enumerate(self.text_rows(), start=1):
                if number > MAX_ROWS:
                    raise ImportFileError(
                        f"{self.sheet} has rows beyond {MAX_ROWS:,}, where every sheet ends."
                    )
                if sum(map(len, cells)) > MAX_ROW:
                    raise ImportFileError(f"Row {number:,} has more than {MAX_ROW:,} characters.")
                while cells and not cells[-1]:
                    cells.pop()
                # Empty cells at the end of a row, and empty rows, are not stored in a sheet.
                yield cells + [""] * (len(self.header) - len(cells)) if cells else []
        except _BROKEN as error:
            raise ImportFileError(
                f"{self.path.name} is damaged after row {number:,} of {self.sheet}: {first_line(error)}"
            ) from None

    def text_rows(self) -> Iterator[list[str]]:
        """The texts of each row from the first one on."""
        if self.has_untold_cells:
            yield from self.text_rows_with_formulas()
        elif self.cells.start is not None:
            before = [""] * self.cells.start[1]
            for row in self.cells.iter_rows():
                yield before + [text_of(value) for value in row]

    def text_rows_with_formulas(self) -> Iterator[list[str]]:
        """The same by openpyxl, which is slow: once for the values, once for the formulas."""
        import openpyxl

        books = [openpyxl.load_workbook(self.path, read_only=True, data_only=each) for each in (True, False)]
        sheets = [book[self.sheet] for book in books]
        for sheet in sheets:
            # The size that a sheet states can be anything; cells are counted as they come.
            sheet.reset_dimensions()
        yield from map(texts_of_formula_row, *(sheet.iter_rows() for sheet in sheets))

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
    if any(file.filename.endswith("/styles.xml") and file.file_size > MAX_STYLES for file in files):
        raise ImportFileError(
            f"{path.name} has too many formats of cells to be read; save the sheet as CSV and import that."
        )
    if sheets > MAX_SHEETS:
        raise ImportFileError(f"{path.name} has {sheets:,} sheets; {MAX_SHEETS} are the most that are read.")


def has_untold_cells(path: Path) -> bool:
    """True when a sheet has cells that calamine does not tell as they are; any part may be a sheet."""
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                with archive.open(name) as part:
                    end = b""
                    while read := part.read(_PIECE):
                        piece, end = end + read, read[-_OVERLAP:]
                        if b"<!DOCTYPE" in piece:
                            raise ImportFileError(f"{path.name} declares entities, as no workbook does.")
                        if any(sign in piece for sign in _SIGNS) and _UNTOLD.search(piece):
                            return True
                        if _LONG_NUMBER.search(piece):
                            return True
    except _UNPACKING as error:
        raise ImportFileError(f"{path.name} cannot be unpacked: {first_line(error)}") from None
    return False


def texts_of_formula_row(values: Sequence[Any], formulas: Sequence[Any]) -> list[str]:
    """The texts of a row's cells; ``UNCALCULATED`` for a formula whose value was never stored."""
    return [
        # A formula that gives an empty text has the type of a text.
        UNCALCULATED
        if formula.data_type == "f" and cell.value is None and cell.data_type != "str"
        else text_of(cell.value)
        for cell, formula in zip(values, formulas, strict=True)
    ]


def text_of(value: object) -> str:
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
    if isinstance(value, dt.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if isinstance(value, float):
        # A spreadsheet knows no whole numbers, and shows 15 digits: 71.39999999999999 of a formula is 71.4.
        return str(int(value)) if value.is_integer() else f"{value:.15g}"
    return str(value)


def first_line(error: Exception) -> str:
    """The first sentence of a library's complaint, short."""
    text = str(error).strip().splitlines()
    return text[0][:120] if text else type(error).__name__
