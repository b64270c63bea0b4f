"""The oldest part of the history, moved from the database into a folder of the form of a backup."""

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Min

from apps.base import clock
from apps.core.database.migrations import applied_migrations, known_migrations
from apps.core.models import Change, Subscriber
from apps.operations.backup_files import BackupReader, Manifest, new_backup
from apps.operations.services.backups import lock_tables, write_table
from apps.operations.services.verification import verify_backup
from apps.operations.tables import ContentSum, DatabaseTable, OperationError, load_tables, read_rows, snapshot


@dataclass(frozen=True, slots=True)
class HistoryArchive:
    """A complete archive: the entries that were made before the day."""

    folder: Path
    rows: int


def archive_history(parent: Path, years: int) -> HistoryArchive:
    """Write the entries older than so many years into a new folder below ``parent``, then delete them.

    They are deleted when every file has been read again. A folder that is there already, because the process
    was killed before it deleted, is taken when it holds them. Raises ``OperationError``, and deletes nothing
    then.
    """
    if years < settings.RETENTION_YEARS:
        raise OperationError(
            f"The history stays for RETENTION_YEARS: {settings.RETENTION_YEARS}, not {years}."
        )
    zone = Subscriber.current().zone
    day = clock.years_after(clock.now().astimezone(zone).date(), -years)
    end = first_entry_since(clock.in_utc(dt.datetime.combine(day, dt.time()), zone))
    if not Change.objects.filter(id__lt=end).exists():
        raise OperationError(f"No entry of the history is from before {day}.")
    (table,) = (each for each in load_tables(known_migrations()) if each.name == Change._meta.db_table)
    folder = parent / f"history-before-{day}"
    if not folder.exists():
        write_archive(folder, table, end)
    _, faults = verify_backup(folder)
    with transaction.atomic():
        total = ContentSum.of(read_rows(connection, table, below=end))
        if faults or total.sha256 != BackupReader(folder).read_manifest().tables[table.name].sha256:
            raise OperationError("\n".join([*faults, f"{folder} does not hold them: nothing was deleted."]))
        Change.objects.filter(id__lt=end).delete()
    return HistoryArchive(folder, total.rows)


def write_archive(folder: Path, table: DatabaseTable, end: int) -> None:
    """Write the entries with smaller numbers into a new folder."""
    with snapshot() as reading, new_backup(folder.parent, folder.name) as (writer, _):
        lock_tables(reading, (table,))
        content = write_table(writer, reading, table, below=end)
        created = dt.datetime.now(dt.UTC).replace(microsecond=0)
        migrations = applied_migrations(reading)
        writer.finish(
            Manifest(created, reading.vendor, migrations, {table.name: content}, {}, has_secret_key=False)
        )


def first_entry_since(moment: dt.datetime) -> int:
    """The number of the first entry that is not older; entries are numbered in their order."""
    found: int | None = Change.objects.filter(at__gte=moment).aggregate(first=Min("id"))["first"]
    if found is None:
        raise OperationError(f"The whole history is from before {moment:%Y-%m-%d}: is the clock right?")
    return found
