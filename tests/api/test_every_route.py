"""Every address of the site outside /api/: nobody gets an answer there without the right to it.

The addresses are those of the URL configuration, so that a page that is added tomorrow is tested tomorrow.
"""

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import URLPattern, get_resolver
from django.urls.resolvers import RoutePattern

from apps.people.models import Position
from tests.people.records import a_role, a_staff_member, an_administrator

pytestmark = pytest.mark.any_engine("permissions are compared in Python")

#: Addresses for everybody: a reason each.
PUBLIC = {
    "/": "the start page",
    "/docs/": "the documentation of the interface",
    "/docs/openapi.json": "the same for programs",
    "/docs/openapi.yaml": "the same for programs",
    "/favicon.ico": "a picture",
    "/.well-known/security.txt": "where a vulnerability is reported",
    "/admin/login/": "where one signs in",
    "/admin/logout/": "ends the session that there is",
    "/admin/account/logout/": "ends a sign-in that has begun",
    "/admin/account/password/": "asks for a mail with a link",
    "/admin/account/password/unknown/unknown/": "says that a link is not valid",
    "/admin/account/factors/webauthn/login/": "where one signs in with a passkey",
    "/admin/account/provider/error/": "a sign-in elsewhere has failed",
    "/admin/account/provider/cancelled/": "a sign-in elsewhere was given up",
    "/admin/jsi18n/": "texts of Django's scripts",
}
OWN_FACTORS = (
    "", "authenticate/", "reauthenticate/", "totp/activate/", "totp/deactivate/", "webauthn/",
    "webauthn/add/", "webauthn/reauthenticate/", "webauthn/keys/0/edit/", "webauthn/keys/0/remove/",
    "recovery-codes/", "recovery-codes/generate/", "recovery-codes/download/",
)  # fmt: skip
#: Pages of the back office for whoever is signed in: a reason each.
FOR_ALL_STAFF = {
    "/admin/": "the home page shows what the role may see",
    "/admin/password_change/": "one's own password",
    "/admin/password_change/done/": "one's own password",
    "/admin/autocomplete/": "suggests records that the role may see; tested below",
    "/admin/search/": "finds pages of the menu that the role may see",
    **{f"/admin/core/notice/{page}": "one's own notices" for page in ("", "read-all/", "preference/")},
    "/admin/core/fileexport/": "one's own exports",
    "/admin/account/confirm/": "asks for one's own password again",
    "/admin/account/sessions/": "one's own sessions",
    **{f"/admin/account/factors/{name}": "one's own second factors" for name in OWN_FACTORS},
}
FREE_WORDS = {
    "<str:name>": "archive",
    "<uidb64>/<token>": "unknown/unknown",
    "<str:token>": "unknown",
    "<str:month>": "2025-10",
    "<str:contact>": "unknown",
    "<str:run>": "unknown",
    "<int:pk>": "0",
    "<int:item>": "0",
    "<int:position>": "0",
    "<str:provider_id>": "unknown",
    "<uuid:contact>": "00000000-0000-7000-8000-000000000000",
    "<uuid:run>": "00000000-0000-7000-8000-000000000000",
    "<uuid:key>": "00000000-0000-7000-8000-000000000000",
}
NO_RECORD = "none"


def routes(patterns=None, prefix="/"):
    """(address with its variables, name of the view) outside the API, which has tests of its own."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if not isinstance(pattern.pattern, RoutePattern):
            continue  # the API, and redirections to an address with its slash
        address = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield address, pattern.name or ""
        else:
            yield from routes(pattern.url_patterns, address)


def addresses():
    """Each address, with a record of its model where it has one."""
    keys = {}
    for model in admin.site._registry:
        record = model._default_manager.order_by("pk").first()
        keys[f"{model._meta.app_label}_{model._meta.model_name}"] = str(record.pk) if record else NO_RECORD
    found = set()
    for route, name in routes():
        label = next((label for label in keys if name.startswith(f"{label}_")), None)
        for variable, word in {**FREE_WORDS, "<path:object_id>": keys.get(label, NO_RECORD)}.items():
            route = route.replace(variable, word)
        found.add(route)
    return sorted(found)


def leaks(client, skipped):
    """What was answered by anything but a refusal: (method, address, status, where it leads)."""
    found = []
    for address in addresses():
        for method in ("GET", "POST") if address not in skipped else ():
            answer = client.generic(method, address)
            leads_to = answer.headers.get("Location", "")
            is_refused = answer.status_code in (401, 403, 404, 405) or leads_to.startswith("/admin/login/")
            # Django's redirection of a short address, and its answer where there is no such record.
            is_empty = leads_to in (f"{address}change/", "/admin/") and answer.status_code == 302
            if not is_refused and not is_empty:
                found.append((method, address, answer.status_code, leads_to))
    return found


def outsider():
    """Signed in to the back office, and may see positions only."""
    return signed_in(a_staff_member(role=a_role("people.view_position")))


def signed_in(staff):
    client = Client()
    client.force_login(staff)
    return client


def test_the_addresses_that_are_left_out_exist(records):
    assert PUBLIC.keys() | FOR_ALL_STAFF.keys() <= set(addresses())
    assert len(addresses()) > 150


def test_nobody_gets_in_without_signing_in(records):
    assert leaks(Client(), PUBLIC) == []


def test_a_role_without_the_right_gets_in_nowhere(records):
    found = leaks(outsider(), PUBLIC | FOR_ALL_STAFF)
    # The addresses of settings lead to their only record, of a new statement to its month: both are refused.
    expected = ("/people/position/", "/subscriber/", "/paymentsettings/", "/payments/statement/add/")
    assert [leak for leak in found if not any(each in leak[1] for each in expected)] == []
    assert any("/people/position/" in address for _, address, _, _ in found)


def test_suggestions_are_only_of_records_that_a_role_may_see(records):
    client = outsider()
    for model, model_admin in admin.site._registry.items():
        for name in model_admin.get_autocomplete_fields(None):
            field = {
                "app_label": model._meta.app_label,
                "model_name": model._meta.model_name,
                "field_name": name,
            }
            answer = client.get("/admin/autocomplete/", {**field, "term": ""})
            may_see = model._meta.get_field(name).related_model is Position
            assert answer.status_code == 403 or bool(answer.json()["results"]) is may_see, field


def test_the_other_ends_of_references_have_no_suggestions(records):
    client = signed_in(an_administrator())
    for name in ("claims", "represents", "key_contact_of"):
        field = {"app_label": "people", "model_name": "contact", "field_name": name}
        assert client.get("/admin/autocomplete/", {**field, "term": ""}).status_code == 403
