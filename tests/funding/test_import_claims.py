"""Importing claims whose lines are rows: what goes in, what stays out with all its rows, what is reported."""

import datetime as dt
import json
from decimal import Decimal

import openpyxl
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.bulk_insert import FEW
from apps.core.models import Change
from apps.funding.models import AcknowledgedWarning, Claim, ClaimLine, Product, ProviderInvoice
from apps.funding.services import create
from apps.funding.services.create import assign_numbers
from apps.people.models import Contact
from tests.funding.bodies import a_full_provider_invoice
from tests.funding.builders import a_claim
from tests.funding.import_claims import FIRST, GOOD, HEADER, SECOND, a_file, an_office
from tests.people.builders import a_client, a_contact
from tests.people.import_files import imported, rows_of

pytestmark = pytest.mark.django_db

ITEM = "01_011_0107_1_1"


@pytest.fixture(autouse=True)
def office(at):
    at("2025-08-20 10:00")
    an_office()


def import_claims(folder, *rows, words=("--ignore-warnings",), **options):
    return imported("claim", a_file(folder, *rows, **options), *words)


def faults(result):
    return [line for line in result.lines if line.startswith("row") and ": warning " not in line]


def reasons(folder, name="claims.errors.csv"):
    header, *rows = rows_of(folder / name)
    assert header[-1] == "Reason"
    return [row[-1] for row in rows]


# --- what goes in ---------------------------------------------------------------------------------------


def test_rows_that_share_a_number_are_one_claim(tmp_path):
    result = import_claims(tmp_path, *GOOD)

    assert result.status == 0
    assert result.out.startswith(
        "2 records in 3 rows: 2 new, 0 changed, 0 unchanged, 0 rejected; 2 records with"
    )
    first, second = Claim.objects.order_by("claim_number")
    assert (first.claim_number, first.total) == ("C-1", Decimal("238.25"))
    assert (first.start_date, first.end_date) == (dt.date(2025, 7, 7), dt.date(2025, 7, 13))
    assert first.provider_invoice.reference == "INV-1"
    assert (first.contact.scheme_number, first.provider.business_name) == ("430000001", "Harbour Care")
    lines = first.line_items.order_by("position")
    assert [(line.product.code, line.quantity, line.price, line.from_date) for line in lines] == [
        (ITEM, Decimal(2), Decimal(70), dt.date(2025, 7, 7)),
        ("01_799_0107_1_1", Decimal("1.5"), Decimal("65.5"), dt.date(2025, 7, 8)),
    ]
    assert lines[0].notes == f"What {ITEM} is."
    assert second.line_items.count() == 1
    assert not (tmp_path / "claims.errors.csv").exists()


def test_what_the_claim_says_may_be_given_in_its_first_row_only(tmp_path):
    lines_only = f"{',' * 7}01_799_0107_1_1,Guide,1.5,65.50,08/07/2025"
    assert import_claims(tmp_path, GOOD[0], lines_only, GOOD[2]).status == 0
    assert [claim.line_items.count() for claim in Claim.objects.order_by("claim_number")] == [2, 1]


def test_the_rows_of_a_claim_may_spell_the_same_in_other_ways(tmp_path):
    other = GOOD[1].replace("C-1", "c-1").replace("51 824 753 556", "51824753556").replace("fay@", "FAY@")
    other = other.replace("07/07/2025,13/07/2025", "2025-07-07,13 Jul 2025").replace("INV-1", "inv-1")
    assert import_claims(tmp_path, GOOD[0], other.replace("430000001", "43 000 0001")).status == 0
    assert Claim.objects.get().line_items.count() == 2

    without = [row.replace("C-1", "").replace("c-1", "") for row in (GOOD[0], other)]
    assert import_claims(tmp_path, *without).out.startswith(
        "1 record in 2 rows: 0 new, 0 changed, 1 unchanged"
    )


