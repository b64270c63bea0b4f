"""Archiving records and restoring them: nothing is deleted, it is put out of the way and comes back."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from apps.core import history
from apps.odata import clock

#: Keys named in one statement; far below what either engine takes.
BATCH = 2_000


def archive(records: QuerySet[Any]) -> int:
    """Archive those of the records that are current, and say how many there were.

    Three statements for every 2,000 records: their keys, their stamps, their lines of history.
    """
    now = clock.now()
    changed = {"archive_date": [None, history.json_value(now)]}
    return _stamp(records.filter(archive_date=None), now, "Archived", changed)


def restore(records: QuerySet[Any]) -> int:
    """Bring back those of the records that are archived, and say how many there were."""
    return _stamp(records.exclude(archive_date=None), None, "Restored", None)


@transaction.atomic
def _stamp(records: QuerySet[Any], archive_date: Any, kind: str, changed: Any) -> int:
    model = records.model
    locked = records.order_by("pk").select_for_update(of=("self",))
    keys = list(locked.values_list("pk", flat=True))
    for start in range(0, len(keys), BATCH):
        batch = keys[start : start + BATCH]
        model._default_manager.filter(pk__in=batch).update(archive_date=archive_date, modify_date=clock.now())
        history.write_entries(model, batch, kind, changed)
    return len(keys)
