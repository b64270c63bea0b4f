"""Headers, versions and formats: what a request says about the conversation, not about the records."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import Any, TypeVar

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from apps.odata.errors import BadQuery, NotAcceptable
from apps.odata.query.options import QueryOptions

Answer = TypeVar("Answer", bound=HttpResponseBase)

API_VERSION = "2.0"
_SPELLINGS = ("2", "2.0")
JSON = "application/json; odata.metadata=minimal"
NDJSON = "application/x-ndjson"
CSV = "text/csv"

_ACCEPTED = {
    "application/json": "json",
    "application/*": "json",
    "*/*": "json",
    "text/html": "json",
    "application/x-ndjson": "ndjson",
    "text/csv": "csv",
}


def check_version(options: QueryOptions, request: HttpRequest) -> None:
    """Hold ``version``, ``api-version`` and the header against the one version there is (decisions.md 3)."""
    told = {
        text
        for text in (
            options.service.get("version"),
            options.service.get("api-version"),
            request.headers.get("api-version"),
        )
        if text is not None
    }
    if not told:
        return
    if len({text if text not in _SPELLINGS else API_VERSION for text in told}) > 1:
        raise BadQuery("The header and the parameter name different versions.", code="AmbiguousApiVersion")
    if not told <= set(_SPELLINGS):
        raise BadQuery(
            f"Version {told.pop()[:20]!r} is not served; {API_VERSION} is.", code="UnsupportedApiVersion"
        )


def wanted_format(options: QueryOptions, request: HttpRequest) -> str:
    """``json``, ``ndjson`` or ``csv``: what $format says, else the Accept header's best."""
    if options.format is not None:
        return options.format
    accept = request.META.get("HTTP_ACCEPT", "")
    if not accept:
        return "json"
    best, best_quality = "", 0.0
    for item in accept.split(","):
        media, *words = (word.strip().lower() for word in item.split(";"))
        quality = next((number(word[2:]) for word in words if word.startswith("q=")), 1.0)
        if media in _ACCEPTED and quality > best_quality:
            best, best_quality = _ACCEPTED[media], quality
    if not best:
        raise NotAcceptable("Served are application/json, application/x-ndjson and text/csv.")
    return best


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


@dataclass(frozen=True, slots=True)
class Preferences:
    """What the Prefer header asks for that is offered."""

    max_page_size: int | None = None
    minimal: bool = False

    @property
    def applied(self) -> str:
        """The value of Preference-Applied; empty when nothing was."""
        words = [f"odata.maxpagesize={self.max_page_size}"] if self.max_page_size else []
        return ", ".join([*words, "return=minimal"] if self.minimal else words)


_PAGE_SIZE = re.compile(r"(?:odata\.)?maxpagesize\s*=\s*\"?(\d{1,9})\"?", re.IGNORECASE)
_MINIMAL = re.compile(r"return\s*=\s*\"?minimal\"?", re.IGNORECASE)


def preferences(request: HttpRequest) -> Preferences:
    """Read the Prefer header; what is not understood is ignored, as RFC 7240 says."""
    text = request.META.get("HTTP_PREFER", "")
    if not text:
        return Preferences()
    size = _PAGE_SIZE.search(text)
    wanted = min(int(size[1]), settings.API_MAX_PAGE_SIZE) if size and int(size[1]) else None
    return Preferences(wanted, _MINIMAL.search(text) is not None)


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)


def etag(stamp: dt.datetime) -> str:
    """A weak ETag made of a record's modify stamp (UTC microseconds)."""
    return f'W/"{(stamp - _EPOCH) // _MICROSECOND:x}"'


def matches(header: str, tag: str) -> bool:
    """Whether an If-Match or If-None-Match header names ``tag``; compared weakly, as OData does."""
    if header.strip() == "*":
        return True
    opaque = tag.removeprefix("W/")
    return any(item.strip().removeprefix("W/") == opaque for item in header.split(","))


def finish(response: Answer, **headers: Any) -> Answer:
    """The headers that every answer of the interface carries."""
    response["OData-Version"] = "4.0"
    response["api-supported-versions"] = API_VERSION
    response["Cache-Control"] = "no-store"
    response.headers.setdefault("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
    response["Vary"] = "Accept, Authorization, Prefer, OData-MaxVersion"
    for name, value in headers.items():
        if value:
            response[name.replace("_", "-")] = value
    return response
