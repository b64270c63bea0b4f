"""The responses to requests that reach no view."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from waitress.task import ErrorTask

from apps.access.views import OAuthError
from apps.odata import errors
from apps.odata.errors import ODataError
from apps.odata.http.exceptions import error_response

MAX_HEADER_BYTES = 64 * 1024


class HeadersTooLarge(ODataError, status=431, code="TooLarge"):
    """Headers beyond ``MAX_HEADER_BYTES``."""


BUSY = errors.Unavailable("The service is busy. Try again in a second.", headers={"Retry-After": "1"})
_ERRORS: dict[int, ODataError] = {
    413: errors.TooLarge("The body is too large."),
    431: HeadersTooLarge(f"The headers hold at most {MAX_HEADER_BYTES:,} bytes."),
    500: errors.InternalError("Something went wrong here."),
    501: errors.NotSupported("Bodies are sent plain or chunked."),
}


class RefusalTask(ErrorTask):
    """Answers a request that reaches no view, in the error shape of its address."""

    def execute(self) -> None:
        error = self.request.error
        if not isinstance(error, ODataError):  # one of waitress's own
            error = _ERRORS.get(error.code) or errors.BadQuery("The request cannot be understood.")
        response = refusal(error, getattr(self.request, "path", "/").lower())
        self.status = f"{response.status_code} {response.reason_phrase}"
        self.response_headers.extend(response.items())
        self.set_close_on_finish()
        self.content_length = len(response.content)
        self.write(b"" if getattr(self.request, "command", "") == "HEAD" else response.content)


def refusal(error: ODataError, path: str) -> HttpResponse:
    """The response to an error, with the headers that others get from middleware."""
    response = refusal_body(error, path)
    for name, value in settings.REFUSAL_HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def refusal_body(error: ODataError, path: str) -> HttpResponse:
    if path.startswith("/connect/"):
        code = "temporarily_unavailable" if error.status == 503 else "invalid_request"
        return OAuthError(code, error.message, error.status, tuple(error.headers.items())).as_response()
    if path.startswith("/api/"):
        return error_response(error, HttpRequest())
    plain = "text/plain; charset=utf-8"
    return HttpResponse(error.message + "\n", plain, error.status, headers=dict(error.headers))
