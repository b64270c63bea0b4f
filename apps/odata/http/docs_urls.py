"""The addresses under /docs/: the interface to read and to try, and its OpenAPI document."""

import json
from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.views import SpectacularSwaggerSplitView


@lru_cache(maxsize=1)
def openapi() -> Any:
    """The document; the same for everybody, and until the next start."""
    return SchemaGenerator().get_schema(request=None, public=True)


@lru_cache(maxsize=2)
def rendered(media: str) -> bytes:
    if media == "application/json":
        return json.dumps(openapi(), ensure_ascii=False, separators=(",", ":"), default=str).encode()
    return bytes(OpenApiYamlRenderer().render(openapi()))


@require_safe
def openapi_json(request: HttpRequest) -> HttpResponse:
    return HttpResponse(rendered("application/json"), content_type="application/json")


@require_safe
def openapi_yaml(request: HttpRequest) -> HttpResponse:
    return HttpResponse(rendered("application/yaml"), content_type="application/yaml")


urlpatterns = [
    path("", SpectacularSwaggerSplitView.as_view(url_name="openapi-json", throttle_classes=[]), name="docs"),
    path("openapi.json", openapi_json, name="openapi-json"),
    path("openapi.yaml", openapi_yaml, name="openapi-yaml"),
]
