"""Sign-in by the organisation's identity provider, which is played by a stub of its answers."""

import time
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
import requests
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from allauth.socialaccount.models import SocialAccount

from apps.core.models import Change
from tests.people.records import a_role, a_staff_member
from tests.people.test_authentication import LOGIN, is_signed_in
from tests.people.test_second_factors import CODE_PAGE, code_of

pytestmark = [pytest.mark.django_db, pytest.mark.any_engine("tokens and claims are checked in Python")]
PROVIDER = "https://id.example.org"
START = "/admin/account/provider/oidc/login/"
CALLBACK = f"{START}callback/"
CONFIGURATION = {
    "issuer": PROVIDER,
    "authorization_endpoint": f"{PROVIDER}/authorize",
    "token_endpoint": f"{PROVIDER}/token",
    "userinfo_endpoint": f"{PROVIDER}/userinfo",
    "jwks_uri": f"{PROVIDER}/keys",
}


class Answer:
    """What requests returns."""

    def __init__(self, content, status_code=200):
        self.content, self.status_code = content, status_code
        self.headers = {"content-type": "application/json"}
        self.text = str(content)

    def json(self):
        return self.content

    def raise_for_status(self):
        if self.status_code >= 400:
            raise requests.HTTPError(str(self.status_code))


@pytest.fixture(autouse=True)
def provider(settings, monkeypatch):
    """The identity provider: ``provider.claims`` are what it says about whoever signs in."""
    settings.SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {
            **settings.SOCIALACCOUNT_PROVIDERS["openid_connect"],
            "APPS": [
                {
                    "provider_id": "oidc",
                    "name": "Example ID",
                    "client_id": "records",
                    "secret": "s" * 32,
                    "settings": {"server_url": PROVIDER},
                }
            ],
        }
    }
    stub = Provider()
    monkeypatch.setattr(requests.Session, "request", stub.request)
    return stub


class Provider:
    """An identity provider: what it says about whoever signs in, and what it was asked."""

    def __init__(self):
        self.claims = {"sub": "42", "email": "ada@example.org", "email_verified": True}
        self.token_claims = {}
        self.is_down = False
        self.asked = {}

    def request(self, method, url, **options):
        if self.is_down:
            raise requests.ConnectionError
        self.asked[urlsplit(url).path] = options.get("data")
        if url.endswith("/token"):
            now = int(time.time())
            claims = {**self.claims, "iss": PROVIDER, "aud": "records", "iat": now, "exp": now + 60}
            claims |= self.token_claims
            token = jwt.encode(claims, "k" * 32, "HS256")
            return Answer({"access_token": "t", "token_type": "Bearer", "id_token": token})
        return Answer(self.claims if url.endswith("/userinfo") else CONFIGURATION)


def sign_in_there(client):
    """The way of a browser to the provider and back."""
    away = client.get(START, {"next": "/admin/people/client/"})
    query = parse_qs(urlsplit(away["Location"]).query)
    return client.get(CALLBACK, {"code": "c", "state": query["state"][0]}, follow=True)


def a_colleague(**fields):
    return a_staff_member(
        primary_email="ada@example.org", role=a_role("people.view_client", **fields), password="!"
    )


def test_the_login_leads_to_the_provider_with_a_proof_key(client):
    assert "Log in with Example ID" in client.get(LOGIN).content.decode()
    away = urlsplit(client.get(START)["Location"])
    assert f"{away.scheme}://{away.netloc}" == PROVIDER
    query = parse_qs(away.query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["redirect_uri"] == [f"http://testserver{CALLBACK}"]


def test_staff_are_known_by_their_verified_email_and_then_by_the_providers_key(client, provider):
    person = a_colleague()
    provider.claims["email"] = "ADA@Example.org"
    assert sign_in_there(client).redirect_chain[-1] == ("/admin/people/client/", 302)
    assert client.session["_auth_user_id"] == str(person.pk)
    assert provider.asked["/token"]["code_verifier"]
    provider.claims["email"] = "married@example.org"
    again = client.__class__()
    sign_in_there(again)
    assert is_signed_in(again)
    assert SocialAccount.objects.count() == 1


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"email": "eve@example.org"}, "Nobody here has the email eve@example.org"),
        ({"email": None}, "Nobody here has the email"),
        ({"email_verified": False}, "has verified the email ada@example.org"),
    ],
)
def test_whom_the_service_does_not_know_stays_outside(client, provider, claims, reason):
    a_colleague()
    provider.claims |= claims
    assert reason in sign_in_there(client).content.decode()
    assert not is_signed_in(client)
    assert not SocialAccount.objects.exists()


def test_a_provider_that_says_nothing_about_verification_can_be_trusted(client, provider, settings):
    a_colleague()
    del provider.claims["email_verified"]
    settings.OIDC_TRUSTS_EMAIL = True
    sign_in_there(client)
    assert is_signed_in(client)


@pytest.mark.parametrize("closed", ["role", "login"])
def test_a_closed_login_stays_closed(client, closed):
    person = a_colleague()
    if closed == "role":
        person.role.permissions.clear()
    else:
        person.disable_login_date = person.creation_date
        person.save()
    assert "This login is disabled" in sign_in_there(client).content.decode()
    assert not is_signed_in(client)


@pytest.mark.parametrize("is_asked_there", [True, False])
def test_a_role_requires_a_second_factor_here_unless_the_provider_asks_for_it(
    client, settings, is_asked_there
):
    a_colleague(requires_second_factor=True)
    settings.OIDC_ASKS_SECOND_FACTOR = is_asked_there
    sign_in_there(client)
    assert (client.get("/admin/people/client/").status_code == 200) is is_asked_there


def test_who_has_a_second_factor_here_is_asked_for_it_after_the_provider(client):
    person, secret = a_colleague(), generate_totp_secret()
    TOTP.activate(person, secret)
    answer = sign_in_there(client)
    assert answer.redirect_chain[-1][0] == CODE_PAGE
    assert not is_signed_in(client)
    answer = client.post(CODE_PAGE, {"code": code_of(secret)})
    assert answer["Location"] == "/admin/people/client/"
    assert is_signed_in(client)


def test_a_callback_that_nobody_asked_for_opens_nothing(client):
    a_colleague()
    for query in ({}, {"code": "c", "state": "guessed"}, {"error": "access_denied"}):
        assert "could not be asked" in client.get(CALLBACK, query, follow=True).content.decode()
    assert not is_signed_in(client)


@pytest.mark.parametrize("claims", [{"aud": "another"}, {"iss": "https://evil.example"}, {"exp": 1}])
def test_a_token_for_another_client_opens_nothing(client, provider, claims):
    a_colleague()
    provider.token_claims = claims
    assert "could not be asked" in sign_in_there(client).content.decode()
    assert not is_signed_in(client)


def test_a_provider_that_is_down_is_named_on_the_login(client, provider):
    provider.is_down = True
    assert "could not be asked" in client.get(START, follow=True).content.decode()


def test_an_unknown_provider_is_no_page(client):
    assert client.get(START.replace("oidc", "other")).status_code == 404


def test_without_a_provider_the_login_offers_none(client, settings):
    settings.SOCIALACCOUNT_PROVIDERS = {}
    assert "Example ID" not in client.get(LOGIN).content.decode()
    assert not Change.objects.exists()
