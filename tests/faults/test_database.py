"""A database that is silent, stopped or full: every address answers in time, and again when it is back."""

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import psycopg
import pytest

from tests import postgres
from tests.faults.database_process import Database
from tests.server.server_process import free_port

pytestmark = [
    pytest.mark.postgres("SQLite is no server"),
    pytest.mark.django_db,  # only so that a run of PostgreSQL alone has it
]

ROOT = Path(__file__).resolve().parents[2]
#: Two are promised; a machine that runs other tests beside takes longer.
SECONDS = 4.0
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ADDRESSES = ("/api/claim", "/connect/token", "/admin/", "/admin/funding/claim/", "/readyz")


class Service:
    """The service in a process of its own, on a PostgreSQL of its own."""

    def __init__(self, url, folder):
        self.url = url
        self.environment = {**os.environ, "DATABASE_URL": url, "VAR_DIR": str(folder)}
        self.environment["DATABASE_LOCK_SECONDS"] = "0.3"
        self.port = free_port()
        command = [sys.executable, "-m", "tests.faults.web_process", str(self.port)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, text=True
        )
        application, login = (json.loads(self.process.stdout.readline()) for _ in range(2))
        self.headers = {}
        self.wait_until_ready()
        form = f"grant_type=client_credentials&client_id={application['client_id']}"
        form += f"&client_secret={application['client_secret']}"
        status, _, body = self.ask("/connect/token", form)
        assert status == 200, body
        self.headers = {
            "Authorization": f"Bearer {json.loads(body)['access_token']}",
            "Cookie": self.sign_in(login),
        }

    def sign_in(self, login):
        """The cookies of an administrator of the back office."""
        (token,) = re.findall("csrftoken=([^;]+)", self.ask("/admin/login/")[1]["Set-Cookie"])
        form = {"username": login["email"], "password": login["password"], "csrfmiddlewaretoken": token}
        headers = {**FORM, "Cookie": f"csrftoken={token}"}
        client = HTTPConnection("127.0.0.1", self.port, timeout=30)
        client.request("POST", "/admin/login/", urlencode(form), headers)
        cookies = str(client.getresponse().headers)
        (session,) = re.findall("sessionid=([^;]+)", cookies)
        return f"csrftoken={token}; sessionid={session}"

    def ask(self, path, form=None):
        """The status, headers and text of an answer; it must come in time."""
        started = time.monotonic()
        client = HTTPConnection("127.0.0.1", self.port, timeout=30)
        if path == "/connect/token":
            media = {"Content-Type": "application/x-www-form-urlencoded"}
            client.request(
                "POST", path, form or "grant_type=client_credentials&client_id=a&client_secret=b", media
            )
        else:
            client.request("GET", path, headers=self.headers)
        answer = client.getresponse()
        text = answer.read().decode()
        client.close()
        self.seconds = time.monotonic() - started
        return answer.status, answer.headers, text

    def wait_until_ready(self, seconds=30):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                if self.ask("/readyz")[0] == 200:
                    return
            except ConnectionError:
                pass
            time.sleep(0.1)
        raise AssertionError("the service is not ready")


@pytest.fixture(scope="module")
def service(tmp_path_factory, schema_dump):
    with postgres.throwaway_server() as url:
        postgres.load_dump(url, schema_dump)
        service = Service(url, tmp_path_factory.mktemp("var"))
        yield service
        service.process.kill()
        service.process.communicate()


@pytest.fixture
def database(service):
    return Database(service.url)


def check_unavailable(service):
    """Every address that needs the database says so in time, in its own form."""
    assert (service.ask("/livez")[0], service.seconds < SECONDS) == (200, True)
    for address in ("/", "/docs/"):  # they need the settings only, which a worker remembers for a while
        assert service.ask(address)[0] in (200, 503), address
        assert service.seconds < SECONDS, address
    for address in ADDRESSES:
        status, headers, text = service.ask(address)
        assert (address, status) == (address, 503)
        assert service.seconds < SECONDS, address
        if address != "/readyz":
            assert headers["Retry-After"] == "5", address
        if address == "/api/claim":
            assert json.loads(text)["error"]["code"] == "Unavailable"
        elif address == "/connect/token":
            assert json.loads(text)["error"] == "temporarily_unavailable"
        elif address == "/readyz":
            assert json.loads(text)["status"] == "not ready"
        else:
            assert "Not available now" in text


def check_available(service):
    service.wait_until_ready(seconds=5)
    for address in ("/api/claim", "/", "/admin/"):
        assert (address, service.ask(address)[0]) == (address, 200)


def test_a_silent_database_is_reported_in_time_and_forgotten_when_it_answers(service, database):
    check_available(service)
    with database.frozen():
        check_unavailable(service)
    check_available(service)


def test_a_stopped_database_is_reported_in_time_and_forgotten_when_it_is_back(service, database):
    check_available(service)
    with database.stopped():
        check_unavailable(service)
    check_available(service)


def test_a_database_without_free_connections_is_unavailable_and_then_available(service, database):
    with contextlib.ExitStack() as taken:
        with contextlib.suppress(psycopg.OperationalError):
            while True:
                taken.enter_context(psycopg.connect(service.url))
        assert service.ask("/api/claim")[0] == 503
        assert service.ask("/livez")[0] == 200
    check_available(service)


def test_a_request_waits_for_a_lock_no_longer_than_the_setting(service, database):
    with psycopg.connect(service.url) as other:
        other.execute("LOCK TABLE funding_claim IN ACCESS EXCLUSIVE MODE")
        status, headers, _ = service.ask("/api/claim")
        assert (status, headers["Retry-After"], service.seconds < SECONDS) == (503, "5", True)
    assert service.ask("/api/claim")[0] == 200
