"""Warnings about plans and their budgets: whether a plan pays for a line, and has the money for its days."""

from collections.abc import Iterator

from apps.base.drafts import Issue
from apps.engagements.choices import ManagementType
from apps.engagements.funding_periods import find_period, left_for
from apps.funding.drafts import BillContext, BillDraft, LineContext, LineDraft
from apps.funding.validation.warning_codes import LineWarning, warning_code
from apps.funding.validation.warning_messages import (
    budget_message,
    format_day,
    format_days,
    no_period_message,
    period_message,
)

NO_ENGAGEMENT = warning_code("NoEngagement", "No plan")


def participant_has_a_plan(draft: BillDraft, bill: BillContext) -> Iterator[Issue]:
    coverages = [line.coverage for line in bill.lines if line is not None]
    if any(coverage.plan is None and coverage.nearest_plan is None for coverage in coverages):
        yield Issue(
            NO_ENGAGEMENT,
            "contact",
            f"{draft.contact.full_name} has no plan. Enter the plan first, or check the participant.",
        )


OUTSIDE_PLAN = warning_code("OutsidePlan", "Outside plan")


def plan_covers_the_days(line: LineDraft, context: LineContext, bill: BillContext) -> Issue | None:
    plan, nearest = context.coverage.plan, context.coverage.nearest_plan
    if plan is None:
        if nearest is None:
            return None
        return Issue(
            OUTSIDE_PLAN,
            "from_date",
            f"No plan covers {format_day(line.first_day)}; the nearest runs"
            f" {format_days(nearest.first_day, nearest.last_day)}. Check the day, or enter the plan of that"
            " day.",
        )
    if line.last_day <= plan.last_day:
        return None
    return Issue(
        OUTSIDE_PLAN,
        "to_date",
        f"The line goes on to {format_day(line.last_day)}, and the plan that covers its first day ends on"
        f" {format_day(plan.last_day)}. Make a line of its own for the days after it.",
    )


NO_BOOKING = warning_code("NoBooking", "No booking")


def plan_has_a_booking(line: LineDraft, context: LineContext, bill: BillContext) -> Issue | None:
    coverage, product = context.coverage, line.product
    plan = coverage.plan
    if plan is None or coverage.budget or coverage.nearest_budget or coverage.stated:
        return None
    number = product.pace_category if plan.is_pace else product.category
    category = f"category {number:02}" if number is not None else "its category"
    budget = "budget for" if plan.is_pace else "service booking for"
    return Issue(
        NO_BOOKING,
        "product",
        f"The plan {format_days(plan.first_day, plan.last_day)} has no {budget} {category} nor for"
        f" {product.code}. Enter it in the plan, or check the item.",
    )


OUTSIDE_BOOKING = warning_code("OutsideBooking", "Outside booking")


def booking_covers_the_days(line: LineDraft, context: LineContext, bill: BillContext) -> Issue | None:
    plan, budget = context.coverage.plan, context.coverage.budget
    if plan is None:
        return None
    if budget is None:
        nearest = context.coverage.nearest_budget
        if nearest is None:
            return None
        return Issue(
            OUTSIDE_BOOKING,
            "from_date",
            f"The booking {nearest} runs {format_days(nearest.first_day, nearest.last_day)}, which leaves out"
            f" {format_day(line.first_day)}. Check the day, or extend the booking.",
        )
    if min(line.last_day, plan.last_day) <= budget.last_day:
        return None
    return Issue(
        OUTSIDE_BOOKING,
        "to_date",
        f"The line goes on to {format_day(line.last_day)}, and the booking {budget} ends on"
        f" {format_day(budget.last_day)}. Make a line of its own for the days after it, or extend the"
        " booking.",
    )


WRONG_MANAGEMENT = warning_code("WrongManagement", "Wrong management")


def booking_is_managed_by_a_plan_manager(
    line: LineDraft, context: LineContext, bill: BillContext
) -> Issue | None:
    budget = context.coverage.budget
    if budget is None or budget.management_type == ManagementType.PLAN:
        return None
    return Issue(
        WRONG_MANAGEMENT,
        "product",
        f"The booking {budget} is managed by {MANAGERS[budget.management_type]}, and only bookings managed by"
        " a plan manager are claimed for. Check the item, or the booking's management.",
    )


