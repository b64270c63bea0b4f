"""The Django request of an individual request of a batch."""

from collections.abc import Mapping
from io import BytesIO
from urllib.parse import unquote_to_bytes

from rest_framework.request import Request

from apps.odata.http.batch.messages import IndividualRequest
from apps.odata.http.requests import CheckedRequest

#: What a request has of its batch: host, client, credentials, and versions unless it names others.
_INHERITED = frozenset(
    {
        *("SERVER_NAME", "SERVER_PORT", "SERVER_PROTOCOL", "REMOTE_ADDR", "SCRIPT_NAME", "wsgi.url_scheme"),
        *("HTTP_HOST", "HTTP_AUTHORIZATION", "HTTP_FORWARDED"),
        *("HTTP_ODATA_VERSION", "HTTP_ODATA_MAXVERSION", "HTTP_API_VERSION"),
    }
)
_INHERITED_PREFIX = "HTTP_X_FORWARDED_"

#: The headers that a request can have of its own; it has the credentials and the proxies of its batch.
_OWN_HEADERS = frozenset(
    {
        *("accept", "accept-language", "prefer", "if-match", "if-none-match", "idempotency-key"),
        *("odata-version", "odata-maxversion", "odata-isolation", "api-version"),
    }
)


class BatchedRequest(CheckedRequest):
    """A request that came in a batch.

    ``user``, ``caller`` and ``base_url`` are the batch's. ``request_id`` is too, so that history and log have
    one.
    """

    def __init__(self, environ: dict[str, object], batch: Request, caller: object) -> None:
        super().__init__(environ)
        self.user, self.caller = batch.user, caller
        self.base_url: str = batch.parser_context["view"].base_url
        self.request_id: str = getattr(batch._request, "request_id", "unknown")


def batched_environ(
    batch: Request, request: IndividualRequest, path: bytes, query: bytes
) -> dict[str, object]:
    """The WSGI environment of a request for ``path`` below the service, percent-encoded."""
    environ: dict[str, object] = {
        name: value
        for name, value in batch.META.items()
        if name in _INHERITED or name.startswith(_INHERITED_PREFIX)
    }
    return environ | {
        "REQUEST_METHOD": request.method,
        "PATH_INFO": f"/api/{unquote_to_bytes(path).decode('latin-1')}",
        "QUERY_STRING": query.decode("latin-1"),
        "CONTENT_TYPE": request.headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(request.body)),
        "wsgi.input": BytesIO(request.body),
        **own_headers(request.headers),
    }


def own_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of an individual request by their names in WSGI."""
    return {
        f"HTTP_{name.upper().replace('-', '_')}": value
        for name, value in headers.items()
        if name in _OWN_HEADERS
    }
