"""The journeys of a day in the back office, each as its role; ``-s`` prints keys, clicks and seconds."""

from decimal import Decimal

import pytest

from apps.funding.models import Claim
from apps.people.demo import load_roles
from tests.browser.journeys import FINISHED, Journey, table
from tests.browser.test_claims import Scene
from tests.documents.builders import PDF, a_category
from tests.people.records import a_staff_member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module", autouse=True)
def printed_table():
    FINISHED.clear()
    yield
    print(f"\n{table()}")


@pytest.fixture
def begin(window_of, db):
    """begin(name, role, address) -> a journey of somebody who has the role of the demo data."""

    def begun(name, role, address):
        person = a_staff_member(role=load_roles()[role], first_name="Robin", last_name=role)
        page = window_of(user=person)
        page.goto(address)
        return Journey(page, name, role)

    return begun


def test_a_claims_officer_enters_a_claim_from_a_document(begin):
    scene = Scene()
    a_category(name="Provider invoices")
    with begin("A claim from a PDF", "Accounts officer", "/admin/funding/claim/add/") as journey:
        page = journey.page
        assert page.evaluate("document.activeElement.type") == "file"
        journey.clicks += 1  # choosing the file in the window of the operating system
        page.set_input_files("[data-form-file] input", {"name": "INV-9.pdf", "mimeType": "", "buffer": PDF})
        journey.wait_for("[data-file-preview]:not([hidden])")
        journey.look_up("harbour", "Harbour Lights")
        journey.look_up("430 123", "Mia Nguyen")
        for words in ("INV-9", "140.10", "t"):
            journey.type(words)
            journey.press("Tab")
        journey.type("t")
        journey.press("Enter")
        journey.type("self")
        journey.wait_for("[data-options]:not([hidden]) [aria-selected=true]")
        journey.press("Enter", "Tab", "Tab")
        journey.type("2")
        page.select_option("[name=document_category]", label="Provider invoices")
        journey.press("Control+Enter")
        page.wait_for_load_state()
        page.wait_for_selector("text=Claim C")
    claim = Claim.objects.get()
    assert (claim.total, claim.provider_invoice.document.name) == (Decimal("140.10"), "INV-9.pdf")
    assert (claim.contact, claim.provider) == (scene.mia, scene.harbour)