def test_a_claim_without_a_number_is_known_by_its_providers_invoice_and_gets_one(tmp_path):
    rows = [row.replace("C-1", "").replace("C-2", "") for row in GOOD]
    assert import_claims(tmp_path, *rows).out.startswith("2 records in 3 rows: 2 new")
    assert Claim.objects.exclude(claim_number="").count() == 2

    assert import_claims(tmp_path, *rows).out.startswith("2 records in 3 rows: 0 new, 0 changed, 2 unchanged")


def test_notes_that_the_product_gave_stay_where_the_file_has_none(tmp_path):
    rows, header = [f"{row}," for row in GOOD], f"{HEADER},Notes"
    import_claims(tmp_path, *rows, header=header)
    assert ClaimLine.objects.filter(notes=f"What {ITEM} is.").count() == 2
    again = import_claims(tmp_path, *rows, header=header)
    assert again.out.startswith("2 records in 3 rows: 0 new, 0 changed, 2 unchanged")


def test_providers_are_found_by_code_and_name_as_well(tmp_path):
    header = HEADER.replace("Provider ABN", "Provider code,Provider")
    rows = [row.replace("51 824 753 556", "hc,").replace("51824753556", ",harbour care") for row in GOOD]
    assert import_claims(tmp_path, *rows, header=header).status == 0
    assert {claim.provider.business_name for claim in Claim.objects.all()} == {"Harbour Care"}


def test_participants_are_found_by_code_and_numbers_that_a_spreadsheet_changed_are_restored(tmp_path):
    contact = Contact.objects.get()
    contact.unique_code = "P-1"
    contact.save()
    header = HEADER.replace("NDIS Number", "Participant code")
    row = GOOD[0].replace("430000001", "p-1").replace("C-1", "1.2025123E+07")
    result = import_claims(tmp_path, row, header=header)
    assert result.status == 0, result.lines
    claim = Claim.objects.get()
    assert (claim.claim_number, claim.contact) == ("12025123", contact)


@pytest.mark.parametrize(
    ("written", "quantity"),
    [("1:30", "1.5"), ("001:20", "1.3333"), ("1:30:00", "1.5"), ("1.5 hrs", "1.5"), ("2h", "2"), ("'2", "2")],
)
def test_a_quantity_may_be_hours_and_minutes(tmp_path, written, quantity):
    row = f"{FIRST},{ITEM},Guide,{written},,07/07/2025"
    assert import_claims(tmp_path, row).status == 0
    assert Claim.objects.get().line_items.get().quantity == Decimal(quantity)
    assert import_claims(tmp_path, row).out.startswith("1 record in 1 row: 0 new, 0 changed, 1 unchanged")


def test_a_time_of_a_workbook_is_a_quantity(tmp_path):
    book = openpyxl.Workbook()
    for number, row in enumerate((HEADER, *GOOD), start=1):
        book.active.append(row.split(","))
        if number > 1:
            book.active.cell(number, 10, dt.timedelta(hours=26, minutes=30)).number_format = "[h]:mm"
    book.active.cell(2, 10, dt.time(1, 30)).number_format = "h:mm"
    book.save(tmp_path / "claims.xlsx")
    assert imported("claim", tmp_path / "claims.xlsx", "--ignore-warnings").status == 0
    lines = ClaimLine.objects.order_by("claim__claim_number", "position")
    assert [line.quantity for line in lines] == [Decimal("1.5"), Decimal("26.5"), Decimal("26.5")]


def test_choices_are_read_in_the_words_of_others(tmp_path):
    header = f"{HEADER},GST,Claim type,Cancellation reason"
    rows = [
        f"{GOOD[0]},P1,CANC,NSDH",
        f"{GOOD[1]},GST Free,Non-Face-to-Face,",
        f"{GOOD[2]},BAS excluded,REPW,",
    ]

    assert import_claims(tmp_path, *rows, header=header).status == 0

    lines = ClaimLine.objects.order_by("claim__claim_number", "position")
    assert [*lines.values_list("tax_choice", "claim_type", "cancellation_reason")] == [
        ("GstOnIncome", "Cancellation", "HealthReason"),
        ("GstFreeIncome", "NonFaceToFaceServices", None),
        ("BasExcluded", "AgencyRequiredReport", None),
    ]


