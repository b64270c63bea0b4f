"""What the tests about people share: how a refusal is read."""

import pytest

from apps.base.errors import InvalidRecords
from tests.people.builders import posted


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
