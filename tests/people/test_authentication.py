"""Signing in to the back office: whose login is open, and what guessing leads to."""

import contextlib
import datetime as dt

import pytest
import time_machine
from allauth.usersessions.models import UserSession
from axes.models import AccessAttempt, AccessLog
from django.contrib.auth import authenticate
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.password_validation import validate_password
from django.core import signing
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.access.throttling import client_address, counted_address
from apps.core.models import Change, Subscriber, new_guid
from apps.core.templatetags.browsers import browser_name
from apps.people import authentication
from apps.people.authentication.attempts import DEVICE_AGE, DEVICE_SALT, KNOWN_ADDRESS_AGE
from apps.people.models import Staff
from apps.people.services import disable_logins, enable_logins
from tests.people.records import PASSWORD, a_role, a_staff_member, an_administrator

pytestmark = [pytest.mark.django_db, pytest.mark.any_engine("passwords and sessions are checked in Python")]
LOGIN = "/admin/login/"


def sign_in(client, username, password=PASSWORD, **more):
    return client.post(LOGIN, {"username": username, "password": password, **more})


def is_signed_in(client):
    return client.get("/admin/").status_code == 200


def test_the_login_is_the_primary_email_in_any_case(client):
    an_administrator(primary_email="ada@example.org")
    assert sign_in(client, " ADA@Example.org ").status_code == 302
    assert is_signed_in(client)


def test_a_session_of_nobody_is_no_fault():
    """Of a database that was restored meanwhile."""
    assert authentication.StaffBackend().get_user(new_guid()) is None


@pytest.mark.parametrize(
    "closed",
    [
        {"archive_date": dt.timedelta(0)},
        {"disable_login_date": dt.timedelta(hours=1)},
    ],
)
def test_a_closed_login_is_refused_and_its_session_ends(client, closed):
    person = an_administrator()
    sign_in(client, person.primary_email)
    assert is_signed_in(client)
    since = {name: timezone.now() - ago for name, ago in closed.items()}
    Staff.objects.filter(pk=person.pk).update(**since)
    assert authentication.StaffBackend().get_user(person.pk) is None
    assert not is_signed_in(client)
    sign_in(client, person.primary_email)
    assert not is_signed_in(client)


def test_a_login_that_closes_later_is_still_open(client):
    person = an_administrator(disable_login_date=timezone.now() + dt.timedelta(hours=1))
    sign_in(client, person.primary_email)
    assert is_signed_in(client)


def test_who_loses_all_permissions_may_sign_in_as_somebody_else(client):
    person = a_staff_member(role=a_role("people.view_client"))
    sign_in(client, person.primary_email)
    person.role.permissions.clear()
    assert client.get("/admin/", follow=True).redirect_chain == [(f"{LOGIN}?next=/admin/", 302)]
    sign_in(client, an_administrator().primary_email)
    assert is_signed_in(client)


def test_staff_without_permissions_cannot_sign_in(client):
    person = a_staff_member(role=a_role())
    assert "No open login has this" in sign_in(client, person.primary_email).content.decode()
    assert not is_signed_in(client)


def test_an_unknown_login_and_a_wrong_password_get_the_same_answer(client):
    an_administrator(primary_email="ada@example.org")
    known = sign_in(client, "ada@example.org", "wrong").content.decode()
    unknown = sign_in(client, "eve@example.org", "wrong").content.decode()

    def without_tokens(page):
        return [line for line in page.splitlines() if "csrf" not in line and "@example.org" not in line]

    assert without_tokens(known) == without_tokens(unknown)


def test_an_unknown_login_costs_as_many_hashes_as_a_known_one(monkeypatch):
    hashed = []
    encode = MD5PasswordHasher.encode
    monkeypatch.setattr(
        MD5PasswordHasher, "encode", lambda *given, **named: hashed.append(1) or encode(*given, **named)
    )
    an_administrator(primary_email="ada@example.org")
    hashed.clear()
    backend = authentication.StaffBackend()
    costs = []
    for username in ("ada@example.org", "eve@example.org"):
        backend.authenticate(None, username, "wrong")
        costs.append(len(hashed))
        hashed.clear()
    assert costs == [1, 1]


