"""PUT /staff/{StaffGuid}: the record becomes what the body says (interface.md 4.1)."""

import uuid

import pytest

from apps.core.models import Change
from apps.people.models import CustomFieldAnswer, Role, Staff
from tests.api.caller import Caller, an_application, faults, ok, refused
from tests.api.conftest import a_whole_staff_body, an_answer
from tests.people.builders import a_role, a_staff_body, a_staff_member, a_team

ECHO = (
    "http://testserver/api/$metadata#Staff(CustomFields(),Teams(),AccountManager(),"
    "PrimaryRole(),PositionTitle(),Location())/$entity"
)


@pytest.fixture
def role(db):
    return a_role()


@pytest.fixture
def member(api, role):
    """A whole record, as GET shows it expanded."""
    team, manager = a_team(), a_staff_member(role=role)
    body = a_whole_staff_body(
        role=role, Teams=[{"TeamId": team.pk}], AccountManager={"StaffGuid": str(manager.pk)}
    )
    return ok(api.post("staff", body), 201)


def address(member):
    return f"staff/{member['StaffGuid']}"


def read(api, member):
    return ok(api.get(address(member), {"$expand": "*"}))


def test_what_the_body_leaves_out_becomes_null_or_its_default(api, role, member):
    least = a_staff_body(role, FirstName="New", PrimaryEmail=member["PrimaryEmail"])
    answer = api.put(address(member), least)
    shown = ok(answer)
    assert shown["@odata.context"] == ECHO
    assert shown == read(api, member)
    assert shown["FirstName"] == "New"
    kept = {"StaffGuid", "FirstName", "LastName", "PrimaryEmail", "PrimaryRole", "CreationDate", "ModifyDate"}
    rest = {name: shown[name] for name in shown if name not in kept and not name.startswith("@")}
    assert {name: value for name, value in rest.items() if value not in (None, [], False)} == {
        "AcceptsEmailContact": "Yes",
        "AcceptsSmsContact": "Yes",
        "UsePrimaryEmail": True,
    }
    assert shown["CreationDate"] == member["CreationDate"]
    assert shown["ModifyDate"] > member["ModifyDate"]


def test_a_misspelt_member_is_a_member_left_out(api, role, member):
    body = a_staff_body(role, phone1="1", Phone_1="2", PrimaryEmail=member["PrimaryEmail"])
    assert ok(api.put(address(member), body))["Phone1"] is None


def test_what_was_read_can_be_put_back_and_changes_nothing(api, member):
    before = read(api, member)
    lines = Change.objects.count()
    answer = api.put(address(member), before)
    assert ok(answer) == before
    assert Change.objects.count() == lines


def test_everything_can_be_changed_at_once(api, role, member):
    body = a_whole_staff_body(
        role=role,
        PrimaryEmail="other@example.org",
        UniqueCode="s-1",
        Gender="Male",
        Teams=[],
        AccountManager=None,
        Address={"City": "Rome"},
        PostalAddress=None,
    )
    shown = ok(api.put(address(member), body))
    assert (shown["PrimaryEmail"], shown["UniqueCode"], shown["Gender"]) == (
        "other@example.org",
        "s-1",
        "Male",
    )
    assert (shown["Teams"], shown["AccountManager"], shown["PostalAddress"]) == ([], None, None)
    assert shown["Address"]["City"] == "Rome"


def test_stamps_keys_and_secrets_cannot_be_put(api, role, member):
    Staff.objects.filter(pk=member["StaffGuid"]).update(password="kept", archive_date="2024-01-01T00:00:00Z")
    body = a_staff_body(
        role,
        PrimaryEmail=member["PrimaryEmail"],
        StaffGuid=str(uuid.uuid4()),
        CreationDate="2000-01-01",
        ModifyDate="2000-01-01",
        ArchiveDate=None,
        password="stolen",
        last_login="2000-01-01",
        is_superuser=True,
    )
    shown = ok(api.put(address(member), body))
    assert shown["StaffGuid"] == member["StaffGuid"]
    assert shown["CreationDate"] == member["CreationDate"]
    assert shown["ArchiveDate"] == "2024-01-01T11:00:00+11:00"
    assert Staff.objects.get(pk=member["StaffGuid"]).password == "kept"


def test_answers_to_custom_fields_stay(api, role, member):
    an_answer("Staff", "Shirt", "M", staff_id=member["StaffGuid"])
    shown = ok(
        api.put(address(member), a_staff_body(role, PrimaryEmail=member["PrimaryEmail"], CustomFields=[]))
    )
    assert [one["Name"] for one in shown["CustomFields"]] == ["Shirt"]
    assert CustomFieldAnswer.objects.count() == 1


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"FirstName": None}, [("Required", "FirstName")]),
        ({"PrimaryRole": None, "LastName": "x" * 91}, [("TooLong", "LastName"), ("Required", "PrimaryRole")]),
        ({"SendBirthdayReminder": True}, [("Required", "Birthday")]),
        ({"Teams": [{"TeamId": 0}]}, [("NotFound", "Teams[0]/TeamId")]),
        ({"Address": {"State": "NSW"}}, [("Required", "Address/Country")]),
    ],
)
def test_the_rules_hold_and_places_have_no_number(api, role, member, members, expected):
    before = read(api, member)
    assert faults(api.put(address(member), a_staff_body(role, **members))) == expected
    assert read(api, member) == before


