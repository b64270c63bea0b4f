"""Authentication by token, by secret and by session, and the answers to other requests."""

import datetime as dt

import pytest
from django.contrib.auth.models import AnonymousUser, Permission

from apps.access import throttling
from apps.access.authentication import CHALLENGES, find_application_by_secret, split_basic_credentials
from apps.access.callers import Limits
from apps.access.models import ApiApplication
from apps.access.services import issue_token, renew_secret, revoke_applications
from apps.base import clock
from apps.core import archive
from apps.people.models import Role, Staff
from records_site.request_log import caller_of
from tests.access.conftest import basic

pytestmark = pytest.mark.django_db


def test_a_token_authenticates_its_application_and_names_it_as_author(call, token):
    answer = call("GET", token("read"))
    assert (answer.status_code, answer.content) == (200, b"Payroll")
    author = answer.author
    assert (author.channel, author.application, author.staff_id, author.request_id) == (
        "API",
        "Payroll",
        None,
        "req-1",
    )


def test_the_log_of_requests_names_the_application(call, token):
    request = call("GET", token("read")).asked
    assert caller_of(request, 200) == f"application {ApiApplication.objects.get().pk}"


def test_an_application_is_no_user(call, token):
    assert isinstance(call("GET", token("read")).user, AnonymousUser)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_read_in_any_case(call, token, scheme):
    header = token("read").removeprefix("Bearer")
    assert call("GET", scheme + header).status_code == 200


def test_a_request_by_token_takes_one_query(call, token, django_assert_num_queries):
    header = token("read")
    call("GET", header), call("GET", header), call("GET", header)  # draws 1, 1, then 2 permits
    with django_assert_num_queries(1):
        assert call("GET", header).status_code == 200


BAD = [
    "Bearer",
    "Bearer ",
    "Bearer nonsense",
    "Bearer a b c",
    "Bearer \0",
    "Bearer \xe9\xff",
    "Bearer \udcff",
    "Bearer " + "x" * 6 * 1024,
    "Bearer '; DROP TABLE access_accesstoken; --",
    "Basic",
    "Basic !!!",
    "Basic " + "QUFB" * 2000,
    basic("", ""),
    basic("nobody", "nothing"),
    basic("\0", "\0"),
    basic("nobody", "nothing\0"),
    "Basic /////w==",
]


@pytest.mark.parametrize("authorization", BAD)
def test_all_invalid_credentials_get_the_same_answer(call, authorization):
    answer = call("GET", authorization)
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == CHALLENGES
    assert answer.content == call("GET", "Bearer other").content
    assert b'"code": "Unauthenticated"' in answer.content


def test_credentials_with_other_characters_among_them_are_none():
    assert split_basic_credentials("QTpi") == ("A", "b")
    assert split_basic_credentials("QT!pi") == ("", "")


@pytest.mark.parametrize("authorization", [None, "", "Digest username=x", "Negotiate abc", "token"])
def test_a_request_without_credentials_gets_the_challenges(call, authorization):
    answer = call("GET", authorization)
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == CHALLENGES
    assert "Authorization: Bearer and a token from /connect/token" in answer.content.decode()


def test_a_token_in_the_query_string_is_no_token(call, token):
    header = token("read").removeprefix("Bearer ")
    assert call("GET", path=f"/api/client?access_token={header}&token={header}").status_code == 401


def test_a_token_ends_when_its_time_is_over(call, token, at):
    header = token("read")
    at(minutes=59)
    assert call("GET", header).status_code == 200
    at(minutes=61)
    assert call("GET", header).status_code == 401


def test_a_revoked_application_is_refused_at_once_with_all_its_tokens(call, token):
    header = token("read")
    assert call("GET", header).status_code == 200
    revoke_applications(ApiApplication.objects.all())
    assert call("GET", header).status_code == 401
    archive.restore(ApiApplication.objects.all())
    assert call("GET", header).status_code == 401  # what was revoked stays revoked


def test_an_application_archived_by_any_other_way_is_refused_too(call, token):
    header = token("read")
    ApiApplication.objects.update(archive_date=clock.now())
    assert call("GET", header).status_code == 401


