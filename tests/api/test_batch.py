"""Several requests in one, in both formats: each is served as it is alone, and change sets as a whole."""

import json
import time

import pytest

from apps.access.models import AccessToken, ApiApplication
from apps.core.models import Change
from apps.odata.http.batch import processing
from apps.odata.http.batch.processing import BatchProcessor
from apps.people.models import Client, Contact
from tests.api.batches import (
    JSON,
    Request,
    as_multipart,
    as_object,
    get,
    post,
    put,
    read_json,
    read_multipart,
    send_json,
    send_multipart,
)
from tests.api.caller import Caller, an_application, refused
from tests.people.builders import (
    a_client,
    a_client_body,
    a_contact_body,
    a_staff_member,
)

both = pytest.mark.parametrize("send", [send_json, send_multipart], ids=["json", "multipart"])

INVALID = {"BusinessName": ""}


def raw(api, text, content_type="multipart/mixed; boundary=b", **headers):
    body = text if isinstance(text, bytes) else text.replace("\n", "\r\n").encode()
    return api.call("POST", "$batch", body=body, content_type=content_type, **headers)


@both
def test_each_request_has_the_response_that_it_has_alone(api, send):
    client = a_client()
    urls = (
        "client",
        f"client({client.pk})",
        "client/$count",
        "$metadata",
        "",
        "client/none",
        "client?$top=x",
    )
    answers = send(api, *map(get, urls), Prefer="odata.continue-on-error")
    assert len(answers) == len(urls)
    for url, answer in zip(urls, answers, strict=True):
        alone = api.get(*url.split("?"))
        assert answer.status == alone.status_code, url
        assert answer.headers["content-type"] == alone["Content-Type"]
        assert answer.headers.get("etag") == alone.get("ETag")
        assert answer.headers["odata-version"] == "4.0"
        if "json" in answer.headers["content-type"]:
            assert answer.json == json.loads(alone.content)
    assert answers[2].body.strip(b'"') == b"1"


@both
@pytest.mark.parametrize(
    "url",
    [
        "client?$filter=BusinessName eq 'Caf%C3%A9 %26 Co'",
        "client?$filter=BusinessName%20eq%20'Caf%C3%A9%20%26%20Co'",
        "/api/client?$filter=BusinessName+eq+'Café %26 Co'",
        "http://testserver/api/client?$filter=BusinessName%20eq%20'Caf%c3%a9%20%26%20Co'#x",
        "HTTPS://TestServer/API/Client/?BusinessName=Caf%C3%A9%20%26%20Co",
        "Client(ClientGuid,BusinessName,Address/Suburb,KeyContact())?BusinessName=Caf%C3%A9 %26 Co",
    ],
)
def test_a_url_is_absolute_or_relative_and_percent_encoded(api, send, url):
    a_client(BusinessName="Café & Co")
    a_client()
    (answer,) = send(api, get(url))
    assert [row["BusinessName"] for row in answer.json["value"]] == ["Café & Co"]


@both
@pytest.mark.parametrize(
    "url",
    [
        "/admin/",
        "/connect/token",
        "/api/../admin/",
        "//evil.example/api/client",
        "/livez",
        "apis",
        "/apis/x",
        "https://evil.example/api/client",
        "http://testserver@evil.example/api/client",
        "http://testserver:1/api/",
    ],
)
def test_a_batch_reaches_the_addresses_of_the_interface_only(api, send, url):
    (answer,) = send(api, get(url))
    assert (answer.status, answer.code) == (404, "NotFound")


@both
def test_a_url_has_no_endless_path(api, send):
    (answer,) = send(api, get("%41" * 3_000))
    assert (answer.status, answer.code) == (400, "InvalidQuery")


