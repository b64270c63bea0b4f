"""Rules of contacts."""

import pytest

from apps.base.drafts import Draft, apply_rules
from apps.people.validation import account_manager_is_somebody_else, representative_is_somebody_else
from tests.people.builders import a_contact, a_contact_body

pytestmark = pytest.mark.django_db


def test_contacts_need_their_names_only(refused):
    assert refused("contact", {"Phone1": "1"}) == [("Required", "FirstName"), ("Required", "LastName")]
    assert refused("contact", a_contact_body()) == []


def test_a_used_primary_email_must_be_given(refused):
    assert refused("contact", a_contact_body(UsePrimaryEmail=True)) == [("Required", "PrimaryEmail")]


def test_the_only_email_is_used_when_nothing_is_reported():
    email = {"PrimaryEmail": "a@example.com"}
    assert a_contact(**email).use_primary_email is True
    assert a_contact(**email, UsePrimaryEmail=False).use_primary_email is False
    secondary = {"SecondaryEmail": "b@example.com", "UseSecondaryEmail": True}
    assert a_contact(**email, **secondary).use_primary_email is False
    assert a_contact().use_primary_email is False


def test_contacts_may_share_an_email():
    assert a_contact(PrimaryEmail="a@example.com").pk != a_contact(PrimaryEmail="a@example.com").pk


def test_a_relationship_needs_a_representative(refused):
    body = a_contact_body(Representative={"RepresentativeRelationship": "Mother"})
    assert refused("contact", body) == [("NotAllowed", "Representative/RepresentativeRelationship")]


def test_a_representative_is_another_contact(refused):
    mother = a_contact()
    representative = {"ContactGuid": str(mother.pk), "RepresentativeRelationship": "Mother"}
    child = a_contact(Representative=representative)
    assert (child.representative, child.representative_relationship) == (mother, "Mother")
    unknown = {"ContactGuid": "00000000-0000-7000-8000-000000000000"}
    assert refused("contact", a_contact_body(Representative=unknown)) == [
        ("NotFound", "Representative/ContactGuid")
    ]


@pytest.mark.parametrize(
    ("rule", "member"),
    [
        (representative_is_somebody_else, "representative"),
        (account_manager_is_somebody_else, "account_manager"),
    ],
)
def test_nobody_looks_after_themselves(rule, member):
    one, other = a_contact(), a_contact()
    assert list(apply_rules([Draft({member: other}, key=one.pk), Draft({member: one})], [rule])) == []
    ((_, finding),) = apply_rules([Draft({member: one}, key=one.pk)], [rule])
    assert (finding.code, finding.field) == ("NotAllowed", member)
