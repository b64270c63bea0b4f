"""Tables from text files with commas, semicolons or tabs between the cells."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from apps.core.importing.tables import MAX_ROW, Row, Unusable, check_width, ragged

BLOCK = 1 << 18
DELIMITERS = ",;\t|"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

csv.field_size_limit(MAX_ROW)


class DelimitedTable:
    """A CSV file. Its encoding and the sign between its cells are found out when not told."""

    row_word: ClassVar[str] = "row"
    has_letters: ClassVar[bool] = True
    has_guards: ClassVar[bool] = True
    lists: Sequence[str] = ()

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path = path
        self.told_encoding = encoding
        self.encoding = encoding or encoding_of(path)
        check_text(path, self.encoding, guessed=encoding is None)
        first = self._first_line()
        self.delimiter = max(DELIMITERS, key=first.count) if first else ","
        header = next(self._records(), None)
        if header is None or not any(cell.strip() for cell in header):
            raise Unusable(f"{path.name} has no header: its first row must name the columns.")
        check_width(len(header))
        self.header = header

    def _first_line(self) -> str:
        with self._open() as text:
            return text.readline(MAX_ROW)

    def _open(self) -> io.TextIOWrapper:
        # Line breaks are left to the csv module: those inside quotes belong to the cell.
        return self.path.open(encoding=self.encoding, newline="")

    def _records(self) -> Iterator[list[str]]:
        """Every record as it stands, blank lines as empty lists."""
        with self._open() as text:
            reader = csv.reader(bounded_lines(text), delimiter=self.delimiter, strict=True)
            try:
                yield from reader
            except csv.Error as error:
                raise Unusable(f"{self.path.name}, line {reader.line_num:,}: {csv_sentence(error)}") from None

    def rows(self) -> Iterator[Row]:
        width = len(self.header)
        records = self._records()
        next(records)
        for number, cells in enumerate(records, start=2):
            if len(cells) == width:
                yield Row(number, cells)
            elif cells:
                yield Row(number, *ragged(cells, width))

    def remarks(self) -> list[str]:
        names = {";": "semicolons", "\t": "tabs", "|": "bars"}
        found = []
        if self.delimiter in names:
            found.append(f"Read with {names[self.delimiter]} between the cells.")
        if self.encoding not in ("utf-8", "utf-8-sig"):
            found.append(f"Read as {self.encoding}.")
        return found


def bounded_lines(text: io.TextIOWrapper) -> Iterator[str]:
    """The lines of a text, none of which may fill the memory."""
    number = 0
    while line := text.readline(MAX_ROW + 1):
        number += 1
        if len(line) > MAX_ROW:
            raise Unusable(f"Line {number:,} is longer than {MAX_ROW:,} characters.")
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
    """The encoding that the file's byte order mark names, else UTF-8."""
    with path.open("rb") as file:
        start = file.read(4)
    return next((name for mark, name in _MARKS if start.startswith(mark)), "utf-8")


def check_text(path: Path, encoding: str, guessed: bool) -> None:
    """Read the whole file once, so that nothing is stored of a file that turns out unreadable."""
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise Unusable(f"There is no encoding called {encoding}; utf-8 and cp1252 are usual ones.") from None
    lines = 1
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            try:
                text = decoder.decode(block)
            except UnicodeDecodeError as error:
                at = lines + block.count(b"\n", 0, max(error.start, 0))
                raise Unusable(undecodable(path, encoding, at, guessed)) from None
            if "\0" in text:
                at = lines + text.count("\n", 0, text.index("\0"))
                raise Unusable(f"{path.name}, line {at:,} holds a NUL character; is this a text file?")
            lines += text.count("\n")
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise Unusable(undecodable(path, encoding, lines, guessed)) from None


def undecodable(path: Path, encoding: str, line: int, guessed: bool) -> str:
    sentence = f"{path.name}, line {line:,} is not {encoding.upper().replace('-SIG', '')}."
    if guessed:
        sentence += " If it was saved by an older Excel, say --encoding cp1252."
    return sentence
