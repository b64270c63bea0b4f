"""Rules that staff and contacts share (interface.md 4.1)."""

import datetime as dt

import pytest

from apps.base.drafts import apply_rules
from apps.people.models import Contact
from apps.people.validation import PERSON_WARNINGS
from tests.people.builders import a_contact, a_contact_body, a_staff_body, a_staff_member

pytestmark = pytest.mark.django_db


@pytest.fixture(params=["staff", "contact"])
def faults(request, refused):
    """``faults(Birthday=…)``: what is refused of a person with these members."""
    body = {"staff": a_staff_body, "contact": a_contact_body}[request.param]
    return lambda **members: refused(request.param, body(**members))


@pytest.mark.parametrize("number", ["31", "430000000", "44123", "45" + "0" * 18])
def test_a_scheme_number_starts_with_31_43_44_or_45(faults, number):
    assert faults(SchemeNumber=number) == []


@pytest.mark.parametrize("number", ["32", "4", "43 000", "43a", "４３0000000", "43０", "-43", "430000000\n"])
def test_another_scheme_number_is_refused(faults, number):
    assert faults(SchemeNumber=number) == [("InvalidSchemeNumber", "SchemeNumber")]


def test_a_scheme_number_has_20_digits_at_most(faults):
    assert faults(SchemeNumber="43" + "0" * 19) == [("TooLong", "SchemeNumber")]


def test_another_title_is_allowed_only_with_the_title_other(faults):
    assert faults(PersonalTitle="Other", PersonalTitleOther="Sir") == []
    assert faults(PersonalTitle="Mr", PersonalTitleOther="Sir") == [("NotAllowed", "PersonalTitleOther")]
    assert faults(PersonalTitleOther="Sir") == [("NotAllowed", "PersonalTitleOther")]


def test_a_birthday_reminder_needs_the_birthday(faults):
    assert faults(SendBirthdayReminder=True) == [("Required", "Birthday")]
    assert faults(SendBirthdayReminder=True, Birthday="1980-01-01") == []


def test_a_reminder_of_the_partners_birthday_needs_it(faults):
    assert faults(SendPartnerBirthdayReminder=True) == [("Required", "PartnerBirthday")]
    assert faults(SendPartnerBirthdayReminder=True, PartnerBirthday="1980-01-01") == []


def test_a_used_secondary_email_must_be_given(faults):
    assert faults(UseSecondaryEmail=True) == [("Required", "SecondaryEmail")]
    assert faults(UseSecondaryEmail=True, SecondaryEmail="a@example.com") == []


def test_a_state_needs_a_country(faults):
    place = ("Required", "Address/Country")
    assert faults(Address={"State": "NSW"}) == [place]
    assert faults(PostalAddress={"PostalState": "NSW"}) == [place]
    assert faults(PostalAddress={"PostalState": "NSW"}, Address={"Country": "Australia"}) == []
    assert faults(Address={"City": "Sydney"}, PostalAddress={"PostalCity": "Sydney"}) == []


def test_a_rule_about_an_invalid_member_is_not_reported_as_well(faults):
    assert faults(SendBirthdayReminder=True, Birthday="soon") == [("InvalidDate", "Birthday")]


def test_states_and_postcodes_of_other_countries_are_as_they_are_there():
    person = a_contact(Address={"State": "Otago", "PostCode": "09016", "Country": "New Zealand"})
    assert apply_rules([person], PERSON_WARNINGS) == []


@pytest.mark.parametrize(
    ("number", "codes"), [("430000000", []), ("43000000", ["UnusualSchemeNumber"]), (None, [])]
)
def test_a_scheme_number_of_unusual_length_is_warned_about(number, codes):
    person = a_contact(SchemeNumber=number)
    assert [finding.code for _, finding in apply_rules([person], PERSON_WARNINGS)] == codes


@pytest.mark.parametrize(
    ("birthday", "codes"), [(dt.date(2026, 11, 24), []), (dt.date(2026, 11, 25), ["UnusualBirthday"])]
)
def test_a_birthday_is_today_at_the_latest(at, birthday, codes):
    at("2026-11-24 12:00")
    person = Contact(first_name="Ida", last_name="Fox", birthday=birthday)
    assert [finding.code for _, finding in apply_rules([person], PERSON_WARNINGS)] == codes


@pytest.mark.parametrize(
    ("email", "codes"), [("no address", ["InvalidEmail"]), ("a@example.com", []), ("", [])]
)
def test_emails_are_addresses(faults, email, codes):
    assert [code for code, _ in faults(SecondaryEmail=email)] == codes


def test_unique_codes_are_unique_among_staff_and_among_contacts_apart():
    a_staff_member(UniqueCode="x")
    assert a_contact(UniqueCode="x").unique_code == "x"
