"""Texts as people write them: forms and imports correct them alike, the interface takes what it documents."""

import datetime as dt

import pytest
import time_machine

from apps.base.declaration.values import WireValueError
from apps.people.entered_texts import CLEANERS
from apps.people.models import Client, Contact
from apps.people.validation import PERSON_WARNINGS
from tests.people.import_files import a_csv, imported
from tests.people.records import a_contact, an_administrator, form_data

pytestmark = pytest.mark.django_db

#: Column, what is written, what is stored, and the code of the warning.
CORRECTED = [
    ("scheme_number", "431 000 195", "431000195", ""),
    ("scheme_number", "NDIS 431000195", "431000195", ""),
    ("scheme_number", "ndis no. 431-000-195", "431000195", ""),
    ("scheme_number", "431000221.0", "431000221", ""),
    ("scheme_number", "4.31000221E+08", "431000221", ""),
    ("scheme_number", "n/a", "", ""),
    ("scheme_number", "4310oo221", "4310oo221", ""),
    ("business_number", "51-824-753-556", "51824753556", ""),
    ("business_number", "ABN 51 824 753 556", "51824753556", ""),
    ("business_number", "51824753556.0", "51824753556", ""),
    ("business_number", "51 824 753 556", "51 824 753 556", ""),
    ("business_number", "NZBN 9429-000", "NZBN 9429-000", ""),
    ("gender", "M", "Male", ""),
    ("gender", "female", "Female", ""),
    ("gender", "not stated", "Unspecified", ""),
    ("primary_email", "none", "", ""),
    ("primary_email", "N/A", "", ""),
    ("secondary_email", "-", "", ""),
    ("primary_email", "na@example.org", "na@example.org", ""),
    ("first_name", "Anna  Maria", "Anna Maria", ""),
    ("business_name", "Low\tRoad  Pty", "Low Road Pty", ""),
    ("phone1", "4.12345678E+08", "0412345678", "LeadingZeroRestored"),
    ("phone1", "6.1298765432E+10", "61298765432", "NumberRestored"),
    ("phone2", "298765432", "0298765432", "LeadingZeroRestored"),
    ("home_phone", "412 345 678", "0412 345 678", "LeadingZeroRestored"),
    ("business_phone", "298765432.0", "0298765432", "LeadingZeroRestored"),
    ("phone1", "n/a", "", ""),
    ("phone1", "1300 975 707", "1300 975 707", ""),
    ("phone1", "61412345678", "61412345678", ""),
    ("phone1", "912345678", "912345678", ""),
    ("post_code", "2150.0", "2150", ""),
    ("state", "Victoria", "VIC", "StateAbbreviated"),
    ("state", "N/A", "", ""),
    ("scheme_number", "'431000195", "431000195", ""),
    ("business_number", "'51 824 753 556", "51 824 753 556", ""),
    ("business_number", "n/a", "", ""),
    ("phone1", "'0412 345 678", "0412 345 678", ""),
    ("phone1", "’412345678", "0412345678", "LeadingZeroRestored"),
    ("business_phone", "'(02) 6555 1234", "(02) 6555 1234", ""),
    ("post_code", "'0830", "0830", ""),
    ("unique_code", "'000123", "000123", ""),
    ("unique_code", "O'Brien", "O'Brien", ""),
    ("gender", "X", "Unspecified", ""),
    ("gender", "Prefer not to say", "Unspecified", ""),
    ("gender", "Non-binary", "Unspecified", "GenderUnspecified"),
]


@pytest.mark.parametrize(("column", "text", "stored", "code"), CORRECTED)
def test_a_text_is_corrected(column, text, stored, code):
    corrected = CLEANERS[column](text)
    assert (corrected.text, corrected.code) == (stored, code)
    if stored:
        assert CLEANERS[column](stored).text == stored


@pytest.mark.parametrize("text", ["4.12E+08", "4.1234567E+08", "4E+08", "4,12E8"])
@pytest.mark.parametrize("column", ["phone1", "scheme_number", "business_number"])
def test_a_number_that_lost_digits_is_refused(column, text):
    with pytest.raises(WireValueError, match="kept the first digits only; look it up") as fault:
        CLEANERS[column](text)
    assert fault.value.code == "DigitsLost"


def test_every_corrected_column_is_one_of_people_or_organisations():
    columns = {field.name for model in (Client, Contact) for field in model._meta.concrete_fields}
    assert CLEANERS.keys() <= columns


# --- both ways in ---------------------------------------------------------------------------------------

WRITTEN = {
    "first_name": "Anna  Maria",
    "last_name": "Quill",
    "scheme_number": "NDIS 431 000 195",
    "primary_email": "none",
    "phone1": "298765432",
    "birthday": "15-Mar-40",
    "partner_birthday": "05/01/1941 12:00:00 AM",
    "state": "QLD",
}
STORED = {
    "first_name": "Anna Maria",
    "last_name": "Quill",
    "scheme_number": "431000195",
    "primary_email": None,
    "phone1": "0298765432",
    "birthday": dt.date(1940, 3, 15),
    "partner_birthday": dt.date(1941, 1, 5),
    "state": "QLD",
    "country": "Australia",
}