@both
def test_a_change_set_is_stored_as_a_whole(api, send):
    before = Change.objects.count()
    answers = send(
        api,
        post("client", a_client_body(), id="1", group="c"),
        post("contact", a_contact_body(), id="2", group="c"),
        get("client/$count"),
    )
    assert [(a.status, a.id, a.group) for a in answers[:2]] == [(201, "1", True), (201, "2", True)]
    assert answers[0].headers["location"].endswith(f"Client({Client.objects.get().pk})")
    assert answers[2].status == 200
    entries = Change.objects.order_by("pk")[before:]
    assert {(entry.application, entry.channel) for entry in entries} == {("Integration", "API")}
    assert len({entry.request_id for entry in entries}) == 1


@both
def test_a_change_set_that_fails_stores_nothing(api, send):
    answers = send(
        api,
        post("client", a_client_body(), id="1", group="c"),
        post("client", INVALID, id="2", group="c"),
        post("client", a_client_body(), id="3", group="c"),
        Prefer="continue-on-error=true",
    )
    assert Client.objects.count() == 0
    assert Change.objects.filter(record_type="people.client").count() == 0
    statuses = {answer.id: answer.status for answer in answers}
    assert statuses == ({"2": 400} if send is send_multipart else {"1": 424, "2": 400, "3": 424})
    assert not (send is send_multipart and answers[0].group)


@both
def test_two_records_of_a_change_set_cannot_have_one_name(api, send):
    body = a_client_body()
    answers = send(api, post("client", body, id="1", group="c"), post("client", body, id="2", group="c"))
    error = next(answer for answer in answers if answer.status == 400)
    assert error.json["error"]["details"][0]["code"] == "NotUnique"
    assert Client.objects.count() == 0


@both
def test_after_an_error_the_rest_is_served_as_the_format_says(api, send):
    requests = (get("nothing"), post("contact", a_contact_body()))
    assert len(send(api, *requests)) == (1 if send is send_multipart else 2)
    stopped = send(api, *requests, Prefer="continue-on-error=false")
    assert [answer.status for answer in stopped] == [404]
    for preference in (
        "odata.continue-on-error",
        "continue-on-error",
        "return=minimal, continue-on-error=true",
    ):
        assert [answer.status for answer in send(api, *requests, Prefer=preference)] == [404, 201]


@both
def test_a_record_is_referred_to_by_the_identifier_of_its_request(api, send):
    _, client, whole, _, metadata = send(
        api,
        post("contact", a_contact_body(LastName="Byron"), id="contact.1", group="c"),
        post("client", a_client_body(KeyContact={"ContactGuid": "$contact.1"}), id="2", group="c"),
        get("$2?$expand=KeyContact", id="3"),
        get("client/$count", id="metadata"),
        get("$metadata"),
    )
    assert whole.json["KeyContact"]["LastName"] == "Byron"
    assert whole.json["ClientGuid"] == client.json["ClientGuid"]
    assert metadata.headers["content-type"] == "application/xml"


@both
@pytest.mark.parametrize(
    "address",
    ["$1", "%241", "/api/$1", "/api/%241", "http://testserver/api/$1", "HTTP://testserver/API/%241"],
)
def test_a_reference_stands_in_each_form_of_an_address(api, send, address):
    _, created, whole, code, unknown = send(
        api,
        get("client/$count"),
        post("client", a_client_body(), id="1"),
        get(f"{address}?$select=BusinessName"),
        get(f"{address}/BusinessName/$value"),
        get(address.replace("1", "9")),
        Prefer="continue-on-error",
    )
    assert whole.json["BusinessName"] == created.json["BusinessName"] == code.body.decode().strip('"')
    assert (unknown.status, unknown.json["error"]["message"]) == (
        400,
        "$9 refers to no earlier request of the batch.",
    )


