"""Records by the keys in forms and addresses, which no request breaks: Django's look-up fails on no key."""

from collections.abc import Sequence
from typing import Any, TypeVar, cast
from uuid import UUID

from django import forms
from django.contrib.admin.widgets import AutocompleteSelect, AutocompleteSelectMultiple
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet

from apps.core.caseload import visible_rows

Record = TypeVar("Record", bound=Model)


def is_key(model: type[Model], text: object) -> bool:
    """True when a record of the model could have this key."""
    try:
        model._meta.pk.clean(text, None)
    except ValidationError:
        return False
    return True


def guid_of(text: str | None) -> UUID | None:
    """A guid; ``None`` for another text."""
    try:
        return UUID(text or "")
    except ValueError:
        return None


def find_visible(records: QuerySet[Record], key: str | None, person: object) -> Record | None:
    """The record of a guid in an address, of those that a person sees; else ``None``."""
    guid = guid_of(key)
    return None if guid is None else visible_rows(person, records.filter(pk=guid)).first()


class RecordSelect(AutocompleteSelect):
    """The field of a record that is looked up."""

    def optgroups(self, name: str, value: Sequence[str], attr: Any = None) -> Any:
        model = self.field.related_model
        return super().optgroups(name, [key for key in value if key == "" or is_key(model, key)], attr)


class RecordSelectMultiple(RecordSelect, AutocompleteSelectMultiple):
    """The field of several records."""


class RecordsField(forms.ModelMultipleChoiceField):
    """Several records, by keys that the database can look up."""

    def clean(self, value: Any) -> Any:
        for key in value or ():
            if not is_key(cast("Any", self.queryset).model, key):
                message = self.error_messages["invalid_pk_value"]
                raise ValidationError(message, code="invalid_pk_value", params={"pk": key})
        return super().clean(value)
