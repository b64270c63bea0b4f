"""Requests of programs go to their view from here, past the middleware of pages."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponse, HttpResponseBase
from django.template.response import SimpleTemplateResponse
from django.urls import resolve


class InterfaceMiddleware:
    """Calls the view of a request below /api/ that has credentials of its own.

    What stands below it in ``MIDDLEWARE`` is for browsers: sessions, forms, messages.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if "HTTP_AUTHORIZATION" not in request.META or not request.path_info.lower().startswith("/api/"):
            return self.get_response(request)
        response = call_view(request)
        if isinstance(response, HttpResponse):
            response.headers.setdefault("Content-Length", str(len(response.content)))
        return response


def call_view(request: HttpRequest) -> HttpResponseBase:
    """The rendered response of the view at the address of a request."""
    request.resolver_match = match = resolve(request.path_info)
    response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return response.render() if isinstance(response, SimpleTemplateResponse) else response
