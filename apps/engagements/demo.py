"""Creates the demo's plans with their service bookings and budgets: new, nearly spent, about to end, over."""

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from random import Random
from uuid import UUID

from apps.base.money import ZERO, to_cents
from apps.core.demo import Context, DemoSet, draft_of, existing, read_data
from apps.engagements.calendars import calendar_of, divide_evenly
from apps.engagements.choices import ManagementType, ParticipantType
from apps.engagements.drafts import (
    BookingDraft,
    BudgetDraft,
    ComponentDraft,
    EngagementDraft,
    PeriodDraft,
    PeriodsDraft,
)
from apps.engagements.models import CategoryBudget, ClientEngagement, ServiceBooking, SupportCategory
from apps.engagements.services import (
    create_bookings,
    create_category_budgets,
    create_engagements,
    create_support_categories,
    save_periods,
)
from apps.people.models import Client, Contact, Staff

DATA = read_data(__file__)
YEAR = 365
AGENCY, PLAN, SELF = ManagementType.AGENCY, ManagementType.PLAN, ManagementType.SELF
#: The share of what is gone of a budget that others spent; the demo's claims are about the rest.
SPENT_ELSEWHERE = 0.85
#: Of plans with funding periods it is so much of that.
SPENT_OF_PERIODS = 0.2
#: The usual budgets are enough for so many claims a contact.
CLAIMS_OF_A_CONTACT = 10


@dataclass(frozen=True, slots=True)
class Stage:
    """A plan at a point of its life, as ``demo.toml`` describes it."""

    begun: int
    spent: float
    total: Decimal = Decimal("1.1")
    management: str = PLAN.value
    is_pace: bool = False
    length: int = YEAR
    #: The months of its funding periods; 0: it has none.
    periods: int = 0
    #: So many days after its start the participant endorsed the plan manager.
    endorsed: int = 0


STAGES = tuple(Stage(**row) for row in DATA["stages"])


@dataclass(frozen=True, slots=True)
class PlanReferences:
    """The records that plans refer to, looked up once for all of them."""

    categories: Mapping[int, SupportCategory]
    contacts: Mapping[UUID | None, Contact]
    coordinators: Sequence[Contact]
    managers: Sequence[Staff]


@dataclass(frozen=True, slots=True)
class Plan:
    """The drafts of a plan and of what it is divided into, and the day they are entered."""

    entered: dt.date
    plan: EngagementDraft
    bookings: Sequence[BudgetDraft]
    budgets: Sequence[BudgetDraft]
    #: The months of the funding periods of its components; 0: they have none.
    months: int


def load(context: Context) -> None:
    """Create the plans of the participants, month by month; every third has an earlier plan as well."""
    create_support_categories()
    references = PlanReferences(
        {category.number: category for category in SupportCategory.objects.all()},
        {contact.pk: contact for contact in context.records[Contact]},
        [contact for contact in context.records[Contact][:40] if contact.position_title],
        [each for each in existing(context.records[Staff]) if each.role.name == "Plan manager"],
    )
    chance = context.chance("plans")
    months: dict[tuple[int, int], list[Plan]] = defaultdict(list)
    for number, participant in enumerate(each for each in context.records[Contact] if each.scheme_number):
        stage = STAGES[number % len(STAGES)]
        stages = [stage]
        if number % 3 == 0:
            stages.append(Stage(stage.begun + YEAR, 0.6 + 0.35 * chance.random()))
        for each in stages:
            plan = plan_of(context, chance, number, participant, each, references)
            months[plan.entered.year, plan.entered.month].append(plan)
    for _, plans in sorted(months.items()):
        with context.clock_at(max(plan.entered for plan in plans), 8.5):
            drafts = [plan.plan for plan in plans]
            made = context.create(ClientEngagement, create_engagements, drafts, ignore_warnings=True)
            for plan, engagement in zip(plans, made, strict=True):
                for draft in (*plan.bookings, *plan.budgets):
                    draft.fill("engagement", engagement)
            bookings = [draft for plan in plans for draft in plan.bookings]
            context.store(ServiceBooking, create_bookings, bookings, ignore_warnings=True)
            budgets = [draft for plan in plans for draft in plan.budgets]
            keys = iter(context.store(CategoryBudget, create_category_budgets, budgets, ignore_warnings=True))
            periods = [
                periods_draft(key, draft, plan)
                for plan in plans
                for key, draft in zip(islice(keys, len(plan.budgets)), plan.budgets, strict=True)
                if plan.months
            ]
            save_periods(periods, ignore_warnings=True)


