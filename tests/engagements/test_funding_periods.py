"""What a day can draw on, and how amounts divide by days (engagements/funding_periods.py, amounts.py)."""

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.engagements.amounts import Amounts, DatedChange
from apps.engagements.funding_periods import (
    PeriodAmounts,
    draw,
    find_period,
    left_for,
    share_of_days,
    use_days,
    with_used_elsewhere,
)
from apps.engagements.models import FundingPeriod
from tests.engagements.builders import a_category_budget, add_amounts, with_periods

START = dt.date(2026, 7, 1)


def money(text):
    return Decimal(text)


def periods_of(*rows):
    """Periods of 30 days each: (released, used)."""
    found = []
    for number, (released, used) in enumerate(rows):
        first = START + dt.timedelta(days=30 * number)
        found.append(PeriodAmounts(first, first + dt.timedelta(days=29), money(released), money(used)))
    return found


#: Worked by hand: (released, used) of each period, and what is left for another support of each.
PLANS = {
    "nothing used, one period": ([("100", "0")], ["100"]),
    "a part used": ([("100", "40")], ["60"]),
    "used up to the cent": ([("100", "100")], ["0"]),
    "more was entered than released": ([("100", "130")], ["-30"]),
    "later money does not come early": ([("100", "100"), ("100", "0")], ["0", "100"]),
    "what is left is carried on": ([("100", "40"), ("100", "0")], ["60", "160"]),
    "the own period comes first": ([("100", "0"), ("100", "70")], ["100", "130"]),
    "beyond its own it draws on the earlier one": ([("100", "0"), ("100", "150")], ["50", "50"]),
    "all of both": ([("100", "0"), ("100", "200")], ["0", "0"]),
    "the latest of the earlier ones first": (
        [("100", "0"), ("50", "0"), ("10", "50")],
        ["100", "110", "110"],
    ),
    "it goes back as far as it must": ([("100", "0"), ("50", "0"), ("10", "100")], ["60", "60", "60"]),
    "what blocks the first does not block the second": ([("10", "10"), ("90", "30")], ["0", "60"]),
    "too much in the first takes nothing from the second": ([("10", "25"), ("90", "0")], ["-15", "90"]),
    "too much in the second": ([("10", "0"), ("90", "120")], ["0", "-20"]),
    "monthly, evenly": (
        [("10", "10")] * 6 + [("10", "0")] * 4,
        [*["0"] * 6, "10", "20", "30", "40"],
    ),
    "front-loaded": ([("80", "20"), ("10", "15"), ("10", "0")], ["55", "55", "65"]),
    "equipment at once": ([("5000", "4999.99")], ["0.01"]),
    "a period that releases nothing": ([("100", "30"), ("0", "20"), ("100", "0")], ["50", "50", "150"]),
    "nothing released at all": ([("0", "0"), ("0", "0")], ["0", "0"]),
    "a credit gives back": ([("100", "-20"), ("100", "0")], ["120", "220"]),
    "a credit in the second stays there": ([("100", "100"), ("100", "-20")], ["0", "120"]),
    "half-yearly, the first half spent by the second": ([("600", "0"), ("600", "900")], ["300", "300"]),
    "cents": ([("33.33", "33.32"), ("33.33", "0.02"), ("33.34", "0")], ["0.01", "33.32", "66.66"]),
    "the plan was cut short": ([("300", "290"), ("120", "0")], ["10", "130"]),
}


@pytest.mark.parametrize("name", PLANS)
def test_what_is_left_for_a_day(name):
    rows, left = PLANS[name]
    periods = periods_of(*rows)
    assert [left_for(periods, at) for at in range(len(rows))] == [money(each) for each in left]


def test_the_hand_worked_second_that_asks_too_much_blocks_the_first_as_well():
    """The overdrawn 20 of the second period were drawn as far as there was money: nothing is left of any."""
    first, second = draw(periods_of(("10", "0"), ("90", "120")))
    assert (first.left, second.left, second.missing, second.carried_in) == (0, 0, 20, 10)


#: (amount, first day, last day) of a support from the 1st of July, and its parts by periods of 30 days.
SHARES = {
    "one day": (("100", 0, 0), ["100", "0", "0"]),
    "within one period": (("100", 31, 40), ["0", "100", "0"]),
    "half and half": (("100", 29, 30), ["50", "50", "0"]),
    "a third of a cent": (("0.01", 29, 31), ["0", "0.01", "0"]),
    "over three": (("10", 29, 60), ["0.31", "9.38", "0.31"]),
    "cents that do not divide": (("100", 28, 30), ["66.67", "33.33", "0"]),
    "a credit": (("-100", 28, 30), ["-66.67", "-33.33", "0"]),
    "half a cent is rounded away from zero": (("0.01", 29, 30), ["0.01", "0", "0"]),
    "and so is that of a credit": (("-0.01", 29, 30), ["-0.01", "0", "0"]),
    "beyond the last period": (("90", 88, 90), ["0", "0", "60"]),
    "before the first": (("90", -1, 1), ["60", "0", "0"]),
}


