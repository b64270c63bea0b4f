"""What the tests about engagements share: the zone of a request."""

import pytest
from django.utils import timezone


@pytest.fixture(autouse=True)
def in_sydney():
    with timezone.override("Australia/Sydney"):
        yield
