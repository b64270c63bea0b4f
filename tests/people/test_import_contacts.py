"""Importing contacts from a spreadsheet as people keep them: each fault is named, the good rows go in."""

import contextlib
import datetime as dt
import io

import openpyxl
import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.importing import runs
from apps.core.models import Change, Subscriber
from apps.people.models import Client, Contact, Role, Staff
from tests.people.import_files import GOOD, HEADER, a_csv, imported, rows_of
from tests.people.records import a_contact

pytestmark = pytest.mark.django_db

FAULTY = {
    "an email that is none": (
        "Al,Orr,al-at-home,431000101,02/03/1990,0400,1 Low Road,Hobart,TAS,7000,Australia",
        "row 5, C5 (Email): InvalidEmail",
    ),
    "a letter within a scheme number": (
        "Al,Orr,al@example.org,4310o0101,02/03/1990,0400,1 Low Road,Hobart,TAS,7000,Australia",
        "row 5, D5 (NDIS No): InvalidSchemeNumber: A scheme number is digits only",
    ),
    "a scheme number of which a spreadsheet kept three digits": (
        "Al,Orr,al@example.org,4.31E+08,02/03/1990,0400,1 Low Road,Hobart,TAS,7000,Australia",
        "row 5, D5 (NDIS No): DigitsLost: SchemeNumber is a number of which a spreadsheet kept the first",
    ),
    "a telephone number of which a spreadsheet kept three digits": (
        "Al,Orr,al@example.org,431000101,02/03/1990,4.12E+08,1 Low Road,Hobart,TAS,7000,Australia",
        "row 5, F5 (Mobile): DigitsLost: Phone1 is a number of which a spreadsheet kept the first",
    ),
    "a scheme number of another scheme": (
        "Al,Orr,al@example.org,991000101,02/03/1990,0400,1 Low Road,Hobart,TAS,7000,Australia",
        "row 5, D5 (NDIS No): InvalidSchemeNumber",
    ),
    "a day that no month has": (
        "Al,Orr,al@example.org,431000101,31/02/1990,0400,1 Low Road,Hobart,TAS,7000,Australia",
        "row 5, E5 (DOB): InvalidDate: Birthday must be a date that exists. It is “31/02/1990”.",
    ),
    "a spreadsheet's number for a day": (
        "Al,Orr,al@example.org,431000101,44562,0400,1 Low Road,Hobart,TAS,7000,Australia",
        "row 5, E5 (DOB): InvalidDate: Birthday is a spreadsheet's number for a day, 01/01/2022",
    ),
    "no first name": (
        ",Orr,al@example.org,431000101,02/03/1990,0400,1 Low Road,Hobart,TAS,7000,Australia",
        "row 5, A5 (First Name): Required",
    ),
    "a foreign state without a country": (
        "Al,Orr,al@example.org,431000101,02/03/1990,0400,1 Low Road,Hobart,Otago,7000,",
        "row 5, K5 (Country): Required",
    ),
    "the same person twice": (
        GOOD[0],
        "row 5, D5 (NDIS No): NotUnique: Row 2 of the file has it already. It is “431000001”.",
    ),
    "a cell too few": (
        "Al,Orr,al@example.org,431000101,02/03/1990,0400,1 Low Road,Hobart,TAS,7000",
        "row 5: InvalidRow: The row has 10 cells where the header has 11.",
    ),
    "a name too long": (
        f"{'A' * 91},Orr,al@example.org,431000101,02/03/1990,0400,1 Low Road,Hobart,TAS,7000,Australia",
        "row 5, A5 (First Name): TooLong",
    ),
}


@pytest.mark.parametrize(("row", "reported"), FAULTY.values(), ids=FAULTY)
def test_a_rejected_row_is_in_the_errors_file_and_the_others_are_imported(tmp_path, row, reported):
    path = a_csv(tmp_path, *GOOD, row)

    result = imported("contact", path)

    assert result.status == 1
    assert result.out.startswith("4 rows: 3 new, 0 changed, 0 unchanged, 1 rejected.")
    assert [line for line in result.lines if line.startswith("row")] == [result.lines[0]]
    assert result.lines[0].startswith(reported)
    assert Contact.objects.count() == 3
    header, back = rows_of(tmp_path / "people.errors.csv")
    assert header == [*HEADER.split(","), "Reason"]
    assert back[: len(row.split(","))] == row.split(",")
    assert reported.split(": ")[1] in back[-1]


def test_the_good_rows_of_a_file_are_stored_as_they_say(tmp_path):
    assert imported("contact", a_csv(tmp_path, *GOOD)).status == 0

    ida = Contact.objects.get(first_name="Ida")
    assert (ida.last_name, ida.primary_email, ida.scheme_number) == ("Quill", "ida@example.org", "431000001")
    assert (ida.birthday, ida.phone1) == (dt.date(1990, 3, 2), "0400000001")
    assert (ida.street_address, ida.suburb, ida.state) == ("1 Low Road", "Hobart", "TAS")
    assert (ida.post_code, ida.country) == ("7000", "Australia")
    assert ida.use_primary_email is True
    assert not (tmp_path / "people.errors.csv").exists()


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ('[{"Name": "Diet", "Responses": [{"Response": "Vegan"}]}]', "NotFound"),
        ('[{"Name": "Diet"}]', "InvalidJson"),
        ("Vegan", "InvalidJson"),
    ],
)
def test_answers_to_questions_that_are_not_asked_are_refused(tmp_path, answers, code):
    cell = '"' + answers.replace('"', '""') + '"'
    path = a_csv(tmp_path, f"{GOOD[0]},{cell}", header=f"{HEADER},CustomFields")
    assert f"(CustomFields): {code}: " in imported("contact", path, "--day-first").lines[0]
    assert not Contact.objects.exists()


