"""Two people's entries for the same record: theirs, which is saved, beside mine, with a choice a field."""

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import Max, Model
from django.utils import formats, timezone

from apps.core import history_display
from apps.core.models import Change

#: What a form sends for a field that both may have changed: ``keep_phone1=theirs``.
KEEP, MINE, THEIRS = "keep_", "mine", "theirs"
NOTHING_MORE = "Nothing more"


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A field whose saved value is not the one that was entered; ``keep``: the choice that is marked."""

    name: str
    label: str
    theirs: str
    mine: str
    keep: str

    @property
    def input_name(self) -> str:
        return KEEP + self.name


def changes_since(record: Model, version: str) -> list[Change]:
    """The history of a record after the version that somebody opened; all of it for an unreadable one.

    After the entry of that version, since the clock may have been put back.
    """
    changes = history_display.changes_of(record)
    try:
        moment = dt.datetime.fromisoformat(version).astimezone(dt.UTC)
    except (ValueError, TypeError, OverflowError):
        return list(changes)
    entry = changes.filter(at=moment).aggregate(last=Max("id"))["last"]
    return list(changes.filter(at__gt=moment) if entry is None else changes.filter(id__gt=entry))


def changed_columns(changes: Collection[Change]) -> set[str]:
    return {column for change in changes for column in change.differences or {}}


def value_texts(field: forms.Field, theirs: Any, mine: Any) -> tuple[str, str]:
    """Both values as they are read; of lists what only one of them has."""
    if isinstance(field.widget, forms.PasswordInput):
        return "As saved", "As entered"
    has_parts = isinstance(field, forms.MultiValueField)  # a day and a time: texts where unreadable
    if not has_parts and (is_list(theirs) or is_list(mine)):
        sides = [list(each or ()) for each in (theirs, mine)]
        keys = [[getattr(one, "pk", one) for one in side] for side in sides]
        texts = [
            ", ".join(
                form_value_text(field, one) for one, key in zip(side, own, strict=True) if key not in other
            )
            for side, own, other in zip(sides, keys, reversed(keys), strict=True)
        ]
        return texts[0] or NOTHING_MORE, texts[1] or NOTHING_MORE
    return form_value_text(field, theirs), form_value_text(field, mine)


def is_list(value: object) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, str)


def form_value_text(field: forms.Field, value: Any) -> str:
    """A value of a form as the history shows it."""
    if value in (None, ""):
        return history_display.NO_VALUE
    if is_list(value):
        return " ".join(map(str, filter(None, value)))
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, dt.datetime):
        return formats.date_format(timezone.localtime(value), "DATETIME_FORMAT")
    if isinstance(value, dt.date):
        return formats.date_format(value, "DATE_FORMAT")
    if isinstance(field, forms.ChoiceField) and not isinstance(field, forms.ModelChoiceField):
        return str(dict(flat_choices(field.choices)).get(str(value), value))
    return str(value)


def flat_choices(choices: Any) -> Sequence[tuple[str, object]]:
    """The values, as texts, and labels of choices with or without groups."""
    flat: list[tuple[str, object]] = []
    for value, label in choices:
        flat += flat_choices(label) if isinstance(label, list | tuple) else [(str(value), label)]
    return flat
