"""The commands that make, revoke and clean up ways in."""

import json
import stat
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from apps.access.authentication import find_application_by_secret
from apps.access.callers import hash_secret
from apps.access.models import AccessToken, ApiApplication
from apps.access.services import revoke_applications
from apps.base import clock
from apps.core.history_display import changes_of
from apps.core.models import Change
from apps.people.choices import Participants
from apps.people.models import Role, Staff
from tests.people.records import a_role, a_staff_member

pytestmark = pytest.mark.django_db


def run(*words, **options):
    out = StringIO()
    call_command(*words, stdout=out, **options)
    return out.getvalue()


def test_create_api_application_prints_a_secret_that_works():
    printed = json.loads(run("create_api_application", "Payroll", "--scope", "client.read", "--json"))
    assert set(printed) == {"client_id", "client_secret"}
    caller = find_application_by_secret(printed["client_id"], printed["client_secret"])
    assert (caller.name, caller.scopes) == ("Payroll", (frozenset({"client.read"}),))


def test_an_application_made_without_scopes_may_read_and_write():
    run("create_api_application", "Payroll")
    assert ApiApplication.objects.get().scope == "read write"


@pytest.mark.parametrize(
    "words", [["--scope", "read", "--scope", "staff.write"], ["--scope", "read,staff.write"]]
)
def test_scopes_are_given_one_by_one_or_as_a_list(words):
    run("create_api_application", "Payroll", *words)
    assert ApiApplication.objects.get().scope == "read staff.write"


def test_the_printed_secret_comes_with_a_curl_command_to_try_it():
    text = run("create_api_application", "Payroll", "--url", "https://records.example/")
    application = ApiApplication.objects.get()
    (curl,) = [line for line in text.splitlines() if "curl" in line]
    secret = curl.split(f"--user {application.client_id}:")[1].split()[0]
    assert hash_secret(secret) == application.secret_hash
    assert curl.endswith(" https://records.example/connect/token")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["payROLL "], "There is an API application payROLL already."),
        (
            ["New", "--scope", "clients.read"],
            "clients.read is no scope of this service; is client.read meant?",
        ),
        (["New", "--scope", "zzz"], "zzz is no scope of this service."),
        (["x" * 91], "at most 90 characters"),
        (["  "], "cannot be blank"),
    ],
)
def test_an_application_that_cannot_be_registered_gives_a_sentence(words, complaint):
    run("create_api_application", "Payroll")
    with pytest.raises(CommandError, match=complaint.replace("?", r"\?")):
        run("create_api_application", *words)
    assert ApiApplication.objects.count() == 1


def test_the_history_names_an_application_and_not_its_secret(registered):
    application, _ = registered()
    revoke_applications(ApiApplication.objects.all())
    lines = list(Change.objects.filter(record_type="access.apiapplication").order_by("pk"))
    assert [line.kind for line in lines] == ["Created", "Archived"]
    assert not any(application.secret_hash in str(line.differences) for line in lines)


@pytest.mark.parametrize("by", ["name", "client_id"])
def test_an_application_is_revoked_by_name_or_client_id(registered, by):
    application, secret = registered()
    named = {"name": "PAYROLL", "client_id": application.client_id}[by]
    assert run("revoke_api_application", named) == "Revoked: Payroll\n"
    assert find_application_by_secret(application.client_id, secret) is None


def test_revoking_an_unknown_application_is_an_error():
    with pytest.raises(CommandError, match="no API application with the name or client id Nobody"):
        run("revoke_api_application", "Nobody")


def test_purging_deletes_expired_tokens_only(registered):
    application, _ = registered()
    for hours in (-1, 1):
        AccessToken.objects.create(
            hash=hash_secret(str(hours)),
            application=application,
            expires_at=clock.now() + clock.dt.timedelta(hours=hours),
        )
    assert "1 access tokens deleted" in run("purge_expired")
    assert AccessToken.objects.get().hash == hash_secret("1")


def test_create_staff_login_makes_the_first_administrator():
    printed = json.loads(run("create_staff_login", "Ann.Lee@Example.org", "--json"))
    staff = Staff.objects.get()
    assert (staff.primary_email, staff.is_superuser) == ("Ann.Lee@Example.org", True)
    assert (staff.first_name, staff.last_name) == ("Ann.Lee", "Example.org")
    assert staff.use_primary_email  # one of the two emails must be in use (interface.md 4.1)
    assert staff.role.name == "Administrator"
    assert staff.check_password(printed["password"])
    assert list(changes_of(staff).values_list("kind", "channel")) == [("Created", "Command")]


def test_a_second_login_shares_the_administrator_role():
    run("create_staff_login", "ann@example.org")
    run("create_staff_login", "bob@example.org", "--first-name", "Bob", "--last-name", "Roe")
    assert Role.objects.count() == 1
    assert str(Staff.objects.get(primary_email="bob@example.org")) == "Bob Roe"


