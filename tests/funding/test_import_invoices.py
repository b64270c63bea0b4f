"""Importing invoices and provider invoices, and what was exported going in again, here and elsewhere."""

import datetime as dt
import io
import json
from decimal import Decimal

import pytest
from django.core.management import call_command

from apps.core.models import Change
from apps.funding.models import (
    AcknowledgedWarning,
    Claim,
    ClaimLine,
    Invoice,
    InvoiceLine,
    ProviderInvoice,
    StatusMove,
)
from apps.people.models import Client, Contact
from tests.engagements.builders import a_booking, a_plan
from tests.funding.bodies import a_full_provider_invoice
from tests.funding.import_claims import GOOD, a_file, an_office
from tests.people.builders import a_client
from tests.people.import_files import imported, rows_of

pytestmark = pytest.mark.django_db

ITEM = "01_011_0107_1_1"
HEADER = (
    "Invoice No,NDIS Number,Staff,Invoice to,Start date,End date,Recurring,Item,Price book,Qty,Unit price,"
    "Credit,Cost centre"
)
BILL = "430000001,fay@example.org,invoice to agency,01/07/2025,31/07/2025,no"
GOOD_INVOICES = (
    f"I-1,{BILL},{ITEM},Guide,2,,no,North",
    f"I-1,{BILL},{ITEM},Guide,1,10.00,yes,",
    f"I-2,{BILL},{ITEM},Guide,1,,,",
)


@pytest.fixture(scope="module", autouse=True)
def office(module_transaction):
    an_office()


def exported(resource, path):
    out = io.StringIO()
    call_command("export_records", resource, str(path), stdout=out, skip_checks=True)
    return out.getvalue()


# --- invoices -------------------------------------------------------------------------------------------


def test_an_invoice_of_a_list_without_that_column_is_not_recurring(tmp_path):
    def without(row):
        cells = row.split(",")
        return ",".join(cells[:6] + cells[7:]).replace("invoice to agency", "NDIA")

    path = a_file(tmp_path, *map(without, GOOD_INVOICES), header=without(HEADER))
    assert imported("invoice", path, "--ignore-warnings").status == 0
    assert set(Invoice.objects.values_list("invoice_claim_type", "is_recurring")) == {
        ("InvoiceToAgency", False)
    }
    Invoice.objects.update(
        is_recurring=True, recurring_frequency="Weekly", recurring_start_date=dt.date(2025, 7, 1)
    )
    assert "0 changed, 2 unchanged" in imported("invoice", path, "--ignore-warnings").out
    a_file(tmp_path, without(GOOD_INVOICES[2]).replace("Guide,1", "Guide,3"), header=without(HEADER))
    imported("invoice", path, "--ignore-warnings")
    assert Invoice.objects.get(invoice_number="I-2").is_recurring


def test_rows_that_share_a_number_are_one_invoice(tmp_path):
    path = a_file(tmp_path, *GOOD_INVOICES, header=HEADER)
    result = imported("invoice", path, "--ignore-warnings")

    assert result.status == 0
    assert "2 records in 3 rows: 2 new" in result.out
    first = Invoice.objects.get(invoice_number="I-1")
    assert (first.total, first.invoice_claim_type) == (Decimal("130.00"), "InvoiceToAgency")
    lines = first.line_items.order_by("position")
    assert [(line.is_credit_item, line.cost_centre and line.cost_centre.name) for line in lines] == [
        (False, "North"),
        (True, None),
    ]
    assert imported("invoice", path).out.startswith("2 records in 3 rows: 0 new, 0 changed, 2 unchanged")


def test_warnings_of_one_record_keep_out_no_other(tmp_path, at):
    at("2025-08-20 10:00")
    plan = a_plan(
        participant=Contact.objects.get(),
        plan_start_date=dt.date(2025, 7, 1),
        plan_end_date=dt.date(2026, 6, 30),
    )
    a_booking(plan, budget=Decimal("900.00"))
    over_cap = GOOD_INVOICES[0].replace(",2,,", ",2,99,")
    result = imported("invoice", a_file(tmp_path, over_cap, *GOOD_INVOICES[1:], header=HEADER))
    assert "2 records in 3 rows: 1 new" in result.out, result.lines
    assert "Only warnings keep 1 of them out" in result.out
    assert list(Invoice.objects.values_list("invoice_number", flat=True)) == ["I-2"]


def test_invoices_without_numbers_are_distinguished_by_a_reference_of_the_file(tmp_path):
    rows = [row.replace("I-", "") for row in GOOD_INVOICES]
    path = a_file(tmp_path, *rows, header=HEADER.replace("Invoice No", "Import reference"))
    assert "2 records in 3 rows: 2 new" in imported("invoice", path, "--ignore-warnings").out
    assert imported("invoice", path).out.startswith("2 records in 3 rows: 0 new, 0 changed, 2 unchanged")


