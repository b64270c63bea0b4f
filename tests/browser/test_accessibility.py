"""The pages of the back office against the rules of axe, in both themes, and on windows of two widths."""

from decimal import Decimal

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib import admin

from apps.base import clock
from apps.core.admin_base import RecordAdmin
from apps.funding.statuses import ClaimStatus
from apps.payments.services.runs import create_run, release_run
from tests.browser.test_claims import Scene
from tests.documents.builders import a_document
from tests.funding.builders import a_claim, a_claim_file, an_invoice
from tests.payments.builders import a_paid_claim, a_releaser, an_account, payment_settings
from tests.payments.statement_builders import MONTH, a_claim_of_the_month, a_statement
from tests.people.records import a_client, a_contact, a_role

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

OPTIONS = {
    "resultTypes": ["violations"],
    "iframes": False,  # the browser's viewer of PDF files is not ours
    "preload": False,  # none of these rules reads the text of style sheets
    "runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"],
}
#: The rules of axe that look at colours: all that a theme changes.
OPTIONS_OF_DARK = {**OPTIONS, "runOnly": ["color-contrast", "link-in-text-block"]}
#: The menu of other pages differs by the entry that is marked.
WITH_MENU = ("", "people/contact/")
WITHOUT_MENU = {"include": ["html"], "exclude": ["#nav-sidebar"]}
TELEPHONE, DESKTOP, DESKTOP_AT_400_PER_CENT = ({"width": width, "height": 844} for width in (390, 1280, 320))


