"""Accounts exports in the back office and by command: preview, making, downloads, account codes, GST."""

import datetime as dt
import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from apps.base import clock
from apps.payments.models import AccountCode, AccountsExport, PaymentSettings
from apps.payments.services.accounts_exports import create_accounts_export
from apps.payments.services.gst_report import Quarter
from apps.payments.services.runs import create_run, release_run
from tests.funding.builders import a_cost_centre, an_entry, an_invoice
from tests.payments.accounts_checker import check_xero_journals
from tests.payments.builders import (
    a_claimed_claim,
    a_releaser,
    accounts_settings,
    agency_pays,
    agency_takes_back,
    an_account,
    payment_settings,
)
from tests.payments.test_back_office import signed_in, texts_of
from tests.people.records import a_client, form_data

pytestmark = pytest.mark.django_db

EXPORTS, CODES = "/admin/payments/accountsexport/", "/admin/payments/accountcode/"
SETTINGS = "/admin/payments/paymentsettings/1/change/"


def today():
    return f"{clock.today():%d/%m/%Y}"


@pytest.fixture
def released():
    """A released run of a claim that the agency paid."""
    accounts_settings()
    provider = a_client(business_name="Harbour Lights")
    an_account(provider)
    agency_pays(a_claimed_claim("20.00", provider=provider))
    return release_run(create_run(None, clock.today(), None).pk, a_releaser())


def test_an_export_is_shown_made_as_shown_and_downloaded(released):
    browser, staff = signed_in("payments.view_accountsexport", "payments.add_accountsexport")
    page = browser.get(f"{EXPORTS}add/", {"until": today()})
    assert page.context["plan"].rows[0][1:] == (1, released.total)
    data = {"until": today(), "plan": page.context["plan"].mark}
    answer = browser.post(f"{EXPORTS}add/", data)
    export = AccountsExport.objects.get()
    assert (answer.url, export.made_by) == (f"{EXPORTS}{export.pk}/export/", staff)
    shown = browser.get(answer.url).content.decode()
    assert "accounts-1-journals-1.csv" in shown
    assert "Payment run 1" in shown
    figures = dict(re.findall(r"<dt>([^<]+)</dt><dd>([^<]+)</dd>", shown))
    assert figures["Paid to payees"] == "20.00"
    assert figures["Came back"] == figures["Taken back by the agency"] == "0.00"
    file = browser.get(f"{EXPORTS}{export.pk}/file/1/")
    assert file["Content-Disposition"] == 'attachment; filename="accounts-1-journals-1.csv"'
    assert file.content == bytes(export.files.get().content)
    assert len(check_xero_journals(file.content)) == 2
    assert browser.get(f"{EXPORTS}{export.pk}/file/2/").status_code == 404
    again = browser.post(f"{EXPORTS}add/", data)
    assert texts_of(again)[0].startswith("There is nothing new until")
    assert "all of it was exported" in again.content.decode()
    assert browser.get(EXPORTS).status_code == 200


def test_a_page_of_before_makes_nothing_and_a_day_to_come_is_refused(released):
    browser, _ = signed_in("payments.view_accountsexport", "payments.add_accountsexport")
    answer = browser.post(f"{EXPORTS}add/", {"until": today(), "plan": "of before"})
    assert texts_of(answer) == ["Something has changed since the page was made. This is what there is now."]
    tomorrow = f"{clock.today() + dt.timedelta(days=1):%d/%m/%Y}"
    for day, error in ((tomorrow, "Choose a day that is not in the future."), ("31/31", None)):
        form = browser.get(f"{EXPORTS}add/", {"until": day}).context["form"]
        assert form.errors["until"] == [error] if error else form.errors["until"]
        assert browser.post(f"{EXPORTS}add/", {"until": day, "plan": ""}).status_code == 200
    assert not AccountsExport.objects.exists()


def test_who_may_see_exports_and_who_may_make_them(released):
    export = create_accounts_export(clock.today())
    pages = (EXPORTS, f"{EXPORTS}{export.pk}/export/", f"{EXPORTS}{export.pk}/file/1/", f"{EXPORTS}gst/")
    viewer, _ = signed_in("payments.view_accountsexport", "payments.view_paymentsettings")
    other, _ = signed_in("payments.view_paymentrun")
    for page in (*pages, f"{EXPORTS}gst-file/2026-Q3/"):
        assert viewer.get(page).status_code == 200
        assert other.get(page).status_code == 403
    for browser in (viewer, other):
        assert browser.get(f"{EXPORTS}add/").status_code == 403
        assert browser.post(f"{EXPORTS}add/", {"until": today(), "plan": ""}).status_code == 403
        assert browser.get(CODES).status_code == 403


def test_what_is_missing_is_named_with_where_to_enter_it():
    payment_settings()
    needed = ("payments.view_accountsexport", "payments.add_accountsexport")
    browser, _ = signed_in(*needed)
    text = browser.get(f"{EXPORTS}add/").content.decode()
    assert "<li>the clearing account</li>" in text
    assert SETTINGS not in text.partition("<main")[2]
    browser, _ = signed_in(*needed, "payments.view_paymentsettings", "payments.change_paymentsettings")
    assert SETTINGS in browser.get(f"{EXPORTS}add/").content.decode()
    PaymentSettings.objects.all().delete()
    accounts_settings()
    AccountCode.objects.all().delete()
    agency_pays(a_claimed_claim("8.00", "GstOnIncome", send_payment_to="PlanManager"))
    text = browser.get(f"{EXPORTS}add/", {"until": today()}).content.decode()
    assert "<li>own fee, category 9, GST on income</li>" in text
    assert "Make the export" not in text