@both
def test_a_query_refers_to_keys_and_values_of_earlier_responses(api, send):
    a_client(), a_client(BusinessName="it's $1")
    body = a_client_body(Address={"Suburb": "O'Connor", "State": "ACT", "Country": "Australia"})
    made = [post("client", {"value": [body]}, id="1", group="c")]
    made += [post("contact", a_contact_body(Client={"ClientGuid": "$1/ClientGuid"}), id="p.2", group="c")]
    urls = [
        "client?$filter=ClientGuid eq $1",
        "contact?$filter=Client/ClientGuid%20eq%20%241/ClientGuid",
        "client?$filter=Address/Suburb eq $1/Address/Suburb and CreationDate ge $1/CreationDate",
        "client?$filter=ArchiveDate eq $1/ArchiveDate and BusinessName eq $1/BusinessName",
        "contact?$apply=filter(ContactGuid eq $p.2)/aggregate($count as N)",
        "client?$expand=Contacts($filter=ContactGuid eq $p.2)&$filter=ClientGuid eq $1",
        "client(@k)?@k=$1",
        "$entity?$id=$1",
        "client?$filter=BusinessName eq 'it''s $1'",
        "client/$count?$filter=IsSelf eq $1/IsSelf",
    ]
    created, _, *answers = send(api, *made, *(get(url.replace(" ", "%20")) for url in urls))
    assert [answer.status for answer in answers] == [200] * len(urls), [answer.body for answer in answers]
    key = created.json["value"][0]["ClientGuid"]
    clients = [answers[at].json["value"] for at in (0, 2, 3, 5)]
    assert {row["ClientGuid"] for rows in clients for row in rows} == {key}
    assert all(len(rows) == 1 for rows in clients)
    assert len(answers[1].json["value"]) == len(answers[5].json["value"][0]["Contacts"]) == 1
    assert answers[4].json["value"] == [{"N": 1}]
    assert answers[6].json["ClientGuid"] == answers[7].json["ClientGuid"] == key
    assert [row["BusinessName"] for row in answers[8].json["value"]] == ["it's $1"]
    assert answers[9].body.strip(b'"') == b"3"


@both
@pytest.mark.parametrize(
    ("url", "status", "message"),
    [
        ("client?$filter=ClientGuid eq $9", 400, "$9 refers to no earlier request of the batch."),
        ("client?$filter=BusinessName eq $1/Nothing", 400, "The response to request 1 has no value Nothing."),
        ("client?$filter=BusinessName eq $1/Address", 400, "The response to request 1 has no value Address."),
        ("client?$filter=BusinessName eq $2/value", 400, "The response to request 2 has no value value."),
        ("client?$filter=ClientGuid eq $2", 400, "http://testserver/api/client has no key."),
        ("client?$filter=ClientGuid eq $3", 424, "Request 3 failed, which $3 refers to."),
        ("client?$filter=BusinessName eq $4/BusinessName", 400, "The response to request 4 has no value"),
        (
            "client?$filter=ClientGuid eq $it",
            400,
            "$filter cannot be read at position 15: a name is expected after '$it'",
        ),
        ("$entity?$id=$9", 400, "$9 refers to no earlier request of the batch."),
        ("client?$search=$9&BusinessName=$9", 200, ""),
    ],
)
def test_values_that_no_earlier_response_has_are_refused(api, send, url, status, message):
    body = a_client_body(Address={"Suburb": "Ryde", "State": "NSW", "Country": "Australia"})
    *_, answer = send(
        api,
        post("client", body, id="1"),
        get("client", id="2"),
        post("client", INVALID, id="3"),
        post("client", a_client_body(), id="4", headers={"Prefer": "return=minimal"}),
        get(url.replace(" ", "%20")),
        Prefer="continue-on-error",
    )
    assert answer.status == status, answer.body
    assert not message or answer.json["error"]["message"].startswith(message)


@both
def test_only_a_guid_is_a_reference(api, send):
    body = a_client_body(ExternalReference="$1", WebAddress='x": "$1"')
    send(api, post("contact", a_contact_body(), id="1", group="c"), post("client", body, id="2", group="c"))
    client = Client.objects.get()
    assert (client.external_reference, client.web_address) == ("$1", 'x": "$1"')


