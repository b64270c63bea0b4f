"""Which components run out early: what the database leaves out would not have run out."""

import datetime as dt
from decimal import Decimal
from random import Random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.engagements.models import CategoryBudget, FundingPeriod
from apps.engagements.short_components import components_that_may_run_out, load_short_components
from tests.engagements.builders import a_category_budget, a_pace_plan

pytestmark = pytest.mark.django_db

TODAY = dt.date(2026, 11, 30)


def some_components(chance, number):
    """Components of current plans with periods of many lengths, of which nothing to too much is used."""
    days = {"plan_start_date": TODAY - dt.timedelta(300), "plan_end_date": TODAY + dt.timedelta(300)}
    periods = []
    for _ in range(number):
        budget = a_category_budget(a_pace_plan(**days), used_elsewhere=chance.choice((0, 0, 50, 400)))
        day = TODAY - dt.timedelta(chance.choice((0, 1, 13, 14, 90, 200)) + chance.randint(0, 30))
        for _ in range(chance.randint(1, 5)):
            last = day + dt.timedelta(chance.choice((0, 6, 27, 90)))
            released = chance.choice((0, 100, 100, 1_000))
            used = [
                released * chance.choice((0, 0, 0.1, 0.5, 0.9, 1, 1.5)),
                chance.choice((0, 0, 0, 7.5, -150)),
            ]
            claimed, waiting = (Decimal(str(round(each, 2))) for each in used)
            periods.append(
                FundingPeriod(
                    category_budget=budget,
                    first_day=day,
                    last_day=last,
                    released=released,
                    claimed=claimed,
                    waiting=waiting,
                )
            )
            day = last + dt.timedelta(1)
    FundingPeriod.objects.bulk_create(periods)


def forecasts(budgets):
    """What is missing of each component, by its own forecast."""
    found = {budget.pk: budget.forecast(TODAY) for budget in budgets.prefetch_related("periods")}
    return {
        key: each.short for key, each in found.items() if each is not None and each.run_out_date is not None
    }


def test_all_that_run_out_early_are_found_and_no_others():
    some_components(Random(7), 350)
    expected = forecasts(CategoryBudget.objects.all())
    assert load_short_components(FundingPeriod.objects.all(), TODAY) == expected
    assert 50 < len(expected) < 250  # neither none nor all
    some = FundingPeriod.objects.filter(category_budget__in=sorted(expected)[:5])
    assert load_short_components(some, TODAY) == {key: expected[key] for key in sorted(expected)[:5]}


def test_most_of_those_that_last_are_left_out_by_the_database():
    some_components(Random(8), 150)
    short = len(forecasts(CategoryBudget.objects.all()))
    looked_at = components_that_may_run_out(FundingPeriod.objects.all(), TODAY).count()
    assert short <= looked_at < short + 40
    with CaptureQueriesContext(connection) as statements:
        load_short_components(FundingPeriod.objects.all(), TODAY)
    assert len(statements) == 1


@pytest.mark.parametrize(
    "columns",
    [
        {"plan_end_date": TODAY - dt.timedelta(1)},
        {"plan_start_date": TODAY + dt.timedelta(1)},
        {"no_active_plan_from_date": TODAY},
        {"archive_date": dt.datetime(2026, 11, 1, tzinfo=dt.UTC)},
    ],
)
def test_components_of_other_plans_than_the_current_ones_are_left_out(columns):
    plan = a_pace_plan(plan_start_date=TODAY - dt.timedelta(90), plan_end_date=TODAY + dt.timedelta(90))
    budget = a_category_budget(plan)
    days = (TODAY - dt.timedelta(20), TODAY + dt.timedelta(20))
    FundingPeriod.objects.create(
        category_budget=budget, first_day=days[0], last_day=days[1], released=10, claimed=20
    )
    assert list(load_short_components(FundingPeriod.objects.all(), TODAY)) == [budget.pk]
    type(plan).objects.filter(pk=plan.pk).update(**columns)
    assert load_short_components(FundingPeriod.objects.all(), TODAY) == {}
