"""Coverage of supports (apps/engagements/coverage.py)."""

import uuid
from decimal import Decimal

import pytest

from apps.base import clock
from apps.base.batched_queries import fetch_all
from apps.engagements.choices import ManagementType
from apps.engagements.coverage import Coverage, Support, load_coverages, plan_query
from apps.engagements.models import CategoryBudget
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


def coverages_of(supports, released=None):
    """The coverage of each support, in two trips as the services of bills load them."""
    [plan_rows] = fetch_all([plan_query({support.contact for support in supports})])
    return load_coverages(supports, plan_rows, released)


def a_coverage(plan, on=DAY, item=ITEM, category=1, **preferences):
    preferences = {"pace_category": category, **preferences}
    return coverages_of([Support(plan.participant_id, on, item, category, **preferences)])[0]


def keys(found):
    """The keys of what covers, or comes closest, by its name in a Coverage."""
    records = {name: getattr(found, name) for name in ("plan", "budget", "nearest_plan", "nearest_budget")}
    return {name: record.pk for name, record in records.items() if record is not None}


def test_a_support_is_covered_by_the_booking_for_its_category():
    booking = a_booking(category=1, budget=Decimal("500.00"))
    other = a_booking(booking.engagement, category=4)
    found = a_coverage(booking.engagement)
    assert keys(found) == {"plan": booking.engagement_id, "budget": booking.pk}
    assert (found.budget.pk, found.budget.remaining) == (booking.pk, Decimal("500.00"))
    assert a_coverage(booking.engagement, item=None, category=4).budget.pk == other.pk


def test_of_two_plans_of_a_day_the_one_that_began_later_covers_it():
    plan = a_plan()
    later = a_plan(participant=plan.participant, plan_start_date=DAY)
    budgets = {each.pk: a_booking(each, category=1).pk for each in (plan, later)}
    for support, expected in ((DAY, later), (DAY - DAY.resolution, plan)):
        assert keys(a_coverage(plan, on=support)) == {"plan": expected.pk, "budget": budgets[expected.pk]}


def test_what_remains_is_the_budget_less_claimed_waiting_and_used_elsewhere():
    amounts = {"claimed": "100.00", "paid": "90.00", "waiting": "30.00", "used_elsewhere": "20.50"}
    booking = a_booking(budget=Decimal("500.00"), **{name: Decimal(text) for name, text in amounts.items()})
    assert a_coverage(booking.engagement).budget.remaining == Decimal("349.50")


def test_a_contact_without_plans_is_covered_by_nothing():
    assert coverages_of([Support(uuid.uuid4(), DAY, ITEM, 1)]) == [Coverage()]


@pytest.mark.parametrize("on", [START, END])
def test_the_first_and_the_last_day_are_covered(on):
    booking = a_booking(booking_start_date=START, booking_end_date=END)
    assert a_coverage(booking.engagement, on).budget.pk == booking.pk


@pytest.mark.parametrize("on", ["2026-06-30", "2027-07-01"])
def test_a_day_outside_every_plan_has_the_nearest_plan_and_booking(on):
    booking = a_booking()
    found = a_coverage(booking.engagement, day(on))
    assert keys(found) == {"nearest_plan": booking.engagement_id, "nearest_budget": booking.pk}


def test_the_nearest_of_several_plans_is_found():
    later = a_plan()
    earlier = a_plan(
        participant=later.participant, plan_start_date=day("2024-01-01"), plan_end_date=day("2024-12-31")
    )
    assert a_coverage(earlier, day("2025-01-10")).nearest_plan.pk == earlier.pk
    assert a_coverage(earlier, day("2026-06-10")).nearest_plan.pk == later.pk


def test_an_inactive_plan_covers_nothing_from_that_day_on():
    booking = a_booking(a_plan(no_active_plan_from_date=DAY))
    assert a_coverage(booking.engagement, day("2026-08-14")).budget.pk == booking.pk
    assert a_coverage(booking.engagement, DAY).plan is None


def test_an_archived_plan_covers_nothing():
    booking = a_booking(a_plan(archive_date=clock.now()))
    assert a_coverage(booking.engagement) == Coverage()


def test_a_booking_for_another_category_covers_nothing():
    booking = a_booking(category=4)
    assert keys(a_coverage(booking.engagement)) == {"plan": booking.engagement_id}


def test_a_booking_that_has_ended_is_the_nearest():
    booking = a_booking(booking_end_date=day("2026-08-14"))
    assert keys(a_coverage(booking.engagement)) == {
        "plan": booking.engagement_id,
        "nearest_budget": booking.pk,
    }


