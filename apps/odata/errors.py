"""Errors of requests that the protocol does not understand or support; the others are in `base.errors`."""

from apps.base.errors import ServiceError


class BadQuery(ServiceError, status=400, code="InvalidQuery"):
    """An invalid query option, key or header."""


class TooCostly(ServiceError, status=400):
    """A query that takes longer than a request may."""


class NotSupported(ServiceError, status=501, code="NotImplemented"):
    """A part of OData that this service does not support."""


class MethodNotAllowed(ServiceError, status=405):
    """A method that the path does not support."""


class NotAcceptable(ServiceError, status=406):
    """A response format that this service does not support."""


class UnsupportedMediaType(ServiceError, status=415):
    """A request format that this service does not support."""


class FailedDependency(ServiceError, status=424):
    """A request of a batch that was not served, because another one failed."""


class PreconditionRequired(ServiceError, status=428):
    """A change of a record without an If-Match header."""
