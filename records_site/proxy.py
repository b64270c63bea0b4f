"""The address by which callers reach the site through a trusted proxy: scheme, host and prefix."""

import re
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.urls import get_script_prefix, set_script_prefix

#: Other texts are no prefix, and ignored.
_PREFIX = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
_PAIR = re.compile(r'\b(\w+)\s*=\s*(?:"([^"]*)"|([^\s";,]+))')


class ForwardedMiddleware:
    """Reads ``Forwarded`` (RFC 7239), ``X-Forwarded-Host`` and ``X-Forwarded-Prefix`` with ``TRUST_PROXY``.

    Of several proxies the last one counts. ``ALLOWED_HOSTS`` counts for a forwarded host too. The prefix is
    that of the addresses which the proxy removes before it passes a request on.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.TRUST_PROXY:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        read_forwarded(request)
        outer_prefix = get_script_prefix()
        set_script_prefix(f"{request.META.get('SCRIPT_NAME', '')}/")
        try:
            return self.get_response(request)
        finally:
            set_script_prefix(outer_prefix)


def read_forwarded(request: HttpRequest) -> None:
    element = last(request.headers.get("Forwarded", ""))
    forwarded = {name.lower(): quoted or word for name, quoted, word in _PAIR.findall(element)}
    scheme = last(request.headers.get("X-Forwarded-Proto", "")) or forwarded.get("proto", "")
    if scheme:
        request.META["HTTP_X_FORWARDED_PROTO"] = scheme
    host = last(request.headers.get("X-Forwarded-Host", "")) or forwarded.get("host", "")
    if host:
        request.META["HTTP_HOST"] = host
    prefix = last(request.headers.get("X-Forwarded-Prefix", "")).rstrip("/")
    if prefix and _PREFIX.fullmatch(prefix):
        request.META["SCRIPT_NAME"] = prefix
        request.path = prefix + request.path_info


def last(header: str) -> str:
    return header.rpartition(",")[2].strip()
