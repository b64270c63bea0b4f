"""What the tests about funding share: a day and a participant of whom no warning tells."""

import pytest

from tests.funding.warned import TODAY, Scene


@pytest.fixture
def on_a_thursday(at):
    at(TODAY)


@pytest.fixture
def scene():
    return Scene()