def test_a_reference_of_which_a_spreadsheet_kept_the_first_digits_is_rejected(tmp_path):
    rows = (
        "1.23E+11,51824753556,430000001,13/07/2025,10,no",
        "1.23456789012E+11,51824753556,430000001,,10,no",
    )
    result = imported("providerInvoice", a_file(tmp_path, *rows, header=PROVIDER_INVOICES))

    assert (
        "row 2, A2 (Invoice No): DigitsLost: ProviderInvoiceReference is a number of which" in result.lines[0]
    )
    assert "row 3, A3 (Invoice No): warning NumberRestored: It is taken as 123456789012." in result.lines[1]
    assert list(
        ProviderInvoice.objects.filter(reference__startswith="1").values_list("reference", flat=True)
    ) == ["123456789012"]


def test_a_cost_centre_that_nobody_knows_is_named_by_row_and_column(tmp_path):
    rows = [GOOD_INVOICES[0], GOOD_INVOICES[1] + "Nowhere"]
    result = imported("invoice", a_file(tmp_path, *rows, header=HEADER), "--ignore-warnings", "--day-first")
    assert result.lines[0].startswith("row 3, M3 (Cost centre): NotFound: There is no cost centre called")
    assert not Invoice.objects.exists()


# --- provider invoices ----------------------------------------------------------------------------------

PROVIDER_INVOICES = "Invoice No,Provider ABN,NDIS Number,Service start,Total,Reusable"


def test_provider_invoices_are_known_by_their_reference_with_their_provider(tmp_path):
    other = a_client(BusinessName="Low Road Pty", BusinessNumber="53 004 085 616")
    rows = (
        "P-1,51824753556,430000001,13/07/2025,$1,234.50,no".replace("$1,234.50", '"$1,234.50"'),
        "P-1,53004085616,430000001,13/07/2025,10,yes",
        "inv-1,51824753556,430000001,,,",
    )
    result = imported("providerInvoice", a_file(tmp_path, *rows, header=PROVIDER_INVOICES))

    assert result.out.startswith("3 rows: 2 new, 1 changed, 0 unchanged, 0 rejected.")
    assert ProviderInvoice.objects.get(reference="P-1", provider=other).is_reusable
    assert ProviderInvoice.objects.get(invoice_total=Decimal("1234.50")).service_start_date == dt.date(
        2025, 7, 13
    )
    again = imported("providerInvoice", a_file(tmp_path, *rows, header=PROVIDER_INVOICES))
    assert again.out.startswith("3 rows: 0 new, 0 changed, 3 unchanged")


@pytest.mark.parametrize("period", ["Start date,End date", "From,To", "Period start,Period end"])
def test_a_list_of_provider_invoices_may_have_the_headers_of_a_list_of_claims(tmp_path, period):
    header = f"Invoice No,Provider ABN,NDIS Number,Staff email,{period},Total"
    row = "P-1,51824753556,430000001,fay@example.org,01/07/2025,13/07/2025,70"
    assert imported("providerInvoice", a_file(tmp_path, row, header=header)).status == 0
    provider_invoice = ProviderInvoice.objects.get(reference="P-1")
    assert (provider_invoice.service_start_date, provider_invoice.service_end_date) == (
        dt.date(2025, 7, 1),
        dt.date(2025, 7, 13),
    )
    assert provider_invoice.created_by.primary_email == "fay@example.org"


def test_provider_invoices_without_a_reference_are_the_ones_that_equal_them(tmp_path):
    path = a_file(tmp_path, ",51824753556,,,77.00,", header=PROVIDER_INVOICES)
    assert imported("providerInvoice", path).out.startswith("1 row: 1 new")
    assert imported("providerInvoice", path).out.startswith("1 row: 0 new, 0 changed, 1 unchanged")


def test_one_reference_of_a_provider_is_in_a_file_once(tmp_path):
    rows = ["P-1,51824753556,,,1,", "p-1 ,51 824 753 556,,,2,"]
    result = imported("providerInvoice", a_file(tmp_path, *rows, header=PROVIDER_INVOICES))
    assert result.lines[0].startswith("row 3, A3 (Invoice No): NotUnique: Row 2 of the file has it already.")
    assert ProviderInvoice.objects.get(reference="P-1").invoice_total == 1


# --- what was exported ----------------------------------------------------------------------------------


def import_all(folder):
    imported("claim", a_file(folder, *GOOD), "--ignore-warnings")
    imported("invoice", a_file(folder, *GOOD_INVOICES, header=HEADER), "--ignore-warnings")
    a_full_provider_invoice(
        reference=None, contact=None, provider=Client.objects.get(business_name="Harbour Care")
    )
    assert (Claim.objects.count(), Invoice.objects.count()) == (2, 2)


