"""The start page, health, error pages, and the headers on all of them."""

import contextlib
import re
from pathlib import Path

import pytest
from django.contrib import admin
from django.db import OperationalError, models
from django.test import Client, RequestFactory
from django.urls import reverse

from apps.core import views
from apps.core.admin_base.home import registered_pages
from apps.core.admin_base.pages import PageAdmin
from apps.core.admin_base.settings_pages import SettingsListAdmin
from apps.core.models import SavedFilter, Subscriber
from apps.people.merging import merge
from tests.payments.builders import an_account
from tests.people.records import a_client, a_contact, a_role, a_staff_member, an_administrator, unrendered

ROUTES = ("/", "/livez", "/readyz", "/admin/login/", "/admin/", "/nothing-here", "/static/start.css")


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.django_db
def test_every_route_says_what_browsers_may_do(client, route):
    headers = client.get(route).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"
    assert "camera=()" in headers["Permissions-Policy"]
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.django_db
def test_only_the_back_office_evaluates_expressions_and_nobody_runs_scripts_of_a_page(client):
    def scripts(route):
        policy = client.get(route)["Content-Security-Policy"]
        assert "form-action 'self'" in policy
        return re.search(r"script-src ([^;]+)", policy).group(1).strip()

    assert scripts("/") == scripts("/nothing-here") == "'self'"
    assert scripts("/admin/login/") == "'self' 'unsafe-eval'"


def test_no_template_shows_a_text_as_markup():
    templates = [*Path("templates").rglob("*.html"), *Path("apps").rglob("*.html")]
    assert len(templates) > 100
    marks = re.compile(r"\|\s*safe(seq)?\b|autoescape off")
    assert [path.name for path in templates if marks.search(path.read_text())] == []


@pytest.mark.django_db
def test_nothing_keeps_a_page_of_the_back_office(client):
    client.force_login(
        a_staff_member(role=a_role("people.view_client")), "apps.people.authentication.StaffBackend"
    )
    answers = [client.get(route) for route in ("/admin/", "/admin/people/staff/", "/admin/nothing-here/")]
    assert [answer.status_code for answer in answers] == [200, 403, 404]
    assert all("no-store" in answer["Cache-Control"] for answer in answers)
    texts_of_scripts = client.get("/admin/jsi18n/")
    assert texts_of_scripts["Cache-Control"] == "private, max-age=86400"
    client.logout()
    assert "no-store" in client.get("/admin/jsi18n/")["Cache-Control"]


@pytest.mark.django_db
def test_the_start_page_links_to_every_page(client):
    page = client.get("/").content.decode()
    for address in ("/admin/", "/docs/", "/api/", "/api/$metadata", "/livez", "/readyz"):
        assert f'href="{address}"' in page
    assert "http://testserver/connect/token" in page


@pytest.mark.django_db
def test_pages_ask_nothing_of_other_hosts(client):
    for route in ("/", "/admin/login/", "/nothing-here"):
        page = client.get(route).content.decode()
        assert not re.findall(r'(?:src|href|action)="(?:https?:)?//', page)


@pytest.mark.django_db
def test_lists_of_settings_are_in_the_menu_of_those_alone_who_may_change_the_settings(client):
    """Without another permission of the app that they belong to, and not with one of it alone."""
    pages = [page for page in registered_pages() if isinstance(page, SettingsListAdmin)]
    assert len(pages) == 3
    others = {"funding": "funding.view_claim", "payments": "payments.view_bankaccount"}
    for page in pages:
        link = f'href="{page.page_url("changelist")}"'
        for permission, is_listed in ((page.settings_permission, True), (others[page.opts.app_label], False)):
            client.force_login(a_staff_member(role=a_role(permission)))
            assert (link in client.get("/admin/").content.decode()) == is_listed, (page, permission)


def test_livez_asks_nothing_of_the_database(client):
    # Without the django_db mark, any query is an error; the settings' would be one.
    Subscriber.clear_cache()
    answer = client.get("/livez")
    assert (answer.status_code, answer.json()) == (200, {"status": "alive"})


@pytest.mark.django_db
def test_readyz_is_ready_when_the_database_holds_every_migration(client):
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ready"})


@pytest.mark.django_db
def test_readyz_names_missing_migrations(client, monkeypatch):
    later = (*views.known_migrations(), ("people", "9999_later"))
    monkeypatch.setattr(views, "known_migrations", lambda: later)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["reason"] == "The database lacks 1 migrations."


def test_readyz_reports_a_database_that_does_not_answer(client, monkeypatch):
    def lost(connection):
        raise OperationalError("connection refused at 10.0.0.7")

    Subscriber.clear_cache()
    monkeypatch.setattr(views, "applied_migrations", lost)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "10.0.0.7" not in answer.content.decode()


