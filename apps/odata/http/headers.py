"""Headers of requests and responses: versions, preferences, ETags, caching."""

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TypeVar

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from apps.base.declaration.resource import V2_0, V2_1, VERSIONS
from apps.odata.errors import BadQuery
from apps.odata.query.options import QueryOptions, parameters

Response = TypeVar("Response", bound=HttpResponseBase)

_SPELLINGS = {"2": V2_0, **{version: version for version in VERSIONS}}

#: The versions of OData that a client may be limited to, where a response is one of 4.0, and may send.
_LATEST_VERSIONS = re.compile(r"[4-9]\.[0-9]{1,2}")
_SENT_VERSIONS = re.compile(r"4\.[0-9]{1,2}")
_META_KEYS = {"OData-MaxVersion": "HTTP_ODATA_MAXVERSION", "OData-Version": "HTTP_ODATA_VERSION"}


def reads_version_401(request: HttpRequest) -> bool:
    """True when the client names 4.01 or a later version as the latest that it reads."""
    version = request.headers.get("OData-MaxVersion", "").partition(";")[0].strip()
    return bool(_LATEST_VERSIONS.fullmatch(version)) and version > "4.0"


def requested_version(request: HttpRequest) -> str:
    """The version that the header or the address names, else 2.0; ``check_versions`` refuses others."""
    named, query = request.META.get("HTTP_API_VERSION"), request.META.get("QUERY_STRING", "")
    if named is None and "version" in query.lower():
        with suppress(BadQuery):
            given = dict(parameters(query.encode("latin-1", "replace")))
            named = next((text for name, text in given.items() if name.lower() in _VERSION_PARAMETERS), None)
    return _SPELLINGS.get(named or "", V2_0)


_VERSION_PARAMETERS = ("version", "api-version")


def check_versions(options: QueryOptions, request: HttpRequest, served: str) -> None:
    """Refuse other versions of the interface than the one ``served``, which ``requested_version`` found.

    They are named in ``version``, ``api-version`` or the header. And refuse a client that
    reads or sends no version 4 of OData (4.01, Protocol 8.1.5 and 8.2.7).
    """
    sources = (
        options.service.get("version"),
        options.service.get("api-version"),
        request.META.get("HTTP_API_VERSION"),
    )
    versions = {text for text in sources if text is not None}
    if len({_SPELLINGS.get(text, text) for text in versions}) > 1:
        raise BadQuery("The header and the parameter name different versions.", code="AmbiguousApiVersion")
    if not versions <= _SPELLINGS.keys():
        raise BadQuery(
            f"Version {versions.pop()[:20]!r} is not served; {' and '.join(VERSIONS)} are.",
            code="UnsupportedApiVersion",
        )
    if versions and _SPELLINGS[versions.pop()] != served:
        raise BadQuery("Name the version in the header or the address.", code="AmbiguousApiVersion")
    for name, served_here in (("OData-MaxVersion", _LATEST_VERSIONS), ("OData-Version", _SENT_VERSIONS)):
        version = request.META.get(_META_KEYS[name], "").partition(";")[0].strip()
        if version and not served_here.fullmatch(version):
            raise BadQuery(f"{name} {version[:20]!r} is not served; 4.0 and 4.01 are.", target=name)


@dataclass(frozen=True, slots=True)
class Preferences:
    """The supported preferences of a Prefer header.

    ``result`` is ``minimal`` or ``representation``, empty when neither is preferred.
    """

    max_page_size: int | None = None
    result: str = ""
    omits_nulls: bool = False
    tracks_changes: bool = False
    continues_on_error: bool = False

    def applied(
        self,
        has_pages: bool = False,
        is_write: bool = False,
        has_body: bool = True,
        is_tracked: bool = False,
        is_delta: bool = False,
    ) -> str:
        """The value of Preference-Applied: the preferences that count for a response of this kind."""
        applied = ["odata.track-changes"] if self.tracks_changes and is_tracked else []
        if has_pages and self.max_page_size:
            applied.append(f"odata.maxpagesize={self.max_page_size}")
        if is_write and self.result:
            applied.append(f"return={self.result}")
        if is_delta and self.continues_on_error:
            applied.append("continue-on-error")
        if has_body and self.omits_nulls:
            applied.append("omit-values=nulls")
        return ", ".join(applied)


_PREFERENCE = re.compile(r"([\w.-]+)\s*(?:=\s*(?:\"([^\"]*)\"|([^\s,;\"]+)))?[^,]*")


@lru_cache(maxsize=256)
def read_preferences(header: str, largest_page: int) -> Preferences:
    """Parse a Prefer header; the first of two counts, unknown ones are ignored (RFC 7240)."""
    values: dict[str, str] = {}
    for name, quoted, word in _PREFERENCE.findall(header):
        values.setdefault(name.lower().removeprefix("odata."), (quoted or word).lower())
    size, result = values.get("maxpagesize", ""), values.get("return", "")
    max_page_size = min(int(size), largest_page) if _PAGE_SIZE.fullmatch(size) else 0
    return Preferences(
        max_page_size or None,
        result if result in ("minimal", "representation") else "",
        values.get("omit-values") == "nulls",
        "track-changes" in values,
        values.get("continue-on-error", "false") in ("", "true"),
    )


_PAGE_SIZE = re.compile("[0-9]{1,9}")


def add_protocol_headers(response: Response, version: str = V2_0) -> Response:
    """The headers of every response of the interface; those to 2.0 stay as they were before there was 2.1."""
    if version == V2_1:
        response["api-version"], response["api-supported-versions"] = version, ", ".join(VERSIONS)
    for name, value in protocol_headers().items():
        response.headers.setdefault(name, value)
    return response


@cache
def protocol_headers() -> dict[str, str]:
    return {
        "OData-Version": "4.0",
        "api-supported-versions": V2_0,
        "Cache-Control": "no-store",
        "Content-Security-Policy": settings.DATA_SECURITY_POLICY,
        "Vary": "Accept, Authorization, Prefer, OData-MaxVersion, Accept-Encoding",
    }
