"""What the tests about engagements share: the zone of a request, and a clock read anew."""

import pytest
from django.utils import timezone

from apps.core.models import Subscriber
from apps.odata import clock


@pytest.fixture(autouse=True)
def in_sydney():
    Subscriber.clear_cache()
    clock.reset_now()
    with timezone.override("Australia/Sydney"):
        yield
    Subscriber.clear_cache()
    clock.reset_now()
