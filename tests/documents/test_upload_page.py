"""The page for uploading many files, in a browser."""

import pytest

from apps.documents.models import Document
from tests.documents.builders import PDF, a_category, a_document
from tests.people.records import a_client, an_administrator

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(open_window):
    return open_window(width=390, user=an_administrator())


def a_chosen(name, content=PDF):
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def test_each_chosen_file_has_a_row_with_its_issues_until_there_are_none(page):
    usual, other = a_category(name="Letters"), a_category(name="Plans")
    acme = a_client(business_name="Acme Pty Ltd")
    page.goto("/admin/documents/document/add/")
    page.set_input_files(
        "#upload-files", [a_chosen("a.pdf"), a_chosen("b.pdf"), a_chosen("<img src=x>.png", b"no picture")]
    )
    rows = page.locator(".rs-upload-row")
    assert rows.count() == 3
    page.select_option("#id_category", str(usual.pk))
    rows.nth(1).locator("[name=DocumentCategoryGuidList]").select_option(str(other.pk))
    rows.nth(0).locator("[name=Names]").fill("Plan 2026")
    rows.nth(1).locator(".select2-selection").click()
    page.keyboard.type("acme")
    page.locator(".select2-results__option", has_text="Acme Pty Ltd").click()
    page.click("#upload-form [type=submit]")
    issue = rows.nth(2).locator(".rs-upload-issue")
    issue.wait_for()
    assert "not by its content" in issue.inner_text()
    assert not Document.objects.exists()
    rows.nth(2).locator(".rs-upload-remove").click()
    page.click("#upload-form [type=submit]")
    page.wait_for_url("**/admin/documents/document/")
    assert set(Document.objects.values_list("name", "category", "client")) == {
        ("Plan 2026", usual.pk, None),
        ("b.pdf", other.pk, acme.pk),
    }
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    (error,) = page.errors  # of the refused upload
    assert "400 (Bad Request)" in error


def test_files_are_dropped_anywhere_on_the_page_which_then_asks_before_it_is_left(page):
    """Beside its zone the browser opened the file in place of the page."""
    page.goto("/admin/documents/document/add/")
    dropped = """() => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(["%PDF-1.4"], "a.pdf"));
        const drop = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
        document.querySelector("h1, main").dispatchEvent(drop);
        return drop.defaultPrevented;
    }"""
    assert page.evaluate(dropped)
    assert page.locator(".rs-upload-name").inner_text() == "a.pdf"
    page.locator("[name=Names]").click()
    page.goto("/admin/documents/document/")
    assert page.dialogs == ["beforeunload"]
    assert page.errors == []


def test_a_document_with_its_hash_fits_a_telephone(page):
    document = a_document()
    page.goto(f"/admin/documents/document/{document.pk}/change/")
    assert page.get_by_text(document.sha256).is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
