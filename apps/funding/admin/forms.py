"""The form of a claim or an invoice with its lines, and the warnings to confirm."""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.conf import settings
from django.forms.utils import flatatt
from django.http import QueryDict
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from unfold.widgets import UnfoldAdminSelectWidget

from apps.base.declaration.service import get_service
from apps.base.drafts import Draft, Issue, wire_target
from apps.core.admin_base import DayField, RecordForm
from apps.core.admin_base.conflicts import MINE, THEIRS, FieldConflict
from apps.core.admin_base.display import plain_amount, plain_quantity, short_day
from apps.core.admin_base.forms import AmountField, code_label, with_composed_texts
from apps.core.caseload import visible_rows
from apps.core.history_display import NO_VALUE
from apps.core.models import normalised
from apps.documents.drafts import DocumentDraft
from apps.documents.form_files import StoredFileField, document_draft
from apps.documents.models import Document, DocumentCategory
from apps.funding.admin.autocomplete import records_by_text
from apps.funding.choices import CancellationReason, ClaimType, TaxChoice
from apps.funding.drafts import InvoiceEntry, LineDraft
from apps.funding.imports import hours_and_minutes
from apps.funding.models import CostCentre, InvoiceLine, LineItem, PriceBook, Product
from apps.funding.validation.warning_codes import warning_label

#: The prefix of the forms of lines in what a browser sends, and the member of drafts.
PREFIX = "lines"
LINES = "line_items"
#: Blank rows of a new form, and those added at once without scripts; with one, rows come as they are needed.
BLANK_ROWS = 1
MORE_ROWS = 5


def cell_attributes(**attributes: str) -> dict[str, str]:
    return {"class": "fu-cell", "autocomplete": "off", **attributes}


class QuickInput(forms.TextInput):
    """A field rendered without a template: a form of three hundred lines has two thousand of them."""

    def render(self, name: str, value: object, attrs: Any = None, renderer: object = None) -> SafeString:
        given = {**self.build_attrs(self.attrs, attrs), "type": self.input_type, "name": name}
        text = self.format_value(value)
        return format_html("<input{}>", flatatt(given if text is None else {**given, "value": text}))


class QuickDayInput(QuickInput, forms.DateInput):
    pass


class QuickHiddenInput(QuickInput):
    input_type = "hidden"


class QuickSelect(forms.Select):
    """A list rendered in one go: a form of three hundred lines has twelve hundred of them."""

    def render(self, name: str, value: object, attrs: Any = None, renderer: object = None) -> SafeString:
        chosen = "" if value is None else str(value)
        options = format_html_join(
            "",
            '<option value="{}"{}>{}</option>',
            ((each, SELECTED if str(each) == chosen else "", label) for each, label in self.choices),
        )
        attributes = flatatt({**self.build_attrs(self.attrs, attrs), "name": name})
        return format_html("<select{}>{}</select>", attributes, options)


SELECTED = mark_safe(" selected")


def choice(choices: Any) -> forms.ChoiceField:
    listed = [("", "–"), *((value, label) for value, label in choices.choices if value != "None")]
    return forms.ChoiceField(choices=listed, required=False, widget=QuickSelect(attrs=cell_attributes()))


def day_field() -> DayField:
    return DayField(required=False, widget=QuickDayInput(attrs=cell_attributes(**{"data-day": ""})))


def text_field(max_length: int | None = None, **attributes: str) -> forms.CharField:
    widget = QuickInput(attrs=cell_attributes(**attributes))
    return forms.CharField(required=False, max_length=max_length, widget=widget)


def amount_cell_field(decimal_places: int = 4) -> AmountField:
    return AmountField(decimal_places=decimal_places, widget=amount_widget())


def amount_widget() -> QuickInput:
    return QuickInput(attrs=cell_attributes(inputmode="decimal"))


class QuantityField(AmountField):
    """A number, or hours and minutes as invoices have them: ``1:20`` is 1.3333."""

    default_error_messages: ClassVar[dict[str, Any]] = {
        "invalid": "Give a number, such as 1.5, or hours and minutes, such as 1:30."
    }

    def to_python(self, value: Any) -> object:
        hours = hours_and_minutes((value or "").strip())
        return super().to_python(value) if hours is None else hours