def test_a_workbook_is_read_as_a_table_of_lines(tmp_path):
    book = openpyxl.Workbook()
    for row in (HEADER, *GOOD):
        book.active.append(row.split(","))
    for number, price in ((2, 70.0), (3, 65.5)):
        book.active.cell(number, 11, price)
        book.active.cell(number, 12, dt.date(2025, 7, 7))
    book.save(tmp_path / "claims.xlsx")
    assert imported("claim", tmp_path / "claims.xlsx", "--ignore-warnings").out.startswith(
        "2 records in 3 rows"
    )
    assert Claim.objects.get(claim_number="C-1").total == Decimal("238.25")


def nested(number="C-1", **line):
    return {
        "ClaimNumber": number,
        "ProviderInvoiceReference": f"INV-{number[-1]}",
        "ProviderBusinessName": "Harbour Care",
        "StaffPrimaryEmail": "fay@example.org",
        "StartDate": "2025-07-07",
        "EndDate": "2025-07-13",
        "LineItems": [
            {"Quantity": 2, "Product": {"Code": ITEM}, "PriceBook": {"Name": "Guide"}},
            {"Quantity": 1.5, "Product": {"Code": ITEM}, "PriceBook": {"Name": "Guide"}, **line},
        ],
    }


@pytest.mark.parametrize("ending", ["json", "ndjson"])
def test_json_gives_the_lines_as_the_list_they_are(tmp_path, ending):
    path = tmp_path / f"claims.{ending}"
    records = [nested(), nested("C-2"), nested("C-3", Quantity="some")]
    path.write_text(json.dumps(records) if ending == "json" else "\n".join(map(json.dumps, records)))

    result = imported("claim", path, "--ignore-warnings")

    assert result.out.startswith("3 records in 6 rows: 2 new, 0 changed, 0 unchanged, 1 rejected")
    word = "record" if ending == "json" else "line"
    place = (
        f"{word} 3, LineItems[1]/Quantity: InvalidNumber: LineItems/Quantity must be a number. It is “some”."
    )
    assert place in result.lines
    back = tmp_path / f"claims.errors.{ending}"
    text = back.read_text()
    (record,) = json.loads(text)["value"] if ending == "json" else [json.loads(text)]
    assert [line["Quantity"] for line in record["LineItems"]] == ["2", "some"]
    assert record["LineItems"][1]["Reason"].startswith("LineItems[1]/Quantity: InvalidNumber")
    assert record["Reason"] == "SameRecord: item 1 of its list keeps its record out, which goes in whole."

    mended = tmp_path / f"mended.{ending}"
    mended.write_text(text.replace("some", "3"))
    assert imported("claim", mended, "--ignore-warnings").out.startswith("1 record in 2 rows: 1 new")
    assert Claim.objects.get(claim_number="C-3").total == Decimal("350.00")


# --- what stays out -------------------------------------------------------------------------------------

