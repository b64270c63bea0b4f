"""Creates the demo's sales: stages, types, reasons, templates, and opportunities at every stage."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import Any

from apps.core.demo import (
    Context,
    DemoSet,
    Size,
    change_of,
    draft_of,
    existing,
    find_or_create,
    listed,
    sometimes,
)
from apps.odata.write.drafts import Draft
from apps.people.models import Contact, Staff
from apps.sales.choices import DECIDED, Outcome, Source
from apps.sales.models import (
    Opportunity,
    OpportunityOutcomeReason,
    OpportunityStage,
    OpportunityTemplate,
    OpportunityType,
)
from apps.sales.services import create_opportunities, update_opportunities

#: In the order of the board; the last one is the result.
STAGES = ("Enquiry", "First meeting", "Agreement sent", "Waiting for the plan", "Result")
PLAN_MANAGEMENT, COORDINATION, PARTNERSHIP = TYPES = (
    "Plan management",
    "Support coordination",
    "Provider partnership",
)
CLOSED_TYPE, CLOSED_TEMPLATE = "Transition programme", "Transition programme intake"
REASONS = {
    Outcome.DEFERRED: listed("Waiting for a plan review, Plan starts later, Family decides next year"),
    Outcome.SALE_SUCCESSFUL: listed("Recommended by others, Invoices paid fast, Office nearby"),
    Outcome.SALE_UNSUCCESSFUL: listed(
        "Chose another plan manager, Manages the plan themselves, Plan is agency-managed"
    ),
}
#: The values of each template, by its name; stage and type by their names.
TEMPLATES: dict[str, dict[str, Any]] = {
    "New participant, by referral": {
        "opportunity_name": "Plan management for a new participant",
        "source": Source.REFERRAL.value,
        "referrer_organisation": "Harbour Lights Support Services (demo)",
        "upfront_value_of_sale": "232.35",
        "recurring_annual_value": "1254.48",
        "chance_of_sales": "60.00",
        "expiry_date_interval": 90,
        "stage": STAGES[0],
        "type": PLAN_MANAGEMENT,
    },
    "Expo visitor": {
        "opportunity_name": "Visitor to our stand",
        "source": Source.MARKETING_EVENT.value,
        "source_details": "Disability expo",
        "recurring_annual_value": "1254.48",
        "chance_of_sales": "15.00",
        "expiry_date_interval": 60,
        "stage": STAGES[0],
        "type": PLAN_MANAGEMENT,
    },
    "Coordination for a plan we manage": {
        "opportunity_name": "Support coordination added to plan management",
        "source": Source.CLIENT_CUSTOMER.value,
        "source_details": "Plan review",
        "recurring_annual_value": "4005.60",
        "chance_of_sales": "40.00",
        "stage": STAGES[1],
        "type": COORDINATION,
    },
}
#: Names of opportunities that come from no template, by type.
NAMES = {
    PLAN_MANAGEMENT: listed("Plan management, Change of plan manager, Plan management for two siblings"),
    COORDINATION: listed(
        "Support coordination, Specialist support coordination, Coordination after hospital"
    ),
    PARTNERSHIP: listed("Referral partnership, Group intake with a provider, Information session for staff"),
}
#: What each source that has details says of itself, and how often it comes among others.
DETAILS: dict[Source, tuple[int, tuple[str, ...]]] = {
    Source.CLIENT_CUSTOMER: (3, listed("Plan review, Sibling of a participant")),
    Source.SEARCH_ENGINE: (3, listed("Searched for a plan manager nearby")),
    Source.CALL_WARM: (3, listed("Asked to be called back, Met at a network meeting")),
    Source.MARKETING_EVENT: (2, listed("Disability expo, Open day at Parramatta")),
    Source.E_MARKETING: (2, listed("Newsletter in autumn, Newsletter in spring")),
    Source.SOCIAL_MEDIA: (2, listed("Parents' group, Advertisement")),
    Source.CALL_COLD: (1, listed("Call list of providers")),
    Source.TRAINING: (1, listed("Workshop on plan reviews")),
    Source.OTHER: (1, listed("Walked into the office")),
}
SOURCES = (Source.REFERRAL,) * 7 + tuple(
    source for source, (share, _) in DETAILS.items() for _ in range(share)
)
REFERRERS = (
    ("Rosa", "De Luca", "Two Creeks Occupational Therapy (demo)", "rosa.deluca@example.com"),
    ("Erin", "Walsh", None, "erin.walsh@example.com"),
    (None, None, "Harbour Lights Support Services (demo)", None),
)
#: Days after the demo's day on which open opportunities are followed up: overdue, today, soon, later.
DUE_IN = (0, -9, 1, 2, -2, 0, 3, 12, -20, 5, 26, 1)
#: So many days before the demo's day the follow-ups are set: no date may lie behind when it is set.
FOLLOW_UPS_SET = 40


def load(context: Context) -> None:
    """Create the short lists of sales and the opportunities, and let those advance from month to month."""
    with context.clock_at(context.workdays[0], 8.3):
        stages = create_stages()
        types = {name: find_or_create(OpportunityType, name) for name in TYPES}
        find_or_create(OpportunityType, CLOSED_TYPE, is_archived=True)
        find_or_create(OpportunityTemplate, CLOSED_TEMPLATE, is_archived=True)
        reasons = {
            outcome: [find_or_create(OpportunityOutcomeReason, name, outcome=outcome.value) for name in names]
            for outcome, names in REASONS.items()
        }
        templates = [
            find_or_create(
                OpportunityTemplate,
                name,
                **(values | {"stage": stages[values["stage"]], "type": types[values["type"]]}),
            )
            for name, values in TEMPLATES.items()
        ]
    chance = context.chance("opportunities")
    #: The stage of every opportunity without a result.
    current: dict[int, int] = {}
    for numbers in context.batches(range(context.sizes["opportunities"]), "opportunities"):
        advance(chance, current, list(stages.values()), reasons)
        drafts = [opportunity_draft(context, chance, number, types, templates, stages) for number in numbers]
        made = context.create(Opportunity, create_opportunities, drafts)
        current |= {each.pk: STAGES.index(each.stage.name) for each in made}
    set_follow_ups(context, chance, list(current))
    with context.clock_at(context.day(1), 17):
        context.archive(Opportunity, context.records.setdefault(Opportunity, [])[17::29])


def create_stages() -> dict[str, OpportunityStage]:
    """The stages by name; a result that exists already stays the result."""
    result = OpportunityStage.objects.filter(is_result=True).first()
    stages = {
        name: find_or_create(OpportunityStage, name, position=10 * number)
        for number, name in enumerate(STAGES[:-1], start=1)
    }
    stages[STAGES[-1]] = result or find_or_create(
        OpportunityStage, STAGES[-1], position=10 * len(STAGES), is_result=True
    )
    return stages


def opportunity_draft(
    context: Context,
    chance: Random,
    number: int,
    types: dict[str, OpportunityType],
    templates: Sequence[OpportunityTemplate],
    stages: dict[str, OpportunityStage],
) -> Draft:
    """One in three opportunities is made from a template, one in four names no contact yet."""
    staff, contacts = existing(context.records[Staff]), existing(context.records.get(Contact, []))
    # Whoever looks at the demo is mostly the first member of staff, who is to have something to do.
    owner = staff[number % min(len(staff), 16)] if number % 8 else staff[0]
    values: dict[str, Any] = {
        "owner": owner,
        "team": owner.teams.filter(archive_date=None).order_by("pk").first(),
        "primary_contact": chance.choice(contacts) if contacts and number % 4 != 3 else None,
    }
    if number % 3 == 0:
        return draft_of(Opportunity, template=templates[number // 3 % len(templates)], **values)
    kind, source = chance.choice(TYPES), chance.choice(SOURCES)
    values |= {
        "name": chance.choice(NAMES[kind]),
        "type": types[kind],
        "stage": stages[STAGES[0]],
        "source": source.value,
        "upfront_value_of_sale": sometimes(chance, 0.6, Decimal(chance.randrange(10_000, 250_000)) / 100),
        "recurring_annual_value": sometimes(chance, 0.8, Decimal(chance.randrange(90_000, 900_000)) / 100),
        "chance_of_sales": sometimes(chance, 0.9, Decimal(5 * chance.randrange(1, 19))),
    }
    if source == Source.REFERRAL:
        names = ("referrer_first_name", "referrer_last_name", "referrer_organisation", "referrer_email")
        values |= zip(names, chance.choice(REFERRERS), strict=True)
    else:
        values["source_details"] = sometimes(chance, 0.7, chance.choice(DETAILS[source][1]))
    return draft_of(Opportunity, **values)


def advance(
    chance: Random,
    current: dict[int, int],
    stages: Sequence[OpportunityStage],
    reasons: dict[Outcome, list[OpportunityOutcomeReason]],
) -> None:
    """Let some of the open opportunities advance a stage, and some reach their result."""
    changes = []
    for key, stage in list(current.items()):
        luck = chance.random()
        if luck < 0.1:
            outcome = chance.choice((*DECIDED, *DECIDED, Outcome.SALE_SUCCESSFUL, Outcome.DEFERRED))
            given = {"outcome": Outcome(outcome).value, "outcome_reasons": [chance.choice(reasons[outcome])]}
            values: dict[str, Any] = {"stage": stages[-1], **given}
            del current[key]
        elif luck < 0.3 and stage < len(stages) - 2:
            current[key] = stage + 1
            values = {"stage": stages[stage + 1]}
        else:
            continue
        changes.append(Draft(values, given=values, key=key))
    update_opportunities(changes)


def set_follow_ups(context: Context, chance: Random, keys: Sequence[int]) -> None:
    """Let the open opportunities be followed up and expected on days around the demo's day."""
    open_ones = list(Opportunity.objects.filter(pk__in=keys).select_related("owner").order_by("pk"))
    with context.clock_at(context.day(FOLLOW_UPS_SET), 16) as moment:
        older = [each for each in open_ones if each.creation_date < moment]
        update_opportunities([follow_up(context, chance, number, each) for number, each in enumerate(older)])
    with context.clock_at(context.day(1), 16):
        younger = [each for each in open_ones if each.creation_date >= moment]
        update_opportunities(
            [
                follow_up(context, chance, number, each)
                for number, each in enumerate(younger)
                if DUE_IN[number % len(DUE_IN)] >= 0
            ]
        )


def follow_up(context: Context, chance: Random, number: int, opportunity: Opportunity) -> Draft:
    values: dict[str, Any] = {
        "follow_up_date": context.day(-DUE_IN[number % len(DUE_IN)]),
        "follow_up_staff": opportunity.owner,
    }
    if chance.random() < 0.6:
        values["expected_date"] = context.day(-5 - chance.randrange(120))
    return change_of(opportunity, **values)


SIZES = (Size("opportunities", 240, 0, "opportunities to win participants and partners"),)
SALES = DemoSet("sales", SIZES, (Opportunity,), load)
