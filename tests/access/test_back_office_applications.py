"""API applications in the back office: the secret is shown once, and revoking takes effect at once."""

import re

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from apps.access.authentication import find_application_by_secret
from apps.access.models import AccessToken, ApiApplication
from apps.access.services import issue_token
from apps.core.models import Change
from apps.people.models import Staff
from tests.people.builders import a_location, a_team
from tests.people.records import a_role, a_staff_member

pytestmark = pytest.mark.django_db

LIST = "admin:access_apiapplication_changelist"


def secret_in(response):
    assert response.status_code == 200
    return re.search(r'id="client-secret">([^<]+)<', response.content.decode()).group(1)


def add(office, **fields):
    form = {"name": "Payroll", "scope": ["client.read", "write"], **fields}
    return office.post(reverse("admin:access_apiapplication_add"), form)


def change_page(application):
    return reverse("admin:access_apiapplication_change", args=[application.pk])


def form_of(office, application):
    page = office.get(change_page(application))
    version = page.context["adminform"].form.fields["opened_version"].initial
    return {"name": application.name, "scope": application.scope.split(), "opened_version": version}


def test_an_application_is_added_with_ticked_scopes_and_its_secret_works(office):
    response = add(office)
    application = ApiApplication.objects.get()
    assert application.scope == "client.read write"
    assert find_application_by_secret(application.client_id, secret_in(response)) is not None
    assert "no-store" in response["Cache-Control"]


def test_the_secret_is_shown_once_and_stored_nowhere(office):
    secret = secret_in(add(office))
    application = ApiApplication.objects.get()
    for page in (
        reverse(LIST),
        change_page(application),
        reverse("admin:access_apiapplication_history", args=[application.pk]),
    ):
        response = office.get(page)
        assert response.status_code == 200
        assert secret not in response.content.decode()
        assert application.secret_hash not in response.content.decode()
    assert secret not in str(list(Change.objects.values()))
    assert secret not in str(office.session.items())
    assert not any(secret in cookie.value for cookie in office.cookies.values())


def test_only_who_may_do_everything_makes_applications_and_their_secrets(office, client):
    """Each is a way to all that its scopes allow: with `write` to the role of an administrator."""
    add(office)
    application = ApiApplication.objects.get()
    kinds = ("apiapplication", "webhook", "webhookmessage")
    every = Permission.objects.filter(content_type__app_label="access", content_type__model__in=kinds)
    person = a_staff_member(role=a_role(*(f"access.{each.codename}" for each in every)))
    client.force_login(person, backend="apps.people.authentication.StaffBackend")
    assert client.get(reverse(LIST)).status_code == 200
    assert add(client, name="Mine").status_code == 403
    renewed = {"access_apiapplication_new_secret": "on"}
    assert client.post(change_page(application), renewed).status_code == 403
    assert client.get(reverse("admin:access_webhook_add")).status_code == 403
    client.post(reverse(LIST), {"action": "archive_selected", "_selected_action": [str(application.pk)]})
    application.refresh_from_db()
    assert not application.is_archived


def test_the_history_names_who_made_an_application(office):
    add(office)
    line = Change.objects.get(record_type="access.apiapplication")
    assert (line.kind, line.channel, line.staff) == ("Created", "Back office", Staff.objects.get())


@pytest.mark.parametrize("name", ["payroll", " PAYROLL "])
def test_two_applications_cannot_share_a_name(office, name):
    add(office)
    response = add(office, name=name)
    assert response.status_code == 200
    assert response.context["adminform"].form.errors["name"]
    assert ApiApplication.objects.count() == 1


def test_a_scope_that_is_not_offered_cannot_be_ticked(office):
    assert add(office, scope=["nonsense"]).context["adminform"].form.errors["scope"]


def test_a_changed_application_shows_no_secret(office):
    add(office)
    application = ApiApplication.objects.get()
    form = form_of(office, application)
    assert office.post(change_page(application), {**form, "scope": ["read"]}).status_code == 302
    application.refresh_from_db()
    assert application.scope == "read"