FAULTY = {
    "a number that is none": (
        f"{FIRST},{ITEM},Guide,two,,07/07/2025",
        "row 3, J3 (Qty): InvalidNumber: LineItems/Quantity must be a number. It is “two”.",
    ),
    "no quantity": (
        f"{FIRST},{ITEM},Guide,,,07/07/2025",
        "row 3, J3 (Qty): Required: Quantity is required.",
    ),
    "nothing of it": (
        f"{FIRST},{ITEM},Guide,0,,07/07/2025",
        "row 3, J3 (Qty): OutOfRange: Quantity must be more than 0. It is “0”.",
    ),
    "an item that nobody knows": (
        f"{FIRST},99_999,Guide,2,,07/07/2025",
        "row 3, H3 (Support item): NotFound: There is no product called 99_999. It is “99_999”.",
    ),
    "a price book that nobody knows": (
        f"{FIRST},{ITEM},Guido,2,,07/07/2025",
        "row 3, I3 (Price book): NotFound: There is no price book called Guido. It is “Guido”.",
    ),
    "a day that no month has": (
        f"{FIRST},{ITEM},Guide,2,,31/02/2026",
        "row 3, L3 (Service date): InvalidDate: LineItems/FromDate must be a date that exists. It is",
    ),
    "an item that has no price that day": (
        f"{FIRST},{ITEM},Guide,2,,07/07/2024",
        f"row 3, K3 (Unit price): Required: Price is required: {ITEM} has no price in the price book on 07",
    ),
    "another period than the row above says": (
        FIRST.replace("07/07/2025", "08/07/2025") + f",{ITEM},Guide,2,,07/07/2025",
        "row 3, F3 (Start date): Differs: Row 2 of the same record says “07/07/2025”. It is “08/07/2025”.",
    ),
    "another participant than the row above says": (
        FIRST.replace("430000001", "430000002") + f",{ITEM},Guide,2,,07/07/2025",
        "row 3, D3 (NDIS Number): Differs: Row 2 of the same record says “430000001”. It is “430000002”.",
    ),
    "a cell too few": (
        f"{FIRST},{ITEM},Guide,2,",
        "row 3: InvalidRow: The row has 11 cells where the header has 12.",
    ),
    "a price below nothing": (
        f"{FIRST},{ITEM},Guide,2,-1,07/07/2025",
        "row 3, K3 (Unit price): OutOfRange: LineItems/Price must be 0 at least. It is “-1”.",
    ),
    "more digits than money has": (
        f"{FIRST},{ITEM},Guide,2,1.00005,07/07/2025",
        "row 3, K3 (Unit price): OutOfRange: LineItems/Price",
    ),
}


@pytest.mark.parametrize(("row", "place"), FAULTY.values(), ids=FAULTY)
def test_one_faulty_row_keeps_its_whole_claim_out_and_no_other(tmp_path, row, place):
    result = import_claims(tmp_path, GOOD[0], row, GOOD[2])

    assert result.status == 1
    assert result.out.startswith("2 records in 3 rows: 1 new, 0 changed, 0 unchanged, 1 rejected")
    (fault,) = faults(result)
    assert fault.startswith(place)
    assert [claim.claim_number for claim in Claim.objects.all()] == ["C-2"]
    sound, invalid = reasons(tmp_path)
    assert sound == "SameRecord: row 3 keeps its record out, which goes in whole."
    assert place.split(": ")[1] in invalid


FAULTY_CLAIMS = {
    "a providers invoice that is not there": (
        FIRST.replace("INV-1", "INV-77"),
        "row 2, B2 (Invoice No): NotFound: There is no provider invoice like this; import it first",
    ),
    "a provider that nobody knows": (
        FIRST.replace("51 824 753 556", "53004085616"),
        "row 2, C2 (Provider ABN): NotFound: There is no client called 53004085616.",
    ),
    "a participant that nobody knows": (
        FIRST.replace("430000001", "430000009"),
        "row 2, D2 (NDIS Number): NotFound: There is no contact called 430000009.",
    ),
    "a staff member that nobody knows": (
        FIRST.replace("fay@", "may@"),
        "row 2, E2 (Staff email): NotFound: There is no staff member called may@example.org.",
    ),
}


@pytest.mark.parametrize(("start", "place"), FAULTY_CLAIMS.values(), ids=FAULTY_CLAIMS)
def test_a_fault_of_the_claim_is_reported_at_its_first_row(tmp_path, start, place):
    result = import_claims(tmp_path, f"{start},{ITEM},Guide,2,70,", f"{start},{ITEM},Guide,3,70,", GOOD[2])

    assert result.out.startswith("2 records in 3 rows: 1 new, 0 changed, 0 unchanged, 1 rejected")
    assert [line for line in faults(result) if line.startswith(place)] == [faults(result)[0]]
    assert all(line.startswith("row 2") for line in faults(result))
    assert reasons(tmp_path)[1] == "SameRecord: row 2 keeps its record out, which goes in whole."


def test_the_file_of_refused_rows_goes_in_once_it_is_mended(tmp_path):
    import_claims(tmp_path, GOOD[0], GOOD[1].replace("1.5", "some"), GOOD[2])
    back = tmp_path / "claims.errors.csv"
    assert len(rows_of(back)) == 3
    back.write_text(back.read_text(encoding="utf-8-sig").replace("some", "1.5"), encoding="utf-8")

    result = imported("claim", back, "--ignore-warnings")

    assert result.out.startswith("1 record in 2 rows: 1 new, 0 changed, 0 unchanged, 0 rejected")
    assert Claim.objects.get(claim_number="C-1").total == Decimal("238.25")