@both
def test_an_etag_is_referred_to_as_well(api, send):
    staff = a_staff_member()
    role = {"RoleGuid": str(staff.role.pk)}
    body = {"FirstName": "New", "LastName": "Name", "PrimaryEmail": "n@example.org", "PrimaryRole": role}
    body["UsePrimaryEmail"] = True
    address = f"staff({staff.pk})"
    requests = [get(address, id="1"), put(address, body, id="2", headers={"If-Match": "$1"})]
    requests.append(put("$2", body | {"FirstName": "Lost"}, id="3", headers={"If-Match": "$1"}))
    assert [answer.status for answer in send(api, *requests)] == [200, 200, 412]
    requests = [post("staff", body | {"PrimaryEmail": "o@example.org"}, id="1")]
    requests += [put("$1", body | {"PrimaryEmail": "o@example.org"}, id="2", headers={"If-Match": "$1"})]
    requests += [get("staff/$count", id="3"), put(address, body, headers={"If-Match": "$3"})]
    answers = send(api, *requests)
    assert [answer.status for answer in answers] == [201, 200, 200, 400]
    assert "without an ETag" in answers[-1].json["error"]["message"]


@both
def test_the_response_to_head_has_no_body(api, send):
    (answer,) = send(api, Request("HEAD", "client"))
    assert (answer.status, answer.body) == (200, b"")


@both
def test_references_to_nothing_to_what_failed_and_to_several_records_are_refused(api, send):
    several = {"value": [a_client_body(), a_client_body()]}
    answers = send(
        api,
        get("$9"),
        post("client", INVALID, id="1"),
        get("$1/KeyContact", id="2"),
        post("client", several, id="3"),
        get("$3", id="4"),
        post("client", a_client_body(KeyContact={"ContactGuid": "$8"}), id="5"),
        Prefer="continue-on-error",
    )
    assert [answer.status for answer in answers] == [400, 400, 424, 201, 400, 400]
    assert answers[0].json["error"]["message"] == "$9 refers to no earlier request of the batch."


def test_what_depends_on_a_request_that_failed_is_not_served(api):
    answers = send_json(
        api,
        post("client", a_client_body(), id="1", group="g"),
        post("client", INVALID, id="2", group="g"),
        get("client", id="3", depends_on=["1"]),
        get("client", id="4", depends_on=["g"]),
        get("client", id="5", depends_on=["4"]),
        get("client", id="6"),
        post("client", a_client_body(), id="7", group="h", depends_on=["6"]),
        get("client", id="8", depends_on=["h", "6"]),
    )
    assert [answer.status for answer in answers] == [424, 400, 424, 424, 424, 200, 201, 200]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"dependsOn": ["2"]}, "no request or group before 1 is named '2'"),
        ({"dependsOn": ["1"]}, "no request or group before 1"),
        ({"id": "2"}, "given twice"),
        ({"id": "a b"}, "no identifier"),
        ({"id": ""}, "needs an id"),
        ({"id": 1}, "Expected `str`"),
        ({"id": "x" * 129}, "no identifier"),
        ({"if": "$1/$succeeded"}, "not supported"),
        ({"atomicityGroup": "g"}, "no GET"),
        ({"atomicityGroup": "g", "method": "head"}, "no HEAD"),
        ({"atomicityGroup": "2", "method": "post"}, "given twice"),
        ({"url": None}, "Expected `str`"),
        ({"body": 1, "headers": {"content-type": "text/plain"}}, "must be a string"),
        ({"body": "%", "headers": {"content-type": "image/png"}}, "base64url"),
        ({"headers": {"a": 1}}, "Expected `str`"),
    ],
)
def test_a_batch_in_json_that_is_none_is_refused_as_a_whole(api, changed, message):
    requests = [as_object(1, get("client", id="1")) | changed, as_object(2, get("client", id="2"))]
    error = refused(api.post("$batch", {"requests": requests}), 400, "InvalidBody")
    assert message in error["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'{"requests":{}}',
        b'{"requests":[null]}',
        b'{"requests":[',
        b"\xff",
        b'{"requests":[{"id":"1","method":"get","url":"client","body":' + b"[" * 100_000,
        b"[" * 100_000,
    ],
)
def test_a_body_that_is_no_batch_is_refused(api, body):
    refused(raw(api, body, JSON), 400, "InvalidBody")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"requests":[],"requests":[]}', "requests is given twice - at `$`."),
        (
            '{"requests":[{"id":"7","method":"get","url":"client","url":"claim"}]}',
            "url is given twice - at `$.requests[0]`.",
        ),
        (
            '{"requests":[{"id":"7","method":"get","url":"client","headers":{"Prefer":"a","Prefer":"b"}}]}',
            "Prefer is given twice - at `$.requests[0].headers`.",
        ),
    ],
)
def test_a_member_of_a_batch_is_not_given_twice(api, text, message):
    error = refused(raw(api, text.encode(), JSON), 400, "InvalidBody")
    assert error["message"] == f"The batch cannot be read: {message}"


