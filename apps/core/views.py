"""Pages that belong to no record: the start page, health, and the page of an unexpected error."""

import datetime as dt

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.base.errors import RETRY_AFTER
from apps.core.database.migrations import applied_migrations, known_migrations
from apps.core.virus_scanner import scanner_answers

#: How long a copy of security.txt is good for; RFC 9116 says less than a year.
SECURITY_TXT_AGE = dt.timedelta(days=180)


@require_safe
def start_page(request: HttpRequest) -> HttpResponse:
    """Links to the back office, the documentation and the interface."""
    return render(request, "start.html", {"origin": request.build_absolute_uri("/").rstrip("/")})


@never_cache
@require_safe
def livez(request: HttpRequest) -> HttpResponse:
    """The process answers. No query: an unreachable database must not restart the process."""
    return JsonResponse({"status": "alive"})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when the database answers and has every migration; 503 and the reason otherwise.

    Without its virus scanner the service takes no files, and does all else: it is ready.
    """
    try:
        missing = len(known_migrations()) - len(applied_migrations(connection))
    except DatabaseError:
        connection.close()  # the next probe must not find the broken one
        return not_ready("The database does not answer.")
    if missing:
        return not_ready(f"The database lacks {missing} migrations.")
    state = {"status": "ready"}
    if settings.VIRUS_SCANNER:
        state["virusScanner"] = "answers" if scanner_answers() else "does not answer"
    return JsonResponse(state)


def not_ready(reason: str) -> HttpResponse:
    return JsonResponse({"status": "not ready", "reason": reason}, status=503)


@require_safe
def security_txt(request: HttpRequest) -> HttpResponse:
    """The address to report a vulnerability to (RFC 9116); 404 without the setting SECURITY_CONTACT."""
    if not settings.SECURITY_CONTACT:
        raise Http404
    expires = (timezone.now() + SECURITY_TXT_AGE).astimezone(dt.UTC)
    lines = (
        f"Contact: {settings.SECURITY_CONTACT}",
        f"Expires: {expires:%Y-%m-%dT%H:%M:%SZ}",
        "Preferred-Languages: en",
        f"Canonical: {request.build_absolute_uri(request.path)}",
    )
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")


def server_error(request: HttpRequest) -> HttpResponse:
    """The page of an unexpected error: the request's id, and no internals."""
    context = {"request_id": getattr(request, "request_id", None)}
    return HttpResponse(render_to_string("500.html", context), status=500)


def unavailable(request: HttpRequest) -> HttpResponse:
    """The page while the database cannot be used: nothing of it may need the database."""
    context = {"request_id": getattr(request, "request_id", None)}
    return HttpResponse(render_to_string("503.html", context), status=503, headers=RETRY_AFTER)
