"""What the tests about funding share: the zone of a request."""

import pytest
from django.utils import timezone

from apps.core.models import Subscriber


@pytest.fixture(autouse=True)
def in_sydney():
    Subscriber.clear_cache()
    with timezone.override("Australia/Sydney"):
        yield
    Subscriber.clear_cache()
