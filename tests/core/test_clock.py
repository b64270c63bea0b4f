"""Days that are counted in years."""

import datetime as dt

import pytest

from apps.base.clock import years_after


@pytest.mark.parametrize(
    ("day", "years", "expected"),
    [
        ("2019-10-31", -7, "2012-10-31"),
        ("2016-02-29", 7, "2023-03-01"),
        ("2016-02-29", 8, "2024-02-29"),
        ("2028-02-29", -2, "2026-03-01"),
        # At most the calendar's end, and at least its beginning.
        ("2016-02-29", 8000, "9999-12-31"),
        ("2016-02-29", -2016, "0001-01-01"),
        ("0001-05-01", -1, "0001-01-01"),
    ],
)
def test_the_same_day_of_another_year(day, years, expected):
    assert years_after(dt.date.fromisoformat(day), years) == dt.date.fromisoformat(expected)
