"""The history as the log of changes that deltas and webhooks are read from.

A number that rises with each entry is not enough on PostgreSQL: a transaction that began earlier may be
committed later, and its entries would lie behind a reader that has gone on. So a moment holds the snapshot of
transactions, and every entry the number of its own.
"""

import hashlib
import json
from collections.abc import Collection
from typing import Any

from django.db import connection
from django.db.models import F, Q, QuerySet

from apps.base.errors import Gone
from apps.core.models import Change
from apps.odata.delta.change_log import Cursor, LoggedChange, Moment
from apps.odata.query.ast import ValueKind
from apps.odata.query.functions import Constant, compare_rows

#: Transactions in progress that a moment names; of more, all that began later count as not committed yet.
MAX_IN_PROGRESS = 50

#: The snapshot, and what tells one database from its copies: the server, its failovers, the database.
_SNAPSHOT = """
    SELECT pg_current_snapshot()::text, concat_ws('.',
        (SELECT system_identifier FROM pg_control_system()), left(pg_walfile_name(pg_current_wal_lsn()), 8),
        (SELECT oid FROM pg_database WHERE datname = current_database()))
"""


class SerialLog:
    """The log where writers follow each other, as on SQLite: entries are committed in their order.

    A moment is (database, snapshot, number of the newest entry, hash of that entry).
    """

    def moment(self) -> Moment:
        snapshot, database = self.read_snapshot()
        newest = Change.objects.order_by("-id").values_list("id", flat=True).first() or 0
        return database, snapshot, newest, entry_hash(newest)

    def entries(
        self,
        since: Moment,
        until: Moment,
        record_types: Collection[str],
        after: Cursor | None,
        limit: int | None,
        last: Cursor | None = None,
    ) -> list[LoggedChange]:
        database, _, newest, fingerprint = since
        if database != until[0] or fingerprint != entry_hash(newest):
            raise Gone(
                "The changes since this was read are not known (the database was restored, moved or "
                "failed over, or its old history archived): read the entity set again with "
                "Prefer: odata.track-changes."
            )
        rows = self.rows_between(since, until, after, last).filter(record_type__in=record_types)
        rows = rows.exclude(kind=Change.Kind.EXPORTED)
        columns = ("transaction", "id", "record_type", "record_key", "differences", "kind")
        return [
            LoggedChange(
                (transaction or 0, number),
                record_type,
                key,
                differences if kind != Change.Kind.ERASED else None,
                is_new=kind == Change.Kind.CREATED,
            )
            for transaction, number, record_type, key, differences, kind in rows.values_list(*columns)[:limit]
        ]

    def earlier(self, moment: Moment, other: Moment) -> Moment:
        return min(moment, other, key=lambda each: int(each[2]))

    def read_snapshot(self) -> tuple[str, str]:
        return "", ""

    def rows_between(
        self, since: Moment, until: Moment, after: Cursor | None, last: Cursor | None
    ) -> QuerySet[Change]:
        start, end = after[1] if after else since[2], last[1] if last else until[2]
        return Change.objects.filter(id__gt=start, id__lte=end).order_by("id")


class SnapshotLog(SerialLog):
    """The log on PostgreSQL, where transactions are committed in any order."""

    def read_snapshot(self) -> tuple[str, str]:
        with connection.cursor() as cursor:
            cursor.execute(_SNAPSHOT)
            snapshot, database = cursor.fetchone()
        oldest, _, in_progress = snapshot.split(":")
        if in_progress.count(",") >= MAX_IN_PROGRESS:
            snapshot = f"{oldest}:{oldest}:"
        return snapshot, hashlib.blake2b(database.encode(), digest_size=8).hexdigest()

    def earlier(self, moment: Moment, other: Moment) -> Moment:
        """As that of a log in order; all that was in progress at one of them counts as not committed yet."""
        database, _, newest, fingerprint = super().earlier(moment, other)
        oldest = min(split_snapshot(each[1])[0] for each in (moment, other))
        return database, f"{oldest}:{oldest}:", newest, fingerprint

    def rows_between(
        self, since: Moment, until: Moment, after: Cursor | None, last: Cursor | None
    ) -> QuerySet[Change]:
        oldest, following, in_progress = split_snapshot(since[1])
        # Entries of a restored database have numbers of another server: those to come are left out.
        numbers: Any = {"transaction__gte": oldest, "transaction__lt": split_snapshot(until[1])[1]}
        unseen = Q(transaction__gte=following) | Q(transaction__in=in_progress)
        rows = Change.objects.filter(unseen, **numbers).order_by("transaction", "id")
        for comparison, cursor in ((">", after), ("<=", last)):
            if cursor is not None:
                place = (Constant(ValueKind.INTEGER, number) for number in cursor)
                rows = rows.filter(compare_rows(comparison, 2)(F("transaction"), F("id"), *place))
        return rows


def split_snapshot(text: str) -> tuple[int, int, list[int]]:
    """The oldest transaction in progress, the first that had not begun, and all that were in progress."""
    oldest, following, in_progress = text.split(":")
    return int(oldest), int(following), [int(number) for number in in_progress.split(",") if number]


def entry_hash(number: int) -> str:
    """A hash of the entry, by which another one of the same number is told from it."""
    row = Change.objects.filter(id=number).values_list("at", "record_key").first()
    if row is None:
        return ""
    text = json.dumps([str(value) for value in row])
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def change_log() -> SerialLog:
    """The log of the engine in use."""
    return SnapshotLog() if connection.vendor == "postgresql" else SerialLog()
