"""The erasure of a person's values from archives, here those of the old history (``archive_history``).

An archive is written anew without them, read again, and put in the place of the one before.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from apps.core.models import Change
from apps.operations.backup_files import (
    CHECKSUMS,
    BackupReader,
    backup_lock,
    compress,
    new_backup,
    table_file,
)
from apps.operations.money_files import money_files
from apps.operations.personal_records import ownerships
from apps.operations.services.erasure_money_files import erase_from_money_files
from apps.operations.services.erasure_plans import ErasurePlan
from apps.operations.services.verification import verify_backup
from apps.operations.tables import NULL, ContentSum, OperationError, unescape_text

TABLE = Change._meta.db_table
#: The end of the name of an archive that was written anew, until it has the place of the one before.
ERASED = ".erased"


@dataclass(frozen=True, slots=True)
class OwnChanges:
    """The keys of the person's records as texts, by the label of their model, and whose owner is where."""

    keys: dict[str, set[str]]
    #: Of each model, the columns that name an owner, with the label of the owner's model.
    owners: dict[str, list[tuple[str, str]]]

    def is_of_owner(self, label: str, differences: str) -> bool:
        """True when a deleted record belonged to one of these."""
        if label not in self.owners or differences == NULL:
            return False
        values = json.loads(unescape_text(differences))
        return any(
            (values.get(column) or [None])[0] in self.keys.get(owner, ())
            for column, owner in self.owners[label]
        )


def erase_from_archives(parent: Path, plan: ErasurePlan) -> dict[str, int]:
    """How many changes or rows lost their values, by the name of each archive in the folder.

    Raises ``OperationError`` for an archive that is damaged; those before it are done then.
    """
    if parent.is_dir():
        end_killed_erasures(parent)
    histories = sorted(path for path in parent.glob("history-before-*") if (path / CHECKSUMS).exists())
    books = money_files(parent)
    if not histories and not books:
        raise OperationError(f"{parent} has no archive of the history, nor of claim files and payment runs.")
    # Each kind finds damage before it changes an archive; this one is read faster.
    erased = erase_from_money_files(books, plan.keys)
    return {**erase_from_histories(histories, plan.record_keys), **erased}


def end_killed_erasures(parent: Path) -> None:
    """An archive that was written anew takes its place, or goes where the one before still has it."""
    with backup_lock(parent):
        for written in parent.glob(f"history-before-*{ERASED}"):
            folder = written.with_suffix("")
            if folder.exists():
                shutil.rmtree(written)
            else:
                written.rename(folder)
        for former in parent.glob(".history-before-*.incomplete"):
            shutil.rmtree(former)


def erase_from_histories(folders: Sequence[Path], keys: Mapping[str, set[str]]) -> dict[str, int]:
    """How many changes lost their values; ``keys`` are those of the records, by the label of their model."""
    owners = {
        row.model._meta.label_lower: [
            (each.attname, each.related_model._meta.label_lower) for each in row.owners
        ]
        for row in ownerships()
    }
    own = OwnChanges({label: set(some) for label, some in keys.items()}, owners)
    add_deleted_records(folders, own)
    return {folder.name: erase_from_archive(folder, own) for folder in folders}


def add_deleted_records(folders: Iterable[Path], own: OwnChanges) -> None:
    """Add those that belonged to the person and are gone: only their last change names an owner."""
    found = True
    while found:
        found = False
        for folder in folders:
            reader = open_archive(folder)
            cells = cell_reader(reader)
            for line in lines_of(reader):
                label, key, kind, differences = cells(line)
                known = own.keys.setdefault(label, set())
                if kind == Change.Kind.DELETED and key not in known and own.is_of_owner(label, differences):
                    known.add(key)
                    found = True


def erase_from_archive(folder: Path, own: OwnChanges) -> int:
    """Write one archive anew, if anything of the person is in it."""
    reader = open_archive(folder)
    manifest = reader.read_manifest()
    table = manifest.tables[TABLE]
    position = table.columns.index("differences")
    cells = cell_reader(reader)
    count = 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for line in lines_of(reader):
            label, key, _, differences = cells(line)
            if key in own.keys.get(label, ()) and differences != NULL:
                count += 1
                values = line.split("\t")
                values[position] = NULL
                line = "\t".join(values)
            yield f"{line}\n".encode()

    total = ContentSum()
    for _ in lines():
        pass
    if not count:
        return 0
    count = 0
    with new_backup(folder.parent, folder.name + ERASED) as (writer, written):
        writer.write(table_file(TABLE), compress(total.watch(lines())))
        content = replace(table, rows=total.rows, sha256=total.sha256)
        writer.finish(replace(manifest, tables={**manifest.tables, TABLE: content}))
    _, faults = verify_backup(written)
    if faults:
        raise OperationError("\n".join([*faults, f"{folder} stays as it was."]))
    former = folder.with_name(f".{folder.name}.incomplete")  # which the next archive or backup removes
    folder.rename(former)
    written.rename(folder)
    shutil.rmtree(former)
    return count


def open_archive(folder: Path) -> BackupReader:
    reader = BackupReader(folder)
    if faults := reader.find_damaged_files():
        raise OperationError("\n".join([*faults, f"{folder} is damaged."]))
    return reader


def cell_reader(reader: BackupReader) -> Callable[[str], Any]:
    """Takes the kind of record, its key, the kind of change and the differences out of a line."""
    columns = reader.read_manifest().tables[TABLE].columns
    places = [columns.index(name) for name in ("record_type", "record_key", "kind", "differences")]

    def cells(line: str) -> list[str]:
        values = line.split("\t")
        return [values[place] for place in places]

    return cells


def lines_of(reader: BackupReader) -> Iterator[str]:
    """The rows of the history, without line feeds."""
    unfinished = b""
    for chunk in reader.read_table(TABLE):
        *lines, unfinished = (unfinished + chunk).split(b"\n")
        yield from (line.decode() for line in lines)
