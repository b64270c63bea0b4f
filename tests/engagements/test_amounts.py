"""Amounts claimed on budgets (apps/engagements/services.py)."""

import threading
from decimal import Decimal

import pytest
from django.db import connection

from apps.core.models import Change
from apps.engagements.amounts import Amounts, lock_amounts, restate_amounts
from apps.engagements.models import CategoryBudget, ServiceBooking
from tests.engagements.builders import a_booking, a_category_budget, a_plan, add_amounts, amounts, sums


@pytest.mark.django_db
def test_recorded_amounts_are_added():
    booking, other = a_booking(), a_booking()
    add_amounts({booking.pk: amounts(waiting="80.10")})
    add_amounts({booking.pk: amounts(claimed="50.00", waiting="-50.00"), other.pk: amounts(paid="1.00")})
    add_amounts({booking.pk: amounts(paid="20.05")})
    assert sums(booking) == amounts("50.00", "20.05", "30.10")
    assert sums(other) == amounts(paid="1.00")
    assert booking.remaining == Decimal("19.90")


@pytest.mark.django_db
def test_an_amount_and_its_negative_leave_zero():
    booking = a_booking()
    entered = amounts("1.10", "0.30", "2.20")
    add_amounts({booking.pk: entered})
    add_amounts({booking.pk: -entered})
    assert sums(booking) == Amounts()
    assert entered + -entered == Amounts()


@pytest.mark.django_db
def test_category_budgets_have_amounts_too():
    budget = a_category_budget()
    add_amounts({budget.pk: amounts("1.00")}, model=CategoryBudget)
    assert sums(budget) == amounts("1.00")


@pytest.mark.django_db
def test_claims_are_no_change_of_the_booking_or_its_plan():
    plan = a_plan()
    booking = a_booking(plan)
    lines, stamps = Change.objects.count(), (plan.modify_date, booking.modify_date)
    add_amounts({booking.pk: amounts("1.00")})
    plan.refresh_from_db()
    booking.refresh_from_db()
    assert (plan.modify_date, booking.modify_date) == stamps
    assert Change.objects.count() == lines


@pytest.mark.django_db
def test_a_recount_corrects_amounts_and_returns_how_many_differed():
    right, wrong, forgotten = a_booking(), a_booking(), a_booking()
    add_amounts({right.pk: amounts("1.00"), wrong.pk: amounts("2.00"), forgotten.pk: amounts("3.00")})
    stored = lock_amounts(ServiceBooking.objects.all())
    correct = {right.pk: amounts("1.00"), wrong.pk: amounts(waiting="2.00")}
    assert restate_amounts(ServiceBooking, stored, correct) == 2
    assert (sums(right), sums(wrong), sums(forgotten)) == (
        amounts("1.00"),
        amounts(waiting="2.00"),
        Amounts(),
    )


@pytest.mark.postgres("SQLite lets one writer in at a time")
@pytest.mark.django_db(transaction=True)
def test_of_callers_at_once_none_is_lost_and_none_waits_for_ever():
    bookings = [a_booking() for _ in range(4)]
    start = threading.Barrier(4)

    def claim(keys):
        start.wait()
        try:
            for _ in range(15):
                add_amounts({key: amounts("0.01") for key in keys})
        finally:
            connection.close()

    keys = [booking.pk for booking in bookings]
    threads = [
        threading.Thread(target=claim, args=(order,))
        for order in (keys, keys[::-1], keys[1:] + keys[:1], keys)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert {booking.claimed for booking in ServiceBooking.objects.all()} == {Decimal("0.60")}


@pytest.mark.django_db
def test_statements_are_constant_in_the_number_of_budgets(django_assert_max_num_queries):
    changes = {a_booking().pk: amounts("1.00", "0.50", "-2.00") for _ in range(5)}
    with django_assert_max_num_queries(4):
        add_amounts(changes)
    assert {sums(each) for each in ServiceBooking.objects.all()} == {amounts("1.00", "0.50", "-2.00")}
