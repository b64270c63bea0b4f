"""The forms of claims and invoices: a head, lines in a grid, and the drafts that both come to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.conf import settings
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst

from apps.core.admin_base import RecordForm
from apps.core.identifiers import normalised
from apps.funding.admin.lookups import digits, product_told, products_by_code
from apps.funding.choices import CancellationReason, ClaimType, TaxChoice
from apps.funding.models import CostCentre, InvoiceLine, LineItem, PriceBook, Product
from apps.odata.write.drafts import Draft, Issue

#: The forms of lines are called so in what a browser sends.
PREFIX = "lines"
LINES = "line_items"
#: Blank rows that a form has for browsers without scripts; with one, rows come as they are needed.
BLANK_ROWS = 1
MORE_ROWS = 5


class BillForm(RecordForm):
    """The head of a claim or an invoice. Its verb stores it with its lines, so nothing is put on a record."""

    #: What the interface asks of a bill, by our names; the rest of the model is worked out.
    members: ClassVar[Sequence[str]] = ()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.required = False  # what is needed, and when, is the rules' to say
        type_days(self)

    def clean(self) -> dict[str, Any]:
        cleaned = forms.ModelForm.clean(self) or self.cleaned_data
        self.refuse_other_version(cleaned.get("opened_version"))
        return cleaned

    def _post_clean(self) -> None:
        """A record is not made here: its verb makes it, or changes it."""

    def drafted(self, lines: Sequence[Draft], can_be_read: bool = True) -> Draft:
        """The bill that is asked for, in the members of the interface, unless its lines cannot be read."""
        said = {name: self.cleaned_data.get(name) for name in self.members if name in self.fields}
        values: dict[str, Any] = {name: None if value == "" else value for name, value in said.items()}
        key = None if self.is_new else self.instance.pk
        given = {name for name, value in values.items() if value is not None or key is not None}
        invalid = set(self.errors) | {f"{LINES}[{n}]" for n, line in enumerate(lines) if line.invalid}
        values = {name: value for name, value in values.items() if name not in self.errors}
        draft = Draft({**values, LINES: list(lines)}, given={*given, LINES}, invalid=invalid, key=key)
        if not can_be_read:
            draft.mark_invalid(LINES)
        return draft


def type_days(form: forms.BaseForm) -> None:
    """Let days be typed, in the ways that the page's script understands; a calendar takes longer."""
    for field in form.fields.values():
        if isinstance(field, forms.DateField):
            field.widget = forms.DateInput(attrs=cell(**{"data-day": "", "placeholder": "dd/mm/yyyy"}))


class ClaimForm(BillForm):
    """A claim: what its provider invoice says already may be left out."""

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


# --- lines ----------------------------------------------------------------------------------------------


def cell(**attributes: str) -> dict[str, str]:
    return {"class": "fu-cell", "autocomplete": "off", **attributes}


