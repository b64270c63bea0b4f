"""What must be true of service bookings, and what is seldom meant (apps/engagements/validation.py)."""

from decimal import Decimal

import pytest

from apps.engagements.drafts import ComponentDraft
from apps.engagements.models import CategoryBudget, ClientEngagement, SupportCategory
from apps.engagements.services import load_booking_context, load_component_context
from apps.engagements.validation import BOOKING_RULES as RULES
from apps.engagements.validation import BOOKING_WARNINGS as WARNINGS
from apps.engagements.validation import CATEGORY_BUDGET_RULES, CATEGORY_BUDGET_WARNINGS
from tests.engagements.builders import (
    END,
    START,
    a_booking,
    a_booking_draft,
    a_category,
    a_draft,
    a_pace_plan,
    a_plan,
    day,
    found,
)

pytestmark = pytest.mark.django_db


def a_draft_in(plan=None, category=1, **members):
    return a_booking_draft(engagement=plan or a_plan(), category=category and a_category(category), **members)


def test_an_ordinary_booking_breaks_no_rule_and_warns_of_nothing():
    draft = a_draft_in(
        budget=Decimal("1000.00"),
        booking_start_date=START,
        booking_end_date=END,
        support_item="01_011_0107_1_1",
    )
    assert found(RULES, draft) == found(WARNINGS, draft) == []


def test_a_booking_does_not_end_before_it_starts():
    draft = a_draft_in(booking_start_date=END, booking_end_date=START)
    assert found(RULES, draft) == [("OutOfOrder", "booking_end_date")]


def test_a_budget_is_not_negative():
    assert found(RULES, a_draft_in(budget=Decimal("-0.01"))) == [("OutOfRange", "budget")]


@pytest.mark.parametrize(
    ("category", "purpose", "fits"),
    [
        (1, "Core", True),
        (5, "Capital", True),
        (15, "Capacity Building", True),
        (15, "Custom Purpose", True),
        (15, "Core", False),
        (5, "Capacity Building", False),
    ],
)
def test_the_purpose_is_the_categorys_or_custom(category, purpose, fits):
    draft = a_draft_in(category=category, support_purpose=purpose)
    assert found(RULES, draft) == ([] if fits else [("PurposeDiffers", "support_purpose")])


def test_only_a_custom_purpose_does_without_a_category():
    assert found(RULES, a_draft_in(category=None, support_purpose="Custom Purpose")) == []
    assert found(RULES, a_draft_in(category=None)) == [("Required", "category")]


def test_pace_plans_have_budgets_by_category_and_others_have_bookings():
    assert found(RULES, a_draft_in(a_pace_plan())) == [("NotAllowed", "engagement")]
    for plan, expected in ((a_pace_plan(), []), (a_plan(), [("NotAllowed", "engagement")])):
        draft = a_draft(CategoryBudget, draft_class=ComponentDraft, engagement=plan, category=a_category(16))
        assert found(CATEGORY_BUDGET_RULES, draft) == expected


def test_a_component_is_checked_against_the_whole_plan_of_which_a_draft_has_the_key_alone():
    plans = [a_pace_plan(is_plan_managed=True), a_plan()]
    category = SupportCategory(pk=a_category(16).pk)
    drafts = [
        a_draft(
            CategoryBudget,
            draft_class=ComponentDraft,
            engagement=ClientEngagement(pk=plan.pk),
            category=category,
        )
        for plan in plans
    ]
    load_component_context(drafts)
    assert [draft.engagement.is_pace for draft in drafts] == [True, False]
    assert [draft.component.categories for draft in drafts] == [(16,), (16,)]


def test_bookings_are_not_made_for_categories_of_pace_plans():
    assert found(RULES, a_draft_in(category=15, support_purpose="Capacity Building")) == []
    draft = a_draft_in(category=16)
    assert found(RULES, draft) == [("NotAllowed", "category")]
    draft.mark_invalid("engagement")
    assert found(RULES, draft) == [("NotAllowed", "category")]


@pytest.mark.parametrize("name", ["booking_start_date", "booking_end_date"])
@pytest.mark.parametrize(
    ("date", "inside"),
    [("2026-06-30", False), ("2026-07-01", True), ("2027-06-30", True), ("2027-07-01", False)],
)
def test_a_booking_outside_its_plan_is_warned_of(name, date, inside):
    draft = a_draft_in(**{name: day(date)})
    assert found(WARNINGS, draft) == ([] if inside else [("OutsidePlan", name)])


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("01_002_0107_1_1", []),
        ("01_999", []),
        ("15_056_0128_1_3", [("CategoryDiffers", "support_item")]),
        ("Bereavement", [("UnusualSupportItem", "support_item")]),
    ],
)
def test_an_item_that_is_not_of_the_category_is_warned_of(item, expected):
    assert found(WARNINGS, a_draft_in(support_item=item)) == expected


@pytest.mark.parametrize("management", ["Agency", "Plan", "Self"])
def test_a_booking_managed_otherwise_than_its_plan_is_warned_of(management):
    flags = {f"is_{name.lower()}_managed": name == management for name in ("Agency", "Plan", "Self")}
    other = {name: not is_so for name, is_so in flags.items()}
    assert found(WARNINGS, a_draft_in(a_plan(**flags), management_type=management)) == []
    draft = a_draft_in(a_plan(**other), management_type=management)
    assert found(WARNINGS, draft) == [("ManagementDiffers", "management_type")]


def test_bookings_that_come_to_more_than_the_plan_has_are_warned_of():
    plan = a_plan(total_budget_amount=Decimal("1000.00"))
    a_booking(plan, budget=Decimal("900.00"))
    for budget, expected in (("100.00", []), ("100.01", [("OverAllocated", "budget")])):
        draft = a_draft_in(plan, budget=Decimal(budget))
        load_booking_context([draft])
        assert found(WARNINGS, draft) == expected


def test_a_bookings_own_budget_is_not_counted_twice():
    plan = a_plan(total_budget_amount=Decimal("1000.00"))
    booking = a_booking(plan, budget=Decimal("900.00"))
    draft = a_draft_in(plan, budget=Decimal("1000.00"))
    draft.key = booking.pk
    load_booking_context([draft])
    assert found(WARNINGS, draft) == []


def test_bookings_made_together_count_one_another():
    plan = a_plan(total_budget_amount=Decimal("1000.00"))
    drafts = [a_draft_in(plan, budget=Decimal(budget)) for budget in ("600.00", "400.00", "0.01")]
    load_booking_context(drafts)
    assert [found(WARNINGS, draft) for draft in drafts] == [[], [], [("OverAllocated", "budget")]]


def test_more_used_than_budgeted_is_warned_of():
    amounts = {"budget": Decimal("10.00"), "used_elsewhere": Decimal("10.01")}
    assert found(WARNINGS, a_draft_in(**amounts)) == [("OverBudget", "used_elsewhere")]
    assert found(WARNINGS, a_draft_in(**{**amounts, "used_elsewhere": Decimal("10.00")})) == []


def test_more_used_than_budgeted_is_warned_of_in_a_category_budget_as_well():
    amounts = {"budget": Decimal("10.00"), "used_elsewhere": Decimal("10.01")}
    draft = a_draft(
        CategoryBudget,
        draft_class=ComponentDraft,
        engagement=a_pace_plan(),
        category=a_category(15),
        **amounts,
    )
    assert found(CATEGORY_BUDGET_WARNINGS, draft) == [("OverBudget", "used_elsewhere")]
