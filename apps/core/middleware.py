"""Middleware of every request: browser policies, compressed pages, the request's id, the zone, the author."""

import re
import uuid
from collections.abc import Callable
from typing import Any

from csp.constants import HEADER
from csp.middleware import CSPMiddleware
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from apps.base import clock
from apps.core import history
from apps.core.models import Subscriber
from apps.core.read_log import log_page

GetResponse = Callable[[HttpRequest], HttpResponse]

#: A caller's own request id is used when it is plain, so that the logs of both sides can be compared.
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,36}")

#: Answered even when there is no database to read the settings from.
HEALTH_PATHS = frozenset({"/livez", "/readyz", "/metrics"})
STATIC_PATH = "/static/"


class BrowserPolicyMiddleware(CSPMiddleware):
    """Headers that restrict browsers, on every response, whoever makes it.

    The interface library of the back office evaluates expressions in its markup, so its pages may; and they
    show personal data, so nothing caches them, but for what sets its own time.
    """

    def __init__(self, get_response: GetResponse) -> None:
        super().__init__(get_response)
        self.headers = settings.BROWSER_HEADERS
        self.headers_of_tls = settings.BROWSER_HEADERS | settings.TLS_HEADERS

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # Without django-csp's own way of a request: no page has a script that would need its nonce.
        response: Any = self.get_response(request)
        for name, value in (self.headers_of_tls if request.is_secure() else self.headers).items():
            response.headers.setdefault(name, value)
        if request.path_info.startswith("/admin/"):
            response.setdefault("Cache-Control", "no-store, private")
            # The attribute by which django-csp's own decorators change a policy.
            response._csp_replace = {"script-src": settings.BACK_OFFICE_SCRIPT_SOURCES}
        # Data has a policy of its own already; django-csp would make another for each response.
        if HEADER not in response:
            response = self.process_response(request, response)
        return response


class PageCompressionMiddleware(GZipMiddleware):
    """Gzip for pages, with the padding of random length that Django adds against BREACH.

    Data has a middleware of its own, and files are sent as they are.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_page = response.get("Content-Type", "").startswith("text/html")
        return super().process_response(request, response) if is_page else response


class RequestContextMiddleware:
    """The request id (``X-Request-ID``), and an author for the history."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else str(uuid.uuid4())
        request.request_id = request_id  # type: ignore[attr-defined]
        with history.as_author(history.Author(channel="API", request_id=request_id)):
            response = self.get_response(request)
        response["X-Request-ID"] = request_id
        return response


class SettingsMiddleware:
    """The organisation's time zone, and the time limit of statements.

    A middleware of its own: without a database Django makes the response here, and it gets the request's id.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        path = request.path_info
        if path.rstrip("/") in HEALTH_PATHS or path.startswith(STATIC_PATH):
            return self.get_response(request)
        zone = Subscriber.current().time_zone
        with clock.time_limit(settings.DATABASE_STATEMENT_SECONDS):
            clock.activate_zone(zone)
            return self.get_response(request)


class BackOfficeAuthorMiddleware:
    """Makes whoever is signed in to the back office the author of changes and the reader of pages."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith("/admin/"):
            return self.get_response(request)
        author = history.Author(
            channel="Back office",
            staff_id=request.user.pk if request.user.is_authenticated else None,
            request_id=request.request_id,  # type: ignore[attr-defined]
        )
        with history.as_author(author):
            response = self.get_response(request)
            log_page(request, response)
            return response
