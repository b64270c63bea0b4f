"""The exception handler: every exception becomes an OData error response (decisions.md 5)."""

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
from apps.odata.http.headers import add_protocol_headers
from apps.odata.http.renderers import ODataJSONRenderer

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


def handle_exception(exception: Exception, context: dict[str, Any]) -> HttpResponse:
    """DRF's exception handler."""
    set_rollback()
    return error_response(exception, context["request"])


def error_response(exception: Exception, request: HttpRequest) -> HttpResponse:
    """The response to an exception. Unexpected ones are logged; their response has only the request's id."""
    if isinstance(exception, errors.ODataError):
        return json_response(exception.status, exception.as_json(), exception.headers)
    if isinstance(exception, exceptions.APIException):
        return api_exception_response(exception)
    if isinstance(exception, Http404):
        return json_response(404, errors.error_body("NotFound", "There is nothing at this address."))
    if isinstance(exception, PermissionDenied):
        return json_response(403, errors.error_body("Forbidden", "This caller may not do that."))
    if isinstance(exception, RequestDataTooBig):
        return json_response(413, errors.error_body("TooLarge", "The request is too large."))
    if isinstance(exception, SuspiciousOperation):
        return json_response(400, errors.error_body("BadRequest", "The request cannot be understood."))
    request_id = getattr(request, "request_id", "unknown")
    if is_unavailable(exception):
        logger.error("request %s: the database cannot be used: %s", request_id, exception)
        body = errors.error_body("Unavailable", f"The database cannot be reached now. Request {request_id}.")
        return json_response(503, body, {"Retry-After": "5"})
    logger.error("request %s failed", request_id, exc_info=exception)
    return json_response(
        500, errors.error_body("InternalError", f"Something went wrong here. Request {request_id}.")
    )


def is_unavailable(exception: Exception) -> bool:
    """Whether the database fails, not the statement; SQLite has one class of errors for both."""
    if not isinstance(exception, OperationalError | InterfaceError):
        return False
    cause = exception.__cause__
    is_invalid = getattr(cause, "sqlite_errorname", "") == "SQLITE_ERROR"
    is_too_complex = (getattr(cause, "sqlstate", None) or "").startswith("54")
    return not (is_invalid or is_too_complex)


def api_exception_response(exception: exceptions.APIException) -> HttpResponse:
    """The response to an exception of DRF, with its headers."""
    headers: dict[str, str] = {}
    challenge, wait = getattr(exception, "auth_header", None), getattr(exception, "wait", None)
    if challenge:
        headers["WWW-Authenticate"] = challenge
    if wait:
        headers["Retry-After"] = str(int(wait) + 1)
    status = exception.status_code
    detail = exception.detail
    message = str(detail) if isinstance(detail, str) else "The request cannot be understood."
    return json_response(status, errors.error_body(_DRF_CODES.get(status, "BadRequest"), message), headers)


def json_response(status: int, body: dict[str, Any], headers: Any = None) -> HttpResponse:
    """An error object as a response."""
    media_type = ODataJSONRenderer.media_type
    response = HttpResponse(json.dumps(body, ensure_ascii=False), status=status, content_type=media_type)
    for name, value in (headers or {}).items():
        response[name] = value
    # Private API of Django: without it Django would log a 501 as an error; failures have their log entry.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return add_protocol_headers(response)
