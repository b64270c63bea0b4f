"""Loads the demo's people: their short lists, the subscriber and providers, staff, contacts and answers."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, TypeVar
from uuid import UUID

from django.contrib.auth.models import Permission
from django.db import models

from apps.core.bulk_insert import bulk_insert
from apps.core.demo import Context, DemoSet, Series, Size
from apps.core.identifiers import normalised
from apps.core.models import Subscriber
from apps.people.choices import AppliesTo
from apps.people.demo import lists, plan, rows, tour
from apps.people.demo.answers import load_answers
from apps.people.models import Client, Contact, CustomField, Location, Position, Role, Staff, Team

Entry = TypeVar("Entry", bound=models.Model)


def load(context: Context) -> None:
    """Store the people of the context's sizes."""
    name_the_subscriber()
    found = load_lists(context)
    clients, staff, contacts = (context.make_series(size.name, context.sizes[size.name]) for size in SIZES)
    store(context, Client, clients, rows.clients(context, clients, contacts))
    store(context, Staff, staff, rows.staff(context, staff, found))
    join_teams(context, staff)
    around = rows.Around(contacts, clients, staff, found["role"], plan.account_managers(staff.count))
    store(context, Contact, contacts, rows.contacts(context, around))
    for applies_to, series in zip(AppliesTo.values, (staff, clients, contacts), strict=True):
        load_answers(context, applies_to, series, load_custom_fields(context, applies_to))


def name_the_subscriber() -> None:
    """Only where nobody has saved settings. The demo's claims go through a payment provider, some of them."""
    if not Subscriber.objects.exists():
        Subscriber(name=tour.ORGANISATION, payment_provider_module=True).save()


def store(context: Context, model: type[models.Model], series: Series, drawn: Iterable[rows.Row]) -> None:
    """Insert the rows, taking from each what the model's columns are named."""
    columns = tuple(field.attname for field in model._meta.concrete_fields if not hasattr(field, "of"))
    values: Any = itemgetter(*columns)
    context.insert(model, columns, map(values, drawn), series.count)


def load_lists(context: Context) -> dict[str, dict[str, UUID]]:
    """Roles, positions and locations: their guids by name. What exists already is used as it is."""
    positions = sorted({name for names in lists.POSITIONS.values() for name in names})
    found = {
        "role": {name: entry(context, Role, name).pk for name in lists.ROLES},
        "position": {name: entry(context, Position, name).pk for name in positions},
        "location": {name: entry(context, Location, name).pk for name in lists.LOCATIONS},
    }
    for name in lists.CLOSED_LOCATIONS:
        entry(context, Location, name, archive_date=context.anchor)
    grant_permissions(found["role"])
    return found


def entry(context: Context, model: type[Entry], name: str, **values: Any) -> Entry:
    """The entry of a short list with that name, made if there is none."""
    name_is = {"name_key": normalised(name)}
    if "applies_to" in values:
        name_is["applies_to"] = values["applies_to"]
    there = model._default_manager.filter(**name_is).first()
    if there is not None:
        return there
    made = context.mornings[0]
    if isinstance(model._meta.pk, models.UUIDField):
        kind = model._meta.model_name
        values["guid"] = context.guid(f"{kind}/{values.get('applies_to', '')}{name}", made)
    fresh = model(name=name, creation_date=made, modify_date=made, **values)
    fresh.save(force_insert=True)
    return fresh


def grant_permissions(roles: dict[str, UUID]) -> None:
    """Give each role that grants nothing yet what ``lists.ROLES`` says."""
    known = {
        f"{app}.{codename}": key
        for key, app, codename in Permission.objects.values_list("pk", "content_type__app_label", "codename")
    }
    for role in Role.objects.filter(pk__in=roles.values(), permissions=None, all_permissions=False):
        if role.name == lists.ADMINISTRATOR:
            role.all_permissions = True
            role.save()
        patterns = lists.ROLES.get(role.name, ())
        role.permissions.set({known[name] for each in patterns for name in fnmatch.filter(known, each)})


def join_teams(context: Context, staff: Series) -> None:
    """One in seven works in no team, every fifth of the others in two."""
    for name in lists.CLOSED_TEAMS:
        entry(context, Team, name, archive_date=context.anchor)
    teams = [entry(context, Team, name).pk for name in lists.TEAMS]
    joined = (
        (staff.guid(number), teams[(number + nth) % len(teams)])
        for number in range(staff.count)
        for nth in range(plan.teams_of_staff(number))
    )
    bulk_insert(Staff.teams.through, ("staff_id", "team_id"), joined)


def load_custom_fields(context: Context, applies_to: str) -> dict[str, UUID]:
    """The custom fields asked of one kind of record: their guids by name."""
    found = {}
    for position, (name, kind, options) in enumerate(lists.CUSTOM_FIELDS[applies_to]):
        values = {"kind": kind, "options": "\n".join(options), "position": position}
        found[name] = entry(context, CustomField, name, applies_to=applies_to, **values).pk
    return found


def loaded_seeds() -> set[int]:
    """The seeds that the first clients of earlier loads tell."""
    codes = Client.objects.filter(unique_code_key__startswith=rows.SEED_CODE)
    texts = (code.removeprefix(rows.SEED_CODE) for code in codes.values_list("unique_code_key", flat=True))
    return {int(text) for text in texts if text.lstrip("-").isdecimal()}


SIZES = (
    Size("clients", 120, 1, "organisations: the subscriber itself, then providers"),
    Size("staff", 25, 1, "members of staff, who are the users of the back office"),
    Size("contacts", 400, 0, "participants, their representatives and people who work at clients"),
)
PEOPLE = DemoSet("people", SIZES, (Staff, Client, Contact), load, loaded_seeds)
