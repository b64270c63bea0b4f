"""GET /staff: what is told of staff, and what never is."""

import pytest

from apps.people.drafts import StaffDraft
from apps.people.models import CustomField, CustomFieldAnswer, CustomFieldResponse, Staff
from apps.people.services import update_staff
from tests.api.caller import Caller, ok, refused
from tests.api.conftest import an_answer
from tests.api.followers import Follower
from tests.people.builders import a_lookup, a_role, a_staff_body, a_staff_member, a_team, posted


def test_nothing_of_a_login_is_ever_shown(api):
    member = a_staff_member()
    member.set_password("correct horse battery")
    member.save()
    for address in ("staff", f"staff/{member.pk}"):
        text = api.get(address, {"$expand": "*"}).content.decode()
        assert member.password not in text
        assert "assword" not in text
    for asked in ("password", "Password", "last_login", "LastLogin"):
        refused(api.get("staff", {"$filter": f"startswith({asked},'a')"}), 400)
        refused(api.get("staff", {"$orderby": asked}), 400)
        refused(api.get("staff", {"$select": asked}), 400)


def test_custom_fields_show_on_one_record_with_all_their_responses_in_order(api):
    member = a_staff_member()
    first = an_answer("Staff", "Languages", "Auslan", "Français", staff_id=member.pk)
    second = an_answer("Staff", "Shirt", staff_id=member.pk)
    type(first).objects.filter(pk=first.pk).update(position=2)
    type(second).objects.filter(pk=second.pk).update(position=1)
    shown = ok(api.get(f"staff/{member.pk}", {"$expand": "CustomFields"}))
    assert shown["CustomFields"] == [
        {"CustomFieldGuid": str(second.pk), "Name": "Shirt", "Responses": []},
        {
            "CustomFieldGuid": str(first.pk),
            "Name": "Languages",
            "Responses": [{"Response": "Auslan"}, {"Response": "Français"}],
        },
    ]
    assert "CustomFields" not in ok(api.get(f"staff/{member.pk}"))
    assert "CustomFields" not in ok(api.get("staff", {"$expand": "*"}))["value"][0]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("CustomFields/any()", "AB"),
        ("not CustomFields/any()", "CD"),
        ("CustomFields/$count gt 1", "A"),
        ("CustomFields/any(f:f/Name eq 'Languages')", "AB"),
        ("CustomFields/any(f:f/Name eq 'Languages' and f/Responses/any(r:r/Response eq 'Auslan'))", "A"),
        ("CustomFields/any(f:f/Name eq 'Languages' and f/Responses/any(r:r/Response ne 'Auslan'))", "AB"),
        ("CustomFields/any(f:f/Name eq 'Shirt' and not f/Responses/any())", "A"),
        ("CustomFields/any(f:f/Responses/any(r:contains(tolower(r/Response),'fran')))", "AB"),
        ("CustomFields/all(f:f/Responses/any())", "BCD"),
        ("CustomFields/any(f:f/Responses/$count eq 2)", "AB"),
        ("CustomFields/any(f:f/CustomFieldGuid eq {guid})", "AB"),
        ("CustomFields/any(f:f/Responses/any(r:r/Response eq $it/FirstName))", "B"),
        ("AccountManager/FirstName eq 'x' or CustomFields/any(f:f/Name eq null)", ""),
    ],
)
def test_staff_are_found_by_their_custom_fields(api, condition, expected):
    members = {
        name: a_staff_member(FirstName=name, LastName="Custom") for name in ("Ada", "Bea", "Cid", "Dot")
    }
    languages = an_answer("Staff", "Languages", "Auslan", "Français", staff_id=members["Ada"].pk)
    an_answer("Staff", "Shirt", staff_id=members["Ada"].pk)
    answer = CustomFieldAnswer.objects.create(custom_field=languages, staff=members["Bea"])
    for response in ("Français", "Bea"):
        CustomFieldResponse.objects.create(answer=answer, response=response)
    query = f"LastName eq 'Custom' and ({condition.format(guid=languages.pk)})"
    found = ok(api.get("staff", {"$filter": query, "$orderby": "FirstName"}))["value"]
    assert "".join(row["FirstName"][0] for row in found) == expected
    assert all("CustomFields" not in row for row in found)
    count = ok(api.get("staff", {"$apply": f"filter({query})/aggregate($count as N)"}))["value"]
    assert count == [{"N": len(expected)}]
    of_clients = ok(api.get("client", {"$filter": "CustomFields/any(f:f/Name eq 'Languages')"}))
    assert of_clients["value"] == []


