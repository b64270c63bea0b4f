"""The addresses of a service, matched without regard to case, with or without a trailing slash."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from django.urls import URLPattern, URLResolver
from django.urls.resolvers import RegexPattern

from apps.odata.http.viewsets import MetadataView, NothingHereView, RecordViewSet, ServiceDocumentView

#: A key behind a slash or in parentheses; what it may look like is the business of ``keys.read_key``.
_KEYS = (r"/(?P<key>[^/()$]+)", r"\((?P<key>[^/()]*)\)")


#: HTTP method -> name of the viewset's method.
Actions = dict[str, Any]


class CaselessPattern(RegexPattern):
    """A pattern that matches in any case. Django cannot build addresses from patterns with flags inside."""

    def __init__(self, regex: str, **words: Any) -> None:
        super().__init__(regex, **words)
        self.caseless = re.compile(regex, re.IGNORECASE)

    @cached_property
    def regex(self) -> re.Pattern[str]:
        return self.caseless


def address(regex: str, view: Callable[..., Any], name: str | None = None) -> URLPattern:
    return URLPattern(CaselessPattern(regex, name=name, is_endpoint=True), view, None, name)


def service_urls(prefix: str, viewsets: Iterable[type[RecordViewSet]]) -> list[URLPattern | URLResolver]:
    """Everything below ``prefix`` (``api/``): the service document, $metadata, each resource, else 404."""
    document = ServiceDocumentView.as_view()
    urls = [
        address(r"^$", document, "service-document"),
        address(r"^\$metadata/?$", MetadataView.as_view(), "metadata"),
    ]
    for viewset in viewsets:
        urls += resource_urls(viewset)
    urls.append(address(r"", NothingHereView.as_view()))
    bare = prefix.rstrip("/")
    return [
        URLResolver(CaselessPattern(rf"^{re.escape(prefix)}"), urls),
        address(rf"^{re.escape(bare)}$", document),
    ]


def resource_urls(viewset: type[RecordViewSet]) -> list[URLPattern]:
    """Collection, ``$count``, ``$query``, items in every spelling of a key, and the viewset's own actions."""
    path = viewset.resource.path
    offered = viewset.resource.methods
    collection: Actions = {"get": "list"} | ({"post": "create"} if "POST" in offered else {})
    item: Actions = {"get": "retrieve"} | ({"put": "replace"} if "PUT" in offered else {})
    root = rf"^{re.escape(path)}"
    urls = [
        address(rf"{root}/?$", viewset.as_view(collection), f"{path}-list"),
        address(rf"{root}/\$count/?$", viewset.as_view({"get": "count"}), f"{path}-count"),
        address(rf"{root}/\$query/?$", viewset.as_view({"post": "query"}), f"{path}-query"),
    ]
    for key in _KEYS:
        extra: list[Any] = viewset.get_extra_actions()
        for action in extra:
            view = viewset.as_view(dict(action.mapping), **action.kwargs)
            urls.append(
                address(rf"{root}{key}/{re.escape(action.url_path)}/?$", view, f"{path}-{action.url_name}")
            )
        urls.append(address(rf"{root}{key}/?$", viewset.as_view(item), f"{path}-item"))
    return urls
