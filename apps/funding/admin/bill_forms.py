"""The form of a claim or an invoice: its own fields, its lines, the warnings to confirm."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.utils.text import capfirst

from apps.core.admin_base import RecordForm
from apps.funding.admin.line_forms import LINES, LineFormSet, cell_attributes
from apps.odata.declaration.service import get_service
from apps.odata.write.drafts import Draft, Issue
from apps.odata.write.targets import wire_target


class BillForm(RecordForm):
    """The fields of a claim or an invoice but its lines; its services store both together."""

    #: The writable members of the API; the other columns are worked out.
    members: ClassVar[Sequence[str]] = ()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.required = False  # the rules say what is needed, and when
        use_typed_days(self)

    def clean(self) -> dict[str, Any]:
        cleaned = forms.ModelForm.clean(self) or self.cleaned_data
        self.refuse_other_version(cleaned.get("opened_version"))
        return cleaned

    def _post_clean(self) -> None:
        """Django would build and check a record here; the services do. Tested by entering invalid claims."""

    def draft_with(self, lines: Sequence[Draft], lines_are_valid: bool = True) -> Draft:
        """The draft of the bill with its lines."""
        values = {
            name: None if (value := self.cleaned_data.get(name)) == "" else value
            for name in self.members
            if name in self.fields
        }
        key = None if self.is_new else self.instance.pk
        given = {name for name, value in values.items() if value is not None or key is not None}
        invalid = set(self.errors) | {f"{LINES}[{n}]" for n, line in enumerate(lines) if line.invalid}
        values = {name: value for name, value in values.items() if name not in self.errors}
        draft = self.draft_class({**values, LINES: list(lines)}, {*given, LINES}, invalid, key)
        if not lines_are_valid:
            draft.mark_invalid(LINES)
        return draft


def use_typed_days(form: forms.BaseForm) -> None:
    """Let days be typed, in the ways that the page's script understands; a calendar takes longer."""
    for field in form.fields.values():
        if isinstance(field, forms.DateField):
            attributes = cell_attributes(**{"data-day": "", "placeholder": "dd/mm/yyyy"})
            field.widget = forms.DateInput(attrs=attributes)


class ClaimForm(BillForm):
    """A claim; what its provider invoice says may be left out."""

    members = (
        "claim_number",
        "external_invoice_number",
        "provider_invoice",
        "provider_invoice_reference",
        "contact",
        "provider",
        "start_date",
        "end_date",
        "due_date",
        "send_payment_to",
        "staff",
    )


class InvoiceForm(BillForm):
    """An invoice, which may recur."""

    members = (
        "invoice_number",
        "external_invoice_number",
        "invoice_claim_type",
        "contact",
        "start_date",
        "end_date",
        "due_date",
        "is_recurring",
        "recurring_start_date",
        "recurring_end_date",
        "recurring_frequency",
        "staff",
    )


class BillEntry:
    """What is on the screen while a bill is entered or changed."""

    def __init__(self, form: BillForm, lines: LineFormSet) -> None:
        self.form, self.lines = form, lines
        self.warnings: list[Issue] = []

    def draft(self) -> Draft:
        """A new draft at each call: services fill the drafts they are given."""
        self.form.is_valid()
        return self.form.draft_with(self.lines.drafts(), not self.lines.non_form_errors())

    def add_issues(self, issues: Sequence[tuple[int, Issue]]) -> None:
        for _, issue in issues:
            self.add_issue(issue)

    def add_issue(self, issue: Issue) -> None:
        """Put an issue on its field, on its row, or above the form."""
        name, *path = (issue.field,) if isinstance(issue.field, str) else issue.field
        # On the field itself its name is not needed.
        message = "Required." if REQUIRED.fullmatch(issue.message) else issue.message
        if name != LINES:
            self.form.add_issue(Issue(issue.code, str(name), message))
            return
        rows = self.lines.filled_rows()
        if not path or int(path[0]) >= len(rows):
            text = "Give one line at least." if issue.code == "Required" else issue.message
            self.lines.non_form_errors().append(forms.ValidationError(text, code=issue.code))
            return
        row = rows[int(path[0])]
        column = str(path[1]) if len(path) > 1 else None
        error = forms.ValidationError(message, code=issue.code)
        row.add_error(column if column in row.fields else None, error)

    @property
    def has_errors(self) -> bool:
        return bool(self.form.errors) or self.lines.has_errors

    def warning_rows(self) -> list[dict[str, str]]:
        """The warnings as the page lists them; ``token`` is sent back when they are confirmed."""
        type_ = get_service().by_model[self.form._meta.model].type
        return [
            {
                "label": code_label(issue.code),
                "place": place_label(wire_target(type_, issue.field, issue.code)),
                "message": issue.message,
                "token": warning_token(issue),
            }
            for issue in self.warnings
        ]


REQUIRED = re.compile(r"\w+ is required\.")
PLACE = re.compile(r"(?:LineItems\[(\d+)\]/?)?(.*)")


def warning_token(issue: Issue) -> str:
    """The identity of a warning: with another amount it is another warning."""
    return f"{issue.code}: {issue.message}"


def code_label(code: str) -> str:
    """``PriceOverCap`` as a label: ``Price over cap``."""
    return capfirst(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", code).lower())


def place_label(place: str | None) -> str:
    """``LineItems[1]/Price`` as a label: ``Line 2, price``; ``PriceBook/PriceBookGuid``: ``Price book``."""
    found = PLACE.fullmatch(place or "")
    assert found is not None
    number, name = found[1], code_label(found[2].split("/")[0].removesuffix("Guid"))
    if number is None:
        return name
    return f"Line {int(number) + 1}, {name.lower()}" if name else f"Line {int(number) + 1}"
