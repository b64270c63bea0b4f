"""The lines of the log: what failed and where, and no value of a request or of a record.

Messages of exceptions quote what they are about: PostgreSQL the row, Django the value of a form. So a line
has the types of exceptions, their places and the database's codes; the request's id leads to the caller.
"""

import datetime as dt
import json
import logging
import traceback
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from django.contrib.admindocs.views import simplify_regex
from django.http import HttpRequest


class LineFormatter(logging.Formatter):
    """Formats in UTC, an event a line; the traceback of a failure follows."""

    def format(self, record: logging.LogRecord) -> str:
        record.exc_text = None  # another handler's formatter may have left the messages of exceptions here
        return super().format(record)

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        moment = dt.datetime.fromtimestamp(record.created, dt.UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def formatMessage(self, record: logging.LogRecord) -> str:
        request = getattr(record, "request", None)
        # Django's own lines quote the address, the Origin and the Referer.
        message = request_line(record, request) if isinstance(request, HttpRequest) else record.message
        # Nobody's text begins a line of its own.
        record.message = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:
        return "\n".join(exception_lines(ei[1]))


class JsonFormatter(LineFormatter):
    """The same events as JSON objects, one a line, with the figures of a request as members (``fields``)."""

    def format(self, record: logging.LogRecord) -> str:
        record.message = record.getMessage()
        self.formatMessage(record)
        event = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            **getattr(record, "fields", {"message": record.message}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            event["exception"] = list(exception_lines(record.exc_info[1]))
        return json.dumps(event)


def request_line(record: logging.LogRecord, request: HttpRequest) -> str:
    """``request 7f…: 500 GET admin/people/client/``: the pattern of the address instead of the address."""
    request_id = getattr(request, "request_id", "unknown")
    return f"request {request_id}: {getattr(record, 'status_code', '')} {request.method} {route_of(request)}"


def route_of(request: HttpRequest) -> str:
    """The pattern of a request's address, as people write it: ``/api/client/<key>/``."""
    return readable(request.resolver_match.route) if request.resolver_match else "(no such address)"


readable = lru_cache(simplify_regex)


def exception_lines(error: BaseException) -> Iterator[str]:
    """The places and the type of an exception, after those of its causes."""
    chain = [error]
    while (cause := cause_of(chain[-1])) is not None and cause not in chain:
        chain.append(cause)
    for each in reversed(chain):
        yield from "".join(traceback.format_tb(each.__traceback__)).splitlines()
        codes = [getattr(each, name, None) for name in ("sqlstate", "sqlite_errorname")]
        codes.append(getattr(getattr(each, "diag", None), "constraint_name", None))
        yield " ".join([type(each).__qualname__, *filter(None, codes)])
        if each is not error:
            yield "which led to:"


def cause_of(error: BaseException) -> BaseException | None:
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)