def test_another_persons_email_and_code_are_refused_but_the_own_are_not(api, role, member):
    a_staff_member(PrimaryEmail="taken@example.org", UniqueCode="taken", role=role)
    body = a_staff_body(role, PrimaryEmail="TAKEN@example.org", UniqueCode="Taken ")
    assert set(faults(api.put(address(member), body))) == {
        ("NotUnique", "PrimaryEmail"),
        ("NotUnique", "UniqueCode"),
    }
    own = a_staff_body(role, PrimaryEmail=member["PrimaryEmail"].upper(), UniqueCode=" s-1")
    ok(api.put(address(member), own))


def test_nobody_becomes_their_own_account_manager(api, role, member):
    body = a_staff_body(role, AccountManager={"StaffGuid": member["StaffGuid"]})
    assert faults(api.put(address(member), body)) == [("NotAllowed", "AccountManager/StaffGuid")]


def test_an_archived_role_may_be_kept_but_not_chosen(api, role, member):
    other = a_role(archive_date="2024-01-01T00:00:00Z")
    Role.objects.filter(pk=role.pk).update(archive_date="2024-01-01T00:00:00Z")
    ok(api.put(address(member), a_staff_body(role, PrimaryEmail=member["PrimaryEmail"])))
    assert faults(api.put(address(member), a_staff_body(other))) == [("Archived", "PrimaryRole/RoleGuid")]


def test_an_unknown_guid_is_404_and_makes_nobody(api, role):
    refused(api.put(f"staff/{uuid.uuid4()}", a_staff_body(role)), 404, "NotFound")
    refused(api.put("staff/x", a_staff_body(role)), 400, "InvalidGuid")
    assert not Staff.objects.exists()


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b'{"value": [{}]}', b'"x"'])
def test_a_body_that_is_no_bare_record_is_refused(api, member, raw):
    before = read(api, member)
    assert api.put(address(member), raw).status_code == 400
    assert read(api, member) == before


def test_every_spelling_of_the_address_is_the_same_record(api, role, member):
    guid = member["StaffGuid"]
    for number, spelling in enumerate(
        (f"staff({guid})", f"STAFF/{guid.upper()}/", f"staff(StaffGuid='{guid}')")
    ):
        body = a_staff_body(role, FirstName=f"N{number}", PrimaryEmail=member["PrimaryEmail"])
        assert ok(api.put(spelling, body))["FirstName"] == f"N{number}"


# --- If-Match --------------------------------------------------------------------------------------------


def test_a_put_with_a_stale_tag_is_412_and_changes_nothing(api, role, member):
    tag = api.get(address(member))["ETag"]
    body = a_staff_body(role, FirstName="First", PrimaryEmail=member["PrimaryEmail"])
    answer = api.put(address(member), body, If_Match=tag)
    assert ok(answer)["FirstName"] == "First"
    assert answer["ETag"] == api.get(address(member))["ETag"] != tag
    late = {**body, "FirstName": "Second"}
    for stale in (tag, 'W/"0"', "x"):
        refused(api.put(address(member), late, If_Match=stale), 412, "PreconditionFailed")
    assert read(api, member)["FirstName"] == "First"
    for current in ("*", "{}", '"x", {}'):
        tag = api.get(address(member))["ETag"]
        late["FirstName"] += "x"
        ok(api.put(address(member), late, If_Match=current.format(tag)))


def test_a_stale_tag_is_reported_before_the_faults_of_the_body(api, member):
    refused(api.put(address(member), {"FirstName": 1}, If_Match='W/"0"'), 412, "PreconditionFailed")


def test_a_caller_may_prefer_no_answer(api, role, member):
    body = a_staff_body(role, FirstName="Quiet", PrimaryEmail=member["PrimaryEmail"])
    answer = api.put(address(member), body, Prefer="return=minimal")
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer["Preference-Applied"] == "return=minimal"
    assert answer["ETag"] == api.get(address(member))["ETag"]
    assert read(api, member)["FirstName"] == "Quiet"


# --- who did it ------------------------------------------------------------------------------------------


def test_the_history_tells_what_changed_from_what_to_what_and_by_whom(api, role, member):
    body = {**read(api, member), "FirstName": "Ada", "Teams": []}
    ok(api.put(address(member), body, X_Request_ID="job-18"))
    lines = Change.objects.filter(record_key=member["StaffGuid"], kind="Changed")
    told = {}
    for line in lines:
        assert (line.application, line.channel, line.request_id) == ("Integration", "API", "job-18")
        told |= line.differences
    assert told["first_name"] == ["Grace", "Ada"]
    assert told["teams"][1] == []
    assert told.keys() == {"first_name", "teams"}


def test_only_those_who_may_write_staff_put(api, role, member):
    for scope in ("read", "client.write", "staff.read"):
        caller = Caller(an_application(scope, name=scope))
        refused(caller.put(address(member), a_staff_body(role)), 403, "Forbidden")
    ok(Caller(an_application("staff.write", name="HR")).put(address(member), a_staff_body(role)))
