"""The pages of the back office against the rules of axe, in both themes."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from apps.funding.choices import ClaimStatus
from tests.browser.test_claims import Scene
from tests.documents.builders import a_document
from tests.funding.builders import a_claim, an_invoice
from tests.people.records import a_contact, a_role

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

OPTIONS = {
    "resultTypes": ["violations"],
    "iframes": False,  # the browser's viewer of PDF files is not ours
    "runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"],
}
SET_THEME = "isDark => document.documentElement.classList.toggle('dark', isDark)"


def test_no_page_has_a_serious_finding_of_axe_in_either_theme(open_window, ada):
    scene = Scene()
    billed = {"contact": scene.mia, "provider": scene.harbour, "start_date": scene.day, "end_date": scene.day}
    claim, approved = a_claim(**billed), a_claim(**billed, funding_status=ClaimStatus.APPROVED)
    invoice = an_invoice(contact=scene.mia)
    waiting = scene.provider_invoice("INV-1", document=a_document())
    other, role = a_contact(), a_role("people.view_client")
    page, axe = open_window(), Axe()
    found = []
    for address in (
        "",
        "people/contact/",
        "core/change/#filters",
        f"people/contact/{scene.mia.pk}/change/",
        f"people/contact/{scene.mia.pk}/overview/",
        f"people/contact/{other.pk}/merge/",
        f"people/client/{scene.harbour.pk}/overview/",
        "people/client/add/",
        f"people/role/{role.pk}/change/",
        f"people/staff/{ada.pk}/change/",
        f"people/staff/{ada.pk}/archiving/",
        "funding/claim/?status=AwaitingStaffApproval",
        "funding/claim/add/",
        f"funding/claim/add/?provider_invoice={waiting.pk}",
        f"funding/claim/{claim.pk}/change/",
        f"funding/claim/{approved.pk}/change/",
        f"funding/claim/{claim.pk}/do/hold/",
        "funding/claim/queues/",
        "funding/claim/month-end/",
        f"funding/invoice/{invoice.pk}/change/",
        "sales/opportunity/board/",
        "documents/document/add/",
        "core/change/",
    ):
        assert page.goto(f"/admin/{address}").status == 200, address
        if address.endswith("#filters"):
            page.click("text=Filters")
            page.wait_for_selector("[aria-labelledby*=staff__guid]")
        for is_dark in (False, True):
            page.evaluate(SET_THEME, is_dark)
            violations = axe.run(page, options=OPTIONS).response["violations"]
            found += [
                (address, is_dark, rule["id"], node["html"][:200])
                for rule in violations
                if rule["impact"] in ("serious", "critical")
                for node in rule["nodes"]
            ]
    assert not found, "\n".join(map(str, found))
