"""The history as people read it: labels of columns and choices, names of records."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, reduce
from operator import or_
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist, ObjectDoesNotExist, ValidationError
from django.db import models
from django.urls import reverse
from django.utils import formats, timezone
from django.utils.text import capfirst

from apps.core.caseload import caseload_of, visible_rows
from apps.core.models import Change, LogEntry

#: Shown for a missing value.
NO_VALUE = "–"

#: The colour of each kind of line, as the interface library names them.
COLOURS: Mapping[str, str] = {
    Change.Kind.CREATED: "success",
    Change.Kind.CHANGED: "info",
    Change.Kind.ARCHIVED: "warning",
    Change.Kind.RESTORED: "success",
    Change.Kind.DELETED: "danger",
    Change.Kind.ERASED: "danger",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One column that changed, as it is shown."""

    label: str
    before: str
    after: str

    @classmethod
    def of(
        cls, model: type[models.Model], column: str, before: object, after: object, names: Names
    ) -> Difference:
        found = column_of(model, column)
        label = capfirst(str(found.verbose_name)) if found is not None else column
        return cls(label, value_text(found, before, names), value_text(found, after, names))


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One line of the history, as it is shown. ``url`` is the record's form, while there is one."""

    at: dt.datetime
    who: str
    channel: str
    kind: str
    record: str
    url: str | None
    colour: str
    differences: list[Difference] = field(default_factory=list)


def changes_of(record: models.Model) -> models.QuerySet[Change]:
    """The history of one record, newest first."""
    return Change.objects.filter(record_type=record._meta.label_lower, record_key=str(record.pk))


def history_lines(changes: Iterable[Change], person: object = None) -> list[HistoryLine]:
    """The changes as they are shown; one query for each model that they refer to, however many they are.

    Records that the ``person`` does not see have no name; without a person all have theirs.
    """
    changes = list(changes)
    names = load_names(changes, person)
    deletions = load_deletions(changes, names) if caseload_of(person) is None else {}
    return [history_line(change, names, deletions) for change in changes]


Names = dict[type[models.Model], dict[str, str]]
#: The entries of deletions by the label and the key of their records.
Deletions = dict[tuple[str, str], Change]


def history_line(change: Change, names: Names, deletions: Deletions) -> HistoryLine:
    model = model_of(change.record_type)
    record, url = change.record_type, None
    differences: list[Difference] = []
    if model is not None:
        name = names.get(model, {}).get(change.record_key)
        record = name or f"{capfirst(str(model._meta.verbose_name))} {change.record_key}"
        url = record_url(model, change.record_key) if name else None
        deletion = deletions.get((change.record_type, change.record_key), change)
        if deletion.kind == Change.Kind.DELETED and not name:
            record = name_when_deleted(model, deletion.differences or {}) or record
        if change.kind != Change.Kind.CREATED:
            differences = [
                Difference.of(model, column, before, after, names)
                for column, (before, after) in (change.differences or {}).items()
                # A key that is no reference, as of whom an account was confirmed for, tells a person nothing.
                if column != "archive_date" and not isinstance(column_of(model, column), models.UUIDField)
            ]
    return HistoryLine(
        at=change.at,
        who=author_name(change, names[get_user_model()]),
        channel=change.channel,
        kind=change.kind,
        record=record,
        url=url,
        colour=COLOURS.get(Change.Kind(change.kind), "info"),
        differences=differences,
    )


def name_when_deleted(model: type[models.Model], differences: Mapping[str, Sequence[Any]]) -> str:
    """The name of a record that is gone, of the values that it had; empty where another record's is in it."""
    columns = {each.name: each for each in model._meta.concrete_fields if not each.is_relation}
    try:
        values = {
            name: columns[name].to_python(before)
            for name, (before, _) in differences.items()
            if name in columns
        }
        return str(model(**values)) if values else ""
    except (ObjectDoesNotExist, AttributeError, TypeError, ValueError, ValidationError):
        return ""


def author_name(entry: LogEntry, staff_names: Mapping[str, str]) -> str:
    """Who made an entry of a log: a member of staff, an API application, or the system."""
    if entry.staff_id is None:
        return entry.application or "System"
    return staff_names.get(str(entry.staff_id), "A deleted staff member")


@lru_cache(maxsize=1_000)  # an export of the history has a record's changes one after another
def record_url(model: type[models.Model], key: object) -> str | None:
    """The address of a record's main page; none where its model has no pages."""
    if not admin.site.is_registered(model):
        return None
    page: Any = admin.site.get_model_admin(model)
    return reverse(f"admin:{page.url_name(page.main_page)}", args=[key])


def model_of(label: str) -> type[models.Model] | None:
    """The model of a line; none when only another version of the service has it."""
    try:
        return apps.get_model(label)
    except (LookupError, ValueError):
        return None


