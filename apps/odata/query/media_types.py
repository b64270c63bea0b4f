"""Media types that $format and Accept name: a format, and the parameters of OData's JSON (JSON Format 3)."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from apps.odata.errors import NotAcceptable

METADATA_LEVELS = ("none", "minimal", "full")

#: Names and media types of the formats; a browser (``text/html``) is shown JSON.
_FORMATS = {
    **dict.fromkeys(("json", "application/json", "application/*", "*/*", "text/html"), "json"),
    **dict.fromkeys(("ndjson", "application/x-ndjson"), "ndjson"),
    **dict.fromkeys(("csv", "text/csv", "text/*"), "csv"),
}


@dataclass(frozen=True, slots=True)
class MediaType:
    """A format (``json``, ``ndjson``, ``csv``) with the parameters that are for JSON only.

    ``metadata`` is one of the levels, empty when the request names none. ``has_text_numbers``: decimals and
    64-bit integers are strings (``IEEE754Compatible=true``).
    """

    format: str = "json"
    metadata: str = ""
    has_text_numbers: bool = False

    @property
    def content_type(self) -> str:
        """The Content-Type of a JSON response."""
        numbers = "; IEEE754Compatible=true" if self.has_text_numbers else ""
        return f"application/json; odata.metadata={self.metadata or 'minimal'}{numbers}"


def parse_format(text: str, target: str) -> MediaType:
    """The value of $format: a short name or a media type, with parameters."""
    media_type, _ = parse_media_range(text)
    if media_type is None:
        raise NotAcceptable(f"{target}={text[:60]} is not served. {served()}", target=target)
    return media_type


@lru_cache(maxsize=256)
def preferred_media_type(accept: str, formats: tuple[str, ...], must_match: bool = True) -> MediaType:
    """The media type with the highest quality in an Accept header; of equal ones the first.

    A header that names none of the ``formats`` is refused, or without ``must_match`` answered in JSON.
    """
    best, best_quality = None, 0.0
    for item in accept.split(","):
        media_type, quality = parse_media_range(item)
        if media_type is not None and media_type.format in formats and quality > best_quality:
            best, best_quality = media_type, quality
    if best is None and must_match:
        raise NotAcceptable(served(formats))
    return best or MediaType()


def parse_media_range(text: str) -> tuple[MediaType | None, float]:
    """One item of an Accept header with its quality; no media type for what is not served."""
    name, *words = (word.strip().lower() for word in text.split(";"))
    parameters = {
        key.strip().removeprefix("odata."): value for key, _, value in (w.partition("=") for w in words)
    }
    metadata = parameters.get("metadata", "").strip(' "')
    quality = read_quality(parameters.get("q", "1"))
    if name not in _FORMATS or metadata not in ("", *METADATA_LEVELS):
        return None, quality
    has_text_numbers = parameters.get("ieee754compatible", "").strip(' "') == "true"
    return MediaType(_FORMATS[name], metadata, has_text_numbers), quality


def read_quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def served(formats: Collection[str] = ("json", "ndjson", "csv")) -> str:
    """The sentence that names the formats of an address."""
    others = [name for name in ("application/x-ndjson", "text/csv") if _FORMATS[name] in formats]
    levels = ", ".join(METADATA_LEVELS)
    sentence = f"Served are application/json (odata.metadata={levels}; IEEE754Compatible=true)"
    return f"{sentence}, {' and '.join(others)}." if others else f"{sentence}."
