"""The log names what failed and where; nothing that a caller sent or a record holds is in it."""

import base64
import logging

import psycopg
import pytest
from django.db import IntegrityError
from django.test import Client

from apps.people.resources import ClientResource
from records_site.log_lines import LineFormatter
from tests.api.caller import Caller
from tests.people.builders import a_client_body
from tests.people.records import an_administrator

#: Stands for a name, a token, a password or a diagnosis.
PRIVATE = "Wilhelmina-4711"


class UniqueViolation(psycopg.errors.UniqueViolation):
    sqlstate = "23505"


@pytest.fixture
def lines(caplog):
    """lines() -> what the log of the service says of all that has happened, at its most talkative."""
    caplog.set_level(logging.DEBUG)
    for name in ("django.request", "django.security.DisallowedHost"):
        caplog.set_level(logging.DEBUG, logger=name)
    console = next(each for each in logging.getLogger().handlers if isinstance(each.formatter, LineFormatter))
    return lambda: "\n".join(console.format(record) for record in caplog.records)


def conflict(*words, **more):
    """What PostgreSQL says of a row that is there already."""
    try:
        raise UniqueViolation(f"duplicate key\nDETAIL: Key (login)=({PRIVATE}) already exists.")
    except psycopg.Error as error:
        raise IntegrityError(str(error)) from error


def requests(caller):
    """A caller whose every request has the private text wherever a request can have one."""
    headers = {
        "User_Agent": PRIVATE,
        "Referer": f"http://testserver/{PRIVATE}",
        "Origin": f"http://{PRIVATE}",
    }
    query = {"$filter": f"BusinessName eq '{PRIVATE}'"}
    body = a_client_body(BusinessName=PRIVATE)
    return [
        caller.get("client", query, **headers),
        caller.get("client", {"$filter": PRIVATE}, **headers),
        caller.get(f"client/{PRIVATE}", **headers),
        caller.get("/nothing", {"name": PRIVATE}, **headers),
        caller.get(f"/{PRIVATE}", **headers),
        caller.post("client", body, **headers),
        caller.post("client", {PRIVATE: PRIVATE}, **headers),
        caller.post("client", PRIVATE.encode(), **headers),
        caller.post("/connect/token", f"client_id={PRIVATE}&client_secret={PRIVATE}".encode(), **headers),
    ]


def test_what_callers_send_is_in_no_line(api, lines):
    answers = requests(api) + requests(Caller()) + requests(Caller(f"Bearer {PRIVATE}"))
    credentials = base64.b64encode(f"{PRIVATE}:{PRIVATE}".encode()).decode()
    answers += requests(Caller(f"Basic {credentials}"))
    answers += [Caller(host=f"{PRIVATE}.example").get("/")]
    assert {answer.status_code for answer in answers} >= {200, 201, 400, 401, 404}
    assert PRIVATE not in lines()
    assert credentials not in lines()


def test_what_callers_send_is_in_no_line_of_a_request_or_of_a_slow_statement(api, lines, settings):
    settings.LOG_REQUESTS, settings.DATABASE_SLOW_SECONDS = True, 1e-9
    application = api.authorization
    api = Caller(application)  # which loads the middleware anew
    requests(api)
    requests(Caller())
    text = lines()
    assert "status=201" in text
    assert "statement=INSERT INTO" in text
    assert PRIVATE not in text


@pytest.mark.parametrize("error", [conflict, lambda *words: {}[PRIVATE], lambda *words: int(PRIVATE)])
def test_what_a_failure_is_about_is_in_no_line(api, lines, monkeypatch, error):
    monkeypatch.setattr(ClientResource, "visible_to", error)
    answers = requests(api)
    monkeypatch.setattr("apps.core.middleware.clock.activate_zone", error)
    answers += [Client(raise_request_exception=False).get(f"/admin/people/client/?q={PRIVATE}")]
    assert {answer.status_code for answer in answers} >= {500}
    assert PRIVATE not in lines()


def test_a_line_names_the_failure_its_place_and_the_request(api, lines, monkeypatch):
    monkeypatch.setattr(ClientResource, "visible_to", conflict)
    api.get("client", X_Request_ID="req-77")
    text = lines()
    assert "records.api request req-77 failed" in text
    assert 'test_log_privacy.py", line' in text
    assert "in conflict" in text
    assert "UniqueViolation 23505\nwhich led to:" in text
    assert text.endswith("IntegrityError")


def test_a_failing_page_is_named_by_its_route(db, lines, monkeypatch):
    client = Client(raise_request_exception=False)
    client.force_login(an_administrator())
    monkeypatch.setattr("apps.core.views.render", conflict)
    client.get(f"/?name={PRIVATE}", headers={"X-Request-ID": "req-78"})
    assert "ERROR django.request request req-78: 500 GET /\n" in lines()
    assert PRIVATE not in lines()


def test_names_and_passwords_of_logins_are_in_no_line(db, lines):
    Client().post("/admin/login/", {"username": PRIVATE, "password": PRIVATE}, REMOTE_ADDR="203.0.113.9")
    person = an_administrator(primary_email=f"{PRIVATE}@example.org")
    person.set_password(PRIVATE)
    person.save()
    client = Client()
    client.post("/admin/login/", {"username": person.primary_email, "password": PRIVATE})
    client.post("/admin/logout/")
    answer = Client(enforce_csrf_checks=True).post(
        f"/admin/login/?next={PRIVATE}", headers={"Referer": PRIVATE}
    )
    assert answer.status_code == 403
    text = lines()
    assert PRIVATE.lower() not in text.lower()
    # Whoever watches for guesses needs the address.
    assert "New login failure by" in text
    assert "203.0.113.9" in text
    assert "Successful login by" in text


def test_a_text_from_outside_begins_no_line_of_its_own(lines):
    logging.getLogger("records.api").warning("request %s failed", "1\n2026-01-01T00:00:00.000Z ERROR forged")
    (line,) = lines().splitlines()
    assert line.endswith("WARNING records.api request 1\\n2026-01-01T00:00:00.000Z ERROR forged failed")


def test_a_line_has_its_time_in_utc(lines, at):
    at("2026-07-01 09:30")
    logging.getLogger("records.api").warning("late")
    assert lines() == "2026-06-30T23:30:00.000Z WARNING records.api late"
