"""Components that two people enter at the same moment: one is first, the other is told."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.base.drafts import ValidationFailed
from apps.engagements.drafts import ComponentDraft, EnteredComponent
from apps.engagements.imports.components import (
    NEW_COMPONENT,
    compare_components,
    components_of,
    period_drafts,
)
from apps.engagements.imports.pasted_components import read_pasted
from apps.engagements.models import CategoryBudget, FundingPeriod
from apps.engagements.services import save_components
from tests.engagements.builders import a_category, a_category_budget, a_pace_plan, with_periods
from tests.races import ROUNDS, call_at_once

pytestmark = [
    pytest.mark.postgres("SQLite has one writer and its test database one connection"),
    pytest.mark.django_db(transaction=True),
]


def a_new_component(plan, category):
    values = {**NEW_COMPONENT, "engagement": plan, "category": category, "budget": Decimal(10)}
    days = (dt.date(2026, 7, 1), dt.date(2027, 6, 30), Decimal(10))
    return EnteredComponent(ComponentDraft(values, given=set(values)), period_drafts([days]))


@pytest.mark.parametrize("number", range(ROUNDS))
def test_one_of_two_people_enters_the_component_of_a_category(number):
    plan, category = a_pace_plan(), a_category(15)

    def enter():
        try:
            return len(save_components(plan.pk, [a_new_component(plan, category)], ignore_warnings=True))
        except ValidationFailed as failed:
            return failed.issues[0][1].message

    found = call_at_once(enter, enter)
    assert found.count(1) == 1
    (refused,) = [each for each in found if each != 1]
    assert "of the plan pays for category 15 already." in refused
    assert (CategoryBudget.objects.count(), FundingPeriod.objects.count()) == (1, 1)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_periods_that_two_people_change_at_once_are_those_of_one_of_them(number):
    plan = a_pace_plan(total_budget_amount=100)
    budget = a_category_budget(plan, category=15, component_name="Skills")
    with_periods(budget, ("2026-07-01", "2027-06-30", "100.00"))

    def store(*rows):
        text = "\n".join(f"Skills\t15\t{row}" for row in rows)
        _, read = read_pasted(text)
        changes = compare_components(read, components_of([plan.pk])[plan.pk])
        entered = [each.entered(plan) for each in changes]
        return save_components(plan.pk, entered, ignore_warnings=True)

    halves = ("1/7/2026\t31/12/2026\t50", "1/1/2027\t30/6/2027\t50")
    thirds = ("1/7/2026\t31/10/2026\t40", "1/11/2026\t28/2/2027\t30", "1/3/2027\t30/6/2027\t30")
    found = call_at_once(lambda: store(*halves), lambda: store(*thirds))
    assert found == [[budget.pk], [budget.pk]]
    periods = [(each.first_day, each.released) for each in budget.periods.all()]
    first = dt.date(2026, 7, 1)
    assert periods in (
        [(first, 50), (dt.date(2027, 1, 1), 50)],
        [(first, 40), (dt.date(2026, 11, 1), 30), (dt.date(2027, 3, 1), 30)],
    )
