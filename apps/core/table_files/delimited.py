"""Tables from text files with commas, semicolons, tabs or bars between the cells."""

import codecs
import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TextIO

from apps.core.table_files.tables import MAX_ROW, ImportFileError, Table

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
#: What Excel on Windows, and on a Macintosh, saves as CSV unless another encoding is chosen.
WINDOWS, MACINTOSH = "cp1252", "mac_roman"
ENCODING_TITLES = {
    WINDOWS: "a text of Windows (cp1252), as an older Excel saves it",
    MACINTOSH: "a text of a Macintosh (mac_roman), as Excel saves it there",
}
#: Small letters with accents within words, as Windows has them.
_WINDOWS_LETTERS = re.compile(rb"[a-z][\xe0-\xf6\xf8-\xfe]|[A-Z][\xe0-\xf6\xf8-\xfe][a-z]")
#: In Windows these would be signs, or of another case than their neighbours: “RenŽ MŸller, OÕBrien, MARêA”.
_MACINTOSH_LETTERS = re.compile(
    rb"[A-Za-z][\x80-\x84\x86-\x91\x95\x99\x9b\x9d\x9f\xbe\xbf][a-z]"
    rb"|[a-z][\x83\x88\x8a\x8c\x8e-\x90\x9d\x9f\xd5]|\b[A-Z]\xd5[A-Z][a-z]"
    rb"|[A-Z][\x80\x84-\x86\xe0-\xf6\xf8-\xfe][A-Z]"
)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: With the signs of the other encoding within it: “Jos\x8e”.
_WORD = re.compile(r"[^\s,;|\"]{1,40}")
SHOWN_WORDS = 6
#: The line that gives Excel the delimiter; Excel does not count it as a row.
_DELIMITER_LINE = re.compile(r'"?sep=([,;\t|])"?\r?\n?', re.IGNORECASE)

csv.field_size_limit(MAX_ROW)


class TextLines:
    """The lines of a text file; ``ImportFileError`` names the line that is too long or no text."""

    def __init__(self, path: Path, encoding: str | None) -> None:
        self.path = path
        self.encoding = encoding or encoding_of(path)

    @contextmanager
    def opened(self) -> Iterator[TextIO]:
        """The file as a text."""
        try:
            # Line breaks are left to the csv module: those inside quotes belong to the cell.
            with self.path.open(encoding=self.encoding, newline="") as text:
                yield text
        except LookupError:
            sentence = f"There is no encoding called {self.encoding}; utf-8 and cp1252 are usual ones."
            raise ImportFileError(sentence) from None
        except UnicodeError:
            raise ImportFileError(self.undecodable()) from None

    def __iter__(self) -> Iterator[str]:
        number = 0
        with self.opened() as text:
            while line := text.readline(MAX_ROW + 1):
                number += 1
                if len(line) > MAX_ROW:
                    raise ImportFileError(f"Line {number:,} is longer than {MAX_ROW:,} characters.")
                if "\0" in line:
                    where = f"{self.path.name}, line {number:,}"
                    raise ImportFileError(f"{where} holds a NUL character; is this a text file?")
                yield line

    def undecodable(self) -> str:
        """The sentence for a text of another encoding, with the first line that is not of this one."""
        number = 1
        with suppress(UnicodeError), self.path.open(encoding=self.encoding, errors="replace") as text:
            number = next((number for number, line in enumerate(text, start=1) if "\ufffd" in line), 1)
        name = self.encoding.upper().replace("-SIG", "")
        advice = "Save it as an XLSX workbook, and import that (--encoding names another encoding)."
        return f"{self.path.name}, line {number:,} is not {name}. {advice}"


class DelimitedTable(Table):
    """A CSV file. Its encoding, delimiter and header are recognised when not given."""

    has_formula_guards = True

    def __init__(self, path: Path, encoding: str | None = None, header_row: int | None = None) -> None:
        super().__init__(path)
        self.lines = TextLines(path, encoding)
        self.encoding = self.lines.encoding
        first, *others = [*islice(self.lines, 11)] or [""]
        stated = _DELIMITER_LINE.fullmatch(first)
        self.lines_before = 1 if stated else 0
        # A title above the header holds hardly a delimiter.
        header = next((line for line in (first, *others) if any(map(line.count, DELIMITERS))), "")
        self.delimiter: str = stated[1] if stated else max(DELIMITERS, key=header.count)
        #: Some programs write ``"Name", "Suburb"``: the quotation marks are those of cells all the same.
        self.has_blanks_before_quotes = any(f'"{self.delimiter} "' in line for line in (first, *others))
        self.find_header(header_row)

    def sheet_rows(self) -> Iterator[list[str]]:
        lines = islice(self.lines, self.lines_before, None)
        reader = csv.reader(
            lines, delimiter=self.delimiter, strict=True, skipinitialspace=self.has_blanks_before_quotes
        )
        try:
            yield from reader
        except csv.Error as error:
            line = reader.line_num + self.lines_before
            raise ImportFileError(f"{self.path.name}, line {line:,}: {csv_sentence(error)}") from None

    def notices(self) -> list[str]:
        found = []
        if self.delimiter != ",":
            found.append(f"Read with {DELIMITERS[self.delimiter]} between the cells.")
        if self.lines.encoding not in ("utf-8", "utf-8-sig"):
            encoding = self.lines.encoding
            words = ", ".join(f"“{word}”" for word in self.words_beyond_ascii())
            found.append(f"Read as {ENCODING_TITLES.get(encoding, encoding)}{words and ': '}{words}.")
        return found + super().notices()

    def words_beyond_ascii(self) -> list[str]:
        """The first words that another encoding would give other letters, for somebody to look at."""
        words = (word for line in self.lines if not line.isascii() for word in _WORD.findall(line))
        return list(dict.fromkeys(islice((word for word in words if not word.isascii()), SHOWN_WORDS)))


def csv_sentence(error: csv.Error) -> str:
    """The fault that the csv module found, in the user's words."""
    text = str(error)
    if "unexpected end" in text:
        return "a cell's opening quotation mark is never closed."
    if "expected after" in text:
        return "a quotation mark inside a quoted cell must be doubled."
    if "field larger" in text:
        return f"a cell is longer than {MAX_ROW:,} characters; is a quotation mark not closed?"
    return f"{text}."


def encoding_of(path: Path) -> str:
    """The encoding that the file's byte order mark names; UTF-16 by its many NULs, else by its letters."""
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
        file.seek(0)
        return encoding_by_letters(file, has_macintosh_ends=b"\r" in start and b"\n" not in start)


def encoding_by_letters(file: BinaryIO, has_macintosh_ends: bool) -> str:
    """Windows or Macintosh, when there are letters beyond ASCII and no line with some is UTF-8.

    Where one is, the file is UTF-8 that was damaged; so is one that breaks off within a letter.
    """
    found, windows, macintosh = False, 0, 0
    while line := file.readline(MAX_ROW + 1):
        if line.isascii():
            continue
        try:
            line.decode()
        except UnicodeDecodeError as error:
            if error.end == len(line):
                return "utf-8"
            found = True
        else:
            return "utf-8"
        windows += len(_WINDOWS_LETTERS.findall(line))
        macintosh += len(_MACINTOSH_LETTERS.findall(line))
    if not found:
        return "utf-8"
    is_macintosh = has_macintosh_ends if macintosh == windows else macintosh > windows
    return MACINTOSH if is_macintosh else WINDOWS