HTTP = "Content-Type: application/http\n"
PART = f"--b\n{HTTP}\nGET client HTTP/1.1\n\n\n"
CHANGE_SET = "--b\nContent-Type: multipart/mixed; boundary=c\n\n--c\n"


def test_endless_blanks_in_a_request_line_cost_no_time(api):
    """Each was tried as the last before the version: 40,000 took twelve seconds."""
    began = time.process_time()
    body = f"--b\n{HTTP}\nGET client?$top=1{' ' * 60_000}x HTTP/1.1\n\n\n--b--"
    answer = api.post("$batch", body.encode(), content_type="multipart/mixed; boundary=b")
    assert answer.status_code == 200
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    "body",
    [
        "",
        "x",
        PART,
        f"{PART}--b",
        "--b\nGET client HTTP/1.1\n\n\n--b--",
        "--b\nContent-Type: text/plain\n\nGET client HTTP/1.1\n\n\n--b--",
        f"--b\n{HTTP}\n\n\n--b--",
        f"--b\n{HTTP}\nGET\n\n--b--",
        f"--b\n{HTTP}nonsense\n\nGET client HTTP/1.1\n\n\n--b--",
        f"--b\n{HTTP}Content-Transfer-Encoding: base64\n\nR0VUIGNsaWVudA==\n--b--",
        f"{CHANGE_SET}{HTTP}\nGET client\n--c--\n--b--",
        f"{CHANGE_SET}{CHANGE_SET}\n--c--\n--c--\n--b--",
        f"{CHANGE_SET}{HTTP}\nPOST client\n\n--b--",
        "--b\nContent-Type: multipart/mixed\n\n--c--\n--b--",
        f"--b\n{HTTP}Content-ID: 1\n\nGET client\n--b\n{HTTP}Content-ID: 1\n\nGET client\n--b--",
    ],
)
def test_a_multipart_body_that_is_no_batch_is_refused_as_a_whole(api, body):
    refused(raw(api, body), 400, "InvalidBody")


@pytest.mark.parametrize("boundary", ["", "; boundary=", f"; boundary={'x' * 71}", '; boundary="'])
def test_a_boundary_is_needed(api, boundary):
    refused(raw(api, PART + "--b--", f"multipart/mixed{boundary}"), 400, "InvalidBody")


@pytest.mark.parametrize("content_type", ["text/plain", "multipart/form-data; boundary=b", "", ";;/"])
def test_another_format_is_not_a_batch(api, content_type):
    refused(raw(api, PART + "--b--", content_type), 415, "UnsupportedMediaType")


@both
def test_an_empty_batch_has_an_empty_response(api, send):
    if send is send_json:
        assert send(api) == []
    else:
        answer = raw(api, "--b--\n")
        assert raw(api, f"{CHANGE_SET[:-4]}--c--\n--b--").status_code == 200
        assert answer.content.count(b"--batchresponse_") == 1