def test_the_history_has_the_changes_of_an_import(tmp_path):
    imported("contact", a_csv(tmp_path, *GOOD))
    imported("contact", a_csv(tmp_path, GOOD[0].replace("0400000001", "0411")))

    reported = Change.objects.filter(record_type="people.contact").order_by("id")
    assert [(line.kind, line.channel) for line in reported] == [("Created", "Import")] * 3 + [
        ("Changed", "Import")
    ]
    assert reported.last().differences == {"phone1": ["0400000001", "0411"]}


def test_a_second_run_changes_nothing(tmp_path):
    path = a_csv(tmp_path, *GOOD, FAULTY["a foreign state without a country"][0])
    imported("contact", path)
    before = list(Contact.objects.order_by("pk").values())

    again = imported("contact", path)

    assert again.out.startswith("4 rows: 0 new, 0 changed, 3 unchanged, 1 rejected.")
    assert list(Contact.objects.order_by("pk").values()) == before
    assert Change.objects.filter(record_type="people.contact").count() == 3


def test_a_second_run_of_a_file_without_codes_and_numbers_adds_nothing(tmp_path):
    path = a_csv(tmp_path, "Ann,Low,", "Ann,Low,ann@example.org", header="First name,Last name,Email")
    assert imported("contact", path).out.startswith("2 rows: 2 new")
    assert imported("contact", path).out.startswith("2 rows: 0 new, 0 changed, 2 unchanged")


def test_the_same_row_twice_without_code_and_number_is_one_record(tmp_path):
    path = a_csv(tmp_path, "Ann,Low,13/2/1990", "Ann,Low,13/02/1990", header="First name,Last name,DOB")

    result = imported("contact", path)

    assert result.out.startswith("2 rows: 1 new, 0 changed, 0 unchanged, 1 rejected")
    assert "row 3: NotUnique: Row 2 of the file says the same." in result.err


def test_only_the_columns_of_the_file_change(tmp_path):
    imported("contact", a_csv(tmp_path, *GOOD))
    rows = a_csv(tmp_path, "431000001,Quill-Byrne,", header="NDIS No,Surname,Mobile")

    assert imported("contact", rows).out.startswith("1 row: 0 new, 1 changed")

    ida = Contact.objects.get(scheme_number="431000001")
    assert (ida.last_name, ida.phone1) == ("Quill-Byrne", None)
    assert (ida.first_name, ida.suburb) == ("Ida", "Hobart")


def test_existing_records_can_be_left_unchanged(tmp_path):
    imported("contact", a_csv(tmp_path, *GOOD))
    other = a_csv(tmp_path, GOOD[0].replace("Hobart", "Launceston"))

    assert imported("contact", other, "--no-update").out.startswith("1 row: 0 new, 0 changed, 1 unchanged")
    assert Contact.objects.get(first_name="Ida").suburb == "Hobart"


def test_a_change_is_validated_by_the_rules(tmp_path):
    imported("contact", a_csv(tmp_path, *GOOD))

    result = imported("contact", a_csv(tmp_path, "431000001,Otago,", header="NDIS No,State,Country"))

    assert result.status == 1
    assert "row 2, C2 (Country): Required" in result.err
    assert Contact.objects.get(first_name="Ida").country == "Australia"


def test_a_trial_stores_nothing_and_says_the_same(tmp_path):
    path = a_csv(tmp_path, *GOOD, FAULTY["no first name"][0])

    result = imported("contact", path, "--dry-run")

    assert result.status == 1
    assert result.out.startswith("4 rows: 3 new, 0 changed, 0 unchanged, 1 rejected")
    assert result.out.rstrip().endswith("Nothing was stored: this was a dry run.")
    assert not Contact.objects.exists()


def test_all_or_nothing_keeps_nothing_when_one_row_is_bad(tmp_path):
    bad = a_csv(tmp_path, *GOOD, FAULTY["no first name"][0])
    assert imported("contact", bad, "--all-or-nothing").status == 1
    assert not Contact.objects.exists()
    assert not Change.objects.filter(record_type="people.contact").exists()

    assert imported("contact", a_csv(tmp_path, *GOOD), "--all-or-nothing").status == 0
    assert Contact.objects.count() == 3


def test_a_column_of_days_is_read_one_way(tmp_path):
    days = ["03/04/1990", "12/25/1990", "03/04/1985 12:00:00 AM", "1979-05-06"]
    header = "Code,Surname,First name,DOB"
    rows = [f"P{number},Quill,Ida,{day}" for number, day in enumerate(days)]
    result = imported("contact", a_csv(tmp_path, *rows, header=header))

    assert result.out.startswith("4 rows: 4 new, 0 changed, 0 unchanged, 0 rejected")
    expected = ["1990-03-04", "1990-12-25", "1985-03-04", "1979-05-06"]
    born = Contact.objects.order_by("unique_code").values_list("birthday", flat=True)
    assert list(map(str, born)) == expected
    assert "Column D “DOB” is read with the month first, as days of the file show" in result.err
    assert "AmbiguousDay" not in result.err


