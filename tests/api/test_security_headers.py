"""What every response tells a browser, whoever answers: a view, a middleware or the server."""

import re
import runpy
from email.message import Message
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.test.utils import override_settings
from django.utils.dateparse import parse_datetime
from django.utils.timezone import now

from apps.base.errors import TooLarge
from apps.people.resources import ClientResource
from records_site.server.refusals import BUSY, refusal
from tests.api.caller import Caller, an_application
from tests.api.test_every_route import PUBLIC, addresses, signed_in
from tests.people.records import a_staff_member, an_administrator

pytestmark = pytest.mark.any_engine("middleware and the server set headers")

ROOT = Path(__file__).resolve().parents[2]
CONTACT = "mailto:security@example.org"
YEAR = 365 * 24 * 3600
#: Files, the texts of scripts, and what a load balancer and monitoring ask.
OTHER_PUBLIC = ("/static/", "/admin/jsi18n/", "/livez", "/readyz", "/metrics")
#: Those that would listen, watch or pay.
POWERS = ("camera", "microphone", "geolocation", "display-capture", "payment", "usb")


def faults(response, address=""):
    """The names of the headers that are missing or too weak."""
    headers = response.headers
    policy = headers.get("Content-Security-Policy", "")
    is_public = address in PUBLIC or address.startswith(OTHER_PUBLIC)
    required = {
        "X-Content-Type-Options": headers.get("X-Content-Type-Options") == "nosniff",
        "Referrer-Policy": headers.get("Referrer-Policy") == "same-origin",
        "X-Frame-Options": headers.get("X-Frame-Options") in ("DENY", "SAMEORIGIN"),
        "Cross-Origin-Opener-Policy": headers.get("Cross-Origin-Opener-Policy") == "same-origin",
        "Permissions-Policy": all(f"{power}=()" in headers.get("Permissions-Policy", "") for power in POWERS),
        "base-uri": "base-uri 'none'" in policy,
        "frame-ancestors": "frame-ancestors 'none'" in policy or address.endswith("/preview/"),
        "default-src": "default-src 'none'" in policy or "object-src 'none'" in policy,
        "Cache-Control": is_public or "no-store" in headers.get("Cache-Control", ""),
        "charset": "charset=" in headers.get("Content-Type", "") or not is_text(headers),
        "Server": "Server" not in headers and "X-Powered-By" not in headers,
    }
    return [name for name, is_met in required.items() if not is_met]


def is_text(headers):
    return headers.get("Content-Type", "").startswith("text/")


def read_whole(answer):
    """Files of streams are closed at their end; `close` would end the connection of the test as well."""
    return list(answer.streaming_content) if answer.streaming else answer.content


def all_faults(answers):
    return {address: found for address, answer in answers if (found := faults(answer, address))}


def test_every_address_of_the_site_has_the_headers_for_strangers(records):
    client = Client(raise_request_exception=False)
    assert (
        all_faults((address, client.get(address)) for address in addresses() if address != "/favicon.ico")
        == {}
    )


def test_every_kind_of_page_of_the_back_office_has_the_headers(records):
    administrator, other = signed_in(an_administrator()), signed_in(a_staff_member())
    document = f"/admin/documents/document/{records.whole['Document']}/"
    answers = [
        (address, administrator.get(address))
        for address in (
            "/admin/",
            "/admin/people/client/",
            f"/admin/people/client/{records.whole['Client']}/change/",
            "/admin/nothing-here/",
            f"{document}download/",
            f"{document}preview/",
        )
    ]
    answers += [("/admin/people/client/", other.get("/admin/people/client/"))]
    answers += [("/admin/login/", Client(enforce_csrf_checks=True).post("/admin/login/"))]
    assert all_faults(answers) == {}
    assert {answer.status_code for _, answer in answers} >= {200, 403, 404}
    for _, answer in answers:
        read_whole(answer)


def test_every_kind_of_answer_to_programs_has_the_headers(records, monkeypatch):
    api, nobody = Caller(an_application()), Caller()
    answers = [
        api.get("client"),
        api.get("client", Accept="application/x-ndjson"),
        api.get("$metadata"),
        api.get("nothing"),
        api.get("client", {"$filter": "x"}),
        api.call("DELETE", "client"),
        api.call("OPTIONS", "client"),
        api.get(f"document/{records.whole['Document']}/Download"),
        nobody.get("client"),
        nobody.get("/connect/token"),
        nobody.post("/connect/token", b"grant_type=x", content_type="application/x-www-form-urlencoded"),
        nobody.get("/nothing"),
    ]
    monkeypatch.setattr(ClientResource, "visible_to", lambda *words: 1 / 0)
    answers += [api.get("client")]
    monkeypatch.setattr("apps.core.middleware.clock.activate_zone", lambda zone: 1 / 0)
    answers += [nobody.get("/"), nobody.get("/admin/")]
    statuses = [answer.status_code for answer in answers]
    assert statuses == [200, 200, 200, 404, 400, 405, 204, 200, 401, 405, 400, 404, 500, 500, 500]
    for answer in answers:
        read_whole(answer)
        # What shows no record may be stored: pages of unknown addresses and of errors, and the data model.
        shows_records = not is_text(answer.headers) and answer.request["PATH_INFO"] != "/api/$metadata"
        allowed = set() if shows_records else {"Cache-Control"}
        assert set(faults(answer)) <= allowed, (answer.request["PATH_INFO"], answer.headers)


@pytest.mark.parametrize("path", ["/api/client", "/connect/token", "/admin/", "/"])
@pytest.mark.parametrize("error", [BUSY, TooLarge("A body holds at most 1 byte.")])
def test_what_the_server_refuses_itself_has_the_headers_too(path, error):
    assert faults(refusal(error, path)) == []


