"""Exceptions for what cannot be done: one tree, one format.

Those of the protocol alone are in `odata.errors`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """One error of a request and its target.

    ``code`` is a stable word (``Required``, ``NotUnique`` ...), ``target`` a path of wire names
    (``value[0]/LineItems[1]/Quantity``), ``severity`` is ``"error"`` or ``"warning"``.
    """

    code: str
    target: str | None
    message: str
    severity: str = "error"

    def as_json(self) -> dict[str, str]:
        """The item of ``details``; only warnings have a ``severity`` in it."""
        detail = {"code": self.code, "message": self.message}
        if self.target is not None:
            detail["target"] = self.target
        if self.severity != "error":
            detail["severity"] = self.severity
        return detail


def system_reason(error: OSError) -> str:
    """The sentence of the system for what failed, without the path of the server that it names."""
    return str(error.strerror or error)


class Refusal(Exception):
    """Raised with a sentence that says why nothing was done."""


@dataclass(eq=False)
class ServiceError(Exception):
    """Something that cannot be done; its code is the name of its class, unless that declares another.

    ``status`` is the HTTP status that says it best.
    """

    message: str
    target: str | None = None
    details: tuple[ErrorDetail, ...] = ()
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    status: ClassVar[int] = 400
    default_code: ClassVar[str] = "BadRequest"

    def __init_subclass__(cls, status: int | None = None, code: str = "") -> None:
        if status is not None:
            cls.status, cls.default_code = status, code or cls.__name__

    def __post_init__(self) -> None:
        self.code = self.code or self.default_code
        super().__init__(self.message)

    def as_json(self) -> dict[str, object]:
        """``{"error": {"code", "message", "target"?, "details"?}}``."""
        error: dict[str, object] = {"code": self.code, "message": self.message}
        if self.target is not None:
            error["target"] = self.target
        if self.details:
            error["details"] = [detail.as_json() for detail in self.details]
        return {"error": error}


class BadBody(ServiceError, status=400, code="InvalidBody"):
    """A body that cannot be parsed: invalid JSON, the wrong top level, too many levels."""


class InvalidRecords(ServiceError, status=400, code="ValidationFailed"):
    """A body whose records are invalid; nothing was stored."""

    @classmethod
    def from_details(cls, details: Iterable[ErrorDetail], records: int) -> InvalidRecords:
        """The error for ``records`` invalid records, with the numbers in its message."""
        items = tuple(details)
        message = f"Nothing was stored: {plural(len(items), 'fault')} in {plural(records, 'record')}."
        return cls(message, details=items)


class UnconfirmedWarnings(ServiceError, status=400, code="WarningsPresent"):
    """Records without errors but with warnings, and a request without ``ignoreWarnings=true``."""


class Unauthenticated(ServiceError, status=401):
    """Missing or invalid credentials."""


class Forbidden(ServiceError, status=403):
    """An authenticated caller without the permission."""


class NotFound(ServiceError, status=404):
    """An unknown path or record."""


class Conflict(ServiceError, status=409):
    """A write that lost the race with another writer, or that the state of the record forbids."""


class Gone(ServiceError, status=410):
    """A delta link that the changes since cannot be told for."""


class PreconditionFailed(ServiceError, status=412):
    """An If-Match header with an ETag that is no longer the record's."""


RECORD_CHANGED = "The record was changed since it was read; read it again."


class TooLarge(ServiceError, status=413):
    """More bytes, records or items than the limit of a request."""


class KeyReused(ServiceError, status=422, code="IdempotencyKeyReused"):
    """An Idempotency-Key of another request."""


class TooManyRequests(ServiceError, status=429):
    """A rate of requests above the caller's limit."""


class InternalError(ServiceError, status=500):
    """A fault of the service; its message has the request's id and nothing of the inside."""


class Unavailable(ServiceError, status=503):
    """A database or a storage that cannot be reached now."""


#: The header of a 503: by then a database that was restarted answers.
RETRY_AFTER = {"Retry-After": "5"}


def plural(number: int, noun: str) -> str:
    """``1 fault``, ``2 faults``, ``2 entries``."""
    if number != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{number:,} {noun}"
