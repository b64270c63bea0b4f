"""Middleware that counts each request, logs it where that is wanted, and names slow statements.

A line has the pattern of the address, the caller's key and figures: no address, no query, no name.
"""

import logging
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.db import connections
from django.http import HttpRequest, HttpResponse

from apps.access.throttling import client_address
from records_site import metrics
from records_site.log_lines import route_of

requests_logger = logging.getLogger("records.requests")
statements_logger = logging.getLogger("records.statements")

#: Whoever looks for guesses of secrets and passwords needs the address they came from.
STATUSES_WITH_ADDRESS = frozenset({401, 403, 429})
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
#: A slow statement's text is cut after so many characters.
MAX_STATEMENT_CHARACTERS = 2_000
#: Texts and numbers in SQL; a quote within a text is doubled.
_LITERAL = re.compile(r"'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b")


class StatementClock:
    """Counts the statements of one request and the seconds they took: Django's ``execute_wrapper``."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.count = 0
        self.seconds = 0.0

    def __call__(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        started = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            seconds = time.perf_counter() - started
            self.count += 1
            self.seconds += seconds
            if 0 < settings.DATABASE_SLOW_SECONDS < seconds:
                self.log_slow(str(sql), seconds)

    def log_slow(self, sql: str, seconds: float) -> None:
        route = route_of(self.request)
        metrics.SLOW_STATEMENTS.labels(metrics.label_of(route)).inc()
        fields = {
            "request_id": getattr(self.request, "request_id", None),
            "method": method_of(self.request),
            "route": route,
            "seconds": round(seconds, 3),
            "statement": without_values(sql),
        }
        log_fields(statements_logger, logging.WARNING, fields)


def without_values(sql: str) -> str:
    """The text of a statement on one line: batches of inserts have values in it, not placeholders."""
    return " ".join(_LITERAL.sub("?", sql).split())[:MAX_STATEMENT_CHARACTERS]


class RequestLogMiddleware:
    """The outermost middleware; not used where nothing is to be counted or logged."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not (settings.METRICS_TOKEN or settings.LOG_REQUESTS or settings.DATABASE_SLOW_SECONDS):
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        statements = StatementClock(request)
        with ExitStack() as wrapped:
            for connection in connections.all():
                wrapped.enter_context(connection.execute_wrapper(statements))
            response = self.get_response(request)
        seconds = time.perf_counter() - started
        route = route_of(request)
        method = method_of(request)
        metrics.note_request(method, route, response.status_code, seconds)
        metrics.STATEMENTS.inc(statements.count)
        metrics.STATEMENT_SECONDS.inc(statements.seconds)
        if settings.LOG_REQUESTS:
            log_request(request, response, seconds, statements)
        return response


def log_request(
    request: HttpRequest, response: HttpResponse, seconds: float, statements: StatementClock
) -> None:
    fields: dict[str, Any] = {
        "request_id": getattr(request, "request_id", None),
        "method": method_of(request),
        "route": route_of(request),
        "status": response.status_code,
        "seconds": round(seconds, 4),
        "statements": statements.count,
        "database_seconds": round(statements.seconds, 4),
        "caller": caller_of(request, response.status_code),
    }
    if trace_id := getattr(request, "trace_id", None):
        fields["trace_id"] = trace_id
    if response.status_code in STATUSES_WITH_ADDRESS:
        fields["address"] = client_address(request)
    log_fields(requests_logger, logging.INFO, fields)


def log_fields(logger: logging.Logger, level: int, fields: dict[str, Any]) -> None:
    """An event as ``name=value …``; `log_lines.JsonFormatter` writes the fields themselves."""
    text = " ".join(f"{name}={value}" for name, value in fields.items() if value is not None)
    logger.log(level, "%s", text, extra={"fields": fields})


def method_of(request: HttpRequest) -> str:
    """A client can send any word."""
    return request.method if request.method in METHODS else "other"


def caller_of(request: HttpRequest, status: int) -> str | None:
    """``application GUID`` or ``staff KEY``; None when nobody has signed in, or no view has asked who."""
    application = request.META.get("access.application")
    if application:
        return f"application {application}"
    # Only the back office has looked up its user; elsewhere, and after a failure, this would be a query.
    is_known = request.path_info.startswith("/admin/") and status < 500
    user = getattr(request, "user", None) if is_known else None
    return f"staff {user.pk}" if user is not None and user.is_authenticated else None
