"""Which reader a file needs, by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from apps.core.importing.delimited import DelimitedTable
from apps.core.importing.json_files import JsonLinesTable, JsonTable
from apps.core.importing.tables import Table, Unusable
from apps.core.importing.workbooks import WorkbookTable

#: The format by the end of the file's name.
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

_OPENERS: dict[str, Callable[[Path, str | None, str | None, Sequence[str]], Table]] = {
    "csv": lambda path, encoding, sheet, lists: DelimitedTable(path, encoding),
    "xlsx": lambda path, encoding, sheet, lists: WorkbookTable(path, sheet),
    "json": lambda path, encoding, sheet, lists: JsonTable(path, encoding, lists),
    "ndjson": lambda path, encoding, sheet, lists: JsonLinesTable(path, encoding, lists),
}


def format_of(path: Path) -> str:
    """``csv``, ``xlsx``, ``json`` or ``ndjson``; ``Unusable`` for another kind of file."""
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        raise Unusable(f"{path.name} is none of {', '.join(FORMATS)}; the name's end says how to read it.")
    return found


def opened(
    path: Path, encoding: str | None = None, sheet: str | None = None, lists: Sequence[str] = ()
) -> Table:
    """The file as a table; ``Unusable`` says in one sentence why not.

    ``lists`` names the members that hold the lines of a record: in JSON they are lists, in tables rows.
    """
    kind = format_of(path)
    if not path.is_file():
        raise Unusable(f"There is no file {path}.")
    if path.stat().st_size == 0:
        raise Unusable(f"{path.name} is empty.")
    try:
        return _OPENERS[kind](path, encoding, sheet, lists)
    except OSError as error:
        raise Unusable(f"{path.name} cannot be read: {error.strerror or error}.") from None