def test_a_new_secret_ends_the_old_one_and_its_tokens_at_once(call, registered):
    application, old = registered()
    header = f"Bearer {issue_token(find_application_by_secret(application.client_id, old), ['read'])}"
    new = renew_secret(application)
    assert call("GET", header).status_code == 401
    assert call("GET", basic(application.client_id, old)).status_code == 401
    assert call("GET", basic(application.client_id, new)).status_code == 200


def test_guessed_basic_secrets_are_limited_and_lock_nobody_out(call, registered, monkeypatch):
    application, secret = registered()
    monkeypatch.setattr(throttling, "FAILURES_OF_CLIENT", Limits(3, 0))
    guesses = [call("GET", basic(application.client_id, "guess")) for _ in range(5)]
    assert [guess.status_code for guess in guesses] == [401, 401, 401, 429, 429]
    assert 1 <= int(guesses[-1]["Retry-After"]) <= 60
    assert call("GET", basic(application.client_id, secret)).status_code == 200


def test_a_previous_secret_can_stay_valid_for_a_while(call, registered, at):
    application, old = registered()
    header = f"Bearer {issue_token(find_application_by_secret(application.client_id, old), ['read'])}"
    new = renew_secret(application, keep_previous=dt.timedelta(hours=1))
    assert [call("GET", one).status_code for one in (header, basic(application.client_id, old))] == [200, 200]
    at(minutes=61)
    assert call("GET", basic(application.client_id, old)).status_code == 401
    assert call("GET", basic(application.client_id, new)).status_code == 200


def test_a_scope_taken_from_an_application_is_taken_from_its_tokens(call, token):
    header = token("read", "write")
    ApiApplication.objects.update(scope="write")
    assert call("GET", header).status_code == 403


def test_id_and_secret_may_read_and_the_refusal_says_how_to_write(call, registered):
    application, secret = registered()
    header = basic(application.client_id, secret)
    assert call("GET", header).status_code == 200
    answer = call("POST", header, data="{}")
    assert answer.status_code == 403
    assert b"get a token from /connect/token" in answer.content


MATRIX = [
    (("read",), True, False),
    (("write",), False, True),
    (("read", "write"), True, True),
    (("client.read",), True, False),
    (("client.write",), False, True),
    (("staff.read", "staff.write"), False, False),
]


@pytest.mark.parametrize(("scope", "reads", "writes"), MATRIX)
def test_scopes_say_what_an_application_may(call, token, scope, reads, writes):
    header = token(*scope)
    assert call("GET", header).status_code == (200 if reads else 403)
    assert call("POST", header, data="{}").status_code == (201 if writes else 403)


def test_a_narrowed_token_may_only_what_it_was_narrowed_to(call, token):
    header = token("read", "write", narrowed_to=["client.read"])
    assert call("GET", header).status_code == 200
    answer = call("POST", header, data="{}")
    assert answer.status_code == 403
    assert b"This needs the scope write or client.write." in answer.content


@pytest.fixture
def staff(db):
    """A member of staff whose role grants what is named."""

    def with_permissions(*codenames, **fields):
        role = Role.objects.create(name="Reader")
        role.permissions.set(Permission.objects.filter(codename__in=codenames))
        return Staff.objects.create(
            first_name="Ann", last_name="Lee", primary_email="ann@example.org", role=role, **fields
        )

    return with_permissions


def test_a_session_reads_with_the_permissions_of_the_person(call, staff):
    answer = call("GET", user=staff("view_client"))
    assert (answer.status_code, answer.content) == (200, b"Ann Lee")
    assert (answer.author.channel, answer.author.staff_id) == ("API", answer.user.pk)


def test_a_session_without_the_permission_is_refused(call, staff):
    assert call("GET", user=staff("view_contact")).status_code == 403


def test_a_session_never_writes(call, staff):
    answer = call("POST", user=staff("view_client", "add_client", "change_client"), data="{}")
    assert answer.status_code == 403
    assert b"may only read" in answer.content


def test_a_disabled_login_has_no_session(call, staff):
    assert call("GET", user=staff("view_client", disable_login_date=clock.now())).status_code == 401


def test_a_session_does_not_replace_invalid_credentials(call, staff):
    person = staff("view_client")
    assert call("GET", "Bearer nonsense", user=person).status_code == 401
    assert call("GET", "Digest x", user=person).status_code == 401
