"""The journeys of a day's money, each as its role: claim file, answers, a bank account, a payment run."""

import datetime as dt

import pytest

from apps.base import clock
from apps.funding.models import Claim, Remittance
from apps.payments.models import BankAccount, PaymentRun, Statement
from apps.payments.services.runs import create_run, release_run
from apps.people.demo import load_roles
from apps.people.models import Contact
from tests.browser.journeys import Journey
from tests.browser.test_claims import Scene
from tests.browser.test_imports import ASK_WHEN_TOLD, work
from tests.funding.answer_files import REMITTANCE, RESULTS, a_payment, a_result, as_csv
from tests.funding.claim_files import claimed_lines
from tests.funding.claimable import a_claimable_claim, save_settings
from tests.payments.bank_file_checker import read_bank_file
from tests.payments.builders import a_paid_claim, a_releaser, an_account, payment_settings
from tests.payments.statement_builders import a_claim_of_the_month, a_consent
from tests.people.records import a_client, a_staff_member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CLAIMS_OFFICER, TEAM_LEAD = "Accounts officer", "Plan manager"
#: The most clicks until a file is at the agency or the bank.
MOST_CLICKS = 12


@pytest.fixture
def sign_in(window_of):
    """sign_in(role) -> the page of a person who has the role of the demo data."""

    def signed_in(role):
        page = window_of(user=a_staff_member(role=load_roles()[role], first_name="Robin", last_name=role))
        page.goto("/admin/")
        return page

    return signed_in


@pytest.fixture
def claims():
    """Three approved claims of two lines."""
    day = clock.today()
    save_settings()
    line, days = {"first_day": day, "last_day": day}, {"start_date": day, "end_date": day}
    return [a_claimable_claim([line, line], **days) for _ in range(3)]


def import_file(journey, kind, path, good):
    """Import a file from the home page on: what it would do is shown before."""
    page = journey.page
    page.add_init_script(ASK_WHEN_TOLD)
    journey.submit("#nav-sidebar >> text=Imports")
    journey.submit("main a[href$='fileimport/add/']")
    journey.clicks += 2  # choosing what it is, and the file in the window of the operating system
    page.select_option("[name=kind]", label=kind)
    page.set_input_files("[name=file]", path)
    journey.submit("button >> text=Read the file")
    work(page)
    journey.submit(f"button >> text=Import {good}")
    work(page)
    journey.wait_for(".rs-import strong >> text=Imported")


def test_a_claims_officer_reads_the_results_mends_what_was_refused_and_resubmits_it(
    sign_in, claims, tmp_path
):
    Claim.objects.update(funding_status="AgencyClaimed")
    refused, *accepted = claimed_lines(*claims)[::-1]
    rows = [a_result(line.reference, amount=line.amount) for line in accepted[1:]]
    rows += [
        a_result(line.reference, "ERROR", "C04 Quantity over approved") for line in (refused, accepted[0])
    ]
    path = as_csv(tmp_path / "results.csv", rows, RESULTS)
    page = sign_in(CLAIMS_OFFICER)
    with Journey(page, "Results, a refused claim mended", CLAIMS_OFFICER) as journey:
        import_file(journey, "Results of the agency", path, "6 answers")
        journey.submit("#nav-sidebar >> text=Claims")
        journey.submit(".fu-tabs >> text=Refused by the agency")
        journey.submit(f"#result_list >> text={claims[-1].claim_number}")
        journey.wait_for("text=Refused: C04 Quantity over approved")
        journey.submit(".fu-action-buttons >> text=Resubmit in full")
        journey.submit("[name=_do], main form button[type=submit] >> nth=0")
    again = Claim.objects.get(resubmission_of=claims[-1])
    assert (again.funding_status, again.total) == ("AwaitingStaffApproval", claims[-1].total)


def test_a_team_lead_imports_a_remittance_that_leaves_a_gap(sign_in, claims, tmp_path):
    Claim.objects.update(funding_status="AgencyClaimed")
    first, *lines = claimed_lines(*claims)
    day = f"{clock.today():%Y%m%d}"
    rows = [a_payment(first.reference, "100.00", "400000000", day)]
    rows += [
        a_payment(line.reference, line.amount, str(at), day) for at, line in enumerate(lines, 400_000_001)
    ]
    path = as_csv(tmp_path / "paid.csv", rows, REMITTANCE)
    page = sign_in(TEAM_LEAD)
    with Journey(page, "A remittance with a gap", TEAM_LEAD) as journey:
        import_file(journey, "Remittances of the agency", path, "6 payments")
        journey.submit("#nav-sidebar >> text=Claims")
        journey.submit(".fu-tabs >> text=Partially paid")
        journey.submit(f"#result_list >> text={claims[0].claim_number}")
        journey.wait_for("text=100.00 paid")
        journey.submit(".fu-action-buttons >> text=Resubmit the gap")
        journey.submit("[name=_do], main form button[type=submit] >> nth=0")
    assert Remittance.objects.get().row_count == 6
    assert Claim.objects.get(resubmission_of=claims[0]).total == 40


