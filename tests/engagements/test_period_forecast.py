"""Run-out within a funding period: figures worked out by hand."""

import datetime as dt
from decimal import Decimal

from apps.engagements.funding_periods import PeriodAmounts
from apps.engagements.period_forecast import forecast_period

ZERO = Decimal("0.00")
#: Of 31 and of 28 days.
JANUARY = (dt.date(2026, 1, 1), dt.date(2026, 1, 31))
FEBRUARY = (dt.date(2026, 2, 1), dt.date(2026, 2, 28))


def periods(january, february, released="1000.00"):
    return [
        PeriodAmounts(*JANUARY, Decimal(released), Decimal(january)),
        PeriodAmounts(*FEBRUARY, Decimal(released), Decimal(february)),
    ]


def test_a_period_spent_too_fast_is_short_before_its_end():
    # 20 days used 1,000: 50 a day. 500 are left for 11 days, which need 550.
    found = forecast_period(periods("1000", "0", "1500"), ZERO, dt.date(2026, 1, 20))
    assert (found.left, found.per_day) == (Decimal("500.00"), Decimal(50))
    assert found.run_out_date == dt.date(2026, 1, 30)
    assert found.short == Decimal("50.00")


def test_money_of_later_periods_is_not_counted():
    found = forecast_period(periods("1000", "0"), ZERO, dt.date(2026, 1, 20))
    assert found.left == ZERO
    assert found.run_out_date == dt.date(2026, 1, 20)
    assert found.short == Decimal("550.00")


def test_what_the_period_before_left_makes_a_period_last():
    # 20 days used 800: 40 a day. 200 and the 500 of January are left for 8 days, which need 320.
    found = forecast_period(periods("500", "800"), ZERO, dt.date(2026, 2, 20))
    assert found.left == Decimal("700.00")
    assert found.run_out_date is None
    assert found.left_at_end == Decimal("380.00")
    assert found.short == ZERO


def test_a_period_that_was_used_up_takes_nothing_from_the_next():
    # January came to 200 more than it had; all of February's money is there.
    found = forecast_period(periods("1200", "0"), ZERO, dt.date(2026, 2, 20))
    assert found.left == Decimal("1000.00")
    assert found.run_out_date is None


def test_a_period_that_has_just_begun_has_the_pace_of_the_one_before():
    # January: 1,550 in 31 days, 50 a day. 450 of it and 1,900 are left for 23 days, which need 1,150.
    found = forecast_period(periods("1550", "100", "2000"), ZERO, dt.date(2026, 2, 5))
    assert (found.per_day, found.left) == (Decimal(50), Decimal("2350.00"))
    assert found.left_at_end == Decimal("1200.00")
    assert forecast_period(periods("1550", "100", "2000"), ZERO, dt.date(2026, 2, 14)).per_day < 8


def test_what_others_used_is_not_there_and_is_no_pace():
    found = forecast_period(periods("200", "0"), Decimal("300.00"), dt.date(2026, 1, 20))
    assert (found.left, found.per_day) == (Decimal("500.00"), Decimal(10))


def test_nothing_used_yet_lasts():
    found = forecast_period(periods("0", "0"), ZERO, dt.date(2026, 1, 2))
    assert (found.run_out_date, found.left_at_end) == (None, Decimal("1000.00"))


def test_there_is_no_forecast_outside_of_periods():
    assert forecast_period(periods("0", "0"), ZERO, dt.date(2025, 12, 31)) is None
    assert forecast_period(periods("0", "0"), ZERO, dt.date(2026, 3, 1)) is None
