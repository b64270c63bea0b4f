"""The addresses under /docs/: the interface to read and to try, and its OpenAPI document."""

import json
from functools import lru_cache

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.views import SpectacularSwaggerSplitView


@lru_cache(maxsize=2)
def rendered(media_type: str) -> bytes:
    """The document; the same for everybody, and until the next start."""
    document = SchemaGenerator().get_schema(request=None, public=True)
    if media_type == "application/json":
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str).encode()
    return bytes(OpenApiYamlRenderer().render(document))


@require_safe
def openapi(request: HttpRequest, media_type: str) -> HttpResponse:
    return HttpResponse(rendered(media_type), content_type=media_type)


urlpatterns = [
    path("", SpectacularSwaggerSplitView.as_view(url_name="openapi-json", throttle_classes=[]), name="docs"),
    path("openapi.json", openapi, {"media_type": "application/json"}, name="openapi-json"),
    path("openapi.yaml", openapi, {"media_type": "application/yaml"}, name="openapi-yaml"),
]
