"""The exception handler: every exception becomes an OData error response."""

import json
import logging
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions
from rest_framework.permissions import SAFE_METHODS
from rest_framework.views import set_rollback

from apps.base import errors
from apps.base.errors import ServiceError
from apps.odata.errors import BadQuery, MethodNotAllowed, NotAcceptable, TooCostly, UnsupportedMediaType
from apps.odata.http.formats import ODataJSONRenderer
from apps.odata.http.headers import add_protocol_headers

logger = logging.getLogger("records.api")

#: PostgreSQL's code for a statement over its statement_timeout.
QUERY_CANCELED = "57014"
#: PostgreSQL's code for a number with more digits than it has room for.
NUMBER_OUT_OF_RANGE = "22003"
#: The errors that DRF raises with exceptions of its own.
_ERRORS_BY_STATUS: dict[int, type[ServiceError]] = {
    error.status: error
    for error in (
        *(errors.Unauthenticated, errors.Forbidden, errors.NotFound, MethodNotAllowed),
        *(NotAcceptable, UnsupportedMediaType, errors.TooManyRequests),
    )
}


def handle_exception(exception: Exception, context: dict[str, Any]) -> HttpResponse:
    """DRF's exception handler."""
    set_rollback()
    return error_response(exception, context["request"])


def error_response(exception: Exception, request: HttpRequest) -> HttpResponse:
    """The response to an exception."""
    error = exception if isinstance(exception, ServiceError) else odata_error(exception, request)
    text = json.dumps(error.as_json(), ensure_ascii=False)
    response = HttpResponse(text, status=error.status, content_type=ODataJSONRenderer.media_type)
    for name, value in error.headers.items():
        response[name] = value
    # Private API of Django: without it Django would log a 501 as an error; failures have their log entry.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return add_protocol_headers(response)


def odata_error(exception: Exception, request: HttpRequest) -> ServiceError:
    """An exception of Django or DRF as one of ours. Others are logged, and only the request's id is shown."""
    if isinstance(exception, exceptions.APIException):
        return api_exception_error(exception)
    if isinstance(exception, Http404):
        return errors.NotFound("There is nothing at this address.")
    if isinstance(exception, PermissionDenied):
        return errors.Forbidden("This caller may not do that.")
    if isinstance(exception, RequestDataTooBig):
        return errors.TooLarge("The request is too large.")
    if isinstance(exception, SuspiciousOperation):
        return ServiceError("The request cannot be understood.")
    request_id = getattr(request, "request_id", "unknown")
    if sqlstate(exception) == NUMBER_OUT_OF_RANGE and is_read(request):
        message = "A computed number has more digits than the database can hold."
        return BadQuery(message, code="OutOfRange")
    if is_over_time(exception) and is_read(request):
        logger.warning("request %s: its query took too long", request_id)
        return TooCostly(
            "The query takes longer than a request may. Narrow $filter or $search, order by fewer members,"
            f" expand less, or ask for smaller pages. Request {request_id}."
        )
    if is_unavailable(exception):
        reason = str(exception).partition("\n")[0]  # what follows may quote a row
        logger.error("request %s: the database cannot be used: %s", request_id, reason)
        message = f"The database cannot be reached now. Request {request_id}."
        return errors.Unavailable(message, headers=errors.RETRY_AFTER)
    logger.error("request %s failed", request_id, exc_info=exception)
    return errors.InternalError(f"Something went wrong here. Request {request_id}.")


def is_read(request: HttpRequest) -> bool:
    """True when a request changes nothing; queries are sent by POST as well."""
    return request.method in SAFE_METHODS or request.path_info.rstrip("/").lower().endswith("/$query")


def sqlstate(exception: Exception) -> str | None:
    """PostgreSQL's code of what went wrong."""
    return getattr(exception.__cause__, "sqlstate", None)


def is_over_time(exception: Exception) -> bool:
    """True when a statement was ended because it took too long."""
    return isinstance(exception, OperationalError) and (
        sqlstate(exception) == QUERY_CANCELED
        or getattr(exception.__cause__, "sqlite_errorname", None) == "SQLITE_INTERRUPT"
    )


def is_unavailable(exception: Exception | None) -> bool:
    """True when the database fails, not the statement; SQLite has one class of errors for both."""
    if not isinstance(exception, OperationalError | InterfaceError):
        return False
    is_invalid = getattr(exception.__cause__, "sqlite_errorname", "") == "SQLITE_ERROR"
    is_too_complex = (sqlstate(exception) or "").startswith("54")
    return not (is_invalid or is_too_complex)


def api_exception_error(exception: exceptions.APIException) -> ServiceError:
    """An exception of DRF, with its headers."""
    headers: dict[str, str] = {}
    challenge, wait = getattr(exception, "auth_header", None), getattr(exception, "wait", None)
    if challenge:
        headers["WWW-Authenticate"] = challenge
    if wait:
        headers["Retry-After"] = str(wait)  # which DRF has rounded up
    detail = exception.detail
    message = str(detail) if isinstance(detail, str) else "The request cannot be understood."
    return _ERRORS_BY_STATUS.get(exception.status_code, ServiceError)(message, headers=headers)
