"""What requests and answers say about themselves: versions, caching, ids, hosts, other origins."""

import re

import pytest

from apps.base.declaration.service import get_service
from tests.api.caller import Caller, ok, refused
from tests.people.builders import a_client, a_client_body

pytestmark = pytest.mark.any_engine("headers and hosts, no records")

ADDRESSES = ("client", "client/$count", "$metadata", "")


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ({}, {}),
        ({"version": "2"}, {}),
        ({"version": "2.0"}, {}),
        ({"VERSION": "2.0"}, {}),
        ({"api-version": "2.0"}, {}),
        ({}, {"api_version": "2.0"}),
        ({}, {"api_version": "2"}),
        ({"version": "2"}, {"api_version": "2.0"}),
        ({"version": "2", "api-version": "2.0"}, {}),
    ],
)
def test_the_one_version_may_be_named_in_every_way(api, address, query, headers):
    assert api.get(address, query, **headers).status_code == 200


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("version", ["1", "1.0", "3", "2.2", "", " ", "x", "2.0.0", "²", "2" * 5000])
def test_another_version_is_not_served(api, address, version):
    refused(api.get(address, {"version": version}), 400, "UnsupportedApiVersion")


def test_another_version_in_the_header_is_not_served_either(api):
    refused(api.get("client", api_version="1.0"), 400, "UnsupportedApiVersion")
    client = a_client()
    refused(api.get(f"client/{client.pk}", {"version": "1"}), 400, "UnsupportedApiVersion")
    refused(api.post("client", a_client_body(), {"version": "1"}), 400, "UnsupportedApiVersion")
    refused(api.put(f"staff/{client.pk}", {}, {"version": "1"}), 400, "UnsupportedApiVersion")


@pytest.mark.parametrize(
    ("query", "header"), [({"version": "1"}, "2.0"), ({"version": "2.0"}, "1"), ({"api-version": "3"}, "4")]
)
def test_two_versions_that_disagree_are_ambiguous(api, query, header):
    refused(api.get("client", query, api_version=header), 400, "AmbiguousApiVersion")


def test_an_answer_is_cached_by_nobody_and_differs_by_caller(api):
    answer = api.get("client")
    assert answer["Cache-Control"] == "no-store"
    assert {"Accept", "Authorization", "Prefer"} <= set(answer["Vary"].split(", "))


def test_each_answer_has_an_id_and_keeps_a_plain_one_that_was_sent(api):
    first, second = api.get("client")["X-Request-ID"], api.get("client")["X-Request-ID"]
    assert first != second
    assert re.fullmatch("[0-9a-f-]{36}", first)
    assert api.get("client", X_Request_ID="my-job.17_b")["X-Request-ID"] == "my-job.17_b"
    for wild in ("a b", "x" * 37, "<script>", "é", "a;b", ""):
        assert re.fullmatch("[0-9a-f-]{36}", api.get("client", X_Request_ID=wild)["X-Request-ID"])


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://testserver"])
def test_no_other_origin_is_let_in(api, origin):
    answers = [
        api.get("client", Origin=origin),
        api.call("OPTIONS", "client", Origin=origin, Access_Control_Request_Method="POST"),
        api.get("nothing", Origin=origin),
        Caller().get("client", Origin=origin),
    ]
    for answer in answers:
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "host", ["evil.example", "testserver.evil.example", "a b", "testserver:x", "[", "e" * 300]
)
def test_a_host_that_is_not_ours_is_refused_in_the_one_shape(host):
    error = refused(Caller(host=host).get("client"), 400, "BadRequest")
    assert host not in error["message"]


@pytest.mark.django_db
def test_a_host_that_is_not_ours_is_refused_with_credentials_too(api):
    answer = Caller(api.authorization, host="evil.example").get("client")
    assert "evil" not in answer.content.decode()
    refused(answer, 400, "BadRequest")


def test_a_method_cannot_be_overridden(api):
    body = a_client_body()
    answer = api.get("client", X_HTTP_Method_Override="POST", X_Method_Override="POST")
    assert ok(answer)["value"] == []
    refused(api.call("POST", "client/$count", {"_method": "GET"}, body, X_HTTP_Method_Override="GET"), 405)


@pytest.mark.parametrize("address", ["$metadata", "/docs/openapi.json"])
def test_descriptions_name_no_files_that_callers_do_not_have(api, address):
    text = api.get(address).content.decode()
    assert "The status of a claim" in text
    assert re.findall(r"\w+\.(?:md|yaml|py)\b", text) == []


def test_a_token_in_the_address_is_no_credential(api, nobody):
    token = api.authorization.removeprefix("Bearer ")
    for name in ("token", "access_token", "authorization"):
        answer = nobody.get("client", {name: token})
        refused(answer, 401, "Unauthenticated")
        assert token not in answer.content.decode()


@pytest.mark.parametrize(
    "credentials",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer \x00",
        "Bearer é",
        "Bearer " + "x" * 6_000,
        "Bearer a b c",
        "Basic",
        "Basic !!!",
        "Basic AAAA",
        "Basic /w==",
        "Digest username=x",
        "Token x",
        "x" * 10_000,
        "bearer,",
    ],
)
def test_credentials_that_are_none_are_401_in_one_and_the_same_answer(nobody, credentials):
    answer = nobody.get("client", Authorization=credentials)
    refused(answer, 401, "Unauthenticated")
    assert answer["WWW-Authenticate"].startswith("Bearer ")


@pytest.mark.django_db
def test_the_credentials_scheme_is_named_in_any_case(api):
    for scheme in ("bearer", "BEARER", "Bearer  "):
        authorization = api.authorization.replace("Bearer", scheme)
        assert ok(Caller(authorization).get("client"))["value"] == []


def test_the_service_document_lists_what_is_offered(api):
    body = ok(api.get(""))
    assert body["@odata.context"] == "http://testserver/api/$metadata"
    assert body["value"][0] == {"name": "Staff", "kind": "EntitySet", "url": "staff"}
    assert [entry["name"] for entry in body["value"]] == [each.name for each in get_service().entity_sets]
    for entry in body["value"]:
        assert api.get(entry["url"]).status_code == 200
    assert ok(api.get("/API/")) == body
    refused(api.get("", {"Nothing": "x"}), 400)


@pytest.mark.parametrize("path", ["/api", "/API", "/Api/"])
def test_the_service_document_stands_with_or_without_its_slash(api, path):
    answer = ok(api.get(path))
    assert answer == ok(api.get(""))
    assert answer["@odata.context"].endswith("/api/$metadata")


def test_an_address_that_only_begins_alike_is_no_part_of_the_service(api):
    assert api.get("/apis").status_code == 404


def test_metadata_is_xml_unless_json_is_requested(api):
    for query, accept, media in (
        ({}, "", "application/xml"),
        ({}, "*/*", "application/xml"),
        ({}, "application/json", "application/json"),
        ({"$format": "json"}, "", "application/json"),
        ({"$format": "xml"}, "application/json", "application/xml"),
        ({"format": "application/json"}, "", "application/json"),
    ):
        answer = api.get("$metadata", query, Accept=accept)
        assert (answer.status_code, answer["Content-Type"].split(";")[0]) == (200, media), (query, accept)
    assert api.get("/API/$METADATA/").content == api.get("$metadata").content


def test_a_browser_that_opens_an_answer_runs_nothing_in_it(api):
    for answer in (api.get("client"), api.get("nothing-here"), api.get("client", {"$top": "x"})):
        assert (
            answer["Content-Security-Policy"] == "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"
        )
