"""Files to import are opened here: a process of its own reads each (``reader``), and hands its rows over."""

import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from weakref import finalize

import msgspec
from django.conf import settings

from apps.core.table_files import reader
from apps.core.table_files.formats import SAVE_AS, format_of
from apps.core.table_files.tables import ImportFileError, Row, Table
from apps.core.untrusted import ProcessEnded, ProcessLimits, Reason, run_limited

logger = logging.getLogger("records.imports")

#: Bytes that the rows of a file may take: so many, and of a large file a multiple of its own size.
MAX_OUTPUT, OUTPUT_FACTOR = 1 << 30, 8
#: Bytes of a line of the reader's. The longest row has ``MAX_ROW`` characters.
MAX_LINE = 16 << 20
#: The last line is hardly longer.
LAST_LINE = 64 << 10

decode_outcome = msgspec.json.Decoder(reader.ReaderOutcome).decode
decode_rows = msgspec.json.Decoder(list[Row]).decode


def open_table(
    path: Path,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    list_name: str | None = None,
    json_members: Sequence[str] = (),
    max_rows: int | None = None,
) -> Table:
    """The file as a table, read to its end or to ``max_rows``; ``ImportFileError`` says why not.

    ``list_name`` is the member that has the lines of a record: in JSON it is a list, in tables rows.
    ``json_members`` are read as the JSON that they are.
    """
    format_of(path, SAVE_AS)
    if not path.is_file():
        raise ImportFileError(f"There is no file {path}.")
    size = path.stat().st_size
    if size == 0:
        raise ImportFileError(f"{path.name} is empty.")
    request = {
        "path": str(path.absolute()),
        "encoding": encoding,
        "sheet": sheet,
        "header_row": header_row,
        "list_name": list_name,
        "json_members": list(json_members),
        "max_rows": max_rows,
    }
    limits = ProcessLimits(
        memory=settings.IMPORT_MEMORY_MB << 20,
        seconds=settings.IMPORT_READ_SECONDS,
        output=MAX_OUTPUT + OUTPUT_FACTOR * size,
    )
    table = OpenedTable(path)
    try:
        run_limited(reader.__name__, request, limits, table.output)
        table.read_outcome()
    except ProcessEnded as ended:
        logger.warning("the reader of an import file ended: %s", ended)
        raise ImportFileError(f"{path.name} {reason_sentence(ended.reason)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ImportFileError(f"{path.name} cannot be read.") from None
    return table


def reason_sentence(reason: Reason) -> str:
    memory, seconds = settings.IMPORT_MEMORY_MB, settings.IMPORT_READ_SECONDS
    sentences = {
        Reason.MEMORY: f"needs more memory than imports may use ({memory:,} MB). Delete what stands far "
        "below or beside the list, save it as CSV, or split it.",
        Reason.TIME: f"takes longer to read than imports may ({seconds:,} s). Save it as CSV, or split it.",
        Reason.OUTPUT: "unpacks into too much; save it as CSV, or split it.",
        Reason.FAULT: "cannot be read: its reader ended unexpectedly.",
    }
    return sentences[reason]


class OpenedTable(Table):
    """A table in a file of the reader's, whose lines are data of a stranger: decoded by type, never run."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.output: IO[bytes] = TemporaryFile()  # noqa: SIM115 - open as long as the table is
        finalize(self, self.output.close)
        self.rows_end = 0
        self.found = reader.ReaderOutcome()

    def read_outcome(self) -> None:
        """Take over what the reader found; ``ImportFileError`` with its sentence when it refused the file."""
        size = self.output.seek(0, os.SEEK_END)
        last_line = b""
        for length in (LAST_LINE, MAX_LINE):
            self.output.seek(max(size - length, 0))
            _, line_break, last_line = self.output.read().rpartition(b"\n")
            if line_break:
                break
        self.rows_end = size - len(last_line)
        outcome = decode_outcome(last_line)
        if outcome.refusal:
            raise ImportFileError(outcome.refusal)
        for name in reader.TABLE_ATTRIBUTES:
            setattr(self, name, getattr(outcome, name))
        self.found, self.first_rows = outcome, outcome.first_rows

    def rows(self) -> Iterator[Row]:
        place = 0
        while place < self.rows_end:
            self.output.seek(place)  # others may read meanwhile
            line = self.output.readline(MAX_LINE)
            place += len(line)
            try:
                rows = decode_rows(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                raise ImportFileError(f"{self.path.name} cannot be read.") from None
            yield from rows

    def notices(self) -> list[str]:
        return self.found.notices