def test_a_booking_for_the_item_itself_comes_before_one_for_its_category():
    general = a_booking(category=1)
    special = a_booking(general.engagement, category=1, support_item=f" {ITEM.lower()}")
    assert a_coverage(general.engagement).budget.pk == special.pk
    assert a_coverage(general.engagement, item="01_002_0107_1_1").budget.pk == general.pk


def test_a_booking_managed_as_preferred_comes_first():
    agency = a_booking(management_type="Agency")
    managed = a_booking(agency.engagement, management_type="Plan")
    for management, expected in ((ManagementType.AGENCY, agency), (ManagementType.PLAN, managed)):
        assert a_coverage(agency.engagement, management=management).budget.pk == expected.pk
    assert a_coverage(agency.engagement, management=ManagementType.SELF).budget.pk in (agency.pk, managed.pk)


def test_a_booking_for_the_item_comes_before_one_managed_as_preferred():
    general = a_booking(category=1, management_type="Plan")
    special = a_booking(general.engagement, category=1, support_item=ITEM, management_type="Agency")
    assert a_coverage(general.engagement, management=ManagementType.PLAN).budget.pk == special.pk


def test_a_booking_with_money_left_comes_before_one_without():
    empty = a_booking(budget=Decimal("10.00"), claimed=Decimal("10.00"))
    full = a_booking(empty.engagement, budget=Decimal("10.00"))
    assert a_coverage(empty.engagement).budget.pk == full.pk


def test_of_bookings_alike_the_later_one_covers():
    first = a_booking(booking_start_date=START)
    second = a_booking(first.engagement, booking_start_date=day("2026-08-01"))
    assert a_coverage(first.engagement).budget.pk == second.pk
    assert a_coverage(first.engagement, day("2026-07-31")).budget.pk == first.pk


def test_a_pace_plan_covers_by_category():
    budget = a_category_budget(category=16)
    found = a_coverage(budget.engagement, item=None, category=16)
    assert keys(found) == {"plan": budget.engagement_id, "budget": budget.pk}
    assert found.budget.model is CategoryBudget
    assert a_coverage(a_pace_plan(), item=None, category=16).budget is None


def test_a_thousand_supports_take_two_queries(django_assert_num_queries):
    bookings = [a_booking(category=category) for category in (1, 4, 7, 15)]
    items = {1: "01_011_0107_1_1", 4: "04_104_0125_6_1", 7: "07_002_0106_8_3", 15: "15_056_0128_1_3"}
    supports = [
        Support(booking.engagement.participant_id, DAY, item, category)
        for booking, (category, item) in zip(bookings, items.items(), strict=True)
    ] * 250
    with django_assert_num_queries(2):
        found = coverages_of(supports)
        assert [each.budget.pk for each in found] == [booking.pk for booking in bookings] * 250
        assert {each.budget.remaining for each in found} == {Decimal("100.00")}
        assert all(each.plan.last_day == END for each in found)


def test_a_pace_plan_counts_a_support_by_its_own_categories():
    budget = a_category_budget(category=16)
    assert a_coverage(budget.engagement, category=1, pace_category=16).budget.pk == budget.pk
    assert a_coverage(budget.engagement, category=16, pace_category=1).budget is None
    booking = a_booking(category=1)
    assert a_coverage(booking.engagement, category=1, pace_category=16).budget.pk == booking.pk


def test_amounts_of_a_bill_that_is_replaced_count_as_remaining():
    drawn = a_booking(budget=Decimal("10.00"), waiting=Decimal("10.00"), booking_start_date=START)
    other = a_booking(drawn.engagement, budget=Decimal("10.00"))
    support = Support(drawn.engagement.participant_id, DAY, ITEM, 1)
    assert coverages_of([support])[0].budget.pk == other.pk
    lines = {drawn.pk: [(DAY, DAY, Decimal("10.00"))], other.pk: [(DAY, DAY, Decimal("-10.00"))]}
    released = coverages_of([support], lines)[0]
    assert (released.budget.pk, released.budget.remaining) == (drawn.pk, Decimal("10.00"))


def test_a_budget_has_the_same_label_as_its_record():
    numbered = a_booking(category=1, booking_number="50000077")
    plain = a_booking(numbered.engagement, category=4)
    assert str(a_coverage(numbered.engagement).budget) == str(numbered)
    assert str(a_coverage(plain.engagement, item=None, category=4).budget) == str(plain)
    granted = a_category_budget(category=16)
    assert str(a_coverage(granted.engagement, item=None, category=16).budget) == str(granted)