def test_a_list_is_stored_as_it_is_meant(tmp_path):
    header = "First name,Surname,NDIS No,Email,Mobile,DOB,PartnerBirthday,State,Sex"
    path = a_csv(tmp_path, ",".join([*WRITTEN.values(), "F"]), header=header)

    result = imported("contact", path, "--day-first")

    assert result.out.startswith("1 row: 1 new, 0 changed, 0 unchanged, 0 rejected; 1 row with warnings.")
    assert [line.split(": ")[1] for line in result.lines] == ["warning LeadingZeroRestored"]
    contact = Contact.objects.get()
    assert {name: getattr(contact, name) for name in STORED} == STORED
    assert contact.gender == "Female"
    assert imported("contact", path, "--day-first").out.startswith("1 row: 0 new, 0 changed, 1 unchanged")


def test_a_form_stores_the_same(client):
    client.force_login(an_administrator())
    page = client.get("/admin/people/contact/add/")

    answer = client.post("/admin/people/contact/add/", form_data(page, **WRITTEN), follow=True)

    contact = Contact.objects.get()
    assert {name: getattr(contact, name) for name in STORED} == STORED
    assert "It is taken as 0298765432." in answer.content.decode()


@pytest.mark.parametrize("day", ["12/25/1990", "31/02/1990", "44562", "soon"])
def test_a_form_refuses_what_is_no_day_without_advice_for_files(client, day):
    client.force_login(an_administrator())
    page = client.get("/admin/people/contact/add/")
    names = {"first_name": "Ida", "last_name": "Quill"}

    answer = client.post("/admin/people/contact/add/", form_data(page, **names, birthday=day))

    assert answer.context["adminform"].form.errors["birthday"] == ["Enter a valid date."]


# --- a state of Australia without a country -------------------------------------------------------------


def test_a_state_without_a_country_is_one_of_australia_at_every_import(tmp_path):
    rows = ("Ida,Quill,TAS,", "Ned,Fox,n.s.w.,", "Mei,Tan,,New Zealand", "Al,Orr,,")
    path = a_csv(tmp_path, *rows, header="First name,Surname,State,Country")

    assert imported("contact", path).out.startswith("4 rows: 4 new, 0 changed, 0 unchanged, 0 rejected")
    countries = Contact.objects.order_by("first_name").values_list("country", flat=True)
    assert list(countries) == [None, "Australia", "New Zealand", "Australia"]
    assert imported("contact", path).out.startswith("4 rows: 0 new, 0 changed, 4 unchanged, 0 rejected")


def test_a_state_that_is_none_of_australia_is_named_where_it_has_no_country(tmp_path):
    path = a_csv(tmp_path, "Ida,Quill,NSW 2042", "Ned,Fox,N/A", header="First name,Surname,State")
    result = imported("contact", path)
    assert result.out.startswith("2 rows: 1 new, 0 changed, 0 unchanged, 1 rejected")
    assert result.lines[0] == (
        "row 2: Required: Address/Country: The country is required when a state is given. “NSW 2042” is no"
        " state of Australia."
    )


def test_a_list_without_countries_leaves_those_that_are_stored(tmp_path):
    a_contact(unique_code="P-1", country=None)
    a_contact(unique_code="P-2", country="New Zealand")
    rows = ("P-1,QLD", "P-2,Queensland")

    result = imported("contact", a_csv(tmp_path, *rows, header="Code,State"))

    assert result.out.startswith("2 rows: 0 new, 2 changed, 0 unchanged, 0 rejected")
    stored = Contact.objects.order_by("unique_code").values_list("state", "country")
    assert list(stored) == [("QLD", "Australia"), ("QLD", "New Zealand")]


# --- what stands for nothing is warned of ---------------------------------------------------------------


@time_machine.travel(dt.datetime(2026, 11, 23, 12, tzinfo=dt.UTC))
def test_placeholders_are_warned_of(tmp_path):
    rows = ("Ida,N/A,01/01/1900", "-,Quill,31/12/1985", "Ned,Fox,24/12/2026", "Na,Kim,23/11/1907")

    result = imported("contact", a_csv(tmp_path, *rows, header="First name,Surname,DOB"))

    assert "4 rows: 4 new, 0 changed, 0 unchanged, 0 rejected; 4 rows with warnings." in result.out
    assert [line.partition(": warning ")[2] for line in result.lines] == [
        "PlaceholderName: It seems to stand for a name that was not known. It is “N/A”.",
        "UnusualBirthday: Nobody is 126 years old: was the birthday unknown? It is “01/01/1900”.",
        "PlaceholderName: It seems to stand for a name that was not known. It is “-”.",
        "UnusualBirthday: This day is still to come. It is “24/12/2026”.",
        "PlaceholderName: It seems to stand for a name that was not known. It is “Na”.",
    ]
    assert len(PERSON_WARNINGS) > 2
