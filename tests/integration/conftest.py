"""A caller of version 2.1 with its own folder for the worker."""

import pytest

from tests.api.caller import LaterCaller, an_application
from tests.api.conftest import fresh_state  # noqa: F401  (a fixture)


@pytest.fixture
def application(db):
    """A program that may read and write everything."""
    return LaterCaller(an_application())
