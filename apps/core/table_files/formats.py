"""The reader of each file format, chosen by the end of the file's name.

It reads in the process that calls it: files of strangers are opened by ``opening.open_table``.
"""

from collections.abc import Sequence
from pathlib import Path

from apps.core.table_files.delimited import DelimitedTable
from apps.core.table_files.json_files import JsonLinesTable, JsonTable
from apps.core.table_files.tables import ImportFileError, Table
from apps.core.table_files.workbooks import WorkbookTable

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".json": "json",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
}


def format_of(path: Path) -> str:
    """``csv``, ``xlsx``, ``json`` or ``ndjson``; ``ImportFileError`` for another kind of file."""
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        raise ImportFileError(
            f"{path.name} is none of {', '.join(FORMATS)}; the name's end says how to read it."
        )
    return found


def read_table(
    path: Path,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    list_name: str | None = None,
    json_members: Sequence[str] = (),
) -> Table:
    """The file as a table; ``ImportFileError`` says in one sentence why not.

    ``list_name`` is the member that has the lines of a record: in JSON it is a list, in tables rows.
    ``json_members`` are read as the JSON that they are.
    """
    file_format = format_of(path)
    try:
        if file_format == "csv":
            return DelimitedTable(path, encoding, header_row)
        if file_format == "xlsx":
            return WorkbookTable(path, sheet, header_row)
        json_table = JsonTable if file_format == "json" else JsonLinesTable
        return json_table(path, encoding, list_name, json_members)
    except OSError as error:
        raise ImportFileError(f"{path.name} cannot be read: {error.strerror or error}.") from None
