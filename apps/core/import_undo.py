"""Undoing an import: what it created is deleted, what it changed gets its values back, all or nothing."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import models, transaction
from django.db.models import ProtectedError, QuerySet

from apps.base.drafts import ValidationFailed, WarningsPresent
from apps.core import history
from apps.core.bulk_insert import in_batches
from apps.core.history_display import model_of
from apps.core.models import Change
from apps.core.services import draft_class_of, service_of

#: Records named in a reason.
NAMED = 5


class UndoRefused(Exception):
    """Something depends on what the import wrote; the text is the reason for the user."""


@dataclass
class WrittenRecords:
    """The records that an import wrote of one model: the last entry of each, and the values before it."""

    last_entries: dict[str, int] = field(default_factory=dict)
    created: set[str] = field(default_factory=set)
    before: defaultdict[str, dict[str, object]] = field(default_factory=lambda: defaultdict(dict))


@transaction.atomic
def undo_changes(changes: QuerySet[Change]) -> None:
    """Undo what these entries of the history say; ``UndoRefused`` when others rest on it."""
    written: defaultdict[type[models.Model], WrittenRecords] = defaultdict(WrittenRecords)
    for change in changes.order_by("pk").iterator():
        model = model_of(change.record_type)
        if model is None:
            raise UndoRefused(f"This version has no {change.record_type}.")
        records, key = written[model], change.record_key
        records.last_entries[key] = change.pk
        if change.kind == Change.Kind.CREATED:
            records.created.add(key)
        elif key not in records.created:
            for column, (before, _) in (change.differences or {}).items():
                records.before[key].setdefault(column, before)
    for model, records in written.items():
        refuse_later_changes(model, records, changes)
    for model, records in written.items():
        restore_values(model, records.before)
    # What was created first may be referred to by what came after it.
    for model in sorted(written, key=lambda each: min(written[each].last_entries.values()), reverse=True):
        delete_created(model, written[model].created)


def refuse_later_changes(
    model: type[models.Model], records: WrittenRecords, changes: QuerySet[Change]
) -> None:
    """``UndoRefused`` for records that somebody else has changed; all are locked, so that nobody does now."""
    of_import = set(changes.values_list("pk", flat=True))
    later: dict[str, None] = {}
    for keys in in_batches(sorted(records.last_entries)):
        locked = model._base_manager.filter(pk__in=keys).order_by("pk").select_for_update()
        list(locked.values_list("pk", flat=True))
        entries = Change.objects.filter(record_type=model._meta.label_lower, record_key__in=keys)
        after = entries.filter(pk__gt=min(records.last_entries[key] for key in keys))
        for key, entry in after.order_by("pk").values_list("record_key", "pk"):
            if entry > records.last_entries[key] and entry not in of_import:
                later[key] = None
    if later:
        raise UndoRefused(f"Changed since the import: {name_records(model, list(later))}.")


def name_records(model: type[models.Model], keys: Sequence[str]) -> str:
    found = [str(record) for record in model._base_manager.filter(pk__in=keys[:NAMED])]
    rest = len(keys) - len(found)
    return ", ".join(found) + (f" and {rest:,} more" if rest else "")


def restore_values(model: type[models.Model], before: dict[str, dict[str, object]]) -> None:
    """Give the records their values back by the service of their forms, whose rules hold here too."""
    columns = {column.attname: column for column in model._meta.concrete_fields}
    draft_class, drafts, archived = draft_class_of(model), [], []
    for key, differences in before.items():
        if unknown := differences.keys() - columns.keys():
            raise UndoRefused(
                f"{name_records(model, [key])}: {', '.join(sorted(unknown))} cannot be set back."
            )
        if "archive_date" in differences:
            archived.append(key)
        values = {
            columns[name].name: stored_value(columns[name], value) for name, value in differences.items()
        }
        values.pop("archive_date", None)
        drafts.append(draft_class(values, values, key=model._meta.pk.to_python(key)))
    if archived:
        raise UndoRefused(f"It archived or restored {name_records(model, archived)}; do that by hand first.")
    if not drafts:
        return
    service = service_of(model, "update")
    try:
        try:
            service(drafts)
        except WarningsPresent:
            service(drafts, ignore_warnings=True)
    except ValidationFailed as failed:
        number, issue = failed.issues[0]
        raise UndoRefused(f"{name_records(model, [str(drafts[number].key)])}: {issue.message}") from None


def stored_value(column: models.Field, value: object) -> object:
    """A value of the history as a draft has it: a reference is its record."""
    if value is None or not column.is_relation:
        return column.to_python(value)
    related: Any = column.related_model
    return related._base_manager.filter(pk=value).first()


def delete_created(model: type[models.Model], created: set[str]) -> None:
    """Delete the records, with their history, unless others refer to them."""
    for keys in in_batches(sorted(created)):
        records = model._base_manager.filter(pk__in=keys)
        history.write_deletions(model, records)
        try:
            records.delete()
        except ProtectedError as protected:
            others = sorted({str(record) for record in list(protected.protected_objects)[:NAMED]})
            raise UndoRefused(f"Others refer to what it created: {', '.join(others)}.") from None
