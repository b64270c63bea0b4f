"""The addresses under /docs/: the interface to read and to try, and its OpenAPI document."""

import json
from functools import lru_cache

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.views import SpectacularSwaggerSplitView

from apps.base.declaration.resource import V2_0, VERSIONS
from apps.odata.http.headers import requested_version
from apps.odata.metadata.openapi import VersionSchemaGenerator


@lru_cache(maxsize=4)
def rendered(media_type: str, version: str = V2_0) -> bytes:
    """The document of a version; the same for everybody, and until the next start."""
    document = VersionSchemaGenerator(api_version=version).get_schema(request=None, public=True)
    if media_type == "application/json":
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str).encode()
    return bytes(OpenApiYamlRenderer().render(document))


@require_safe
def openapi(request: HttpRequest, media_type: str) -> HttpResponse:
    version = requested_version(request)
    if request.GET.get("version", version) not in (version, "2"):
        raise BadRequest(f"Versions are {' and '.join(VERSIONS)}.")
    return HttpResponse(rendered(media_type, version), content_type=media_type)


urlpatterns = [
    path("", SpectacularSwaggerSplitView.as_view(url_name="openapi-json", throttle_classes=[]), name="docs"),
    path("openapi.json", openapi, {"media_type": "application/json"}, name="openapi-json"),
    path("openapi.yaml", openapi, {"media_type": "application/yaml"}, name="openapi-yaml"),
]