def test_rows_of_a_claim_that_are_apart_are_rejected_and_reported(tmp_path):
    result = import_claims(tmp_path, GOOD[0], GOOD[2], GOOD[1])

    assert result.out.startswith("3 records in 3 rows: 2 new, 0 changed, 0 unchanged, 1 rejected")
    assert faults(result)[0] == (
        "row 4, A4 (Claim No): NotUnique: Row 2 of the file has it already; the rows of one record must be"
        " adjacent. It is “C-1”."
    )


def test_a_claim_of_more_lines_than_the_limit_is_refused_as_one(tmp_path, settings):
    settings.MAX_LINES = 3
    result = import_claims(tmp_path, *[GOOD[0]] * 12, GOOD[2])
    assert Claim.objects.get().claim_number == "C-2"
    assert len(reasons(tmp_path)) == 12
    assert "row 2: TooLong: A record may have 3 items at most; divide this one." in result.lines


def test_a_providers_invoice_for_one_claim_gives_one(tmp_path):
    result = import_claims(tmp_path, GOOD[0], GOOD[2].replace("INV-2", "INV-1"))
    assert Claim.objects.count() == 1
    assert faults(result)[0].startswith("row 3, B3 (Invoice No): AlreadyUsed: ")


def test_two_names_of_two_providers_in_one_row_are_reported(tmp_path):
    a_client(BusinessName="Low Road Pty")
    header = HEADER.replace("Provider ABN", "Provider ABN,Provider")
    row = GOOD[0].replace("51 824 753 556", "51 824 753 556,low road pty")
    result = import_claims(tmp_path, row, header=header)
    assert faults(result) == [
        "row 2, D2 (Provider): Differs: It is another client than the one of Provider ABN. It is"
        " “low road pty”."
    ]


def test_a_number_that_two_participants_have_is_reported(tmp_path):
    twin = a_contact(SchemeNumber="430000001")
    assert "Ambiguous: 2 contacts have it; which one is meant?" in faults(import_claims(tmp_path, GOOD[0]))[0]

    twin.archive_date = twin.creation_date
    twin.save()
    assert import_claims(tmp_path, GOOD[0]).status == 0


def test_a_reference_that_two_providers_use_is_distinguished_by_the_provider(tmp_path):
    other = a_client(BusinessName="Low Road Pty", BusinessNumber="53004085616")
    a_full_provider_invoice(reference="INV-1", provider=other)
    without = ",".join(cell for at, cell in enumerate(GOOD[0].split(",")) if at != 2)
    header = HEADER.replace("Provider ABN,", "")
    result = import_claims(tmp_path, without, header=header)
    assert "B2 (Invoice No): Ambiguous: 2 provider invoices have it" in faults(result)[0]
    assert import_claims(tmp_path, GOOD[0]).status == 0
    assert Claim.objects.get().provider.business_name == "Harbour Care"


def test_a_period_that_ends_before_it_begins_is_reported(tmp_path):
    result = import_claims(tmp_path, f"{FIRST.replace('13/07/2025', '13/07/2024')},{ITEM},Guide,2,70,")
    assert faults(result)[0].startswith("row 2, G2 (End date): ")


def test_a_provider_invoice_without_provider_is_found_by_reference_unless_the_providers_own_has_it(tmp_path):
    bare = a_full_provider_invoice(reference="INV-1", provider=None)
    a_full_provider_invoice(reference="INV-77", provider=None)
    rows = (GOOD[0], GOOD[2].replace("INV-2", "INV-77"))
    assert import_claims(tmp_path, *rows).status == 0
    assert {claim.provider_invoice.reference for claim in Claim.objects.all()} == {"INV-1", "INV-77"}
    assert not Claim.objects.filter(provider_invoice=bare).exists()


