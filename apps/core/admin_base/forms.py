"""The form of a record: its input becomes a draft, which the services of the record check and store."""

import datetime as dt
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.core.exceptions import NON_FIELD_ERRORS
from django.db.models import Model
from django.http import HttpRequest, QueryDict
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.text import capfirst
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.base.declaration.values import WireValueError, parse_datetime
from apps.base.drafts import Draft, Issue
from apps.base.texts import composed
from apps.core import history_display
from apps.core.admin_base.conflicts import (
    KEEP,
    MINE,
    THEIRS,
    FieldConflict,
    changed_columns,
    changes_since,
    value_texts,
)
from apps.core.caseload import visible_rows
from apps.core.importing.cells import Cleaner, cleaned
from apps.core.importing.days import DayColumn

EMPTY: tuple[object, ...] = (None, "", [])
#: The fields with the warnings that were shown, and the button that confirms them.
CONFIRMED, SAVE_ANYWAY = "confirmed", "_save_anyway"
ISO_DAY = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
#: Sent by ``record_form.js`` with a form that is shown again, and saved by nothing.
RESTORED = "_restored"
#: Why: after signing in, when another tab signed in again or the role lacked a permission
#: (``core.expired_forms``), by Back or Reload.
SIGNED_IN_AGAIN, REFUSED = "signed-in-again", "refused"
RESTORED_REASONS = {
    "signed-out": "had been signed out",
    SIGNED_IN_AGAIN: "signed in again in another tab",
    REFUSED: "lacked a permission",
    "returned": "went back to this form",
}
#: Sent with a form: who opened it.
OPENED_BY = "_opened_by"


def is_restored(request: HttpRequest, files_note: str = "") -> bool:
    """True for a form that is only shown again; a message says so, and why."""
    if (reason := RESTORED_REASONS.get(request.POST.get(RESTORED, ""))) is not None:
        messages.warning(request, f"You {reason}. Your entries are back, and not saved yet.{files_note}")
    return RESTORED in request.POST


def fieldset(
    title: str | None, *lines: object, style: str = "", description: str | None = None
) -> tuple[str | None, dict[str, object]]:
    """A part of a form, as Django's ``fieldsets`` have it; a tuple of fields is one line.

    ``style``: ``tab`` or ``collapse``.
    """
    classes = (style,) if style else ()
    return title, {"fields": lines, "classes": classes, "description": description}


class NumberInput(UnfoldAdminTextInputWidget):
    """The widget of numbers: text, as Firefox sends nothing of a number field that has ``1,234.50``."""

    def __init__(self, attrs: dict[str, Any] | None = None, inputmode: str = "decimal") -> None:
        super().__init__({"inputmode": inputmode, **(attrs or {})})


class AmountField(forms.DecimalField):
    """A number as invoices show it: ``$1,616.26``; never with an exponent, and no comma for a point."""

    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": "Give a number, such as 1616.26."}

    def __init__(
        self, decimal_places: int = 4, max_digits: int = 14, required: bool = False, **options: Any
    ) -> None:
        super().__init__(max_digits=max_digits, decimal_places=decimal_places, required=required, **options)

    def to_python(self, value: Any) -> object:
        text = re.sub(r"[\s$]", "", "" if value is None else str(value))
        if not NUMBER.fullmatch(text):
            raise forms.ValidationError(self.error_messages["invalid"], code="InvalidNumber")
        return super().to_python(text.replace(",", ""))


#: What is read once blanks and the dollar sign are removed: commas are between thousands alone.
NUMBER = re.compile(r"-?([0-9]{1,3}(,[0-9]{3})+|[0-9]*)(\.[0-9]*)?")


class LocalTimeField(forms.SplitDateTimeField):
    """A day and a time in the organisation's zone.

    Django refuses a time that a clock change repeats, so that nobody could save a record that has one: it is
    the first of the two, as in the interface.
    """

    def compress(self, data_list: Any) -> dt.datetime | None:
        try:
            moment: dt.datetime | None = super().compress(data_list)
        except forms.ValidationError as error:
            if error.code != "ambiguous_timezone":
                raise
            try:
                moment = parse_datetime(dt.datetime.combine(*data_list).isoformat())
            except WireValueError as skipped:
                raise forms.ValidationError(f"This {skipped.sentence}", code=skipped.code) from None
        return moment


class DayField(forms.DateField):
    """A day, day before month, in every form that imports understand; ``is_past`` are birthdays."""

    is_past = False

    def to_python(self, value: Any) -> dt.date | None:
        if isinstance(value, str):
            with suppress(WireValueError):  # whose advice is for files: the base class says that it is no day
                value = DayColumn(stated=True, is_past=self.is_past).read(cleaned(value)).text
        return super().to_python(value)


def typed_day_field(label: str) -> DayField:
    """The field of a day beside which no calendar stands."""
    widget = UnfoldAdminTextInputWidget(attrs={"placeholder": "dd/mm/yyyy", "autocomplete": "off"})
    return DayField(label=label, localize=True, widget=widget)


