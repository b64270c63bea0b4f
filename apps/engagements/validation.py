"""Rules and warnings of plans, service bookings and category budgets (interface.md 2.9)."""

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal

from apps.base.drafts import D, Issue, Rule, is_allowed_when, is_refused_when
from apps.base.money import ZERO
from apps.engagements.choices import (
    FIRST_PACE_CATEGORY,
    LAST_CATEGORY,
    ManagementType,
    ParticipantType,
    SupportPurpose,
)
from apps.engagements.drafts import (
    BookingDraft,
    BudgetDraft,
    ComponentDraft,
    EngagementDraft,
    LosingDays,
    PeriodDraft,
    PeriodsDraft,
)
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


def is_no_negative_budget(name: str, amount: Callable[[D], Decimal | None]) -> Rule[D]:
    """The rule that an amount, which is this member, is not below 0."""
    return is_refused_when(
        name, "OutOfRange", "A budget is not negative.", lambda draft: (amount(draft) or ZERO) < 0
    )


# --- plans: rules ---------------------------------------------------------------------------------------


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
    is_no_negative_budget("total_budget_amount", lambda draft: draft.total_budget_amount),
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


def waiting_supports_keep_their_days(
    first_day: str, last_day: Callable[[D], str], losing_days: Callable[[D], LosingDays]
) -> Rule[D]:
    """The warning that something waits for days that a change takes: they would be outside then."""

    def rule(draft: D) -> Iterator[Issue]:
        lost = losing_days(draft)
        for field, supports in ((first_day, lost.before), (last_day(draft), lost.after)):
            if supports:
                amount, count = sum(each.amount for each in supports), len({each.bill for each in supports})
                bills = "claim or invoice" if count == 1 else "claims and invoices"
                first, last = (
                    min(each.first_day for each in supports),
                    max(each.last_day for each in supports),
                )
                yield Issue(
                    "WaitingOutside",
                    field,
                    f"{amount:,.2f} that waits to be claimed ({count:,} {bills}) is for days that"
                    f" would lie outside: {first:%d %b %Y} to {last:%d %b %Y}.",
                )

    return rule


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
    is_refused_when(
        "is_plan_managed",
        "NoManagement",
        "Nobody is said to manage the plan.",
        lambda draft: not (draft.is_agency_managed or draft.is_self_managed or draft.is_plan_managed),
    ),
    plans_of_a_participant_do_not_overlap,
    bookings_fit_into_the_total_budget,
    waiting_supports_keep_their_days(
        "plan_start_date",
        lambda draft: "no_active_plan_from_date" if draft.no_active_plan_from_date else "plan_end_date",
        lambda draft: draft.losing_days,
    ),
)


# --- service bookings: rules ----------------------------------------------------------------------------


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
    is_no_negative_budget("budget", lambda draft: draft.budget),
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


def booking_fits_into_the_total_budget(draft: BookingDraft) -> Iterator[Issue]:
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
    waiting_supports_keep_their_days(
        "booking_start_date", lambda draft: "booking_end_date", lambda draft: draft.losing_days
    ),
)


# --- category budgets -----------------------------------------------------------------------------------


def further_categories_are_numbers(draft: ComponentDraft) -> Iterator[Issue]:
    for word in (draft.further_categories or "").split():
        if not (word.isdecimal() and 1 <= int(word) <= LAST_CATEGORY):
            yield Issue(
                "OutOfRange",
                "further_categories",
                f"{word} is no category: they have numbers from 1 to {LAST_CATEGORY}, such as 02 03 04.",
            )


def stated_supports_have_no_further_categories(draft: ComponentDraft) -> Iterator[Issue]:
    if draft.stated_items and draft.further_categories:
        yield Issue(
            "NotAllowed",
            "further_categories",
            "It pays for its stated supports alone. Leave out the further categories, or the supports.",
        )


