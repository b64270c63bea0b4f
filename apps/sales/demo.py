"""Creates the demo's sales: short lists and templates, and opportunities at every stage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random

from apps.core.demo import (
    Context,
    DemoSet,
    Size,
    change_of,
    draft_of,
    existing,
    load_lookups,
    read_data,
    sometimes,
)
from apps.people.models import Contact, Staff
from apps.sales.drafts import OpportunityDraft
from apps.sales.models import (
    Opportunity,
    OpportunityOutcomeReason,
    OpportunityStage,
    OpportunityTemplate,
    OpportunityType,
)
from apps.sales.services import create_opportunities, update_opportunities

DATA = read_data(__file__)
#: The outcomes of those that reach a result, in their shares.
OUTCOMES = ("SaleSuccessful",) * 3 + ("SaleUnsuccessful",) * 2 + ("Deferred",)
#: Days after the demo's day on which open opportunities are followed up: overdue, today, soon, later.
DUE_IN = (0, -9, 1, 2, -2, 0, 3, 12, -20, 5, 26, 1)
#: So many days before the demo's day the follow-ups are set: no date may lie behind when it is set.
FOLLOW_UPS_SET = (40, 1)


@dataclass(frozen=True, slots=True)
class ShortLists:
    """The entries that opportunities refer to; ``stages`` in the order of the board, the result last."""

    stages: Sequence[OpportunityStage]
    types: Mapping[str, OpportunityType]
    reasons: Mapping[str, Sequence[OpportunityOutcomeReason]]
    templates: Sequence[OpportunityTemplate]


def load(context: Context) -> None:
    """Create the short lists of sales and the opportunities, and let those advance from month to month."""
    with context.clock_at(context.workdays[0], 8.3):
        lists = load_short_lists()
    chance = context.chance("opportunities")
    #: The stage of every opportunity without a result.
    current: dict[int, int] = {}
    for numbers in context.batches(range(context.sizes["opportunities"]), "opportunities"):
        advance(chance, current, lists)
        drafts = [opportunity_draft(context, chance, number, lists) for number in numbers]
        made = context.create(Opportunity, create_opportunities, drafts)
        current |= {each.pk: lists.stages.index(each.stage) for each in made}
    set_follow_ups(context, chance, list(current))
    with context.clock_at(context.day(1), 17):
        context.archive(Opportunity, context.records[Opportunity][17::29])


def load_short_lists() -> ShortLists:
    """The entries of the short lists; a result that exists already stays the result."""
    *steps, result = DATA["stages"]
    entries = [{"name": name, "position": 10 * number} for number, name in enumerate(steps, start=1)]
    stages = load_lookups(OpportunityStage, entries)
    last = OpportunityStage.objects.filter(is_result=True).first()
    if last is None:
        last = load_lookups(OpportunityStage, [result], is_result=True, position=10 * len(DATA["stages"]))[
            result
        ]
    types = load_lookups(OpportunityType, DATA["types"])
    load_lookups(OpportunityType, DATA["archived_types"], is_archived=True)
    rows = [row | {"stage": stages[row["stage"]], "type": types[row["type"]]} for row in DATA["templates"]]
    templates = load_lookups(OpportunityTemplate, rows)
    load_lookups(OpportunityTemplate, DATA["archived_templates"], is_archived=True)
    reasons = {
        outcome: list(load_lookups(OpportunityOutcomeReason, names, outcome=outcome).values())
        for outcome, names in DATA["reasons"].items()
    }
    return ShortLists([*stages.values(), last], types, reasons, list(templates.values()))


def opportunity_draft(context: Context, chance: Random, number: int, lists: ShortLists) -> OpportunityDraft:
    """One in three opportunities is made from a template, one in four names no contact yet."""
    staff, contacts = existing(context.records[Staff]), existing(context.records[Contact])
    # Whoever looks at the demo is mostly the first member of staff, who is to have something to do.
    owner = staff[number % min(len(staff), 16)] if number % 8 else staff[0]
    values: dict[str, object] = {
        "owner": owner,
        "team": owner.teams.filter(archive_date=None).order_by("pk").first(),
        "primary_contact": chance.choice(contacts) if contacts and number % 4 != 3 else None,
    }
    if number % 3 == 0:
        return draft_of(
            OpportunityDraft,
            Opportunity,
            template=lists.templates[number // 3 % len(lists.templates)],
            **values,
        )
    type_name = chance.choice(DATA["types"])
    shares = [source["share"] for source in DATA["sources"].values()]
    [(name, source)] = chance.choices(list(DATA["sources"].items()), shares)
    values |= {
        "name": chance.choice(DATA["names"][type_name]),
        "type": lists.types[type_name],
        "stage": lists.stages[0],
        "source": name,
        "upfront_value_of_sale": sometimes(chance, 0.6, Decimal(chance.randrange(10_000, 250_000)) / 100),
        "recurring_annual_value": sometimes(chance, 0.8, Decimal(chance.randrange(90_000, 900_000)) / 100),
        "chance_of_sales": sometimes(chance, 0.9, Decimal(5 * chance.randrange(1, 19))),
    }
    if "details" in source:
        values["source_details"] = sometimes(chance, 0.7, chance.choice(source["details"]))
    else:
        values |= chance.choice(DATA["referrers"])
    return draft_of(OpportunityDraft, Opportunity, **values)


def advance(chance: Random, current: dict[int, int], lists: ShortLists) -> None:
    """Let some of the open opportunities advance a stage, and some reach their result."""
    changes = []
    for key, stage in list(current.items()):
        luck = chance.random()
        values: dict[str, object] = {}
        if luck < 0.1:
            outcome = chance.choice(OUTCOMES)
            reasons = [chance.choice(lists.reasons[outcome])]
            values = {"stage": lists.stages[-1], "outcome": outcome, "outcome_reasons": reasons}
            del current[key]
        elif luck < 0.3 and stage < len(lists.stages) - 2:
            current[key] = stage + 1
            values = {"stage": lists.stages[stage + 1]}
        if values:
            changes.append(OpportunityDraft(values, given=values, key=key))
    update_opportunities(changes)


def set_follow_ups(context: Context, chance: Random, keys: Sequence[int]) -> None:
    """Let the open opportunities be followed up and expected on days around the demo's day."""
    waiting = list(Opportunity.objects.filter(pk__in=keys).select_related("owner").order_by("pk"))
    for ago in FOLLOW_UPS_SET:
        with context.clock_at(context.day(ago), 16) as now:
            changes = []
            for number, opportunity in enumerate(each for each in waiting if each.creation_date < now):
                due = context.day(-DUE_IN[number % len(DUE_IN)])
                if due > context.today:
                    values: dict[str, object] = {"follow_up_date": due, "follow_up_staff": opportunity.owner}
                    if chance.random() < 0.6:
                        values["expected_date"] = context.day(-5 - chance.randrange(120))
                    changes.append(change_of(OpportunityDraft, opportunity, **values))
            update_opportunities(changes)
            waiting = [each for each in waiting if each.creation_date >= now]


SIZES = (Size("opportunities", 240, 0, "opportunities to win participants and partners"),)
DEMO = DemoSet(SIZES, (Opportunity,), load)