@pytest.mark.parametrize("ending", ["csv", "xlsx", "json", "ndjson"])
@pytest.mark.parametrize("by_name", [(), ("--by-name",)], ids=["by guid", "by name"])
def test_what_was_exported_changes_nothing_when_it_comes_in_again(tmp_path, ending, by_name):
    import_all(tmp_path)
    ClaimLine.objects.filter(quantity=3).update(notes="\ttabbed, = and\n more ")
    history = Change.objects.count()
    for resource, number, rows in (("claim", 2, 3), ("invoice", 2, 3), ("providerInvoice", 10, 10)):
        path = tmp_path / f"{resource}.{ending}"
        assert exported(resource, path).startswith(f"{number} records")

        result = imported(resource, path, *by_name)

        text = f"{rows} rows" if resource == "providerInvoice" else f"{number} records in {rows} rows"
        assert result.out.startswith(f"{text}: 0 new, 0 changed, {number} unchanged, 0 rejected."), result.err
    assert Change.objects.count() == history


@pytest.mark.parametrize("ending", ["csv", "xlsx", "json", "ndjson"])
def test_an_export_goes_into_a_database_that_has_other_guids(tmp_path, ending):
    import_all(tmp_path)
    columns = ("claim_number", "start_date", "end_date", "total", "provider_invoice_reference")
    claims = list(Claim.objects.order_by("claim_number").values_list(*columns))
    invoices = list(Invoice.objects.order_by("invoice_number").values_list("invoice_number", "total"))
    provider_invoices = ProviderInvoice.objects.count()
    resources = ("providerInvoice", "claim", "invoice")
    for resource in resources:
        exported(resource, tmp_path / f"{resource}.{ending}")
    for model in (AcknowledgedWarning, StatusMove, ClaimLine, InvoiceLine, Claim, Invoice, ProviderInvoice):
        model.objects.all().delete()

    for resource in resources:
        result = imported(resource, tmp_path / f"{resource}.{ending}", "--by-name", "--ignore-warnings")
        assert result.status == 0, result.err

    assert list(Claim.objects.order_by("claim_number").values_list(*columns)) == claims
    assert list(Invoice.objects.order_by("invoice_number").values_list("invoice_number", "total")) == invoices
    assert ProviderInvoice.objects.count() == provider_invoices
    assert [line.quantity for line in ClaimLine.objects.filter(claim__claim_number="C-1")] == [
        2,
        Decimal("1.5"),
    ]


def test_guids_of_another_database_are_reported_with_what_helps(tmp_path):
    import_all(tmp_path)
    path = tmp_path / "claim.csv"
    exported("claim", path)
    for model in (AcknowledgedWarning, StatusMove, ClaimLine, Claim):
        model.objects.all().delete()
    result = imported("claim", path, "--ignore-warnings")
    assert result.status == 1
    assert "leave it empty for a new one; --by-name reads a file of another database" in result.err
    assert not Claim.objects.exists()


def test_contacts_go_into_another_database_by_name_as_well(tmp_path):
    path = tmp_path / "contact.csv"
    exported("contact", path)
    text = path.read_text(encoding="utf-8-sig").replace("430000001", "430000007")
    path.write_text(text, encoding="utf-8")
    assert imported("contact", path, "--by-name").out.startswith("1 row: 1 new")


def test_an_export_is_a_row_for_each_line_with_what_names_its_records(tmp_path):
    import_all(tmp_path)
    path = tmp_path / "claim.csv"
    exported("claim", path)
    header, *rows = rows_of(path)
    wanted = ("ClaimNumber", "ContactSchemeNumber", "ProviderBusinessName", "LineItems/Product/Code", "Total")
    assert sorted([row[header.index(name)] for name in wanted] for row in rows) == [
        ["C-1", "430000001", "Harbour Care", "01_011_0107_1_1", "238.25"],
        ["C-1", "430000001", "Harbour Care", "01_799_0107_1_1", "238.25"],
        ["C-2", "430000001", "Harbour Care", "01_011_0107_1_1", "210.00"],
    ]


def test_columns_choose_what_is_shown_of_lines(tmp_path):
    import_all(tmp_path)
    path = tmp_path / "claim.csv"
    names = "ClaimNumber,ContactSchemeNumber,LineItems/Quantity,LineItems/Product/Code"
    call_command("export_records", "claim", str(path), columns=names, stdout=io.StringIO(), skip_checks=True)
    header, *rows = rows_of(path)
    assert header == names.split(",")
    assert ["C-1", "430000001", "1.5000", "01_799_0107_1_1"] in rows


def test_json_exports_hold_lines_as_the_interface_shows_them(tmp_path):
    import_all(tmp_path)
    path = tmp_path / "claim.json"
    exported("claim", path)
    records = {record["ClaimNumber"]: record for record in json.loads(path.read_text())["value"]}
    assert [line["Product"]["Code"] for line in records["C-1"]["LineItems"]] == [ITEM, "01_799_0107_1_1"]
