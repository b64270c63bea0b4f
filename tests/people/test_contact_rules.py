"""Rules of contacts."""

import pytest

from apps.base.drafts import ValidationFailed
from apps.people.drafts import ContactDraft, StaffDraft
from apps.people.services import update_contacts, update_staff
from tests.people.builders import a_contact, a_contact_body, a_staff_member

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
    ("a_person", "update", "draft_class", "member"),
    [
        (a_contact, update_contacts, ContactDraft, "representative"),
        (a_staff_member, update_staff, StaffDraft, "account_manager"),
    ],
)
def test_nobody_looks_after_themselves(a_person, update, draft_class, member):
    one, other = a_person(), a_person()
    update([draft_class({member: other}, given=[member], key=one.pk)])
    with pytest.raises(ValidationFailed) as refused:
        update([draft_class({member: one}, given=[member], key=one.pk)])
    ((_, finding),) = refused.value.issues
    assert (finding.code, finding.field) == ("NotAllowed", member)
    assert finding.message == f"Nobody is their own {member.replace('_', ' ')}."