def test_true_dates_of_a_workbook_are_no_question(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["Code", "Surname", "First name", "DOB"])
    for number, day in enumerate((dt.date(1990, 4, 3), "12/25/1990", "03/04/1985", dt.date(1979, 12, 25))):
        book.active.append([f"P{number}", "Quill", "Ida", day])
    book.save(tmp_path / "people.xlsx")

    result = imported("contact", tmp_path / "people.xlsx")

    assert result.out.startswith("4 rows: 4 new, 0 changed, 0 unchanged, 0 rejected.")
    born = Contact.objects.order_by("unique_code").values_list("birthday", flat=True)
    assert list(map(str, born)) == ["1990-04-03", "1990-12-25", "1985-03-04", "1979-12-25"]


def test_a_column_that_contradicts_itself_is_read_as_the_settings_say_and_each_doubt_is_named(tmp_path):
    days = ["03/04/1990", "12/25/1990", "25/12/1985", "06/06/1979"]
    header = "Code,Surname,First name,DOB"
    path = a_csv(tmp_path, *(f"P{n},Quill,Ida,{day}" for n, day in enumerate(days)), header=header)

    result = imported("contact", path)

    assert [line.split(". ")[0] for line in result.lines] == [
        "row 2, D2 (DOB): warning AmbiguousDay: It is read with the day first, as 3 April 1990: "
        "days of the column show both orders; correct the file, or say --day-first",
        "row 3, D3 (DOB): InvalidDate: Birthday has no month 25, but other days of the column have the day "
        "first: correct it",
    ]
    assert result.status == 1
    Contact.objects.all().delete()
    Subscriber(day_first=False).save()
    result = imported("contact", path)
    assert (
        "row 4, D4 (DOB): InvalidDate: Birthday has no month 25, but other days of the column have the month"
        in result.err
    )
    assert str(Contact.objects.get(unique_code="P0").birthday) == "1990-03-04"


def test_a_birthday_with_a_short_year_is_of_a_century_in_which_it_has_been(tmp_path):
    header = "Code,Surname,First name,DOB"
    path = a_csv(tmp_path, "P0,Quill,Ida,15-Mar-40", "P1,Quill,Ned,15-Mar-10", header=header)

    result = imported("contact", path)

    born = Contact.objects.order_by("unique_code").values_list("birthday", flat=True)
    assert list(map(str, born)) == ["1940-03-15", "2010-03-15"]
    (line,) = result.lines
    assert line.startswith("row 3, D3 (DOB): warning CenturyAssumed: It is taken as 15 March 2010, not 1910.")


def test_what_stands_below_the_table_is_left_out_and_named(tmp_path):
    header = "Code,Surname,First name,DOB,Mobile,Street"
    rows = ["P0,Quill,Ida,,,", "Total,,,,,", "Total people,1,,,,", "Total: 1,,,,,", "*** End of report ***"]

    result = imported("contact", a_csv(tmp_path, *rows, header=header))

    assert result.out.startswith(
        "2 rows: 1 new, 0 changed, 0 unchanged, 1 rejected; 3 rows of sums or notes left out."
    )
    assert result.lines[0].startswith("row 3, B3 (Surname): Required")
    assert [line.partition(": warning ")[2] for line in result.lines[2:]] == [
        "Footer: “Total people” stands below the table and is no record: it is left out.",
        "Footer: “Total: 1” stands below the table and is no record: it is left out.",
        "Footer: “*** End of report ***” stands below the table and is no record: it is left out.",
    ]


@pytest.mark.parametrize("total", ["Total,1", "GRAND TOTAL:,1", "Sub-total,$1.00"])
def test_a_bare_total_is_left_out_of_a_table_of_two_columns_too(tmp_path, total):
    """It fills all of them, and would be a person of that name."""
    result = imported("contact", a_csv(tmp_path, "Ida,Quill", total, header="First name,Surname"))
    assert result.out.startswith(
        "1 row: 1 new, 0 changed, 0 unchanged, 0 rejected; 1 row of sums or notes left out."
    )
    people = a_csv(tmp_path, "Ida,Quill", "Total,Mia", header="First name,Surname")
    assert imported("contact", people).out.startswith("2 rows: 1 new")


def test_rows_of_delimiters_alone_are_no_records(tmp_path):
    path = a_csv(tmp_path, "Al,Orr,", ",,", "Bo,Orr,", ",,", header="First name,Surname,Email")
    assert imported("contact", path).out.startswith("2 rows: 2 new, 0 changed, 0 unchanged, 0 rejected.")


def test_a_record_with_few_cells_is_no_footer(tmp_path):
    header = "Company,ABN,Phone,Street,Suburb,Postcode"
    rows = [
        "Total 5,,,,,",
        "Total Mobility,,0265551234,,,",
        "Endeavour,,,,,",
        "Report Writers,51824753556,,,,",
    ]

    result = imported("client", a_csv(tmp_path, *rows, header=header))

    assert result.out.startswith("4 rows: 4 new, 0 changed, 0 unchanged, 0 rejected.")


