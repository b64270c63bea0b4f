"""A whole collection as one body of constant memory: NDJSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from decimal import Decimal

from apps.odata.declaration.schema import StructuredType
from apps.odata.read.flattening import cells, columns, formula_safe
from apps.odata.read.record_json import Selection


def ndjson_lines(rows: Iterable[str]) -> Iterator[str]:
    """A record's JSON to a line."""
    for row in rows:
        yield row.replace("\n", " ") + "\n"  # PostgreSQL puts line breaks between the items of lists


def csv_lines(type_: StructuredType, selection: Selection, rows: Iterable[str]) -> Iterator[str]:
    """A header of member names, parts flattened with ``/``, then a line for each record.

    Numbers keep their digits; cells that a spreadsheet would run as a formula are made text.
    """
    wanted = columns(type_, selection)
    line = LineWriter()
    yield line(column.name for column in wanted)
    for row in rows:
        record = json.loads(row, parse_float=Decimal)
        yield line(formula_safe(cell) for cell in cells(record, wanted))


class LineWriter:
    """Writes one CSV line at a time (RFC 4180)."""

    def __init__(self) -> None:
        self.buffer = io.StringIO()
        self.writer = csv.writer(self.buffer)

    def __call__(self, values: Iterable[str]) -> str:
        self.writer.writerow(values)
        text = self.buffer.getvalue()
        self.buffer.seek(0)
        self.buffer.truncate()
        return text
