"""What every request starts with: an id, the subscriber's zone, a fresh clock, and nobody as author."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse

from apps.core import history
from apps.core.models import Subscriber
from apps.odata import clock
from apps.odata.http.exceptions import error_response

Answer = Callable[[HttpRequest], HttpResponse]

#: A caller's own request id is kept when it is plain, so that both logs can be laid side by side.
_PLAIN_ID = re.compile(r"[A-Za-z0-9._-]{1,36}")

#: Answered even when there is no database to read the settings from.
HEALTH = frozenset({"/livez", "/readyz"})


class PagePolicies:
    """What browsers may do with our answers, where it differs from the site's own policy.

    The back office's interface library evaluates expressions in its markup, so its pages may; and they
    show personal data, so nothing keeps them.
    """

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response["Permissions-Policy"] = settings.PERMISSIONS_POLICY
        if request.path_info.startswith("/admin/"):
            response["Cache-Control"] = "no-store, private"
            response._csp_replace = {"script-src": settings.BACK_OFFICE_SCRIPT_SOURCES}  # type: ignore[attr-defined]
        return response


class RequestContext:
    """Set the scene for one request, and tell its id in ``X-Request-ID``."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        request_id = given if _PLAIN_ID.fullmatch(given) else str(uuid.uuid4())
        request.request_id = request_id  # type: ignore[attr-defined]
        with history.as_author(history.Author(channel="API", request_id=request_id)):
            response = self.answer(request)
        response["X-Request-ID"] = request_id
        return response

    def answer(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.rstrip("/") in HEALTH:
            return self.get_response(request)
        try:
            clock.activate_zone(Subscriber.current().zone)
        except (OperationalError, InterfaceError) as error:
            if not request.path_info.lower().startswith("/api/"):
                raise
            return error_response(error, request)
        return self.get_response(request)


class BackOfficeAuthor:
    """Whoever is signed in to the back office is the author of what it writes."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith("/admin/"):
            return self.get_response(request)
        who = history.Author(
            channel="Back office",
            staff_id=request.user.pk if request.user.is_authenticated else None,
            request_id=request.request_id,  # type: ignore[attr-defined]
        )
        with history.as_author(who):
            return self.get_response(request)
