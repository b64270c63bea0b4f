"""The addresses of a service, matched without regard to case, with or without a trailing slash."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from django.http.response import HttpResponseBase
from django.urls import URLPattern
from django.urls.resolvers import RegexPattern
from django.utils.functional import cached_property

from apps.odata.views import MetadataView, NothingHereView, RecordViewSet, ServiceDocumentView

#: A key behind a slash or in parentheses; what it may look like is the business of ``keys.read_key``.
_KEYS = (r"/(?P<key>[^/()$]+)", r"\((?P<key>[^/()]*)\)")


class AnyCasePattern(RegexPattern):
    """A regular expression matched without regard to case.

    With the flag inside the expression Django could reverse no address of the site at all.
    """

    @cached_property
    def regex(self) -> re.Pattern[str]:
        return re.compile(str(self), re.IGNORECASE)


def any_case(regex: str, view: Callable[..., HttpResponseBase], name: str | None = None) -> URLPattern:
    """``re_path`` in any case."""
    return URLPattern(AnyCasePattern(regex, name=name, is_endpoint=True), view, name=name)


def service_urls(viewsets: Iterable[type[RecordViewSet]]) -> list[URLPattern]:
    """Everything below /api/: the service document, $metadata, each resource, and a 404 for the rest."""
    urls = [
        any_case(r"^$", ServiceDocumentView.as_view(), name="service-document"),
        any_case(r"^\$metadata/?$", MetadataView.as_view(), name="metadata"),
    ]
    for viewset in viewsets:
        urls += resource_urls(viewset)
    return [*urls, any_case(r"", NothingHereView.as_view())]


def resource_urls(viewset: type[RecordViewSet]) -> list[URLPattern]:
    """Collection, ``$count``, ``$query``, items in every spelling of a key, and the viewset's own actions."""
    path = viewset.resource.path
    offered = {verb.value for verb in viewset.resource.methods}
    collection = {"get": "list"} | ({"post": "create"} if "POST" in offered else {})
    item = {"get": "retrieve"} | ({"put": "replace"} if "PUT" in offered else {})
    root = rf"^{re.escape(path)}"
    urls = [
        any_case(rf"{root}/?$", viewset.as_view(collection), name=f"{path}-list"),
        any_case(rf"{root}/\$count/?$", viewset.as_view({"get": "count"}), name=f"{path}-count"),
        any_case(rf"{root}/\$query/?$", viewset.as_view({"post": "query"}), name=f"{path}-query"),
    ]
    for key in _KEYS:
        for action in viewset.get_extra_actions():
            methods = dict(action.mapping)
            urls.append(
                any_case(
                    rf"{root}{key}/{re.escape(action.url_path)}/?$",
                    viewset.as_view(methods, **action.kwargs),
                    name=f"{path}-{action.url_name}",
                )
            )
        urls.append(any_case(rf"{root}{key}/?$", viewset.as_view(item), name=f"{path}-item"))
    return urls
