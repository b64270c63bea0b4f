"""Archiving and restoring of records: nothing is deleted; archived records leave lists and choices."""

from collections import defaultdict
from collections.abc import Sequence

from django.db import transaction
from django.db.models import Model, QuerySet

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.core import history
from apps.core.bulk_insert import in_batches


def archive(records: QuerySet[Model]) -> int:
    """Archive those of the records that are current, and return how many there were.

    Three statements for every 2,000 records: their keys, their dates, their lines of history.
    """
    now = clock.now()
    changed = history.describe(records.model, {"archive_date": None}, {"archive_date": now})
    return set_archive_date(records.filter(archive_date=None), now, "Archived", changed)


def restore(records: QuerySet[Model]) -> int:
    """Restore those of the records that are archived, and return how many there were."""
    return set_archive_date(records.exclude(archive_date=None), None, "Restored", None)


def set_archive_dates(model: type[Model], dates: Sequence[tuple[object, object, object]]) -> None:
    """Set the archive dates of records, given as (key, date before, date after): ``None`` restores.

    In the caller's transaction; for records that bring their date from elsewhere.
    """
    by_date: dict[object, list[object]] = defaultdict(list)
    for key, _, after in dates:
        by_date[after].append(key)
    for date, keys in by_date.items():
        records = model._base_manager.filter(AnyOf("pk", keys))
        records.update(archive_date=date, modify_date=clock.now())
    history.write_differences(
        model,
        [
            (key, history.describe(model, {"archive_date": before}, {"archive_date": after}))
            for key, before, after in dates
        ],
    )


@transaction.atomic
def set_archive_date(
    records: QuerySet[Model], archive_date: object, kind: str, changed: history.Differences | None
) -> int:
    model = records.model
    locked = records.order_by("pk").select_for_update(of=("self",))
    keys = list(locked.values_list("pk", flat=True))
    for batch in in_batches(keys):
        model._default_manager.filter(pk__in=batch).update(archive_date=archive_date, modify_date=clock.now())
        history.write_entries(model, batch, kind, changed)
    return len(keys)
