"""Amounts as people enter them in the back office: what is not plain is refused, never read as another."""

from decimal import Decimal

import pytest
from django import forms
from django.contrib import admin
from django.test import RequestFactory

from apps.core.admin_base import RecordAdmin
from apps.core.admin_base.forms import AmountField
from apps.funding.admin.forms import QuickInput
from apps.funding.models import Price, ProviderInvoice
from apps.people.admin.custom_fields import form_field
from apps.people.choices import AnswerKind
from apps.people.models import CustomField
from tests.funding.admin_forms import PROVIDER_INVOICES
from tests.people.records import a_client, a_contact, an_administrator, form_data


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        *[("", None), (None, None), ("0", "0"), ("70.5", "70.5"), (".5", "0.5"), ("-3", "-3")],
        *[("$1,616.26", "1616.26"), ("1 616.26", "1616.26"), ("12,345,678", "12345678")],
    ],
)
def test_an_amount_is_read_as_invoices_show_it(text, amount):
    assert AmountField().clean(text) == (amount if amount is None else Decimal(amount))


@pytest.mark.parametrize(
    "text",
    [
        *("1,5", "1,00", "1,2345", "12,34.50", ",5", "1.616,26", "1,616,26"),  # a comma for a point
        *("1e3", "1E3", "NaN", "Infinity", "0x10", "1_0", "１２", "--1", "-", ".", "(5)", "5-", "1.2.3"),
    ],
)
def test_what_could_be_another_amount_is_refused(text):
    with pytest.raises(forms.ValidationError):
        AmountField().clean(text)


def fields_of_forms():
    """(model, name, field) of each form of records, and of the rows in it."""
    request = RequestFactory().get("/")
    request.user, request.session = an_administrator(), {}
    pages = [page for page in admin.site._registry.values() if isinstance(page, RecordAdmin)]
    shown = [(page.model, page.get_form(request)) for page in pages]
    shown += [
        (inline.model, formset.form)
        for page in pages
        for formset, inline in page.get_formsets_with_inlines(request)
    ]
    return [(model, name, field) for model, form in shown for name, field in form.base_fields.items()]


def test_every_form_of_records_reads_amounts_in_this_way(db):
    found = [(model, field) for model, _, field in fields_of_forms() if isinstance(field, forms.DecimalField)]
    assert {ProviderInvoice, Price} <= set(dict(found))
    assert {type(field) for _, field in found} == {AmountField}


def test_no_number_is_lost_where_a_browser_does_not_read_it(db):
    """Firefox sends nothing of a number field that has 1,234.50, and the forms are sent unchecked."""
    numbers = [
        each for each in fields_of_forms() if isinstance(each[2], forms.DecimalField | forms.IntegerField)
    ]
    assert len(numbers) > 20
    found = [(name, field.widget.input_type) for _, name, field in numbers if not field.widget.is_hidden]
    assert {kind for _, kind in found} == {"text"}, found
    number = form_field(CustomField(name="Steps", kind=AnswerKind.NUMBER), [])
    assert (number.widget.input_type, number.clean("1,234.5")) == ("text", Decimal("1234.5"))


def test_every_field_that_one_types_into_has_a_border(db):
    """Django's own widgets have none, since the style sheet of the pages takes the browser's away."""
    typed = [each for each in fields_of_forms() if is_typed(each[2].widget)]
    assert sum(isinstance(field, forms.IntegerField) for _, _, field in typed) > 10
    assert [each for each in typed if "border" not in each[2].widget.attrs.get("class", "").split()] == []


def is_typed(widget):
    is_text = isinstance(widget, forms.TextInput | forms.NumberInput | forms.Textarea)
    return is_text and not isinstance(widget, QuickInput)  # which funding.css gives a border


@pytest.mark.parametrize("total", ["1e3", "1,5", "1_0"])
def test_a_total_of_a_provider_invoice_that_is_no_plain_amount_is_refused(db, ada, client, total):
    address = f"{PROVIDER_INVOICES}add/"
    chosen = {"provider": str(a_client().pk), "contact": str(a_contact().pk), "reference": "A-1"}
    data = form_data(client.get(address), **chosen, invoice_total=total)
    errors = client.post(address, data).context["adminform"].form.errors
    assert errors == {"invoice_total": ["Give a number, such as 1616.26."]}
    assert client.post(address, {**data, "invoice_total": "$1,000.00"}).status_code == 302
    assert ProviderInvoice.objects.get().invoice_total == 1000
