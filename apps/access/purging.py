"""Deletes what no request will ask for again."""

from __future__ import annotations

import datetime as dt
import time

from django.conf import settings

from apps.access.metering import MINUTES_OF_A_DAY
from apps.access.models import AccessToken, IdempotencyKey, Usage
from apps.odata import clock


def purge_expired() -> dict[str, int]:
    """Delete tokens, idempotency keys and usage counts whose time is over; how many rows of each went."""
    now = clock.now()
    forgotten = now - dt.timedelta(seconds=settings.API_IDEMPOTENCY_SECONDS)
    last_minute = int(time.time() // 60) - MINUTES_OF_A_DAY
    expired = {
        "access tokens": AccessToken.objects.filter(expires_at__lte=now),
        "idempotency keys": IdempotencyKey.objects.filter(creation_date__lte=forgotten),
        "usage counts": Usage.objects.filter(minute__lt=last_minute),
    }
    return {what: rows.delete()[0] for what, rows in expired.items()}