# --- warnings -------------------------------------------------------------------------------------------


def test_a_claim_with_warnings_stays_out_and_its_rows_say_why(tmp_path):
    result = import_claims(tmp_path, *GOOD[:2], words=())

    assert result.status == 1
    assert Claim.objects.count() == 0
    assert "Only warnings keep 1 of them out; --ignore-warnings stores those." in result.out
    assert result.lines[0].startswith("row 2, D2 (NDIS Number): warning NoEngagement: ")
    first, second = reasons(tmp_path)
    assert first.startswith("NDIS Number: warning NoEngagement: ")
    assert second == "SameRecord: row 2 keeps its record out, which goes in whole."


def test_ignored_warnings_are_reported_and_stored_as_acknowledged(tmp_path):
    result = import_claims(tmp_path, GOOD[0].replace(",2,,", ",2,99,"))
    assert result.status == 0
    assert any(line.startswith("row 2, K2 (Unit price): warning PriceOverCap") for line in result.lines)
    assert "1 record with warnings." in result.out
    assert set(AcknowledgedWarning.objects.values_list("code", flat=True)) == {"NoEngagement", "PriceOverCap"}


def test_hard_faults_are_reported_whatever_is_ignored(tmp_path):
    result = import_claims(tmp_path, GOOD[0].replace(",2,,", ",-2,99,"))
    assert result.status == 1
    assert Claim.objects.count() == 0


# --- again ----------------------------------------------------------------------------------------------


def test_a_second_run_changes_nothing(tmp_path):
    import_claims(tmp_path, *GOOD)
    before = [list(model.objects.order_by("pk").values()) for model in (Claim, ClaimLine, ProviderInvoice)]
    history = Change.objects.count()

    result = import_claims(tmp_path, *GOOD, words=())

    assert result.out.startswith("2 records in 3 rows: 0 new, 0 changed, 2 unchanged, 0 rejected.")
    assert [list(m.objects.order_by("pk").values()) for m in (Claim, ClaimLine, ProviderInvoice)] == before
    assert Change.objects.count() == history


def test_lines_in_another_order_are_the_same_lines(tmp_path):
    import_claims(tmp_path, *GOOD)
    assert import_claims(tmp_path, GOOD[1], GOOD[0], GOOD[2]).out.startswith(
        "2 records in 3 rows: 0 new, 0 changed, 2 unchanged"
    )


def test_a_changed_line_is_that_line_and_an_absent_one_is_gone(tmp_path):
    import_claims(tmp_path, *GOOD)
    before = list(ClaimLine.objects.filter(claim__claim_number="C-1").order_by("position"))

    result = import_claims(tmp_path, GOOD[0].replace(",2,,", ",4,,"), GOOD[1], GOOD[2])
    assert result.out.startswith("2 records in 3 rows: 0 new, 1 changed, 1 unchanged")
    after = list(ClaimLine.objects.filter(claim__claim_number="C-1").order_by("position"))
    assert [line.pk for line in after] == [line.pk for line in before]
    assert [line.quantity for line in after] == [Decimal(4), Decimal("1.5")]

    assert import_claims(tmp_path, GOOD[1], GOOD[2]).out.startswith("2 records in 2 rows: 0 new, 1 changed")
    (left,) = ClaimLine.objects.filter(claim__claim_number="C-1")
    assert left.pk == before[1].pk
    assert Claim.objects.get(claim_number="C-1").total == Decimal("98.25")


def test_a_file_without_lines_changes_claims_and_leaves_their_lines(tmp_path):
    import_claims(tmp_path, *GOOD)
    result = import_claims(tmp_path, "C-1,2025-08-01", "C-2,", header="ClaimNumber,DueDate")
    assert result.out.startswith("2 rows: 0 new, 1 changed, 1 unchanged")
    assert Claim.objects.get(claim_number="C-1").due_date == dt.date(2025, 8, 1)
    assert ClaimLine.objects.count() == 3


def test_existing_claims_can_be_left_as_they_are(tmp_path):
    import_claims(tmp_path, *GOOD)
    result = import_claims(tmp_path, GOOD[0].replace(",2,,", ",4,,"), words=("--no-update",))
    assert result.out.startswith("1 record in 1 row: 0 new, 0 changed, 1 unchanged")


