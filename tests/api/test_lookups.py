"""The short lists that bodies are filled from: role, position, location, team, customField."""

import pytest

from tests.api.caller import ok, refused
from tests.people.builders import a_location, a_position, a_role, a_team

LOOKUPS = {"role": a_role, "position": a_position, "location": a_location, "team": a_team}

each = pytest.mark.parametrize("path", LOOKUPS)


@each
def test_a_lookup_comes_by_name_in_code_point_order(api, path):
    for name in ("b", "C", "ä", "a", "Z"):
        LOOKUPS[path](name=name)
    assert [row["Name"] for row in ok(api.get(path))["value"]] == ["C", "Z", "a", "b", "ä"]


@each
def test_an_archived_entry_is_distinguished_by_its_date(api, path):
    kept = LOOKUPS[path](name="Kept")
    gone = LOOKUPS[path](name="Gone", archive_date="2024-01-01T00:00:00Z")
    assert [row["Name"] for row in ok(api.get(path))["value"]] == ["Gone", "Kept"]
    assert [row["Name"] for row in ok(api.get(path, {"$filter": "ArchiveDate eq null"}))["value"]] == ["Kept"]
    assert ok(api.get(f"{path}/{gone.pk}"))["ArchiveDate"] == "2024-01-01T11:00:00+11:00"
    assert ok(api.get(f"{path}({kept.pk})"))["Name"] == "Kept"


@each
def test_a_lookup_is_only_read(api, path):
    entry = LOOKUPS[path]()
    refused(api.post(path, {"value": [{"Name": "New"}]}), 405, "MethodNotAllowed")
    refused(api.put(f"{path}/{entry.pk}", {"Name": "New"}), 405, "MethodNotAllowed")
    assert ok(api.get(path, {"$count": "true"}))["@odata.count"] == 1


def test_a_role_does_not_tell_what_it_permits(api):
    a_role(all_permissions=True)
    row = ok(api.get("role", {"$expand": "*"}))["value"][0]
    assert list(row) == ["RoleGuid", "Name", "CreationDate", "ModifyDate", "ArchiveDate"]


def test_a_team_is_named_by_its_number(api):
    team = a_team()
    assert ok(api.get(f"team/{team.pk}"))["TeamId"] == team.pk
    for wrong, status in (
        ("0", 404),
        ("-1", 404),
        (str(2**31), 400),
        (str(10**30), 400),
        ("1.0", 400),
        ("x", 400),
    ):
        assert api.get(f"team/{wrong}").status_code == status, wrong
    assert len(ok(api.get("team", {"$filter": f"TeamId eq {team.pk}"}))["value"]) == 1
    assert ok(api.get("team", {"$filter": f"TeamId eq {2**40}"}))["value"] == []