@pytest.mark.both_engines("stored by statements that no other test has")
def test_account_codes_are_entered_by_who_changes_the_payment_settings(client, ada):
    data = form_data(client.get(f"{CODES}add/"), code="200", category="14", tax_choice="")
    assert client.post(f"{CODES}add/", data).status_code == 302
    row = AccountCode.objects.get()
    assert (row.code, row.category, row.tax_choice, row.used_for) == ("200", 14, None, "OwnFee")
    errors = client.post(f"{CODES}add/", data).context["adminform"].form.errors
    assert errors == {"code": ["Another row is for the same use, cost centre, category and tax."]}
    address = f"{CODES}{row.pk}/change/"
    assert client.post(address, form_data(client.get(address), code="210")).status_code == 302
    wrong = {**data, "code": "2 00", "used_for": "ProviderBill", "cost_centre": str(a_cost_centre().pk)}
    errors = client.post(f"{CODES}add/", wrong).context["adminform"].form.errors
    assert sorted(errors) == ["code", "cost_centre"]
    assert "210" in client.get(CODES).content.decode()


def test_home_shows_the_runs_that_no_export_has(released, client, ada):
    label = "Runs in no accounts export"
    assert label in client.get("/admin/").content.decode()
    viewer, _ = signed_in("payments.view_paymentrun")
    assert label not in viewer.get("/admin/").content.decode()
    create_accounts_export(clock.today())
    assert label not in client.get("/admin/").content.decode()
    released.day = dt.date(2020, 1, 1)  # before the first day of exports
    released.save()
    AccountsExport.objects.get().entries.all().delete()
    assert label not in client.get("/admin/").content.decode()


# --- by command -----------------------------------------------------------------------------------------


def run(*arguments, **options):
    output = StringIO()
    call_command(*arguments, stdout=output, **options)
    return output.getvalue().splitlines()


def test_an_export_is_made_by_command_once(released, tmp_path):
    rows = ["Received from the agency: 1, 20.00.", "Paid to payees: 1, 20.00."]
    options = {"until": clock.today(), "out": tmp_path}
    assert run("export_accounts", dry_run=True, **options) == [*rows, "1 file would be made."]
    assert not AccountsExport.objects.exists()
    path = tmp_path / "accounts-1-journals-1.csv"
    assert run("export_accounts", **options) == [*rows, f"{path}: 4 lines, 40.00."]
    assert path.read_bytes() == bytes(AccountsExport.objects.get().files.get().content)
    with pytest.raises(CommandError, match="There is nothing new") as refused:
        run("export_accounts", **options)
    assert refused.value.returncode == 1
    for wrong in ({"out": tmp_path / "none"}, {"until": clock.today() + dt.timedelta(days=1)}):
        with pytest.raises(CommandError) as refused:
            run("export_accounts", **{**options, **wrong})
        assert refused.value.returncode == 2


# --- GST ------------------------------------------------------------------------------------------------


def test_quarters_are_those_of_the_calendar():
    assert (Quarter(2026, 4).first, Quarter(2026, 4).last) == (dt.date(2026, 10, 1), dt.date(2026, 12, 31))
    assert Quarter.of(" 2026q1 ") == Quarter(2026, 1) == Quarter.before(dt.date(2026, 4, 1))
    assert Quarter.before(dt.date(2026, 3, 31)) == Quarter(2025, 4)
    for text in ("2026-Q5", "Q1", "1926-Q1", ""):
        with pytest.raises(ValueError, match="is no quarter: write July to September 2026 as 2026-Q3"):
            Quarter.of(text)


def test_the_gst_report_has_own_supplies_of_the_quarter_alone(client, ada):
    fee = {"send_payment_to": "PlanManager"}
    with clock.set_to(dt.datetime(2026, 6, 30, 13, 59, tzinfo=dt.UTC)):  # the last minute of June in Sydney
        agency_pays(a_claimed_claim("1.00", **fee))
    with clock.set_to(dt.datetime(2026, 6, 30, 14, 1, tzinfo=dt.UTC)):
        taxed = agency_pays(a_claimed_claim("110.00", "GstOnIncome", **fee))
        agency_pays(a_claimed_claim("50.00", "BasExcluded", **fee))
        agency_pays(a_claimed_claim("1000.00", "GstOnIncome"))  # the provider's
        line = {"entry": an_entry(), "quantity": "1", "price": "33.00", "tax_choice": "GstOnIncome"}
        agency_pays(an_invoice([line], funding_status="Sent", invoice_claim_type="InvoiceToClient"))
        agency_takes_back(taxed, "11.00")
    expected = [
        "Tax,Paid by,Sales with GST,G1 total sales,1A GST on sales",
        "BAS excluded,The agency,50.00,0.00,0.00",
        "GST on income,Clients,33.00,33.00,3.00",
        "GST on income,The agency,99.00,99.00,9.00",
        "Total 2026-Q3,,182.00,132.00,12.00",
    ]
    assert run("gst_report", "2026-Q3") == expected
    file = client.get(f"{EXPORTS}gst-file/2026-Q3/")
    assert file.content.decode().splitlines() == expected
    page = client.get(f"{EXPORTS}gst/?quarter=2026-Q3").content.decode()
    table = [",".join(re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)) for row in page.split("<tr>")]
    assert table[-4:] == [row.replace(" 2026-Q3", "") for row in expected[1:]]
    assert client.get(f"{EXPORTS}gst/?quarter=x").status_code == 404
    with pytest.raises(CommandError, match="is no quarter"):
        run("gst_report", "july")
