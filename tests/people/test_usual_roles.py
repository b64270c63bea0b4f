"""The roles that most offices begin with, and the page that adds them."""

import pytest

from apps.core.models import Change
from apps.people.models import Role
from apps.people.usual_roles import USUAL_ROLES, missing_roles, service_permissions
from tests.people.records import a_role, a_staff_member

pytestmark = [pytest.mark.django_db, pytest.mark.any_engine("reads and writes a few records of a short list")]

PAGE, LIST = "/admin/people/role/usual/", "/admin/people/role/"


def test_each_pattern_grants_something():
    codes = [f"{each.content_type.app_label}.{each.codename}" for each in service_permissions()]
    for role in USUAL_ROLES:
        for pattern in role.patterns:
            alone = type(role)(role.name, role.purpose, (pattern,))
            assert any(map(alone.grants, codes)), (role.name, pattern)


def test_what_was_ticked_is_added_with_its_permissions(client, ada):
    shown = [role.name for role, _ in client.get(PAGE).context["missing"]]
    assert shown == [role.name for role in USUAL_ROLES]
    answer = client.post(PAGE, {"role": ["Support coordinator", "Read only", "Nonsense"]}, follow=True)
    assert "Added: Support coordinator, Read only." in answer.content.decode()
    coordinator = Role.objects.get(name="Support coordinator")
    assert not coordinator.sees_everybody
    assert "people.change_contact" in coordinator.ticked_codes()
    readers = Role.objects.get(name="Read only").ticked_codes()
    assert {code.partition(".")[2].partition("_")[0] for code in readers} == {"view"}
    assert Change.objects.filter(record_type="people.role", kind="Created", staff_id=str(ada.pk)).count() == 2
    assert {role.name for role in missing_roles()}.isdisjoint(["Support coordinator", "Read only"])


def test_roles_of_the_same_name_stay_as_they_are(client, ada):
    own = a_role("people.view_client", name="plan MANAGER")
    client.post(PAGE, {"role": ["Plan manager"]})
    assert own.ticked_codes() == {"people.view_client"}
    assert Role.objects.filter(name_key=own.name_key).count() == 1
    answer = client.post(PAGE, follow=True)
    assert "Nothing was added" in answer.content.decode()


def test_the_list_leads_there_while_one_is_missing(client, ada):
    assert PAGE in client.get(LIST).content.decode()
    client.post(PAGE, {"role": [role.name for role in USUAL_ROLES]})
    assert PAGE not in client.get(LIST).content.decode()
    assert "All usual roles are there" in client.get(PAGE).content.decode()


def test_only_those_who_may_do_everything_add_them(client):
    client.force_login(a_staff_member(role=a_role("people.view_role", "people.add_role")))
    assert PAGE not in client.get(LIST).content.decode()
    assert client.post(PAGE, {"role": ["Administrator"]}).status_code == 403
    assert not Role.objects.filter(name="Administrator").exists()


def test_of_two_who_add_the_same_the_second_is_told(client, ada, monkeypatch):
    before = missing_roles()
    client.post(PAGE, {"role": ["Read only"]})
    monkeypatch.setattr("apps.people.usual_roles.missing_roles", lambda: before)
    answer = client.post(PAGE, {"role": ["Read only"]}, follow=True)
    assert "Read only" in answer.content.decode()
    assert "already" in answer.content.decode()
    assert Role.objects.filter(name="Read only").count() == 1