class LineForm(forms.Form):
    """One row of the grid. A row without product, quantity, price and notes is blank."""

    key = forms.UUIDField(required=False, widget=QuickHiddenInput)
    product = text_field(300, role="combobox")
    from_date = day_field()
    to_date = day_field()
    quantity = QuantityField(widget=amount_widget())
    price = amount_cell_field()
    claim_type = choice(ClaimType)
    cancellation_reason = choice(CancellationReason)
    tax_choice = choice(TaxChoice)
    price_book = forms.ChoiceField(required=False, widget=QuickSelect(attrs=cell_attributes()))
    notes = text_field()

    def __init__(self, *args: Any, books: Sequence[tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        book: Any = self.fields["price_book"]
        book.choices = [("", "–"), *books]
        #: The product whose name is shown below its code.
        self.product_found: Product | None = None

    def has_changed(self) -> bool:
        names = ("product", "quantity", "price", "notes")
        return self.is_bound and any(str(self[name].value() or "").strip() for name in names)

    @property
    def product_label(self) -> str:
        product = self.product_found
        return f"{product.name} · {product.get_unit_display() or ''}".strip(" ·") if product else ""

    def draft(self) -> LineDraft:
        """The draft of the line; cells that could not be read are invalid."""
        names = [name for name in self.fields if name != "key"]
        cleaned = with_composed_texts(self.cleaned_data)
        values = {name: cleaned.get(name) for name in names if name not in self.errors}
        values = {name: None if value == "" else value for name, value in values.items()}
        key = self.cleaned_data.get("key")
        given = {name for name, value in values.items() if value is not None or key is not None}
        return LineDraft(values, given, [name for name in names if name in self.errors], key)


class ClaimLineForm(LineForm):
    """A line of a claim. The agency takes no cancellation without a reason, which programs may send later."""

    def clean(self) -> None:
        is_cancelled = self.cleaned_data.get("claim_type") == ClaimType.CANCELLATION
        if is_cancelled and self.cleaned_data.get("cancellation_reason") == "":
            self.add_error("cancellation_reason", "Say why: the agency takes none without a reason.")


class InvoiceLineForm(LineForm):
    """A line of an invoice, which may be a credit and have a cost centre."""

    is_credit_item = forms.BooleanField(required=False, widget=forms.CheckboxInput(attrs=cell_attributes()))
    cost_centre = text_field(list="cost-centres")


class LineFormSet(forms.BaseFormSet):
    """The grid. The records that rows name by a code or a name are read for all of them at once."""

    def __init__(self, *args: Any, used_books: frozenset[UUID] = frozenset(), **options: Any) -> None:
        """``used_books``: archived price books that existing lines have, and may keep."""
        self.books = {str(book.pk): book for book in PriceBook.objects.order_by("name")}
        choices = [
            (key, book.name)
            for key, book in self.books.items()
            if not book.is_archived or book.pk in used_books
        ]
        super().__init__(*args, **{"prefix": PREFIX, "form_kwargs": {"books": choices}, **options})

    def read(self) -> None:
        """Replace what rows name by the records; an unknown name is an error in its cell."""
        self.is_valid()
        rows = self.filled_rows()
        codes = [row.cleaned_data.get("product") for row in rows]
        names = [row.cleaned_data.get("cost_centre") for row in rows]
        products = records_by_text(Product.objects, "code_key", codes)
        centres = records_by_text(CostCentre.objects.filter(archive_date=None), "name_key", names)
        for row in rows:
            row.cleaned_data["price_book"] = self.books.get(row.cleaned_data.get("price_book") or "")
            replace_by_record(row, "product", products, "No product has this code.")
            replace_by_record(row, "cost_centre", centres, "No cost centre has this name.")
            row.product_found = row.cleaned_data.get("product")

    def drafts(self) -> list[LineDraft]:
        return [row.draft() for row in self.filled_rows()]

    def filled_rows(self) -> list[LineForm]:
        return [row for row in self.forms if row.has_changed() and hasattr(row, "cleaned_data")]

    @property
    def has_errors(self) -> bool:
        return any(row.errors for row in self.forms) or bool(self.non_form_errors())


def replace_by_record(row: LineForm, name: str, records: Mapping[str, object], message: str) -> None:
    text = row.cleaned_data.get(name)
    record = records.get(normalised(str(text)) or "") if text else None
    if text and record is None:
        row.add_error(name, forms.ValidationError(message, code="NotFound"))
    else:
        row.cleaned_data[name] = record


def formset_of(form: type[LineForm], blank: int) -> Any:
    """The class of a grid of these rows, with so many blank ones."""
    limit = settings.MAX_LINES
    return forms.formset_factory(
        form, formset=LineFormSet, extra=blank, max_num=limit, absolute_max=2 * limit, validate_max=True
    )


def initial_row(line: LineItem) -> dict[str, object]:
    """The cells of an existing line."""
    row: dict[str, object] = {
        "key": line.pk,
        "product": line.product.code,
        "price_book": str(line.price_book_id),
        "quantity": plain_quantity(line.quantity),
        "price": plain_amount(line.price),
    }
    names = ("from_date", "to_date", "claim_type", "cancellation_reason", "tax_choice", "notes")
    row |= {name: getattr(line, name) for name in names}
    if isinstance(line, InvoiceLine):
        row |= {"is_credit_item": line.is_credit_item, "cost_centre": line.cost_centre or ""}
    return row


def sent_row(row: LineForm) -> dict[str, object]:
    """The cells of a line that was sent, as ``initial_row`` has them; with errors, as they were typed."""
    cells: dict[str, Any] = {
        name: row[name].value() if name in row.errors else row.cleaned_data.get(name) for name in row.fields
    }
    for name, plain in (("quantity", plain_quantity), ("price", plain_amount)):
        if isinstance(cells[name], Decimal):
            cells[name] = plain(cells[name])
    return cells


def line_text(row: Mapping[str, Any]) -> str:
    """A line in one text: ``01_011_0107_1_1 · 2 × 70.05 · 1 Jul 2025 – 2 Jul 2025 · Notes``."""
    days = [short_day(row[name]) for name in ("from_date", "to_date") if isinstance(row[name], dt.date)]
    others = ("claim_type", "cancellation_reason", "tax_choice", "cost_centre", "notes")
    parts = [
        getattr(row["product"], "code", row["product"]),
        f"{row['quantity'] or '–'} × {row['price'] or '–'}",
        " – ".join(dict.fromkeys(days)),
        *(row.get(name) for name in others),
        "credit" if row.get("is_credit_item") else "",
    ]
    return " · ".join(str(part) for part in parts if part)


# --- the bill -------------------------------------------------------------------------------------------

#: The button for more rows, for browsers without scripts.
MORE = "_more"


class BillForm(RecordForm):
    """A claim or an invoice with its ``lines``.

    ``last_price_book``, of the line that the person entered last, and ``explain_closed`` are set by
    ``BillAdmin.get_form``.
    """

    last_price_book: ClassVar[str | None] = None
    explain_closed: ClassVar[Any]

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.required = False  # the rules say what is needed, and when
        use_typed_days(self)
        self.adds_rows = MORE in self.data
        #: The lines that somebody else saved are kept instead of these.
        self.keeps_lines = False
        self.lines: LineFormSet = self.line_grid()

    def line_grid(self) -> Any:
        """The lines that were sent or are stored, or blank ones; the first price book is the usual one."""
        self.saved_lines = existing = [] if self.is_new else self.record_admin.lines_of(self.instance)
        formset = formset_of(self.record_admin.line_form, BLANK_ROWS if self.is_new else 0)
        options = {"used_books": frozenset(line.price_book_id for line in existing)}
        if self.is_bound:
            return formset(with_more_rows(self.data) if self.adds_rows else self.data, **options)
        lines = formset(initial=[initial_row(line) for line in existing], **options)
        for row, line in zip(lines.forms, existing, strict=False):
            row.product_found = line.product
        for row in lines.extra_forms:
            row.initial["price_book"] = self.usual_price_book(lines)
        return lines

    def usual_price_book(self, lines: LineFormSet) -> str | None:
        """The price book of the line this person entered last, else of the last line of all."""
        current = [key for key, book in lines.books.items() if not book.is_archived]
        if len(current) == 1:
            return current[0]
        last = self.last_price_book
        if last not in current:
            newest = visible_rows(self.person, self.record_admin.line_model.objects.order_by("-pk"))
            last = str(newest.values_list("price_book_id", flat=True).first())
        return last if last in current else None

    # --- reading

    def clean(self) -> dict[str, object]:
        self.lines.read()
        saved = {line.pk for line in self.saved_lines}
        for row in self.lines.filled_rows():
            if row.cleaned_data.get("key") not in saved:
                row.cleaned_data["key"] = None  # somebody else removed it meanwhile: entered here anew
        return self.cleaned_data if self.adds_rows else super().clean()

    def _post_clean(self) -> None:
        """Django would build and check a record here; the services do. Tested by entering invalid claims."""

    def draft(self) -> Draft:
        draft = super().draft()
        for name in self.fields:
            if draft.get(name) == "":
                draft.fill(name, None)  # left out: a number, for instance, is assigned
        if self.keeps_lines:
            return draft
        lines = self.lines.drafts()
        draft.fill(LINES, lines)
        draft.given |= {LINES}
        draft.invalid |= {f"{LINES}[{number}]" for number, line in enumerate(lines) if line.invalid}
        if self.lines.non_form_errors():
            draft.mark_invalid(LINES)
        return draft

    def is_valid(self) -> bool:
        return super().is_valid() and not self.has_errors and not self.adds_rows

    @property
    def has_errors(self) -> bool:
        return bool(self.errors) or (self.lines.has_errors and not self.keeps_lines)

    # --- two people

    @property
    def is_closed(self) -> bool:
        """True when the bill cannot be changed now: somebody approved it, say, after it was opened here."""
        return not self.is_new and not self.instance.is_editable

    def resolve_conflicts(self, opened: str) -> bool:
        """A closed bill's differences are shown; there is a choice once it can be changed again."""
        if not self.is_closed:
            return super().resolve_conflicts(opened)
        self.conflicts = self.find_conflicts({}, {})
        self.add_error(None, forms.ValidationError(self.explain_closed(self.instance), code="NotAllowed"))
        return True

    def find_conflicts(self, theirs: Mapping[str, str], chosen: Mapping[str, str]) -> list[FieldConflict]:
        """The lines are one choice: the history names each that was changed (``Line 2``)."""
        conflicts = super().find_conflicts(theirs, chosen)
        sides = [initial_row(line) for line in self.saved_lines], [*map(sent_row, self.lines.filled_rows())]
        texts = ["; ".join(map(line_text, rows)) or NO_VALUE for rows in sides]
        books = [[str(getattr(row["price_book"], "pk", row["price_book"])) for row in rows] for rows in sides]
        if texts[0] != texts[1] or books[0] != books[1]:
            is_theirs = any(column.startswith("Line ") for column in theirs)
            keep = THEIRS if is_theirs else chosen.get(LINES, MINE)
            conflicts.append(FieldConflict(LINES, "Lines", texts[0], texts[1], keep))
        return conflicts

    def leave_out(self, name: str) -> None:
        if name == LINES:
            self.keeps_lines = True
        else:
            super().leave_out(name)

    # --- issues

    def add_issue(self, issue: Issue) -> None:
        """Put an issue on its field, on its row, or above the form."""
        name, *path = (issue.field,) if isinstance(issue.field, str) else issue.field
        if issue.severity == "warning":
            self.to_confirm.append(issue)
            return
        # On the field itself its name is not needed.
        message = "Required." if REQUIRED.fullmatch(issue.message) else issue.message
        if name != LINES:
            super().add_issue(replace(issue, message=message))
            return
        rows = self.lines.filled_rows()
        if not path and issue.code == "Required" and self.lines.forms:
            first = self.lines.forms[0]  # where the cursor goes
            first.add_error("product", forms.ValidationError("Give one line at least.", code=issue.code))
            return
        if not path or int(path[0]) >= len(rows):
            self.lines.non_form_errors().append(forms.ValidationError(issue.message, code=issue.code))
            return
        row = rows[int(path[0])]
        column = str(path[1]) if len(path) > 1 else None
        row.add_error(
            column if column in row.fields else None, forms.ValidationError(message, code=issue.code)
        )

    def warning_labels(self, issue: Issue) -> dict[str, str]:
        type_ = get_service().by_model[self._meta.model].type
        place = place_label(wire_target(type_, issue.field, issue.code))
        return {"label": warning_label(issue.code), "place": place}


CATEGORIES = DocumentCategory.objects.filter(archive_date=None)


class ClaimForm(BillForm):
    """The form of a claim, which creates or completes the provider invoice and its document.

    ``may_enter_invoice`` is set by ``ClaimAdmin.get_form``: without the permissions a claim is built on
    a provider invoice that is there. So is ``uploaded_document``, which was uploaded before.
    """

    may_enter_invoice: ClassVar[bool] = False
    uploaded_document: ClassVar[Document | None] = None

    file = StoredFileField(required=False)
    document_category = forms.ModelChoiceField(CATEGORIES, required=False, widget=UnfoldAdminSelectWidget)
    invoice_total = amount_cell_field(decimal_places=2)

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        if self.is_new and self.may_enter_invoice:
            self.fields["provider_invoice"].label = "Provider invoice (leave blank for a new one)"
            return
        for name in INVOICE_FIELDS:
            del self.fields[name]

    def draft(self) -> Draft:
        draft = super().draft()
        if "file" not in self.fields:
            return draft
        values, file = self.cleaned_data, self.cleaned_data.get("file")
        document: DocumentDraft | Document | None = self.uploaded_document
        if file is not None:
            document = document_draft(file, category=values.get("document_category"))
        draft.fill("invoice_entry", InvoiceEntry(values.get("invoice_total"), document))
        return draft

    def add_issue(self, issue: Issue) -> None:
        name = DOCUMENT_FIELDS.get(str(issue.field), issue.field)
        if name == "document_category" and not CATEGORIES.exists():
            issue = replace(issue, message="There are no document categories yet: add one to their list.")
        super().add_issue(replace(issue, field=name))


#: The fields of ``ClaimForm`` that are not the claim's, and those of a document by its members.
INVOICE_FIELDS = ("file", "document_category", "invoice_total")
DOCUMENT_FIELDS = {"file_name": "file", "name": "file", "category": "document_category"}


def use_typed_days(form: forms.BaseForm) -> None:
    """Let days be typed, in the ways that the page's script understands; a calendar takes longer."""
    for field in form.fields.values():
        if isinstance(field, forms.DateField):
            attributes = cell_attributes(**{"data-day": "", "placeholder": "dd/mm/yyyy"})
            field.widget = forms.DateInput(attrs=attributes)


def with_more_rows(data: QueryDict) -> QueryDict:
    """The rows that were sent, with some more blank ones: for browsers without scripts."""
    more = data.copy()
    total = more.get(f"{PREFIX}-TOTAL_FORMS") or "0"
    count = int(total) if total.isdecimal() and len(total) < 5 else 0
    more[f"{PREFIX}-TOTAL_FORMS"] = str(count + MORE_ROWS)
    return more


REQUIRED = re.compile(r"\w+ is required\.")
PLACE = re.compile(r"(?:LineItems\[(\d+)\]/?)?(.*)")


def place_label(place: str | None) -> str:
    """``LineItems[1]/Price`` as a label: ``Line 2, price``; ``PriceBook/PriceBookGuid``: ``Price book``."""
    found = PLACE.fullmatch(place or "")
    assert found is not None
    number, name = found[1], code_label(found[2].split("/")[0].removesuffix("Guid"))
    if number is None:
        return name
    return f"Line {int(number) + 1}, {name.lower()}" if name else f"Line {int(number) + 1}"