def test_a_sum_below_each_group_is_no_record(tmp_path):
    rows = [
        "Acme,02 6555 1234,120.50,Hobart", "Total,,120.50,", "Beta,,,Perth", ",Total:,$0.00,", "Total,,,",
        "Total,02 6555 4321,,", "Gamma,,,Perth", "Grand total,,120.50,", "Printed on 1/7/2026,,,",
    ]  # fmt: skip
    path = a_csv(tmp_path, *rows, header="Company,Phone,Postcode,Suburb")

    result = imported("client", path)

    assert "; 4 rows of sums or notes left out." in result.out
    assert "row 3: warning Footer: It is a sum and no record: it is left out." in result.lines
    names = Client.objects.order_by("business_name").values_list("business_name", flat=True)
    assert list(names) == ["Acme", "Beta", "Gamma", "Total"]  # there may be one of that name
    assert imported("client", a_csv(tmp_path, "Total,7000", "Zeta,", header="Company,Postcode")).status == 0


def test_a_title_above_a_group_of_organisations_is_warned_of(tmp_path):
    header = "Company,ABN,Phone,Suburb,State"
    known = [f"Provider {number},,02 6555 12{number:02},Hobart,TAS" for number in range(10)]
    titles = ["Providers in Tasmania,,,,", *known, "Others,,,,"]
    result = imported("client", a_csv(tmp_path, *titles, header=header))
    assert [line.split(": ")[:2] for line in result.lines] == [
        ["row 2, A2 (Company)", "warning OnlyName"],
        ["row 13, A13 (Company)", "warning OnlyName"],
    ]
    assert imported("client", a_csv(tmp_path, *titles, header=header)).lines == []  # they are there already
    names = [f"Carer {number},,,," for number in range(10)]
    assert imported("client", a_csv(tmp_path, *names, header=header)).lines == []  # a list of names


def test_the_foot_of_a_printed_page_is_no_record(tmp_path):
    header = "Company,Phone,Suburb"
    rows = [
        "Acme,02 6555 1234,Hobart",
        ",,Page 1 of 2",
        header,
        "Page Industries,,",
        "Page 2 Studio,,",
        "Page 2,,",
    ]
    rows += ["Printed on 30/11/2026 9:15 AM,,", "Beta,,Perth", "Page: 3/3,,"]

    result = imported("client", a_csv(tmp_path, *rows, header=header))

    assert "; 4 rows of sums or notes left out." in result.out
    assert "row 3: warning Footer: It is the foot of a page and no record: it is left out." in result.lines
    names = Client.objects.order_by("business_name").values_list("business_name", flat=True)
    assert list(names) == ["Acme", "Beta", "Page 2 Studio", "Page Industries"]


def test_a_column_of_full_names_gives_both_and_guesses_none(tmp_path):
    rows = ['"van der Berg, Anna Maria",431000101', "Mai  Nguyen,431000102", "Anna van Dyk,431000103"]
    rows += ["Cher,431000104", '"Orr, Al, Jr",431000105', ",431000106"]
    path = a_csv(tmp_path, *rows, header="Full name,NDIS No")

    result = imported("contact", path)

    assert result.out.startswith("6 rows: 2 new, 0 changed, 0 unchanged, 4 rejected.")
    assert sorted(Contact.objects.values_list("first_name", "last_name")) == [
        ("Anna Maria", "van der Berg"),
        ("Mai", "Nguyen"),
    ]
    assert "Column A “Full name” is read as FirstName." in result.err
    assert "Column A “Full name” is read as LastName." in result.err
    unclear = [line for line in result.lines if ": UnclearName: " in line]
    assert [line.split(",")[0] for line in unclear] == ["row 4", "row 5", "row 6"]
    assert unclear[0] == (
        "row 4, A4 (Full name): UnclearName: LastName is not plain here: write it first, with a comma"
        " (Nguyen, Mai Thi). It is “Anna van Dyk”."
    )
    assert "2 unchanged, 4 rejected" in imported("contact", path).out
    both = a_csv(tmp_path, "Mai Nguyen,Mai", header="Full name,First name")
    assert "both give FirstName" in imported("contact", both).err


REPORT_END = [
    "Clients by name,,,",
    "Copyright (c) 2000-2026 salesforce.example. All rights reserved.,,,",
    "Confidential Information - Do Not Distribute,,,",
    "Generated By:  Ida Quill  30/11/2026 9:15 AM,,,",
    "Salesforce,,,",
]


def test_single_cells_below_an_empty_row_that_end_a_report_are_no_records(tmp_path):
    rows = ["Acme,51824753556,02 6555 1234,Hobart", "Total,1,,", "", *REPORT_END]

    result = imported("client", a_csv(tmp_path, *rows, header="Company,ABN,Phone,Suburb"))

    assert result.out.startswith("1 row: 1 new")
    assert "; 6 rows of sums or notes left out." in result.out
    assert list(Client.objects.values_list("business_name", flat=True)) == ["Acme"]