def plan_of(
    context: Context,
    chance: Random,
    number: int,
    participant: Contact,
    stage: Stage,
    references: PlanReferences,
) -> Plan:
    """A plan at its stage, entered some days before it starts, once its participant is known."""
    start = context.day(stage.begun)
    end = start + dt.timedelta(days=stage.length - 1)
    first = max(start - dt.timedelta(days=6), participant.creation_date.astimezone(context.zone).date())
    choices = DATA["categories_of_pace" if stage.is_pace else "categories"]
    parts = [
        budget_draft(context, chance, number, stage, start, end, category, references)
        for category in choices[number % len(choices)]
    ]
    allocated = sum((draft.budget for draft in parts), ZERO)
    coordinators = references.coordinators
    plan = draft_of(
        EngagementDraft,
        ClientEngagement,
        participant_type=(ParticipantType.PACE if stage.is_pace else ParticipantType.AGENCY).value,
        participant=participant,
        plan_start_date=start,
        plan_end_date=end,
        plan_commencement_date=start,
        booking_start_date=None if stage.is_pace else start,
        booking_end_date=None if stage.is_pace else end,
        is_agency_managed=stage.management == AGENCY,
        is_self_managed=stage.management == SELF,
        is_plan_managed=stage.management == PLAN,
        plan_manager=context.records[Client][0] if stage.management == PLAN else None,
        support_coordinator=coordinators[number % len(coordinators)] if number % 2 and coordinators else None,
        person_responsible_for_direct_fees=references.contacts.get(participant.representative_id),
        endorsement_date=start + dt.timedelta(days=stage.endorsed) if stage.is_pace else None,
        total_budget_amount=to_cents(allocated * stage.total),
    )
    entered = min(first, context.day(1))
    return Plan(entered, plan, [] if stage.is_pace else parts, parts if stage.is_pace else [], stage.periods)


def periods_draft(key: UUID, component: BudgetDraft, plan: Plan) -> PeriodsDraft:
    """The funding periods of a component, of the usual length and with the same money each."""
    days = calendar_of(plan.plan.plan_start_date, plan.plan.plan_end_date, plan.months)
    periods = [
        PeriodDraft.of(first, last, released)
        for (first, last), released in zip(days, divide_evenly(component.budget, len(days)), strict=True)
    ]
    return PeriodsDraft({"periods": periods}, key=key)


def budget_draft(
    context: Context,
    chance: Random,
    number: int,
    stage: Stage,
    start: dt.date,
    end: dt.date,
    category_number: int,
    references: PlanReferences,
) -> BudgetDraft:
    """A service booking, or a PACE plan's budget for a category, and what others spent of it already."""
    category, managers = references.categories[category_number], references.managers
    usual = DATA["usual"].get(str(category_number), DATA["usual"]["others"])
    claims, contacts = context.sizes.get("claims", 0), context.sizes["contacts"]
    enough = max(1, claims / max(contacts, 1) / CLAIMS_OF_A_CONTACT)
    budget = to_cents(usual * enough * stage.length / YEAR * chance.uniform(0.6, 1.6))
    share = min(float(stage.spent) * chance.uniform(0.85, 1.15), 1.0) * SPENT_ELSEWHERE
    if stage.periods:
        # It counts on the earliest periods, of which the demo's claims shall have some.
        share *= SPENT_OF_PERIODS
    values: dict[str, object] = {
        "category": category,
        "management_type": stage.management,
        "budget": budget,
        "used_elsewhere": to_cents(float(budget) * share),
    }
    if stage.is_pace:
        component = DATA["components"].get(str(category.number), {}) if stage.periods else {}
        return draft_of(ComponentDraft, CategoryBudget, **values, **component)
    return draft_of(
        BookingDraft,
        ServiceBooking,
        support_purpose=category.support_purpose,
        support_item=DATA["items"].get(str(category.number)) if chance.random() < 0.25 else None,
        budget_manager=managers[number % len(managers)] if managers else None,
        booking_start_date=start,
        booking_end_date=end,
        # Of its own for every participant, category and plan; plans of one participant follow after a year.
        booking_number=f"{50_000_000 + number * 100 + category.number}{start.toordinal() // YEAR % 10}",
        balance_date=min(context.day(1), end),
        **values,
    )


DEMO = DemoSet((), (ClientEngagement, ServiceBooking, CategoryBudget), load)
