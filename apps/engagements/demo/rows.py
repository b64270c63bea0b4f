"""The rows of the demo's plans, bookings and budgets, drawn by repeatable chance."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

from apps.core.demo import Context, Series
from apps.engagements.choices import ManagementType, ParticipantType
from apps.engagements.demo import plan_stages
from apps.engagements.demo.plan_stages import Stage
from apps.engagements.models import ZERO
from apps.people.demo import plan as people

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Around:
    """What the rows refer to: people by number, and the support categories by theirs."""

    contacts: Series
    clients: Series
    staff: Series
    budget_managers: list[int]
    categories: dict[int, tuple[UUID, str]]


@dataclass(slots=True)
class Drawn:
    """The rows of one plan with what it is divided into."""

    plan: Row
    bookings: list[Row] = field(default_factory=list)
    budgets: list[Row] = field(default_factory=list)


def participants(contacts: int) -> Iterator[int]:
    """The numbers of the contacts who have plans."""
    for number in range(contacts):
        if people.is_participant(number) and not people.contact_is_archived(number):
            yield number


def plans(context: Context, around: Around) -> Iterator[Drawn]:
    """The plans of every participant, the earlier one first."""
    chance = context.chance("engagement")
    for nth, number in enumerate(participants(around.contacts.count)):
        stage = plan_stages.stage_of(nth)
        if plan_stages.has_an_earlier_plan(nth):
            before = Stage("earlier", stage.begun + plan_stages.YEAR, 0.6 + 0.35 * chance.random())
            yield drawn(chance, context, around, number, nth, before)
        yield drawn(chance, context, around, number, nth, stage)


def drawn(chance: Random, context: Context, around: Around, number: int, nth: int, stage: Stage) -> Drawn:
    """One plan at its stage."""
    found = Drawn(plan_row(context, around, number, stage))
    start = found.plan["plan_start_date"]
    is_pace = stage.participant_type == ParticipantType.PACE
    mixes = plan_stages.CATEGORIES_OF_PACE if is_pace else plan_stages.CATEGORIES
    for category in mixes[nth % len(mixes)]:
        row = budget_row(chance, context, around, found.plan, stage, category)
        if is_pace:
            found.budgets.append(row)
            continue
        found.bookings.append(row | booking_row(chance, context, around, found.plan, number, category))
    if found.bookings:
        found.plan |= {"booking_start_date": start, "booking_end_date": found.plan["plan_end_date"]}
    allocated = sum((row["budget"] for row in (*found.bookings, *found.budgets)), ZERO)
    found.plan["total_budget_amount"] = (allocated * Decimal(str(stage.total))).quantize(Decimal("100"))
    if stage.total == 1.0:
        found.plan["total_budget_amount"] = allocated
    return found


def plan_row(context: Context, around: Around, number: int, stage: Stage) -> Row:
    """The plan itself; its bookings' dates and its total come with the bookings."""
    start = context.as_of - dt.timedelta(days=stage.begun)
    made = moment(context, number, max(start - dt.timedelta(days=6), joined(context, around, number)))
    speaker = people.representative(number, around.contacts.count)
    worker = number - number % len(people.TURNS) + people.WORKER_TURNS[0]
    has_coordinator = number % 2 == 0 and worker < around.contacts.count
    return {
        "guid": context.guid(f"engagement/{number}/{start}", made),
        "creation_date": made,
        "modify_date": made,
        "archive_date": None,
        "participant_type": stage.participant_type,
        "participant_id": around.contacts.guid(number),
        "plan_start_date": start,
        "plan_end_date": start + dt.timedelta(days=stage.length - 1),
        "booking_start_date": None,
        "booking_end_date": None,
        "plan_commencement_date": start,
        "no_active_plan_from_date": None,
        "is_agency_managed": stage.management == ManagementType.AGENCY,
        "is_self_managed": stage.management == ManagementType.SELF,
        "is_plan_managed": stage.management == ManagementType.PLAN,
        "support_coordinator_id": around.contacts.guid(worker) if has_coordinator else None,
        "person_responsible_for_direct_fees_id": None if speaker is None else around.contacts.guid(speaker),
        "plan_manager_id": around.clients.guid(0) if stage.management == ManagementType.PLAN else None,
        "endorsement_date": start if stage.participant_type == ParticipantType.PACE else None,
    }


def budget_row(
    chance: Random, context: Context, around: Around, plan: Row, stage: Stage, category: int
) -> Row:
    """A budget and what is gone of it; until there are claims, all of that was used elsewhere."""
    years = Decimal(stage.length) / plan_stages.YEAR
    usual = plan_stages.USUAL.get(category, plan_stages.USUAL_OTHERWISE)
    budget = (usual * years * Decimal(chance.randrange(60, 160)) / 100).quantize(Decimal("0.01"))
    share = min(stage.spent * (0.85 + 0.3 * chance.random()), 1.0)
    return {
        "guid": context.guid(f"budget/{plan['guid']}/{category}", plan["creation_date"]),
        "creation_date": plan["creation_date"],
        "modify_date": plan["creation_date"],
        "archive_date": None,
        "engagement_id": plan["guid"],
        "category_id": around.categories[category][0],
        "management_type": stage.management,
        "budget": budget,
        "used_elsewhere": (budget * Decimal(str(round(share, 3)))).quantize(Decimal("0.01")),
        "claimed": ZERO,
        "paid": ZERO,
        "waiting": ZERO,
    }


def booking_row(
    chance: Random, context: Context, around: Around, plan: Row, number: int, category: int
) -> Row:
    """What a service booking has besides its budget."""
    for_item = category in plan_stages.ITEMS and chance.random() < 0.25
    manager = around.budget_managers[number % len(around.budget_managers)]
    return {
        "support_purpose": around.categories[category][1],
        "support_item": plan_stages.ITEMS[category] if for_item else None,
        "budget_manager_id": around.staff.guid(manager),
        "booking_start_date": plan["plan_start_date"],
        "booking_end_date": plan["plan_end_date"],
        "booking_number": booking_number(plan["plan_start_date"], number, category),
        "balance_date": min(context.as_of - dt.timedelta(days=1), plan["plan_end_date"]),
    }


def booking_number(start: dt.date, number: int, category: int) -> str:
    """Its own for every participant, category and plan."""
    # Plans follow each other after 365 days, so that two may begin in one leap year.
    return f"{50_000_000 + number * 100 + category}{start.toordinal() // plan_stages.YEAR % 10}"


def joined(context: Context, around: Around, number: int) -> dt.date:
    """The day on which the participant's contact was made."""
    return around.contacts.created(number).astimezone(context.zone).date()


def moment(context: Context, number: int, day: dt.date) -> dt.datetime:
    """A working hour of that day, or of the last one before the demo's, so that nothing is of the future."""
    last = context.as_of - dt.timedelta(days=1)
    time = dt.datetime.combine(min(day, last), dt.time(9), context.zone)
    return time.astimezone(dt.UTC) + dt.timedelta(seconds=number * 37 % 28_000)
