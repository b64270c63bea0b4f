"""POST /staff: the rules of staff over HTTP."""

import pytest

from apps.core.bulk_insert import FEW
from apps.core.models import Change, Subscriber
from apps.people.models import Staff
from tests.api.caller import faults, ok
from tests.people.builders import (
    a_location,
    a_position,
    a_role,
    a_staff_body,
    a_staff_member,
    a_team,
)


def post(api, **members):
    return api.post("staff", {"value": [a_staff_body(**members)]})


def stored(api, **members):
    return ok(post(api, **members), 201)["value"][0]


def test_defaults_stand_where_nothing_is_given(api):
    member = stored(api)
    assert member["AcceptsEmailContact"] == "Yes"
    assert member["AcceptsSmsContact"] == "Yes"
    assert (member["SendBirthdayReminder"], member["UseSecondaryEmail"]) == (False, False)
    given = {
        "StaffGuid",
        "FirstName",
        "LastName",
        "PrimaryEmail",
        "PrimaryRole",
        "CreationDate",
        "ModifyDate",
    }
    rest = {
        name: value for name, value in member.items() if name not in given and not isinstance(value, bool)
    }
    assert {name for name, value in rest.items() if value not in (None, [])} == {
        "AcceptsEmailContact",
        "AcceptsSmsContact",
    }


def test_the_subscribers_settings_say_who_accepts_emails(api):
    Subscriber(email_consent_default="No").save()
    assert stored(api)["AcceptsEmailContact"] == "No"
    assert stored(api, AcceptsEmailContact="Unsubscribed")["AcceptsEmailContact"] == "Unsubscribed"


def test_null_is_the_default_where_there_must_be_a_value(api):
    member = stored(api, AcceptsSmsContact=None, SendBirthdayReminder=None, UseSecondaryEmail=None)
    assert (member["AcceptsSmsContact"], member["SendBirthdayReminder"]) == ("Yes", False)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"SendBirthdayReminder": True}, [("Required", "value[0]/Birthday")]),
        ({"SendPartnerBirthdayReminder": True}, [("Required", "value[0]/PartnerBirthday")]),
        (
            {"PersonalTitleOther": "Sir", "PersonalTitle": "Mr"},
            [("NotAllowed", "value[0]/PersonalTitleOther")],
        ),
        ({"UsePrimaryEmail": False}, [("Required", "value[0]/UsePrimaryEmail")]),
        ({"UsePrimaryEmail": None}, [("Required", "value[0]/UsePrimaryEmail")]),
        ({"UseSecondaryEmail": True}, [("Required", "value[0]/SecondaryEmail")]),
        ({"Address": {"State": "NSW"}}, [("Required", "value[0]/Address/Country")]),
        ({"PostalAddress": {"PostalState": "NSW"}}, [("Required", "value[0]/Address/Country")]),
        ({"SchemeNumber": "500"}, [("InvalidSchemeNumber", "value[0]/SchemeNumber")]),
        ({"PrimaryRole": None}, [("Required", "value[0]/PrimaryRole")]),
    ],
)
def test_the_rules_of_staff_are_reported_at_their_place(api, members, expected):
    assert faults(post(api, **members)) == expected
    assert not Staff.objects.exists()


def test_a_rule_about_a_member_with_a_fault_of_its_own_is_not_reported_as_well(api):
    assert faults(post(api, SendBirthdayReminder=True, Birthday="never")) == [
        ("InvalidDate", "value[0]/Birthday")
    ]
    assert faults(post(api, SendBirthdayReminder="yes")) == [("WrongType", "value[0]/SendBirthdayReminder")]


@pytest.mark.parametrize("number", ["31", "43", "44", "45", "310000000", "45" + "0" * 18])
def test_scheme_numbers_of_the_right_form_are_stored(api, number):
    assert stored(api, SchemeNumber=number)["SchemeNumber"] == number


def test_a_login_is_one_persons_whatever_its_case(api):
    a_staff_member(PrimaryEmail="Ada@Example.com")
    for twin in ("ada@example.com", "ADA@EXAMPLE.COM"):
        assert faults(post(api, PrimaryEmail=twin)) == [("NotUnique", "value[0]/PrimaryEmail")]


def test_references_are_shown_with_what_they_refer_to(api):
    role, position, location = a_role(name="Nurse"), a_position(name="Lead"), a_location(name="Ayr")
    team, other, manager = a_team(name="B"), a_team(name="A"), a_staff_member(FirstName="Boss")
    member = stored(
        api,
        role=role,
        Teams=[{"TeamId": team.pk}, {"TeamId": other.pk, "Name": "ignored"}, {"TeamId": team.pk}],
        AccountManager={"StaffGuid": str(manager.pk), "FirstName": "ignored"},
        PositionTitle={"PositionGuid": str(position.pk)},
        Location={"LocationGuid": str(location.pk).replace("-", "")},
    )
    assert member["PrimaryRole"] == {"RoleGuid": str(role.pk), "Name": "Nurse", "ArchiveDate": None}
    assert member["PositionTitle"] == {"PositionGuid": str(position.pk), "Name": "Lead", "ArchiveDate": None}
    assert member["Location"] == {"LocationGuid": str(location.pk), "Name": "Ayr", "ArchiveDate": None}
    assert member["AccountManager"] == {
        "StaffGuid": str(manager.pk),
        "FirstName": "Boss",
        "LastName": "Hopper",
        "ArchiveDate": None,
    }
    assert sorted(one["Name"] for one in member["Teams"]) == ["A", "B"]


def test_nobody_can_sign_in_as_somebody_the_interface_made(api):
    member = Staff.objects.get(pk=stored(api)["StaffGuid"])
    assert not member.has_usable_password()
    made = Staff.objects.get(pk=stored(api, password="secret", Password="secret")["StaffGuid"])
    assert not made.check_password("secret")


def test_the_history_names_the_application(api):
    guid = stored(api)["StaffGuid"]
    line = Change.objects.get(record_key=guid)
    assert (line.kind, line.application, line.channel) == ("Created", "Integration", "API")


def test_fifty_staff_take_no_more_statements_than_a_dozen(api, statements):
    role, position, location, team = a_role(), a_position(), a_location(), a_team()
    manager = str(a_staff_member(role=role).pk)

    def posting(number):
        bodies = [
            a_staff_body(
                role,
                UniqueCode=f"{number}-{n}",
                Teams=[{"TeamId": team.pk}],
                AccountManager={"StaffGuid": manager},
                PositionTitle={"PositionGuid": str(position.pk)},
                Location={"LocationGuid": str(location.pk)},
            )
            for n in range(number)
        ]
        return len(statements(lambda: ok(api.post("staff", {"value": bodies}), 201)))

    ok(post(api), 201)
    assert posting(50) <= posting(FEW + 1) <= 18
