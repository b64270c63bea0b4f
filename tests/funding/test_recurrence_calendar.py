"""The calendar of recurring invoices."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.funding.choices import RecurringFrequency
from apps.funding.services.recurrence_calendar import Recurrence, add_periods, periods_until

D = dt.date

DATES = st.dates(D(1990, 1, 1), D(2090, 12, 31))
FREQUENCIES = st.sampled_from(RecurringFrequency.values)
PERIODS = st.integers(-200, 200)


def days_of(since, frequency, until, entered=None):
    return [day for _, day in Recurrence(since, frequency, entered or since).days(until)]


def follows(since, frequency, first, last, period=1):
    return Recurrence(since, frequency, first).move_days(first, last, period)


# --- the days -------------------------------------------------------------------------------------------


def test_month_ends_are_counted_from_the_original_day():
    assert days_of(D(2026, 1, 31), "Monthly", D(2026, 6, 30)) == [
        D(2026, 2, 28),
        D(2026, 3, 31),
        D(2026, 4, 30),
        D(2026, 5, 31),
        D(2026, 6, 30),
    ]


def test_a_leap_day_comes_round_on_the_28th_until_there_is_one_again():
    assert days_of(D(2024, 2, 29), "Yearly", D(2028, 12, 31)) == [
        D(2025, 2, 28),
        D(2026, 2, 28),
        D(2027, 2, 28),
        D(2028, 2, 29),
    ]


@pytest.mark.parametrize(
    ("frequency", "expected"),
    [("Daily", D(2026, 7, 2)), ("Weekly", D(2026, 7, 8)), ("Fortnightly", D(2026, 7, 15))],
)
def test_days_and_weeks_are_counted_in_days(frequency, expected):
    assert days_of(D(2026, 7, 1), frequency, D(2026, 12, 31))[0] == expected


def test_the_entered_invoice_stands_for_its_own_period():
    assert days_of(D(2026, 7, 1), "Monthly", D(2026, 7, 31)) == []
    assert days_of(D(2026, 7, 1), "Monthly", D(2026, 8, 1)) == [D(2026, 8, 1)]


def test_a_calendar_that_began_earlier_goes_on_after_the_entered_invoice():
    assert days_of(D(2026, 1, 1), "Monthly", D(2026, 9, 1), entered=D(2026, 7, 1)) == [
        D(2026, 8, 1),
        D(2026, 9, 1),
    ]


def test_a_calendar_that_begins_later_begins_on_its_first_day():
    days = days_of(D(2026, 9, 1), "Monthly", D(2026, 10, 31), entered=D(2026, 7, 1))
    assert days == [D(2026, 9, 1), D(2026, 10, 1)]


def test_nothing_comes_round_before_the_calendar_begins():
    assert days_of(D(2026, 9, 1), "Daily", D(2026, 8, 31), entered=D(2026, 7, 1)) == []


# --- the dates ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frequency", "first", "last", "period", "expected"),
    [
        ("Monthly", D(2026, 9, 1), D(2026, 9, 30), 1, (D(2026, 10, 1), D(2026, 10, 31))),
        ("Monthly", D(2026, 1, 1), D(2026, 1, 31), 1, (D(2026, 2, 1), D(2026, 2, 28))),
        ("Monthly", D(2026, 2, 1), D(2026, 2, 28), 12, (D(2027, 2, 1), D(2027, 2, 28))),
        ("Monthly", D(2026, 7, 15), D(2026, 8, 14), 2, (D(2026, 9, 15), D(2026, 10, 14))),
        ("Monthly", D(2026, 1, 31), D(2026, 1, 31), 1, (D(2026, 2, 28), D(2026, 2, 28))),
        ("Monthly", D(2026, 1, 31), D(2026, 2, 27), 1, (D(2026, 2, 28), D(2026, 3, 30))),
        ("Monthly", D(2026, 7, 6), D(2026, 7, 10), 1, (D(2026, 8, 6), D(2026, 8, 10))),
        ("Yearly", D(2024, 2, 29), D(2025, 2, 27), 4, (D(2028, 2, 29), D(2029, 2, 27))),
        ("Yearly", D(2025, 7, 1), D(2026, 6, 30), 1, (D(2026, 7, 1), D(2027, 6, 30))),
        ("Weekly", D(2026, 7, 6), D(2026, 7, 12), 3, (D(2026, 7, 27), D(2026, 8, 2))),
        ("Daily", D(2026, 7, 6), D(2026, 7, 6), 40, (D(2026, 8, 15), D(2026, 8, 15))),
    ],
)
def test_dates_are_those_of_the_next_period(frequency, first, last, period, expected):
    assert follows(first, frequency, first, last, period) == expected


def test_the_invoice_begins_on_the_original_day_again_after_a_short_month():
    # Entered for the period of 28 February of a calendar that counts from 31 January.
    recurrence = Recurrence(D(2026, 1, 31), "Monthly", D(2026, 2, 28))
    assert recurrence.entered_period == 1
    assert recurrence.first_day(2) == D(2026, 3, 31)


def test_an_invoice_between_two_days_of_the_calendar_keeps_its_distance():
    recurrence = Recurrence(D(2026, 7, 1), "Monthly", D(2026, 7, 6))
    assert list(recurrence.days(D(2026, 8, 31))) == [(1, D(2026, 8, 1))]
    assert recurrence.move_days(D(2026, 7, 6), D(2026, 7, 10), 1) == (D(2026, 8, 6), D(2026, 8, 10))


def test_an_invoice_of_a_later_period_keeps_its_distance_from_that():
    recurrence = Recurrence(D(2026, 5, 1), "Monthly", D(2026, 7, 6))
    assert recurrence.entered_period == 2
    assert recurrence.move_days(D(2026, 7, 6), D(2026, 7, 10), 3) == (D(2026, 8, 6), D(2026, 8, 10))


def test_beyond_the_calendar_is_an_overflow():
    with pytest.raises(OverflowError):
        add_periods(D(9999, 12, 1), "Monthly", 1)
    with pytest.raises(OverflowError):
        add_periods(D(9999, 12, 31), "Daily", 1)


# --- whatever the days ----------------------------------------------------------------------------------


@given(DATES, FREQUENCIES, PERIODS)
def test_later_periods_are_later(day, frequency, periods):
    assert add_periods(day, frequency, periods) < add_periods(day, frequency, periods + 1)
    assert add_periods(day, frequency, 0) == day


@given(DATES, FREQUENCIES, PERIODS)
def test_the_day_of_the_month_is_the_original_or_the_last(day, frequency, periods):
    there = add_periods(day, frequency, periods)
    if frequency in ("Monthly", "Yearly"):
        assert there.day == day.day or (there.day < day.day and (there + dt.timedelta(1)).day == 1)
    else:
        assert (there - day).days % {"Daily": 1, "Weekly": 7, "Fortnightly": 14}[frequency] == 0


@given(DATES, DATES, FREQUENCIES)
def test_the_last_period_that_has_begun_is_found(day, last, frequency):
    periods = periods_until(day, last, frequency)
    assert add_periods(day, frequency, periods) <= last < add_periods(day, frequency, periods + 1)


@given(DATES, FREQUENCIES, st.integers(-400, 400), st.integers(0, 500))
def test_days_come_in_order_once_each_after_the_entered_invoice(since, frequency, before, length):
    entered = since + dt.timedelta(days=before)
    until = entered + dt.timedelta(days=length)
    days = days_of(since, frequency, until, entered)
    assert days == sorted(set(days))
    assert all(since <= day <= until and day > entered for day in days)


@given(DATES, FREQUENCIES, st.integers(0, 60), st.integers(1, 30), st.integers(0, 400))
def test_two_runs_make_what_one_makes(since, frequency, offset, middle, length):
    """Whatever day a run was made on, the next one goes on where it ended."""
    entered = since + dt.timedelta(days=offset)
    until = entered + dt.timedelta(days=length)
    early = days_of(since, frequency, min(until, entered + dt.timedelta(days=middle)), entered)
    assert days_of(since, frequency, until, entered)[: len(early)] == early


@given(DATES, FREQUENCIES, st.integers(-40, 40), st.integers(0, 800), st.integers(1, 40))
def test_dates_stay_in_order_and_nothing_shrinks_below_a_day(since, frequency, offset, length, ahead):
    entered = since + dt.timedelta(days=offset)
    recurrence = Recurrence(since, frequency, entered)
    first, last = recurrence.move_days(
        entered, entered + dt.timedelta(days=length), recurrence.entered_period + ahead
    )
    assert entered < first <= last


@given(DATES, FREQUENCIES, st.integers(1, 24))
def test_whole_periods_follow_each_other_without_a_gap(since, frequency, ahead):
    end = add_periods(since, frequency, 1) - dt.timedelta(days=1)
    recurrence = Recurrence(since, frequency, since)
    _, last = recurrence.move_days(since, end, ahead)
    first, _ = recurrence.move_days(since, end, ahead + 1)
    assert first - last == dt.timedelta(days=1)
