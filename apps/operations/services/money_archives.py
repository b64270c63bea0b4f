"""Old claim files, answers and payment runs, moved from the database into a ZIP file for each year.

A ZIP file has the rows as lines of JSON, the kept files byte for byte, and SHA256SUMS. Its name has a part of
the SHA-256 of those, so that what was written and not deleted, because the process was killed, has the same
name when it is written again.
"""

import datetime as dt
import hashlib
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.db.models import BinaryField, Model, ProtectedError

from apps.core import history
from apps.core.bulk_insert import in_batches
from apps.documents.storage import CHUNK_SIZE, sync_to_disk
from apps.operations.archived_books import BOOKS, Book
from apps.operations.backup_files import CHECKSUMS, ENCRYPTED, BackupWriter, backup_lock, file_encryption
from apps.operations.services.money_plans import MoneyPlan, last_day, plan_archive
from apps.operations.tables import OperationError

#: The time of all entries, so that the same rows make the same bytes.
NO_TIME = (1980, 1, 1, 0, 0, 0)


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
    sums: dict[str, str] = {}
    counts: dict[type[Model], int] = {}
    with tempfile.TemporaryFile(dir=parent) as file:
        with ZipFile(file, "w", ZIP_DEFLATED) as archive:
            for book, keys in books.items():
                for model, path in book.tables:
                    lines = JsonLines(model, path, keys)
                    entry = f"rows/{model._meta.db_table}.jsonl"
                    sums[entry] = write_entry(archive, entry, lines)
                    counts[model] = lines.count
                    for entry, content in kept_files(model, path, keys):
                        sums[entry] = write_entry(archive, entry, [content])
            text = "".join(f"{sha256}  {name}\n" for name, sha256 in sums.items()).encode()
            write_entry(archive, CHECKSUMS, [text])
        name = f"money-{year}-{hashlib.sha256(text).hexdigest()[:12]}.zip"
        stored = store(parent, name, file)
    check_archive(stored, sums)
    return stored, counts


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
                row = dict(zip(names, values, strict=True))
                yield json.dumps(row, cls=DjangoJSONEncoder, ensure_ascii=False).encode() + b"\n"


def kept_files(model: type[Model], path: str, keys: list[Any]) -> Iterator[tuple[str, bytes]]:
    """The kept files of rows, by their names in the archive."""
    for column in model._meta.concrete_fields:
        if not isinstance(column, BinaryField):
            continue
        for batch in in_batches(keys):
            rows = model._base_manager.filter(**{f"{path}__in": batch}).order_by("pk")
            for record in rows.iterator(chunk_size=10):
                content = getattr(record, column.attname)
                if content is not None:
                    yield f"files/{model._meta.db_table}/{record.pk}-{record}", bytes(content)


def write_entry(archive: ZipFile, name: str, chunks: Iterable[bytes]) -> str:
    """The SHA-256 of an entry of the archive."""
    checksum = hashlib.sha256()
    info = ZipInfo(name, NO_TIME)
    info.compress_type = ZIP_DEFLATED
    with archive.open(info, "w", force_zip64=True) as entry:
        for chunk in chunks:
            checksum.update(chunk)
            entry.write(chunk)
    return checksum.hexdigest()


def store(parent: Path, name: str, file: IO[bytes]) -> Path:
    """Store the archive under its name, encrypted when backups are; one that is there already stays."""
    encryption = file_encryption()
    path = parent / (name + ENCRYPTED if encryption else name)
    if path.exists():
        return path
    incomplete = f".{path.name}.incomplete"
    (parent / incomplete).unlink(missing_ok=True)  # of a process that was killed: no other is at work
    file.seek(0)
    chunks = iter(lambda: file.read(CHUNK_SIZE), b"")
    BackupWriter(parent).store(incomplete, encryption.encrypt(chunks) if encryption else chunks)
    os.rename(parent / incomplete, path)
    sync_to_disk(parent)
    return path


def check_archive(path: Path, sums: dict[str, str]) -> None:
    """Read the archive again; ``OperationError`` unless it has exactly what was read from the database."""
    encryption = file_encryption() if path.name.endswith(ENCRYPTED) else None
    with path.open("rb") as stored, tempfile.TemporaryFile(dir=path.parent) as file:
        chunks = iter(lambda: stored.read(CHUNK_SIZE), b"")
        for chunk in encryption.decrypt(chunks) if encryption else chunks:
            file.write(chunk)
        try:
            with ZipFile(file) as archive:
                found = {name: sha256_of(archive, name) for name in archive.namelist() if name != CHECKSUMS}
        except Exception as error:  # whatever zipfile and zlib raise for a damaged file
            raise OperationError(f"{path} cannot be read: {error}. Nothing was deleted.") from error
    if found != sums:
        raise OperationError(f"{path} does not hold the rows: nothing was deleted.")


def sha256_of(archive: ZipFile, name: str) -> str:
    checksum = hashlib.sha256()
    with archive.open(name) as entry:
        while chunk := entry.read(CHUNK_SIZE):
            checksum.update(chunk)
    return checksum.hexdigest()


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
                for batch in in_batches(keys):
                    rows = model._base_manager.filter(**{f"{path}__in": batch})
                    if model is book.model:
                        history.write_deletions(model, rows)
                    for label, count in rows.delete()[1].items():
                        deleted[label] += count
    except ProtectedError as protected:
        raise OperationError(f"{protected.args[0]} Nothing was deleted.") from protected
    expected = {model._meta.label: count for model, count in written.items() if count}
    if {label: count for label, count in deleted.items() if count} != expected:
        raise OperationError("Other rows than those that were written refer to them: nothing was deleted.")
