"""Requests of browser programs from other origins (CORS), for the origins that a setting names."""

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from apps.odata.http.headers import add_protocol_headers

_METHODS = "GET, POST, PUT, PATCH, DELETE"
_RESPONSE_HEADERS = (
    "ETag, Idempotency-Replayed, Location, OData-EntityId, OData-Version, Preference-Applied, Retry-After,"
    " X-Request-ID, api-supported-versions"
)
#: Seconds in which a browser does not ask again.
_MAX_AGE = "7200"


class CrossOriginMiddleware:
    """Lets programs of ``CORS_ALLOWED_ORIGINS`` call /api/ with tokens; cookies are never allowed."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        if not settings.CORS_ALLOWED_ORIGINS:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.lower().startswith("/api/"):
            return self.get_response(request)
        origin = request.headers.get("Origin", "")
        is_allowed = origin in settings.CORS_ALLOWED_ORIGINS
        # A preflight has no credentials, and is answered before they are looked for.
        if is_allowed and request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
            response: HttpResponseBase = add_protocol_headers(HttpResponse(status=204))
            response["Access-Control-Allow-Methods"] = _METHODS
            # All that it names: UI5 sends some of its own, and one that is left out fails every request.
            headers = request.headers.get("Access-Control-Request-Headers", "")
            response["Access-Control-Allow-Headers"] = headers
            response["Access-Control-Max-Age"] = _MAX_AGE
        else:
            response = self.get_response(request)
        patch_vary_headers(response, ("Origin",))
        if is_allowed:
            response["Access-Control-Allow-Origin"] = origin
            response["Access-Control-Expose-Headers"] = _RESPONSE_HEADERS
        return response
