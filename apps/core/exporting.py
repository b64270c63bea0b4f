"""Records into files: CSV, XLSX, JSON and NDJSON, as imports read them.

In a table the lines of a record are rows, in each of which the record's own columns stand.
"""

import datetime as dt
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO
from urllib.parse import urlencode

from django.db.models import Model, QuerySet
from django.utils import timezone
from openpyxl import Workbook

from apps.base.cell_texts import csv_texts, formula_safe
from apps.base.declaration.schema import EntitySet
from apps.base.errors import ServiceError
from apps.core.caseload import Caseload
from apps.core.importing.file_declaration import file_entity_set
from apps.core.importing.headers import item_list_of
from apps.core.importing.rejected_rows import text_cell
from apps.core.models import Subscriber
from apps.core.read_log import READ_LOG, log_export, without_values
from apps.core.table_files.formats import format_of
from apps.core.table_files.tables import ImportFileError
from apps.core.table_files.workbooks import MAX_ROWS
from apps.odata.http.formats import ndjson_lines
from apps.odata.query.options import parse_options
from apps.odata.read.flattening import Column, columns, rows
from apps.odata.read.reader import JsonReader, filter_rows
from apps.odata.read.tables import decode_record

#: By which pages and the interface name a person who may not be seen.
SHOWN_MEMBERS = frozenset({"guid", "first_name", "last_name", "archive_date"})


class Operator:
    """The caller who may run commands on the server, and so see everything that is in the database."""


def export_file(
    entity_set: EntitySet, path: Path, condition: str | None = None, names: Sequence[str] = ()
) -> int:
    """Write the records for which the ``$filter`` holds; how many they are.

    ``names`` choose columns by their wire names, parts with ``/``. ``ImportFileError`` says what cannot
    be. The file appears under its name when it is complete.
    """
    write = WRITERS[format_of(path)]
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with timezone.override(Subscriber.current().zone):
            everything = entity_set.resource.visible_to(Operator())
            wanted, records = table_of(entity_set, everything, condition, names)
            counted = CountedRecords(records)
            with unfinished.open("wb") as file:
                write(file, wanted, counted)
        unfinished.replace(path)
        READ_LOG.write()
    except ServiceError as error:
        raise ImportFileError(error.message) from None
    except OSError as error:
        raise ImportFileError(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return counted.number


def table_of(
    entity_set: EntitySet,
    records: QuerySet[Model],
    condition: str | None = None,
    names: Sequence[str] = (),
    sees: Caseload | None = None,
) -> tuple[Sequence[Column], Iterator[str]]:
    """The columns of the records for which the ``$filter`` holds, and their JSON, read one by one.

    ``sees``: what the person sees whom they are for.
    """
    entity_set = file_entity_set(entity_set)
    filter_option = {"$filter": condition} if condition else {}
    options = parse_options(urlencode({**filter_option, **select_and_expand(names)}, safe="$/(),;=*"))
    filtered = filter_rows(entity_set, records, options)
    log_export(filtered, without_values([("$filter", condition)]) if condition else "")
    reader = JsonReader(entity_set, filtered, options)
    wanted = columns(entity_set.type, reader.projection.selection, item_list_of(entity_set.type))
    # $select answers keys as well, which a file has only where somebody chose them.
    chosen = [column for column in wanted if not names or is_chosen(column.name, names)]
    if sees is not None:
        chosen = [column for column in chosen if not may_name_hidden(column, entity_set.model, sees)]
    return chosen, reader.stream()


def may_name_hidden(column: Column, model: type[Model], sees: Caseload) -> bool:
    """True for more than the name of a person who may not be seen: a representative, a key contact."""
    if column.prop is None:
        return False
    path = "__".join([*(each.path for each in column.navigations if each.path), column.prop.path])
    reference, _, member = path.rpartition("__")
    if not reference or member in SHOWN_MEMBERS:
        return False
    is_person = "__" not in (sees.path(column.prop.source_field.model) or "__")
    return is_person and not sees.path(model).startswith(f"{reference}__")


def is_chosen(name: str, names: Sequence[str]) -> bool:
    """True when a column is one of those chosen, or of a part that was chosen as a whole."""
    return any(name == each or name.startswith(f"{each}/") for each in names)


def select_and_expand(names: Sequence[str]) -> dict[str, str]:
    """``$select`` and ``$expand`` for some columns, everything for none."""
    if not names:
        return {"$expand": "*"}
    parts: dict[str, list[str]] = {}
    own: list[str] = []
    for name in names:
        part, slash, inner = name.partition("/")
        if slash:
            parts.setdefault(part, []).append(inner)
        else:
            own.append(name)
    inside = {
        part: ";".join(f"{option}={value}" for option, value in select_and_expand(inner).items())
        for part, inner in parts.items()
    }
    expanded = ",".join(f"{part}({options})" for part, options in inside.items())
    return {"$select": ",".join([*own, *parts]), **({"$expand": expanded} if expanded else {})}


def rows_of(wanted: Sequence[Column], records: Iterable[str]) -> Iterator[list[object]]:
    for record in records:
        yield from rows(decode_record(record), wanted)


def write_csv(file: IO[bytes], wanted: Sequence[Column], records: Iterable[str]) -> None:
    texts = csv_file([column.name for column in wanted], rows_of(wanted, records))
    file.writelines(text.encode() for text in texts)


def csv_file(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The texts of a CSV file, with a byte order mark, by which spreadsheets know that it is UTF-8."""
    yield "\ufeff"
    yield from csv_texts(chain([header], (map(formula_safe, row) for row in rows)))


def write_workbook(file: IO[bytes], wanted: Sequence[Column], records: Iterable[str]) -> None:
    book = Workbook(write_only=True)
    sheet = book.create_sheet("Records")
    try:
        sheet.append([column.name for column in wanted])
        for number, row in enumerate(rows_of(wanted, records), start=1):
            if number >= MAX_ROWS:
                raise ImportFileError(f"A sheet ends at row {MAX_ROWS:,}; export as CSV, or with a filter.")
            sheet.append([typed_cell(sheet, *pair) for pair in zip(wanted, row, strict=True)])
        book.save(file)
    except BaseException:
        # Else openpyxl keeps its temporary file until the process ends: a worker's lasts for weeks.
        if sheet._writer is not None:
            sheet._writer.cleanup()
        raise


class CountedRecords:
    """Records, and how many of them there were."""

    def __init__(self, records: Iterable[str]) -> None:
        self.records, self.number = records, 0

    def __iter__(self) -> Iterator[str]:
        for record in self.records:
            self.number += 1
            yield record


def typed_cell(sheet: object, column: Column, value: object) -> object:
    """Days as days, numbers as numbers, and no text a formula."""
    if not isinstance(value, str):
        return value
    if column.prop is not None and column.prop.edm.name == "Edm.Date" and not column.many:
        return dt.date.fromisoformat(value)
    return text_cell(sheet, value)


def write_json(file: IO[bytes], wanted: Sequence[Column], records: Iterable[str]) -> None:
    file.write(b'{"value": [')
    for number, line in enumerate(ndjson_lines(records)):
        file.write(((",\n" if number else "\n") + line.rstrip("\n")).encode())
    file.write(b"\n]}\n")


def write_ndjson(file: IO[bytes], wanted: Sequence[Column], records: Iterable[str]) -> None:
    file.writelines(line.encode() for line in ndjson_lines(records))


#: What writes records into an open file, by the extension of its name.
WRITERS = {"csv": write_csv, "xlsx": write_workbook, "json": write_json, "ndjson": write_ndjson}
