"""The look-up of a record in a form, which no request breaks: Django's fails on what is no key."""

from collections.abc import Sequence
from typing import Any, cast

from django import forms
from django.contrib.admin.widgets import AutocompleteSelect, AutocompleteSelectMultiple
from django.core.exceptions import ValidationError
from django.db.models import Model


def is_key(model: type[Model], text: object) -> bool:
    """True when a record of the model could have this key."""
    try:
        model._meta.pk.clean(text, None)
    except ValidationError:
        return False
    return True


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
