"""Loads the demo's sales: stages, types, reasons, templates, and opportunities at every stage."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any
from uuid import UUID

from apps.core import saving
from apps.core.bulk_insert import bulk_insert
from apps.core.demo import Context, DemoSet, Size
from apps.people.demo import plan
from apps.people.demo.loading import entry
from apps.people.models import Staff
from apps.sales.demo import lists, rows
from apps.sales.models import (
    Opportunity,
    OpportunityOutcomeReason,
    OpportunityStage,
    OpportunityTemplate,
    OpportunityType,
)


def load(context: Context) -> None:
    """Store the sales of the context's sizes; people are loaded already."""
    count = context.sizes["opportunities"]
    stages = load_stages(context)
    types = {name: entry(context, OpportunityType, name).pk for name in lists.TYPES}
    for name in lists.CLOSED_TYPES:
        entry(context, OpportunityType, name, archive_date=context.anchor)
    reasons = {
        outcome: [entry(context, OpportunityOutcomeReason, name, outcome=outcome).pk for name in names]
        for outcome, names in lists.REASONS.items()
    }
    owners = owners_of(context)
    around = rows.Around(
        context.make_series("opportunity", max(count, 1)),
        context.series["contacts"],
        owners,
        teams_of(owners),
        stages,
        types,
        reasons,
        load_templates(context, stages, types),
    )
    store(context, list(rows.opportunities(context, around, saving.new_keys(Opportunity, count))))


def store(context: Context, drawn: Sequence[rows.Row]) -> None:
    columns = tuple(field.attname for field in Opportunity._meta.concrete_fields)
    values: Any = itemgetter(*columns)
    context.insert(Opportunity, columns, map(values, drawn), len(drawn))
    links = ((row["id"], reason) for row in drawn for reason in row["reasons"])
    bulk_insert(Opportunity.outcome_reasons.through, ("opportunity_id", "opportunityoutcomereason_id"), links)


def load_stages(context: Context) -> dict[str, int]:
    """The stages by name; a result that is there already stays the result."""
    result = OpportunityStage.objects.filter(is_result=True).first()
    found = {}
    for place, name in enumerate(lists.STAGES):
        is_result = name == lists.RESULT
        if is_result and result is not None:
            found[name] = result.pk
            continue
        found[name] = entry(
            context, OpportunityStage, name, position=10 * (place + 1), is_result=is_result
        ).pk
    return found


def load_templates(
    context: Context, stages: dict[str, int], types: dict[str, int]
) -> list[OpportunityTemplate]:
    """The current templates; closed ones stand beside them."""
    for name in lists.CLOSED_TEMPLATES:
        entry(context, OpportunityTemplate, name, archive_date=context.anchor)
    found: list[UUID] = []
    for name, filled in lists.TEMPLATES.items():
        keys = {"stage_id": stages[filled["stage"]], "type_id": types[filled["type"]]}
        values = {column: value for column, value in filled.items() if column not in ("stage", "type")}
        found.append(entry(context, OpportunityTemplate, name, **values, **keys).pk)
    templates = OpportunityTemplate.objects.in_bulk(found)
    return [templates[key] for key in found]


def owners_of(context: Context) -> list[UUID]:
    """The staff who can sign in, the first one twice: whoever looks at the demo has something to do."""
    staff = context.series["staff"]
    able = [
        number
        for number in range(staff.count)
        if not plan.staff_is_archived(number) and not plan.login_is_closed(number)
    ]
    return [staff.guid(number) for number in (*able[:8], 0, *able[8:16])]


def teams_of(owners: Sequence[UUID]) -> dict[UUID, int]:
    """The first current team of each owner who is in one."""
    pairs = Staff.teams.through.objects.filter(staff__in=owners, team__archive_date=None)
    return dict(pairs.order_by("-team_id").values_list("staff_id", "team_id"))


SIZES = (Size("opportunities", 240, 0, "opportunities to win participants and partners"),)
SALES = DemoSet("sales", SIZES, (Opportunity,), load)
