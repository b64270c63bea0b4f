"""Rules and warnings of plans, service bookings and category budgets (interface.md 2.9)."""

import datetime as dt
from collections.abc import Callable, Iterator

from apps.base.drafts import D, Issue, Rule, is_allowed_when
from apps.engagements.choices import FIRST_PACE_CATEGORY, ManagementType, ParticipantType, SupportPurpose
from apps.engagements.drafts import BookingDraft, BudgetDraft, EngagementDraft
from apps.engagements.models import last_day_of_plan, support_item
from apps.people.validation import is_somebody_else

#: The first and the last day of something, as far as they are given.
Period = tuple[dt.date | None, dt.date | None]


def ends_after_its_start(name: str, message: str, period: Callable[[D], Period]) -> Rule[D]:
    """The rule that a last day, which is this member, does not lie before the first."""

    def rule(draft: D) -> Iterator[Issue]:
        start, end = period(draft)
        if start and end and end < start:
            yield Issue("OutOfOrder", name, message)

    return rule


# --- plans: rules ---------------------------------------------------------------------------------------


def total_budget_is_not_negative(draft: EngagementDraft) -> Iterator[Issue]:
    if draft.total_budget_amount is not None and draft.total_budget_amount < 0:
        yield Issue("OutOfRange", "total_budget_amount", "A budget is not negative.")


ENGAGEMENT_RULES: tuple[Rule[EngagementDraft], ...] = (
    ends_after_its_start(
        "plan_end_date",
        "The plan ends before it starts.",
        lambda draft: (draft.plan_start_date, draft.plan_end_date),
    ),
    ends_after_its_start(
        "booking_end_date",
        "The bookings end before they start.",
        lambda draft: (draft.booking_start_date, draft.booking_end_date),
    ),
    total_budget_is_not_negative,
    is_allowed_when(
        "endorsement_date",
        "Only PACE plans are endorsed.",
        lambda draft: draft.participant_type == ParticipantType.PACE,
    ),
    is_somebody_else(
        "support_coordinator",
        lambda draft: (draft.support_coordinator, draft.participant and draft.participant.pk),
    ),
)


# --- plans: warnings ------------------------------------------------------------------------------------


def booking_dates_lie_within_the_plan(draft: EngagementDraft) -> Iterator[Issue]:
    days = {"booking_start_date": draft.booking_start_date, "booking_end_date": draft.booking_end_date}
    for name, day in days.items():
        if day and not draft.plan_start_date <= day <= draft.plan_end_date:
            yield Issue("OutsidePlan", name, "It lies outside the plan's dates.")


def plan_is_active_for_a_day(draft: EngagementDraft) -> Iterator[Issue]:
    if draft.plan_commencement_date and draft.plan_commencement_date > draft.plan_end_date:
        yield Issue("OutsidePlan", "plan_commencement_date", "The plan would commence after its end.")
    if draft.no_active_plan_from_date and draft.no_active_plan_from_date <= draft.plan_start_date:
        yield Issue("OutsidePlan", "no_active_plan_from_date", "The plan would never have been active.")


def plan_is_managed(draft: EngagementDraft) -> Iterator[Issue]:
    if not (draft.is_agency_managed or draft.is_self_managed or draft.is_plan_managed):
        yield Issue("NoManagement", "is_plan_managed", "Nobody is said to manage the plan.")


def plans_of_a_participant_do_not_overlap(draft: EngagementDraft) -> Iterator[Issue]:
    for plan in draft.other_plans:
        last_day = last_day_of_plan(draft.plan_end_date, draft.no_active_plan_from_date)
        if draft.plan_start_date <= plan.last_day and plan.plan_start_date <= last_day:
            yield Issue(
                "PlansOverlap",
                "plan_start_date",
                f"Another plan of the participant runs from {plan.plan_start_date:%d %b %Y}"
                f" to {plan.last_day:%d %b %Y}.",
            )


def bookings_fit_into_the_total_budget(draft: EngagementDraft) -> Iterator[Issue]:
    excess = draft.allocated_amount - draft.total_budget_amount
    if excess > 0:
        yield Issue(
            "OverAllocated",
            "total_budget_amount",
            f"The plan's budgets come to {draft.allocated_amount:,.2f}, which is {excess:,.2f} more.",
        )


ENGAGEMENT_WARNINGS: tuple[Rule[EngagementDraft], ...] = (
    booking_dates_lie_within_the_plan,
    plan_is_active_for_a_day,
    plan_is_managed,
    plans_of_a_participant_do_not_overlap,
    bookings_fit_into_the_total_budget,
)


# --- service bookings: rules ----------------------------------------------------------------------------


def budget_is_not_negative(draft: BudgetDraft) -> Iterator[Issue]:
    if draft.budget is not None and draft.budget < 0:
        yield Issue("OutOfRange", "budget", "A budget is not negative.")


