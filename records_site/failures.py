"""What is answered where no view was reached: the interface's error shape below /api/, pages elsewhere."""

import re
import sys
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed, RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.template.loader import get_template
from django.views import defaults

from apps.access.views import OAuthError, database_unavailable
from apps.base.errors import RETRY_AFTER, Forbidden, ServiceError
from apps.core import views
from apps.core.expired_forms import refused_page
from apps.odata.http.exceptions import error_response, is_unavailable

#: The addresses that programs send their secrets and tokens to.
_WITH_CREDENTIALS = re.compile(r"/(api|connect)(/|$)", re.IGNORECASE)


class HttpsMiddleware:
    """Refuses programs on plain HTTP, where the site has TLS.

    Browsers are redirected (SecurityMiddleware); a program that follows would never learn that it sends its
    secret in the clear.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.SECURE_SSL_REDIRECT:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        path = request.path_info
        if request.is_secure() or not _WITH_CREDENTIALS.match(path):
            return self.get_response(request)
        return error_of_address(Forbidden("This address is for https only."), path.lower())


class FaultMiddleware:
    """Refuses a request that cannot be read (`CheckedRequest`)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        fault = getattr(request, "fault", None)
        return error_of_address(fault, request.path_info.lower()) if fault else self.get_response(request)


def error_of_address(error: ServiceError, path: str) -> HttpResponse:
    """The response to an error in the shape of its address: OAuth's, the interface's, or a sentence."""
    if path.startswith("/connect/"):
        code = "temporarily_unavailable" if error.status == 503 else "invalid_request"
        return OAuthError(code, error.message, error.status, tuple(error.headers.items())).as_response()
    if path.startswith("/api/") or path == "/api":
        return error_response(error, HttpRequest())
    plain = "text/plain; charset=utf-8"
    return HttpResponse(error.message + "\n", plain, error.status, headers=dict(error.headers))


def is_for_programs(request: HttpRequest) -> bool:
    return request.path_info.lower().startswith("/api/")


def either(page: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A handler of Django's: ``page`` for people, the OData shape for programs."""

    def handler(request: HttpRequest, exception: Exception) -> HttpResponse:
        return error_response(exception, request) if is_for_programs(request) else page(request, exception)

    return handler


def bad_request_page(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's page; of a form with a file that is too large, one that says so."""
    if isinstance(exception, RequestDataTooBig):
        page = get_template("413.html").render({"reason": str(exception)})
        return HttpResponse(page, status=413)
    return defaults.bad_request(request, exception)


bad_request = either(bad_request_page)
permission_denied = either(refused_page)
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