def test_an_approved_claim_is_not_changed_by_a_file(tmp_path):
    import_claims(tmp_path, *GOOD)
    Claim.objects.filter(claim_number="C-1").update(funding_status="Approved")
    result = import_claims(tmp_path, GOOD[0].replace(",2,,", ",4,,"), GOOD[1])
    assert "NotAllowed" in faults(result)[0]
    assert Claim.objects.get(claim_number="C-1").total == Decimal("238.25")


def test_what_was_paid_is_not_undone_by_a_file(tmp_path):
    import_claims(tmp_path, *GOOD)
    paid = Decimal("98.25")
    ClaimLine.objects.filter(claim__claim_number="C-1", position=1).update(amount_paid=paid)
    result = import_claims(tmp_path, GOOD[0].replace(",2,,", ",4,,"), GOOD[1].replace("65.50", "65.49"))
    (fault,) = faults(result)
    assert "NotAllowed" in fault
    assert "its total, 98.24 now, is never less" in fault
    result = import_claims(tmp_path, GOOD[0])
    assert "Line 2 was paid in part (98.25); it stays." in faults(result)[0]
    assert Claim.objects.get(claim_number="C-1").total == Decimal("238.25")


# --- all, some, none ------------------------------------------------------------------------------------


def test_a_dry_run_stores_nothing(tmp_path):
    result = import_claims(tmp_path, *GOOD, words=("--ignore-warnings", "--dry-run"))
    assert result.out.startswith("2 records in 3 rows: 2 new")
    assert not Claim.objects.exists()
    assert not AcknowledgedWarning.objects.exists()


def test_all_or_nothing_stores_nothing_when_a_row_is_faulty(tmp_path):
    bad = f"{SECOND},{ITEM},Guide,none,,"
    result = import_claims(tmp_path, *GOOD[:2], bad, words=("--ignore-warnings", "--all-or-nothing"))
    assert result.status == 1
    assert not Claim.objects.exists()


def test_headers_can_be_mapped(tmp_path):
    header = HEADER.replace("Qty", "How many").replace("Claim No", "Bundle")
    result = import_claims(
        tmp_path,
        *GOOD,
        header=header,
        words=("--ignore-warnings", "--map", "How many=Quantity", "--map", "Bundle=ImportReference"),
    )
    assert result.out.startswith("2 records in 3 rows: 2 new")
    assert not Claim.objects.filter(claim_number="C-1").exists()


def test_claims_can_be_found_by_another_field(tmp_path):
    import_claims(tmp_path, *GOOD)
    result = import_claims(
        tmp_path,
        "INV-1,2025-08-01",
        header="ProviderInvoiceReference,DueDate",
        words=("--match", "ProviderInvoiceReference", "--ignore-warnings"),
    )
    assert result.out.startswith("1 row: 0 new, 1 changed")


# --- many -----------------------------------------------------------------------------------------------


def many(folder, number):
    """A file of claims, each on a provider's invoice that may be used again."""
    a_full_provider_invoice(
        reference="ALL", is_reusable=True, provider=Claim.provider.field.related_model.objects.get()
    )
    start = "ALL,51824753556,430000001,fay@example.org,07/07/2025,13/07/2025"
    return a_file(
        folder,
        *(f"M-{one},{start},{ITEM},Guide,{line},,07/07/2025" for one in range(number) for line in (1, 2, 3)),
        name=f"{number}.csv",
    )


def test_the_statements_of_a_batch_are_as_many_for_many_claims_as_for_few(tmp_path):
    counts = []
    for number in (FEW + 1, 100):
        path = many(tmp_path, number)
        with CaptureQueriesContext(connection) as asked:
            result = imported("claim", path, "--ignore-warnings", "--dry-run")
        assert f"{number} records in {number * 3} rows: {number} new" in result.out
        counts.append(len(asked))
        ProviderInvoice.objects.filter(reference="ALL").delete()
    assert counts[1] - counts[0] <= 2


