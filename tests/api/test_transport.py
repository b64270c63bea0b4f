"""Compression, programs of other origins, and links behind a proxy."""

import gzip
import time
import zlib

import pytest

from apps.odata.http import middleware
from tests.api.caller import Caller, ok, refused
from tests.people.builders import a_client_body

pytestmark = pytest.mark.any_engine("what happens to a response once it is made")

# --- compression --------------------------------------------------------------------------------------


def test_answers_are_compressed_for_callers_that_read_gzip(api, records):
    for path in ("$metadata", "staff?$expand=*"):
        plain, packed = api.get(path), api.get(path, Accept_Encoding="gzip, deflate, br")
        assert packed["Content-Encoding"] == "gzip"
        assert gzip.decompress(packed.content) == plain.content
        assert len(packed.content) < len(plain.content) / 2
        assert "Content-Encoding" not in plain
        for answer in (plain, packed):
            assert "Accept-Encoding" in answer["Vary"]
            assert int(answer["Content-Length"]) == len(answer.content)


@pytest.mark.parametrize("accepted", ["", "identity", "br", "gzip;q=0", "gzip; q=0.0, br"])
def test_answers_are_plain_for_other_callers(api, accepted):
    assert "Content-Encoding" not in api.get("$metadata", Accept_Encoding=accepted)


def test_what_fits_into_one_packet_is_not_compressed(api):
    assert "Content-Encoding" not in api.get("client?$top=0", Accept_Encoding="gzip")


def test_a_stream_is_compressed_as_it_comes(api, records):
    plain = api.get("staff", Accept="application/x-ndjson").getvalue()
    answer = api.get("staff", Accept="application/x-ndjson", Accept_Encoding="gzip")
    assert (answer.streaming, answer["Content-Encoding"]) == (True, "gzip")
    assert gzip.decompress(answer.getvalue()) == plain


def test_a_compressed_stream_holds_no_more_than_a_piece():
    def pieces():
        for number in range(2_000):
            yield f'{{"Number":{number}}}\n'.encode() * 100
        seen.append("end")

    seen, packed = [], middleware.compressed(pieces())
    next(packed)
    assert not seen
    assert next(packed)
    assert not seen


def test_files_are_not_compressed_and_pages_are_padded_at_random(api, records):
    guid = records.whole["Document"]
    download = api.get(f"document/{guid}/Download", Accept_Encoding="gzip")
    assert "Content-Encoding" not in download
    # Of a page that shows a secret and what a stranger sent, the length must tell nothing (BREACH).
    pages = [api.get("/", Accept_Encoding="gzip") for _ in range(12)]
    assert {page["Content-Encoding"] for page in pages} == {"gzip"}
    assert len({len(page.content) for page in pages}) > 1


def test_the_answer_that_a_key_repeats_is_not_stored_compressed(api):
    body = {"value": [a_client_body() for _ in range(9)]}
    first = api.post("client", body, Idempotency_Key="k", Accept_Encoding="gzip")
    again = api.post("client", body, Idempotency_Key="k")
    ok(again, 201)
    assert zlib.decompress(first.content, wbits=31) == again.content


# --- other origins ------------------------------------------------------------------------------------

APP = "https://app.example.org"


class Browser(Caller):
    """A caller whose answers may have the headers for other origins."""

    def call(self, method, path, **headers):
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.authorization is not None:
            sent["Authorization"] = self.authorization
        return self.client.generic(method, f"/api/{path}", headers=sent)


@pytest.fixture
def browser(api, settings):
    settings.CORS_ALLOWED_ORIGINS = [APP]
    return Browser(api.authorization)


def test_a_program_of_an_allowed_origin_reads_answers_and_their_headers(browser):
    answer = browser.call("GET", "client", Origin=APP)
    assert ok(answer)["@odata.context"]
    assert answer["Access-Control-Allow-Origin"] == APP
    assert {"ETag", "Link", "Location", "OData-Version"} <= set(
        answer["Access-Control-Expose-Headers"].split(", ")
    )
    assert "Access-Control-Allow-Credentials" not in answer
    assert "Origin" in answer["Vary"]
    assert browser.call("GET", "nothing", Origin=APP)["Access-Control-Allow-Origin"] == APP


