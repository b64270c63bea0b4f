"""Lets a caller repeat a POST whose answer got lost, without its records being stored twice.

The key, the answer and the records are committed together. A second request with the same key that
comes while the first is at work waits at the unique constraint, and then gets the first one's answer;
when the first failed nothing is left of its key, and the second goes ahead.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.http import HttpResponse
from rest_framework.request import Request

from apps.access.models import IdempotencyKey
from apps.odata import clock
from apps.odata.errors import BadQuery, Conflict, KeyReused

_KEY = re.compile(r"[\x20-\x7e]{1,255}")

#: What of the first answer is given again, besides status and body. The rest is this request's own.
KEPT_HEADERS = ("Content-Type", "Location", "OData-Version", "OData-EntityId", "Preference-Applied", "ETag")


def replayable(
    request: Request, answer: Callable[[], HttpResponse], asked: bytes | None = None
) -> HttpResponse:
    """``answer()``, or what it was when this caller sent the same request with the same Idempotency-Key.

    ``asked`` says what the body said, where that was read already: so any upload is known again.
    ``answer`` refuses by raising and returns a rendered response. Errors: 400 for a key that is not 1 to
    255 printable ASCII characters, 422 ``IdempotencyKeyReused`` for a key of another request, 409 when
    another writer won while this one was at work.
    """
    key = request.headers.get("Idempotency-Key")
    if key is None or (asked is None and is_too_large(request)):
        return answer()  # a body that is too large it refuses, without having it read first
    if not _KEY.fullmatch(key):
        raise BadQuery(
            "Idempotency-Key must be 1 to 255 printable ASCII characters.", code="InvalidIdempotencyKey"
        )
    caller: Any = request.auth
    try:
        with transaction.atomic():
            return once(caller.identity, key, fingerprint(request, asked), answer)
    except IntegrityError:
        # Constraints that wait for the end of the transaction now speak here.
        raise Conflict("Another request stored the same at the same time. Nothing was stored.") from None


def once(caller: str, key: str, asked: str, answer: Callable[[], HttpResponse]) -> HttpResponse:
    """Within a transaction: the kept answer, or ``answer()`` and keep it when it is a success."""
    forgotten = clock.now() - dt.timedelta(seconds=settings.API_IDEMPOTENCY_SECONDS)
    IdempotencyKey.objects.filter(caller=caller, key=key, creation_date__lte=forgotten).delete()
    kept, is_new = IdempotencyKey.objects.get_or_create(
        caller=caller, key=key, defaults={"fingerprint": asked}
    )
    if not is_new:
        return replayed(kept, asked)
    response = answer()
    if not 200 <= response.status_code < 300:
        transaction.set_rollback(True)
        return response
    kept.status = response.status_code
    kept.headers = {name: response[name] for name in KEPT_HEADERS if name in response}
    kept.body = response.content
    kept.save(update_fields=["status", "headers", "body"])
    return response


def replayed(kept: IdempotencyKey, asked: str) -> HttpResponse:
    """The answer that was kept, if it was to the same request."""
    if kept.fingerprint != asked:
        raise KeyReused("This Idempotency-Key was used for another request. Use a new key for a new request.")
    response = HttpResponse(bytes(kept.body), status=kept.status, headers=kept.headers)
    if "Content-Type" not in kept.headers:
        del response["Content-Type"]
    response["Idempotency-Replayed"] = "true"
    return response


def is_too_large(request: Request) -> bool:
    told = request.META.get("CONTENT_LENGTH") or "0"
    # More digits than any size has would be an error to int().
    return not told.isdecimal() or len(told) > 18 or int(told) > settings.API_MAX_BODY_BYTES


def fingerprint(request: Request, asked: bytes | None = None) -> str:
    """One hash of all that makes a request the same request: method, path, query and body."""
    whole = hashlib.sha256()
    query = request.META.get("QUERY_STRING", "")
    for part in (str(request.method), request.path, query):
        text = part.encode("utf-8", "surrogatepass")
        whole.update(len(text).to_bytes(8, "big") + text)
    whole.update(request.body if asked is None else asked)
    return whole.hexdigest()
