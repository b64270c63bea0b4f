"""Rules of staff (interface.md 4.1)."""

import pytest

from apps.core.models import Subscriber
from tests.people.builders import a_staff_body, a_staff_member

pytestmark = pytest.mark.django_db


def test_staff_need_names_email_and_role(refused):
    assert refused("staff", {}) == [
        ("Required", "FirstName"),
        ("Required", "LastName"),
        ("Required", "PrimaryEmail"),
        ("Required", "PrimaryRole"),
        ("Required", "UsePrimaryEmail"),
    ]


def test_one_of_the_two_emails_must_be_used(refused):
    place = [("Required", "UsePrimaryEmail")]
    assert refused("staff", a_staff_body(UsePrimaryEmail=None)) == place
    assert refused("staff", a_staff_body(UsePrimaryEmail=False, UseSecondaryEmail=False)) == place
    secondary = {"UseSecondaryEmail": True, "SecondaryEmail": "a@example.com"}
    assert refused("staff", a_staff_body(UsePrimaryEmail=False, **secondary)) == []


@pytest.mark.parametrize(
    ("hours", "codes"), [(0, []), (168, []), (-1, ["OutOfRange"]), (169, ["OutOfRange"])]
)
def test_working_hours_are_those_of_a_week(refused, hours, codes):
    assert [code for code, _ in refused("staff", a_staff_body(WorkingHoursPerWeek=hours))] == codes


def test_the_login_is_unique_without_regard_to_case_and_blanks(refused):
    a_staff_member(PrimaryEmail="grace@example.com")
    assert refused("staff", a_staff_body(PrimaryEmail="GRACE@Example.com")) == [("NotUnique", "PrimaryEmail")]


def test_consent_to_emails_is_the_subscribers_default_when_nothing_is_reported():
    Subscriber(email_consent_default="No").save()
    assert a_staff_member().accepts_email_contact == "No"
    assert a_staff_member(AcceptsEmailContact=None).accepts_email_contact == "No"
    assert a_staff_member(AcceptsEmailContact="Unsubscribed").accepts_email_contact == "Unsubscribed"
    assert a_staff_member().accepts_sms_contact == "Yes"


def test_the_account_manager_must_exist(refused):
    unknown = {"StaffGuid": "00000000-0000-7000-8000-000000000000"}
    assert refused("staff", a_staff_body(AccountManager=unknown)) == [
        ("NotFound", "AccountManager/StaffGuid")
    ]
    manager = a_staff_member()
    assert a_staff_member(AccountManager={"StaffGuid": str(manager.pk)}).account_manager == manager
