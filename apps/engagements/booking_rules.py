"""What must be true of service bookings and of the budgets of PACE plans, and what is seldom meant."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from apps.engagements.categories import FIRST_OF_PACE, support_item
from apps.engagements.choices import ManagementType, ParticipantType, SupportPurpose
from apps.engagements.models import ZERO, ClientEngagement
from apps.odata.write.drafts import Draft, Issue


def plan_of(draft: Draft) -> ClientEngagement | None:
    plan: ClientEngagement | None = draft.engagement
    return plan


def allocated_beside(draft: Draft) -> Decimal:
    """What the plan's other bookings come to. A verb that judges many drafts leaves it in each of them."""
    if "allocated_beside" in draft.__dict__:
        return draft.__dict__["allocated_beside"]
    plan = plan_of(draft)
    if plan is None:
        return ZERO
    budgets = plan.bookings.exclude(pk=draft.key) if draft.key is not None else plan.bookings.all()
    return sum(budgets.values_list("budget", flat=True), ZERO)


# --- rules ----------------------------------------------------------------------------------------------


def the_booking_ends_after_it_starts(draft: Draft) -> Iterator[Issue]:
    start, end = draft.booking_start_date, draft.booking_end_date
    if start and end and end < start:
        yield Issue("OutOfOrder", "booking_end_date", "The booking ends before it starts.")


def the_budget_is_not_negative(draft: Draft) -> Iterator[Issue]:
    if draft.budget is not None and draft.budget < 0:
        yield Issue("OutOfRange", "budget", "A budget is not negative.")


def the_category_or_the_purpose_is_custom(draft: Draft) -> Iterator[Issue]:
    if draft.category is None and draft.support_purpose != SupportPurpose.CUSTOM_PURPOSE:
        yield Issue(
            "Required", "category", f"A booking for {draft.support_purpose} is made for a support category."
        )


def the_purpose_fits_the_category(draft: Draft) -> Iterator[Issue]:
    category = draft.category
    if category is None or draft.support_purpose in (None, SupportPurpose.CUSTOM_PURPOSE):
        return
    if draft.support_purpose != category.support_purpose:
        yield Issue(
            "PurposeDiffers", "support_purpose", f"Category {category} is for {category.support_purpose}."
        )


def pace_plans_have_no_bookings(draft: Draft) -> Iterator[Issue]:
    plan = plan_of(draft)
    if plan is not None and plan.participant_type == ParticipantType.PACE:
        yield Issue("NotAllowed", "engagement", "A PACE plan has budgets by category, no service bookings.")


def the_category_is_not_of_pace(draft: Draft) -> Iterator[Issue]:
    if draft.category is not None and draft.category.number >= FIRST_OF_PACE:
        yield Issue("NotAllowed", "category", "Categories from 16 on are those of PACE plans.")


RULES = (
    the_booking_ends_after_it_starts,
    the_budget_is_not_negative,
    the_category_or_the_purpose_is_custom,
    the_purpose_fits_the_category,
    pace_plans_have_no_bookings,
    the_category_is_not_of_pace,
)


# --- warnings -------------------------------------------------------------------------------------------


def the_booking_lies_within_the_plan(draft: Draft) -> Iterator[Issue]:
    plan = plan_of(draft)
    for name in ("booking_start_date", "booking_end_date"):
        day = getattr(draft, name)
        if plan and day and not plan.plan_start_date <= day <= plan.plan_end_date:
            yield Issue(
                "OutsidePlan",
                name,
                f"The plan runs from {plan.plan_start_date:%d %b %Y} to {plan.plan_end_date:%d %b %Y}.",
            )


def the_item_is_of_the_category(draft: Draft) -> Iterator[Issue]:
    if not draft.support_item:
        return
    item = support_item(draft.support_item)
    if item is None:
        yield Issue("UnusualSupportItem", "support_item", "Codes of support items look like 01_011_0107_1_1.")
    elif draft.category is not None and item.category != draft.category.number:
        yield Issue(
            "CategoryDiffers",
            "support_item",
            f"An item that begins with {item.category:02} is not of category {draft.category}.",
        )


_FLAGS = {
    ManagementType.AGENCY: "is_agency_managed",
    ManagementType.PLAN: "is_plan_managed",
    ManagementType.SELF: "is_self_managed",
}


def the_plan_is_managed_that_way(draft: Draft) -> Iterator[Issue]:
    plan = plan_of(draft)
    if plan is None or draft.management_type is None:
        return
    if not getattr(plan, _FLAGS[ManagementType(draft.management_type)]):
        yield Issue(
            "ManagementDiffers",
            "management_type",
            f"The plan is not said to be {draft.management_type} managed.",
        )


def bookings_do_not_exceed_the_budget(draft: Draft) -> Iterator[Issue]:
    plan = plan_of(draft)
    if plan is None or not draft.budget:
        return
    over = allocated_beside(draft) + draft.budget - plan.total_budget_amount
    if over > 0:
        yield Issue(
            "OverAllocated",
            "budget",
            f"With it the plan's bookings come to {over:,.2f} more than its budget of"
            f" {plan.total_budget_amount:,.2f}.",
        )


def no_more_is_used_than_budgeted(draft: Draft) -> Iterator[Issue]:
    if draft.used_elsewhere and draft.budget is not None and draft.used_elsewhere > draft.budget:
        yield Issue("OverBudget", "used_elsewhere", f"It is more than the budget of {draft.budget:,.2f}.")


WARNINGS = (
    the_booking_lies_within_the_plan,
    the_item_is_of_the_category,
    the_plan_is_managed_that_way,
    bookings_do_not_exceed_the_budget,
    no_more_is_used_than_budgeted,
)


# --- budgets by category --------------------------------------------------------------------------------


def only_pace_plans_have_budgets_by_category(draft: Draft) -> Iterator[Issue]:
    plan = plan_of(draft)
    if plan is not None and plan.participant_type != ParticipantType.PACE:
        yield Issue("NotAllowed", "engagement", "Only PACE plans have budgets by category.")


CATEGORY_BUDGET_RULES = (the_budget_is_not_negative, only_pace_plans_have_budgets_by_category)
CATEGORY_BUDGET_WARNINGS = (the_plan_is_managed_that_way, no_more_is_used_than_budgeted)
