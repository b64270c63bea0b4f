"""What the history calls a change."""

import datetime as dt
from zoneinfo import ZoneInfo

from apps.core import history


def test_a_moment_in_the_hour_of_a_clock_change_is_no_change_in_another_zone():
    first = dt.datetime(2025, 4, 6, 2, 30, tzinfo=ZoneInfo("Australia/Sydney"))
    assert history.values_are_equal(first, first.astimezone(dt.UTC))
    assert not history.values_are_equal(first, first.replace(fold=1))
