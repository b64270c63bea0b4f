"""Headers of requests and responses: version, preferences, ETags, caching."""

import datetime as dt
import re
from dataclasses import dataclass
from typing import TypeVar

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from apps.odata.errors import BadQuery
from apps.odata.query.options import QueryOptions

Response = TypeVar("Response", bound=HttpResponseBase)

API_VERSION = "2.0"
_VERSION_SPELLINGS = ("2", "2.0")


def check_version(options: QueryOptions, request: HttpRequest) -> None:
    """Refuse another version in ``version``, ``api-version`` or the header (decisions.md 3)."""
    sources = (
        options.service.get("version"),
        options.service.get("api-version"),
        request.headers.get("api-version"),
    )
    versions = {text for text in sources if text is not None}
    if not versions:
        return
    if len({text if text not in _VERSION_SPELLINGS else API_VERSION for text in versions}) > 1:
        raise BadQuery("The header and the parameter name different versions.", code="AmbiguousApiVersion")
    if not versions <= set(_VERSION_SPELLINGS):
        raise BadQuery(
            f"Version {versions.pop()[:20]!r} is not served; {API_VERSION} is.", code="UnsupportedApiVersion"
        )


@dataclass(frozen=True, slots=True)
class Preferences:
    """The supported preferences of a Prefer header; ``applied`` is the value of Preference-Applied."""

    max_page_size: int | None = None
    minimal: bool = False
    applied: str = ""


_PAGE_SIZE = re.compile(r"(?:odata\.)?maxpagesize\s*=\s*\"?(\d{1,9})\"?", re.IGNORECASE)
_MINIMAL = re.compile(r"return\s*=\s*\"?minimal\"?", re.IGNORECASE)


def read_preferences(request: HttpRequest) -> Preferences:
    """Parse the Prefer header; unknown preferences are ignored, as RFC 7240 says."""
    text = request.META.get("HTTP_PREFER", "")
    size, minimal = _PAGE_SIZE.search(text), _MINIMAL.search(text) is not None
    max_page_size = min(int(size[1]), settings.API_MAX_PAGE_SIZE) if size else 0
    applied = [f"odata.maxpagesize={max_page_size}"] if max_page_size else []
    applied += ["return=minimal"] if minimal else []
    return Preferences(max_page_size or None, minimal, ", ".join(applied))


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)


def make_etag(modified: dt.datetime | None) -> str:
    """A weak ETag of the time of the last change in UTC microseconds; empty without a time."""
    return f'W/"{(modified - _EPOCH) // _MICROSECOND:x}"' if modified is not None else ""


def matches_etag(header: str, etag: str) -> bool:
    """Whether an If-Match or If-None-Match header names ``etag``; compared weakly, as OData does."""
    if header.strip() == "*":
        return True
    opaque = etag.removeprefix("W/")
    return any(item.strip().removeprefix("W/") == opaque for item in header.split(","))


def add_protocol_headers(response: Response) -> Response:
    """The headers of every response of the interface."""
    response["OData-Version"] = "4.0"
    response["api-supported-versions"] = API_VERSION
    response["Cache-Control"] = "no-store"
    response.headers.setdefault("Content-Security-Policy", settings.DATA_SECURITY_POLICY)
    response["Vary"] = "Accept, Authorization, Prefer, OData-MaxVersion"
    return response
