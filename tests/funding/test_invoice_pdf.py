"""Invoices as PDF: what a participant is sent."""

import shutil
import subprocess
from decimal import Decimal

import pytest
from reportlab.platypus import Paragraph, Table

from apps.core.models import Subscriber
from apps.funding.choices import TaxChoice
from apps.funding.invoice_pdf import invoice_story
from apps.funding.models import InvoiceLine, PriceBookEntry
from apps.funding.pdf_styles import sender
from tests.funding.admin_forms import INVOICES
from tests.funding.builders import an_invoice
from tests.people.records import a_contact, a_role, a_staff_member, an_administrator

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def signed_in(client):
    client.force_login(an_administrator())


def texts(story):
    """The paragraphs of a story, tables included."""
    for part in story:
        if isinstance(part, Paragraph):
            yield part.getPlainText()
        elif isinstance(part, Table):
            yield from texts(part._cellvalues)
        elif isinstance(part, list | tuple):
            yield from texts(part)


def test_an_invoice_has_its_sender_recipient_lines_gst_and_payment_details(client):
    Subscriber(
        name="Southern Light",
        business_number="51 824 753 556",
        invoice_sender="1 High Street\nAdelaide",
        payment_details="BSB 065-000",
    ).save()
    contact = a_contact(first_name="Nguyễn", last_name="Thị Hòa & <b>", scheme_number="430 123 456")
    invoice = an_invoice(2, contact=contact, invoice_number="INV-7")
    InvoiceLine.objects.update(tax_choice=TaxChoice.GST_ON_INCOME, total=Decimal("110.00"))
    PriceBookEntry.objects.update(gst_inclusive=True)
    text = "\n".join(texts(invoice_story(invoice, Subscriber.current())))
    for expected in (
        *("Tax invoice", "Southern Light", "ABN 51 824 753 556", "1 High Street", "BSB 065-000"),
        *("Nguyễn Thị Hòa & <b>", "Scheme number 430 123 456", "INV-7", "20.00"),
    ):
        assert expected in text


def test_a_sender_without_an_address_has_no_empty_line():
    organisation = Subscriber(name="Southern Light", business_number="51")
    assert list(texts(sender(organisation))) == ["Southern Light", "ABN 51"]


def test_an_invoice_is_downloaded_with_a_title_and_its_letters(client):
    invoice = an_invoice(invoice_number="INV-7", contact=a_contact(first_name="Thị Hòa"))
    response = client.get(f"{INVOICES}{invoice.pk}/pdf/")
    assert response.headers["Content-Disposition"] == 'attachment; filename="INV-7.pdf"'
    for part in (b"%PDF-", b"/Title (Invoice INV-7)", b"/Lang (en-AU)", b"/FontFile2", b"+DejaVuSans"):
        assert part in response.content


def test_selected_invoices_are_one_file(client):
    keys = [str(an_invoice().pk) for _ in range(2)]
    response = client.post(INVOICES, {"action": "selected_as_pdf", "index": "0", "_selected_action": keys})
    assert response.content.count(b"/Type /Page\n") == 2


def test_an_invoice_is_for_those_who_may_view_it(client):
    client.force_login(a_staff_member(role=a_role("people.view_contact")))
    assert client.get(f"{INVOICES}{an_invoice().pk}/pdf/").status_code == 403


@pytest.mark.skipif(shutil.which("pdfinfo") is None, reason="pdfinfo is not installed")
def test_an_invoice_says_aloud_what_its_headings_rows_and_headers_are(client, tmp_path):
    """The table goes on, on further pages, as the same table; headers that are repeated are read once."""
    invoice = an_invoice(40, contact=a_contact(first_name="Thị Hòa"))
    file = tmp_path / "invoice.pdf"
    file.write_bytes(client.get(f"{INVOICES}{invoice.pk}/pdf/").content)
    found = subprocess.run(["pdfinfo", "-struct-text", file], capture_output=True, text=True, check=True)
    lines = [line.strip() for line in found.stdout.splitlines()]
    assert not found.stderr
    assert lines[:3] == ["Document", "H1 (block)", '"Invoice"']
    assert "Pages:           3" in subprocess.run(["pdfinfo", file], capture_output=True, text=True).stdout
    assert lines.count("Table (block)") == 1
    assert lines.count("TR") == 41
    assert lines.count("/Scope /Column") == 5
    assert lines.count("/Scope /Row") == 40
    assert lines.count('"Support"') == 1
