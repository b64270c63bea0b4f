"""Tables from text files with commas, semicolons, tabs or bars between the cells."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import ClassVar

from apps.core.importing.tables import (
    HEADER_NOTICE,
    HEADER_ROWS,
    MAX_ROW,
    ImportFileError,
    Row,
    find_header,
    fit_to_width,
)

BLOCK = 1 << 18
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: The line that gives Excel the delimiter; Excel does not count it as a row.
_DELIMITER_LINE = re.compile(r'"?sep=([,;\t|])"?\r?\n?', re.IGNORECASE)

csv.field_size_limit(MAX_ROW)


class DelimitedTable:
    """A CSV file. Its encoding, delimiter and header are recognised when not given."""

    row_word: ClassVar[str] = "row"
    has_cell_addresses: ClassVar[bool] = True
    has_formula_guards: ClassVar[bool] = True
    list_names: Sequence[str] = ()

    def __init__(self, path: Path, encoding: str | None = None, header_row: int | None = None) -> None:
        self.path = path
        self.encoding = encoding or encoding_of(path)
        check_text(path, self.encoding, guessed=encoding is None)
        with self._open() as text:
            first = text.readline(MAX_ROW)
            stated = _DELIMITER_LINE.fullmatch(first)
            self.lines_before = 1 if stated else 0
            lines = [
                text.readline(MAX_ROW) if stated else first,
                *(text.readline(MAX_ROW) for _ in range(10)),
            ]
        # A title above the header holds hardly a delimiter.
        lines = [line for line in lines if any(map(line.count, DELIMITERS))] or [""]
        self.delimiter = stated[1] if stated else max(DELIMITERS, key=lines[0].count)
        self.header_row, self.header = find_header(
            path, islice(enumerate(self._records(), start=1), header_row or HEADER_ROWS), header_row
        )

    def _open(self) -> io.TextIOWrapper:
        # Line breaks are left to the csv module: those inside quotes belong to the cell.
        return self.path.open(encoding=self.encoding, newline="")

    def _records(self) -> Iterator[list[str]]:
        """Every record as it is, blank lines as empty lists."""
        with self._open() as text:
            lines = bounded_lines(text)
            for _ in range(self.lines_before):
                next(lines)
            reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
            try:
                yield from reader
            except csv.Error as error:
                line = reader.line_num + self.lines_before
                raise ImportFileError(f"{self.path.name}, line {line:,}: {csv_sentence(error)}") from None

    def rows(self) -> Iterator[Row]:
        width = len(self.header)
        for number, cells in islice(enumerate(self._records(), start=1), self.header_row, None):
            if len(cells) == width:
                yield Row(number, cells)
            elif cells:
                yield Row(number, *fit_to_width(cells, width))

    def notices(self) -> list[str]:
        found = []
        if self.delimiter != ",":
            found.append(f"Read with {DELIMITERS[self.delimiter]} between the cells.")
        if self.encoding not in ("utf-8", "utf-8-sig"):
            found.append(f"Read as {self.encoding}.")
        if self.header_row > 1:
            found.append(HEADER_NOTICE.format(self.header_row))
        return found


def bounded_lines(text: io.TextIOWrapper) -> Iterator[str]:
    """The lines of a text, none of which may fill the memory."""
    number = 0
    while line := text.readline(MAX_ROW + 1):
        number += 1
        if len(line) > MAX_ROW:
            raise ImportFileError(f"Line {number:,} is longer than {MAX_ROW:,} characters.")
        yield line


def csv_sentence(error: csv.Error) -> str:
    """What the csv module found, in the user's words."""
    text = str(error)
    if "unexpected end" in text:
        return "a cell's opening quotation mark is never closed."
    if "expected after" in text:
        return "a quotation mark inside a quoted cell must be doubled."
    if "field larger" in text:
        return f"a cell is longer than {MAX_ROW:,} characters; is a quotation mark not closed?"
    return f"{text}."


def encoding_of(path: Path) -> str:
    """The encoding that the file's byte order mark names; UTF-16 by its many NULs, else UTF-8."""
    with path.open("rb") as file:
        start = file.read(1024)
    for mark, name in _MARKS:
        if start.startswith(mark):
            return name
    # Of a text in a Latin script every second byte is NUL in UTF-16; NUL is in no other text.
    even, odd = start[::2].count(0), start[1::2].count(0)
    if odd > len(start) // 4 > even:
        return "utf-16-le"
    if even > len(start) // 4 > odd:
        return "utf-16-be"
    return "utf-8"


def check_text(path: Path, encoding: str, guessed: bool) -> None:
    """Read the whole file once, so that nothing is stored of a file that turns out unreadable."""
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise ImportFileError(
            f"There is no encoding called {encoding}; utf-8 and cp1252 are usual ones."
        ) from None
    lines = 1
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            try:
                text = decoder.decode(block)
            except UnicodeDecodeError as error:
                at = lines + block.count(b"\n", 0, max(error.start, 0))
                raise ImportFileError(undecodable(path, encoding, at, guessed)) from None
            if "\0" in text:
                at = lines + text.count("\n", 0, text.index("\0"))
                raise ImportFileError(f"{path.name}, line {at:,} holds a NUL character; is this a text file?")
            lines += text.count("\n")
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise ImportFileError(undecodable(path, encoding, lines, guessed)) from None


def undecodable(path: Path, encoding: str, line: int, guessed: bool) -> str:
    sentence = f"{path.name}, line {line:,} is not {encoding.upper().replace('-SIG', '')}."
    if guessed:
        sentence += " If it was saved by an older Excel, say --encoding cp1252."
    return sentence