@pytest.mark.parametrize(
    "below",
    [["Beta,,,"], ["Beta,,,", "Total 2,,,"], ["Beta,,,"] * 20 + REPORT_END, [*REPORT_END, "Beta,,,x"]],
)
def test_names_alone_below_an_empty_row_are_records(tmp_path, below):
    path = a_csv(tmp_path, "Acme,,,", "", *below, header="Company,ABN,Phone,Suburb")
    imported("client", path)
    assert set(Client.objects.values_list("business_name", flat=True)) >= {"Acme", "Beta"}


def test_a_header_that_is_repeated_is_no_record(tmp_path):
    header = "Company,Phone,Suburb"
    rows = ["Acme,02 6555 1234,Hobart", header, "Beta,,Perth", header]

    result = imported("client", a_csv(tmp_path, *rows, header=header))

    assert "Left out 2 rows that repeat the header." in result.err
    assert result.out.startswith("2 rows: 2 new, 0 changed, 0 unchanged, 0 rejected.")
    assert imported("role", a_csv(tmp_path, "Name", header="Name")).out.startswith("1 row: 1 new")


def test_every_fault_of_a_row_is_reported_at_once(tmp_path):
    path = a_csv(tmp_path, ",Orr,al-at-home,99,31/02/1990,0400,1 Low Road,Hobart,Otago,7000,")

    result = imported("contact", path)

    reported = [line.split(":")[0] + line.split(":")[1] for line in result.lines]
    assert reported == [
        "row 2, A2 (First Name) Required",
        "row 2, C2 (Email) InvalidEmail",
        "row 2, D2 (NDIS No) InvalidSchemeNumber",
        "row 2, E2 (DOB) InvalidDate",
        "row 2, K2 (Country) Required",
    ]


def test_an_unusual_value_is_imported_with_a_warning(tmp_path):
    rows = (
        "Al,Orr,al@example.org,431000101,22/03/1990,0400,1 Low Road,Hobart,Tas,870,Australia",
        "Bo,Orr,bo@example.org,431000102,22/03/1990,0400,1 Low Road,Hobart,Tas.,7000,Australia",
        "Cy,Orr,cy@example.org,431000103,22/03/1990,0400,1 Low Road,Hobart,Tassie,7000,Australia",
        "Di,Orr,di@example.org,4310001,22/03/1990,0400,1 Low Road,Hobart,TAS,7000,Australia",
    )

    result = imported("contact", a_csv(tmp_path, *rows))

    assert result.status == 0
    assert result.out.startswith("4 rows: 4 new, 0 changed, 0 unchanged, 0 rejected; 4 rows with warnings.")
    assert [line.partition(": warning ")[2].split(".")[0] for line in result.lines] == [
        "StateAbbreviated: It is taken as TAS",
        "UnusualPostCode: Australian postcodes have four digits",
        "StateAbbreviated: It is taken as TAS",
        "UnusualState: Australian states are ACT, NSW, NT, QLD, SA, TAS, VIC, WA",
        "UnusualSchemeNumber: Scheme numbers have 9 digits; this one has 7",
    ]
    assert "Did it lose its leading zero: 0870? It is “870”." in result.lines[1]
    assert set(Contact.objects.values_list("state", flat=True)) == {"TAS", "Tassie"}


def test_a_postcode_of_the_northern_territory_gets_its_zero_back(tmp_path):
    header = "Company,Suburb,State,Postcode,Country"
    rows = [
        "Acme,Darwin,NT,800,",
        "Beta,Alice Springs,Northern Territory,870,Australia",
        "Gamma,Darwin,NT,0800,",
    ]
    rows += ["Delta,Yellowknife,NT,800,Canada", "Eta,Hobart,TAS,800,", "Zeta,Darwin,NT,700,"]
    path = a_csv(tmp_path, *rows, header=header)

    result = imported("client", path)

    found = dict(Client.objects.values_list("business_name", "post_code"))
    assert [found[name] for name in ("Acme", "Beta", "Gamma")] == ["0800", "0870", "0800"]
    assert [found[name] for name in ("Delta", "Eta", "Zeta")] == ["800", "800", "700"]
    assert (
        "row 2, D2 (Postcode): warning LeadingZeroRestored: It is taken as 0800. It is “800”." in result.lines
    )
    assert "6 unchanged" in imported("client", path).out
    del rows[1:]
    short = a_csv(tmp_path, "Acme,NT,800", header="Company,State,Postcode")
    assert "1 unchanged" in imported("client", short).out


def test_somebody_who_is_there_already_is_imported_with_a_warning(tmp_path):
    a_contact(first_name="Al", last_name="Orr", primary_email="al@example.org")
    rows = (
        "AL,ORR,AL@example.org,431000101,22/03/1990,0400,,,,,",
        "Bo,Orr,al@example.org,431000102,22/03/1990,0400,,,,,",
        "Bo,Orr,bo@example.org,431000103,22/03/1990,0400,,,,,",
    )
    result = imported("contact", a_csv(tmp_path, *rows))
    assert result.out.startswith("3 rows: 3 new, 0 changed, 0 unchanged, 0 rejected; 2 rows with warnings.")
    same = "Make sure that this is somebody else, or use that record."
    assert [line.partition(": warning ")[2] for line in result.lines] == [
        f"PossibleDuplicate: Al Orr has the same name and email. {same} It is “AL@example.org”.",
        f"PossibleDuplicate: An earlier record has the same name and birthday. {same} It is “22/03/1990”.",
    ]
    assert Contact.objects.count() == 4


