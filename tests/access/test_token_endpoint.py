"""POST /connect/token: OAuth 2 client credentials (RFC 6749)."""

import json

import pytest
from django.db import connection
from django.test import Client
from oauthlib.oauth2 import BackendApplicationClient

from apps.access import throttling, views
from apps.access.callers import Limits, hash_secret
from apps.access.models import AccessToken, ApiApplication
from apps.access.services import renew_secret, revoke_applications
from tests.access.conftest import basic
from tests.races import call_during

pytestmark = [pytest.mark.django_db, pytest.mark.urls("apps.access.urls")]

FORM = "application/x-www-form-urlencoded"
GRANT = "grant_type=client_credentials"


def ask(body=GRANT, authorization=None, content_type=FORM, path="/connect/token", **extra):
    if authorization is not None:
        extra["HTTP_AUTHORIZATION"] = authorization
    return Client(enforce_csrf_checks=True).post(path, body, content_type=content_type, **extra)


def refused(response, status, error):
    assert (response.status_code, response.json()["error"]) == (status, error)
    assert set(response.json()) == {"error", "error_description"}
    assert response["Cache-Control"] == "no-store"
    assert response["Pragma"] == "no-cache"
    return response


def test_another_oauth_library_understands_the_answer(registered):
    application, secret = registered("Payroll", "read", "write")
    client = BackendApplicationClient(application.client_id, scope=["read"])
    body = client.prepare_request_body(include_client_id=True, client_secret=secret)
    response = ask(body)
    token = client.parse_request_body_response(response.content.decode())
    assert (token["token_type"], token["expires_in"], token["scope"]) == ("Bearer", 3600, ["read"])
    assert response["Cache-Control"] == "no-store"
    assert response["Pragma"] == "no-cache"


@pytest.mark.parametrize("path", ["/connect/token", "/connect/token/"])
def test_the_secret_may_be_in_the_header_or_in_the_body(registered, path):
    application, secret = registered()
    in_header = ask(authorization=basic(application.client_id, secret), path=path)
    in_body = ask(f"{GRANT}&client_id={application.client_id}&client_secret={secret}", path=path)
    named_twice = ask(f"{GRANT}&client_id={application.client_id}", basic(application.client_id, secret))
    assert [answer.status_code for answer in (in_header, in_body, named_twice)] == [200, 200, 200]
    assert in_header.json()["access_token"] != in_body.json()["access_token"]


def test_without_scope_a_token_has_all_that_the_application_has(registered):
    application, secret = registered("Payroll", "write", "client.read")
    answer = ask(authorization=basic(application.client_id, secret))
    assert answer.json()["scope"] == "client.read write"


def test_a_token_may_be_narrowed_to_part_of_what_the_application_has(registered):
    application, secret = registered("Payroll", "read")
    answer = ask(f"{GRANT}&scope=client.read+staff.read", basic(application.client_id, secret))
    assert answer.json()["scope"] == "client.read staff.read"


@pytest.mark.parametrize(
    "scope", ["write", "client.write", "read+write", "nonsense", "nonsense.read", "READ"]
)
def test_a_scope_that_is_not_granted_or_unknown_is_refused(registered, scope):
    application, secret = registered("Payroll", "read")
    refused(ask(f"{GRANT}&scope={scope}", basic(application.client_id, secret)), 400, "invalid_scope")
    assert not AccessToken.objects.exists()


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("x=", "invalid_request"),
        ("scope=read", "invalid_request"),
        ("grant_type=", "invalid_request"),
        ("grant_type=password", "unsupported_grant_type"),
        ("grant_type=authorization_code&code=x", "unsupported_grant_type"),
        (f"{GRANT}&{GRANT}", "invalid_request"),
        (f"{GRANT}&scope=read&scope=write", "invalid_request"),
        (f"{GRANT}&scope=%ff%fe", "invalid_request"),
        ("&".join(f"p{n}=1" for n in range(100)), "invalid_request"),
    ],
)
def test_a_form_that_is_no_token_request_is_named_as_the_standard_says(registered, body, error):
    application, secret = registered()
    refused(ask(body, basic(application.client_id, secret)), 400, error)


def test_the_secret_may_not_be_sent_in_both_ways(registered):
    application, secret = registered()
    header = basic(application.client_id, secret)
    body = f"{GRANT}&client_id={application.client_id}&client_secret={secret}"
    refused(ask(body, header), 400, "invalid_request")
    refused(ask(f"{GRANT}&client_id=other", header), 400, "invalid_request")


