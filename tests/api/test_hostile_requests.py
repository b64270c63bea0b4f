"""Every address of the site: what a client can write around a request is refused or ignored, never a 500."""

import json
from io import BytesIO

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import RequestFactory

from apps.base.declaration.service import get_service
from records_site.wsgi import application
from tests.api.batches import post, send_json
from tests.api.test_every_route import addresses, signed_in
from tests.people.records import an_administrator

NOTHING = "00000000-0000-7000-8000-000000000000"
MANY = "&".join(["a=1"] * 3000)
#: Python's codecs that make no text of bytes, and texts of which a form or a query is not read.
CODECS = ("base64", "hex", "rot13", "zlib", "bz2", "uu", "quopri", "utf-16", "utf-7", "undefined")
#: Read or refused before the database is asked: (query string, other variables of WSGI)
READ_BEFORE = [
    ("", {"CONTENT_TYPE": "a/b; x*=klingon''%41"}),
    ("x=%C3%A9", {"CONTENT_TYPE": "a/b; charset=idna"}),
    ("", {"CONTENT_TYPE": "a/b; x*=base64''%41; charset*=hex''%41"}),
    (MANY, {"CONTENT_TYPE": "a/b; charset=utf-8"}),
    ("", {"CONTENT_TYPE": "multipart/form-data; boundary=\xff; charset=nothing"}),
    ("", {"CONTENT_TYPE": "multipart/form-data; boundary=" + "x" * 5000}),
    ("", {"CONTENT_TYPE": "a/b;" + ";" * 20000}),
    *(("", {"HTTP_HOST": host}) for host in ("evil.example", "", "a b", "[::1", "x:99999", "\xff")),
    *(("", {"HTTP_ACCEPT_LANGUAGE": text}) for text in ("\xff", "x" * 5000, "en;q=nan,*;q=-1")),
    *(("", {"HTTP_ACCEPT": text}) for text in ("\xff", ";", "a/b;q=x", "a/b;x*=hex''%41", "*/*;x*=k''%ff;q")),
    ("", {"HTTP_X_FORWARDED_PREFIX": "/\xff", "HTTP_X_FORWARDED_PROTO": "ftp"}),
    ("", {"HTTP_IF_NONE_MATCH": "\xff", "HTTP_IF_MODIFIED_SINCE": "Thu, 99 Jan 99999 99:99:99 GMT"}),
    ("", {"HTTP_IF_MODIFIED_SINCE": "Thu, 01 Jan 0000 00:00:00 GMT", "HTTP_RANGE": "bytes=-,x-\xff"}),
    ("", {"HTTP_X_CSRFTOKEN": "\xff", "HTTP_ACCEPT_ENCODING": "\xff;q=", "HTTP_EXPECT": "\xff"}),
]  # fmt: skip
#: What may come into a statement: PostgreSQL refuses other texts than SQLite.
ASKED_WITH = [
    *((query, {}) for query in ("%00", "\xff=\xfe", "q=%ff&%zz=%", MANY, "next=%ff%00//[", "$filter=%00")),
    ("", {"HTTP_COOKIE": "sessionid=%00; csrftoken=\xff; device=\xfe; __Host-device=x; a=b=c;;=;"}),
    ("", {"HTTP_COOKIE": 'sessionid=x; messages=[["__json_message",0]]:x'}),
    ("", {"HTTP_COOKIE": "sessionid=" + "x" * 5000}),
    ("", {"HTTP_X_FORWARDED_FOR": "\xff,", "HTTP_FORWARDED": 'for="\xff;host=['}),
    ("", {"HTTP_X_FORWARDED_FOR": "::1%x, 999.1.1.1", "HTTP_X_FORWARDED_HOST": "evil.example"}),
    ("", {"HTTP_REFERER": "\xff://[", "HTTP_ORIGIN": "http://[", "HTTP_USER_AGENT": "\xff" * 3000}),
    ("", {"HTTP_AUTHORIZATION": "Basic \xff"}),
    ("", {"HTTP_AUTHORIZATION": "Basic " + "AAD/" * 9}),
    ("", {"HTTP_PREFER": "\xff;=", "HTTP_X_REQUEST_ID": "\xff", "HTTP_TRACEPARENT": "\xff"}),
]  # fmt: skip


#: A page and a refusal of each kind.
ONE_OF_EACH = (
    "/", "/livez", "/metrics", "/docs/", "/docs/openapi.json", "/static/favicon.svg", "/nothing", "/\xff",
    "/\x00", "/connect/token", "/api/", "/api/$metadata", "/api/claim", f"/api/claim({NOTHING})", "/api/\xff",
    "/api/$batch", "/api/document", "/admin/", "/admin/login/", "/admin/account/password/", "/admin",
    "/admin/people/client/",
    "/admin/account/factors/webauthn/login/", "/admin/account/provider/error/", "/admin/jsi18n/",
)  # fmt: skip
#: Those of them that read a body, the start page, and one that does not exist.
POSTED = (
    "/", "/nothing", "/connect/token", "/api/claim", "/api/$batch", "/api/document", "/admin/login/",
    "/admin/account/password/", "/admin/account/factors/webauthn/login/",
)  # fmt: skip
#: What pages of the back office read of their queries.
OPTIONS_OF_PAGES = (
    *(
        "q",
        "o",
        "p",
        "e",
        "all",
        "page",
        "next",
        "date",
        "month",
        "format",
        "term",
        "app_label",
        "model_name",
    ),
    *(
        "field_name",
        "_popup",
        "_to_field",
        "_name",
        "_changelist_filters",
        "id__exact",
        "days",
        "period",
        "file",
        "tab",
    ),
)