def test_blanks_and_invisible_characters_are_removed(tmp_path):
    row = "\u200bZoë ,\u00a0O’Brien\u00a0, zoe@example.org ,431000101,02/03/1990,'+61 400,,,,,"
    assert imported("contact", a_csv(tmp_path, row)).status == 0

    zoe = Contact.objects.get()
    assert (zoe.first_name, zoe.last_name, zoe.primary_email) == ("Zoë", "O’Brien", "zoe@example.org")
    assert zoe.phone1 == "+61 400"


def test_records_are_referred_to_by_guid_or_by_name(tmp_path):
    client = Client.objects.create(business_name="Harbour Café")
    role = Role.objects.create(name="Participant")
    boss = Staff.objects.create(first_name="Bea", last_name="Ott", primary_email="bea@example.org", role=role)
    path = a_csv(
        tmp_path,
        "Al,Orr,HARBOUR CAFÉ,participant,Bea@Example.org",
        "Bo,Orr,Harbour Cafe,Participant,",
        header="First name,Surname,Company,Role,AccountManager/PrimaryEmail",
    )

    result = imported("contact", path)

    assert "row 3, C3 (Company): NotFound: There is no client called Harbour Cafe." in result.err
    al = Contact.objects.get()
    assert (al.client, al.role, al.account_manager) == (client, role, boss)

    by_guid = a_csv(
        tmp_path, f"Cy,Orr,{client.guid}", "Di,Orr,x", header="First name,Surname,Client/ClientGuid"
    )
    assert "row 3, C3 (Client/ClientGuid): InvalidGuid" in imported("contact", by_guid).err
    assert Contact.objects.get(first_name="Cy").client == client


def test_rows_that_fit_several_records_are_not_guessed(tmp_path):
    for name in ("Al", "Bo"):
        Contact.objects.create(first_name=name, last_name="Orr", scheme_number="431000009")

    result = imported("contact", a_csv(tmp_path, "431000009,Cy,Orr", header="NDIS No,First name,Surname"))

    assert "row 2, A2 (NDIS No): Ambiguous: 2 contacts have it; which one is meant?" in result.err


def test_a_code_finds_its_record_in_any_spelling(tmp_path):
    Contact.objects.create(first_name="Al", last_name="Orr", unique_code="Straße-1")
    path = a_csv(tmp_path, "STRASSE-1,Al,Moss", header="Unique code,First name,Surname")

    assert imported("contact", path).out.startswith("1 row: 0 new, 1 changed")
    assert Contact.objects.get().last_name == "Moss"


def test_a_code_that_another_record_has_is_refused(tmp_path):
    Contact.objects.create(first_name="Al", last_name="Orr", unique_code="A1")
    path = a_csv(tmp_path, "431000001,a1,Bo,Orr", header="NDIS No,Unique code,First name,Surname")

    result = imported("contact", path, "--match", "SchemeNumber")

    assert "row 2, B2 (Unique code): NotUnique" in result.err


def test_refused_rows_can_be_put_right_and_imported(tmp_path):
    imported("contact", a_csv(tmp_path, *GOOD, FAULTY["no first name"][0]))
    back = tmp_path / "people.errors.csv"
    back.write_text(back.read_text(encoding="utf-8").replace(",Orr,", "Al,Orr,", 1), encoding="utf-8")

    assert imported("contact", back).out.startswith("1 row: 1 new")


def test_staff_and_clients_are_imported_by_the_same_words(tmp_path):
    Role.objects.create(name="Coordinator")
    staff = a_csv(
        tmp_path,
        "Bea,Ott,bea@example.org,yes,Coordinator,38",
        "Bea,Ott,BEA@example.org,yes,Coordinator,38",
        "Cal,Ott,cal@example.org,no,Coordinator,200",
        header="First name,Surname,Email,Use primary email,Role,Hours",
    )
    result = imported("staff", staff)
    assert "row 3, C3 (Email): NotUnique: Row 2 of the file has it already." in result.err
    assert "row 4, F4 (Hours): OutOfRange" in result.err
    assert "row 4, D4 (Use primary email): Required" in result.err
    assert Staff.objects.get().working_hours_per_week == 38

    clients = a_csv(tmp_path, "Harbour Café,51 824 753 556", "Quay Pty Ltd,51824753557", header="Company,ABN")
    result = imported("client", clients)
    assert result.out.startswith("2 rows: 2 new, 0 changed, 0 unchanged, 0 rejected; 1 row with warnings.")
    assert result.lines[0].startswith("row 3, B3 (ABN): warning UnusualBusinessNumber")
    assert imported("client", clients).out.startswith("2 rows: 0 new, 0 changed, 2 unchanged")


def test_where_refused_rows_go_is_asked_before_anything_is_stored(tmp_path):
    path = a_csv(tmp_path, *GOOD, FAULTY["no first name"][0])
    for errors, reported in (
        (path, "is the file to import"),
        (tmp_path / "missing" / "a.csv", "cannot be written"),
        (tmp_path / "a.doc", "is none of .csv"),
    ):
        result = imported("contact", path, "--errors", str(errors))
        assert (result.status, reported in result.err) == (2, True)
    assert not Contact.objects.exists()

    assert imported("contact", path, "--errors", str(tmp_path / "back.xlsx")).status == 1
    assert imported("contact", tmp_path / "back.xlsx").err.startswith("row 2, A2 (First Name): Required")


