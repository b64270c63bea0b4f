"""The oldest part of the history, moved from the database into a folder of the form of a backup."""

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import Min

from apps.base import clock
from apps.core.database.migrations import applied_migrations
from apps.core.models import Change, Subscriber
from apps.operations.backup_files import Manifest, new_backup
from apps.operations.services.backups import lock_tables, write_table
from apps.operations.services.erasure_plans import years_after
from apps.operations.services.verification import verify_backup
from apps.operations.tables import OperationError, load_tables, snapshot


@dataclass(frozen=True, slots=True)
class HistoryArchive:
    """A complete archive: the entries that were made before the day."""

    folder: Path
    rows: int


def archive_history(parent: Path, years: int) -> HistoryArchive:
    """Write the entries older than so many years into a new folder below ``parent``, then delete them.

    They are deleted when every file has been read again. Raises ``OperationError``, and deletes nothing then.
    """
    if years < settings.RETENTION_YEARS:
        raise OperationError(
            f"The history stays for RETENTION_YEARS: {settings.RETENTION_YEARS}, not {years}."
        )
    zone = Subscriber.current().zone
    day = years_after(clock.now().astimezone(zone).date(), -years)
    end = first_entry_since(clock.in_utc(dt.datetime.combine(day, dt.time()), zone))
    if not Change.objects.filter(id__lt=end).exists():
        raise OperationError(f"No entry of the history is from before {day}.")
    name = Change._meta.db_table
    with snapshot() as connection, new_backup(parent, f"history-before-{day}") as (writer, folder):
        migrations = applied_migrations(connection)
        (table,) = (table for table in load_tables(migrations) if table.name == name)
        lock_tables(connection, (table,))
        content = write_table(writer, connection, table, below=end)
        created = dt.datetime.now(dt.UTC).replace(microsecond=0)
        writer.finish(
            Manifest(created, connection.vendor, migrations, {name: content}, {}, has_secret_key=False)
        )
    _, faults = verify_backup(folder)
    with transaction.atomic():
        if faults or Change.objects.filter(id__lt=end).delete()[0] != content.rows:
            raise OperationError("\n".join([*faults, f"{folder} does not hold them: nothing was deleted."]))
    return HistoryArchive(folder, content.rows)


def first_entry_since(moment: dt.datetime) -> int:
    """The number of the first entry that is not older; entries are numbered in their order."""
    found: int | None = Change.objects.filter(at__gte=moment).aggregate(first=Min("id"))["first"]
    if found is None:
        raise OperationError(f"The whole history is from before {moment:%Y-%m-%d}: is the clock right?")
    return found