def support_is_in_one_component(draft: ComponentDraft) -> Iterator[Issue]:
    """Otherwise it would be chance which one a claim counts on."""
    own = draft.component
    for other in draft.others if own else ():
        assert own is not None
        if codes := sorted(set(own.stated_items) & set(other.stated_items)):
            names = ", ".join(code.upper() for code in codes)
            yield Issue("NotUnique", "stated_items", f"{other.label} of the plan pays for {names} already.")
        if own.stated_items or other.stated_items:
            continue
        for number in sorted(set(own.categories) & set(other.categories)):
            field = "category" if number == own.categories[0] else "further_categories"
            yield Issue(
                "NotUnique", field, f"{other.label} of the plan pays for category {number:02} already."
            )


CATEGORY_BUDGET_RULES: tuple[Rule[ComponentDraft], ...] = (
    is_no_negative_budget("budget", lambda draft: draft.budget),
    is_allowed_when(
        "engagement",
        "Only PACE plans have budgets by category.",
        lambda draft: draft.engagement is None or draft.engagement.is_pace,
    ),
    further_categories_are_numbers,
    stated_supports_have_no_further_categories,
    support_is_in_one_component,
)
CATEGORY_BUDGET_WARNINGS: tuple[Rule[ComponentDraft], ...] = (
    management_type_is_one_of_the_plan,
    amount_used_elsewhere_fits_into_the_budget,
)


def components_come_to_the_total(draft: EngagementDraft) -> Iterator[Issue]:
    """The components come to the total of their plan; one without a total is compared with nothing."""
    difference = draft.allocated_amount - draft.total_budget_amount
    if difference and draft.total_budget_amount:
        yield Issue(
            "TotalDiffers",
            "total_budget_amount",
            f"The components come to {draft.allocated_amount:,.2f}, which is {abs(difference):,.2f}"
            f" {'more' if difference > 0 else 'less'} than the plan's total of"
            f" {draft.total_budget_amount:,.2f}.",
        )


COMPONENTS_WARNINGS: tuple[Rule[EngagementDraft], ...] = (components_come_to_the_total,)


# --- funding periods ------------------------------------------------------------------------------------


def periods_follow_one_another(draft: PeriodsDraft) -> Iterator[Issue]:
    """Without gaps: a day in none of them could be paid from none."""
    previous: PeriodDraft | None = None
    for number, period in enumerate(draft.periods):
        if period.last_day < period.first_day:
            yield Issue(
                "OutOfOrder", ("periods", number, "last_day"), f"{period.days} ends before it starts."
            )
        elif previous and (period.first_day - previous.last_day).days != 1:
            yield Issue(
                "OutOfOrder",
                ("periods", number, "first_day"),
                f"{period.days} does not begin on the day after {previous.days}.",
            )
        previous = period


def released_is_not_negative(draft: PeriodsDraft) -> Iterator[Issue]:
    for number, period in enumerate(draft.periods):
        if period.released < 0:
            yield Issue("OutOfRange", ("periods", number, "released"), f"{period.days} releases less than 0.")


def periods_are_those_of_the_plan(draft: PeriodsDraft) -> Iterator[Issue]:
    plan = draft.plan
    if not draft.periods:
        return
    first, last = draft.periods[0], draft.periods[-1]
    if first.first_day != plan.plan_start_date or last.last_day != plan.plan_end_date:
        yield Issue(
            "OutsidePlan",
            ("periods", 0, "first_day"),
            f"The periods run from {first.first_day:%d %b %Y} to {last.last_day:%d %b %Y}, and the plan from"
            f" {plan.plan_start_date:%d %b %Y} to {plan.plan_end_date:%d %b %Y}.",
        )


def periods_release_the_budget(draft: PeriodsDraft) -> Iterator[Issue]:
    released = sum((each.released for each in draft.periods), ZERO)
    if draft.periods and released != draft.budget:
        difference = abs(released - draft.budget)
        yield Issue(
            "TotalDiffers",
            ("periods", 0, "released"),
            f"The periods release {released:,.2f}, which is {difference:,.2f}"
            f" {'more' if released > draft.budget else 'less'} than the component's {draft.budget:,.2f}.",
        )


PERIODS_RULES: tuple[Rule[PeriodsDraft], ...] = (periods_follow_one_another, released_is_not_negative)
PERIODS_WARNINGS: tuple[Rule[PeriodsDraft], ...] = (periods_are_those_of_the_plan, periods_release_the_budget)
