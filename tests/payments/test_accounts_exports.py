"""Accounts exports: what is booked how, each amount once, what is missing, what ``./run verify`` finds."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.base import clock
from apps.base.errors import Refusal
from apps.funding.choices import SendPaymentTo, TaxChoice
from apps.payments.models import (
    AccountCode,
    AccountsEntry,
    AccountsExport,
    AccountsFile,
    PaymentRunClaim,
    PaymentSettings,
)
from apps.payments.services.accounts_exports import (
    create_accounts_export,
    erase_bills,
    last_day_of_month_before,
    plan_accounts_export,
)
from apps.payments.services.invariants import find_payment_faults
from apps.payments.services.returns import mark_returned
from apps.payments.services.runs import create_run, release_run
from tests.funding.builders import a_claim, a_cost_centre, a_product, an_entry, an_invoice
from tests.payments.accounts_checker import check_myob_journal, check_xero_bills, check_xero_journals
from tests.payments.builders import (
    a_claimed_claim,
    a_releaser,
    accounts_settings,
    agency_pays,
    agency_takes_back,
    an_account,
    somebody,
)
from tests.people.records import a_client

pytestmark = pytest.mark.django_db

FEE = SendPaymentTo.PLAN_MANAGER.value


@pytest.fixture
def provider():
    found = a_client(business_name="Harbour Lights")
    an_account(found)
    return found


def a_released_run():
    return release_run(create_run(None, clock.today(), None).pk, a_releaser())


def made():
    return create_accounts_export(clock.today())


def contents(export, is_bills=False):
    return [bytes(file.content) for file in export.files.filter(is_bills=is_bills)]


def journals_of(export):
    """The sums of accounts, by the words before the comma of the narration."""
    found = {}
    for content in contents(export):
        for (narration, _), sums in check_xero_journals(content).items():
            assert narration.endswith(f", accounts export {export.number}")
            found[narration.rsplit(", ", 1)[0]] = {
                code: str(amount) for code, amount in sums.items() if amount
            }
    return found


def test_money_goes_from_the_agency_through_the_clearing_account_to_payees(provider):
    accounts_settings()
    for amount in ("20.00", "0.10"):
        agency_pays(a_claimed_claim(amount, provider=provider))
    agency_pays(a_claimed_claim("110.00", TaxChoice.GST_ON_INCOME.value, send_payment_to=FEE))
    run = a_released_run()
    export = made()
    assert journals_of(export) == {
        "Received from the agency": {"610": "130.10", "805": "-130.10"},
        "Own fee": {"805": "110.00", "200": "-110.00"},
        "Paid to payees, payment run 1": {"805": "20.10", "610": "-20.10"},
    }
    assert (export.received, export.paid_out) == (Decimal("130.10"), run.total)
    assert (export.own_fee, export.gst) == (Decimal("110.00"), Decimal("10.00"))
    assert list(find_payment_faults()) == []
    with pytest.raises(Refusal, match="There is nothing new until"):
        made()


def test_gst_of_the_own_fee_is_a_line_of_its_own_where_it_has_an_account():
    accounts_settings(gst_code="820")
    fee = agency_pays(a_claimed_claim("110.05", TaxChoice.GST_ON_INCOME.value, send_payment_to=FEE))
    agency_pays(a_claimed_claim("50.00", TaxChoice.GST_FREE_INCOME.value, send_payment_to=FEE))
    assert journals_of(made())["Own fee"] == {"805": "160.05", "200": "-150.05", "820": "-10.00"}
    agency_takes_back(fee, "11.00")
    assert made().gst == Decimal("-1.00")


def test_gst_is_rounded_line_by_line_as_the_journals_book_it():
    accounts_settings(gst_code="820")
    line = {"quantity": "1", "price": "0.05", "tax_choice": TaxChoice.GST_ON_INCOME.value}
    lines = [{"entry": an_entry(), **line} for _ in range(2)]
    agency_pays(a_claim(lines, funding_status="AgencyClaimed", send_payment_to=FEE))
    export = made()
    assert export.gst == AccountsEntry.objects.get().gst == 0
    assert journals_of(export)["Own fee"] == {"805": "0.10", "200": "-0.10"}


def test_a_credit_takes_its_gst_off_though_the_rest_has_none():
    accounts_settings(gst_code="820")
    credit = {"price": "11.00", "tax_choice": TaxChoice.GST_ON_INCOME.value, "is_credit_item": True}
    lines = [{"entry": an_entry(), "quantity": "1", **line} for line in ({"price": "50.00"}, credit)]
    invoice = agency_pays(an_invoice(lines, funding_status="AgencyClaimed"))
    export = made()
    assert journals_of(export)["Own fee"] == {"805": "39.00", "200": "-40.00", "820": "1.00"}
    assert export.gst == Decimal("-1.00")
    agency_takes_back(invoice, "39.00")
    assert made().gst == Decimal("1.00")


def test_what_happens_after_midnight_is_of_the_new_day_of_the_organisation(provider, at):
    accounts_settings()
    at("2026-10-01 00:30")
    agency_pays(a_claimed_claim("20.00", provider=provider))
    mark_returned(a_released_run().items.get().pk, "account closed", None)
    with pytest.raises(Refusal, match="There is nothing new until"):
        create_accounts_export(last_day_of_month_before(clock.today()))
    made()
    assert set(AccountsEntry.objects.values_list("day", flat=True)) == {clock.today()}


def test_what_happens_later_to_an_amount_stands_in_the_next_export(provider):
    accounts_settings()
    claim = agency_pays(a_claimed_claim("20.00", provider=provider), "15.00")
    fee = agency_pays(a_claimed_claim("9.00", send_payment_to=FEE))
    run = a_released_run()
    before = made()
    first = contents(before)
    agency_takes_back(claim, "5.00")
    agency_takes_back(fee, "2.00")
    mark_returned(run.items.get().pk, "account closed", None)
    assert journals_of(made()) == {
        "Taken back by the agency": {"610": "-7.00", "805": "7.00"},
        "Own fee": {"805": "-2.00", "200": "2.00"},
        "Came back of payment run 1": {"610": "15.00", "805": "-15.00"},
    }
    assert contents(before) == first
    assert list(find_payment_faults()) == []


def test_invoices_to_the_agency_are_own_fee_and_those_to_clients_are_not_booked():
    accounts_settings()
    for kind, status in (("InvoiceToAgency", "AgencyClaimed"), ("InvoiceToClient", "Sent")):
        invoice = an_invoice(
            [{"entry": an_entry(), "quantity": "1", "price": "30.00"}],
            invoice_claim_type=kind,
            funding_status=status,
        )
        agency_pays(invoice)
    export = made()
    assert (export.received, export.own_fee) == (Decimal("30.00"), Decimal("30.00"))


def test_the_most_specific_account_code_counts():
    accounts_settings()
    centre = a_cost_centre()
    fourteen = a_product(category_number=14)
    AccountCode(code="214", category=14).save()
    AccountCode(code="215", category=14, tax_choice="GstOnIncome").save()
    AccountCode(code="299", tax_choice="GstOnIncome").save()
    AccountCode(code="300", cost_centre=centre).save()
    AccountCode(code="900", used_for="ProviderBill", category=14).save()
    AccountCode(code="999", category=14, archive_date=clock.now(), tax_choice="BasExcluded").save()
    for amount, tax in (("1.00", None), ("2.00", "GstOnIncome"), ("4.00", "BasExcluded")):
        agency_pays(a_claimed_claim(amount, tax, send_payment_to=FEE, product=fourteen))
    agency_pays(a_claimed_claim("8.00", "GstOnIncome", send_payment_to=FEE))
    line = {"entry": an_entry(product=fourteen), "quantity": "1", "price": "16.00", "cost_centre": centre}
    agency_pays(an_invoice([line], funding_status="AgencyClaimed"))
    agency_pays(a_claimed_claim("32.00", send_payment_to=FEE))
    assert journals_of(made())["Own fee"] == {
        **{"805": "63.00", "200": "-32.00", "214": "-5.00", "215": "-2.00", "299": "-8.00", "300": "-16.00"}
    }


def test_what_is_missing_is_named_before_anything_is_made():
    with pytest.raises(Refusal, match="the package, the first day, the account of money in transit"):
        made()
    accounts_settings()
    AccountCode.objects.all().delete()
    centre = a_cost_centre(name="North")
    line = {"entry": an_entry(product=a_product(category_number=14)), "cost_centre": centre}
    agency_pays(an_invoice([line], funding_status="AgencyClaimed"))
    agency_pays(a_claimed_claim("8.00", "GstOnIncome", send_payment_to=FEE, product=a_product(code="X")))
    plan = plan_accounts_export(clock.today())
    assert plan.missing_codes == [
        "own fee, GST on income",
        "own fee, cost centre North, category 14, without a tax",
    ]
    with pytest.raises(Refusal, match="No account code fits: own fee, GST on income; own fee, cost"):
        made()
    AccountCode(code="610").save()
    with pytest.raises(Refusal, match="an account of money in transit that is used for nothing else"):
        made()
    assert not AccountsExport.objects.exists()


def test_who_may_not_make_exports_and_who_confirmed_another_plan_is_refused(provider):
    accounts_settings()
    agency_pays(a_claimed_claim(provider=provider))
    mark = plan_accounts_export(clock.today()).mark
    with pytest.raises(Refusal, match="lacks the permission"):
        create_accounts_export(clock.today(), somebody())
    agency_pays(a_claimed_claim(provider=provider))
    with pytest.raises(Refusal, match="Something has changed"):
        create_accounts_export(clock.today(), somebody("add_accountsexport"), mark)
    with pytest.raises(Refusal, match="not in the future"):
        create_accounts_export(clock.today() + dt.timedelta(days=1))


def test_an_export_has_the_days_from_the_first_until_its_last(provider):
    accounts_settings(first_day=dt.date(2026, 2, 28))
    for month, amount in ((1, "1.00"), (2, "2.00"), (3, "4.00")):
        with clock.set_to(dt.datetime(2026, month, 28, 3, tzinfo=dt.UTC)):
            agency_pays(a_claimed_claim(amount, provider=provider))
            a_released_run()
    february = create_accounts_export(last_day_of_month_before(dt.date(2026, 3, 15)))
    assert (february.received, february.paid_out) == (Decimal("2.00"), Decimal("2.00"))
    march = create_accounts_export(dt.date(2026, 3, 31))
    assert (march.received, march.paid_out) == (Decimal("4.00"), Decimal("4.00"))
    assert set(AccountsEntry.objects.values_list("day", flat=True)) == {
        dt.date(2026, 2, 28),
        dt.date(2026, 3, 28),
    }


# --- bills ----------------------------------------------------------------------------------------------


def test_with_bills_each_paid_claim_is_a_bill_and_a_return_one_below_zero(provider):
    accounts_settings("XeroBills")
    claim = a_claimed_claim("20.00", provider=provider, provider_invoice_reference="INV 7")
    agency_pays(claim)
    run = a_released_run()
    export = made()
    part = PaymentRunClaim.objects.get()
    day = f"{clock.today():%d/%m/%Y}"
    (bills,) = contents(export, is_bills=True)
    assert check_xero_bills(bills) == {f"INV 7 RUN1-{part.pk}": ("Harbour Lights", day, Decimal("20.00"))}
    assert list(journals_of(export)) == ["Received from the agency"]
    mark_returned(run.items.get().pk, "account closed", None)
    (bills,) = contents(made(), is_bills=True)
    assert check_xero_bills(bills) == {
        f"INV 7 RUN1-{part.pk}-BACK": ("Harbour Lights", day, Decimal("-20.00"))
    }
    assert list(find_payment_faults()) == []


def test_a_bill_is_divided_by_account_and_tax_to_the_cent(provider):
    accounts_settings("XeroBills", tax_on_expenses="GST on Expenses")
    AccountCode(code="430", used_for="ProviderBill", tax_choice="GstOnIncome").save()
    AccountCode(code="431", used_for="ProviderBill", tax_choice="GstFreeIncome").save()
    lines = [
        {"entry": an_entry(), "quantity": "1", "price": "10.00", "tax_choice": tax}
        for tax in ("GstOnIncome", None, "GstFreeIncome")
    ]
    claim = a_claim(lines, provider=provider, funding_status="AgencyClaimed")
    agency_pays(claim)
    a_released_run()
    PaymentRunClaim.objects.update(amount="10.00")
    plan = plan_accounts_export(clock.today())
    (bill,) = plan.bills
    assert [(each.account, each.tax, str(each.amount)) for each in bill.lines] == [
        ("430", "GST on Expenses", "3.33"),
        ("805", "BAS Excluded", "3.33"),
        ("431", "BAS Excluded", "3.34"),
    ]


def test_an_erasure_takes_names_and_references_out_of_bills(provider):
    accounts_settings("XeroBills")
    first, other = (
        agency_pays(a_claimed_claim("5.00", provider=provider, provider_invoice_reference=f"INV {each}"))
        for each in (1, 2)
    )
    a_released_run()
    export = made()
    part, kept = PaymentRunClaim.objects.get(claim=first), PaymentRunClaim.objects.get(claim=other)
    erase_bills([], [part.pk])
    day = f"{clock.today():%d/%m/%Y}"
    expected = {
        f"ERASED RUN1-{part.pk}": ("Harbour Lights", day, Decimal("5.00")),
        f"INV 2 RUN1-{kept.pk}": ("Harbour Lights", day, Decimal("5.00")),
    }
    assert check_xero_bills(contents(export, is_bills=True)[0]) == expected
    assert export.files.get(is_bills=True).erased_at is not None
    assert list(find_payment_faults()) == []
    erase_bills([kept.pk], [])
    assert b"Harbour" in contents(export, is_bills=True)[0]
    assert b"INV" not in contents(export, is_bills=True)[0].partition(b"\r\n")[2]


# --- MYOB -----------------------------------------------------------------------------------------------


def test_myob_gets_the_same_journals_with_its_accounts_and_codes(provider):
    accounts_settings("MyobJournal")
    agency_pays(a_claimed_claim(provider=provider))
    agency_pays(a_claimed_claim("11.00", "GstOnIncome", send_payment_to=FEE))
    a_released_run()
    export = made()
    (content,) = contents(export)
    assert {memo: dict(sums) for (_, memo), sums in check_myob_journal(content).items()} == {
        "Received from the agency, accounts export 1": {"1-1110": Decimal(31), "2-1500": Decimal(-31)},
        "Own fee, accounts export 1": {"2-1500": Decimal(11), "4-1000": Decimal(-11)},
        "Paid to payees, payment run 1, accounts export 1": {"2-1500": Decimal(20), "1-1110": Decimal(-20)},
    }
    assert b"\t11.00\tGST\t" in content
    assert list(find_payment_faults()) == []
    PaymentSettings.objects.update(clearing_code="805")
    agency_pays(a_claimed_claim(provider=provider))
    with pytest.raises(Refusal, match="MYOB has no account 805"):
        made()


# --- what verify finds ----------------------------------------------------------------------------------


def test_each_fault_of_an_export_is_found(provider):
    accounts_settings()
    agency_pays(a_claimed_claim("20.00", provider=provider))
    a_released_run()
    export = made()
    file = export.files.get()

    def faults_after(records, **values):
        """The faults after a change of records, which is put back."""
        before = {row.pk: {name: getattr(row, name) for name in values} for row in records}
        records.model.objects.filter(pk__in=before).update(**values)
        found = list(find_payment_faults())
        for key, columns in before.items():
            records.model.objects.filter(pk=key).update(**columns)
        return found

    files, exports = AccountsFile.objects.all(), AccountsExport.objects.all()
    changed = bytes(file.content).replace(b"20.00", b"30.00", 1)
    assert faults_after(files, content=changed) == [
        "Accounts export 1, accounts-1-journals-1.csv: it was changed: its SHA-256 differs"
    ]
    assert faults_after(files, total=Decimal("41.00")) == [
        "Accounts export 1, accounts-1-journals-1.csv: 41.00, its lines come to 40.00"
    ]
    assert faults_after(exports, received=Decimal("21.00")) == [
        "Accounts export 1: received is 21.00, its entries come to 20.00",
        "Accounts export 1: 1.00 into the bank, its journals come to 0.00",
    ]
    assert faults_after(exports, own_fee=Decimal("1.00")) == [
        "Accounts export 1: own_fee is 1.00, its entries come to 0.00"
    ]
    received, paid = (AccountsEntry.objects.filter(kind=kind) for kind in ("Received", "Paid"))
    assert faults_after(received, amount=Decimal("19.00")) == [
        "Accounts export 1: received is 20.00, its entries come to 19.00",
        "Accounts export 1: Received from the agency: 19.00, the bill's history has 20.00",
    ]
    assert faults_after(paid, amount=Decimal("19.00")) == [
        "Accounts export 1: paid_out is 20.00, its entries come to 19.00",
        "payment run 1: its files for the bank come to 20.00, 19.00 were exported",
        "Accounts export 1: Paid to payees: 19.00, the payment of its run is 20.00",
    ]
    assert "Accounts export 1: Payments that came back: 20.00, the payment did not come back" in faults_after(
        paid, kind="Returned"
    )
