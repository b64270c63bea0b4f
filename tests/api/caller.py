"""A program that calls the interface, and holds every answer against what all answers promise."""

import datetime as dt
import json
import time
from urllib.parse import quote, urlencode, urlsplit

from django.test import Client

from apps.access.callers import EVERYTHING, hash_secret, join_scopes, new_secret
from apps.access.models import AccessToken, ApiApplication
from apps.base import clock

#: Seconds after which a request counts as hanging. No measurement: a slow machine that does other work too
#: has taken eight, and twenty in a run of many races at its side.
PATIENCE = 60.0

JSON = "application/json"
JSON_ANSWER = "application/json; odata.metadata=minimal"


class Caller:
    """Calls addresses below ``/api/``; ``authorization`` is sent with every request, None for nobody.

    ``path`` is relative to ``/api/`` unless it begins with a slash; ``query`` is a mapping, a list of pairs,
    or the raw text behind the question mark.
    """

    def __init__(self, authorization=None, host="testserver", session=None):
        self.authorization, self.host = authorization, host
        self.client = session or Client(raise_request_exception=False, enforce_csrf_checks=True)

    def get(self, path, query=None, **headers):
        return self.call("GET", path, query, **headers)

    def post(self, path, body, query=None, **headers):
        """POST a body: bytes as they are, anything else as JSON."""
        return self.call("POST", path, query, body, **headers)

    def put(self, path, body, query=None, **headers):
        return self.call("PUT", path, query, body, **headers)

    def patch(self, path, body, query=None, **headers):
        return self.call("PATCH", path, query, body, **headers)

    def delete(self, path, query=None, **headers):
        return self.call("DELETE", path, query, **headers)

    def call(self, method, path, query=None, body=None, content_type=JSON, **headers):
        """``Prefer="return=minimal"`` and the like are headers; underscores in their names are hyphens."""
        address = path if path.startswith("/") else f"/api/{path}"
        options = query if isinstance(query, str) else urlencode(query or {}, quote_via=quote)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.authorization is not None:
            sent.setdefault("Authorization", self.authorization)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        extra = {"QUERY_STRING": options.encode().decode("latin-1")} if options else {}
        if body is not None and content_type:  # the test client leaves it out before an empty body
            extra["CONTENT_TYPE"] = content_type
        began = time.monotonic()
        answer = self.client.generic(
            method, address, body or b"", content_type, headers={"Host": self.host, **sent}, **extra
        )
        answer.seconds = time.monotonic() - began
        if address.lower().startswith("/api/"):
            check_answer(answer)
        return answer

    def follow(self, link, **headers):
        """GET an absolute link that an answer gave."""
        parts = urlsplit(link)
        assert (parts.scheme, parts.netloc) == ("http", self.host), link
        return self.get(parts.path, parts.query, **headers)

    def pages(self, path, query=None, **headers):
        """The value of every page, by nextLink."""
        answer = ok(self.get(path, query, **headers))
        while True:
            yield answer["value"]
            if "@odata.nextLink" not in answer:
                return
            answer = ok(self.follow(answer["@odata.nextLink"], **headers))

    def all(self, path, query=None, **headers):
        """Every record of a collection."""
        return [record for page in self.pages(path, query, **headers) for record in page]


class LaterCaller(Caller):
    """Sends every request in version 2.1, changes of any state of the record."""

    def call(self, method, path, query=None, body=None, **headers):
        tag = {"If_Match": "*"} if method in ("PUT", "PATCH", "DELETE") else {}
        return super().call(method, path, query, body, **{"api_version": "2.1", **tag, **headers})


def check_answer(answer):
    """What every answer below /api/ promises, whatever its status."""
    request = f"{answer.status_code} {answer.request['PATH_INFO']} {answer.request['QUERY_STRING'][:200]}"
    assert answer.seconds < PATIENCE, f"{request} took {answer.seconds:.1f} s"
    assert answer["OData-Version"] == "4.0", request
    # Answers to version 2.1 name it; those to 2.0 stay as they were before there was another.
    versions = "2.0, 2.1" if answer.headers.get("api-version") == "2.1" else "2.0"
    assert answer["api-supported-versions"] == versions, request
    if not answer.request["PATH_INFO"].lower().startswith("/api/$metadata"):
        assert "no-store" in answer["Cache-Control"], request
    assert answer["X-Content-Type-Options"] == "nosniff", request
    assert answer["X-Request-ID"], request
    assert {"Accept", "Authorization"} <= {name.strip() for name in answer["Vary"].split(",")}, request
    assert not [name for name in answer.headers if name.lower().startswith("access-control-")], request
    if answer.status_code >= 400:
        check_refusal(answer, request)


def check_refusal(answer, request):
    """The one OData shape, and nothing of the inside."""
    assert answer["Content-Type"] == JSON_ANSWER, request
    body = json.loads(answer.content)
    assert body.keys() == {"error"}, request
    assert {"code", "message"} <= body["error"].keys() <= {"code", "message", "target", "details"}, request
    for fault in body["error"].get("details", ()):
        assert {"code", "message"} <= fault.keys() <= {"code", "message", "target", "severity"}, request
    text = answer.content.decode()
    for inside in ("Traceback", "django", "psycopg", "sqlite", "SELECT ", "people_", "site-packages"):
        assert inside not in text, f"{request} shows {inside}: {text[:300]}"


def ok(answer, status=200):
    """The JSON of an answer that must be a success."""
    assert answer.status_code == status, f"{answer.status_code}: {answer.content.decode()[:1000]}"
    return json.loads(answer.content)


def refused(answer, status, code=None):
    """The error of an answer that must be a refusal."""
    assert answer.status_code == status, f"{answer.status_code}: {answer.content.decode()[:1000]}"
    error = json.loads(answer.content)["error"]
    if code is not None:
        assert error["code"] == code, error
    return error


def faults(answer):
    """``[(code, place)]`` of a body that was refused."""
    error = refused(answer, 400, "ValidationFailed")
    return [(fault["code"], fault.get("target")) for fault in error["details"]]


def an_application(*scope, name="Integration"):
    """The Authorization header of a new application with these scopes, without a limit of requests.

    Stored in two statements, as nearly every test has one; tests/access registers applications.
    """
    token, scopes = new_secret(), join_scopes(scope or EVERYTHING)
    application = ApiApplication(name=name, scope=scopes, requests_per_minute=0)
    ApiApplication.objects.bulk_create([application])
    expires_at = clock.now() + dt.timedelta(hours=1)
    issued = AccessToken(
        hash=hash_secret(token), application=application, scope=scopes, expires_at=expires_at
    )
    AccessToken.objects.bulk_create([issued])
    return f"Bearer {token}"