def test_a_multipart_batch_is_read_as_clients_write_it(api):
    """OpenUI5: no blanks. o.js: blank lines. odata.net: no version. light-odata: bare LF, no Content-ID."""
    body, boundary = json.dumps(a_client_body()), "c'()+_,-./:=? x"
    ui5 = "Content-Type:application/http\nContent-Transfer-Encoding:binary\nContent-ID:0.0\n\n"
    text = (
        f"preamble\n--b\n{ui5.replace('0.0', '1.0')}GET client?$count=true&$top=1 HTTP/1.1\n"
        "Accept:application/json;odata.metadata=minimal;IEEE754Compatible=false\nX-CSRF-Token:Fetch\n\n\n"
        f'--b  \nContent-Type: multipart/mixed;boundary="{boundary}"\n\n--{boundary}\n{ui5}'
        f"POST http://testserver/api/client/ HTTP/1.1\nHost: http://testserver/api/\n"
        f"Content-Type:application/json;charset=UTF-8;IEEE754Compatible=true\nContent-Length: 1\n\n{body}\n\n"
        f"--{boundary}--\n\n--b\n{HTTP}\nGET /api/client/$count\nHost: testserver\n--b--\nend"
    )
    for written in (text.encode(), text.replace("\n", "\r\n").encode()):
        Client.objects.all().delete()
        answers = read_multipart(raw(api, written))
        assert [(a.status, a.id) for a in answers] == [(200, "1.0"), (201, "0.0"), (200, "")]
        assert answers[2].body == b"1"


def test_a_response_has_line_ends_as_clients_need_them(api):
    answer = raw(api, as_multipart([get("client/$count"), post("client", a_client_body(), group="c")]))
    assert answer.content.endswith(b"--\r\n")
    assert b"\r\nContent-Type: multipart/mixed; boundary=changesetresponse_" in answer.content
    assert answer.content.count(b"\n") == answer.content.count(b"\r\n")
    assert "boundary=batchresponse_" in answer["Content-Type"]


def test_a_json_batch_is_answered_in_multipart_where_accept_names_only_that(api):
    json_body = json.dumps({"requests": [as_object(1, get("client", id="1"))]}).encode()
    multipart_body = as_multipart([get("client", id="1")])
    multipart = "multipart/mixed; boundary=b"
    for body, content_type, accept, read in (
        (json_body, JSON, "", read_json),
        (json_body, JSON, "application/json, text/plain, */*", read_json),
        (json_body, JSON, "multipart/mixed", read_multipart),
        (multipart_body, multipart, "", read_multipart),
        (multipart_body, multipart, "multipart/mixed", read_multipart),
        (multipart_body, multipart, "application/json, text/plain, */*", read_multipart),
        (multipart_body, multipart, "application/json", read_multipart),  # as @odata/client sends it
    ):
        (answer,) = read(raw(api, body, content_type, Accept=accept))
        assert (answer.status, answer.id) == (200, "1")


@both
def test_a_stream_and_another_batch_are_not_served_in_a_batch(api, send):
    csv, ndjson, batch = send(
        api,
        get("client", headers={"Accept": "text/csv"}),
        get("client?$format=ndjson"),
        post("$batch", {"requests": []}),
        Prefer="continue-on-error",
    )
    assert [(a.status, a.code) for a in (csv, ndjson)] == [(406, "NotAcceptable")] * 2
    assert (batch.status, batch.code) == (400, "InvalidBody")


@both
def test_a_query_in_a_body_and_a_text_are_served(api, send):
    a_client(BusinessName="Ä")
    if send is send_multipart:
        part = f"--b\n{HTTP}\nPOST client/$query HTTP/1.1\nContent-Type: text/plain\n\n$top=1\n--b--"
        (answer,) = read_multipart(raw(api, part))
    else:
        (answer,) = send(api, post("client/$query", "$top=1", headers={"Content-Type": "text/plain"}))
    assert [row["BusinessName"] for row in answer.json["value"]] == ["Ä"]


