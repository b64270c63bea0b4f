"""A claim, its provider invoice and the document of that are entered on one page and stored together."""

from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.base import clock
from apps.documents.models import Document, DocumentCategory
from apps.documents.storage import document_storage
from apps.funding.admin.forms import QuantityField
from apps.funding.models import Claim, ProviderInvoice
from tests.documents.builders import PDF, a_category, a_document, png
from tests.funding.admin_forms import (
    CLAIMS,
    bill_form_data,
    errors_of,
    line,
    save_anyway,
    warning_labels,
)
from tests.funding.warned import WEDNESDAY
from tests.people.records import a_role, a_staff_member, get_unrendered

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_a_thursday", "ada")]

FILE = "/admin/documents/document/file/"
ADD = f"{CLAIMS}add/"


def choose_file(client, name="INV-9.pdf", content=PDF):
    return client.post(FILE, {"file": SimpleUploadedFile(name, content)})


def entry_form(client, scene, query=None, **fields):
    """What a browser sends of the page, with these fields instead of all that a claim needs."""
    category = a_category(name="Provider invoices")
    given = {
        "file": choose_file(client).json()["token"],
        "document_category": str(category.pk),
        "provider": str(scene.provider.pk),
        "contact": str(scene.participant.pk),
        "provider_invoice_reference": "INV-9",
        "invoice_total": "$140.00",
        "start_date": "12/08/2026",
        "end_date": "12/08/2026",
        **fields,
    }
    page = get_unrendered(client, ADD, query)
    return bill_form_data(page, line(scene.entry), **given)


def counts():
    return [model.objects.count() for model in (Document, ProviderInvoice, Claim)]


def test_one_form_stores_the_document_the_provider_invoice_and_the_claim(client, ada, scene):
    data = entry_form(client, scene)
    assert client.post(ADD, data).status_code == 302
    claim = Claim.objects.get()
    invoice = claim.provider_invoice
    assert (invoice.reference, invoice.invoice_total) == ("INV-9", Decimal("140.00"))
    assert (invoice.contact, invoice.provider) == (claim.contact, claim.provider)
    assert (invoice.service_start_date, invoice.service_end_date) == (WEDNESDAY, WEDNESDAY)
    assert (invoice.created_by, invoice.is_claimed) == (ada, True)
    document = invoice.document
    assert (document.name, document.contact, document.client) == ("INV-9.pdf", claim.contact, claim.provider)
    assert (document.created_by, document.category.name) == (ada, "Provider invoices")
    next_page = get_unrendered(client, ADD)
    assert next_page.context["adminform"].form.initial["document_category"] == document.category.pk


@pytest.mark.parametrize(
    ("typed", "quantity"), [("1:20", "1.3333"), ("0:30", "0.5"), (" 100:05 ", "100.0833"), ("2", "2")]
)
def test_a_quantity_may_be_hours_and_minutes(typed, quantity):
    assert QuantityField().clean(typed) == Decimal(quantity)


@pytest.mark.parametrize("typed", ["1:60", "1:5", "-1:20", ":20", "1:20:30"])
def test_other_texts_with_a_colon_are_no_quantity(typed):
    with pytest.raises(
        ValidationError, match=r"Give a number, such as 1\.5, or hours and minutes, such as 1:30\."
    ):
        QuantityField().clean(typed)


def test_a_form_that_is_sent_twice_stores_one_claim(client, scene):
    data = entry_form(client, scene)
    client.post(ADD, data)
    head, _ = errors_of(client.post(ADD, data))
    assert head["file"] == ["INV-9.pdf is a document already: this form was saved before."]
    assert counts() == [1, 1, 1]


def test_issues_of_all_three_records_are_on_their_fields_and_the_file_is_kept(client, scene):
    data = entry_form(
        client,
        scene,
        document_category="",
        provider_invoice_reference="",
        invoice_total="-1",
        start_date="13/08/2026",
        contact="",
    )
    answer = client.post(ADD, data)
    head, _ = errors_of(answer)
    assert set(head) == {
        "document_category",
        "provider_invoice_reference",
        "invoice_total",
        "end_date",
        "contact",
    }
    assert counts() == [0, 0, 0]
    assert answer.context["form_file"]["file"]["name"] == "INV-9.pdf"
    assert data["file"] in answer.content.decode()