def booking_has_a_category_or_a_custom_purpose(draft: BookingDraft) -> Iterator[Issue]:
    if draft.category is None and draft.support_purpose != SupportPurpose.CUSTOM_PURPOSE:
        yield Issue(
            "Required", "category", f"A booking for {draft.support_purpose} is made for a support category."
        )


def purpose_is_that_of_the_category(draft: BookingDraft) -> Iterator[Issue]:
    category = draft.category
    if category is None or draft.support_purpose in (None, SupportPurpose.CUSTOM_PURPOSE):
        return
    if draft.support_purpose != category.support_purpose:
        yield Issue(
            "PurposeDiffers", "support_purpose", f"Category {category} is for {category.support_purpose}."
        )


def booking_is_not_of_pace(draft: BookingDraft) -> Iterator[Issue]:
    if draft.has("engagement") and draft.engagement is not None and draft.engagement.is_pace:
        yield Issue("NotAllowed", "engagement", "A PACE plan has budgets by category, no service bookings.")
    if draft.category is not None and draft.category.number >= FIRST_PACE_CATEGORY:
        yield Issue("NotAllowed", "category", "Categories from 16 on are those of PACE plans.")


BOOKING_RULES: tuple[Rule[BookingDraft], ...] = (
    ends_after_its_start(
        "booking_end_date",
        "The booking ends before it starts.",
        lambda draft: (draft.booking_start_date, draft.booking_end_date),
    ),
    budget_is_not_negative,
    booking_has_a_category_or_a_custom_purpose,
    purpose_is_that_of_the_category,
    booking_is_not_of_pace,
)


# --- service bookings: warnings -------------------------------------------------------------------------


def booking_lies_within_the_plan(draft: BookingDraft) -> Iterator[Issue]:
    plan = draft.engagement
    days = {"booking_start_date": draft.booking_start_date, "booking_end_date": draft.booking_end_date}
    for name, day in days.items():
        if plan and day and not plan.plan_start_date <= day <= plan.plan_end_date:
            yield Issue(
                "OutsidePlan",
                name,
                f"The plan runs from {plan.plan_start_date:%d %b %Y} to {plan.plan_end_date:%d %b %Y}.",
            )


def support_item_is_of_the_category(draft: BookingDraft) -> Iterator[Issue]:
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


MANAGEMENT_FLAGS = {
    ManagementType.AGENCY: "is_agency_managed",
    ManagementType.PLAN: "is_plan_managed",
    ManagementType.SELF: "is_self_managed",
}


def management_type_is_one_of_the_plan(draft: BudgetDraft) -> Iterator[Issue]:
    plan = draft.engagement
    if plan is None or draft.management_type is None:
        return
    if not getattr(plan, MANAGEMENT_FLAGS[ManagementType(draft.management_type)]):
        yield Issue(
            "ManagementDiffers",
            "management_type",
            f"The plan is not said to be {draft.management_type} managed.",
        )


def booking_fits_into_the_total_budget(draft: BudgetDraft) -> Iterator[Issue]:
    plan = draft.engagement
    if plan is None or not draft.budget:
        return
    excess = draft.allocated_to_others + draft.budget - plan.total_budget_amount
    if excess > 0:
        yield Issue(
            "OverAllocated",
            "budget",
            f"With it the plan's bookings come to {excess:,.2f} more than its budget of"
            f" {plan.total_budget_amount:,.2f}.",
        )


def amount_used_elsewhere_fits_into_the_budget(draft: BudgetDraft) -> Iterator[Issue]:
    if draft.used_elsewhere and draft.budget is not None and draft.used_elsewhere > draft.budget:
        yield Issue("OverBudget", "used_elsewhere", f"It is more than the budget of {draft.budget:,.2f}.")


BOOKING_WARNINGS: tuple[Rule[BookingDraft], ...] = (
    booking_lies_within_the_plan,
    support_item_is_of_the_category,
    management_type_is_one_of_the_plan,
    booking_fits_into_the_total_budget,
    amount_used_elsewhere_fits_into_the_budget,
)


# --- category budgets -----------------------------------------------------------------------------------


def category_budget_is_in_a_pace_plan(draft: BudgetDraft) -> Iterator[Issue]:
    if draft.engagement is not None and not draft.engagement.is_pace:
        yield Issue("NotAllowed", "engagement", "Only PACE plans have budgets by category.")


CATEGORY_BUDGET_RULES: tuple[Rule[BudgetDraft], ...] = (
    budget_is_not_negative,
    category_budget_is_in_a_pace_plan,
)
CATEGORY_BUDGET_WARNINGS: tuple[Rule[BudgetDraft], ...] = (
    management_type_is_one_of_the_plan,
    amount_used_elsewhere_fits_into_the_budget,
)
