"""Files of another database go by names, numbers and codes; its guids say nothing here."""

import io

import pytest
from django.core.management import call_command

from apps.people.models import Client, Contact, Location, Position, Role, Staff, Team
from tests.people.import_files import imported

pytestmark = pytest.mark.django_db


def exported(resource, path):
    call_command("export_records", resource, str(path), stdout=io.StringIO(), skip_checks=True)
    return path


@pytest.fixture
def people():
    role = Role.objects.create(name="Coordinator")
    boss = Staff.objects.create(
        first_name="Bea", last_name="Ott", primary_email="bea@example.org", use_primary_email=True, role=role
    )
    boss.teams.set([Team.objects.create(name="North"), Team.objects.create(name="South")])
    Staff.objects.create(
        first_name="Cy",
        last_name="Pym",
        primary_email="cy@example.org",
        use_primary_email=True,
        role=role,
        position=Position.objects.create(name="Cook"),
        location=Location.objects.create(name="Bay"),
        account_manager=boss,
    )
    client = Client.objects.create(business_name="Harbour Care", unique_code="HC")
    Contact.objects.create(first_name="Zoë", last_name="O’Brien", unique_code="Z1", client=client)
    Contact.objects.create(first_name="Al", last_name="Orr", scheme_number="430000001", client=client)


def forget_people():
    Contact.objects.all().delete()
    Client.objects.all().delete()
    Staff.objects.update(account_manager=None)
    Staff.objects.all().delete()


@pytest.mark.parametrize("ending", ["csv", "xlsx", "json", "ndjson"])
def test_people_go_into_another_database_by_name(tmp_path, people, ending):
    files = {name: exported(name, tmp_path / f"{name}.{ending}") for name in ("staff", "client", "contact")}
    forget_people()

    for name, path in files.items():
        number = 1 if name == "client" else 2
        result = imported(name, path, "--by-name")
        assert f": {number} new, 0 changed, 0 unchanged, 0 rejected." in result.out, result.err
        assert f": 0 new, 0 changed, {number} unchanged" in imported(name, path, "--by-name").out

    cy = Staff.objects.get(primary_email="cy@example.org")
    assert (cy.role.name, cy.position.name, cy.location.name) == ("Coordinator", "Cook", "Bay")
    bea = Staff.objects.get(primary_email="bea@example.org")
    assert sorted(team.name for team in bea.teams.all()) == ["North", "South"]
    assert {contact.client.unique_code for contact in Contact.objects.all()} == {"HC"}


def test_guids_that_are_not_read_are_reported(tmp_path, people):
    result = imported("staff", exported("staff", tmp_path / "staff.csv"), "--by-name")
    assert result.lines[0] == (
        "Guids of another database, not read: StaffGuid, Teams/TeamId, AccountManager/StaffGuid,"
        " PrimaryRole/RoleGuid, PositionTitle/PositionGuid, Location/LocationGuid."
    )
