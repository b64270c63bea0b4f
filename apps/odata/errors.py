"""Everything the API can refuse, in one tree of errors and one OData shape (decisions.md 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """One thing wrong with a request, at one place in it.

    ``code`` is a stable word (``Required``, ``NotUnique`` ...), ``target`` the place in wire names
    (``value[0]/LineItems[1]/Quantity``), ``severity`` is ``"error"`` or ``"warning"``.
    """

    code: str
    target: str | None
    message: str
    severity: str = "error"

    def as_json(self) -> dict[str, str]:
        """The fault as a member of ``details``; severity is only told for warnings."""
        detail = {"code": self.code, "message": self.message}
        if self.target is not None:
            detail["target"] = self.target
        if self.severity != "error":
            detail["severity"] = self.severity
        return detail


@dataclass(eq=False)
class ODataError(Exception):
    """A request that is refused. Subclasses fix status and code; the caller reads the message."""

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
    """The one shape of every refusal."""
    inner: dict[str, Any] = {"code": code, "message": message}
    if target is not None:
        inner["target"] = target
    told = [fault.as_json() for fault in details]
    if told:
        inner["details"] = told
    return {"error": inner}


class BadQuery(ODataError):
    """A query option, key or header that cannot be understood."""

    default_code = "InvalidQuery"


class NotSupported(ODataError):
    """Understood, part of OData, and not offered here."""

    status = 501
    default_code = "NotImplemented"


class BadBody(ODataError):
    """A body that cannot be read at all: no JSON, the wrong top level, too deep."""

    default_code = "InvalidBody"


class InvalidRecords(ODataError):
    """Faults in a readable body; nothing was stored."""

    default_code = "ValidationFailed"

    @classmethod
    def of(cls, faults: Iterable[ErrorDetail], records: int) -> InvalidRecords:
        """Sum up the faults of ``records`` faulty records in one sentence."""
        told = tuple(faults)
        return cls(
            f"Nothing was stored: {counted(len(told), 'fault')} in {counted(records, 'record')}.",
            details=told,
        )


class UnconfirmedWarnings(ODataError):
    """Only warnings, and the caller did not say ``ignoreWarnings=true``."""

    default_code = "WarningsPresent"


class Unauthenticated(ODataError):
    """No credentials, or credentials that do not hold."""

    status = 401
    default_code = "Unauthenticated"


class Forbidden(ODataError):
    """A known caller without the right."""

    status = 403
    default_code = "Forbidden"


class NotFound(ODataError):
    """No such path or record."""

    status = 404
    default_code = "NotFound"


class MethodNotAllowed(ODataError):
    """The path exists, the method is not offered on it."""

    status = 405
    default_code = "MethodNotAllowed"


class NotAcceptable(ODataError):
    """A format that is not served."""

    status = 406
    default_code = "NotAcceptable"


class Conflict(ODataError):
    """Another writer was first."""

    status = 409
    default_code = "Conflict"


class PreconditionFailed(ODataError):
    """If-Match names a state that is no longer the record's."""

    status = 412
    default_code = "PreconditionFailed"


class TooLarge(ODataError):
    """More bytes, records or items than a request may hold."""

    status = 413
    default_code = "TooLarge"


class UnsupportedMediaType(ODataError):
    """A body in a format that is not read."""

    status = 415
    default_code = "UnsupportedMediaType"


class KeyReused(ODataError):
    """An Idempotency-Key that was used for another request."""

    status = 422
    default_code = "IdempotencyKeyReused"


class TooManyRequests(ODataError):
    """The caller's rate is above what the subscriber set."""

    status = 429
    default_code = "TooManyRequests"


class Unavailable(ODataError):
    """The database or the storage cannot be reached now."""

    status = 503
    default_code = "Unavailable"


def counted(number: int, noun: str) -> str:
    """``1 fault``, ``2 faults``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