def support_days(first, last):
    return START + dt.timedelta(days=first), START + dt.timedelta(days=last)


@pytest.mark.parametrize("name", SHARES)
def test_an_amount_divides_by_its_days(name):
    (amount, first, last), shares = SHARES[name]
    found = use_days(
        periods_of(("0", "0"), ("0", "0"), ("0", "0")), *support_days(first, last), money(amount)
    )
    assert [each.used for each in found] == [money(each) for each in shares]


@pytest.mark.django_db
@pytest.mark.parametrize("name", SHARES)
def test_the_database_divides_alike(name):
    (amount, first, last), shares = SHARES[name]
    component = a_category_budget()
    with_periods(
        component, *((str(each.first_day), str(each.last_day), "1") for each in periods_of(*[("0", "0")] * 3))
    )
    support = support_days(first, last)
    add_amounts([DatedChange(component.pk, *support, Amounts(waiting=money(amount)))])
    assert list(component.periods.values_list("waiting", flat=True)) == [money(each) for each in shares]
    component.refresh_from_db()
    assert component.waiting == money(amount)
    add_amounts([DatedChange(component.pk, *support, Amounts(waiting=-money(amount)))])
    assert not FundingPeriod.objects.exclude(waiting=0).exists()


amounts = st.integers(-50_000, 50_000).map(lambda cents: Decimal(cents) / 100)


@pytest.mark.django_db
@given(
    st.lists(st.tuples(amounts, st.integers(-5, 92), st.integers(0, 40), st.booleans()), max_size=8),
)
def test_many_supports_divide_in_the_database_as_in_python(supports):
    component = a_category_budget()
    periods = periods_of(("0", "0"), ("0", "0"), ("0", "0"))
    with_periods(component, *((str(each.first_day), str(each.last_day), "1") for each in periods))
    changes = []
    for amount, first, days, is_paid in supports:
        support = support_days(first, first + days)
        amounts = Amounts(amount, amount) if is_paid else Amounts(waiting=amount)
        changes.append(DatedChange(component.pk, *support, amounts))
        periods = use_days(periods, *support, amount)
    if changes:
        add_amounts(changes)
    assert [each.amounts.used for each in component.periods.all()] == [each.used for each in periods]
    component.refresh_from_db()
    counted = [each.amounts.claimed + each.amounts.waiting for each in changes]
    assert component.claimed + component.waiting == sum(counted, Decimal())


@given(st.data())
def test_parts_of_consecutive_periods_add_up(data):
    amount = data.draw(amounts)
    first = data.draw(st.integers(0, 50))
    last = data.draw(st.integers(first, 89))
    parts = use_days(periods_of(("0", "0"), ("0", "0"), ("0", "0")), *support_days(first, last), amount)
    assert sum(each.used for each in parts) == amount
    whole = (START, START + dt.timedelta(days=89))
    assert share_of_days(amount, support_days(first, last), whole) == amount


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 20)), max_size=25),
)
def test_the_agency_draws_the_same_in_any_order(released, supports):
    """As the agency: a support takes its own period's money, then the latest earlier; else it is refused."""
    periods = periods_of(*((str(each), "0") for each in released))
    left = list(released)
    for at, amount in ((at % len(released), amount) for at, amount in supports):
        had = amount <= sum(left[: at + 1])
        assert had == (amount <= left_for(periods, at))
        if not had:
            continue
        periods[at] = periods[at]._replace(used=periods[at].used + amount)
        for earlier in range(at, -1, -1):
            part = min(amount, left[earlier])
            left[earlier], amount = left[earlier] - part, amount - part
        assert [left_for(periods, each) for each in range(len(left))] == [
            sum(left[: each + 1]) for each in range(len(left))
        ]


def test_what_others_used_is_taken_from_the_earliest_money():
    periods = periods_of(("100", "20"), ("100", "0"), ("100", "0"))
    assert [each.used for each in with_used_elsewhere(periods, money("90"))] == [100, 10, 0]
    assert [each.used for each in with_used_elsewhere(periods, money("500"))] == [100, 100, 100]
    overdrawn = periods_of(("100", "130"), ("100", "0"))
    assert [each.used for each in with_used_elsewhere(overdrawn, money("10"))] == [130, 10]


def test_a_day_lies_in_one_period_or_none():
    periods = periods_of(("1", "0"), ("1", "0"))
    days = {-1: None, 0: 0, 29: 0, 30: 1, 59: 1, 60: None}
    assert {day: find_period(periods, START + dt.timedelta(days=day)) for day in days} == days
