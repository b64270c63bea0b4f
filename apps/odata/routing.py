"""The addresses of a service, matched without regard to case, with or without a trailing slash."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.urls import URLPattern, re_path

from apps.odata.views import MetadataView, NothingHereView, RecordViewSet, ServiceDocumentView

#: A key behind a slash or in parentheses; what it may look like is the business of ``keys.read_key``.
_KEYS = (r"/(?P<key>[^/()$]+)", r"\((?P<key>[^/()]*)\)")


def service_urls(viewsets: Iterable[type[RecordViewSet]]) -> list[URLPattern]:
    """Everything below /api/: the service document, $metadata, each resource, and a 404 for the rest."""
    urls = [
        re_path(r"^$", ServiceDocumentView.as_view(), name="service-document"),
        re_path(r"^(?i:\$metadata)/?$", MetadataView.as_view(), name="metadata"),
    ]
    for viewset in viewsets:
        urls += resource_urls(viewset)
    return [*urls, re_path(r"", NothingHereView.as_view())]


def resource_urls(viewset: type[RecordViewSet]) -> list[URLPattern]:
    """Collection, ``$count``, ``$query``, items in every spelling of a key, and the viewset's own actions."""
    path = viewset.resource.path
    offered = {verb.value for verb in viewset.resource.methods}
    collection = {"get": "list"} | ({"post": "create"} if "POST" in offered else {})
    item = {"get": "retrieve"} | ({"put": "replace"} if "PUT" in offered else {})
    root = rf"^(?i:{re.escape(path)})"
    urls = [
        re_path(rf"{root}/?$", viewset.as_view(collection), name=f"{path}-list"),
        re_path(rf"{root}/(?i:\$count)/?$", viewset.as_view({"get": "count"}), name=f"{path}-count"),
        re_path(rf"{root}/(?i:\$query)/?$", viewset.as_view({"post": "query"}), name=f"{path}-query"),
    ]
    for key in _KEYS:
        for action in viewset.get_extra_actions():
            methods = dict(action.mapping)
            urls.append(
                re_path(
                    rf"{root}{key}/(?i:{re.escape(action.url_path)})/?$",
                    viewset.as_view(methods, **action.kwargs),
                    name=f"{path}-{action.url_name}",
                )
            )
        urls.append(re_path(rf"{root}{key}/?$", viewset.as_view(item), name=f"{path}-item"))
    return urls
