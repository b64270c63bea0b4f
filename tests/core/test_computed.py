"""Decimals that the database computes in every query."""

from decimal import Decimal

import pytest
from django.db import connection
from django.db.migrations.state import ModelState
from django.db.models import F
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from apps.core.computed import MoneySum
from apps.engagements.models import ClientEngagement, ServiceBooking
from tests.engagements.builders import a_booking, a_plan
from tests.people.records import a_contact

CENTS = st.decimals("0.00", "9999999.99", places=2)


class TestSums(TestCase):
    @given(st.lists(CENTS, max_size=6), CENTS)
    def test_a_sum_is_right_to_the_cent_as_an_attribute_and_in_a_filter(self, budgets, total):
        plan = a_plan(participant=a_contact(), total_budget_amount=total)
        for budget in budgets:
            ServiceBooking.objects.create(engagement=plan, support_purpose="Core", budget=budget)
        allocated = sum(budgets, Decimal("0.00"))
        assert (plan.total_allocate_amount, plan.un_allocate_amount) == (allocated, total - allocated)
        found = ClientEngagement.objects.filter(
            total_allocate_amount=allocated, un_allocate_amount=total - allocated
        )
        assert plan in found
        assert plan not in ClientEngagement.objects.filter(total_allocate_amount__gt=allocated)
        plan.bookings.all().delete()
        plan.delete()

    @given(st.lists(CENTS | CENTS.map(lambda amount: -amount), max_size=8))
    def test_a_sum_of_rows_is_right_to_the_cent_as_a_value_and_in_a_condition(self, amounts):
        plan = a_plan(participant=a_contact())
        for amount in amounts:
            ServiceBooking.objects.create(engagement=plan, support_purpose="Core", used_elsewhere=amount)
        total = sum(amounts, Decimal("0.00"))
        sums = plan.bookings.aggregate(sum=MoneySum("used_elsewhere", default=Decimal("0.00")))
        assert sums == {"sum": total}
        assert not sums["sum"].is_signed() or total < 0
        grouped = ServiceBooking.objects.values("engagement").annotate(sum=MoneySum("used_elsewhere"))
        assert grouped.filter(engagement=plan, sum=total).exists() == bool(amounts)
        plan.bookings.all().delete()
        plan.delete()


pytestmark = pytest.mark.django_db


def test_it_follows_what_it_is_made_of_at_once():
    plan = a_plan()
    booking = a_booking(plan, budget=Decimal("10.00"))
    assert plan.total_allocate_amount == Decimal("10.00")
    ServiceBooking.objects.filter(pk=booking.pk).update(budget=Decimal("12.50"))  # past every service
    assert plan.total_allocate_amount == Decimal("12.50")
    booking.delete()
    assert str(plan.total_allocate_amount) == "0.00"


def test_it_can_be_sorted_by_and_reached_through_a_reference():
    small, large = (a_booking(budget=Decimal(budget)) for budget in ("9.00", "10.00"))
    plans = ClientEngagement.objects.order_by("-total_allocate_amount")
    assert list(plans.values_list("total_allocate_amount", flat=True)) == [Decimal("10.00"), Decimal("9.00")]
    assert ServiceBooking.objects.get(engagement__total_allocate_amount__gt=9) == large
    compared = ServiceBooking.objects.filter(budget=F("engagement__total_allocate_amount"))
    assert set(compared) == {small, large}


def test_it_is_no_column():
    columns = [field.name for field in ClientEngagement._meta.concrete_fields]
    assert "total_allocate_amount" not in columns
    assert "total_allocate_amount" not in ModelState.from_model(ClientEngagement).fields
    with connection.cursor() as cursor:
        described = connection.introspection.get_table_description(cursor, "engagements_clientengagement")
    assert not {column.name for column in described} & {"total_allocate_amount", "un_allocate_amount"}


def test_its_copy_computes_the_same():
    field = ClientEngagement._meta.get_field("total_allocate_amount")
    assert field.clone().sql_in('"x"') == field.sql_in('"x"')
