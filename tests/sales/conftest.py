"""What the tests about sales share: how a refusal is read."""

import pytest

from apps.base.errors import InvalidRecords
from tests.people.builders import posted


@pytest.fixture
def refused(db):
    """``refused(body)``: the (code, place) pairs of a refused opportunity; ``[]`` when it is stored."""

    def post(body):
        try:
            posted("opportunity", body)
        except InvalidRecords as refusal:
            return [(fault.code, fault.target.removeprefix("value[0]/")) for fault in refusal.details]
        return []

    return post
