"""What a model is searched by is said once: the pages, the interface and the indexes follow."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from apps.core.models import Searched
from apps.core.search_indexes import check_search_indexes
from apps.people.models import Contact, Staff
from apps.people.resources import ContactResource
from records_site.service import service

SEARCHED = [model for model in apps.get_models() if getattr(model, "searched", Searched()).lists]


def messages():
    return [(message.id, message.msg, message.hint) for message in check_search_indexes()]


def test_every_search_has_its_indexes():
    assert len(SEARCHED) > 5
    assert messages() == []


def test_a_searched_column_without_an_index_is_named_with_the_step(monkeypatch):
    monkeypatch.setattr(Contact, "searched", Searched(texts=("phone2",), numbers=("primary_email",)))
    monkeypatch.setattr(ContactResource, "search", ("phone2",))
    assert messages() == [
        (
            "core.E010",
            "Contact is searched by phone2, which has no index for words.",
            'Add create_search_index("people.Contact", "phone2") to a migration in apps/people/migrations, or'
            " say in without_index why there is none.",
        ),
        (
            "core.E010",
            "Contact is searched by primary_email, which has no index for digits.",
            'Add create_digits_index("people.Contact", "primary_email") to a migration in'
            " apps/people/migrations, or say in without_index why there is none.",
        ),
    ]


def test_a_column_of_another_record_has_its_index_there(monkeypatch):
    monkeypatch.setattr(Staff, "searched", Searched(names=("role__name",)))
    (missing,) = (hint for id, _, hint in messages() if id == "core.E010")
    assert 'create_search_index("people.Role", "name")' in missing


def test_a_resource_that_searches_by_itself_is_named(monkeypatch):
    monkeypatch.setattr(ContactResource, "search", ("first_name",))
    ((id, text, hint),) = messages()
    assert (id, text) == ("core.E011", "ContactResource searches other columns than Contact.searched.")
    assert hint == "Declare search = Contact.searched.interface."


def test_the_check_is_one_of_those_before_a_change_is_merged(monkeypatch):
    monkeypatch.setattr(ContactResource, "search", ())
    with pytest.raises(SystemCheckError, match=r"core\.E011"):
        call_command("check", "--deploy", "--tag", "models")


@pytest.mark.parametrize("model", SEARCHED, ids=lambda model: model.__name__)
def test_every_surface_searches_what_the_model_says(model):
    page, searched = admin.site.get_model_admin(model), model.searched
    assert page.searched == searched
    assert tuple(page.search_fields) == searched.lists
    assert set(searched.palette) <= set(searched.interface) <= set(searched.lists)
    assert tuple(service.by_model[model].resource.search) == searched.interface
