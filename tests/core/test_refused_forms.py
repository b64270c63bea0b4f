"""A form that was refused says so once, above its fields."""

import re

import pytest
from django.contrib import admin

from apps.base.drafts import Issue
from apps.core.admin_base import RecordAdmin
from apps.people.models import Contact
from tests.core.conflict_forms import page_of
from tests.people.records import a_contact, form_data

pytestmark = [pytest.mark.django_db, pytest.mark.any_engine("what a form refuses is decided in Python")]

MARKED = "Not saved. Please fix what is marked below."


def banners(answer):
    """The texts of the boxes that say that something is wrong."""
    boxes = re.findall(
        r'<(div|p) class="(?:rs-refusal|errornote|fu-note fu-error)[^>]*>(.*?)</\1>',
        answer.content.decode(),
        re.DOTALL,
    )
    return [" ".join(re.sub("<[^>]*>", " ", box).split()) for _, box in boxes]


def test_every_refused_form_has_one_banner(client, ada):
    refused = []
    for model, page in admin.site._registry.items():
        if not isinstance(page, RecordAdmin):
            continue
        answer = client.post(page.page_url("add"), {"prices-TOTAL_FORMS": 0, "prices-INITIAL_FORMS": 0})
        if answer.status_code == 200 and "adminform" in answer.context:
            refused.append(model.__name__)
            assert banners(answer)[0] == MARKED, model
            assert "Please correct" not in answer.content.decode(), model
            assert answer.content.decode().count("Not saved") == 1, model
    assert {"Claim", "Invoice", "Contact", "PriceBookEntry", "BankAccount"} <= {*refused}


def test_what_no_field_has_stands_in_the_banner(client, ada, monkeypatch):
    record = a_contact()
    data = form_data(client.get(page_of(record)))
    page = admin.site.get_model_admin(Contact)
    issue = Issue("NotAllowed", "archive_date", "It is archived already.")
    monkeypatch.setattr(page, "find_issues", lambda *_: [issue])
    assert banners(client.post(page_of(record), data)) == ["Not saved. Archive date: It is archived already."]
    answer = client.post(page_of(record), data | {"first_name": ""})
    assert banners(answer) == [f"{MARKED} Archive date: It is archived already."]


def test_a_faulty_row_of_prices_is_told_by_the_same_banner(client, ada):
    answer = client.post(
        "/admin/funding/pricebookentry/add/",
        {"prices-TOTAL_FORMS": 1, "prices-INITIAL_FORMS": 0, "prices-0-amount": "much"},
    )
    assert banners(answer) == [MARKED]
