"""The individual requests of a batch and their responses, as both formats write them."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.conf import settings

from apps.base.errors import BadBody, TooLarge

#: Identifiers are of characters that a URL shows unescaped (the rule ``request-id`` of OData's grammar).
_IDENTIFIER = re.compile(r"[A-Za-z0-9._~-]{1,128}")
_READING_METHODS = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class IndividualRequest:
    """One request of a batch.

    ``url`` are the bytes of its URL, percent-encoded; the names of ``headers`` are in lower case. ``id`` is
    its Content-ID, empty without one; ``depends_on`` are identifiers of requests and groups before it.
    """

    method: str
    url: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    id: str = ""
    depends_on: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class AtomicityGroup:
    """Requests that all succeed or none: a change set."""

    name: str
    requests: Sequence[IndividualRequest]


BatchItem = IndividualRequest | AtomicityGroup


@dataclass(frozen=True, slots=True)
class IndividualResponse:
    """The response to one request; ``entity_url`` is the address of the record that it created or found."""

    id: str
    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes
    entity_url: str = ""

    @property
    def is_error(self) -> bool:
        return self.status >= 400


@dataclass(frozen=True, slots=True)
class GroupResponse:
    """The responses to an atomicity group; ``error`` is the one by which all of it failed."""

    name: str
    responses: Sequence[IndividualResponse]
    error: IndividualResponse | None = None

    @property
    def is_error(self) -> bool:
        return self.error is not None


@dataclass(frozen=True, slots=True)
class BatchResponse:
    """The responses in the order of their requests; ``boundary`` is a text that stands in none of them."""

    items: Sequence[IndividualResponse | GroupResponse]
    boundary: str = field(default_factory=lambda: uuid.uuid4().hex)


def requests_of(item: BatchItem) -> Sequence[IndividualRequest]:
    """The requests of a group, or the one request."""
    return item.requests if isinstance(item, AtomicityGroup) else (item,)


def check_number(requests: int) -> None:
    """``TooLarge`` for more requests than a batch may hold."""
    if requests > settings.API_MAX_BATCH_REQUESTS:
        raise TooLarge(
            f"A batch holds at most {settings.API_MAX_BATCH_REQUESTS:,} requests; divide this one."
        )


def check_items(items: Sequence[BatchItem]) -> None:
    """``BadBody`` for repeated identifiers, dependencies on no earlier request and a GET in a change set."""
    known: set[str] = set()
    for item in items:
        for request in requests_of(item):
            for name in request.depends_on:
                if name not in known:
                    raise BadBody(
                        f"dependsOn: no request or group before {request.id} is named {name[:60]!r}."
                    )
            if request.id:
                add_identifier(request.id, known)
        if isinstance(item, AtomicityGroup):
            add_identifier(item.name, known)
            for request in item.requests:
                if request.method in _READING_METHODS:
                    raise BadBody(f"A change set holds no {request.method}; put it before or after.")


def add_identifier(name: str, known: set[str]) -> None:
    if not _IDENTIFIER.fullmatch(name):
        raise BadBody(
            f"{name[:60]!r} is no identifier of a request: letters, digits and - . _ ~ are allowed."
        )
    if name in known:
        raise BadBody(f"The identifier {name} is given twice.")
    known.add(name)