@pytest.mark.django_db
def test_an_unknown_page_has_the_look_of_the_site(client):
    answer = client.get("/nothing-here")
    assert answer.status_code == 404
    assert "Page not found" in answer.content.decode()
    assert "start.css" in answer.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "missing"),
    [
        ("people/staff/", "view staff"),
        ("people/staff/add/", "add staff"),
        ("people/client/{}/history/", None),
        ("people/client/{}/change/", None),
        ("people/client/add/", "add clients"),
        ("documents/document/add/", "add documents"),
        ("engagements/clientengagement/", "view plans"),
        ("people/client/{}/merge/", "change clients"),
        ("core/change/add/", ""),
    ],
)
def test_who_lacks_a_permission_reads_which_and_gets_home(client, address, missing):
    client.force_login(a_staff_member(role=a_role("people.view_client")))
    answer = client.get(f"/admin/{address.format(a_client().pk)}")
    if missing is None:
        assert answer.status_code == 200
        return
    assert answer.status_code == 403
    text = answer.content.decode()
    sentence = f"lacks the permission to {missing}." if missing else "Your role does not allow this page."
    assert sentence in text
    assert '<a class="button" href="/admin/">To Home</a>' in text


@pytest.mark.django_db
def test_a_change_that_is_not_allowed_names_its_permission(client):
    client.force_login(a_staff_member(role=a_role("people.view_client")))
    answer = client.post(f"/admin/people/client/{a_client().pk}/change/", {})
    assert "lacks the permission to change clients." in answer.content.decode()


@pytest.mark.django_db
def test_a_form_without_its_token_is_refused_in_the_look_of_the_site():
    answer = Client(enforce_csrf_checks=True).post("/admin/login/", {"username": "a", "password": "b"})
    assert answer.status_code == 403
    assert "This form has expired" in answer.content.decode()


def test_an_unforeseen_error_names_the_request_and_nothing_else():
    request = RequestFactory().get("/")
    request.request_id = "abc-123"
    answer = views.server_error(request)
    assert answer.status_code == 500
    assert "abc-123" in answer.content.decode()


@pytest.mark.django_db
def test_an_unforeseen_error_in_the_back_office_is_answered_by_the_page_without_its_text(monkeypatch):
    def fail(*args):
        raise RuntimeError("text of the error")

    monkeypatch.setattr(PageAdmin, "get_changelist", fail)
    client = Client(raise_request_exception=False)
    client.force_login(
        a_staff_member(role=a_role("people.view_client")), "apps.people.authentication.StaffBackend"
    )
    answer = client.get("/admin/people/client/")
    page = answer.content.decode()
    assert answer.status_code == 500
    assert "An error occurred" in page
    assert "give this request id" in page
    assert "text of the error" not in page


@pytest.mark.django_db
def test_the_header_names_the_list_and_the_page_or_the_record(client):
    client.force_login(an_administrator())
    contact = a_contact(first_name="Mia", last_name="Nguyen")

    def header(address):
        title = re.search(r'<h1 class="rs-title">(.*?)</h1>', client.get(address).content.decode())[1]
        return re.sub(r"<span[^>]*>chevron_right</span>", " > ", title)

    contacts = '<a href="/admin/people/contact/">Participants and contacts</a>'
    record = f'<a href="/admin/people/contact/{contact.pk}/overview/">Mia Nguyen</a>'
    assert header("/admin/people/contact/") == "<span>Participants and contacts</span>"
    assert header(f"/admin/people/contact/{contact.pk}/change/") == f"{contacts} > {record}"
    assert header("/admin/people/contact/add/") == f"{contacts} > <span>Add contact</span>"
    history = header(f"/admin/people/contact/{contact.pk}/history/")
    assert history == f"{contacts} > <span>History of Mia Nguyen</span>"
    month_end = header("/admin/funding/claim/month-end/")
    assert month_end == '<a href="/admin/funding/claim/">Claims</a> > <span>Month end</span>'
    filtered = header(f"/admin/people/contact/{contact.pk}/change/?_changelist_filters=q%3Dmia")
    assert 'href="/admin/people/contact/?q=mia"' in filtered
    assert header("/admin/") == "<span>Home</span>"