def test_finance_enters_an_account_and_another_person_confirms_it(sign_in):
    scene = Scene()
    page = sign_in(CLAIMS_OFFICER)
    with Journey(page, "A changed bank account, entered", CLAIMS_OFFICER) as journey:
        journey.submit("#nav-sidebar >> text=Bank accounts")
        journey.submit("main a[href$='bankaccount/add/']")
        journey.click("[name=client] + .select2 .select2-selection")
        journey.wait_for(".select2-search__field:focus")
        journey.type("harbour")
        journey.wait_for(".select2-results__option--highlighted >> text=Harbour Lights")
        journey.press("Enter")
        journey.click("[name=bsb]")
        for words in ("062000", "12345678", "Harbour Lights"):
            journey.type(words)
            journey.press("Tab")
        journey.submit("#submit-row [name=_save]")
    account = BankAccount.objects.get()
    assert (account.client, account.is_confirmed) == (scene.harbour, False)
    page = sign_in(TEAM_LEAD)
    with Journey(page, "A bank account, confirmed by a second person", TEAM_LEAD) as journey:
        journey.submit("#nav-sidebar >> text=Bank accounts")
        journey.submit("#result_list >> text=Harbour Lights")
        journey.submit("a[href$='/confirm/'] >> visible=true")
        journey.click("[name=confirmation]")
        journey.type("Rang Jo on the number of the agreement")
        journey.submit("button >> text=Confirm")
        journey.wait_for("text=The account of Harbour Lights is confirmed.")
    account.refresh_from_db()
    assert account.is_confirmed


def test_finance_makes_a_run_and_a_second_person_releases_it_and_has_the_file(sign_in):
    scene = Scene()
    payment_settings()
    an_account(scene.harbour)
    for _ in range(2):
        a_paid_claim("20.00", provider=scene.harbour)
    PaymentRun.objects.create(number=1, day=clock.today(), status="Opening")
    page = sign_in(CLAIMS_OFFICER)
    with Journey(page, "A payment run, made", CLAIMS_OFFICER) as made:
        made.submit("#nav-sidebar >> text=Ready to pay")
        made.submit("button >> text=Make a payment run")
        made.wait_for("text=somebody else releases it")
    page = sign_in(TEAM_LEAD)
    with Journey(page, "A payment run, released and downloaded", TEAM_LEAD) as released:
        released.submit("#nav-sidebar >> text=Payment runs")
        released.submit("#result_list >> text=2")
        released.submit("button >> text=Release")
        with page.expect_download() as download:
            released.click("text=run-2-1.aba")
    assert made.clicks + released.clicks <= MOST_CLICKS
    payments, _ = read_bank_file(download.value.path().read_bytes())
    assert [(each.name, each.amount) for each in payments] == [("Harbour Lights", 40)]


def test_ready_to_pay_sums_what_is_ticked_less_what_is_set_off_on_all_pages(sign_in, monkeypatch):
    monkeypatch.setattr("apps.payments.admin.runs.LISTED_PAYEES", 2)
    payment_settings()
    payees = [a_client(business_name=f"Payee {number}") for number in range(1, 4)]
    taken_back, *_ = [a_paid_claim("1000.10", provider=payee) for payee in payees]
    for payee in payees:
        an_account(payee)
    release_run(create_run(None, clock.today(), None).pk, a_releaser())
    Claim.objects.filter(pk=taken_back.pk).update(amount_paid=1000)
    for payee in payees:
        a_paid_claim("2000.00", provider=payee)
    page = sign_in(CLAIMS_OFFICER)
    page.goto("/admin/payments/paymentrun/ready/")
    chosen = page.locator("[data-chosen]")
    assert chosen.inner_text() == "Pays 6,000.00 to 3 payees"
    page.check("label:has-text('set off')")
    assert chosen.inner_text() == "Pays 5,999.90 to 3 payees"
    page.uncheck("[aria-label='Pay Payee 2']")
    assert chosen.inner_text() == "Pays 3,999.90 to 2 payees"
    with page.expect_navigation():
        page.click(".rs-pages >> text=2")
    page.uncheck("[aria-label='Pay Payee 3']")
    assert chosen.inner_text() == "Pays 1,999.90 to 1 payee"
    with page.expect_navigation():
        page.click(".rs-pages >> text=1")
    page.uncheck("[aria-label='Pay Payee 1']")  # and with it what is set off of it
    assert chosen.inner_text() == "Nobody is ticked"
    page.check("[aria-label='Pay Payee 2']")
    assert chosen.inner_text() == "Pays 2,000.00 to 1 payee"
    page.keyboard.press("Control+Enter")
    assert page.evaluate("document.activeElement.name") == "day"
    assert not page.errors


def test_a_claims_officer_makes_the_statements_of_a_month_and_mails_them(sign_in, mailoutbox):
    scene = Scene()
    last_day = clock.today().replace(day=1) - dt.timedelta(days=1)
    a_claim_of_the_month(scene.mia, line={"first_day": last_day, "last_day": last_day})
    Contact.objects.filter(pk=scene.mia.pk).update(primary_email="mia@example.org")
    a_consent(scene.mia)
    page = sign_in(CLAIMS_OFFICER)
    page.add_init_script(ASK_WHEN_TOLD)
    with Journey(page, "Statements of a month, made and mailed", CLAIMS_OFFICER) as journey:
        journey.submit("#nav-sidebar >> text=Statements >> nth=0")
        if page.locator(f"main a[href$='/month/{last_day:%Y-%m}/']").count():
            journey.submit(f"main a[href$='/month/{last_day:%Y-%m}/'] >> nth=0")
        journey.submit("button >> text=Make all")
        work(page)
        journey.wait_for("button >> text=Send 1 by mail")
        journey.submit("button >> text=Send 1 by mail")
        work(page)
        journey.wait_for("text=1 of 1 sent at once")
    assert [message.to for message in mailoutbox] == [["mia@example.org"]]
    assert Statement.objects.get().sent_at is not None
