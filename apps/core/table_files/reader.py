"""The process that reads one file to import: its rows in lines of JSON, then what it is as a table."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from apps.core.table_files.formats import read_table
from apps.core.table_files.tables import MAX_COLUMNS, ImportFileError, Row, Table
from apps.core.untrusted import answer_request

#: Rows and characters of one line.
LINE_ROWS, LINE_LENGTH = 500, 200_000

encode = msgspec.json.Encoder().encode


#: What a table is besides its rows and notices.
TABLE_ATTRIBUTES = (
    *("header", "header_row", "row_word", "has_cell_addresses", "has_formula_guards"),
    *("sheet", "sheets", "shown_sheets", "list_name", "encoding", "delimiter"),
)
#: Characters of a cell that may have to be told from a header.
HEADER_LENGTH = 200


@dataclass(frozen=True, slots=True)
class ReaderOutcome:
    """The last line: what was read, or in one sentence why it cannot be read."""

    refusal: str = ""
    header: list[str] = field(default_factory=list)
    header_row: int = 1
    row_word: str = "row"
    has_cell_addresses: bool = True
    has_formula_guards: bool = False
    sheet: str = ""
    sheets: list[str] = field(default_factory=list)
    shown_sheets: list[str] = field(default_factory=list)
    list_name: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    notices: list[str] = field(default_factory=list)
    first_rows: list[list[str]] = field(default_factory=list)

    @classmethod
    def of(cls, table: Table) -> "ReaderOutcome":
        attributes = {name: getattr(table, name) for name in TABLE_ATTRIBUTES}
        first = [[cell[:HEADER_LENGTH] for cell in cells[:MAX_COLUMNS]] for cells in table.first_rows]
        return cls(**attributes, notices=table.notices(), first_rows=first)


def answer(request: dict[str, Any]) -> Iterator[bytes]:
    """The lines for a request: the arguments of ``read_table``, and ``max_rows``."""
    path, max_rows = Path(request.pop("path")), request.pop("max_rows")
    try:
        table = read_table(path, **request)
        for rows in chunks(islice(table.rows(), max_rows)):
            yield encoded_rows(rows) + b"\n"
        yield encode(ReaderOutcome.of(table))
    except ImportFileError as reason:
        yield encode(ReaderOutcome(str(reason)))
    except MemoryError:
        raise
    except Exception as error:
        yield encode(ReaderOutcome(f"{path.name} cannot be read: {type(error).__name__}."))


def chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows in lists of a bounded length."""
    found, length = list[Row](), 0
    for row in rows:
        found.append(row)
        length += sum(map(len, row.cells))
        if len(found) == LINE_ROWS or length > LINE_LENGTH:
            yield found
            found, length = [], 0
    if found:
        yield found


def encoded_rows(rows: list[Row]) -> bytes:
    try:
        return encode(rows)
    except UnicodeEncodeError:
        return encode([row.with_whole_characters() for row in rows])


if __name__ == "__main__":
    answer_request(answer)