@cache
def column_of(model: type[models.Model], name: str) -> Any:
    """The field behind a column; none for what is no field: a custom field's answer, prices of an entry."""
    try:
        found = model._meta.get_field(name)
    except FieldDoesNotExist:
        return None
    return found if isinstance(found, models.Field) else None


def value_text(column: Any, value: Any, names: Names) -> str:
    """A stored JSON value as it is shown."""
    if value is None or value == "" or value == []:
        return NO_VALUE
    if isinstance(value, list):
        return ", ".join(value_text(column, each, names) for each in value)
    if column is None:
        return str(value)
    if column.many_to_one:
        return names.get(column.related_model, {}).get(str(value), str(value))
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if column.choices:
        return str(dict(column.flatchoices).get(value, value))
    return date_text(column, value)


def date_text(column: models.Field[Any, Any], value: Any) -> str:
    try:
        if isinstance(column, models.DateTimeField):
            local = timezone.localtime(dt.datetime.fromisoformat(value))
            return formatted(local.replace(second=0, microsecond=0, tzinfo=None), "DATETIME_FORMAT")
        if isinstance(column, models.DateField):
            return formatted(dt.date.fromisoformat(value), "DATE_FORMAT")
    except (TypeError, ValueError, OverflowError):
        pass  # of another version's format, or beyond the calendar in this zone: shown as it is stored
    return str(value)


@lru_cache(maxsize=10_000)
def formatted(moment: dt.date, form: str) -> str:
    """A day, or a minute of local time; kept, for to write them was half the time of a long export."""
    return formats.date_format(moment, form)


def visible_changes(changes: Iterable[Change], person: object) -> list[Change]:
    """The changes whose records the person sees."""
    changes = list(changes)
    if caseload_of(person) is None:
        return changes
    names = load_names(changes, person)
    visible = {(model._meta.label_lower, key) for model, some in names.items() for key in some}
    return [each for each in changes if (each.record_type, each.record_key) in visible]


def load_names(changes: Sequence[Change], person: object) -> Names:
    """The names of all records that the changes refer to and a person sees, and of their authors."""
    keys = referred_texts(changes)
    keys[get_user_model()].update(str(change.staff_id) for change in changes if change.staff_id)
    return {model: names_of(model, some, person) for model, some in keys.items()}


def load_deletions(changes: Sequence[Change], names: Names) -> Deletions:
    """The deletions of records without a name, of which these are other entries; no query for none."""
    keys: defaultdict[str, set[str]] = defaultdict(set)
    for change in changes:
        model = model_of(change.record_type)
        if model is None or change.kind == Change.Kind.DELETED or change.record_key in names.get(model, {}):
            continue
        keys[change.record_type].add(change.record_key)
    if not keys:
        return {}
    of_records = reduce(or_, (models.Q(record_type=label, record_key__in=own) for label, own in keys.items()))
    deletions = Change.objects.filter(of_records, kind=Change.Kind.DELETED)
    return {(each.record_type, each.record_key): each for each in deletions}


def referred_keys(changes: Iterable[Change]) -> dict[type[models.Model], set[object]]:
    """The keys of the records that the changes refer to, by model."""
    texts = referred_texts(changes)
    return {model: {key_from_text(model, text) for text in some} - {None} for model, some in texts.items()}


def referred_texts(changes: Iterable[Change]) -> defaultdict[type[models.Model], set[str]]:
    keys: defaultdict[type[models.Model], set[str]] = defaultdict(set)
    for change in changes:
        model = model_of(change.record_type)
        if model is None:
            continue
        keys[model].add(change.record_key)
        for column, sides in (change.differences or {}).items():
            found = column_of(model, column)
            if found is not None and found.many_to_one:
                keys[found.related_model].update(str(each) for each in sides if each is not None)
    return keys


def names_of(model: type[models.Model], texts: Iterable[str], person: object = None) -> dict[str, str]:
    """The names of the records of these keys, of those that the person sees."""
    keys = [key for text in texts if (key := key_from_text(model, text)) is not None]
    files = [each.name for each in model._meta.concrete_fields if isinstance(each, models.BinaryField)]
    records = model._default_manager.filter(pk__in=keys).order_by().defer(*files)
    if admin.site.is_registered(model):
        # A name may have another record's in it: that of a plan has the participant's.
        page: Any = admin.site.get_model_admin(model)
        records = records.select_related(*(page.list_select_related or ()))
    return {str(each.pk): str(each) for each in visible_rows(person, records)}


def key_from_text(model: type[models.Model], text: str) -> object:
    """A key of the model's type; none for what is a name already."""
    try:
        return model._meta.pk.to_python(text)
    except ValidationError:
        return None