@pytest.mark.parametrize("cell", ["\\.", '"', "a\\", "\\N"])
def test_signs_that_copy_would_read_otherwise_are_only_text(tmp_path, cell):
    quoted = cell.replace('"', '""')
    path = a_csv(tmp_path, f'Ann,"{quoted}"', f'Bob,"{quoted}\n\\."', header="First name,Last name")

    assert imported("contact", path).out.startswith("2 rows: 2 new")
    names = dict(Contact.objects.values_list("first_name", "last_name"))
    assert names == {"Ann": cell, "Bob": f"{cell}\n\\."}


def test_an_unknown_resource_or_match_field_is_reported(tmp_path):
    path = a_csv(tmp_path, *GOOD)
    assert "There is no resource people to import; there are" in imported("people", path).err
    assert "--match Fax: no column of the file gives it." in imported("contact", path, "--match", "Fax").err
    assert "--map Mobile: write --map" in imported("contact", path, "--map", "Mobile").err


def test_an_empty_cell_takes_a_reference_away(tmp_path):
    mother = Contact.objects.create(first_name="Eve", last_name="Orr")
    Contact.objects.create(first_name="Al", last_name="Orr", scheme_number="431000001", representative=mother)
    path = a_csv(
        tmp_path, "431000001,Al,Orr,", header="NDIS No,First name,Surname,Representative/ContactGuid"
    )

    assert imported("contact", path).out.startswith("1 row: 0 new, 1 changed")
    assert Contact.objects.get(first_name="Al").representative is None


def a_workbook(folder, *rows, name="people.xlsx"):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(folder / name)
    return folder / name


@pytest.mark.parametrize("cell", ["=A2", "#N/A", "#REF!"])
def test_a_formula_without_a_value_and_the_error_of_one_are_rejected_with_their_place(tmp_path, cell):
    Contact.objects.create(first_name="Al", last_name="Orr", unique_code="A1", phone1="0400 000 001")
    path = a_workbook(tmp_path, ["Code", "First name", "Surname", "Mobile"], ["A1", "Al", "Orr", cell])

    result = imported("contact", path)

    assert result.status == 1
    assert result.lines[0].startswith("row 2, D2 (Mobile): FormulaError: Phone1 is ")
    assert Contact.objects.get().phone1 == "0400 000 001"


def test_the_error_of_a_formula_is_no_name_in_text_files(tmp_path):
    path = a_csv(tmp_path, "#N/A,Orr", header="First name,Surname")
    assert "row 2, A2 (First name): FormulaError" in imported("contact", path).err
    assert not Contact.objects.exists()


def test_a_mobile_that_lost_its_zero_as_a_number_gets_it_back_with_a_warning(tmp_path):
    path = a_workbook(tmp_path, ["First name", "Surname", "Mobile"], ["Al", "Orr", 400000001])

    result = imported("contact", path)

    assert result.status == 0
    assert "row 2, C2 (Mobile): warning LeadingZeroRestored: It is taken as 0400000001." in result.err
    assert Contact.objects.get().phone1 == "0400000001"


@pytest.mark.parametrize(
    ("content", "encoding", "notice"),
    {
        "a line for Excel": ("sep=;\nFirst name;Surname\nAl;Orr\n", "utf-8", "semicolons"),
        "UTF-16 without its mark": ("First name,Surname\nAl,Orr\n", "utf-16-le", "Read as utf-16-le."),
        "UTF-16 the other way round": ("First name,Surname\nAl,Orr\n", "utf-16-be", "Read as utf-16-be."),
        "a title": ("Our people\n\nFirst name,Surname\nAl,Orr\n", "utf-8", "Row 3 is the header"),
    }.values(),
)
def test_files_as_programs_write_them_are_recognised(tmp_path, content, encoding, notice):
    path = tmp_path / "people.csv"
    path.write_bytes(content.encode(encoding))

    result = imported("contact", path)

    assert (result.status, notice in result.err) == (0, True), result.err
    assert Contact.objects.get().last_name == "Orr"


@pytest.mark.parametrize("words", [(), ("--header-row", "2")])
def test_a_header_below_a_title_of_several_cells_is_found_or_named(tmp_path, words):
    path = a_csv(tmp_path, "First name,Surname", "Al,Orr", "Bo,", header="Our people,July")

    result = imported("contact", path, *words)

    assert "Row 2 is the header; --header-row names another." in result.err
    assert "row 4, B4 (Surname): Required" in result.err
    assert Contact.objects.get().last_name == "Orr"


def test_a_header_of_two_lines_says_how_its_second_is_named(tmp_path):
    lines = ("Given,Family", "Al,Orr")
    path = a_csv(tmp_path, *lines, header="First name,Surname")
    told = imported("contact", path, "--map", "Given=FirstName").err
    assert "--map: the file has no column Given. Row 2 has it: say --header-row 2." in told

    given = ("--map", "Given=FirstName", "--map", "Family=LastName", "--header-row", "2")
    assert imported("contact", path, *given).out.startswith("1 row: 1 new")
    assert "--map: the file has no column Age." in imported("contact", path, "--map", "Age=Birthday").err