def test_where_there_is_no_category_the_page_says_where_one_is_added(client, scene):
    data = entry_form(client, scene, document_category="")
    head, _ = errors_of(client.post(ADD, data))
    assert head == {"document_category": ["A document has a category."]}
    DocumentCategory.objects.update(archive_date=clock.now())
    head, _ = errors_of(client.post(ADD, data))
    assert head == {"document_category": ["There are no document categories yet: add one to their list."]}


def test_a_used_reference_stores_nothing(client, scene):
    scene.provider_invoice(reference="inv-9")
    head, _ = errors_of(client.post(ADD, entry_form(client, scene)))
    assert set(head) == {"provider_invoice_reference"}
    assert counts() == [0, 1, 0]


def test_warnings_store_nothing_until_they_are_confirmed(client, scene):
    data = entry_form(client, scene, invoice_total="150.00")
    answer = client.post(ADD, data)
    assert warning_labels(answer) == ["Total differs"]
    assert counts() == [0, 0, 0]
    assert client.post(ADD, data | save_anyway(answer)).status_code == 302
    assert counts() == [1, 1, 1]


def test_a_provider_invoice_of_the_inbox_is_completed(client, scene):
    invoice = scene.provider_invoice(contact=None, provider=None, reference="INV-9")
    data = entry_form(client, scene, {"provider_invoice": str(invoice.pk)})
    assert client.post(ADD, data | {"_next": "1"}).status_code == 302
    invoice.refresh_from_db()
    assert (invoice.invoice_total, invoice.document.name) == (Decimal("140.00"), "INV-9.pdf")
    assert (invoice.provider, invoice.contact) == (scene.provider, scene.participant)
    assert counts() == [1, 1, 1]


def test_the_next_file_follows_a_claim_that_was_entered_from_a_file(client, scene):
    scene.provider_invoice()
    answer = client.post(ADD, entry_form(client, scene) | {"_next": "1"})
    assert answer.url == ADD


def test_a_document_of_the_provider_invoice_is_not_replaced(client, scene):
    invoice = scene.provider_invoice(document=a_document())
    page = get_unrendered(client, ADD, {"provider_invoice": str(invoice.pk)})
    assert "form_file" not in page.context


def test_without_the_permissions_a_claim_needs_a_provider_invoice(client, scene):
    permissions = (
        *("funding.add_claim", "funding.view_claim", "funding.change_claim"),
        "funding.administer_funding_invoices",
    )
    client.force_login(a_staff_member(role=a_role(*permissions)))
    page = get_unrendered(client, ADD)
    assert {"file", "invoice_total"}.isdisjoint(page.context["adminform"].form.fields)
    answer = client.post(ADD, bill_form_data(page, line(scene.entry)))
    assert errors_of(answer)[0]["provider_invoice"] == ["Required."]
    assert choose_file(client).status_code == 403


def test_a_chosen_file_is_shown_before_it_is_a_document(client):
    stored = choose_file(client, "scan.png", png()).json()
    answer = client.get(stored["preview"])
    assert (answer.headers["Content-Type"], b"".join(answer.streaming_content)) == ("image/png", png())
    assert answer.headers["Content-Disposition"].startswith("inline")
    assert client.get(f"{FILE}?token={stored['token'][:-1]}").status_code == 404


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("INV-9.exe", b"MZ\x90\x00", "exe files are not allowed"),
        ("INV-9.pdf", b"", "is empty"),
        ("INV-9.pdf", png(), "not by its content"),
        ("INV-9.html", b"<script>alert(1)</script>", "html files are not allowed"),
    ],
    ids=["program", "empty", "picture as PDF", "markup"],
)
def test_a_bad_file_is_refused_when_it_is_chosen_and_not_kept(client, name, content, reason):
    before = len(list(document_storage().list_files()))
    answer = choose_file(client, name, content)
    assert answer.status_code == 400
    assert reason in answer.json()["message"]
    assert len(list(document_storage().list_files())) == before


def test_a_file_that_was_chosen_long_ago_is_chosen_again(client, ada, scene, at):
    data = entry_form(client, scene)
    at("2026-08-20 22:30")
    client.force_login(ada)
    head, _ = errors_of(client.post(ADD, data))
    assert head["file"] == ["Choose the file again."]
    assert counts() == [0, 0, 0]
