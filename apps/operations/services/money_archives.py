"""Old claim files, answers and payment runs, moved from the database into a ZIP file for each year.

What was written and not deleted, because the process was killed, has the same name when it is written again.
"""

import datetime as dt
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.db.models import BinaryField, Model, ProtectedError, QuerySet

from apps.core import history
from apps.core.bulk_insert import in_batches
from apps.operations.archived_books import BOOKS, Book
from apps.operations.backup_files import backup_lock
from apps.operations.money_files import write_money_file
from apps.operations.services.money_plans import MoneyPlan, last_day, plan_archive
from apps.operations.tables import OperationError

#: So many records of a book are deleted at a time, and so many of their rows.
BOOKS_AT_ONCE, ROWS_AT_ONCE = 20, 1000


# --- writing --------------------------------------------------------------------------------------------


def archive_money(parent: Path, until: dt.date | None = None) -> Iterator[str]:
    """Write what is old into files below ``parent``, read them again, then delete the rows; what was done.

    All is one transaction: rows are deleted when every file has reached the disk and was read, or none is.
    Raises ``OperationError``, and deletes nothing then.
    """
    end = last_day(until)
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with backup_lock(parent), transaction.atomic():
        plan = plan_archive(end)
        done, written = [], dict[type[Model], int]()
        for year in sorted(plan.years):
            path, rows = write_year(parent, year, plan.years[year])
            done.append(f"{year}: {plan.summary(year)}: {path}")
            for model, count in rows.items():
                written[model] = written.get(model, 0) + count
        delete_books(plan, written)
    yield from done


def write_year(parent: Path, year: int, books: dict[Book, list[Any]]) -> tuple[Path, dict[type[Model], int]]:
    """The file of a year, which has reached the disk and was read again, and the rows of each model in it."""
    counts: dict[type[Model], int] = {}

    def entries() -> Iterator[tuple[str, Iterable[bytes]]]:
        for book, keys in books.items():
            for model, path in book.tables:
                lines = JsonLines(model, path, keys)
                yield rows_entry(model), lines
                counts[model] = lines.count
                for name, content in stored_files(model, path, keys):
                    yield name, [content]

    return write_money_file(parent, year, entries()), counts


@dataclass(slots=True)
class JsonLines:
    """The rows of a model that belong to records, a line of JSON each; ``count`` once they were read."""

    model: type[Model]
    path: str
    keys: list[Any]
    count: int = 0

    def __iter__(self) -> Iterator[bytes]:
        columns = self.model._meta.concrete_fields
        names = [each.attname for each in columns if not isinstance(each, BinaryField)]
        for batch in in_batches(self.keys):
            rows = self.model._base_manager.filter(**{f"{self.path}__in": batch}).order_by("pk")
            for values in rows.values_list(*names).iterator():
                self.count += 1
                yield json_line(dict(zip(names, values, strict=True)))


def json_line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, cls=DjangoJSONEncoder, ensure_ascii=False).encode() + b"\n"


def stored_files(model: type[Model], path: str, keys: list[Any]) -> Iterator[tuple[str, bytes]]:
    """The kept files of rows, by their names in the archive."""
    for column in model._meta.concrete_fields:
        if not isinstance(column, BinaryField):
            continue
        for batch in in_batches(keys):
            rows = model._base_manager.filter(**{f"{path}__in": batch}).order_by("pk")
            for record in rows.iterator(chunk_size=10):
                content = getattr(record, column.attname)
                if content is not None:
                    yield f"{files_folder(model)}{record.pk}-{record}", bytes(content)


def rows_entry(model: type[Model]) -> str:
    """The name of the entry with the rows of a model."""
    return f"rows/{model._meta.db_table}.jsonl"


def files_folder(model: type[Model]) -> str:
    """The beginning of the names of entries with the kept files of a model; the key of the row follows."""
    return f"files/{model._meta.db_table}/"


# --- deleting -------------------------------------------------------------------------------------------


def delete_books(plan: MoneyPlan, written: dict[type[Model], int]) -> None:
    """Delete what was written; ``OperationError`` when anything else would go with it."""
    deleted: dict[str, int] = defaultdict(int)
    try:
        for book in BOOKS:
            keys = plan.keys_of(book)
            if book.before is not None and keys:
                book.before(keys)
            for model, path in book.tables:
                for rows in rows_in_batches(model, path, keys):
                    if model is book.model:
                        history.write_deletions(model, rows)
                    for label, count in rows.delete()[1].items():
                        deleted[label] += count
    except ProtectedError as protected:
        raise OperationError(f"{protected.args[0]} Nothing was deleted.") from protected
    expected = {model._meta.label: count for model, count in written.items() if count}
    if {label: count for label, count in deleted.items() if count} != expected:
        raise OperationError("Other rows than those that were written refer to them: nothing was deleted.")


def rows_in_batches(model: type[Model], path: str, keys: Iterable[object]) -> Iterator[QuerySet[Model]]:
    """The rows of records: as many as are deleted at a time, since each is loaded for it."""
    for records in in_batches(keys, BOOKS_AT_ONCE):
        rows = model._base_manager.filter(**{f"{path}__in": records}).order_by("pk")
        for batch in in_batches(list(rows.values_list("pk", flat=True)), ROWS_AT_ONCE):
            yield model._base_manager.filter(pk__in=batch)