def test_the_first_sheet_with_headers_that_are_understood_is_read(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["Please read: the list is on the sheet People"])
    book.create_sheet("Empty")
    for name in ("Old people", "People", "More people"):
        book.create_sheet(name).append(["First name", "Surname"])
        book[name].append(["Ida", name])
    book["Old people"].sheet_state = "hidden"
    book.save(tmp_path / "people.xlsx")

    result = imported("contact", tmp_path / "people.xlsx")

    assert result.lines[0] == "Read from the sheet People; --sheet names another of 5."
    assert Contact.objects.get().last_name == "People"
    result = imported("contact", tmp_path / "people.xlsx", "--sheet", "Sheet")
    assert "Not understood: column A “Please read" in result.err


def test_a_row_of_a_workbook_with_several_sheets_is_named_with_its_sheet(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "Notes"
    sheet = book.create_sheet("People")
    for row in (["First name", "Surname"], ["Al", None]):
        sheet.append(row)
    book.save(tmp_path / "people.xlsx")

    result = imported("contact", tmp_path / "people.xlsx", "--sheet", "People")

    assert "sheet People, row 2, B2 (Surname): Required" in result.err


def test_headers_of_other_systems_are_understood(tmp_path):
    header = "ID,First name,Surname,Mob,Addr,P/code"
    path = a_csv(tmp_path, "17,Al,Orr,0412 345 678,1 Low Road,7000", header=header)

    assert imported("contact", path).out.startswith("1 row: 1 new, 0 changed, 0 unchanged, 0 rejected.")

    al = Contact.objects.get(unique_code="17")
    assert (al.phone1, al.street_address, al.post_code) == ("0412 345 678", "1 Low Road", "7000")


def test_rejected_rows_are_written_to_the_current_folder(tmp_path):
    folder, here = tmp_path / "shared", tmp_path / "here"
    folder.mkdir()
    here.mkdir()
    path = a_csv(folder, *GOOD, FAULTY["no first name"][0])
    with contextlib.chdir(here), pytest.raises(SystemExit):
        call_command("import_records", "contact", str(path), stdout=io.StringIO(), stderr=io.StringIO())
    assert [found.name for found in folder.iterdir()] == ["people.csv"]
    assert [found.name for found in here.iterdir()] == ["people.errors.csv"]


def test_a_dry_run_overwrites_no_file_of_rejected_rows(tmp_path):
    path, errors = a_csv(tmp_path, FAULTY["no first name"][0]), tmp_path / "people.errors.csv"
    errors.write_text("precious")

    assert imported("contact", path, "--dry-run").status == 1
    reported = imported("contact", path, "--dry-run", "--errors", str(errors))

    assert (reported.status, "a dry run overwrites no file" in reported.err) == (2, True)
    assert errors.read_text() == "precious"


def test_a_row_may_name_a_contact_that_a_later_row_creates(tmp_path):
    path = a_csv(
        tmp_path,
        "C1,Al,Orr,C2,Mother",
        "C2,Eve,Orr,C3,Nominee",
        "C3,Flo,Orr,,",
        "C4,Gil,Orr,C9,Nominee",
        header="Code,First name,Surname,Representative/ContactUniqueCode,Relationship",
    )

    result = imported("contact", path)

    assert result.out.startswith("4 rows: 3 new, 0 changed, 0 unchanged, 1 rejected")
    assert (
        "row 5, D5 (Representative/ContactUniqueCode): NotFound: There is no contact called C9." in result.err
    )
    names = dict(Contact.objects.values_list("first_name", "representative__first_name"))
    assert names == {"Al": "Eve", "Eve": "Flo", "Flo": None}


def test_a_contact_without_code_and_number_is_named_by_its_email_and_names(tmp_path):
    for name, email in (("Eve", "eve@example.org"), ("Ivy", "eve@example.org")):
        Contact.objects.create(first_name=name, last_name="Orr", primary_email=email)
    header = "First name,Surname,Representative/ContactPrimaryEmail,Representative/ContactFirstName"
    path = a_csv(tmp_path, "Al,Orr,eve@example.org,Ivy", "Bo,Orr,eve@example.org,", header=header)

    result = imported("contact", path)

    assert "row 3, C3 (Representative/ContactPrimaryEmail): Ambiguous: 2 contacts have it" in result.err
    assert Contact.objects.get(first_name="Al").representative.first_name == "Ivy"


@pytest.mark.postgres("SQLite keeps no statistics")
def test_postgresql_looks_at_a_table_that_an_import_fills(tmp_path, monkeypatch):
    def analyses(path):
        with CaptureQueriesContext(connection) as statements:
            imported("contact", path)
        return [each["sql"] for each in statements if each["sql"].startswith("ANALYZE")]

    monkeypatch.setattr(runs, "BATCH", 1)
    monkeypatch.setattr(runs, "FIRST_ANALYSIS", len(GOOD))
    assert analyses(a_csv(tmp_path, *GOOD[:-1])) == []
    Contact.objects.all().delete()
    assert analyses(a_csv(tmp_path, *GOOD)) == ['ANALYZE (SKIP_LOCKED) "people_contact"']
