"""Turns whatever went wrong into the one OData error answer (decisions.md 5)."""

from __future__ import annotations

import json
import logging
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions
from rest_framework.views import set_rollback

from apps.odata import errors
from apps.odata.http import protocol

logger = logging.getLogger("records.api")

_DRF_CODES = {
    400: "BadRequest",
    401: "Unauthenticated",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    413: "TooLarge",
    415: "UnsupportedMediaType",
    429: "TooManyRequests",
}


def refusal(exception: Exception, context: dict[str, Any]) -> HttpResponse:
    """DRF's exception handler: every exception of a view becomes an answer."""
    set_rollback()
    return refuse(exception, context["request"])


def refuse(exception: Exception, request: HttpRequest) -> HttpResponse:
    """The answer to an exception. Unexpected ones are logged and tell nothing but the request's id."""
    if isinstance(exception, errors.ODataError):
        return answer(exception.status, exception.as_json(), exception.headers)
    if isinstance(exception, exceptions.APIException):
        return drf_refusal(exception)
    if isinstance(exception, Http404):
        return answer(404, errors.error_body("NotFound", "There is nothing at this address."))
    if isinstance(exception, PermissionDenied):
        return answer(403, errors.error_body("Forbidden", "This caller may not do that."))
    if isinstance(exception, RequestDataTooBig):
        return answer(413, errors.error_body("TooLarge", "The request is too large."))
    if isinstance(exception, SuspiciousOperation):
        return answer(400, errors.error_body("BadRequest", "The request cannot be understood."))
    request_id = getattr(request, "request_id", "unknown")
    if is_unavailable(exception):
        logger.error("request %s: the database cannot be used: %s", request_id, exception)
        body = errors.error_body("Unavailable", f"The database cannot be reached now. Request {request_id}.")
        return answer(503, body, {"Retry-After": "5"})
    logger.error("request %s failed", request_id, exc_info=exception)
    return answer(
        500, errors.error_body("InternalError", f"Something went wrong here. Request {request_id}.")
    )


def is_unavailable(exception: Exception) -> bool:
    """Whether the database is to blame, not what it was asked: SQLite has one kind of error for both."""
    if not isinstance(exception, OperationalError | InterfaceError):
        return False
    cause = exception.__cause__
    asked_wrongly = getattr(cause, "sqlite_errorname", "") == "SQLITE_ERROR"
    asked_too_much = (getattr(cause, "sqlstate", None) or "").startswith("54")
    return not (asked_wrongly or asked_too_much)


def drf_refusal(exception: exceptions.APIException) -> HttpResponse:
    """DRF's own refusals in the OData shape, their headers kept."""
    headers: dict[str, str] = {}
    challenge, wait = getattr(exception, "auth_header", None), getattr(exception, "wait", None)
    if challenge:
        headers["WWW-Authenticate"] = challenge
    if wait:
        headers["Retry-After"] = str(int(wait) + 1)
    status = exception.status_code
    detail = exception.detail
    message = str(detail) if isinstance(detail, str) else "The request cannot be understood."
    return answer(status, errors.error_body(_DRF_CODES.get(status, "BadRequest"), message), headers)


def answer(status: int, body: dict[str, Any], headers: Any = None) -> HttpResponse:
    """An error body as an answer."""
    response = HttpResponse(json.dumps(body, ensure_ascii=False), status=status, content_type=protocol.JSON)
    for name, value in (headers or {}).items():
        response[name] = value
    # What is worth a line in the log has one by now; Django would write "Not Implemented" as an error.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return protocol.finish(response)
