"""Second factors: who is asked for one, and what is done with codes and with lost devices."""

import time

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from django.core.cache import cache
from django.core.management import call_command

from apps.core.models import Change
from apps.people.authentication.attempts import LIMIT_SECONDS
from apps.people.authentication.forms import CODES
from tests.people.records import PASSWORD, a_role, a_staff_member, an_administrator
from tests.people.test_authentication import LOGIN, is_signed_in, sign_in

pytestmark = [pytest.mark.django_db, pytest.mark.any_engine("codes and sessions are checked in Python")]
FACTORS = "/admin/account/factors/"
CODE_PAGE = f"{FACTORS}authenticate/"


@pytest.fixture(autouse=True)
def still_clock():
    """A code is valid for as long as a test takes."""
    with time_machine.travel(time.time(), tick=False) as clock:
        yield clock


def code_of(secret, moment=0):
    return format_hotp_value(hotp_value(secret, int(time.time() + moment) // 30))


@pytest.fixture
def ada():
    """An administrator with an authenticator app."""
    person = an_administrator(primary_email="ada@example.org")
    person.secret = generate_totp_secret()
    TOTP.activate(person, person.secret)
    return person


def test_the_password_alone_opens_nothing(client, ada):
    answer = sign_in(client, "ada@example.org")
    assert answer["Location"] == CODE_PAGE
    assert not is_signed_in(client)
    assert client.get("/api/client").status_code == 401
    assert client.post(CODE_PAGE, {"code": "000000"}).status_code == 200
    assert not is_signed_in(client)
    answer = client.post(CODE_PAGE, {"code": code_of(ada.secret)})
    assert answer["Location"] == "/admin/"
    assert is_signed_in(client)


def test_a_login_goes_on_to_the_page_that_was_asked_for(client, ada):
    sign_in(client, "ada@example.org", next="/admin/people/client/")
    assert client.post(CODE_PAGE, {"code": code_of(ada.secret)})["Location"] == "/admin/people/client/"


def test_a_code_is_taken_once_by_all_workers(client, ada):
    used = {"code": code_of(ada.secret)}
    sign_in(client, "ada@example.org")
    client.post(CODE_PAGE, used)
    cache.clear()  # another worker has another cache
    again = client.__class__()
    sign_in(again, "ada@example.org")
    assert "has been used" in again.post(CODE_PAGE, used).content.decode()
    assert again.post(CODE_PAGE, {"code": code_of(ada.secret, 30)}).status_code == 302


@pytest.mark.parametrize("seconds", [-60, 60])
def test_a_code_is_of_this_period_or_the_one_before_or_after(client, ada, seconds):
    sign_in(client, "ada@example.org")
    client.post(CODE_PAGE, {"code": code_of(ada.secret, seconds)})
    assert not is_signed_in(client)
    client.post(CODE_PAGE, {"code": code_of(ada.secret, seconds // 2)})
    assert is_signed_in(client)


def test_guessed_codes_are_limited(client, ada):
    sign_in(client, "ada@example.org")
    for _ in range(CODES.per_minute):
        client.post(CODE_PAGE, {"code": "000000"})
    answer = client.post(CODE_PAGE, {"code": code_of(ada.secret)})
    assert_limited(answer)
    assert int(answer["Retry-After"]) <= 60
    assert not is_signed_in(client)


def test_guesses_are_limited_wherever_a_second_factor_or_a_password_is_asked_for(client):
    person = a_staff_member(role=a_role("people.view_client"))
    sign_in(client, person.primary_email)
    confirm = ("/admin/account/confirm/", {"password": "wrong"})
    assert_limited(last_answer(client, *confirm))
    cache.clear()
    client.post("/admin/account/confirm/", {"password": PASSWORD})
    assert_limited(last_answer(client, f"{FACTORS}totp/activate/", {"code": "000000"}))
    passkey = (f"{FACTORS}webauthn/login/", {"credential": "{}"})
    assert_limited(last_answer(client.__class__(), *passkey))


def last_answer(client, address, form):
    return [client.post(address, form) for _ in range(25)][-1]


def assert_limited(answer):
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= LIMIT_SECONDS
    assert "Too many attempts" in answer.content.decode()


def test_a_recovery_code_opens_the_back_office_once(client, ada):
    code = RecoveryCodes.activate(ada).get_unused_codes()[0]
    for browser, status in ((client, 302), (client.__class__(), 200)):
        sign_in(browser, "ada@example.org")
        assert "or one of your recovery codes" in browser.get(CODE_PAGE).content.decode()
        assert browser.post(CODE_PAGE, {"code": code}).status_code == status


def test_a_role_that_requires_a_second_factor_leads_to_its_page_before_anything_else(client):
    role = a_role("people.view_client", requires_second_factor=True)
    person = a_staff_member(role=role)
    sign_in(client, person.primary_email)
    for address in ("/admin/", "/admin/people/client/", "/admin/password_change/", "/admin/nothing/"):
        assert client.get(address)["Location"] == FACTORS, address
    assert client.get("/api/client").status_code == 401
    page = client.get(FACTORS).content.decode()
    assert "requires two-factor authentication" in page
    client.post("/admin/account/confirm/", {"password": PASSWORD})
    form = client.get(f"{FACTORS}totp/activate/").context["form"]
    answer = client.post(f"{FACTORS}totp/activate/", {"code": code_of(form.secret)})
    assert answer["Location"] == f"{FACTORS}recovery-codes/"
    codes = client.get(answer["Location"]).context["unused_codes"]
    assert len(codes) == 10
    assert client.get("/admin/people/client/").status_code == 200
    assert client.get("/api/client").status_code == 200
    # They are shown once.
    assert codes[0] not in client.get(f"{FACTORS}recovery-codes/").content.decode()


def test_the_last_second_factor_stays_where_the_role_requires_one(client):
    person = a_staff_member(role=a_role("people.view_client", requires_second_factor=True))
    TOTP.activate(person, generate_totp_secret())
    RecoveryCodes.activate(person)  # none of their own: they stand in for another
    client.force_login(person)
    client.post("/admin/account/confirm/", {"password": PASSWORD})
    answer = client.post(f"{FACTORS}totp/deactivate/")
    assert "cannot deactivate" in answer.content.decode()
    assert person.authenticator_set.filter(type=Authenticator.Type.TOTP).exists()


def test_second_factors_are_changed_only_after_another_proof(client):
    person = an_administrator()
    client.force_login(person)
    answer = client.get(f"{FACTORS}totp/activate/")
    assert answer["Location"].startswith("/admin/account/confirm/")
    assert "password" in client.post(answer["Location"], {"password": "wrong"}).context["form"].errors
    assert client.post(answer["Location"], {"password": PASSWORD}).status_code == 302
    assert client.get(f"{FACTORS}totp/activate/").status_code == 200


def test_who_loses_a_second_factor_is_told_by_mail(client, ada, mailoutbox):
    sign_in(client, "ada@example.org")
    client.post(CODE_PAGE, {"code": code_of(ada.secret)})
    client.post("/admin/account/confirm/", {"password": PASSWORD})
    client.post(f"{FACTORS}totp/deactivate/")
    assert not Authenticator.objects.exists()
    assert [each.to for each in mailoutbox] == [["ada@example.org"]]


def test_an_administrator_removes_second_factors_that_are_lost(client, ada):
    person = a_staff_member()
    TOTP.activate(person, generate_totp_secret())
    client.force_login(ada)
    chosen = {"action": "remove_second_factors", "_selected_action": [str(person.pk)]}
    client.post("/admin/people/staff/", chosen)
    assert not person.authenticator_set.exists()
    change = Change.objects.get(record_key=str(person.pk), kind="Changed")
    assert change.staff_id == ada.pk
    assert change.differences == {"second factors": [["TOTP Authenticator"], []]}


def test_nobody_removes_second_factors_of_those_who_may_do_more(client, ada):
    role = a_role("people.view_staff", "people.change_staff")
    client.force_login(a_staff_member(role=role))
    chosen = {"action": "remove_second_factors", "_selected_action": [str(ada.pk)]}
    client.post("/admin/people/staff/", chosen)
    assert ada.authenticator_set.exists()


def test_the_command_removes_the_second_factors_of_the_only_administrator(client, ada):
    call_command("create_staff_login", ada.primary_email, reset=True, remove_second_factors=True)
    assert not Authenticator.objects.exists()


def test_a_passkey_that_nobody_has_opens_nothing(client, ada):
    data = client.get(f"{FACTORS}webauthn/login/", headers={"Accept": "application/json"}).json()
    assert data["request_options"]["publicKey"]["userVerification"] == "required"
    for credential in ("{}", "no JSON", '{"id": "x", "response": {"userHandle": "eA"}}'):
        answer = client.post(f"{FACTORS}webauthn/login/", {"credential": credential})
        assert answer["Location"] == LOGIN
    assert not is_signed_in(client)
