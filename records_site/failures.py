"""What is answered where no view was reached: the interface's error shape below /api/, pages elsewhere."""

import sys
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.views import defaults

from apps.access.views import database_unavailable
from apps.core import views
from apps.odata.http.exceptions import RETRY_AFTER, error_response, is_unavailable


def is_for_programs(request: HttpRequest) -> bool:
    return request.path_info.lower().startswith("/api/")


def either(page: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A handler of Django's: ``page`` for people, the OData shape for programs."""

    def handler(request: HttpRequest, exception: Exception) -> HttpResponse:
        return error_response(exception, request) if is_for_programs(request) else page(request, exception)

    return handler


bad_request = either(defaults.bad_request)
permission_denied = either(defaults.permission_denied)
page_not_found = either(defaults.page_not_found)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django passes no exception here; it is still the one being handled."""
    exception = sys.exc_info()[1]
    if not isinstance(exception, Exception):
        return views.server_error(request)
    if is_for_programs(request):
        return error_response(exception, request)
    if not is_unavailable(exception):
        return views.server_error(request)
    error = error_response(exception, request)  # one line of the log, not a traceback for each request
    if request.path_info.rstrip("/") == "/connect/token":
        response: HttpResponse = database_unavailable(RETRY_AFTER).as_response()
    else:
        response = views.unavailable(request)
    # Private API of Django, as in error_response.
    response._has_been_logged = error._has_been_logged  # type: ignore[attr-defined]
    return response
