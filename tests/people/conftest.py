"""What the tests about people share: the zone of a request, and how a refusal is read."""

import pytest
from django.utils import timezone

from apps.base.errors import InvalidRecords
from apps.core.models import Subscriber
from tests.people.builders import posted


@pytest.fixture(autouse=True)
def in_sydney():
    Subscriber.clear_cache()
    with timezone.override("Australia/Sydney"):
        yield
    Subscriber.clear_cache()


@pytest.fixture
def refused(db):
    """``refused("staff", body)``: the (code, place) pairs of a refused body; ``[]`` when it is stored."""

    def post(path, *bodies):
        try:
            posted(path, *bodies)
        except InvalidRecords as refusal:
            return [(fault.code, fault.target.removeprefix("value[0]/")) for fault in refusal.details]
        return []

    return post