def offer_visible_records(form: forms.BaseForm, person: object, record: Model | None = None) -> None:
    """Let the fields of a form take only records that a person sees, and those that the record has."""
    for name, field in form.fields.items():
        if not isinstance(field, forms.ModelChoiceField) or field.queryset is None:
            continue
        visible = visible_rows(person, field.queryset)
        if visible is not field.queryset:
            field.queryset = visible | field.queryset.filter(pk=getattr(record, f"{name}_id", None))


class RecordForm(forms.ModelForm):
    """A form without rules of its own: the services of ``record_admin`` check its draft, as a request's.

    ``record_admin``, ``describe_other`` and the ``person`` who fills it in are set by
    ``RecordAdmin.get_form``. ``warnings`` are shown once the record is stored, and those ``to_confirm``
    before: nothing is saved until the person presses "Save anyway".
    """

    record_admin: ClassVar[Any]
    describe_other: ClassVar[Any]
    person: ClassVar[Any] = None
    draft_class: ClassVar[type[Draft]] = Draft
    #: What corrects typed texts, as it does those of imports, by field.
    cleaners: ClassVar[Mapping[str, Cleaner]] = {}
    #: Fields of days that have been: a year of two digits is not one to come.
    birthdays: ClassVar[Sequence[str]] = ()

    data: QueryDict

    opened_version = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        offer_visible_records(self, self.person, self.instance)
        self.warnings: list[Issue] = []
        self.to_confirm: list[Issue] = []
        self.conflicts: list[FieldConflict] = []
        #: What contained forms edit stays as somebody else saved it.
        self.keeps_contained = False
        if not self.is_new:
            self.fields["opened_version"].initial = self.version
        for name in self.cleaners.keys() & self.fields.keys():
            self.correct_texts_of(name, self.cleaners[name])
        for name in self.fields.keys() & set(self.birthdays):
            setattr(self.fields[name], "is_past", True)  # noqa: B010 fields of forms have any type

    def correct_texts_of(self, name: str, cleaner: Cleaner) -> None:
        """Let a field read what is typed into it as an import would, with the import's warning."""
        field = self.fields[name]
        read = field.to_python

        def read_text(value: object) -> object:
            text = read(value)
            if not isinstance(text, str) or not text:
                return text
            try:
                corrected = cleaner(cleaned(text))
            except WireValueError as error:
                raise forms.ValidationError(f"This {error.sentence}", code=error.code) from None
            warning = Issue(corrected.code, name, corrected.message)
            if corrected.code and warning not in self.warnings:  # forms read a text several times
                self.warnings.append(warning)
            return corrected.text if corrected.text else read("")

        setattr(field, "to_python", read_text)  # noqa: B010 a method of this form's own field

    @property
    def is_new(self) -> bool:
        return self.instance._state.adding

    @property
    def version(self) -> str:
        moment = getattr(self.instance, "modify_date", None)
        return moment.isoformat() if moment else ""

    def clean(self) -> dict[str, object]:
        cleaned = with_composed_texts(super().clean() or self.cleaned_data)
        self.cleaned_data = cleaned
        if self.resolve_conflicts(cleaned.get("opened_version") or ""):
            return cleaned
        draft = self.draft()
        for issue in self.record_admin.find_issues(draft, self.person):
            self.add_issue(with_local_days(issue))
        if not self.errors:
            self.warnings += map(with_local_days, self.record_admin.find_warnings(draft))
            self.to_confirm += map(
                with_local_days, self.record_admin.find_warnings_to_confirm(draft, self.person)
            )
        return cleaned

    def is_valid(self) -> bool:
        """Not while a warning is unconfirmed: only those that were on the screen are confirmed."""
        if not super().is_valid() or RESTORED in self.data:
            return False
        confirmed = self.data.getlist(CONFIRMED) if SAVE_ANYWAY in self.data else ()
        return not Counter(map(warning_token, self.to_confirm)) - Counter(confirmed)

    def warning_rows(self) -> list[dict[str, str]]:
        """The warnings to confirm as the page lists them; ``token`` is sent back when they are confirmed."""
        return [
            {**self.warning_labels(issue), "message": issue.message, "token": warning_token(issue)}
            for issue in self.to_confirm
        ]

    def warning_labels(self, issue: Issue) -> dict[str, str]:
        """The ``label`` and the ``place`` of a warning."""
        return {"label": code_label(issue.code), "place": ""}

    def draft(self) -> Draft:
        """The draft that the form asks for. Of an existing record only what was changed here is given.

        Of a new record everything is given but what was left blank, as a request leaves it out. What the form
        does not show is filled by the services.
        """
        values: dict[str, object] = {}
        given, changed = set(), set(self.changed_data)
        model = self._meta.model._meta
        for column in (*model.concrete_fields, *model.many_to_many):
            name = column.name
            if name not in self.cleaned_data or name in self.errors:
                continue
            value = self.cleaned_data[name]
            values[name] = list(value) if column.many_to_many else value
            if name in changed or (self.is_new and values[name] not in EMPTY):
                given.add(name)
        key = None if self.is_new else self.instance.pk
        return self.draft_class(values, given=given, invalid=self.errors.keys() - {NON_FIELD_ERRORS}, key=key)

    def add_issue(self, issue: Issue) -> None:
        """Put an issue on its field, or above the form when the form has no such field."""
        if issue.severity == "warning":
            asks_first = issue.code in self.record_admin.confirmed_codes
            (self.to_confirm if asks_first else self.warnings).append(issue)
            return
        name = issue.field if isinstance(issue.field, str) else str(issue.field[0])
        other = self.describe_other(*issue.other) if issue.other else None
        message = issue.message if other or not issue.unnamed else issue.unnamed
        if name not in self.fields:
            message = f"{capfirst(name.replace('_', ' '))}: {message}"
        if other:
            message = format_html("{} See {}.", message, other)
        error = forms.ValidationError(message, code=issue.code)
        self.add_error(name if name in self.fields else None, error)

    # --- two people

    def resolve_conflicts(self, opened: str) -> bool:
        """True when somebody else saved the record since it was opened here: then both sides are shown.

        What they changed is kept unless the person says otherwise; what is sent after that has the choices.
        """
        if self.is_new or not self.version:
            return False
        names = [name for name in self.data if name.startswith(KEEP)]
        chosen = {name.removeprefix(KEEP): str(self.data[name]) for name in names}
        if opened == self.version:
            self.conflicts = [each for each in self.find_conflicts({}, chosen) if each.name in chosen]
            for each in self.conflicts:
                if each.keep == THEIRS:
                    self.leave_out(each.name)
            return False
        changes = changes_since(self.instance, opened)
        theirs = dict.fromkeys(changed_columns(changes), THEIRS)
        self.conflicts = self.find_conflicts(theirs, chosen)
        self.data = self.data.copy()
        self.data["opened_version"] = self.version
        who = history_display.history_lines(changes[:1])[0].who if changes else "Somebody"
        at = formats.date_format(timezone.localtime(self.instance.modify_date), "DATETIME_FORMAT")
        message = f"{who} changed this record at {at}, after you had opened it."
        self.add_error(None, forms.ValidationError(message, code="Stale"))
        return True

    def find_conflicts(self, theirs: Mapping[str, str], chosen: Mapping[str, str]) -> list[FieldConflict]:
        """The fields whose entry is not what is saved; ``theirs``: the columns that somebody changed."""
        conflicts = []
        for name in self.changed_data:
            if name == "opened_version":
                continue
            field, column = self.fields[name], self.history_column(name)
            saved, entered = self.saved_value(name), self.cleaned_data.get(name, self[name].value())
            keep = theirs.get(column) or chosen.get(name) or MINE
            texts = value_texts(field, saved, entered)
            conflicts.append(FieldConflict(name, str(field.label or capfirst(name)), *texts, keep))
        for name, label in self.record_admin.contained_lists.items():
            if name in theirs or name in chosen:
                keep = THEIRS if name in theirs else chosen[name]
                conflicts.append(FieldConflict(name, label, "As saved now", "As entered below", keep))
        return conflicts

    def history_column(self, name: str) -> str:
        """The column of the history that has the changes of a field."""
        return name

    def saved_value(self, name: str) -> object:
        """The value of the record in a field."""
        model = self._meta.model._meta
        if name not in {column.name for column in (*model.concrete_fields, *model.many_to_many)}:
            return self.get_initial_for_field(self.fields[name], name)
        value = getattr(self.instance, name)
        return list(value.all()) if hasattr(value, "all") else value

    def leave_out(self, name: str) -> None:
        """Take a field as if it had not been changed here."""
        if name in self.record_admin.contained_lists:
            self.keeps_contained = True
        self.changed_data = [each for each in self.changed_data if each != name]
        self.cleaned_data.pop(name, None)
        self.errors.pop(name, None)


def with_composed_texts(cleaned: dict[str, object]) -> dict[str, Any]:
    """The values of a form with their texts as they are stored."""
    return {name: composed(value) if isinstance(value, str) else value for name, value in cleaned.items()}


def with_local_days(issue: Issue) -> Issue:
    """The issue with the days of its message as people here write them: 31/12/2026."""
    of_its_kind = type(issue.message)  # text that is safe as HTML stays safe
    return replace(issue, message=of_its_kind(ISO_DAY.sub(r"\3/\2/\1", issue.message)))


def warning_token(issue: Issue) -> str:
    """The identity of a warning: with another amount it is another warning."""
    return f"{issue.code}: {issue.message}"


def code_label(code: str) -> str:
    """``PossibleDuplicate`` as a label: ``Possible duplicate``."""
    return capfirst(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", code).lower())