@both
def test_each_request_needs_the_right_to_it(db, send):
    caller = Caller(an_application("client.read"))
    answers = send(
        caller,
        get("client"),
        get("staff"),
        post("client", a_client_body()),
        get("client", headers={"Authorization": caller.authorization}),
        get("client", headers={"Authorization": an_application(name="Other")}),
        get("client", headers={"Host": "evil.example", "X-Forwarded-Host": "evil.example", "Cookie": "a=b"}),
        Prefer="continue-on-error",
    )
    assert [answer.status for answer in answers] == [200, 403, 403, 200, 400, 200]


def test_a_batch_needs_credentials(nobody):
    answer = nobody.post("$batch", {"requests": []})
    refused(answer, 401, "Unauthenticated")
    assert "Bearer" in answer["WWW-Authenticate"]


@both
def test_a_token_that_ends_during_a_batch_serves_nothing_more(api, send, monkeypatch):
    def revoke(processor):
        if processor.requests == 2:
            AccessToken.objects.all().delete()

    monkeypatch.setattr(BatchProcessor, "check_limits", revoke)
    monkeypatch.setattr(processing, "CALLER_SECONDS", 0)
    requests = get("client/$count"), post("client", a_client_body()), get("client")
    answers = send(api, *requests, Prefer="continue-on-error")
    assert [answer.status for answer in answers] == [200, 401, 401]
    assert Client.objects.count() == 0


def test_a_batch_counts_as_its_requests(api, settings):
    ApiApplication.objects.update(requests_per_minute=10)
    requests = [as_object(n, get("client/$count")) for n in range(4)]
    assert api.post("$batch", {"requests": requests}).status_code == 200
    assert api.get("client").status_code == 200
    assert api.post("$batch", {"requests": requests}).status_code == 200
    refused(api.post("$batch", {"requests": [*requests, as_object(9, post("client", a_client_body()))]}), 429)
    assert Client.objects.count() == 0


def test_a_batch_has_limits(api, settings, monkeypatch):
    settings.API_MAX_BATCH_REQUESTS = 3
    requests = [get("client") for _ in range(4)]
    refused(
        api.post("$batch", {"requests": [as_object(n, r) for n, r in enumerate(requests)]}), 413, "TooLarge"
    )
    refused(raw(api, as_multipart(requests)), 413, "TooLarge")
    change_set = [post("client", a_client_body(), group="c") for _ in range(4)]
    refused(raw(api, as_multipart(change_set)), 413, "TooLarge")
    monkeypatch.setattr("apps.odata.http.batch.processing.MAX_RESPONSE_BYTES", 10)
    assert [a.status for a in send_json(api, *requests[:3])] == [200, 413, 413]
    monkeypatch.setattr("apps.odata.http.batch.processing.MAX_SECONDS", 0)
    assert [(a.status, a.code) for a in send_json(api, requests[0])] == [(400, "TooCostly")]
    settings.API_MAX_BODY_BYTES = 100
    refused(raw(api, as_multipart(requests[:1])), 413, "TooLarge")


@both
def test_a_repeated_batch_stores_nothing_twice(api, send):
    requests = [
        post("contact", a_contact_body(), id="1", group="c"),
        post("client", a_client_body(KeyContact={"ContactGuid": "$1"}), id="2", group="c"),
        post("client", INVALID, id="3"),
    ]
    first = send(api, *requests, Idempotency_Key="k")
    second = send(api, *requests, Idempotency_Key="k")
    assert [a.status for a in first] == [a.status for a in second] == [201, 201, 400]
    assert first[1].json == second[1].json
    assert (Client.objects.count(), Contact.objects.count()) == (1, 1)


@both
def test_behind_a_proxy_a_batch_has_its_host_and_its_prefix(api, send, settings):
    settings.TRUST_PROXY = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "records.example"]
    proxy = {
        "X-Forwarded-Host": "records.example",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Prefix": "/ndis",
    }
    root = "https://records.example/ndis/api/"
    urls = "client", "/ndis/api/client", f"{root}client", "/api/client"
    answers = send(api, *map(get, urls), Prefer="continue-on-error", **proxy)
    assert [answer.status for answer in answers] == [200, 200, 200, 404]
    assert answers[0].json["@odata.context"].startswith(root)
