"""Custom fields as people fill them in: one form field for each, and the answers stored as responses."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminSingleDateWidget,
    UnfoldAdminTextInputWidget,
)

from apps.people.choices import AnswerKind, AppliesTo
from apps.people.models import (
    Client,
    Contact,
    CustomField,
    CustomFieldAnswer,
    CustomFieldResponse,
    Staff,
)

Answers = dict[Any, list[str]]

#: The record that an answer is of, by the column that names it.
ANSWERED_BY = {Staff: "staff", Client: "client", Contact: "contact"}

YES_OR_NO = [("", "Select value"), ("Yes", "Yes"), ("No", "No")]


def asked_of(applies_to: AppliesTo) -> list[CustomField]:
    """The custom fields asked of one kind of record, in their order."""
    return list(CustomField.objects.filter(applies_to=applies_to, archive_date=None))


def options_of(custom_field: CustomField) -> list[str]:
    """The options somebody chooses from, in their order."""
    return [line.strip() for line in custom_field.options.splitlines() if line.strip()]


def name_of(custom_field: CustomField) -> str:
    """What the form field is called."""
    return f"custom_{custom_field.pk.hex}"


def form_field(custom_field: CustomField, held: Iterable[str] = ()) -> forms.Field:
    """The form field that takes answers of the custom field's kind.

    ``held`` are the responses given already: an option that was taken off the list since stays
    choosable for whoever chose it.
    """
    shared: dict[str, Any] = {"label": custom_field.name, "required": False}
    if custom_field.kind == AnswerKind.NUMBER:
        return forms.DecimalField(
            max_digits=20, decimal_places=6, widget=UnfoldAdminDecimalFieldWidget(), **shared
        )
    if custom_field.kind == AnswerKind.DATE:
        return forms.DateField(widget=UnfoldAdminSingleDateWidget(), **shared)
    if custom_field.kind == AnswerKind.YES_NO:
        return forms.ChoiceField(choices=YES_OR_NO, widget=UnfoldAdminSelectWidget(), **shared)
    if custom_field.kind == AnswerKind.TEXT:
        return forms.CharField(max_length=400, widget=UnfoldAdminTextInputWidget(), **shared)
    options = dict.fromkeys([*options_of(custom_field), *held])
    choices = [(option, option) for option in options]
    if custom_field.kind == AnswerKind.CHOICES:
        return forms.MultipleChoiceField(
            choices=choices, widget=UnfoldAdminCheckboxSelectMultipleWidget(), **shared
        )
    return forms.ChoiceField(
        choices=[("", "Select value"), *choices], widget=UnfoldAdminSelectWidget(), **shared
    )


def responses(value: Any) -> list[str]:
    """What a form field's value is stored as."""
    if value in (None, "", []):
        return []
    if isinstance(value, list):
        return [str(each) for each in value]
    if isinstance(value, dt.date):
        return [value.isoformat()]
    if isinstance(value, Decimal):
        return [format(value, "f")]
    return [str(value)]


def initial(custom_field: CustomField, held: list[str]) -> Any:
    """What a form field starts with."""
    if custom_field.kind == AnswerKind.CHOICES:
        return held
    return held[0] if held else None


def answers_of(record: Staff | Client | Contact) -> Answers:
    """The record's responses by the key of their custom field."""
    found = CustomFieldAnswer.objects.filter(**{ANSWERED_BY[type(record)]: record.pk})
    return {
        answer.custom_field_id: [each.response for each in answer.responses.all()]
        for answer in found.prefetch_related("responses")
    }


def answer(record: Staff | Client | Contact, given: Mapping[Any, list[str]]) -> None:
    """Let the record's answers be those given, by the key of the custom field; others stay as they are."""
    held = answers_of(record)
    changed = {key: values for key, values in given.items() if values != held.get(key, [])}
    owner = {ANSWERED_BY[type(record)]: record}
    CustomFieldAnswer.objects.filter(custom_field__in=list(changed), **owner).delete()
    stored = CustomFieldAnswer.objects.bulk_create(
        CustomFieldAnswer(custom_field_id=key, **owner) for key, values in changed.items() if values
    )
    CustomFieldResponse.objects.bulk_create(
        CustomFieldResponse(answer=each, response=text)
        for each in stored
        for text in changed[each.custom_field_id]
    )
