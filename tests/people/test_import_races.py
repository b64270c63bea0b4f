"""Imports beside other writers on connections of their own: nothing is lost, nothing is created twice."""

import pytest

from apps.base.declaration import service
from apps.core.importing import runs
from apps.core.importing.definition import ImportOptions
from apps.core.models import Change
from apps.people.models import Contact
from tests.api.caller import Caller, an_application
from tests.people.builders import a_contact_body
from tests.people.import_files import a_csv
from tests.races import call_at_once

pytestmark = [
    pytest.mark.postgres("SQLite has one writer and its test database one connection"),
    pytest.mark.django_db(transaction=True),
]

ROWS = 200


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(runs, "BATCH", 20)


def contact_file(folder, header, row):
    return a_csv(folder, *(row.format(number=number) for number in range(ROWS)), header=header)


def import_contacts(path, errors):
    """The counts of an import, and its issues as the user sees them."""
    issues = []
    contact = service.get_service().by_path["contact"]
    options = ImportOptions(errors=path.parent / errors)
    report = runs.import_file(
        contact, path, options, runs.ImportDisplay(show_issue=lambda issue, line: issues.append(line))
    )
    return report.counts, issues


@pytest.mark.parametrize(
    ("header", "row"),
    {
        "by a unique code": ("Code,First name,Surname", "C{number},Ada,Orr"),
        "by a number that need not be unique": ("NDIS No,First name,Surname", "43{number:07},Ada,Orr"),
        "by equality": ("First name,Surname,Mobile", "Ada,Orr,04{number:08}"),
    }.values(),
)
def test_two_imports_of_the_same_new_contacts_create_each_once(tmp_path, header, row):
    path = contact_file(tmp_path, header, row)

    results = call_at_once(
        lambda: import_contacts(path, "first.csv"), lambda: import_contacts(path, "second.csv")
    )

    assert [issues for _, issues in results] == [[], []]
    assert [counts.records for counts, _ in results] == [ROWS, ROWS]
    assert sum(counts.new for counts, _ in results) == ROWS
    assert sum(counts.unchanged for counts, _ in results) == ROWS
    assert Contact.objects.count() == ROWS
    assert Change.objects.filter(kind="Created", channel="Import").count() == ROWS


def test_an_import_beside_creations_by_the_api_loses_nothing_and_creates_nothing_twice(tmp_path):
    path = contact_file(tmp_path, "Code,First name,Surname", "C{number},Eve,Orr")
    caller = Caller(an_application())

    def create_contacts():
        bodies = [a_contact_body(UniqueCode=f"c{number}") for number in range(5, ROWS, 20)]
        return [caller.post("contact", body).status_code for body in bodies]

    (counts, issues), statuses = call_at_once(lambda: import_contacts(path, "errors.csv"), create_contacts)

    # A contact that the API creates after the rows of its batch were compared is in the way of its row.
    assert all("NotUnique: Another contact has it already." in issue for issue in issues)
    assert set(statuses) <= {201, 400, 409}
    assert counts.new == ROWS - statuses.count(201)
    assert counts.changed + counts.rejected == statuses.count(201)
    assert Contact.objects.count() == ROWS
    assert Contact.objects.exclude(first_name="Eve").count() == counts.rejected
