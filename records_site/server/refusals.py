"""The responses to requests that reach no view."""

from django.conf import settings
from django.http import HttpResponse
from waitress.task import ErrorTask

from apps.base import errors
from apps.base.errors import ServiceError
from apps.odata.errors import BadQuery, NotSupported
from records_site import metrics
from records_site.failures import error_of_address

MAX_HEADER_BYTES = 64 * 1024


class HeadersTooLarge(ServiceError, status=431, code="TooLarge"):
    """Headers beyond ``MAX_HEADER_BYTES``."""


BUSY = errors.Unavailable("The service is busy. Try again in a second.", headers={"Retry-After": "1"})
_ERRORS: dict[int, ServiceError] = {
    413: errors.TooLarge("The body is too large."),
    431: HeadersTooLarge(f"The headers hold at most {MAX_HEADER_BYTES:,} bytes."),
    500: errors.InternalError("Something went wrong here."),
    501: NotSupported("Bodies are sent plain or chunked."),
}


class RefusalTask(ErrorTask):
    """Answers a request that reaches no view, in the error shape of its address."""

    def execute(self) -> None:
        error = self.request.error
        if not isinstance(error, ServiceError):  # one of waitress's own
            error = _ERRORS.get(error.code) or BadQuery("The request cannot be understood.")
        response = refusal(error, getattr(self.request, "path", "/").lower())
        metrics.REFUSALS.labels(response.status_code).inc()
        self.status = f"{response.status_code} {response.reason_phrase}"
        self.response_headers.extend(response.items())
        self.set_close_on_finish()
        self.content_length = len(response.content)
        # waitress answers to its own failures with a request of its own.
        self.write(b"" if self.channel.requests[0].is_head else response.content)


def refusal(error: ServiceError, path: str) -> HttpResponse:
    """The response to an error, with the headers that others get from middleware."""
    response = error_of_address(error, path)
    for name, value in settings.REFUSAL_HEADERS.items():
        response.headers.setdefault(name, value)
    return response
