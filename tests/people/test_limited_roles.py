"""Roles that see some of the participants: what they lack, and who may give them what."""

import pytest
from django.contrib.auth.models import Permission

from apps.base.drafts import ValidationFailed
from apps.core.models import Change
from apps.people.drafts import RoleDraft
from apps.people.services import create_roles, update_roles
from tests.people.records import a_role, a_staff_member

pytestmark = pytest.mark.django_db

OF_ALL = "payments.add_paymentrun"


def test_what_needs_to_see_everybody_is_not_granted():
    limited = a_role("people.view_contact", "people.change_staff", OF_ALL, participants="Own")
    assert limited.permission_codes() == {"people.view_contact"}
    staff = a_staff_member(role=limited)
    assert not staff.has_perm(OF_ALL)
    limited.participants = "All"
    assert limited.permission_codes() == {"people.view_contact", "people.change_staff", OF_ALL}


def test_a_limit_hides_no_permission_from_those_who_lack_it():
    """Without the limit the role would have it: so nobody covers the role who may not give it."""
    author = a_staff_member(role=a_role("people.change_role", "people.view_contact"))
    assert author.covers(a_role("people.view_contact", participants="Own"))
    assert not author.covers(a_role("people.view_contact", OF_ALL, participants="Own"))


def test_who_sees_some_covers_those_who_see_the_same():
    author = a_staff_member(role=a_role("people.view_contact", participants="Own"))
    assert author.covers(a_role("people.view_contact", participants="Own"))
    for others in ("All", "Location", "Teams"):
        assert not author.covers(a_role("people.view_contact", participants=others))


def test_the_history_has_permissions_that_a_limit_takes():
    limited = a_role("people.view_contact", participants="Own")
    given = Permission.objects.get(codename="add_paymentrun", content_type__app_label="payments")
    update_roles([RoleDraft({"permissions": [given]}, given=["permissions"], key=limited.pk)])
    change = Change.objects.filter(record_type="people.role", record_key=str(limited.pk)).first()
    assert change.differences["permissions"] == [["people.view_contact"], [OF_ALL]]


def test_who_may_do_everything_sees_everybody():
    values = {"name": "Odd", "all_permissions": True, "participants": "Own"}
    with pytest.raises(ValidationFailed, match="sees all participants"):
        create_roles([RoleDraft(values, given=values)])