@override_settings(WHITENOISE_USE_FINDERS=True)
@pytest.mark.django_db
def test_static_files_have_the_headers():
    answer = Client().get("/static/start.css")
    assert answer.status_code == 200
    assert faults(answer, "/static/start.css") == []


@pytest.fixture
def settings_of(monkeypatch, tmp_path):
    """A function that reads the settings with these variables of the environment."""

    def read(**variables):
        for name, value in {**variables, "VAR_DIR": str(tmp_path)}.items():
            monkeypatch.setenv(name, value)
        return runpy.run_path(str(ROOT / "records_site" / "settings.py"))

    return read


@pytest.fixture
def https(settings_of):
    """The settings of a site behind TLS."""
    chosen = settings_of(HTTPS="true")
    starts = ("SECURE_", "SESSION_", "CSRF_COOKIE", "DEVICE_", "REFUSAL_", "TLS_")
    names = [name for name in chosen if name.startswith(starts)]
    with override_settings(HTTPS=True, **{name: chosen[name] for name in names}):
        yield


def test_behind_tls_every_answer_demands_https_for_a_year(https, records):
    client, nobody = signed_in(an_administrator()), Client(raise_request_exception=False)
    answers = [client.get(address, secure=True) for address in ("/", "/admin/", "/nothing", "/livez")]
    answers += [nobody.get(address, secure=True) for address in ("/api/client", "/connect/token", "/docs/")]
    answers += [
        nobody.get("/", secure=True, headers={"host": "elsewhere.example"}),
        refusal(BUSY, "/api/client"),
    ]
    for answer in answers:
        policy = answer["Strict-Transport-Security"]
        assert int(re.search(r"max-age=(\d+)", policy).group(1)) >= YEAR
        assert "includeSubDomains" in policy


def test_behind_tls_plain_http_is_only_redirected_and_has_the_headers(https, records):
    answer = Client().get("/admin/people/client/")
    assert (answer.status_code, answer["Location"]) == (301, "https://testserver/admin/people/client/")
    assert set(faults(answer)) <= {"Cache-Control"}  # it shows nothing
    for address in ("/livez", "/readyz", "/metrics"):  # asked on the machine itself, which has no TLS
        assert Client().get(address).status_code != 301
    foreign = Client(raise_request_exception=False).get("/", headers={"host": "elsewhere.example"})
    assert foreign.status_code == 400
    assert set(faults(foreign)) <= {"Cache-Control"}


@pytest.mark.parametrize("path", ["/api", "/api/client", "/API/client", "/connect/token"])
def test_behind_tls_programs_are_refused_on_plain_http_and_not_redirected(https, db, path):
    for answer in (Client().get(path), Client().post(path)):
        assert answer.status_code == 403
        assert "https" in answer.content.decode()
        assert answer["Content-Type"].startswith("application/json")
        assert faults(answer) == []


def test_behind_tls_cookies_are_bound_to_https_and_to_this_host(https, db):
    person = an_administrator()
    person.set_password("a long enough secret")
    person.save()
    client = Client()
    client.get("/admin/login/", secure=True)
    client.post(
        "/admin/login/", {"username": person.primary_email, "password": "a long enough secret"}, secure=True
    )
    assert {"__Host-sessionid", "__Host-csrftoken", "__Host-device"} == client.cookies.keys() - {"messages"}
    for cookie in client.cookies.values():
        assert (cookie["secure"], cookie["httponly"], cookie["path"], cookie["domain"]) == (
            True,
            True,
            "/",
            "",
        )
        assert cookie["samesite"] == "Lax"


# --- where a vulnerability is reported


@pytest.mark.django_db
def test_whoever_finds_a_vulnerability_learns_where_to_report_it():
    with override_settings(SECURITY_CONTACT=CONTACT):
        answer = Client().get("/.well-known/security.txt")
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain; charset=utf-8")
    fields = Message()
    for line in answer.content.decode().splitlines():
        name, _, value = line.partition(": ")
        fields[name] = value
    assert fields["Contact"] == CONTACT
    assert fields["Canonical"] == "http://testserver/.well-known/security.txt"
    assert 0 < (parse_datetime(fields["Expires"]) - now()).total_seconds() < YEAR


@pytest.mark.django_db
def test_without_a_contact_there_is_no_such_file():
    assert settings.SECURITY_CONTACT == ""
    assert Client().get("/.well-known/security.txt").status_code == 404


def test_a_contact_that_is_no_address_is_refused_at_the_start(settings_of):
    with pytest.raises(Exception, match="SECURITY_CONTACT is an address"):
        settings_of(SECURITY_CONTACT="security@example.org")


# --- what is sent and asked elsewhere


@pytest.mark.parametrize(("port", "begins_with_tls"), [("465", True), ("587", False), ("25", False)])
def test_the_password_of_the_server_of_mail_never_goes_in_the_clear(settings_of, port, begins_with_tls):
    chosen = settings_of(MAIL_HOST="mail.example.org", MAIL_PORT=port)
    assert (chosen["EMAIL_USE_SSL"], chosen["EMAIL_USE_TLS"]) == (begins_with_tls, not begins_with_tls)
    assert 0 < chosen["EMAIL_TIMEOUT"] < 60  # a server that hangs does not keep a worker


def test_a_link_for_a_password_ends_after_the_hours_that_its_mail_names(settings_of):
    assert settings_of(PASSWORD_LINK_HOURS="2")["PASSWORD_RESET_TIMEOUT"] == 2 * 3600
