"""Requests whose construction never fails."""

import codecs

from django.core.exceptions import SuspiciousOperation
from django.core.handlers.wsgi import WSGIRequest

from apps.base.errors import ServiceError
from apps.odata.errors import BadQuery, UnsupportedMediaType

#: The charsets of Content-Type that are read; a parser may refuse more of them.
TEXT_ENCODINGS = frozenset({"utf-8", "ascii", "iso8859-1", "cp1252"})


class CheckedRequest(WSGIRequest):
    """A request, and why it is refused before any view (``fault``).

    Django reads the Content-Type, and with a charset the query too, where it makes the request: what is
    raised there no handler would answer. Python has codecs of other things than texts, such as base64.
    """

    fault: ServiceError | None = None

    def __init__(self, environ: dict[str, object]) -> None:
        try:
            super().__init__(environ)
            is_text = self.encoding is None or codecs.lookup(self.encoding).name in TEXT_ENCODINGS
            fault: ServiceError | None = None if is_text else UnsupportedMediaType("Texts are sent in UTF-8.")
        except SuspiciousOperation:  # more parameters than DATA_UPLOAD_MAX_NUMBER_FIELDS
            fault = BadQuery("The query cannot be read.")
        except (LookupError, ValueError):
            fault = UnsupportedMediaType("The Content-Type cannot be read; texts are sent in UTF-8.")
        if fault is not None:
            super().__init__({**environ, "CONTENT_TYPE": ""})
            self.fault = fault
