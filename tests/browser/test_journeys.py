"""The journeys of a day in the back office, each as its role; a table of them ends the run (``journeys``)."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.base import clock
from apps.documents.demo import pdf
from apps.engagements.models import ClientEngagement
from apps.engagements.services import create_support_categories
from apps.funding.models import AcknowledgedWarning, Claim, ClaimFile
from apps.funding.statuses import ClaimStatus
from apps.funding.validation.warnings import PRICE_OVER_CAP
from apps.people.demo import load_roles
from apps.people.models import Contact, Staff
from apps.sales.models import Opportunity
from tests.browser.journeys import Journey
from tests.browser.test_claims import Scene
from tests.documents.builders import a_category, a_document
from tests.funding.builders import a_claim
from tests.funding.claimable import a_claimable_claim, save_settings
from tests.people.records import a_contact, a_role, a_staff_member
from tests.sales.builders import a_stage, an_opportunity

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def begin(window_of, db):
    """begin(name, role, address) -> a journey of somebody who has the role of the demo data."""

    def begun(name, role, address):
        person = a_staff_member(role=load_roles()[role], first_name="Robin", last_name=role)
        page = window_of(user=person)
        page.goto(address)
        return Journey(page, name, role)

    return begun


@pytest.mark.pdf_viewer
def test_a_claims_officer_enters_a_claim_from_a_document(begin):
    scene = Scene()
    a_category(name="Provider invoices")
    with begin("A claim from a PDF", "Accounts officer", "/admin/funding/claim/add/") as journey:
        page = journey.page
        assert page.evaluate("document.activeElement.type") == "file"
        journey.clicks += 1  # choosing the file in the window of the operating system
        page.evaluate("window.blurs = 0; addEventListener('blur', () => blurs++)")
        file = {"name": "INV-9.pdf", "mimeType": "", "buffer": pdf("Tax invoice INV-9")}
        page.set_input_files("[data-form-file] input", file)
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
        assert page.evaluate("blurs") == 0  # the viewer beside the form has not taken the cursor
        journey.press("Control+Enter")
        page.wait_for_load_state()
        page.wait_for_selector("text=Claim C")
    claim = Claim.objects.get()
    assert (claim.total, claim.provider_invoice.document.name) == (Decimal("140.10"), "INV-9.pdf")
    assert (claim.contact, claim.provider) == (scene.mia, scene.harbour)


@pytest.mark.usefixtures("nothing_changed_since")
def test_a_team_lead_approves_claims_and_is_told_which_had_warnings(begin):
    scene = Scene()
    claims = [a_claim(contact=scene.mia, provider=scene.harbour) for _ in range(3)]
    warning = {"code": PRICE_OVER_CAP, "message": "40.00 is over the cap.", "at": clock.now()}
    AcknowledgedWarning.objects.create(claim=claims[0], **warning)
    with begin("Approve claims, one with a warning", "Plan manager", "/admin/") as journey:
        journey.submit("#nav-sidebar >> text=Claims")
        journey.submit(".fu-tabs >> text=Awaiting")
        assert journey.page.locator("#result_list [data-warnings]").count() == 1
        journey.click("#action-toggle")
        journey.wait_for("[data-selected] >> text=1 with warnings")
        journey.submit(".fu-actions button >> text=Approve")
        journey.wait_for("text=Price over cap: 40.00 is over the cap.")
        journey.click(".rs-question [name=ticked]")
        journey.wait_for("[data-selected] >> text=With the 1 ticked: 3, total")
        journey.submit("[name=_do]")
        journey.wait_for("text=Approve: 3 claims. 1 with warnings: Price over cap (1).")
    assert Claim.objects.filter(funding_status=ClaimStatus.APPROVED).count() == 3


def test_finance_makes_a_claim_file_and_sends_it(begin):
    day = clock.today()
    save_settings()
    line, days = {"first_day": day, "last_day": day}, {"start_date": day, "end_date": day}
    claims = [a_claimable_claim([line, line], **days) for _ in range(3)]
    with begin("A claim file, made, downloaded and sent", "Accounts officer", "/admin/") as journey:
        page = journey.page
        journey.submit("#nav-sidebar >> text=Claim files")
        journey.submit("main a[href$='claimfile/add/']")
        journey.wait_for("text=3 claims and invoices in 6 lines")
        journey.submit("text=Make 1 claim file")
        with page.expect_download() as download:
            journey.click("a.fu-button >> text=Download")
        journey.submit("text=Mark as sent")
        journey.wait_for(".fu-status >> text=Sent")
    file = ClaimFile.objects.get()
    assert (file.status, file.line_count) == ("Sent", 6)
    assert download.value.suggested_filename == file.file_name
    assert download.value.path().read_bytes() == bytes(file.content)
    assert {Claim.objects.get(pk=each.pk).funding_status for each in claims} == {ClaimStatus.AGENCY_CLAIMED}


def test_finance_closes_a_month_and_sees_what_is_open(begin):
    scene = Scene()
    claimed = a_claim(contact=scene.mia, provider=scene.harbour, funding_status=ClaimStatus.AGENCY_CLAIMED)
    with begin("Month end to an open claim", "Accounts officer", "/admin/") as journey:
        journey.submit("#nav-sidebar >> text=Month end")
        journey.submit("main tbody th a")
        journey.submit(f"#result_list >> text={claimed.claim_number}")
        journey.wait_for(f".fu-status >> text={claimed.get_funding_status_display()}")


def look_after(opportunity):
    """Robin, whose role sees those in one's care: the opportunity's contact is now among them."""
    robin = Staff.objects.get(first_name="Robin")
    contact = a_contact(account_manager=robin)
    Opportunity.objects.filter(pk=opportunity.pk).update(primary_contact=contact)
    return robin


def test_sales_moves_an_opportunity_to_its_next_stage(begin):
    first, second = a_stage(name="Enquiry"), a_stage(name="Proposal")
    opportunity = an_opportunity(owner=a_staff_member(), stage=first)
    with begin("Move an opportunity", "Support coordinator", "/admin/") as journey:
        look_after(opportunity)
        journey.submit("#nav-sidebar >> text=Pipeline")
        journey.clicks += 1
        journey.page.select_option(f"#opportunity-{opportunity.pk} select", label="Proposal")
        journey.submit(f"#opportunity-{opportunity.pk} button")
    opportunity.refresh_from_db()
    assert opportunity.stage == second


def test_the_office_is_asked_about_a_duplicate_and_merges_it_in_the_dark(begin):
    known = a_contact(first_name="Mia", last_name="Nguyen", scheme_number="430123456")
    with begin("A duplicate, saved and merged", "Administrator", "/admin/people/contact/add/") as journey:
        page = journey.page
        for name, words in (("first_name", "Mia"), ("last_name", "Nguyen"), ("scheme_number", "430 123 456")):
            page.focus(f"[name={name}]")
            journey.type(words)
        journey.submit("#submit-row [name=_save]")
        assert page.locator(f"[data-warnings] a[href*='{known.pk}']").count() == 1
        assert Contact.objects.count() == 1
        journey.submit("[name=_save_anyway]")
        duplicate = Contact.objects.exclude(pk=known.pk).get()
        journey.open(f"/admin/people/contact/{known.pk}/merge/?duplicate={duplicate.pk}")
        page.evaluate("document.documentElement.classList.add('dark')")
        text, paper = (
            page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).{name}")
            for selector, name in (("main h2", "color"), ("#main", "backgroundColor"))
        )
        assert text != paper
        journey.submit("main form button[type=submit]")
    duplicate.refresh_from_db()
    assert duplicate.is_archived


def test_an_administrator_gives_a_role_a_permission(begin):
    role = a_role("people.view_contact", name="Reception")
    with begin("A permission of a role", "Administrator", f"/admin/people/role/{role.pk}/change/") as journey:
        journey.click(".rs-matrix input:not(:checked) >> nth=0")
        journey.submit("#submit-row [name=_save]")
    assert role.permissions.count() == 2


def test_a_participant_is_found_by_name_and_the_plan_shows_what_is_left(begin):
    scene = Scene()
    with begin("Find a participant, see what is left", "Accounts officer", "/admin/") as journey:
        journey.press("Control+k")
        journey.wait_for("#search-input-command:focus")
        journey.type("nguyen, mia")
        journey.wait_for("#command-results .active >> text=Mia Nguyen · 430 123 456")  # the first
        with journey.page.expect_navigation():
            journey.press("Enter")
        assert journey.page.url.endswith(f"/contact/{scene.mia.pk}/overview/")
        journey.wait_for("[aria-label='Budgets of the current plan'] >> text=10,000.00")


def test_enter_in_the_search_opens_nothing_but_a_result_of_what_is_typed(open_window):
    Scene()
    page = open_window(1280)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto("/admin/")
    page.keyboard.press("Control+k")
    page.wait_for_selector("#search-input-command:focus")
    page.keyboard.press("Enter")
    page.keyboard.type("nguyen, mia")
    page.wait_for_selector("#command-results .active >> text=Mia Nguyen")
    page.keyboard.type(" qqqqqqqq")
    page.keyboard.press("Enter")  # before the answer about these words
    page.wait_for_selector("#command-results >> text=Nothing found")
    page.keyboard.press("Enter")
    page.wait_for_timeout(100)
    assert page.url.endswith("/admin/")
    assert errors == []


def test_a_new_plan_gets_its_budgets_on_its_own_page(begin):
    create_support_categories()
    a_contact(first_name="Mia", last_name="Nguyen", scheme_number="430123456")
    address = "/admin/engagements/clientengagement/add/"
    with begin("A new plan with three budgets", "Plan manager", address) as journey:
        journey.click("[name=participant] + .select2 .select2-selection")
        journey.wait_for(".select2-search__field:focus")
        journey.type("430 123")
        journey.wait_for(".select2-results__option--highlighted >> text=Mia Nguyen")
        journey.press("Enter")
        for name, words in (
            ("plan_start_date", "01/07/2026"),
            ("plan_end_date", "30/06/2027"),
            ("total_budget_amount", "10000"),
        ):
            journey.click(f"[name={name}]")
            journey.type(words)
            journey.press("Tab")
        journey.submit("#submit-row [name=_save]")
        for number, amount in ((1, "6000"), (3, "3000"), (15, "1000")):
            journey.click(f"[name=category{number}-budget]")
            journey.type(amount)
        journey.wait_for("[data-unallocated] >> text=0.00")
        journey.submit("text=Save budgets")
        journey.wait_for("text=3 budgets saved.")
    plan = ClientEngagement.objects.get()
    assert (plan.is_plan_managed, sum(each.budget for each in plan.budgets.all())) == (True, 10_000)


def test_claims_on_hold_for_one_reason_are_released_from_the_home_page(begin):
    scene = Scene()
    for reason in ("Plan expired", "Plan expired", "Wrong ABN"):
        held = {"funding_status": ClaimStatus.ON_HOLD, "status_reason": reason}
        a_claim(contact=scene.mia, provider=scene.harbour, **held)
    with begin("Work the hold list by reason", "Accounts officer", "/admin/") as journey:
        journey.submit("main a >> text=Plan expired")
        assert journey.page.locator("#result_list tbody tr").count() == 2
        journey.click("#action-toggle")
        journey.submit(".fu-actions button >> text=Release")
        journey.wait_for("text=Release: 2 claims.")
    assert Claim.objects.get(funding_status=ClaimStatus.ON_HOLD).status_reason == "Wrong ABN"


def test_the_work_of_a_leaver_is_handed_over(begin):
    leaver = a_staff_member(first_name="Lee", last_name="Leaver")
    contact, claim = a_contact(account_manager=leaver), a_claim(staff=leaver)
    address = f"/admin/people/staff/{leaver.pk}/change/"
    with begin("Hand over the work of a leaver", "Administrator", address) as journey:
        journey.click("summary >> text=More")
        journey.submit(".rs-more >> text=Leaves")
        journey.click(".select2-selection >> nth=0")
        journey.wait_for(".select2-search__field:focus")
        journey.type("robin")
        journey.wait_for(".select2-results__option--highlighted >> text=Robin Administrator")
        journey.press("Enter")
        journey.submit("[name=_leave]")
    for record in (leaver, contact, claim):
        record.refresh_from_db()
    assert leaver.is_archived
    assert {str(contact.account_manager), str(claim.staff)} == {"Robin Administrator"}


@pytest.mark.pdf_viewer
def test_a_document_is_found_previewed_and_downloaded(begin):
    a_document(file_name="plan.pdf"), a_document(file_name="invoice.pdf")
    with begin("Find, preview and download a document", "Plan manager", "/admin/") as journey:
        journey.submit("#nav-sidebar >> text=Documents")
        journey.press("/")
        journey.type("plan")
        with journey.page.expect_navigation():
            journey.press("Enter")
        journey.submit("#result_list >> text=plan.pdf")
        journey.wait_for("iframe[title='Preview of plan.pdf']")
        with journey.page.expect_download() as download:
            journey.click("main a[href$='/download/']")
        assert download.value.suggested_filename == "plan.pdf"


def test_a_follow_up_of_today_is_done_and_the_next_one_set(begin):
    today = clock.today()
    opportunity = an_opportunity(stage=a_stage())
    with begin("Do a follow-up of today", "Support coordinator", "/admin/") as journey:
        robin = look_after(opportunity)
        due = {"follow_up_staff": robin, "follow_up_date": today, "owner": robin}
        Opportunity.objects.filter(pk=opportunity.pk).update(**due)
        journey.submit("#nav-sidebar >> text=My follow-ups")
        journey.clicks += 1
        journey.page.fill(".rs-follow-up [name=next_date]", f"{today + dt.timedelta(days=7):%d/%m/%Y}")
        journey.submit(".rs-follow-up button")
    opportunity.refresh_from_db()
    assert opportunity.follow_up_date == today + dt.timedelta(days=7)


@pytest.mark.pdf_viewer
def test_claims_are_entered_from_uploaded_documents_one_after_the_other(begin):
    Scene()
    a_category(name="Provider invoices")
    numbers = range(1, 4)
    address = "/admin/documents/document/add/"
    with begin("Claims from three PDFs, one skipped", "Accounts officer", address) as journey:
        page = journey.page
        journey.clicks += 1  # choosing the files in the window of the operating system
        files = [
            {"name": f"INV-{n}.pdf", "mimeType": "", "buffer": pdf(f"Tax invoice INV-{n}")} for n in numbers
        ]
        page.set_input_files("#upload-files", files)
        journey.submit("#upload-form [type=submit]")
        for number in numbers:
            journey.wait_for(f".fu-entry >> text={number} of 3")
            journey.wait_for(f".fu-entry >> text=INV-{number}.pdf")
            if number == 2:
                journey.submit(".fu-entry >> text=Skip")
                continue
            assert page.locator(".fu-invoice iframe").count() == 1
            journey.look_up("harbour", "Harbour Lights")
            journey.look_up("430 123", "Mia Nguyen")
            for words in (f"INV-{number}", "70.05", "t"):
                journey.type(words)
                journey.press("Tab")
            journey.type("t")
            journey.press("Enter")
            journey.type("self")
            journey.wait_for("[data-options]:not([hidden]) [aria-selected=true]")
            journey.press("Enter", "Tab", "Tab")
            journey.type("1")
            with page.expect_navigation():
                journey.press("Control+Enter")
            if page.locator("[data-warnings]").count():
                with page.expect_navigation():
                    journey.press("Tab", "Enter")
        journey.wait_for("text=2 of 3 entered")
        assert page.locator("main td >> text=Enter a claim").count() == 1
    assert Claim.objects.count() == 2
    assert {claim.provider_invoice.document.name for claim in Claim.objects.all()} == {
        f"INV-{number}.pdf" for number in (1, 3)
    }
