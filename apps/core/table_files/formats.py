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


#: What to do with another kind of file that is to be imported.
SAVE_AS = "open it in a spreadsheet, save it as XLSX or CSV, and import that"


def format_of(path: Path, advice: str = "the name's end says how to read it") -> str:
    """``csv``, ``xlsx``, ``json`` or ``ndjson``; ``ImportFileError`` for another kind of file."""
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        raise ImportFileError(f"{path.name} is none of {', '.join(FORMATS)}; {advice}.")
    return found


#: What files begin with that only seem to be a table, and what they are.
_SIGNATURES = (
    (b"%PDF", "a PDF document: ask for the list as a spreadsheet"),
    (
        b"\xd0\xcf\x11\xe0",
        "an old workbook (Excel 97 to 2003) or has a password: open it, save it without one as XLSX, and"
        " import that",
    ),
    (b"<", "a web page: open it in a spreadsheet, save it as XLSX, and import that"),
    (b"{\\rtf", "a text document: save its table as a spreadsheet, and import that"),
)
_ZIP = b"PK\x03\x04"
#: Of OpenDocument the first part, without compression.
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis"


def check_content(path: Path, file_format: str) -> None:
    """``ImportFileError`` for a file that its first bytes show to be another kind than its name says."""
    with path.open("rb") as file:
        start = file.read(512)
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    kind = next((kind for signature, kind in _SIGNATURES if text.startswith(signature)), "")
    if start.startswith(_ZIP) and _OPEN_DOCUMENT in start:
        kind = "an OpenDocument file: save it as XLSX, and import that"
    elif start.startswith(_ZIP) and file_format != "xlsx":
        kind = "a packed file: it is a workbook whose name must end on .xlsx, or has the list within it"
    if kind and file_format in ("csv", "xlsx"):
        raise ImportFileError(f"{path.name} is {kind}.")


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
        check_content(path, file_format)
        if file_format == "csv":
            return DelimitedTable(path, encoding, header_row)
        if file_format == "xlsx":
            return WorkbookTable(path, sheet, header_row)
        json_table = JsonTable if file_format == "json" else JsonLinesTable
        return json_table(path, encoding, list_name, json_members)
    except OSError as error:
        raise ImportFileError(f"{path.name} cannot be read: {error.strerror or error}.") from None