def test_a_new_secret_ends_the_one_before_it(office):
    old = secret_in(add(office))
    application = ApiApplication.objects.get()
    button = "access_apiapplication_new_secret"
    response = office.post(change_page(application), {**form_of(office, application), button: "on"})
    new = secret_in(response)
    assert find_application_by_secret(application.client_id, old) is None
    assert find_application_by_secret(application.client_id, new) is not None
    stored = ApiApplication.objects.get()
    assert stored.secret_hash not in str(list(Change.objects.values()))
    assert application.secret_hash not in str(list(Change.objects.values()))
    assert "secret_hash" in str(Change.objects.latest("id").differences)


def test_a_second_secret_leaves_the_former_one_a_day(office, at):
    old = secret_in(add(office))
    application = ApiApplication.objects.get()
    button = "access_apiapplication_second_secret"
    response = office.post(change_page(application), {**form_of(office, application), button: "on"})
    assert "The former secret is valid until" in response.content.decode()
    new = secret_in(response)
    for hours, valid in ((23, [old, new]), (25, [new])):
        at(hours=hours)
        found = [find_application_by_secret(application.client_id, secret) for secret in (old, new)]
        assert [secret for secret, caller in zip((old, new), found, strict=True) if caller] == valid


def test_a_new_secret_cannot_be_made_by_a_link(office):
    """A GET carries no CSRF token: another site could make a browser follow it."""
    add(office)
    application = ApiApplication.objects.get()
    office.get(change_page(application) + "?access_apiapplication_new_secret=on")
    secret_hash = application.secret_hash
    application.refresh_from_db()
    assert application.secret_hash == secret_hash


@pytest.mark.both_engines("stored by statements that no other test has")
def test_applications_are_revoked_and_restored_from_the_list(office):
    secret = secret_in(add(office))
    application = ApiApplication.objects.get()
    caller = find_application_by_secret(application.client_id, secret)
    issue_token(caller, ["write"])
    chosen = {"_selected_action": [str(application.pk)]}
    office.post(reverse(LIST), {"action": "archive_selected", **chosen})
    assert find_application_by_secret(application.client_id, secret) is None
    assert not AccessToken.objects.exists()
    office.post(f"{reverse(LIST)}?archived=yes", {"action": "restore_selected", **chosen})
    assert find_application_by_secret(application.client_id, secret) is not None


def test_tokens_are_listed_and_deleted_but_never_shown(office, registered):
    application, secret = registered()
    token = issue_token(find_application_by_secret(application.client_id, secret), ["read"])
    page = office.get(reverse("admin:access_accesstoken_changelist"))
    assert "Payroll" in page.content.decode()
    assert token not in page.content.decode()
    (token,) = AccessToken.objects.all()
    office.post(reverse("admin:access_accesstoken_delete", args=[token.pk]), {"post": "yes"})
    assert not AccessToken.objects.exists()
    assert office.get(reverse("admin:access_accesstoken_add")).status_code == 403


def test_an_application_is_limited_to_participants_in_its_form_and_its_history_says_so(office):
    location, team, manager = a_location(), a_team(), a_staff_member()
    lists = {"locations": [location.pk], "teams": [team.pk], "account_managers": [manager.pk]}
    add(office, **lists)
    application = ApiApplication.objects.get()
    assert not application.sees_everybody
    for name, keys in lists.items():
        assert list(getattr(application, name).values_list("pk", flat=True)) == keys
    form = {**form_of(office, application), **lists, "teams": [], "sees_everybody": "on"}
    assert office.post(change_page(application), form).status_code == 302
    application.refresh_from_db()
    assert (application.caseload, list(application.teams.all())) == (None, [])
    page = office.get(reverse("admin:access_apiapplication_history", args=[application.pk]))
    changed = {each.label for line in page.context["lines"] for each in line.differences}
    assert changed == {"Sees all participants", "Teams"}
