"""Pages that belong to no record: the start page, health, and what Django shows when something fails."""

from __future__ import annotations

from functools import cache

from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    """Where the service's doors are."""
    return render(request, "start.html", {"origin": request.build_absolute_uri("/").rstrip("/")})


@never_cache
@require_safe
def livez(request: HttpRequest) -> HttpResponse:
    """The process answers. Asks nothing of the database, so that its failure restarts nobody."""
    return JsonResponse({"status": "alive"})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when the database answers and holds every migration; 503 and the reason otherwise."""
    try:
        missing = _missing_migrations()
    except DatabaseError:
        connection.close()  # the next probe must not find the broken one
        return _not_ready("The database does not answer.")
    if missing:
        return _not_ready(f"The database lacks {missing} migrations.")
    return JsonResponse({"status": "ready"})


def _missing_migrations() -> int:
    """How many migrations of this code the database has not seen: one query, however often it is asked."""
    applied = MigrationRecorder(connection).applied_migrations()
    return len(_known_migrations() - applied.keys())


@cache
def _known_migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations)


def _not_ready(reason: str) -> HttpResponse:
    return JsonResponse({"status": "not ready", "reason": reason}, status=503)


def server_error(request: HttpRequest) -> HttpResponse:
    """The page of an error nobody foresaw: the request's id, and nothing of the inside."""
    context = {"request_id": getattr(request, "request_id", None)}
    return HttpResponse(render_to_string("500.html", context), status=500)