def test_wrong_secrets_unknown_clients_and_revoked_applications_get_one_answer(registered):
    application, secret = registered()
    gone, gone_secret = registered("Gone")
    revoke_applications(ApiApplication.objects.filter(pk=gone.pk))
    answers = [
        ask(authorization=basic(application.client_id, "wrong")),
        ask(authorization=basic("nobody", secret)),
        ask(authorization=basic(gone.client_id, gone_secret)),
        ask(authorization=basic("\0", "\0")),
        ask(authorization="Basic !!!"),
        ask(authorization="Basic"),
        ask(authorization="Bearer abc"),
        ask(),
        ask(f"{GRANT}&client_id={application.client_id}"),
        ask(f"{GRANT}&client_id=a%00b&client_secret=%00"),
        ask(path=f"/connect/token?client_id={application.client_id}&client_secret={secret}"),
    ]
    for answer in answers:
        refused(answer, 401, "invalid_client")
        assert answer["WWW-Authenticate"].startswith("Basic ")
    assert len({answer.content for answer in answers}) == 1


def test_an_unknown_client_takes_the_same_steps_as_a_known_one(
    registered, monkeypatch, django_assert_num_queries
):
    """The path is the same, so that its time cannot reveal who exists."""
    application, _ = registered()
    compared = []
    monkeypatch.setattr("apps.access.callers.hmac.compare_digest", lambda *pair: compared.append(pair))
    for client_id in (application.client_id, "nobody", "\0", "x" * 5000):
        compared.clear()
        with django_assert_num_queries(1):
            views.find_application_by_secret(client_id, "wrong")
        assert [given for given, _ in compared] == [hash_secret("wrong")] * 2
        assert {len(stored) for _, stored in compared} == {64}


@pytest.mark.parametrize("method", ["get", "put", "delete", "options", "patch", "head"])
def test_tokens_are_requested_by_post_only(method):
    response = getattr(Client(), method)("/connect/token")
    assert response.status_code == 405
    assert response["Allow"] == "POST"
    if method != "head":
        assert response.json()["error"] == "invalid_request"


@pytest.mark.parametrize(
    "content_type", ["application/json", "text/plain", ";;;/", "multipart/form-data; boundary=x", ""]
)
def test_the_body_must_be_a_form(content_type):
    refused(
        ask(json.dumps({"grant_type": "client_credentials"}), content_type=content_type),
        415,
        "invalid_request",
    )


def test_a_form_in_an_unknown_charset_is_read_as_utf_8(registered):
    application, secret = registered()
    header = {"HTTP_AUTHORIZATION": basic(application.client_id, secret)}
    answer = Client().generic("POST", "/connect/token", GRANT, f"{FORM}; charset=klingon", **header)
    assert answer.status_code == 200


def test_a_body_that_is_too_long_is_refused():
    refused(ask(GRANT + "&x=" + "a" * views.MAX_FORM_BYTES), 413, "invalid_request")


def test_only_hashes_are_in_the_database(registered):
    application, secret = registered()
    token = ask(authorization=basic(application.client_id, secret)).json()["access_token"]
    everything = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT * FROM "{table}"')
            everything.append(str(cursor.fetchall()))
    whole = "\n".join(everything)
    assert hash_secret(token) in whole
    assert hash_secret(secret) in whole
    assert token not in whole
    assert secret not in whole


def test_guessed_secrets_are_limited_and_lock_nobody_out(registered, monkeypatch):
    application, secret = registered()
    monkeypatch.setattr(throttling, "FAILURES_OF_CLIENT", Limits(3, 0))
    guesses = [ask(authorization=basic(application.client_id, "guess")) for _ in range(5)]
    assert [guess.status_code for guess in guesses] == [401, 401, 401, 429, 429]
    assert 1 <= int(guesses[-1]["Retry-After"]) <= 60
    refused(guesses[-1], 429, "temporarily_unavailable")
    assert ask(authorization=basic(application.client_id, secret)).status_code == 200


def test_guessed_secrets_of_many_clients_are_limited_by_address(monkeypatch):
    monkeypatch.setattr(throttling, "FAILURES_OF_ADDRESS", Limits(3, 0))
    answers = [
        ask(authorization=basic(f"client{n}", "guess"), REMOTE_ADDR="192.0.2.1").status_code for n in range(5)
    ]
    assert answers == [401, 401, 401, 429, 429]
    assert ask(authorization=basic("client", "guess"), REMOTE_ADDR="192.0.2.2").status_code == 401


def test_a_token_counts_as_a_request(registered):
    application, secret = registered()
    ApiApplication.objects.filter(pk=application.pk).update(requests_per_minute=2)
    answers = [ask(authorization=basic(application.client_id, secret)) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert 1 <= int(answers[-1]["Retry-After"]) <= 60


@pytest.mark.postgres("SQLite has one writer and its test database one connection")
@pytest.mark.django_db(transaction=True)
def test_a_secret_that_is_renewed_meanwhile_gives_no_token(registered):
    application, secret = registered()
    header = basic(application.client_id, secret)
    assert ask(authorization=header).status_code == 200  # so that the next one does not note its use as well
    answer = call_during(lambda: renew_secret(application), lambda: ask(authorization=header))
    refused(answer, 401, "invalid_client")
    assert not AccessToken.objects.exists()
