"""What is exported can be imported again and changes nothing; no cell is a formula to a spreadsheet."""

import csv
import io
import json

import openpyxl
import pytest
from django.core.management import CommandError, call_command
from openpyxl.worksheet import _writer
from openpyxl.worksheet._writer import ALL_TEMP_FILES

from apps.core.models import Change
from apps.people.models import Client, Contact, Position, Role, Staff, Team
from tests.people.import_files import imported

pytestmark = pytest.mark.django_db


def exported(resource, path, **words):
    out = io.StringIO()
    call_command("export_records", resource, str(path), stdout=out, skip_checks=True, **words)
    return out.getvalue()


@pytest.fixture
def people():
    role = Role.objects.create(name="Coordinator")
    boss = Staff.objects.create(
        first_name="Bea", last_name="Ott", primary_email="bea@example.org", role=role, use_primary_email=True
    )
    boss.teams.set([Team.objects.create(name="North"), Team.objects.create(name="South")])
    Staff.objects.create(
        first_name="=cmd|' /C calc'!A0",
        last_name="'-Odd",
        primary_email="odd@example.org",
        use_primary_email=True,
        role=role,
        position=Position.objects.create(name="Cook"),
        account_manager=boss,
        working_hours_per_week=38,
        commencement_date="2020-02-29",
        disable_login_date="2031-04-06T02:30:00+10:00",
    )
    client = Client.objects.create(business_name="Harbour “Café”, Pty\nLtd", country="Australia", state="NSW")
    contact = Contact.objects.create(
        first_name="Zoë",
        last_name="O’Brien",
        phone1="+61 400 000 000",
        phone2="0400",
        client=client,
        birthday="1990-03-02",
        number_of_children=-0,
        additional_information="@home\n\ttabbed; and more",
    )
    Contact.objects.create(
        first_name="Al", last_name="Orr", representative=contact, representative_relationship="Mother"
    )
    client.key_contact = contact
    client.save()


@pytest.mark.parametrize("ending", ["csv", "xlsx", "json", "ndjson"])
@pytest.mark.parametrize("resource", ["staff", "client", "contact"])
def test_an_export_imported_again_changes_nothing(tmp_path, people, resource, ending):
    path = tmp_path / f"all.{ending}"
    reported = exported(resource, path)
    history = Change.objects.count()

    result = imported(resource, path)

    number = 1 if resource == "client" else 2
    assert reported.startswith(f"{number} record")
    assert result.out.startswith(f"{number} row{'s' * (number > 1)}: 0 new, 0 changed, {number} unchanged, 0")
    assert Change.objects.count() == history


def test_an_export_edited_and_imported_changes_what_was_edited(tmp_path, people):
    path = tmp_path / "staff.csv"
    exported("staff", path)
    text = path.read_text(encoding="utf-8-sig").replace("Cook", "Cook").replace("odd@", "even@")
    path.write_text(text, encoding="utf-8")

    assert imported("staff", path).out.startswith("2 rows: 0 new, 1 changed, 1 unchanged")
    assert Staff.objects.get(last_name="'-Odd").primary_email == "even@example.org"


def test_no_cell_of_an_export_is_a_formula(tmp_path, people):
    exported("staff", tmp_path / "staff.csv")
    with (tmp_path / "staff.csv").open(encoding="utf-8-sig", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert "'=cmd|' /C calc'!A0" in cells
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@\t\r")]

    exported("staff", tmp_path / "staff.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "staff.xlsx").active
    assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {"s", "n", "d", "b"}
    assert "=cmd|' /C calc'!A0" in [cell.value for row in sheet.iter_rows() for cell in row]


def test_a_workbook_that_the_disk_has_no_space_for_says_so_and_leaves_nothing(tmp_path, people, monkeypatch):
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    monkeypatch.setattr(_writer, "create_temporary_file", lambda: ALL_TEMP_FILES.append(full) or full)
    with pytest.raises(CommandError, match=r"c\.xlsx cannot be written: No space left on device\."):
        exported("contact", tmp_path / "c.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_an_export_has_the_filtered_records_and_the_chosen_columns(tmp_path, people):
    path = tmp_path / "contacts.csv"
    reported = exported(
        "contact", path, filter="Client/BusinessName ne null", columns="LastName,Client/BusinessName,Phone1"
    )
    assert reported.startswith("1 record in ")
    with path.open(encoding="utf-8-sig", newline="") as file:
        header, row = csv.reader(file)
    assert header == ["LastName", "Phone1", "Client/BusinessName"]
    assert row == ["O’Brien", "'+61 400 000 000", "Harbour “Café”, Pty\nLtd"]


def test_json_shows_records_as_the_interface_does(tmp_path, people):
    exported(
        "contact",
        tmp_path / "c.json",
        filter="FirstName eq 'Al'",
        columns="FirstName,Representative/FirstName",
    )
    key = str(Contact.objects.get(first_name="Al").pk)  # $select answers it as well
    assert json.loads((tmp_path / "c.json").read_text()) == {
        "value": [{"ContactGuid": key, "FirstName": "Al", "Representative": {"FirstName": "Zoë"}}]
    }


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        ({"filter": "Nam eq 1"}, "Nam"),
        ({"filter": "FirstName eq"}, "filter"),
        ({"columns": "Nam"}, "Nam"),
    ],
)
def test_an_invalid_filter_is_reported_and_no_file_is_left(tmp_path, people, words, reported):
    with pytest.raises(CommandError, match=reported) as refusal:
        exported("contact", tmp_path / "c.csv", **words)
    assert refusal.value.returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_resource_or_format_is_reported(tmp_path):
    with pytest.raises(CommandError, match="There is no resource invoices; there are"):
        exported("invoices", tmp_path / "c.csv")
    with pytest.raises(CommandError, match=r"c\.pdf is none of \.csv"):
        exported("contact", tmp_path / "c.pdf")