def test_guesses_beyond_the_limit_get_429_and_lock_out_the_right_password_too(client, settings):
    settings.AXES_FAILURE_LIMIT = 3
    an_administrator(primary_email="ada@example.org")
    # However the login is spelled, guesses at it are counted together.
    answers = [
        sign_in(client, name, "wrong") for name in ("ada@example.org", "ADA@example.org", "Ada@Example.org")
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert "Too many attempts" in answers[-1].content.decode()
    assert answers[-1]["Retry-After"] == "900"
    assert sign_in(client, "ada@example.org").status_code == 429


def test_who_signs_in_has_as_many_attempts_as_before_the_next_time(client, settings):
    settings.AXES_FAILURE_LIMIT = 3
    person = an_administrator()
    for password in ("wrong", "wrong", PASSWORD, "wrong", "wrong", PASSWORD):
        client.logout()
        assert sign_in(client, person.primary_email, password).status_code != 429
    assert is_signed_in(client)


def test_somebody_elses_guesses_do_not_lock_a_person_out(client, settings):
    settings.AXES_FAILURE_LIMIT = 2
    person = an_administrator()
    for _ in range(3):
        client.post(LOGIN, {"username": person.primary_email, "password": "x"}, REMOTE_ADDR="203.0.113.9")
    assert sign_in(client, person.primary_email).status_code == 302


def test_one_address_guessing_at_many_logins_is_locked_out(client, settings):
    settings.LOGIN_FAILURE_LIMIT_PER_ADDRESS = 4
    answers = [sign_in(client, f"somebody{number}@example.org", "x").status_code for number in range(6)]
    assert answers == [200, 200, 200, 200, 429, 429]


OFFICE = "203.0.113.9"


@pytest.fixture
def locked_office(settings):
    """An office whose shared address has too many failures; Ada has signed in from there before."""
    settings.LOGIN_FAILURE_LIMIT_PER_ADDRESS, settings.AXES_FAILURE_LIMIT = 4, 2
    ada, browser = an_administrator(primary_email="ada@example.org"), Client(REMOTE_ADDR=OFFICE)
    assert sign_in(browser, ada.primary_email).status_code == 302
    colleague = Client(REMOTE_ADDR=OFFICE)
    for number in range(5):
        sign_in(colleague, f"somebody{number}@example.org", "wrong")
    assert sign_in(Client(REMOTE_ADDR=OFFICE), an_administrator().primary_email).status_code == 429
    return browser


def test_one_persons_failures_do_not_lock_out_a_whole_office(locked_office):
    locked_office.post("/admin/logout/")
    assert sign_in(locked_office, "ada@example.org").status_code == 302  # by the cookie of the device
    assert sign_in(Client(REMOTE_ADDR=OFFICE), "ada@example.org").status_code == 302  # known at the address
    moved = Client(REMOTE_ADDR="198.51.100.7")
    moved.cookies = locked_office.cookies
    assert sign_in(moved, "ada@example.org").status_code == 302


def test_failures_elsewhere_in_the_office_at_ones_own_login_do_not_lock_ones_device(locked_office):
    stranger = Client(REMOTE_ADDR=OFFICE)
    for _ in range(3):
        locked = sign_in(stranger, "ada@example.org", "wrong")
    assert locked.status_code == 429
    assert sign_in(stranger, "ada@example.org").status_code == 429
    assert sign_in(locked_office, "ada@example.org").status_code == 302


@pytest.mark.parametrize("login", ["ada@example.org", "boss@example.org"])
def test_guesses_on_a_known_device_are_limited_too(locked_office, login):
    an_administrator(primary_email="boss@example.org")
    locked_office.post("/admin/logout/")
    answers = [sign_in(locked_office, login, "wrong").status_code for _ in range(3)]
    assert answers[-1] == 429
    assert sign_in(locked_office, login).status_code == 429


def test_a_forged_cookie_is_no_known_device(locked_office):
    AccessLog.objects.all().delete()
    for forged in ("", "x", signing.dumps({"ada@example.org": "1"}, salt="another")):
        stranger = Client(REMOTE_ADDR=OFFICE)
        stranger.cookies["device"] = forged
        assert sign_in(stranger, "ada@example.org").status_code == 429


def test_devices_and_addresses_of_long_ago_are_known_no_more(locked_office):
    sign_ins = AccessLog.objects.filter(username="ada@example.org")
    sign_ins.update(attempt_time=timezone.now() - KNOWN_ADDRESS_AGE - dt.timedelta(days=1))
    stranger = Client(REMOTE_ADDR=OFFICE)
    assert sign_in(stranger, "ada@example.org").status_code == 429
    with time_machine.travel(timezone.now() - DEVICE_AGE - dt.timedelta(days=1)):
        stranger.cookies["device"] = signing.dumps({"ada@example.org": "1"}, salt=DEVICE_SALT)
    assert sign_in(stranger, "ada@example.org").status_code == 429


# --- sessions -------------------------------------------------------------------------------------------


@pytest.fixture
def session_of_ada(client):
    """A session that began now, and a clock to be moved by seconds."""
    with time_machine.travel(timezone.now(), tick=False) as moving:
        sign_in(client, an_administrator().primary_email)
        assert is_signed_in(client)
        yield moving


def test_a_session_ends_when_it_is_not_used(client, session_of_ada, settings):
    session_of_ada.shift(settings.SESSION_IDLE_SECONDS - 1)
    assert is_signed_in(client)
    session_of_ada.shift(settings.SESSION_IDLE_SECONDS + 1)
    assert client.get("/api/client").status_code == 401
    assert not is_signed_in(client)


def test_a_session_ends_however_much_it_is_used(client, session_of_ada, settings):
    for _ in range(settings.SESSION_SECONDS // 2880):
        session_of_ada.shift(2880)
        assert is_signed_in(client)
    session_of_ada.shift(1)
    assert not is_signed_in(client)


def test_the_use_of_a_session_is_noted_once_a_minute(client, session_of_ada):
    is_signed_in(client)
    with CaptureQueriesContext(connection) as statements:
        is_signed_in(client)
    assert not [each["sql"] for each in statements if each["sql"].startswith("UPDATE")]
    session_of_ada.shift(61)
    is_signed_in(client)
    assert UserSession.objects.get().last_seen_at == timezone.now()


SAFARI = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
    " Version/17.5 Mobile/15E148 Safari/604.1"
)
EDGE = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0"
    " Safari/537.36 Edg/126.0.0.0"
)
FIREFOX = "Mozilla/5.0 (Android 14; Mobile; rv:127.0) Gecko/127.0 Firefox/127.0"


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (SAFARI, "Safari on iPhone"),
        (EDGE, "Edge on Windows"),
        (EDGE.partition(" Edg")[0], "Chrome on Windows"),
        (FIREFOX, "Firefox on Android"),
        ("curl/8.5.0", "curl/8.5.0"),
    ],
)
def test_a_browser_has_the_name_that_people_know(user_agent, name):
    assert browser_name(user_agent) == name


