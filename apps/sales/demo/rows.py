"""The rows of the demo's opportunities, drawn one after the other."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

from apps.core.demo import Context, Series
from apps.people.demo import plan
from apps.people.demo.rows import sometimes, stamps
from apps.sales.choices import DECIDED, Outcome, Source
from apps.sales.demo import lists
from apps.sales.models import OpportunityTemplate
from apps.sales.services import TEMPLATE_INTERVALS, TEMPLATE_MEMBERS

Row = dict[str, Any]

#: Days after the demo's day on which follow-ups of open opportunities are due: overdue, today, soon, later.
DUE_IN = (0, -9, 1, 2, -2, 0, 3, 12, -20, 5, 26, 1)
#: Opportunities this young are still on their way, most of them.
OPEN_FOR_DAYS = 330
EMPTY: Row = {
    "template_id": None,
    "source": None,
    "source_details": None,
    "referrer_first_name": None,
    "referrer_last_name": None,
    "referrer_organisation": None,
    "referrer_email": None,
    "upfront_value_of_sale": None,
    "recurring_annual_value": None,
    "chance_of_sales": None,
    "outcome": None,
    "outcome_moment": None,
    "outcome_date": None,
    "add_e_marketing_contact_list": None,
    "follow_up_date": None,
    "follow_up_staff_id": None,
    "expiry_date": None,
    "expected_date": None,
}


@dataclass(frozen=True, slots=True)
class Around:
    """What opportunities refer to. ``owners`` are keys of staff, the first the one who looks at the demo."""

    opportunities: Series
    contacts: Series
    owners: Sequence[UUID]
    teams: dict[UUID, int]
    stages: dict[str, int]
    types: dict[str, int]
    reasons: Mapping[str, Sequence[int]]
    templates: Sequence[OpportunityTemplate]


def opportunities(context: Context, around: Around, keys: Sequence[int]) -> Iterator[Row]:
    """The rows, the oldest first; ``reasons`` of each are keys of outcome reasons."""
    chance = context.chance("opportunity")
    for number, key in enumerate(keys):
        made = around.opportunities.created(number)
        owner = around.owners[number % len(around.owners)]
        row = {
            **EMPTY,
            **stamps(chance, context, made, number % 29 == 17),
            **(from_template(chance, context, around, number, made) if number % 3 == 0 else {}),
            "id": key,
            "owner_id": owner,
            "team_id": around.teams.get(owner),
            "primary_contact_id": contact(around, number),
        }
        if row["template_id"] is None:
            row |= of_its_own(chance, around)
        row |= whither(chance, context, around, row)
        if row["stage_id"] != around.stages[lists.RESULT]:
            row |= ahead(chance, context, row, number)
        yield row


def contact(around: Around, number: int) -> UUID | None:
    """Somebody who speaks for themselves or another; one in four opportunities names nobody yet."""
    count = around.contacts.count
    spoken = number * 7 % count if count else 0
    if number % 4 == 3 or not count or plan.contact_is_archived(spoken):
        return None
    return around.contacts.guid(spoken)


def from_template(chance: Random, context: Context, around: Around, number: int, made: dt.datetime) -> Row:
    """What a template filled in on the day the opportunity was made."""
    template = around.templates[number // 3 % len(around.templates)]
    columns = {name: template._meta.get_field(source).attname for name, source in TEMPLATE_MEMBERS.items()}  # type: ignore[union-attr]
    row = {
        f"{name}_id" if source.endswith("_id") else name: getattr(template, source)
        for name, source in columns.items()
        if name not in ("owner", "team", "follow_up_staff")
    }
    day = made.astimezone(context.zone).date()
    for name, interval in TEMPLATE_INTERVALS.items():
        days = getattr(template, interval)
        row[name] = days and day + dt.timedelta(days=days)
    return {**row, "follow_up_date": None, "template_id": template.pk}


def of_its_own(chance: Random, around: Around) -> Row:
    """Name, type, source and values of an opportunity that somebody typed in."""
    kind = chance.choice(lists.TYPES)
    source = chance.choice(lists.SOURCES)
    row: Row = {
        "name": chance.choice(lists.NAMES[kind]),
        "type_id": around.types[kind],
        "source": source,
        "upfront_value_of_sale": sometimes(chance, 0.6, Decimal(chance.randrange(10_000, 250_000)) / 100),
        "recurring_annual_value": sometimes(chance, 0.8, Decimal(chance.randrange(90_000, 900_000)) / 100),
        "chance_of_sales": sometimes(chance, 0.9, Decimal(5 * chance.randrange(1, 19))),
    }
    if source == Source.REFERRAL:
        names = ("first_name", "last_name", "organisation", "email")
        told = chance.choice(lists.REFERRERS)
        row |= {f"referrer_{name}": value for name, value in zip(names, told, strict=True)}
    elif source is not None:
        row["source_details"] = sometimes(chance, 0.7, chance.choice(lists.DETAILS[source]))
    return row


def whither(chance: Random, context: Context, around: Around, row: Row) -> Row:
    """The stage an opportunity stands in; old ones have their result."""
    age = (context.anchor - row["creation_date"]).days
    if age < OPEN_FOR_DAYS and chance.random() < 0.85:
        open_stages = lists.STAGES[:-1]
        far = min(len(open_stages) - 1, int(chance.random() * (1 + age / 80)))
        return {"stage_id": around.stages[open_stages[far]], "reasons": ()}
    outcome = chance.choice((*DECIDED, *DECIDED, Outcome.SALE_SUCCESSFUL, Outcome.DEFERRED)).value
    ended = row["archive_date"] or context.anchor
    moment = row["creation_date"] + (ended - row["creation_date"]) * chance.random() ** 2
    moment = moment.replace(microsecond=0) if outcome in DECIDED else None
    return {
        "stage_id": around.stages[lists.RESULT],
        "outcome": outcome,
        "outcome_moment": moment,
        "outcome_date": moment and moment.astimezone(context.zone).date(),
        "modify_date": max(row["modify_date"], moment or row["modify_date"]),
        "reasons": (chance.choice(around.reasons[outcome]),) if chance.random() < 0.8 else (),
    }


def ahead(chance: Random, context: Context, row: Row, number: int) -> Row:
    """When something is expected and who follows up; every date lay ahead when it was set."""
    made = row["creation_date"].astimezone(context.zone).date()
    due = context.as_of + dt.timedelta(days=DUE_IN[number % len(DUE_IN)])
    followed = due > made and number % 7 != 6
    return {
        "follow_up_date": due if followed else None,
        "follow_up_staff_id": row["owner_id"] if followed else None,
        "expected_date": sometimes(chance, 0.6, context.as_of + dt.timedelta(days=5 + chance.randrange(120))),
    }
