"""An application, a way to call as it, and a clock that tests can set."""

import base64
import datetime as dt
import time
from io import StringIO

import pytest
from django.core.management import call_command
from django.http import HttpResponse
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from apps.access.authentication import find_application_by_secret
from apps.access.idempotency import respond_once
from apps.access.services import issue_token, register_application
from apps.access.throttling import RateLimiter
from apps.base import clock
from apps.base.declaration import service
from apps.core import history
from apps.people.models import Staff

MINUTE = 29_000_000  # some minute since 1970, long ago


class ClientView(APIView):
    """In place of any resource's view: guarded as the settings say, answers with who called."""

    answers = staticmethod(lambda request: HttpResponse("stored", status=201))

    @property
    def entity_set(self):
        return service.get_service().by_path["client"]

    def get(self, request):
        author = history.author()
        response = HttpResponse(request.auth.name)
        response.author, response.caller, response.user = author, request.auth, request.user
        return response

    def post(self, request):
        return respond_once(request, lambda: self.answers(request))


@pytest.fixture(autouse=True)
def nobody_writes():
    with history.as_author(history.Author()):
        yield


@pytest.fixture(autouse=True)
def fresh_rate_limiter(monkeypatch):
    """What one test left unspent in memory is not in the database of the next; no minute ends in a test."""
    half_past = time.time() // 60 * 60 + 30
    limiter = RateLimiter(lambda: half_past)
    monkeypatch.setattr("apps.access.throttling.RATE_LIMITER", limiter)
    return limiter


@pytest.fixture
def call():
    """call("GET", "Bearer abc", …) -> the answer of a view guarded as the settings say."""

    def calling(
        method="GET", authorization=None, *, user=None, view=ClientView, path="/api/client", **request
    ):
        if authorization is not None:
            request["HTTP_AUTHORIZATION"] = authorization
        asked = APIRequestFactory().generic(method, path, **request)
        asked.request_id = "req-1"
        if user is not None:
            asked.user = user
        answer = view.as_view()(asked)
        answer.asked = asked
        return answer

    return calling


@pytest.fixture
def registered(db):
    """registered("Name", "client.read") -> (application, secret)."""

    def registering(name="Payroll", *scope):
        return register_application(name, scope or ("read", "write"))

    return registering


@pytest.fixture
def token(registered):
    """token("read") -> an Authorization header of a new application with these scopes."""

    def bearer(*scope, name="Payroll", narrowed_to=None):
        application, secret = registered(name, *scope)
        caller = find_application_by_secret(application.client_id, secret)
        return f"Bearer {issue_token(caller, narrowed_to or scope or ('read', 'write'))}"

    return bearer


@pytest.fixture
def at(monkeypatch):
    """at(hours=2) moves the clock on from now."""

    def moving(**ahead):
        later = dt.datetime.now(dt.UTC) + dt.timedelta(**ahead)
        monkeypatch.setattr("django.utils.timezone.now", lambda: later)
        clock.reset_now()

    return moving


def basic(client_id, secret):
    return "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode()


@pytest.fixture
def office(client):
    """A browser in which an administrator is signed in."""
    call_command("create_staff_login", "ann@example.org", stdout=StringIO())
    client.force_login(Staff.objects.get(), backend="apps.people.authentication.StaffBackend")
    return client