@pytest.fixture(autouse=True)
def one_connection():
    """As with Django's client: the connection of the test outlasts its requests."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def all_addresses():
    sets = [entity_set.name for entity_set in get_service().entity_sets]
    records = [f"/api/{name}{key}" for name in sets for key in ("", f"({NOTHING})")]
    odd = ["/\xff", "/\x00", "/api/\xff", "/api/claim(\x00)", "/admin/\x00/", "/static/\x00", "/static/../x"]
    return [*addresses(), *records, *odd, "/livez", "/nothing", "/api/", "/api/$metadata", "/api/$batch"]


def ask(method, address, query="", **variables):
    """The status of an answer of the site, its type and its text; what fails outside of Django is raised."""
    environ = RequestFactory()._base_environ(REQUEST_METHOD=method, PATH_INFO=address, QUERY_STRING=query)
    answered = []
    response = application(
        {**environ, "wsgi.input": BytesIO(), **variables}, lambda *given: answered.append(given)
    )
    content = b"".join(response)
    response.close()
    ((status, headers),) = answered
    return int(status.split()[0]), dict(headers).get("Content-Type"), content


def failures(asked, **variables):
    return [
        (method, address, query[:60], str(given)[:60])
        for method, address, query, given in asked
        if ask(method, address, query, **{**variables, **given})[0] in (500, 502, 503)
    ]


@pytest.mark.parametrize(("method", "places"), [("GET", ONE_OF_EACH), ("POST", POSTED)], ids=["GET", "POST"])
@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param(READ_BEFORE, marks=pytest.mark.any_engine("refused before the database is asked")),
        ASKED_WITH,
    ],
    ids=["read before", "asked with"],
)
def test_nothing_around_a_request_fails(records, settings, method, places, hostile):
    settings.TRUST_PROXY = True
    assert failures([(method, address, *each) for address in places for each in hostile]) == []


def test_no_address_fails_by_what_is_refused_before_its_view(records):
    before = [
        ("x=1", {"CONTENT_TYPE": "a/b; charset=hex"}),
        ("", {"HTTP_HOST": "evil.example"}),
        ("q=%00%ff", {}),
    ]
    assert failures([("GET", address, *each) for address in all_addresses() for each in before]) == []


def test_no_page_of_the_back_office_fails_by_its_query(records):
    session = f"sessionid={signed_in(an_administrator()).cookies['sessionid'].value}"
    query = "&".join(f"{name}=%ff" for name in OPTIONS_OF_PAGES)
    asked = [("GET", address, query, {}) for address in addresses() if "logout" not in address]
    assert failures(asked, HTTP_COOKIE=session) == []


def test_a_record_is_found_where_the_name_of_a_field_is_empty(records):
    session = f"sessionid={signed_in(an_administrator()).cookies['sessionid'].value}"
    pages = [each for each in addresses() if each.endswith(("/change/", "/delete/"))]
    assert len(pages) > 50
    assert failures([("GET", page, "_to_field=", {}) for page in pages], HTTP_COOKIE=session) == []


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("/admin/core/fileimport/", "kind_of_file"),
        ("/admin/core/change/", "record_kind"),
        ("/admin/funding/claim/", "warning"),
        ("/admin/access/webhookmessage/", "state__exact"),
        ("/admin/funding/claim/export/", "q"),
    ],
)
def test_a_nul_in_an_address_is_400(records, address, name):
    session = f"sessionid={signed_in(an_administrator()).cookies['sessionid'].value}"
    assert ask("GET", address, f"{name}=a%00", HTTP_COOKIE=session)[0] == 400


@pytest.mark.parametrize("codec", CODECS)
def test_a_codec_that_is_no_charset_of_texts_is_415_in_the_shape_of_its_address(records, codec):
    for address in ("/", "/api/claim", "/connect/token", "/admin/login/", "/nothing"):
        status, media, content = ask("GET", address, "x=%C3%A9", CONTENT_TYPE=f"a/b; charset={codec}")
        assert (address, status) == (address, 415)
        if address == "/api/claim":
            assert json.loads(content)["error"]["code"] == "UnsupportedMediaType"
        elif address == "/connect/token":
            assert json.loads(content)["error"] == "invalid_request"
        else:
            assert media == "text/plain; charset=utf-8"


@pytest.mark.parametrize("charset", ["utf-8", "UTF8", "latin-1", "klingon"])
def test_other_charsets_are_no_fault_of_a_request_without_a_body(records, charset):
    assert ask("GET", "/", "x=1", CONTENT_TYPE=f"text/plain; charset={charset}")[0] == 200


def test_more_parameters_than_are_read_are_400_with_a_charset_too(records, settings):
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 2_000
    assert ask("GET", "/docs/", MANY, CONTENT_TYPE="a/b; charset=utf-8")[0] == 400


def test_another_host_is_400(records):
    for address in ("/", "/admin/login/", "/admin/account/password/", "/admin/account/sessions/"):
        assert ask("GET", address, HTTP_HOST="evil.example")[0] == 400


def test_a_request_of_a_batch_is_refused_alone(api):
    coded = post("nothing", {}, headers={"Content-Type": "application/json; charset=base64"})
    (answer,) = send_json(api, coded)
    assert answer.status == 415
