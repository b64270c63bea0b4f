"""The changes of a night, read by a delta link, against the claims that there are."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from apps.funding.models import Claim
from bench.calling import Caller

CHANGED = 500


def sync(caller: Caller) -> Iterator[str]:
    """The first read, a night of changes, the delta, and one in which nothing changed."""
    link, text = read(caller, "http://localhost/api/claim?", "first read")
    yield text
    with transaction.atomic():
        for claim in Claim.objects.order_by("guid")[:CHANGED]:
            claim.external_invoice_number = "Paid"
            claim.save()
    link, text = read(caller, link, f"{CHANGED} changes")
    yield text
    _, text = read(caller, link, "no change")
    yield text


def read(caller: Caller, link: str, name: str) -> tuple[str, str]:
    """Read all pages behind a link; the delta link, and what it cost."""
    records = size = statements = 0
    page: dict[str, Any] = {"@odata.nextLink": link}
    began = time.perf_counter()
    while "@odata.nextLink" in page:
        parts = urlsplit(page["@odata.nextLink"])
        request = caller.request(
            parts.path, parts.query, HTTP_PREFER="odata.track-changes, odata.maxpagesize=1000"
        )
        with CaptureQueriesContext(connection) as captured:
            body = caller(request)
        page = json.loads(body)
        records, size = records + len(page["value"]), size + len(body)
        statements += len(captured)
    seconds = time.perf_counter() - began
    text = f"{name}: {records:,} records, {size:,} bytes, {statements} statements, {seconds * 1000:,.0f} ms"
    return page["@odata.deltaLink"], text
