"""What a day's support is covered by (apps/engagements/coverage.py)."""

import uuid
from decimal import Decimal

import pytest

from apps.engagements.choices import ManagementType
from apps.engagements.coverage import Coverage, Support, coverage_of, coverages
from apps.odata import clock
from tests.engagements.builders import (
    END,
    START,
    a_booking,
    a_category_budget,
    a_pace_plan,
    a_plan,
    day,
)

pytestmark = pytest.mark.django_db

ITEM = "01_011_0107_1_1"
DAY = day("2026-08-15")


def covering(plan, on=DAY, item=ITEM, **words):
    return coverage_of(plan.participant_id, on, item, **words)


def test_a_support_is_covered_by_the_booking_for_its_category():
    booking = a_booking(category=1, budget=Decimal("500.00"))
    other = a_booking(booking.engagement, category=4)
    found = covering(booking.engagement)
    assert found == Coverage(plan=booking.engagement, budget=booking)
    assert (found.booking, found.left) == (booking, Decimal("500.00"))
    assert covering(booking.engagement, item=None, category=4).booking == other


def test_what_is_left_is_the_budget_less_what_is_claimed_waiting_and_used_elsewhere():
    amounts = {"claimed": "100.00", "paid": "90.00", "waiting": "30.00", "used_elsewhere": "20.50"}
    booking = a_booking(budget=Decimal("500.00"), **{name: Decimal(text) for name, text in amounts.items()})
    assert covering(booking.engagement).left == Decimal("349.50")


def test_a_contact_without_plans_is_covered_by_nothing():
    assert coverage_of(uuid.uuid4(), DAY, ITEM) == Coverage()


@pytest.mark.parametrize("on", [START, END])
def test_the_first_and_the_last_day_are_covered(on):
    booking = a_booking(booking_start_date=START, booking_end_date=END)
    assert covering(booking.engagement, on).booking == booking


@pytest.mark.parametrize("on", ["2026-06-30", "2027-07-01"])
def test_a_day_outside_every_plan_tells_the_nearest_plan_and_booking(on):
    booking = a_booking()
    found = covering(booking.engagement, day(on))
    assert found == Coverage(nearest_plan=booking.engagement, nearest_budget=booking)
    assert found.left is None


def test_the_nearest_of_several_plans_is_told():
    later = a_plan()
    earlier = a_plan(
        participant=later.participant, plan_start_date=day("2024-01-01"), plan_end_date=day("2024-12-31")
    )
    assert covering(earlier, day("2025-01-10")).nearest_plan == earlier
    assert covering(earlier, day("2026-06-10")).nearest_plan == later


def test_an_inactive_plan_covers_nothing_from_that_day_on():
    booking = a_booking(a_plan(no_active_plan_from_date=DAY))
    assert covering(booking.engagement, day("2026-08-14")).booking == booking
    assert covering(booking.engagement, DAY).plan is None


def test_an_archived_plan_covers_nothing():
    booking = a_booking(a_plan(archive_date=clock.now()))
    assert covering(booking.engagement) == Coverage()


def test_a_booking_for_another_category_covers_nothing():
    booking = a_booking(category=4)
    assert covering(booking.engagement) == Coverage(plan=booking.engagement)


def test_a_booking_whose_days_are_over_is_told_as_the_nearest():
    booking = a_booking(booking_end_date=day("2026-08-14"))
    assert covering(booking.engagement) == Coverage(plan=booking.engagement, nearest_budget=booking)


def test_a_booking_for_the_item_itself_comes_before_one_for_its_category():
    general = a_booking(category=1)
    special = a_booking(general.engagement, category=1, support_item=f" {ITEM.lower()}")
    assert covering(general.engagement).booking == special
    assert covering(general.engagement, item="01_002_0107_1_1").booking == general


def test_a_booking_managed_as_preferred_comes_first():
    agency = a_booking(management_type="Agency")
    managed = a_booking(agency.engagement, management_type="Plan")
    for management, expected in ((ManagementType.AGENCY, agency), (ManagementType.PLAN, managed)):
        assert covering(agency.engagement, management=management).booking == expected
    assert covering(agency.engagement, management=ManagementType.SELF).booking in (agency, managed)


def test_a_booking_with_money_left_comes_before_one_without():
    empty = a_booking(budget=Decimal("10.00"), claimed=Decimal("10.00"))
    full = a_booking(empty.engagement, budget=Decimal("10.00"))
    assert covering(empty.engagement).booking == full


def test_of_bookings_alike_the_later_one_covers():
    first = a_booking(booking_start_date=START)
    second = a_booking(first.engagement, booking_start_date=day("2026-08-01"))
    assert covering(first.engagement).booking == second
    assert covering(first.engagement, day("2026-07-31")).booking == first


def test_a_pace_plan_covers_by_category():
    budget = a_category_budget(category=16)
    found = covering(budget.engagement, item=None, category=16)
    assert (found.plan, found.budget, found.booking) == (budget.engagement, budget, None)
    assert covering(a_pace_plan(), item=None, category=16).budget is None


def test_a_thousand_supports_take_three_queries(django_assert_num_queries):
    bookings = [a_booking(category=category) for category in (1, 4, 7, 15)]
    items = ["01_011_0107_1_1", "04_104_0125_6_1", "07_002_0106_8_3", "15_056_0128_1_3"]
    supports = [
        Support(bookings[number % 4].engagement.participant_id, DAY, items[number % 4])
        for number in range(1_000)
    ]
    with django_assert_num_queries(3):
        found = coverages(supports)
        assert [each.booking for each in found] == bookings * 250
        assert {each.left for each in found} == {Decimal("100.00")}
        assert all(each.booking.engagement.plan_end_date == END for each in found)
