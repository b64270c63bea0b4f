"""A person at a browser: signed in, on a window of any width."""

import functools

import pytest

from tests.browser.journeys import FINISHED, table
from tests.people.records import an_administrator


def pytest_terminal_summary(terminalreporter):
    if FINISHED:  # of this process: with ``-n 0``
        terminalreporter.section("journeys")
        terminalreporter.write_line(table())


@pytest.fixture
def ada():
    return an_administrator(first_name="Ada", last_name="Byron", primary_email="ada@example.org")


@pytest.fixture
def window_of(open_window):
    """window_of(width, user) -> a page on which that person has signed in."""
    return open_window


@pytest.fixture
def open_window(open_window, ada):
    """open_window(width) -> a page on which Ada has signed in."""
    return functools.partial(open_window, user=ada)
