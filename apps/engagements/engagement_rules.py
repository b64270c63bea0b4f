"""What must be true of plans, and what is seldom meant (interface.md 2.9)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from decimal import Decimal

from django.db.models import Q

from apps.engagements.choices import ParticipantType
from apps.engagements.models import ZERO, ClientEngagement
from apps.odata.write.drafts import Draft, Issue

# --- what a rule has to look up -------------------------------------------------------------------------
# A verb that judges many drafts looks up for all of them at once, and leaves it in the drafts.


def other_plans(draft: Draft) -> Iterable[ClientEngagement]:
    """The participant's other current plans."""
    if "other_plans" in draft.__dict__:
        return draft.__dict__["other_plans"]
    if draft.participant is None:
        return ()
    plans = ClientEngagement.objects.filter(participant=draft.participant.pk, archive_date=None)
    return plans.exclude(pk=draft.key) if draft.key is not None else plans


def allocated(draft: Draft) -> Decimal:
    """What the plan's bookings come to; nothing of a plan that is still to be stored."""
    if "allocated" in draft.__dict__:
        return draft.__dict__["allocated"]
    sums = ClientEngagement.objects.filter(pk=draft.key).values_list("total_allocate_amount", flat=True)
    return sums.first() or ZERO if draft.key is not None else ZERO


def last_day(plan: Draft | ClientEngagement) -> dt.date:
    """The last day a plan covers."""
    if plan.no_active_plan_from_date is None:
        return plan.plan_end_date
    return min(plan.plan_end_date, plan.no_active_plan_from_date - dt.timedelta(days=1))


# --- rules ----------------------------------------------------------------------------------------------


def the_plan_ends_after_it_starts(draft: Draft) -> Iterator[Issue]:
    if draft.plan_start_date and draft.plan_end_date and draft.plan_end_date < draft.plan_start_date:
        yield Issue("OutOfOrder", "plan_end_date", "The plan ends before it starts.")


def the_bookings_end_after_they_start(draft: Draft) -> Iterator[Issue]:
    start, end = draft.booking_start_date, draft.booking_end_date
    if start and end and end < start:
        yield Issue("OutOfOrder", "booking_end_date", "The bookings end before they start.")


def the_budget_is_not_negative(draft: Draft) -> Iterator[Issue]:
    if draft.total_budget_amount is not None and draft.total_budget_amount < 0:
        yield Issue("OutOfRange", "total_budget_amount", "A budget is not negative.")


def only_pace_plans_are_endorsed(draft: Draft) -> Iterator[Issue]:
    if draft.endorsement_date and draft.participant_type != ParticipantType.PACE:
        yield Issue("NotAllowed", "endorsement_date", "Only PACE plans are endorsed.")


def nobody_coordinates_their_own_supports(draft: Draft) -> Iterator[Issue]:
    one, other = draft.participant, draft.support_coordinator
    if one is not None and other is not None and one.pk == other.pk:
        yield Issue("NotAllowed", "support_coordinator", "Nobody is their own support coordinator.")


RULES = (
    the_plan_ends_after_it_starts,
    the_bookings_end_after_they_start,
    the_budget_is_not_negative,
    only_pace_plans_are_endorsed,
    nobody_coordinates_their_own_supports,
)


# --- warnings -------------------------------------------------------------------------------------------


def bookings_lie_within_the_plan(draft: Draft) -> Iterator[Issue]:
    for name in ("booking_start_date", "booking_end_date"):
        day = getattr(draft, name)
        if day and not draft.plan_start_date <= day <= draft.plan_end_date:
            yield Issue("OutsidePlan", name, "It lies outside the plan's dates.")


def the_plan_commences_before_it_ends(draft: Draft) -> Iterator[Issue]:
    if draft.plan_commencement_date and draft.plan_commencement_date > draft.plan_end_date:
        yield Issue("OutsidePlan", "plan_commencement_date", "The plan would commence after its end.")


def the_plan_was_active_once(draft: Draft) -> Iterator[Issue]:
    if draft.no_active_plan_from_date and draft.no_active_plan_from_date <= draft.plan_start_date:
        yield Issue("OutsidePlan", "no_active_plan_from_date", "The plan would never have been active.")


def somebody_manages_the_plan(draft: Draft) -> Iterator[Issue]:
    if not (draft.is_agency_managed or draft.is_self_managed or draft.is_plan_managed):
        yield Issue("NoManagement", "is_plan_managed", "Nobody is said to manage the plan.")


def plans_of_a_participant_do_not_overlap(draft: Draft) -> Iterator[Issue]:
    for plan in other_plans(draft):
        if draft.plan_start_date <= last_day(plan) and plan.plan_start_date <= last_day(draft):
            yield Issue(
                "PlansOverlap",
                "plan_start_date",
                f"Another plan of the participant runs from {plan.plan_start_date:%d %b %Y}"
                f" to {last_day(plan):%d %b %Y}.",
            )


def bookings_do_not_exceed_the_budget(draft: Draft) -> Iterator[Issue]:
    over = allocated(draft) - draft.total_budget_amount
    if over > 0:
        yield Issue(
            "OverAllocated",
            "total_budget_amount",
            f"The plan's bookings come to {allocated(draft):,.2f}, which is {over:,.2f} more.",
        )


WARNINGS = (
    bookings_lie_within_the_plan,
    the_plan_commences_before_it_ends,
    the_plan_was_active_once,
    somebody_manages_the_plan,
    plans_of_a_participant_do_not_overlap,
    bookings_do_not_exceed_the_budget,
)


# --- the same for many ----------------------------------------------------------------------------------


def look_up(drafts: Iterable[Draft]) -> None:
    """Leave in the drafts what the rules look up, two queries for all of them."""
    drafts = list(drafts)
    known = [draft for draft in drafts if draft.__dict__.get("participant") is not None]
    keys = {draft.key for draft in drafts if draft.key is not None}
    of_participants = Q(participant__in={draft.participant.pk for draft in known}, archive_date=None)
    plans = list(ClientEngagement.objects.filter(of_participants).order_by("plan_start_date", "guid"))
    sums = dict(ClientEngagement.objects.filter(pk__in=keys).values_list("pk", "total_allocate_amount"))
    for draft in drafts:
        draft.fill("allocated", sums.get(draft.key, ZERO))
    for draft in known:
        own = draft.participant.pk
        others = [plan for plan in plans if plan.participant_id == own and plan.pk != draft.key]
        draft.fill("other_plans", others)