def test_a_preflight_is_answered_without_credentials(browser):
    headers = "authorization,if-match,x-sap-security-session"
    preflight = {"Origin": APP, "Access_Control_Request_Method": "POST"}
    answer = Browser().call("OPTIONS", "claim", Access_Control_Request_Headers=headers, **preflight)
    assert (answer.status_code, answer.content) == (204, b"")
    assert "POST" in answer["Access-Control-Allow-Methods"]
    assert answer["Access-Control-Allow-Headers"] == headers


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", f"{APP}.evil.example", "http://app.example.org"]
)
def test_other_origins_are_let_in_nowhere(browser, origin):
    assert "Access-Control-Allow-Origin" not in browser.call("GET", "client", Origin=origin)
    preflight = Browser().call("OPTIONS", "client", Origin=origin, Access_Control_Request_Method="GET")
    assert preflight.status_code == 401
    assert "Access-Control-Allow-Origin" not in preflight
    assert "Access-Control-Allow-Origin" not in browser.client.get("/admin/login/", headers={"Origin": APP})


# --- links behind a proxy -----------------------------------------------------------------------------


@pytest.fixture
def proxied(api, settings):
    settings.TRUST_PROXY = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.ALLOWED_HOSTS = ["testserver", "records.example"]
    return api


@pytest.mark.parametrize(
    ("headers", "base"),
    [
        (
            {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "records.example"},
            "https://records.example/api/",
        ),
        ({"Forwarded": "for=10.0.0.1;host=records.example;proto=https"}, "https://records.example/api/"),
        ({"Forwarded": 'host=evil.example, host="records.example:8443"'}, "http://records.example:8443/api/"),
        ({"X_Forwarded_Host": "evil.example, records.example"}, "http://records.example/api/"),
        ({"X_Forwarded_Prefix": "/records/v2/"}, "http://testserver/records/v2/api/"),
        ({"X_Forwarded_Proto": "https"}, "https://testserver/api/"),
    ],
)
def test_links_begin_with_the_address_that_the_proxy_was_called_by(proxied, headers, base):
    assert ok(proxied.get("client", **headers))["@odata.context"].startswith(f"{base}$metadata#")
    assert ok(proxied.get("client"))["@odata.context"].startswith("http://testserver/api/$metadata#")


def test_the_back_office_has_the_prefix_too(proxied):
    answer = proxied.get("/admin/", X_Forwarded_Prefix="/records")
    assert answer["Location"] == "/records/admin/login/?next=/records/admin/"


@pytest.mark.parametrize(
    "headers", [{"X_Forwarded_Host": "evil.example"}, {"Forwarded": "host=evil.example"}]
)
def test_a_host_that_is_not_ours_is_refused(proxied, headers):
    refused(proxied.get("client", **headers), 400)


def test_a_long_word_of_a_proxys_header_takes_no_time(proxied):
    """It was compared with each of its own ends: 11 seconds for 16 KiB."""
    began = time.thread_time()
    ok(proxied.get("client", Forwarded="a" * 16_000))
    assert time.thread_time() - began < 2


@pytest.mark.parametrize("prefix", ["//evil.example", "/a/../b", "javascript:x", "records", "/a b"])
def test_a_prefix_that_is_no_path_is_ignored(proxied, prefix):
    body = ok(proxied.get("client", X_Forwarded_Prefix=prefix))
    assert body["@odata.context"].startswith("http://testserver/api/$metadata#")


def test_without_trust_nobody_chooses_the_address(api):
    headers = {"Forwarded": "host=evil.example;proto=https", "X_Forwarded_Prefix": "/evil"}
    body = ok(api.get("client", X_Forwarded_Host="evil.example", X_Forwarded_Proto="https", **headers))
    assert body["@odata.context"].startswith("http://testserver/api/$metadata#")
