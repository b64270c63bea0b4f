"""Custom fields in the back office: their own pages, and their answers on the forms of people."""

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminSingleDateWidget,
    UnfoldAdminTextInputWidget,
)

from apps.base.drafts import Draft
from apps.core.admin_base import (
    ArchivedFilter,
    DayField,
    LookupAdmin,
    RecordAdmin,
    RecordForm,
    fieldset,
)
from apps.core.admin_base.forms import AmountField, NumberInput
from apps.people.choices import AnswerKind, AppliesTo
from apps.people.entered_texts import BIRTHDAYS, CLEANERS, assumed_country
from apps.people.models import Client, Contact, CustomField, Staff
from apps.people.services import answers_of

YES_OR_NO = [("", "Select value"), ("Yes", "Yes"), ("No", "No")]


class CustomFieldsForm(RecordForm):
    """A form with a field for each custom field; its draft has their answers.

    Texts are corrected as imports do it, and an Australian state without a country is one of Australia.
    """

    custom_fields: ClassVar[Sequence[CustomField]] = ()
    cleaners = CLEANERS
    birthdays = BIRTHDAYS

    def history_column(self, name: str) -> str:
        """The history names custom fields by their labels."""
        names = {name_of(custom_field): custom_field.name for custom_field in self.custom_fields}
        return names.get(name, name)

    def draft(self) -> Draft:
        draft = super().draft()
        if "country" not in draft.invalid and (country := assumed_country(draft)) is not None:
            draft.fill("country", country)
            draft.given |= {"country"}
        names = {custom_field.pk: name_of(custom_field) for custom_field in self.custom_fields}
        valid = self.cleaned_data.keys() - self.errors.keys()
        answers = {key: responses(self.cleaned_data[name]) for key, name in names.items() if name in valid}
        draft.fill("custom_answers", answers)
        return draft


class CustomFieldsAdmin(RecordAdmin):
    """A page whose form has the custom fields as well, each by its kind."""

    form = CustomFieldsForm
    applies_to: ClassVar[AppliesTo]

    def get_form(
        self,
        request: HttpRequest,
        obj: Staff | Client | Contact | None = None,
        change: bool = False,
        **options: object,
    ) -> object:
        custom_fields = self.custom_fields()
        answers = answers_of(obj) if obj is not None else {}
        fields = {name_of(each): form_field(each, answers.get(each.pk, [])) for each in custom_fields}
        form = type("FormOfRecord", (self.form,), {**fields, "custom_fields": custom_fields})
        return super().get_form(request, obj, change=change, **{"form": form, **options})

    def get_fieldsets(self, request: HttpRequest, obj: Staff | Client | Contact | None = None) -> object:
        fieldsets = list(super().get_fieldsets(request, obj))
        custom_fields = self.custom_fields()
        if not custom_fields:
            return fieldsets
        fields: list[object] = [name_of(each) for each in custom_fields]
        if obj is not None and not self.has_change_permission(request, obj):
            answers = answers_of(obj)
            fields = [answer_display(each, answers.get(each.pk, [])) for each in custom_fields]
        place = len(fieldsets) - (obj is not None)  # the record information stays last
        fieldsets.insert(place, fieldset("Custom fields", *fields, style="tab"))
        return fieldsets

    def custom_fields(self) -> list[CustomField]:
        return list(CustomField.objects.filter(applies_to=self.applies_to, archive_date=None))


def name_of(custom_field: CustomField) -> str:
    """The name of the form field."""
    return f"custom_{custom_field.pk.hex}"


def answer_display(custom_field: CustomField, answer: Sequence[str]) -> object:
    """A read-only field, for those who may see the form but not change it."""

    @display(description=custom_field.name)
    def answer_text(record: Model) -> str:
        return ", ".join(answer)

    return answer_text


def form_field(custom_field: CustomField, answer: list[str]) -> forms.Field:
    """The form field that takes answers of the custom field's kind.

    An option of the ``answer`` that was removed from the list since can still be chosen on that record.
    """
    several = custom_field.kind == AnswerKind.CHOICES
    shared: dict[str, Any] = {
        "label": custom_field.name,
        "required": False,
        "initial": answer if several else next(iter(answer), None),
    }
    if custom_field.kind == AnswerKind.NUMBER:
        return AmountField(max_digits=20, decimal_places=6, widget=NumberInput(), **shared)
    if custom_field.kind == AnswerKind.DATE:
        return DayField(widget=UnfoldAdminSingleDateWidget(), **shared)
    if custom_field.kind == AnswerKind.YES_NO:
        return forms.ChoiceField(choices=YES_OR_NO, widget=UnfoldAdminSelectWidget(), **shared)
    if custom_field.kind == AnswerKind.TEXT:
        return forms.CharField(max_length=400, widget=UnfoldAdminTextInputWidget(), **shared)
    options = [(option, option) for option in dict.fromkeys([*custom_field.choices, *answer])]
    if several:
        boxes = UnfoldAdminCheckboxSelectMultipleWidget()
        return forms.MultipleChoiceField(choices=options, widget=boxes, **shared)
    choices = [("", "Select value"), *options]
    return forms.ChoiceField(choices=choices, widget=UnfoldAdminSelectWidget(), **shared)


def responses(value: object) -> list[str]:
    """The responses that a form field's value is stored as."""
    if value in (None, "", []):
        return []
    if isinstance(value, list):
        return [str(each) for each in value]
    if isinstance(value, dt.date):
        return [value.isoformat()]
    if isinstance(value, Decimal):
        return [format(value, "f")]
    return [str(value)]


@admin.register(CustomField)
class CustomFieldAdmin(LookupAdmin):
    """Fields that the organisation adds to staff, clients and contacts."""

    menu_order = 840
    icon = "add_notes"
    list_display = ("name", "applies_to", "kind", "position", "archived")
    list_filter = (ArchivedFilter, ("applies_to", ChoicesDropdownFilter), ("kind", ChoicesDropdownFilter))
    ordering = ("applies_to", "position", "name")
    fieldsets = (fieldset(None, "name", ("applies_to", "kind"), "options", "position"),)