def test_products_of_one_code_in_any_case_are_one(tmp_path):
    Product.objects.create(code="Odd item", name="Odd")
    result = import_claims(tmp_path, f"{FIRST},ODD ITEM,Guide,2,5.00,07/07/2025")
    assert result.status == 0


# --- others that write meanwhile ------------------------------------------------------------------------


def test_a_batch_that_another_writer_was_faster_than_is_imported_again(tmp_path, monkeypatch):
    """The rules see no such claim, the table has one: its batch is imported again."""
    taken = []

    def take(model, drafts):
        if not taken:
            taken.append(a_claim(claim_number="c-1"))
        assign_numbers(model, drafts)

    monkeypatch.setattr(create, "assign_numbers", take)
    result = import_claims(tmp_path, *GOOD)
    assert result.out.startswith("2 records in 3 rows: 2 new, 0 changed, 0 unchanged, 0 rejected")
    assert taken


def test_an_import_that_others_never_let_through_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(create, "assign_numbers", lambda model, drafts: a_claim(claim_number="c-1"))
    result = import_claims(tmp_path, *GOOD)
    assert result.status == 2
    assert "Others write the same records just now. Import the file again" in result.err
    assert not Claim.objects.exists()


# --- files made to do harm ------------------------------------------------------------------------------


def test_text_that_a_spreadsheet_would_run_stays_text_in_what_comes_back(tmp_path):
    header = HEADER + ",Notes"
    result = import_claims(tmp_path, f"{GOOD[0].replace(',2,,', ',two,,')},=cmd|' /C calc'!A0", header=header)
    assert result.status == 1
    assert rows_of(tmp_path / "claims.errors.csv")[1][-2] == "'=cmd|' /C calc'!A0"


HARMFUL = {
    "endless digits": ("J", f"{FIRST},{ITEM},Guide,{'9' * 400},,07/07/2025"),
    "an exponent": ("J", f"{FIRST},{ITEM},Guide,1e9999999,,07/07/2025"),
    "not a number": ("J", f"{FIRST},{ITEM},Guide,NaN,,07/07/2025"),
    "infinity": ("K", f"{FIRST},{ITEM},Guide,1,Infinity,07/07/2025"),
    "more than money holds": ("K", f"{FIRST},{ITEM},Guide,1,99999999999999.99,07/07/2025"),
    "SQL for a code": ("H", f"{FIRST},'; DROP TABLE funding_claim; --,Guide,1,,07/07/2025"),
    "a far year": ("L", f"{FIRST},{ITEM},Guide,1,,01/01/99999"),
    "a long number": ("A", f"{'C' * 48}{FIRST[3:]},{ITEM},Guide,1,,07/07/2025"),
    "half a pair": ("H", f"{FIRST},\ufffe{'x' * 5000},Guide,1,,07/07/2025"),
}


@pytest.mark.parametrize(("letter", "row"), HARMFUL.values(), ids=HARMFUL)
def test_what_is_made_to_do_harm_is_a_fault_of_its_cell(tmp_path, letter, row):
    result = import_claims(tmp_path, row, GOOD[2])
    assert result.out.startswith("2 records in 2 rows: 1 new, 0 changed, 0 unchanged, 1 rejected")
    assert faults(result)[0].startswith(f"row 2, {letter}2 (")


def test_json_made_to_do_harm_is_refused_and_leaves_nothing(tmp_path):
    deep = '[{"LineItems": ' + "[" * 100_000
    for number, text in enumerate(
        (deep, '[{"ClaimNumber": "C-1", "ClaimNumber": "C-2"}]', '[{"LineItems": [{}')
    ):
        path = tmp_path / f"{number}.json"
        path.write_text(text)
        assert imported("claim", path).status == 2
    assert not Claim.objects.exists()


def test_what_two_claims_share_is_named_by_its_row(tmp_path):
    taken = GOOD[0].replace("C-1", "C-9")
    result = import_claims(tmp_path, *GOOD[:2], taken, words=())

    assert "and the record in row 2 of the file is built on it already." in result.err
    assert "of this request" not in result.err