def test_people_see_their_sessions_and_end_the_others(client):
    person = an_administrator()
    elsewhere = Client(REMOTE_ADDR=OFFICE, headers={"user-agent": SAFARI})
    for browser in (client, elsewhere):
        sign_in(browser, person.primary_email)
    page = client.get("/admin/account/sessions/").content.decode()
    assert OFFICE in page
    assert f'title="{SAFARI}">Safari on iPhone<' in page
    client.post("/admin/account/sessions/")
    assert (is_signed_in(client), is_signed_in(elsewhere)) == (True, False)


def test_a_lock_does_not_last_longer_by_more_guesses(client, settings):
    settings.AXES_FAILURE_LIMIT = 1
    person = an_administrator()
    sign_in(client, person.primary_email, "wrong")
    began = AccessAttempt.objects.get().attempt_time
    sign_in(client, person.primary_email, "wrong")
    assert AccessAttempt.objects.get().attempt_time == began


def test_a_failed_attempt_is_stored_without_the_password(client):
    sign_in(client, "ada@example.org", "hunter2-secret")
    assert "hunter2-secret" not in AccessAttempt.objects.get().post_data


@pytest.mark.parametrize(
    ("password", "is_allowed"),
    [
        ("NdisRecords2026!", False),
        ("participant-admin", False),
        ("harbourlights26", False),
        ("NDIS correct horse battery", True),
        ("correct horse battery", True),
        ("the kettle of the sea", True),
    ],
)
def test_a_password_is_not_made_of_words_of_this_place(password, is_allowed):
    Subscriber.objects.update_or_create(defaults={"name": "Harbour Lights of the Bay"})
    Subscriber.clear_cache()
    with contextlib.nullcontext() if is_allowed else pytest.raises(ValidationError, match="words of this"):
        validate_password(password)


