"""Tables from sheets of Excel workbooks, which are zip files and may be bombs."""

from __future__ import annotations

import datetime as dt
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar
from xml.etree.ElementTree import ParseError

import openpyxl
from defusedxml.common import DefusedXmlException
from openpyxl.utils.exceptions import InvalidFileException

from apps.core.importing.tables import MAX_ROW, Row, Unusable, check_width

#: Bytes of everything in the workbook once unpacked, and of what must be held in memory at once.
MAX_UNPACKED = 1 << 30
MAX_SHARED = 64 << 20
MAX_SHEETS = 200
MAX_FILES = 2_000
#: Bytes of a sheet from one tag to the next (the format ends a cell at 32,767 characters) and from one row to
#: the next: the parser holds them until it has seen the end.
MAX_TEXT = 1 << 20
MAX_BETWEEN_ROWS = 16 << 20
_PIECE = 1 << 16
_TAG, _ROW = re.compile(rb"<[\w/]"), re.compile(rb"<(?:\w+:)?row[ />]")
#: The last row that the format knows; empty rows before a far one cost time.
MAX_ROWS = 1_048_576

_BROKEN = (
    zipfile.BadZipFile,
    InvalidFileException,
    DefusedXmlException,
    ParseError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    IndexError,
    OSError,
    EOFError,
    NotImplementedError,
)
_UNPACKING = (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError)


class WorkbookTable:
    """One sheet of an XLSX file: the first unless another is named. Cells come with their types."""

    row_word: ClassVar[str] = "row"
    has_letters: ClassVar[bool] = True
    has_guards: ClassVar[bool] = False
    lists: Sequence[str] = ()

    def __init__(self, path: Path, sheet: str | None = None) -> None:
        self.path = path
        check_size(path)
        try:
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        except _BROKEN as error:
            raise Unusable(f"{path.name} cannot be read as an XLSX workbook: {first_line(error)}") from None
        try:
            self.names = [found.title for found in book.worksheets]
        finally:
            book.close()
        self.sheet = self._chosen(sheet)
        header = next(self._values(), None)
        while header is not None and header[-1:] == [""]:
            header.pop()
        if not header:
            raise Unusable(f"{path.name} has no header: the first row of {self.sheet} must name the columns.")
        check_width(len(header))
        self.header = header

    def _chosen(self, sheet: str | None) -> str:
        if not self.names:
            raise Unusable(f"{self.path.name} has no sheet with cells.")
        if sheet is None:
            return self.names[0]
        if sheet not in self.names:
            raise Unusable(f"{self.path.name} has no sheet {sheet}; it has {', '.join(self.names[:10])}.")
        return sheet

    def _values(self) -> Iterator[list[str]]:
        book = openpyxl.load_workbook(self.path, read_only=True, data_only=True)
        number = 0
        try:
            # A sheet's own word for its size can be anything; cells are counted as they come.
            sheet = book[self.sheet]
            sheet.reset_dimensions()
            for values in sheet.iter_rows(values_only=True):
                number += 1
                if number > MAX_ROWS:
                    raise Unusable(f"{self.sheet} has rows beyond {MAX_ROWS:,}, where every sheet ends.")
                cells = [text_of(value) for value in values]
                if sum(map(len, cells)) > MAX_ROW:
                    raise Unusable(f"Row {number:,} has more than {MAX_ROW:,} characters.")
                yield cells
        except _BROKEN as error:
            raise Unusable(
                f"{self.path.name} is damaged after row {number:,} of {self.sheet}: {first_line(error)}"
            ) from None
        finally:
            book.close()

    def rows(self) -> Iterator[Row]:
        width = len(self.header)
        values = self._values()
        next(values)
        for number, cells in enumerate(values, start=2):
            while len(cells) > width and not cells[-1]:
                cells.pop()
            if not any(cells):
                continue
            if len(cells) > width:
                yield Row(number, cells, f"has {len(cells):,} cells where the header has {width:,}.")
            else:
                yield Row(number, cells + [""] * (width - len(cells)))

    def remarks(self) -> list[str]:
        if len(self.names) < 2:
            return []
        return [f"Read from the sheet {self.sheet}; --sheet names another of {len(self.names):,}."]


def check_size(path: Path) -> None:
    """``Unusable`` for a workbook that would unpack into more than a workbook of records is."""
    try:
        with zipfile.ZipFile(path) as archive:
            files = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise Unusable(f"{path.name} is no XLSX workbook.") from None
    sheets = sum(file.filename.startswith("xl/worksheets/") for file in files)
    held = max((file.file_size for file in files if "/worksheets/" not in file.filename), default=0)
    if sum(file.file_size for file in files) > MAX_UNPACKED or held > MAX_SHARED or len(files) > MAX_FILES:
        raise Unusable(f"{path.name} unpacks into too much; save the sheet as CSV and import that.")
    if sheets > MAX_SHEETS:
        raise Unusable(f"{path.name} has {sheets:,} sheets; {MAX_SHEETS} are the most that are read.")
    for file in files:
        if "/worksheets/" in file.filename and file.file_size > MAX_TEXT:
            check_grain(path, file.filename)


def check_grain(path: Path, member: str) -> None:
    """``Unusable`` for a sheet that had to be held in memory whole. Reads it through once, in pieces."""
    since_tag = since_row = 0
    tail = b""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as sheet:
            while read := sheet.read(_PIECE):
                piece, tail = tail + read, read[-16:]  # a tag may begin in one piece and end in the next
                since_tag = 0 if _TAG.search(piece) else since_tag + len(read)
                since_row = 0 if _ROW.search(piece) else since_row + len(read)
                if since_tag > MAX_TEXT or since_row > MAX_BETWEEN_ROWS or b"<![CDATA[" in piece:
                    raise Unusable(f"{path.name} has too much in one cell or row to be a sheet of records.")
    except _UNPACKING as error:
        raise Unusable(f"{path.name} cannot be unpacked: {first_line(error)}") from None


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
