"""How a person sees a list: saved filters, shared with teams, and chosen columns."""

import re

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.admin_base.list_views import ListViewAdmin
from apps.core.models import ChosenColumns, SavedFilter
from apps.people.models import Staff, Team
from tests.people.records import a_contact, a_role, a_staff_member
from tests.races import ROUNDS, call_at_once

LIST = "/admin/people/contact/"
VIEW = f"{LIST}list-view/"


@pytest.fixture
def role(db):
    return a_role("people.view_contact")


@pytest.fixture
def ada(client, role):
    ada = a_staff_member(role=role, first_name="Ada")
    client.force_login(ada)
    return ada


def save(client, **fields):
    return client.post(VIEW, {"query": "q=walsh&p=3&o=1", "name": "Walshes", **fields}, follow=True)


def menu(client):
    return client.get(VIEW, {"archived": "all"}).content.decode()


@pytest.mark.both_engines("found or summed by the database")
def test_filters_are_saved_renamed_shared_and_deleted(client, ada):
    assert f'hx-get="{VIEW}?archived=all"' in client.get(LIST, {"archived": "all"}).content.decode()
    assert save(client).redirect_chain == [(f"{LIST}?q=walsh", 302)]
    assert 'href="?q=walsh"' in menu(client)
    save(client, query="q=welsh")  # under the same name
    saved = SavedFilter.objects.get()
    assert (saved.query, saved.is_shared) == ("q=welsh", False)
    save(client, key=saved.pk, name="Welshes", is_shared="on", query="q=other")
    saved.refresh_from_db()
    assert (saved.name, saved.query, saved.is_shared) == ("Welshes", "q=welsh", True)
    save(client, key=saved.pk, delete="1")
    assert not SavedFilter.objects.exists()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": " "}, "This field cannot be blank."),
        ({"name": "x" * 61}, "at most 60 characters"),
        ({"query": "q=" + "x" * 2_000}, "at most 2000 characters"),
        ({"key": "0", "name": ""}, "This field cannot be blank."),
        ({"key": "9" * 5_000, "name": ""}, "This field cannot be blank."),
    ],
)
def test_what_cannot_be_saved_is_said(client, ada, fields, message):
    page = save(client, **fields)
    assert message in page.content.decode()
    assert not SavedFilter.objects.exists()


def test_shared_filters_are_seen_by_the_team_and_changed_by_their_owner(client, ada, role):
    team = Team.objects.create(name="North")
    mia, omar = a_staff_member(role=role, first_name="Mia"), a_staff_member(role=role)
    ada.teams.add(team)
    mia.teams.add(team)
    save(client, is_shared="on")
    save(client, name="Mine")
    saved = SavedFilter.objects.get(name="Walshes")
    client.force_login(mia)
    assert "shared by Ada" in menu(client)
    assert "Mine" not in menu(client)
    save(client, key=saved.pk, delete="1")
    assert SavedFilter.objects.filter(pk=saved.pk).exists()
    client.force_login(omar)
    assert "Walshes" not in menu(client).replace('value="Walshes"', "")


def test_no_list_offers_two_columns_of_one_label_but_those_that_it_shows(rf, ada, role):
    role.all_permissions = True
    role.save()
    request = rf.get("/")
    request.user = Staff.objects.get(pk=ada.pk)
    lists = [each for each in admin.site._registry.values() if isinstance(each, ListViewAdmin)]
    assert len(lists) > 20
    for each in lists:
        labels = [label for _, label, is_shown in each.column_choices(request) if not is_shown]
        assert len(labels) == len(set(labels)), each
        shown = {label for _, label, is_shown in each.column_choices(request) if is_shown}
        assert shown.isdisjoint(labels), each


def test_a_person_chooses_the_columns_of_a_list(client, ada):
    a_contact(suburb="Fitzroy")
    chosen = {"columns": ["suburb", "person", "password", "nothing"], "query": "q=mia"}
    assert client.post(f"{LIST}columns/", chosen).url == f"{LIST}?q=mia"
    with CaptureQueriesContext(connection) as queries:
        page = client.get(LIST)
    assert sum("core_chosencolumns" in each["sql"] for each in queries) == 1
    assert page.context["cl"].list_display == ["person", "suburb"]
    assert "Fitzroy" in page.content.decode()
    assert client.get(f"{LIST}?archived=all").context["cl"].list_display[-1] == "archived"
    client.post(f"{LIST}columns/", {"columns": ["suburb"], "usual": "1"})
    assert "scheme_number" in client.get(LIST).context["cl"].list_display
    assert not ChosenColumns.objects.exists()


def test_no_list_offers_a_column_with_a_secret():
    lists = [each for each in admin.site._registry.values() if isinstance(each, ListViewAdmin)]
    assert len(lists) > 20
    offered = {name for each in lists for name in each.available_columns()}
    assert {"suburb", "birthday"} < offered
    assert not [name for name in offered if re.search("password|secret|hash|normalised", name)]


def test_no_column_has_the_name_of_a_relation_to_many():
    """Django would sort by the related records, and show each record as often as it has one."""
    pages = [(page.opts, name) for page in admin.site._registry.values() for name in page.list_display]
    many = {model: {each.name for each in model.related_objects} for model, _ in pages}
    assert len(pages) > 100
    assert not [(str(model), name) for model, name in pages if name in many[model]]


def test_who_may_not_view_a_list_has_no_menu_of_it(client, db):
    client.force_login(a_staff_member(role=a_role("people.view_client")))
    assert client.get(VIEW).status_code == 403
    assert client.post(f"{LIST}columns/", {"columns": ["suburb"]}).status_code == 403


def test_a_list_is_opened_with_the_default_filters_and_shows_all_from_itself(client, ada):
    save(client, name="Walshes", query="q=walsh", is_default="on")
    save(client, name="Joneses", query="q=jones", is_default="on")  # there is one default
    assert client.get(LIST)["Location"] == f"{LIST}?q=jones"
    assert client.get(LIST, {"q": "walsh"}).status_code == 200
    assert client.get(LIST, headers={"referer": f"http://testserver{LIST}?q=jones"}).status_code == 200
    client.force_login(a_staff_member(role=ada.role))
    assert client.get(LIST).status_code == 200


@pytest.mark.postgres("SQLite has one writer and its test database one connection")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", range(ROUNDS))
@pytest.mark.parametrize(
    ("address", "fields"),
    [(VIEW, {"query": "q=walsh", "name": "Walshes"}), (f"{LIST}columns/", {"columns": "last_name"})],
)
def test_a_choice_that_is_sent_twice_at_once_is_stored_once(client, ada, address, fields, number):
    answers = call_at_once(*[lambda: client.post(address, fields)] * 3)
    assert [answer.status_code for answer in answers] == [302] * 3
    assert SavedFilter.objects.count() + ChosenColumns.objects.count() == 1