@pytest.mark.parametrize(
    ("password", "said"),
    [
        ("tulip river", "too short"),
        ("739201846502", "entirely numeric"),
        ("1qaz2wsx3edc", "too common"),
        ("okonkwo-staff", "too similar to the last name"),
        ("quill@example", "too similar to the primary email"),
        ("code-zebra-77", "too similar to the unique code"),
        *((f"{word}{word}{word}", "words of this") for word in ("service", "scheme", "provider")),
        *((f"{word}{word}{word}", "words of this") for word in ("ndis", "ndia", "records", "admin")),
    ],
)
def test_a_password_is_long_and_not_what_others_would_try_first(password, said):
    staff = Staff(last_name="Okonkwo", primary_email="quill@example.org", unique_code="Code-Zebra-77")
    with pytest.raises(ValidationError, match=said):
        validate_password(password, staff)
    validate_password("tulip  river", staff)  # one letter more than is too short


def test_a_session_ends_on_the_server_when_its_person_signs_out(client):
    person = an_administrator()
    sign_in(client, person.primary_email)
    cookie = client.cookies["sessionid"].value
    client.post("/admin/logout/")
    client.cookies["sessionid"] = cookie
    assert not is_signed_in(client)


def test_people_change_their_password_with_the_old_one_to_any_long_text(client):
    person = an_administrator()
    sign_in(client, person.primary_email)
    new = "Ünder the Sea, " * 6
    for old in ("wrong", PASSWORD.upper(), PASSWORD):
        form = {"old_password": old, "new_password1": new, "new_password2": new}
        answer = client.post("/admin/password_change/", form)
        assert answer.status_code == (302 if old == PASSWORD else 200)
    again = client.__class__()
    sign_in(again, person.primary_email, new[:64])
    assert not is_signed_in(again)
    sign_in(again, person.primary_email, new)
    assert is_signed_in(again)


def test_a_session_outlives_a_change_of_the_secret_key(client, settings):
    person = an_administrator()
    absent = client.__class__()
    for browser in (client, absent):
        sign_in(browser, person.primary_email)
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another key"
    assert is_signed_in(client)
    settings.SECRET_KEY_FALLBACKS = []
    assert is_signed_in(client)  # signed with the new key when it was used
    assert not is_signed_in(absent)


@pytest.mark.parametrize(
    "evil", ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:x"]
)
def test_a_login_never_redirects_to_another_site(client, evil):
    person = an_administrator()
    answer = sign_in(client, person.primary_email, next=evil)
    assert answer["Location"] == "/admin/"


@pytest.mark.parametrize("word", ["x", "admin:index", '"><script>'])
def test_whoever_is_signed_in_is_led_on_by_any_word(client, word):
    client.force_login(an_administrator(), backend="apps.people.authentication.StaffBackend")
    assert client.get(LOGIN, {"next": word}).status_code == 302


def test_the_session_cookie_is_out_of_reach_of_scripts_and_other_sites(client, settings):
    person = an_administrator()
    before = client.get(LOGIN).cookies.get("sessionid")
    cookie = sign_in(client, person.primary_email).cookies["sessionid"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert before is None or before.value != cookie.value


def test_an_address_behind_a_trusted_proxy_is_the_one_the_proxy_saw(settings):
    request = RequestFactory().get("/", REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR="1.2.3.4, 203.0.113.9")
    assert client_address(request) == "10.0.0.1"
    settings.TRUST_PROXY = True
    assert client_address(request) == "203.0.113.9"
    nonsense = RequestFactory().get("/", REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR="'; drop")
    assert client_address(nonsense) == "10.0.0.1"


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("203.0.113.9", "203.0.113.9"),
        ("", "0.0.0.0"),
    ],
)
def test_failures_are_counted_by_address_and_of_ipv6_by_network(address, counted):
    assert counted_address(RequestFactory().get("/", REMOTE_ADDR=address)) == counted


def test_guesses_from_many_addresses_of_one_network_are_counted_together(client, settings):
    person = an_administrator()
    for number in range(settings.AXES_FAILURE_LIMIT + 1):
        page = client.post(
            LOGIN, {"username": person.primary_email, "password": "wrong"}, REMOTE_ADDR=f"2001:db8::{number}"
        )
    assert page.status_code == 429


def test_closing_logins_is_written_in_the_history():
    person = a_staff_member()
    assert disable_logins(Staff.objects.filter(pk=person.pk)) == 1
    assert disable_logins(Staff.objects.filter(pk=person.pk)) == 0
    line = Change.objects.filter(record_key=str(person.pk)).first()
    assert list(line.differences) == ["disable_login_date"]
    assert authenticate(RequestFactory().get("/"), username=person.primary_email, password=PASSWORD) is None
    assert enable_logins(Staff.objects.filter(pk=person.pk)) == 1
