"""Requests as the web server hands them over: a WSGI environment in, the bytes of the answer out."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

from django.core.handlers.wsgi import WSGIHandler


class Refused(Exception):
    """The answer was no success."""


class Caller:
    """An API application with its bearer token, calling the whole stack without a network."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.application = WSGIHandler()

    def request(self, path: str, query: str = "", body: bytes = b"", **headers: str) -> dict[str, Any]:
        """The WSGI environment of a GET, or with a body of a POST; ``headers`` as ``HTTP_PREFER="…"``."""
        return {
            "REQUEST_METHOD": "POST" if body else "GET",
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_TYPE": "application/json" if body else "",
            "CONTENT_LENGTH": str(len(body)) if body else "",
            "HTTP_HOST": "localhost",
            "HTTP_ACCEPT": "application/json",
            "HTTP_AUTHORIZATION": f"Bearer {self.token}",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
            "wsgi.url_scheme": "http",
            "wsgi.version": (1, 0),
            "wsgi.multithread": False,
            "wsgi.multiprocess": True,
            "wsgi.run_once": False,
            **headers,
        }

    def __call__(self, environ: dict[str, Any]) -> bytes:
        """The body of the answer, which must be a success."""
        return b"".join(self.pieces(environ))

    def pieces(self, environ: dict[str, Any]) -> Any:
        """The body as it comes; a stream is never held as a whole."""
        statuses: list[str] = []
        response = self.application(environ, lambda status, headers, error=None: statuses.append(status))
        try:
            if not statuses[0].startswith("2"):
                raise Refused(f"{environ['PATH_INFO']}: {statuses[0]} {b''.join(response)[:400]!r}")
            yield from response
        finally:
            response.close()

    def json(self, environ: dict[str, Any]) -> Any:
        return json.loads(self(environ))
