"""What remains of a budget, the amount per day, and when it runs out (apps/engagements/spending.py)."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.engagements.admin.period_bars import spent_amounts
from apps.engagements.spending import Spending
from tests.engagements.builders import START, a_booking, a_plan, day


def a_spending(today="2026-01-10", spent="0.00", budget="100.00", **amounts):
    """Of a budget for the first hundred days of 2026."""
    decimals = {name: Decimal(amount) for name, amount in amounts.items()}
    dates = day("2026-01-01"), day("2026-04-10"), day(today)
    return Spending(*dates, budget=Decimal(budget), **{"used_elsewhere": Decimal(spent), **decimals})


def test_days_count_the_first_and_the_last():
    assert a_spending().days == 100
    assert (a_spending().days_elapsed, a_spending().days_left) == (10, 90)
    assert (a_spending("2025-12-31").days_elapsed, a_spending("2025-12-31").days_left) == (0, 100)
    assert (a_spending("2026-05-01").days_elapsed, a_spending("2026-05-01").days_left) == (100, 0)


def test_what_remains_is_less_the_waiting_amount():
    spending = a_spending(spent="10.00", claimed="20.00", paid="15.00", waiting="5.00")
    assert (spending.spent, spending.remaining) == (Decimal(35), Decimal(65))
    segments = {name: amount for name, _, amount in spent_amounts(spending.used_elsewhere, spending)}
    assert segments == {"elsewhere": 10, "paid": 15, "claimed": 5, "waiting": 5}


def test_a_budget_spent_too_fast_runs_out_before_its_last_day():
    spending = a_spending(spent="20.00")  # two a day, eighty left: forty more days
    assert spending.run_out_date == day("2026-02-19")
    assert spending.days_before_end == 50
    assert spending.remaining_at_end == Decimal("-100.00")


def test_a_budget_spent_evenly_lasts_to_the_end():
    spending = a_spending(spent="10.00")
    assert (spending.run_out_date, spending.remaining_at_end) == (None, Decimal("0.00"))
    assert a_spending(spent="5.00").remaining_at_end == Decimal("50.00")


@pytest.mark.parametrize("spent", ["100.00", "100.01"])
def test_where_nothing_is_left_it_has_run_out_today(spent):
    assert a_spending(spent=spent).run_out_date == day("2026-01-10")


@pytest.mark.parametrize(
    "spending",
    [
        a_spending(),
        a_spending("2025-12-31", spent="5.00"),
        a_spending("2026-05-01", spent="99.00"),
        a_spending(budget="0.00"),
    ],
)
def test_there_is_no_forecast_before_the_start_after_the_end_or_without_spending(spending):
    assert spending.run_out_date is None


def test_percentages_are_whole_numbers():
    assert a_spending(spent="12.50").spent_percentage == 13
    assert a_spending(budget="0.00").spent_percentage == 0
    assert a_spending(budget="0.00", spent="1.00").spent_percentage == 100
    assert a_spending().elapsed_percentage == 10
    assert a_spending("2026-05-01").elapsed_percentage == 100


MONEY = st.decimals("0.00", "1000000.00", places=2)


@given(MONEY, MONEY, st.dates(day("2025-12-01"), day("2026-05-31")))
def test_a_run_out_date_is_never_past_nor_beyond_the_end(budget, spent, today):
    spending = a_spending(today.isoformat(), spent=str(spent), budget=str(budget))
    if spending.run_out_date is not None:
        assert today <= spending.run_out_date <= max(spending.last_day, today)
        assert spending.remaining <= 0 or spending.remaining_at_end <= 0


@pytest.mark.django_db
def test_a_plan_is_spent_as_its_bookings_are_and_for_as_long_as_it_is_active():
    plan = a_plan(no_active_plan_from_date=day("2026-07-11"))
    bookings = [
        a_booking(plan, used_elsewhere=Decimal("1.00"), claimed=Decimal("2.00"), paid=Decimal("1.50")),
        a_booking(plan, waiting=Decimal("4.00"), booking_start_date=day("2026-07-05")),
    ]
    whole = plan.spending(bookings, START)
    assert (whole.budget, whole.spent, whole.paid) == (Decimal(1000), Decimal(7), Decimal("1.50"))
    assert (whole.days, whole.days_left) == (10, 9)
    later = bookings[1].spending(START)
    assert (later.first_day, later.last_day, later.budget) == (
        day("2026-07-05"),
        day("2026-07-10"),
        Decimal(100),
    )
