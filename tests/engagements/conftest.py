"""What the tests about engagements share: the zone of a request, and a clock read anew."""

import pytest
from django.utils import timezone

from apps.base import clock
from apps.core.models import Subscriber


@pytest.fixture(autouse=True)
def in_sydney(monkeypatch):
    # On a busy machine a test takes longer than the cache lasts: its statements would be one more.
    monkeypatch.setattr(Subscriber, "CACHE_SECONDS", 3600)
    Subscriber.clear_cache()
    clock.reset_now()
    with timezone.override("Australia/Sydney"):
        yield
    Subscriber.clear_cache()
    clock.reset_now()
