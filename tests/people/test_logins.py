"""Logins and roles by every entry point: an administrator remains, nobody grants more than they may do."""

import json

import pytest
from django.core.management import CommandError, call_command

from apps.base import clock
from apps.base.drafts import ValidationFailed
from apps.base.errors import InvalidRecords
from apps.core import history
from apps.people.drafts import RoleDraft, StaffDraft
from apps.people.models import Role, Staff
from apps.people.services import (
    administrators,
    archive_staff,
    change_logins,
    disable_logins,
    update_roles,
    update_staff,
)
from tests.people.builders import a_staff_body, put_staff
from tests.people.import_files import imported
from tests.people.records import a_role, a_staff_member, an_administrator
from tests.races import call_at_once

pytestmark = pytest.mark.django_db

PAST = "2020-01-01T00:00:00Z"


@pytest.fixture
def boss():
    """The only administrator."""
    return an_administrator(unique_code="BOSS")


def only(person):
    return Staff.objects.filter(pk=person.pk)


def demote(person):
    lesser = a_role("people.view_staff")
    update_staff([StaffDraft({"role": lesser}, given=["role"], key=person.pk)])


def take_permissions(person):
    update_roles([RoleDraft({"all_permissions": False}, given=["all_permissions"], key=person.role_id)])


CHANGES = {
    "archived": (lambda person: archive_staff(only(person)), "disable_login_date"),
    "disabled": (lambda person: disable_logins(only(person)), "disable_login_date"),
    "demoted": (demote, "role"),
    "given a lesser role": (lambda person: change_logins(only(person), role=a_role()), "role"),
    "in a role without permissions": (take_permissions, "all_permissions"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_last_administrator_cannot_be(change, boss):
    an_administrator(archive_date=clock.now())
    an_administrator(disable_login_date=clock.now())
    service, field = CHANGES[change]
    with pytest.raises(ValidationFailed) as failed:
        service(boss)
    assert [(issue.code, issue.field) for _, issue in failed.value.issues] == [("NotAllowed", field)]
    boss = Staff.objects.get(pk=boss.pk)
    assert boss.is_superuser


@pytest.mark.parametrize("change", CHANGES)
def test_one_of_two_administrators_can_be(change, boss):
    an_administrator()
    service, _ = CHANGES[change]
    service(boss)
    assert not Staff.objects.get(pk=boss.pk).is_superuser


def test_one_change_cannot_remove_all_administrators_and_may_replace_them(boss):
    other, role = an_administrator(), a_role()
    both = [StaffDraft({"role": role}, given=["role"], key=person.pk) for person in (boss, other)]
    with pytest.raises(ValidationFailed) as failed:
        update_staff(both)
    assert [number for number, _ in failed.value.issues] == [0, 1]
    successor = StaffDraft({"role": boss.role}, given=["role"], key=a_staff_member().pk)
    update_staff([*both, successor])
    assert Staff.objects.get(pk=successor.key).is_superuser


def test_put_cannot_disable_the_last_administrator(boss):
    body = a_staff_body(boss.role, DisableLoginDate=PAST)
    with pytest.raises(InvalidRecords) as refused:
        put_staff(boss.pk, body)
    assert [(each.code, each.target) for each in refused.value.details] == [
        ("NotAllowed", "DisableLoginDate")
    ]


@pytest.mark.parametrize("column", ["DisableLoginDate", "ArchiveDate"])
def test_an_import_cannot_remove_the_last_administrator(boss, tmp_path, column):
    other = a_staff_member(unique_code="OTHER")
    path = tmp_path / "staff.json"
    path.write_text(json.dumps([{"UniqueCode": code, column: PAST} for code in ("BOSS", "OTHER")]))
    result = imported("staff", path)
    assert "Nobody would be left who may do everything." in result.err
    boss, other = Staff.objects.get(pk=boss.pk), Staff.objects.get(pk=other.pk)
    assert (boss.is_active, other.is_active) == (True, False)


def test_the_command_cannot_give_the_last_administrator_a_lesser_role(boss):
    Role.objects.create(name="Nurse")
    with pytest.raises(CommandError, match="Nobody would be left who may do everything"):
        call_command("create_staff_login", boss.primary_email, "--reset", "--role", "Nurse")
    before = boss.password
    boss.refresh_from_db()
    assert (boss.password, boss.is_superuser) == (before, True)


def test_a_login_can_be_disabled_whatever_else_is_wrong_with_the_record():
    person = a_staff_member(use_primary_email=False, scheme_number="no number")
    assert disable_logins(only(person)) == 1


def test_a_signed_in_member_of_staff_gives_no_role_that_allows_more_than_their_own():
    author, boss_role, person = a_staff_member(), a_role(all_permissions=True), a_staff_member()
    with (
        history.as_author(history.Author("Back office", staff_id=author.pk)),
        pytest.raises(ValidationFailed, match="allows more than your own"),
    ):
        change_logins(only(person), role=boss_role)
    assert change_logins(only(person), role=boss_role) == 1  # a command or an application may


@pytest.mark.postgres("SQLite has one writer at a time")
@pytest.mark.django_db(transaction=True)
def test_two_administrators_cannot_remove_each_other_at_the_same_moment():
    """Fails without the lock of services.lock_administration."""
    for _ in range(6):
        Staff.objects.all().delete()
        keys = [an_administrator().pk, an_administrator().pk]

        def disable(key):
            try:
                return disable_logins(Staff.objects.filter(pk=key))
            except ValidationFailed as failed:
                return [issue.code for _, issue in failed.issues]

        results = call_at_once(*(lambda key=key: disable(key) for key in keys))
        assert sorted(map(str, results)) == ["1", "['NotAllowed']"]
        assert administrators().count() == 1
