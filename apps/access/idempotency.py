"""Idempotency keys: a caller repeats a POST whose response got lost, and its records are stored once.

The key, the response and the records are committed together. A second request with the same key that
arrives during the first waits at the unique constraint, and then gets the response to the first; when the
first failed nothing of its key is stored, and the second is served as the first.
"""

import datetime as dt
import hashlib
import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.http import HttpResponse
from rest_framework.request import Request

from apps.access.models import IdempotencyKey
from apps.base import clock
from apps.base.errors import Conflict, Gone, KeyReused
from apps.odata.delta.tokens import sight_of
from apps.odata.errors import BadQuery

_KEY = re.compile(r"[\x20-\x7e]{1,255}")

#: Headers of the first response that are sent again with its status and body; others are this request's.
REPEATED_HEADERS = (
    "Content-Type",
    "Location",
    "OData-Version",
    "OData-EntityId",
    "Preference-Applied",
    "ETag",
)


def respond_once(
    request: Request, respond: Callable[[], HttpResponse], content: bytes | None = None
) -> HttpResponse:
    """``respond()``, or its former response when this caller sent the same request and Idempotency-Key.

    ``content`` identifies the body, where that was read already: so any upload is recognised. ``respond``
    refuses by raising and returns a rendered response. Errors: 400 for a key that is not 1 to 255 printable
    ASCII characters, 422 ``IdempotencyKeyReused`` for a key of another request or caseload, 409 when another
    writer was faster.
    """
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return respond()
    length = request.META.get("CONTENT_LENGTH") or "0"
    # More digits than any size has would be an error to int().
    is_too_large = not length.isdecimal() or len(length) > 18 or int(length) > settings.API_MAX_BODY_BYTES
    if content is None and is_too_large:
        return respond()  # which refuses it without having it read first
    if not _KEY.fullmatch(key):
        raise BadQuery(
            "Idempotency-Key must be 1 to 255 printable ASCII characters.", code="InvalidIdempotencyKey"
        )
    caller: Any = request.auth
    try:
        with transaction.atomic():
            return stored_response(caller.identity, key, fingerprint(request, content), respond)
    except IntegrityError:
        # Constraints that are checked at the end of the transaction fail here.
        raise Conflict("Another request stored the same at the same time. Nothing was stored.") from None


def stored_response(
    caller: str, key: str, request_fingerprint: str, respond: Callable[[], HttpResponse]
) -> HttpResponse:
    """Within a transaction: the stored response, or ``respond()``, which is stored when it is a success."""
    expiry = clock.now() - dt.timedelta(seconds=settings.API_IDEMPOTENCY_SECONDS)
    IdempotencyKey.objects.filter(caller=caller, key=key, creation_date__lte=expiry).delete()
    stored, is_new = IdempotencyKey.objects.get_or_create(
        caller=caller, key=key, defaults={"fingerprint": request_fingerprint}
    )
    if not is_new:
        return repeat_response(stored, request_fingerprint)
    response = respond()
    if not 200 <= response.status_code < 300:
        transaction.set_rollback(True)
        return response
    stored.status = response.status_code
    stored.headers = {name: response[name] for name in REPEATED_HEADERS if name in response}
    stored.body = response.content
    stored.save(update_fields=["status", "headers", "body"])
    return response


def repeat_response(stored: IdempotencyKey, request_fingerprint: str) -> HttpResponse:
    """The stored response, if it was to the same request and its records were not erased since."""
    if stored.status == HTTPStatus.GONE:
        raise Gone("The records of this Idempotency-Key were erased. Use a new key for a new request.")
    if stored.fingerprint != request_fingerprint:
        raise KeyReused(
            "This Idempotency-Key was used for another request, or you saw other participants then. "
            "Use a new key for a new request."
        )
    response = HttpResponse(bytes(stored.body), status=stored.status, headers=stored.headers)
    if "Content-Type" not in stored.headers:
        del response["Content-Type"]
    response["Idempotency-Replayed"] = "true"
    return response


def fingerprint(request: Request, content: bytes | None = None) -> str:
    """One hash of all that makes a request the same request: method, path, query, body and caseload."""
    whole = hashlib.sha256()
    query = request.META.get("QUERY_STRING", "")
    caller: Any = request.auth
    sight = [sight_of(caller)] if caller.sees is not None else []
    for part in (str(request.method), request.path, query, *sight):
        text = part.encode("utf-8", "surrogatepass")
        whole.update(len(text).to_bytes(8, "big") + text)
    whole.update(request.body if content is None else content)
    return whole.hexdigest()