def overflow(page):
    """How many pixels the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


def findings(page, part="html", themes=((False, OPTIONS), (True, OPTIONS_OF_DARK))):
    """What axe finds in a part of the page in both themes: the theme, the rule, the element."""
    page.evaluate(Axe().axe_script)
    found = []
    for is_dark, options in themes:
        page.evaluate("isDark => document.documentElement.classList.toggle('dark', isDark)", is_dark)
        result = page.evaluate("([part, options]) => axe.run(part, options)", [part, options])
        found += [
            (is_dark, rule["id"], node["html"][:200])
            for rule in result["violations"]
            for node in rule["nodes"]
        ]
    return found


def every_list_and_form():
    """The addresses of all lists, their own pages and the forms to add to them, below ``/admin/``."""
    for model, page in admin.site._registry.items():
        name = f"{model._meta.app_label}/{model._meta.model_name}/"
        yield name
        if "add" in page.__class__.__dict__ or issubclass(page.__class__, RecordAdmin):
            yield f"{name}add/"
        for each in getattr(page, "list_pages", ()):
            if each.title:
                yield f"{name}{each.path}/"


def test_axe_finds_nothing_on_any_list_or_form(open_window):
    page = open_window()
    found = []
    for address in every_list_and_form():
        page.set_viewport_size(DESKTOP)
        answer = page.goto(f"/admin/{address}")
        if answer.status == 403:
            continue
        light = ((False, OPTIONS),)  # the dark of the same parts is looked at below
        found += [(address, *finding) for finding in findings(page, WITHOUT_MENU, light)]
        for window in (DESKTOP, DESKTOP_AT_400_PER_CENT):
            page.set_viewport_size(window)
            if overflow(page) > 0:
                found.append((address, window["width"], "scrolls sideways"))
    assert not found, "\n".join(map(str, found))


def test_no_page_has_a_serious_finding_of_axe_in_either_theme_nor_scrolls_sideways(
    open_window, ada, monkeypatch
):
    monkeypatch.setattr("apps.payments.admin.runs.LISTED_PAYEES", 1)  # its pages have pages
    scene = Scene()
    billed = {"contact": scene.mia, "provider": scene.harbour, "start_date": scene.day, "end_date": scene.day}
    claim, approved = a_claim(**billed), a_claim(**billed, funding_status=ClaimStatus.APPROVED)
    half = Decimal("70.00")
    paid = a_claim(
        [{"amount_paid": half}, {}],
        **billed,
        funding_status=ClaimStatus.AGENCY_PARTIALLY_PAID,
        amount_paid=half,
    )
    invoice = an_invoice(contact=scene.mia)
    waiting = scene.provider_invoice("INV-1", document=a_document())
    employer = a_client(business_name="Jaunty Lomandra Cleaning and Gardening of the Upper Hunter Valley")
    other = a_contact(
        first_name="Wilhelmina-Antoinette", last_name="Featherstonehaugh-Cholmondeley", client=employer
    )
    role = a_role("people.view_client")
    file = a_claim_file([a_claim(**billed, funding_status=ClaimStatus.AGENCY_CLAIMED)], status="NotSent")
    payment_settings()
    an_account(scene.harbour)
    a_paid_claim("20.00", provider=scene.harbour)
    run = release_run(create_run(None, clock.today(), None).pk, a_releaser())
    a_paid_claim("7.00", provider=scene.harbour), a_paid_claim("5.00")
    unconfirmed = an_account(scene.mia, confirmed=False)
    a_claim_of_the_month(scene.mia)
    statement = a_statement(scene.mia)
    with_axe = (
        "",
        "people/contact/",
        f"people/contact/{scene.mia.pk}/change/",
        f"people/contact/{scene.mia.pk}/overview/",
        f"people/contact/{other.pk}/merge/",
        f"people/client/{scene.harbour.pk}/overview/",
        "people/client/add/",
        f"people/role/{role.pk}/change/",
        "people/role/usual/",
        f"people/staff/{ada.pk}/change/",
        f"people/staff/{ada.pk}/archiving/",
        "funding/claim/?status=AwaitingStaffApproval",
        "funding/claim/add/",
        f"funding/claim/add/?provider_invoice={waiting.pk}",
        f"funding/claim/{claim.pk}/change/",
        f"funding/claim/{approved.pk}/change/",
        f"funding/claim/{claim.pk}/do/hold/",
        f"funding/claim/{paid.pk}/do/take-back/",
        "funding/claim/queues/",
        "funding/claim/month-end/",
        "funding/claimfile/add/",
        f"funding/claimfile/{file.pk}/file/",
        f"funding/claimfile/{file.pk}/withdraw/",
        f"funding/invoice/{invoice.pk}/change/",
        "sales/opportunity/board/",
        "documents/document/add/",
        "payments/paymentrun/ready/",
        f"payments/paymentrun/{run.pk}/run/",
        f"payments/bankaccount/{unconfirmed.pk}/confirm/",
        "funding/claim/tracker/",
        "funding/claimfile/first-steps/",
        "payments/accountsexport/add/",
        "payments/accountsexport/gst/",
        "payments/statement/months/",
        f"payments/statement/month/{MONTH:%Y-%m}/",
        f"payments/statement/{statement.pk}/statement/",
    )
    without_axe = (  # made of the same parts as one of those above
        "people/contact/add/",
        f"people/contact/{other.pk}/change/",
        "people/staff/",
        "people/role/add/",
        f"people/staff/{ada.pk}/history/",
        f"people/staff/{ada.pk}/password/",
        "funding/claim/",
        "funding/claim/?status=OnHold",
        "funding/invoice/add/",
        "funding/providerinvoice/",
        f"funding/providerinvoice/{waiting.pk}/change/",
    )
    page = open_window()
    page.goto("/")
    assert overflow(page) <= 0
    found = []
    for address in (*with_axe, *without_axe):
        page.set_viewport_size(TELEPHONE)
        assert page.goto(f"/admin/{address}").status == 200, address
        assert overflow(page) <= 0, address
        page.set_viewport_size(DESKTOP)
        assert overflow(page) <= 0, address
        if address in with_axe:
            part = "html" if address in WITH_MENU else WITHOUT_MENU
            found += [(address, *finding) for finding in findings(page, part)]
    page.goto("/admin/core/change/")
    found += [("history", *finding) for finding in findings(page, WITHOUT_MENU)]
    page.click("text=Filters")
    page.wait_for_selector("[aria-labelledby*=staff__guid]")
    found += [("filters", *finding) for finding in findings(page, "#changelist-filter")]
    page.goto("/admin/core/fileimport/add/")
    page.hover("main button[type=submit]")
    page.wait_for_timeout(300)
    found += [("below the pointer", *finding) for finding in findings(page, "main")]
    assert not found, "\n".join(map(str, found))
    assert (page.errors, page.elsewhere) == ([], [])