@pytest.mark.django_db
def test_cancel_leads_back_and_sends_no_form(client):
    """Without an address it would be a button of its form: it would archive, merge or confirm."""
    client.force_login(an_administrator())
    contact, staff, account = a_contact(), a_staff_member(), an_account(a_client(), confirmed=False)
    merged = a_contact()
    merge(contact, merged)
    for address, name, back in (
        (f"people/client/{account.client_id}", "archiving", "change/"),
        (f"people/staff/{staff.pk}", "archiving", "change/"),
        (f"people/staff/{staff.pk}", "password", "change/"),
        (f"people/contact/{contact.pk}", "merge", "change/"),
        (f"people/contact/{contact.pk}", f"merge/?duplicate={a_contact().pk}", "change/"),
        (f"people/contact/{merged.pk}", "merge", "change/"),
        (f"payments/bankaccount/{account.pk}", "confirm", "change/"),
        ("documents/document", "add", ""),
    ):
        page = client.get(f"/admin/{address}/{name}{'' if '?' in name else '/'}").content.decode()
        start = page.rindex("<", 0, page.rindex("Cancel"))
        assert page[start:].startswith(f'<a href="/admin/{address}/{back}"'), (address, name)


def test_every_button_of_a_template_sends_its_form_or_has_an_address_that_the_page_has():
    """``{% url … as %}`` in one block is unknown to the others."""
    for path in (*Path("apps").rglob("*.html"), *Path("templates").rglob("*.html")):
        text = path.read_text()
        made = set(re.findall(r"{% url [^%]* as (\w+) %}", text))
        for block in re.split(r"(?={% block )", text):
            unknown = made - set(re.findall(r"{% url [^%]* as (\w+) %}", block))
            used = re.findall(r"(?:href|link)=(\w+)", block)
            assert unknown.isdisjoint(used), path
        for button in re.findall(r'{% component "unfold/components/button.html"([^%]*)%}', text):
            assert re.search(r"(href|submit)=", button), path


NO_VALUES = ["no key", "1e400", "99999999999999999999", "-99999999999999999999", "-1", "0001-01-01", ""]


def shown_fields(answer):
    """The fields of the form on an unrendered page, and of its rows, as they would be shown."""
    context = answer.context or {}
    if "adminform" in context:
        forms = [each for grid in context["inline_admin_formsets"] for each in grid.formset]
        return [str(field) for form in (context["adminform"].form, *forms) for field in form]
    return []


@pytest.mark.both_engines  # each has numbers, texts and days of its own that it refuses
@pytest.mark.parametrize("text", NO_VALUES)
@pytest.mark.django_db
def test_no_form_fails_on_what_it_is_sent(client, ada, text):
    """Each page is shown whole with one of the texts, with the others only its fields: 57 s of CPU before."""
    statuses, shown = set(), 0
    for number, model in enumerate(admin.site._registry):
        names = [column.name for column in (*model._meta.concrete_fields, *model._meta.many_to_many)]
        page = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        adding, listing = reverse(f"{page}_add"), reverse(f"{page}_changelist")
        sent = {name: text for column in names for name in (column, f"{column}_0", f"{column}_1")}
        is_whole = NO_VALUES[number % len(NO_VALUES)] == text
        with contextlib.nullcontext() if is_whole else unrendered():
            answers = [
                client.get(adding, dict.fromkeys(names, text)),
                client.post(adding, {**sent, "opened_version": text}),
            ]
            if is_whole or not isinstance(model._meta.pk, models.UUIDField):  # the lists with guids are many
                chosen = {"action": "archive_selected", "_selected_action": text, "index": "0"}
                answers.append(client.post(listing, chosen))
        assert {answer.status_code for answer in answers} <= {200, 302, 400, 403}, (model, answers)
        statuses |= {answer.status_code for answer in answers}
        shown += sum(len(shown_fields(answer)) for answer in answers)
    assert statuses >= {200, 403}
    assert shown > 300


@pytest.mark.django_db
def test_a_form_names_a_number_that_no_database_would_keep(client, ada):
    page = client.post("/admin/funding/product/add/", {"category_number": "99999"}).content.decode()
    assert "less than or equal to 32767" in page


@pytest.mark.parametrize("opened", ["0001-01-01", "9999-12-31T23:59:59", "no version"])
@pytest.mark.django_db
def test_a_form_that_was_opened_at_no_time_is_stale(client, ada, opened):
    contact = a_contact()
    answer = client.post(f"/admin/people/contact/{contact.pk}/change/", {"opened_version": opened})
    assert "changed this record" in answer.content.decode()


@pytest.mark.django_db
def test_no_page_takes_a_text_that_postgresql_cannot_keep(client, ada):
    answer = client.post("/admin/people/contact/list-view/", {"name": "Mine\0", "query": ""})
    assert (answer.status_code, SavedFilter.objects.count()) == (400, 0)


@pytest.mark.parametrize(
    "address", ["", "people/contact/", "people/contact/add/", "payments/paymentrun/ready/"]
)
@pytest.mark.django_db
def test_the_first_heading_of_a_page_is_its_title_and_the_menu_has_none(client, ada, address):
    assert re.search(r"<h([1-6])", client.get(f"/admin/{address}").content.decode())[1] == "1"
