"""The router: OData addresses in any case, with or without a trailing slash, keys in both spellings."""

import re
from itertools import chain, groupby
from types import ModuleType
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.urls import Resolver404, ResolverMatch, URLPattern, URLResolver
from django.urls.resolvers import RegexPattern
from rest_framework.routers import DynamicRoute, Route, SimpleRouter

from apps.base.declaration.resource import Resource
from apps.odata.http.batch.views import BatchView
from apps.odata.http.entity_view import EntityView
from apps.odata.http.formats import FormQueryParser, PlainTextRenderer, QueryParser
from apps.odata.http.service_views import MetadataView, ServiceDocumentView, UnknownAddressView
from apps.odata.http.viewsets import ODataViewSet

_WORD_END = re.compile(r"\W")


class CaselessPattern(RegexPattern):
    """A pattern that matches in any case.

    Django documents no class for it, and cannot reverse a pattern with ``(?i)`` in it.
    """

    def __init__(self, regex: str, name: str | None = None, is_endpoint: bool = False) -> None:
        super().__init__(regex, name, is_endpoint)
        self.regex = re.compile(regex, re.IGNORECASE)


class ServiceResolver(URLResolver):
    """All addresses below ``prefix``: those of ``resources`` by the path that they begin with, and others."""

    def __init__(self, prefix: str, resources: dict[str, list[URLPattern]], others: list[URLPattern]) -> None:
        self.resources, self.others = resources, others
        super().__init__(CaselessPattern(f"^{re.escape(prefix)}"), [*chain(*resources.values()), *others])

    def resolve(self, path: object) -> ResolverMatch:
        """As Django's, which compares an address with the routes of all resources."""
        match = self.pattern.match(str(path))
        if match is None:
            raise Resolver404({"path": path})
        address: str = match[0]
        for route in (*self.resources.get(path_of(address), ()), *self.others):
            if found := route.resolve(address):
                return found
        raise Resolver404({"path": path})


def regex_of(pattern: Any) -> str:
    return str(pattern.pattern.regex.pattern)


def path_of(address: str) -> str:
    """The path of a resource (``client``), which its addresses begin with."""
    return _WORD_END.split(address, maxsplit=1)[0].lower()


