"""Who changed what: one entry for each record written, in the same transaction as the change itself."""

import datetime as dt
import decimal
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from django.apps import apps
from django.db import connection, models
from psycopg.types.json import Jsonb

from apps.core.bulk_insert import FEW, WriteBatch


class Author(NamedTuple):
    """Who writes, and through which channel: a person, an API application, or neither (a command)."""

    channel: str = "Command"
    staff_id: uuid.UUID | None = None
    application: str | None = None
    request_id: str | None = None


SYSTEM_AUTHOR = Author()
_AUTHOR: ContextVar[Author] = ContextVar("history_author", default=SYSTEM_AUTHOR)


def author() -> Author:
    """The current author."""
    return _AUTHOR.get()


def set_author(who: Author) -> None:
    """Make ``who`` the author from here on in this context (a request's authentication does)."""
    _AUTHOR.set(who)


@contextmanager
def as_author(who: Author) -> Iterator[None]:
    """Make ``who`` the author within the block."""
    token = _AUTHOR.set(who)
    try:
        yield
    finally:
        _AUTHOR.reset(token)


def loaded_values(record: models.Model) -> dict[str, object]:
    """The values of the record's loaded columns, without the normalised columns."""
    deferred = record.get_deferred_fields()  # they would be read from the database
    return {
        field.attname: getattr(record, field.attname)
        for field in record._meta.concrete_fields
        if field.attname not in deferred and not hasattr(field, "text_field")
    }


#: ``{column: [before, after]}``: columns from what to what, as JSON values.
Differences = dict[str, list[Any]]

#: What stands in place of a secret.
MASK = "•••"


def describe(model: Any, before: Mapping[str, object], after: Mapping[str, object]) -> Differences:
    """The differences between the values of a record's columns, as every entry has them.

    Columns that ``before`` has not cannot differ; unrecorded columns and the modify stamp are left out, and
    secrets masked.
    """
    left_out = {"modify_date", *model.unrecorded_columns}
    found: Differences = {}
    for name, value in after.items():
        if name in left_out or name not in before or values_are_equal(before[name], value):
            continue
        shown = mask if name in model.secret_columns else json_value
        found[name] = [shown(before[name]), shown(value)]
    return found


def mask(value: object) -> str | None:
    """The mask of a secret; ``None`` where there is none."""
    return None if value is None else MASK


def differences(record: models.Model, columns: Iterable[str] | None = None) -> Differences:
    """The differences of a record against what was loaded of it.

    ``columns`` are those that can differ, all when left out.
    """
    values = loaded_values(record) if columns is None else {name: getattr(record, name) for name in columns}
    return describe(record, getattr(record, "_stored", {}), values)


def values_are_equal(before: object, after: object) -> bool:
    """True when two values are equal; moments by UTC, as Python calls none in a clock change's hour equal."""
    if isinstance(before, dt.datetime) and isinstance(after, dt.datetime):
        return before.astimezone(dt.UTC) == after.astimezone(dt.UTC)
    return bool(before == after)


def json_value(value: object) -> object:
    """A column's value as JSON keeps it without loss."""
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat()
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | uuid.UUID):
        return str(value)
    return value


def write_differences(model: type[models.Model], entries: Iterable[tuple[object, Differences]]) -> None:
    """Write an entry for each (key, differences) of changed records, by the current author."""
    write_changes(model, ((key, change_kind(changed), changed) for key, changed in entries))


def change_kind(changed: Differences) -> str:
    """The kind of an entry with these differences: an archive date is more than a change."""
    if "archive_date" not in changed:
        return "Changed"
    return "Restored" if changed["archive_date"][1] is None else "Archived"


def write_deletions(model: type[models.Model], records: Iterable[models.Model]) -> None:
    """Write an entry with all values of each record about to be deleted, by the current author."""
    values = [(record.pk, loaded_values(record)) for record in records]
    write_changes(
        model, ((key, "Deleted", describe(model, before, dict.fromkeys(before))) for key, before in values)
    )


def record_list(record: models.Model, name: str, before: Iterable[str], after: Iterable[str]) -> None:
    """Write that a list of the record (its teams) changed; nothing when it did not."""
    old, new = sorted(before), sorted(after)
    if old != new:
        write_entries(type(record), [record.pk], "Changed", {name: [old, new]})


def write_entries(
    model: type[models.Model],
    keys: Iterable[object],
    kind: str,
    changed: Differences | None = None,
    batch: WriteBatch | None = None,
) -> None:
    """One entry for each key, by the current author; sent with the ``batch`` when one is given."""
    keys = list(keys)
    if connection.vendor != "postgresql" or len(keys) <= FEW:
        write_changes(model, ((key, kind, changed) for key in keys), batch)
        return
    # PostgreSQL makes the rows of their keys, in a fraction of the time that it takes to write out each.
    who, differences = author(), None if changed is None else Jsonb(changed)
    own_batch = batch or WriteBatch()
    own_batch.execute(
        f"INSERT INTO core_change ({', '.join(COLUMNS)})"  # noqa: S608  our own names
        " SELECT key, %s, %s, %s, %s, %s, %s, %s, %s FROM unnest(%s::text[]) AS key",
        [
            *(kind, differences, own_batch.moment, model._meta.label_lower),
            *(who.staff_id, who.application, who.channel, who.request_id),
            "{" + ",".join(map(str, keys)) + "}",
        ],
    )
    if batch is None:
        own_batch.send()


#: The columns of an entry.
COLUMNS = (
    *("record_key", "kind", "differences", "at", "record_type"),
    *("staff_id", "application", "channel", "request_id"),
)


def write_changes(
    model: type[models.Model],
    entries: Iterable[tuple[object, str, Differences | None]],
    batch: WriteBatch | None = None,
) -> None:
    """An entry for each (key, kind, differences), by the current author; sent with the ``batch`` if given."""
    own_batch = batch or WriteBatch()
    who, at, label = author(), own_batch.moment, model._meta.label_lower
    rows = (
        (str(key), kind, changed, at, label, who.staff_id, who.application, who.channel, who.request_id)
        for key, kind, changed in entries
    )
    own_batch.insert(apps.get_model("core", "Change"), COLUMNS, rows)
    if batch is None:
        own_batch.send()
