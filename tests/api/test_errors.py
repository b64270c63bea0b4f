"""What fails inside: answered in the one shape, with the id of the request and nothing of the inside."""

import logging
import sqlite3

import psycopg
import pytest
from django.db import InterfaceError, OperationalError, ProgrammingError, connection
from django.urls import resolve, reverse

from apps.core.models import Subscriber
from apps.people.models import Client
from apps.people.resources import ClientResource
from tests.api.caller import Caller, ok, refused
from tests.people.builders import a_client_body

SECRET = "password=hunter2 at /srv/records/apps/secret.py"


def raising(error):
    def fail(*args, **words):
        raise error

    return fail


@pytest.fixture
def failing(monkeypatch):
    """``failing(error)``: every look at the clients raises it."""
    return lambda error: monkeypatch.setattr(ClientResource, "visible_to", raising(error))


def calls(api):
    yield api.get("client", X_Request_ID="req-77")
    yield api.get("client/$count", X_Request_ID="req-77")
    yield api.get("client/01a1fca8-ac46-777c-8855-8eab1511841f", X_Request_ID="req-77")
    yield api.post("client", a_client_body(), X_Request_ID="req-77")


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(SECRET),
        ProgrammingError(SECRET),
        KeyError(SECRET),
        AssertionError(SECRET),
        RecursionError(SECRET),
        MemoryError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_was_not_foreseen_is_500_with_the_request_id_and_a_line_in_the_log(api, failing, caplog, error):
    failing(error)
    for answer in calls(api):
        caplog.clear()
        error_told = refused(answer, 500, "InternalError")
        assert error_told["message"] == "Something went wrong here. Request req-77."
        assert answer["X-Request-ID"] == "req-77"
        assert "hunter2" not in answer.content.decode()


def test_the_log_tells_what_the_answer_does_not(api, failing, caplog):
    failing(RuntimeError(SECRET))
    with caplog.at_level(logging.INFO):
        refused(api.get("client", X_Request_ID="req-78"), 500)
    (line,) = [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert line.name == "records.api"
    assert "req-78" in line.getMessage()
    assert SECRET in str(line.exc_info[1])


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_database_that_is_gone_is_503(api, failing, error, caplog):
    failing(error("server closed the connection unexpectedly: host=db.internal"))
    for answer in calls(api):
        told = refused(answer, 503, "Unavailable")
        assert "req-77" in told["message"]
        assert "db.internal" not in answer.content.decode()
        assert int(answer["Retry-After"]) > 0
    assert "db.internal" in caplog.text


def test_a_question_the_database_cannot_answer_is_a_fault_of_ours(api, failing):
    error = OperationalError("Expression tree is too large")
    error.__cause__ = sqlite3.OperationalError("Expression tree is too large")
    error.__cause__.sqlite_errorname = "SQLITE_ERROR"
    failing(error)
    refused(api.get("client"), 500, "InternalError")


@pytest.mark.parametrize("settings_known", [True, False], ids=["settings known", "settings unread"])
def test_a_database_that_is_gone_from_the_start_is_503_in_the_same_shape(api, monkeypatch, settings_known):
    if settings_known:
        Subscriber.current()
    else:
        Subscriber.clear_cache()
    lost = OperationalError("could not connect to server")
    lost.__cause__ = psycopg.OperationalError("could not connect to server")
    with monkeypatch.context() as patched:
        patched.setattr(connection, "cursor", raising(lost))
        for path in ("client", "", "$metadata", "client/$count"):
            answer = api.get(path)
            refused(answer, 503, "Unavailable")
            assert answer["Retry-After"]
        refused(api.post("client", a_client_body()), 503, "Unavailable")
        assert Caller().client.get("/livez").status_code == 200
    assert ok(api.get("client"))["value"] == []


def test_a_database_that_goes_in_the_middle_of_a_write_is_503_and_nothing_is_stored(api, monkeypatch):
    monkeypatch.setattr("apps.core.saving.history.write_entries", raising(OperationalError("gone")))
    for headers in ({}, {"Idempotency_Key": "k"}):
        refused(api.post("client", {"value": [a_client_body()]}, **headers), 503, "Unavailable")
    monkeypatch.undo()
    assert not Client.objects.exists()
    ok(api.post("client", a_client_body(), Idempotency_Key="k"), 201)


def test_what_fails_in_the_middle_of_a_write_is_500_and_nothing_is_stored(api, monkeypatch):
    monkeypatch.setattr("apps.core.saving.history.write_entries", raising(RuntimeError(SECRET)))
    refused(api.post("client", {"value": [a_client_body()]}), 500, "InternalError")
    monkeypatch.undo()
    assert not Client.objects.exists()


def test_a_refusal_is_no_event_for_the_log(api, nobody, caplog):
    with caplog.at_level(logging.INFO):
        for caller in (api, nobody):
            for path, query in (
                ("client", {"$filter": "x"}),
                ("nothing", {}),
                ("client", {"$filter": "cast(BusinessName,Edm.String) eq 'x'"}),
                ("client/x", {}),
            ):
                assert caller.get(path, query).status_code >= 400
        api.call("DELETE", "client")
        api.post("client", b"{")
    told = [line.getMessage() for line in caplog.records if line.name.startswith(("django", "records"))]
    assert told == []


@pytest.mark.django_db
def test_elsewhere_people_get_pages_and_programs_the_one_shape():
    caller = Caller()
    page = caller.get("/nothing")
    assert (page.status_code, page["Content-Type"].split(";")[0]) == (404, "text/html")
    for path in ("/api/nothing", "/API/nothing", "/api//", "/Api/nothing/x/y"):
        assert "/api/ names the entity sets" in refused(caller.get(path), 404, "NotFound")["message"]


def test_an_error_before_any_view_is_in_the_one_shape(api, monkeypatch):
    monkeypatch.setattr("apps.core.middleware.clock.activate_zone", raising(RuntimeError(SECRET)))
    answer = api.client.get("/api/client")
    error = refused(answer, 500, "InternalError")
    assert error["message"].startswith("Something went wrong here. Request ")
    assert "hunter2" not in answer.content.decode()


def test_what_is_not_offered_is_no_failure_in_the_log(api, caplog):
    """Django logs each answer from 500 on as an error, unless it is marked as logged already."""
    with caplog.at_level(logging.INFO):
        refused(api.get("client", {"$filter": "isof(Edm.String)"}), 501)
    assert [record.name for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_addresses_of_any_case_can_be_made_from_their_names():
    """Django cannot reverse a pattern that has ``(?i)`` in it: the router has a class of its own."""
    assert reverse("client-list") == "/api/client"
    assert resolve("/API/CLIENT").url_name == "client-list"