class ODataRouter(SimpleRouter):
    """Routes of a resource: collection, its ``$count``, ``$ref`` and ``$query``, item, the viewset's actions.

    ``router.register_resources(ClaimResource)`` serves ``/claim``, ``/claim/{key}`` and ``/claim({key})``;
    ``router.register_module(resources)`` all that a module declares. A resource with endpoints of its own
    has a viewset: ``router.register_module(resources, DocumentViewSet)``.
    """

    #: Whether the text of a key is valid is decided by ``ODataViewSet.read_key``.
    key_patterns = (r"/(?P<key>[^/()$]+)", r"\((?P<key>[^/()]*)\)")

    #: The addresses that most requests have come first.
    routes = [
        Route(
            r"^{prefix}/?$",
            {"get": "list", "post": "create", "patch": "upsert"},
            "{basename}-list",
            False,
            {},
        ),
        *(
            Route(
                rf"^{{prefix}}{key}/?$",
                {"get": "retrieve", "put": "update", "patch": "partial_update", "delete": "destroy"},
                "{basename}-detail",
                True,
                {},
            )
            for key in key_patterns
        ),
        Route(
            r"^{prefix}/\$count/?$",
            {"get": "count"},
            "{basename}-count",
            False,
            {"renderer_classes": (PlainTextRenderer,)},
        ),
        Route(r"^{prefix}/\$ref/?$", {"get": "list_references"}, "{basename}-references", False, {}),
        Route(
            r"^{prefix}/\$query/?$",
            {"post": "query"},
            "{basename}-query",
            False,
            {"parser_classes": (QueryParser, FormQueryParser)},
        ),
        *(
            route
            for key in key_patterns
            for route in (
                DynamicRoute(rf"^{{prefix}}{key}/{{url_path}}/?$", "{basename}-{url_name}", True, {}),
                Route(
                    rf"^{{prefix}}{key}/(?P<members>.+/\$(?:count|value))/?$",
                    {"get": "member_text"},
                    "{basename}-member-text",
                    True,
                    {"renderer_classes": (PlainTextRenderer,)},
                ),
                Route(
                    rf"^{{prefix}}{key}/(?P<members>.+?)/?$",
                    {"get": "member"},
                    "{basename}-member",
                    True,
                    {},
                ),
            )
        ),
    ]

    def register_resources(self, *resources: type[Resource]) -> None:
        """Serve resources that have no endpoints of their own, each at its path."""
        for resource in resources:
            self.serve(type(f"{resource.__name__}ViewSet", (ODataViewSet,), {"resource": resource}))

    def register_module(self, module: ModuleType, *viewsets: type[ODataViewSet]) -> None:
        """Serve all resources that a module defines, in their order; those that have them by ``viewsets``."""
        own = {viewset.resource: viewset for viewset in viewsets}
        for each in vars(module).values():
            if isinstance(each, type) and issubclass(each, Resource) and each.__module__ == module.__name__:
                self.serve(own[each]) if each in own else self.register_resources(each)

    def serve(self, viewset: type[ODataViewSet]) -> None:
        resource = viewset.resource
        if not hasattr(resource, "path"):
            name = f"{resource.__module__}.{resource.__name__}"
            raise ImproperlyConfigured(f"{name} has no path, the address of its records: declare path = …")
        self.register(resource.path, viewset)

    @property
    def resources(self) -> list[type[Resource]]:
        """The resources of the registered viewsets, in the order of registration."""
        viewsets: list[Any] = [viewset for _, viewset, _ in self.registry]
        return [viewset.resource for viewset in viewsets]

    def get_default_basename(self, viewset: type[ODataViewSet]) -> str:
        return viewset.resource.path

    def get_method_map(self, viewset: type[ODataViewSet], method_map: dict[str, object]) -> dict[str, object]:
        """The methods of an address in all versions; those that write only where the resource has them."""
        supported = (*viewset.resource.methods, *viewset.resource.methods_of_2_1)
        writing = ("create", "upsert", "update", "partial_update", "destroy")
        return {
            method: action
            for method, action in method_map.items()
            if action not in writing or method.upper() in supported
            if action != "upsert" or viewset.resource.alternate_keys
        }

    def get_urls(self) -> list[URLPattern]:
        """The addresses in any case."""
        routes: list[Any] = super().get_urls()
        return [
            URLPattern(
                CaselessPattern(regex_of(route), route.name, is_endpoint=True),
                route.callback,
                route.default_args,
                route.name,
            )
            for route in routes
        ]


def service_urls(prefix: str, router: ODataRouter) -> list[URLPattern | URLResolver]:
    """All addresses below ``prefix`` (``api/``): the service document, $metadata, the resources, else 404."""

    def address(regex: str, view: type[Any], name: str | None = None) -> URLPattern:
        return URLPattern(CaselessPattern(regex, name, is_endpoint=True), view.as_view(), None, name)

    others = [
        address(r"^$", ServiceDocumentView, "service-document"),
        address(r"^\$metadata/?$", MetadataView, "metadata"),
        address(r"^\$batch/?$", BatchView, "batch"),
        address(r"^\$entity/?$", EntityView, "entity"),
        address(r"", UnknownAddressView),
    ]
    routes = groupby(router.get_urls(), key=lambda route: path_of(regex_of(route).removeprefix("^")))
    resources = {path: list(routes_of_path) for path, routes_of_path in routes}
    return [
        ServiceResolver(prefix, resources, others),
        address(rf"^{re.escape(prefix.rstrip('/'))}$", ServiceDocumentView),
    ]
