"""A form that a login in another tab or a change of the role refused: what was typed is not lost."""

import re

import pytest
from django.test import Client as Browser

from apps.people.models import Client
from tests.people.records import a_client, a_role, an_administrator

pytestmark = pytest.mark.django_db
OURS = {"HTTP_ORIGIN": "http://testserver"}
ADD = "/admin/people/client/add/"


@pytest.fixture
def browser(ada):
    browser = Browser(enforce_csrf_checks=True)
    browser.force_login(ada)
    browser.get(ADD)
    return browser


def post(browser, data, path=ADD, **headers):
    return browser.post(path, {"csrfmiddlewaretoken": "x" * 64, **data}, **{**OURS, **headers})


def fields_of(page):
    """The fields of the only form on a page."""
    text = page.content.decode()
    token = re.search('name="csrfmiddlewaretoken" value="([^"]+)"', text)
    found = re.findall(r"<textarea name=\"([^\"]+)\" hidden>\n(.*?)</textarea>", text, re.DOTALL)
    return dict(found) | {"csrfmiddlewaretoken": token[1]} if token else {}


def test_what_was_typed_is_shown_again_and_saved_by_the_person(browser):
    page = post(browser, {"business_name": "Acme of\nPerth", "_save": "Save"})
    assert page.status_code == 403
    data = fields_of(page)
    shown = browser.post(ADD, data, **OURS)
    assert shown.status_code == 200
    text = shown.content.decode()
    assert "You signed in again in another tab. Your entries are back, and not saved yet." in text
    assert "Acme of" in text
    assert not Client.objects.exists()
    del data["_restored"]
    assert browser.post(ADD, data, **OURS).status_code == 302
    assert Client.objects.count() == 1


def test_a_role_that_is_withdrawn_and_given_back_loses_nothing_that_was_typed(browser, ada):
    token = browser.cookies["csrftoken"].value
    role, ada.role = ada.role, a_role("people.view_client")
    ada.save()
    data = {"csrfmiddlewaretoken": token, "business_name": "Acme of\nPerth", "_save": "Save"}
    for _ in range(2):  # tried again before the role was given back
        page = browser.post(ADD, data, **OURS)
        assert page.status_code == 403
        text = page.content.decode()
        assert "lacks the permission to add clients." in text
        assert "nothing that you typed is lost" in text
        data = fields_of(page)
    ada.role = role
    ada.save()
    shown = browser.post(ADD, data, **OURS).content.decode()
    assert "You lacked a permission. Your entries are back, and not saved yet." in shown
    assert "Acme of" in shown
    assert not Client.objects.exists()
    del data["_restored"]
    assert browser.post(ADD, data, **OURS).status_code == 302
    assert Client.objects.count() == 1


def test_a_page_that_a_role_does_not_allow_has_no_form(browser, ada):
    ada.role = a_role("people.view_client")
    ada.save()
    page = browser.get(ADD)
    assert (page.status_code, fields_of(page)) == (403, {})


@pytest.mark.parametrize(
    "headers",
    [
        {"HTTP_ORIGIN": "https://evil.example"},
        {"HTTP_ORIGIN": "null"},
        {"HTTP_ORIGIN": "", "HTTP_REFERER": "https://evil.example/admin/"},
        {"HTTP_ORIGIN": ""},
    ],
)
def test_nothing_of_another_sites_request_is_shown(browser, headers):
    page = post(browser, {"business_name": "Evil"}, **headers)
    assert page.status_code == 403
    assert "Evil" not in page.content.decode()
    assert fields_of(page) == {}


def test_nothing_is_shown_to_another_person_or_to_nobody(browser, ada):
    assert fields_of(post(browser, {"business_name": "Acme", "_opened_by": str(ada.pk)}))
    other = str(an_administrator().pk)
    assert not fields_of(post(browser, {"business_name": "Acme", "_opened_by": other}))
    browser.logout()
    assert not fields_of(post(browser, {"business_name": "Acme"}))


def test_passwords_and_codes_are_not_sent_back(browser):
    for name in ("password1", "new_password", "code", "client_secret"):
        page = post(browser, {name: "hunter2"}, "/admin/account/password/change/")
        assert (page.status_code, "hunter2" in page.content.decode()) == (403, False)


def test_markup_that_was_typed_stays_text(browser):
    page = post(browser, {"business_name": "</textarea><script>alert(1)</script>"})
    assert "<script>" not in page.content.decode().partition("<body>")[2]


def test_who_opened_a_form_is_part_of_it(browser, ada):
    record = a_client(business_name="Acme")
    text = browser.get(f"/admin/people/client/{record.pk}/change/").content.decode()
    assert f'name="_opened_by" value="{ada.pk}"' in text