def test_custom_fields_are_looked_into_and_not_shown_in_lists(api):
    for query in (
        {"$expand": "CustomFields"},
        {"$apply": "join(CustomFields as F)/groupby((F/Name))"},
        {"$apply": "aggregate(CustomFields/$count as N)"},
        {"$orderby": "CustomFields/Name"},
    ):
        refused(api.get("staff", query), 400)


def test_a_copy_of_staff_with_an_answer_follows_its_changes(api, settings):
    settings.ODATA_CHANGE_LOG = "apps.core.change_log.SerialLog"
    shirt = a_lookup(CustomField, name="Shirt", applies_to="Staff")
    member = a_staff_member()
    condition = "CustomFields/any(f:f/Name eq 'Shirt' and f/Responses/any(r:r/Response eq 'M'))"
    follower = Follower(api, "staff", {"$filter": condition, "$select": "LastName"})
    assert follower.copy == {}
    for responses, is_found in ((["M"], True), (["L"], False), (["L", "M"], True), ([], False)):
        answers = {"custom_answers": {shirt.pk: responses}}
        update_staff([StaffDraft(answers, given=[*answers], key=member.pk)])
        follower.sync()
        assert (str(member.pk) in follower.copy) is is_found, responses


def test_a_role_or_manager_that_was_archived_still_shows_with_its_date(api):
    role, manager = a_role(name="Old"), a_staff_member()
    member = a_staff_member(role=role, AccountManager={"StaffGuid": str(manager.pk)})
    type(role).objects.update(archive_date="2024-06-30T14:00:00.250Z")
    Staff.objects.filter(pk=manager.pk).update(archive_date="2024-01-31T13:00:00Z")
    shown = ok(api.get(f"staff/{member.pk}", {"$expand": "PrimaryRole,AccountManager"}))
    assert shown["PrimaryRole"]["ArchiveDate"] == "2024-07-01T00:00:00.25+10:00"
    assert shown["AccountManager"]["ArchiveDate"] == "2024-02-01T00:00:00+11:00"


def test_a_hundred_staff_with_all_their_parts_are_one_statement(api, statements):
    role, teams = a_role(), [{"TeamId": a_team().pk} for _ in range(3)]
    posted("staff", *(a_staff_body(role, Teams=teams) for _ in range(100)))
    ok(api.get("staff"))
    asked = []
    assert len(statements(lambda: asked.append(ok(api.get("staff", {"$expand": "*"}))))) == 2
    assert [len(row["Teams"]) for row in asked[0]["value"]] == [3] * 100


# --- people who are signed in ----------------------------------------------------------------------------


@pytest.fixture
def signed_in(db, client):
    """``signed_in("people.view_client")``: a caller with the session of somebody with these permissions."""

    def of(*permissions):
        role = a_role(all_permissions="*" in permissions)
        for permission in set(permissions) - {"*"}:
            app, _, codename = permission.partition(".")
            found = role.permissions.model.objects.get(content_type__app_label=app, codename=codename)
            role.permissions.add(found)
        member = a_staff_member(role=role)
        client.force_login(member, backend="apps.people.authentication.StaffBackend")
        client.raise_request_exception = False
        return Caller(session=client), member

    return of


def test_a_session_reads_what_the_back_office_would_show(signed_in):
    caller, _ = signed_in("people.view_client")
    assert ok(caller.get("client"))["value"] == []
    refused(caller.get("staff"), 403, "Forbidden")
    assert ok(caller.get(""))


def test_a_session_never_writes(signed_in):
    caller, member = signed_in("*")
    assert ok(caller.get("staff"))
    for answer in (
        caller.post("client", {"value": [{"BusinessName": "x"}]}),
        caller.put(f"staff/{member.pk}", {}),
    ):
        refused(answer, 403, "Forbidden")


@pytest.mark.parametrize(
    "columns", [{"archive_date": "2024-01-01T00:00:00Z"}, {"disable_login_date": "2024-01-01T00:00:00Z"}]
)
def test_the_session_of_somebody_whose_login_ended_is_401(signed_in, columns):
    caller, member = signed_in("*")
    ok(caller.get("client"))
    Staff.objects.filter(pk=member.pk).update(**columns)
    refused(caller.get("client"), 401, "Unauthenticated")