def test_an_existing_login_gets_a_new_password_only_with_the_option():
    first = json.loads(run("create_staff_login", "ann@example.org", "--json"))
    with pytest.raises(CommandError, match="has a login already"):
        run("create_staff_login", "ANN@example.org")
    assert Staff.objects.get().check_password(first["password"])
    second = json.loads(run("create_staff_login", "ANN@example.org", "--reset", "--json"))
    assert Staff.objects.get().check_password(second["password"])


def test_a_password_can_be_given_and_is_not_printed(monkeypatch):
    monkeypatch.setattr("sys.stdin", StringIO("Quite-a-long-one-42\n"))
    assert "Quite-a-long-one-42" not in run("create_staff_login", "ann@example.org", "--password-stdin")
    assert Staff.objects.get().check_password("Quite-a-long-one-42")


@pytest.mark.parametrize(
    ("words", "stdin", "complaint"),
    [
        (["no-email"], "", r"^Enter a valid email address\.$"),
        (["ann@example.org", "--role", "Nurse"], "", "There is no role Nurse. Roles: none yet."),
        (["ann@example.org", "--password-stdin"], "short\n", "too short"),
        (["ann@example.org", "--password-stdin"], "", "too short"),
    ],
)
def test_a_login_that_cannot_be_made_stores_nothing(monkeypatch, words, stdin, complaint):
    monkeypatch.setattr("sys.stdin", StringIO(stdin))
    with pytest.raises(CommandError, match=complaint):
        run("create_staff_login", *words)
    assert not Staff.objects.exists()


def test_of_many_roles_twenty_are_named():
    Role.objects.bulk_create([Role(name=f"Role {number:02}") for number in range(22)])
    with pytest.raises(CommandError) as refused:
        run("create_staff_login", "ann@example.org", "--role", "Nurse")
    assert str(refused.value).count("Role ") == 20


def test_a_login_without_permissions_is_reported():
    Role.objects.create(name="Nurse")
    assert "grants nothing yet" in run("create_staff_login", "ann@example.org", "--role", "nurse")
    Staff.objects.update(archive_date=clock.now())
    assert "This login is disabled" in run("create_staff_login", "ann@example.org", "--reset")


@pytest.fixture
def demo(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    return lambda: run("prepare_demo", "--url", "http://127.0.0.1:8123/")


def noted(settings):
    return json.loads((settings.VAR_DIR / "demo.json").read_text())


def test_a_demo_prints_a_login_and_credentials_that_work(demo, settings):
    text = demo()
    known = noted(settings)
    assert find_application_by_secret(known["client_id"], known["client_secret"]).name == "Demo"
    staff = Staff.objects.get_by_natural_key(known["email"])
    assert staff.is_superuser
    assert staff.check_password(known["password"])
    for printed in (*known.values(), "http://127.0.0.1:8123/api/", "http://127.0.0.1:8123/docs/"):
        assert printed in text
    assert "http://127.0.0.1:8123/admin/" in text
    assert "-d grant_type=client_credentials http://127.0.0.1:8123/connect/token" in text


@pytest.fixture
def coordinator():
    role = Role.objects.create(name="Support coordinator", participants=Participants.OWN)
    return a_staff_member(primary_email="support.coordinator@example.com", role=role)


def test_a_demo_prints_the_login_of_somebody_who_sees_some_participants(demo, settings, coordinator):
    text = demo()
    known = noted(settings)
    coordinator.refresh_from_db()
    assert coordinator.check_password(known["limited_password"])
    assert f"{coordinator.primary_email}  {known['limited_password']}  sees" in text
    assert demo() == text
    coordinator.set_password("Changed-by-somebody-1")
    coordinator.save()
    demo()
    coordinator.refresh_from_db()
    assert coordinator.check_password(noted(settings)["limited_password"])
    assert coordinator.role.name == "Support coordinator"


def test_a_demo_prints_no_limited_login_where_the_role_sees_all_or_the_login_is_closed(demo, coordinator):
    for change in ({"disable_login_date": clock.now()}, {"role": a_role()}):
        Staff.objects.filter(pk=coordinator.pk).update(**change)
        assert "sees the participants" not in demo()
        Staff.objects.filter(pk=coordinator.pk).update(disable_login_date=None)


def test_a_second_demo_prints_the_same(demo):
    assert demo() == demo()


def test_only_the_owner_may_read_the_file_with_demo_credentials(demo, settings):
    path = settings.VAR_DIR / "demo.json"
    path.write_text("not json")
    path.chmod(0o644)
    demo()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_demo_credentials_that_are_not_valid_any_more_are_made_anew(demo, settings):
    demo()
    before = noted(settings)
    staff = Staff.objects.get()
    staff.set_password("Changed-by-somebody-1")
    staff.save()
    revoke_applications(ApiApplication.objects.all())
    (settings.VAR_DIR / "demo.json").unlink()
    demo()
    after = noted(settings)
    assert before["password"] != after["password"]
    assert before["client_id"] == after["client_id"]
    assert before["client_secret"] != after["client_secret"]
    assert find_application_by_secret(after["client_id"], after["client_secret"]) is not None
    assert Staff.objects.get().check_password(after["password"])