class QuickSelect(forms.Select):
    """A list written in one go: a form of a hundred lines has four hundred of them."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        held = "" if value is None else str(value)
        options = format_html_join(
            "",
            '<option value="{}"{}>{}</option>',
            ((each, SELECTED if str(each) == held else "", label) for each, label in self.choices),
        )
        told = flatatt({**self.build_attrs(self.attrs, attrs), "name": name})
        return format_html("<select{}>{}</select>", told, options)


SELECTED = mark_safe(" selected")


def choice(choices: Any) -> forms.ChoiceField:
    listed = [("", "–"), *((value, label) for value, label in choices.choices if value != "None")]
    return forms.ChoiceField(choices=listed, required=False, widget=QuickSelect(attrs=cell()))


class Amount(forms.DecimalField):
    """A number as it stands on papers: ``$1,616.26``; never with an exponent."""

    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": "Give a number, such as 1616.26."}

    def __init__(self) -> None:
        widget = forms.TextInput(attrs=cell(inputmode="decimal"))
        super().__init__(max_digits=14, decimal_places=4, required=False, widget=widget)

    def to_python(self, value: Any) -> Any:
        text = re.sub(r"[\s,$]", "", value or "")
        if not _NUMBER.fullmatch(text):
            raise forms.ValidationError(self.error_messages["invalid"], code="InvalidNumber")
        return super().to_python(text)


#: What is understood once blanks, commas and the dollar sign are gone.
_NUMBER = re.compile(r"-?[0-9]*(\.[0-9]*)?")


class LineForm(forms.Form):
    """One row of the grid. A row without product, quantity, price and notes is no line."""

    key = forms.UUIDField(required=False, widget=forms.HiddenInput)
    product = forms.CharField(
        required=False, max_length=300, widget=forms.TextInput(attrs=cell(role="combobox"))
    )
    from_date = forms.DateField(required=False, widget=forms.DateInput(attrs=cell(**{"data-day": ""})))
    to_date = forms.DateField(required=False, widget=forms.DateInput(attrs=cell(**{"data-day": ""})))
    quantity = Amount()
    price = Amount()
    claim_type = choice(ClaimType)
    cancellation_reason = choice(CancellationReason)
    tax_choice = choice(TaxChoice)
    price_book = forms.ChoiceField(required=False, widget=QuickSelect(attrs=cell()))
    notes = forms.CharField(required=False, widget=forms.TextInput(attrs=cell()))

    #: A row is a line when one of these is filled.
    telling = ("product", "quantity", "price", "notes")

    def __init__(self, *args: Any, books: Sequence[tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        book: Any = self.fields["price_book"]
        book.choices = [("", "–"), *books]
        #: What is shown of the product below its code.
        self.product_found: Product | None = None

    def has_changed(self) -> bool:
        if not self.is_bound:
            return False
        return any(str(self[name].value() or "").strip() for name in self.telling)

    @property
    def name_shown(self) -> str:
        found = self.product_found
        told = product_told(found) if found is not None else None
        return f"{told['name']} · {told['unit']}".strip(" ·") if told else ""

    def drafted(self) -> Draft:
        """The line that is asked for; what could not be read is faulty."""
        cleaned = self.cleaned_data
        names = [name for name in self.fields if name != "key"]
        values = {name: cleaned.get(name) for name in names if name not in self.errors}
        values = {name: None if value == "" else value for name, value in values.items()}
        key = cleaned.get("key")
        given = {name for name, value in values.items() if value is not None or key is not None}
        invalid = [name for name in names if name in self.errors]
        return Draft(values, given=given, invalid=invalid, key=key)


class InvoiceLineForm(LineForm):
    """A line of an invoice: it may give money back, and is booked somewhere."""

    is_credit_item = forms.BooleanField(required=False, widget=forms.CheckboxInput(attrs=cell()))
    cost_centre = forms.CharField(required=False, widget=forms.TextInput(attrs=cell(list="cost-centres")))


class LineFormSet(forms.BaseFormSet):
    """The grid. What rows name by a code or a name is read for all of them at once."""

    def __init__(self, *args: Any, standing_books: frozenset[UUID] = frozenset(), **options: Any) -> None:
        """``standing_books``: archived price books that lines stand in already, and may stay in."""
        self.books = {str(book.pk): book for book in PriceBook.objects.order_by("name")}
        current = [
            (key, book.name)
            for key, book in self.books.items()
            if not book.is_archived or book.pk in standing_books
        ]
        super().__init__(*args, **{"prefix": PREFIX, "form_kwargs": {"books": current}, **options})

    def read(self) -> list[Draft]:
        """The lines that are asked for, with the records themselves where rows name them."""
        self.is_valid()
        rows = self.rows()
        products = products_by_code(row.cleaned_data.get("product") for row in rows)
        centres = cost_centres(row.cleaned_data.get("cost_centre") for row in rows)
        for row in rows:
            told = row.cleaned_data
            told["price_book"] = self.books.get(told.get("price_book") or "")
            row.product_found = self.named(row, "product", products, "No product has this code.")
            self.named(row, "cost_centre", centres, "No cost centre is called so.")
        return [row.drafted() for row in rows]

    @staticmethod
    def named(row: LineForm, name: str, known: Mapping[str, Any], otherwise: str) -> Any:
        """Put in the record that a row names; what is not known is an error there."""
        text = row.cleaned_data.get(name)
        if not text:
            row.cleaned_data[name] = None
            return None
        found = known.get(normalised(str(text)) or "")
        if found is None:
            row.add_error(name, forms.ValidationError(otherwise, code="NotFound"))
        else:
            row.cleaned_data[name] = found
        return found

    def rows(self) -> list[LineForm]:
        """The rows that are lines, in their order."""
        return [row for row in self.forms if row.has_changed() and hasattr(row, "cleaned_data")]

    @property
    def has_errors(self) -> bool:
        return any(row.errors for row in self.forms) or bool(self.non_form_errors())


def cost_centres(names: Iterator[str | None]) -> dict[str, CostCentre]:
    """Current cost centres of these names, by the folded name; one query, none for no names."""
    wanted = {key for key in map(normalised, names) if key}
    if not wanted:
        return {}
    found = CostCentre.objects.filter(name_key__in=wanted, archive_date=None)
    return {str(centre.name_key): centre for centre in found}


def grid(form: type[LineForm], blank: int = BLANK_ROWS) -> Any:
    """The class of a grid of these rows."""
    most = settings.API_MAX_LINES
    return forms.formset_factory(
        form, formset=LineFormSet, extra=blank, max_num=most, absolute_max=2 * most, validate_max=True
    )


def filled_from(lines: Sequence[LineItem], keep_keys: bool) -> tuple[list[dict[str, Any]], list[Product]]:
    """What rows start with for standing lines, and the products they show."""
    rows = []
    for line in lines:
        row: dict[str, Any] = {
            "key": line.pk if keep_keys else None,
            "product": line.product.code,
            "price_book": str(line.price_book_id),
            "quantity": digits(line.quantity).removesuffix(".00"),
            "price": digits(line.price),
        }
        row |= {
            name: getattr(line, name)
            for name in ("from_date", "to_date", "claim_type", "cancellation_reason", "tax_choice", "notes")
        }
        if isinstance(line, InvoiceLine):
            row |= {"is_credit_item": line.is_credit_item, "cost_centre": line.cost_centre or ""}
        rows.append(row)
    return rows, [line.product for line in lines]


# --- findings in their places ---------------------------------------------------------------------------

_MISSING = re.compile(r"\w+ is required\.")
_WIRE_PLACE = re.compile(r"(?:LineItems\[(\d+)\]/?)?(.*)")


def sentence(finding: Issue) -> str:
    """What a form says of a finding: on the field itself its name need not be told."""
    return "Required." if _MISSING.fullmatch(finding.message) else finding.message


def put(finding: Issue, form: BillForm, lines: LineFormSet) -> None:
    """Put what a rule found on its field, on its row, or above the form."""
    place = (finding.field,) if isinstance(finding.field, str) else tuple(finding.field)
    error = forms.ValidationError(sentence(finding), code=finding.code)
    if place[0] != LINES:
        form.add_issue(Issue(finding.code, str(place[0]), sentence(finding)))
        return
    rows = lines.rows()
    if len(place) < 2 or int(place[1]) >= len(rows):
        message = "Give one line at least." if finding.code == "Required" else finding.message
        lines.non_form_errors().append(forms.ValidationError(message, code=finding.code))
        return
    row = rows[int(place[1])]
    name = str(place[2]) if len(place) > 2 else None
    row.add_error(name if name in row.fields else None, error)


def in_words(code: str) -> str:
    """``PriceOverCap`` as people say it: ``Price over cap``."""
    return capfirst(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", code).lower())


def place_in_words(place: str | tuple[str | int, ...] | None) -> str:
    """``("line_items", 1, "price")`` and ``LineItems[1]/Price`` as people say it: ``Line 2, price``."""
    if not place:
        return ""
    if isinstance(place, str):
        found = _WIRE_PLACE.fullmatch(place)
        number, name = (found[1], found[2]) if found else (None, place)
        parts: list[str | int] = [LINES, int(number), name] if number is not None else [name]
    else:
        parts = list(place)
    if parts[0] == LINES and len(parts) > 1:
        line = f"Line {int(parts[1]) + 1}"
        return f"{line}, {member_in_words(str(parts[2]))}" if len(parts) > 2 and parts[2] else line
    return capfirst(member_in_words(str(parts[0])))


def member_in_words(name: str) -> str:
    """``from_date`` and ``PriceBook/PriceBookGuid`` as people say it: ``from date``, ``price book``."""
    own = name.split("/")[0].removesuffix("Guid")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", own).replace("_", " ").lower()
