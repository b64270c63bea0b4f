"""The errors of the API: one tree of exceptions, one OData format (decisions.md 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar


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


@dataclass(eq=False)
class ODataError(Exception):
    """A request that cannot be answered. Subclasses define the status and the code."""

    message: str
    target: str | None = None
    details: tuple[ErrorDetail, ...] = ()
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    status: ClassVar[int] = 400
    default_code: ClassVar[str] = "BadRequest"

    def __post_init__(self) -> None:
        self.code = self.code or self.default_code
        super().__init__(self.message)

    def as_json(self) -> dict[str, Any]:
        """``{"error": {"code", "message", "target"?, "details"?}}``."""
        return error_body(self.code, self.message, self.target, self.details)


def error_body(
    code: str, message: str, target: str | None = None, details: Iterable[ErrorDetail] = ()
) -> dict[str, Any]:
    """The OData error object."""
    error: dict[str, Any] = {"code": code, "message": message}
    if target is not None:
        error["target"] = target
    items = [detail.as_json() for detail in details]
    if items:
        error["details"] = items
    return {"error": error}


class BadQuery(ODataError):
    """An invalid query option, key or header."""

    default_code = "InvalidQuery"


class NotSupported(ODataError):
    """A part of OData that this service does not support."""

    status = 501
    default_code = "NotImplemented"


class BadBody(ODataError):
    """A body that cannot be parsed: invalid JSON, the wrong top level, too many levels."""

    default_code = "InvalidBody"


class InvalidRecords(ODataError):
    """A body whose records are invalid; nothing was stored."""

    default_code = "ValidationFailed"

    @classmethod
    def from_details(cls, details: Iterable[ErrorDetail], records: int) -> InvalidRecords:
        """The error for ``records`` invalid records, with the numbers in its message."""
        items = tuple(details)
        message = f"Nothing was stored: {plural(len(items), 'fault')} in {plural(records, 'record')}."
        return cls(message, details=items)


class UnconfirmedWarnings(ODataError):
    """Records without errors but with warnings, and a request without ``ignoreWarnings=true``."""

    default_code = "WarningsPresent"


class Unauthenticated(ODataError):
    """Missing or invalid credentials."""

    status = 401
    default_code = "Unauthenticated"


class Forbidden(ODataError):
    """An authenticated caller without the permission."""

    status = 403
    default_code = "Forbidden"


class NotFound(ODataError):
    """An unknown path or record."""

    status = 404
    default_code = "NotFound"


class MethodNotAllowed(ODataError):
    """A method that the path does not support."""

    status = 405
    default_code = "MethodNotAllowed"


class NotAcceptable(ODataError):
    """A response format that this service does not support."""

    status = 406
    default_code = "NotAcceptable"


class Conflict(ODataError):
    """A write that lost the race with another writer."""

    status = 409
    default_code = "Conflict"


class PreconditionFailed(ODataError):
    """An If-Match header with an ETag that is no longer the record's."""

    status = 412
    default_code = "PreconditionFailed"


class TooLarge(ODataError):
    """More bytes, records or items than the limit of a request."""

    status = 413
    default_code = "TooLarge"


class UnsupportedMediaType(ODataError):
    """A request format that this service does not support."""

    status = 415
    default_code = "UnsupportedMediaType"


class KeyReused(ODataError):
    """An Idempotency-Key of another request."""

    status = 422
    default_code = "IdempotencyKeyReused"


class TooManyRequests(ODataError):
    """A rate of requests above the caller's limit."""

    status = 429
    default_code = "TooManyRequests"


class Unavailable(ODataError):
    """A database or a storage that cannot be reached now."""

    status = 503
    default_code = "Unavailable"


def plural(number: int, noun: str) -> str:
    """``1 fault``, ``2 faults``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
