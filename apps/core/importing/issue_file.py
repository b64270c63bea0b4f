"""The issues of an import as a file: one line for each, however many there are."""

import csv
from pathlib import Path

from apps.base.cell_texts import formula_safe
from apps.base.errors import system_reason
from apps.core.table_files.tables import ImportFileError

HEADER = ("Severity", "Row", "Column", "Value", "Code", "Sentence")


class IssueFile:
    """A CSV file, as Excel opens it. ``ImportFileError`` when it cannot be written."""

    def __init__(self, path: Path) -> None:
        try:
            self.file = path.open("w", encoding="utf-8-sig", errors="replace", newline="")
        except OSError as error:
            raise ImportFileError(f"{path.name} cannot be written: {system_reason(error)}.") from None
        self.writer = csv.writer(self.file)
        self.writer.writerow(HEADER)

    def add(self, is_warning: bool, row: str, column: str, value: str, code: str, sentence: str) -> None:
        """Add an issue. ``column`` is the header, empty for an issue of the whole row."""
        severity = "warning" if is_warning else "error"
        self.writer.writerow(map(formula_safe, (severity, row, column, value, code, sentence)))

    def close(self) -> None:
        self.file.close()