MANAGERS = {
    ManagementType.AGENCY.value: "the agency",
    ManagementType.SELF.value: "the participant",
    ManagementType.PLAN.value: "a plan manager",
}


OVER_BUDGET = warning_code("OverBudget", "Over budget")


def budget_is_sufficient(line: LineDraft, context: LineContext, bill: BillContext) -> Issue | None:
    budget, remaining = context.coverage.budget, context.remaining
    if budget is None or remaining is None or line.total <= remaining or line.total <= 0:
        return None
    return Issue(OVER_BUDGET, "quantity", budget_message(line.total, remaining, budget))


#: Bookings are paid from for some time after their end, today included, and for no longer.
DAYS_AFTER_BOOKING = 90


AFTER_BOOKING = warning_code("AfterBooking", "After booking")


def booking_ended_recently(line: LineDraft, context: LineContext, bill: BillContext) -> Issue | None:
    coverage = context.coverage
    budget = coverage.budget or (coverage.nearest_budget if coverage.plan is not None else None)
    if budget is None:
        return None
    late = (bill.today - budget.last_day).days
    if late <= DAYS_AFTER_BOOKING:
        return None
    return Issue(
        AFTER_BOOKING,
        "from_date",
        f"The booking {budget} ended on {format_day(budget.last_day)}, {late} days ago; it is paid from for"
        f" {DAYS_AFTER_BOOKING} days after its end. Ask the agency first, or check the day.",
    )


# --- funding periods ------------------------------------------------------------------------------------


OVER_PERIOD = warning_code("OverPeriod", "Over funding period")


def period_is_sufficient(line: LineDraft, context: LineContext, bill: BillContext) -> Issue | None:
    """Not where the whole budget has not enough: that is said already (``budget_is_sufficient``)."""
    budget, remaining, periods = context.coverage.budget, context.remaining, context.periods
    if budget is None or remaining is None or not periods or not 0 < line.total <= remaining:
        return None
    position = find_period(periods, line.first_day)
    if position is None:
        message = no_period_message(line.first_day, periods, budget)
        return Issue(OVER_PERIOD, "from_date", message)
    period = periods[position]
    if line.last_day > period.last_day:
        return Issue(
            OVER_PERIOD,
            "to_date",
            f"The line goes on to {format_day(line.last_day)}, and the funding period of its first day ends"
            f" on {format_day(period.last_day)} in {budget}. Make a line of its own for the days after it.",
        )
    left = left_for(periods, position)
    if line.total <= left:
        return None
    following = periods[position + 1] if position + 1 < len(periods) else None
    return Issue(OVER_PERIOD, "quantity", period_message(line.total, left, period, following, budget))


NOT_STATED = warning_code("NotStated", "Not a stated support")


def support_is_stated(line: LineDraft, context: LineContext, bill: BillContext) -> Issue | None:
    stated = context.coverage.stated
    if stated is None:
        return None
    codes = ", ".join(code.upper() for code in stated.stated_items)
    return Issue(
        NOT_STATED,
        "product",
        f"{stated} pays for {codes} alone, not for {line.product.code}. Check the item, or ask the agency for"
        " a change of the plan.",
    )


NOT_ENDORSED = warning_code("NotEndorsed", "Not endorsed yet")


def plan_manager_is_endorsed(line: LineDraft, context: LineContext, bill: BillContext) -> Issue | None:
    plan = context.coverage.plan
    if plan is None or not plan.is_pace or plan.endorsed is None or line.first_day >= plan.endorsed:
        return None
    return Issue(
        NOT_ENDORSED,
        "from_date",
        f"The plan manager is endorsed from {format_day(plan.endorsed)} on; the agency pays for no support"
        f" before, and this one was on {format_day(line.first_day)}. Check the day, or the endorsement.",
    )


#: In the order in which people would ask.
PLAN_WARNINGS: tuple[LineWarning, ...] = (
    plan_covers_the_days,
    plan_has_a_booking,
    support_is_stated,
    plan_manager_is_endorsed,
    booking_covers_the_days,
    budget_is_sufficient,
    period_is_sufficient,
    booking_ended_recently,
)
