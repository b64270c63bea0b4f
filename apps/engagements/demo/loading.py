"""Loads the demo's plans with their service bookings and budgets."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from django.db import models

from apps.core.demo import Context, DemoSet
from apps.engagements.demo import rows
from apps.engagements.models import CategoryBudget, ClientEngagement, ServiceBooking, SupportCategory
from apps.engagements.services import create_support_categories
from apps.people.demo import plan as people


def load(context: Context) -> None:
    """Store the plans of the participants that the demo's people made."""
    create_support_categories()
    drawn = list(rows.plans(context, surroundings(context)))
    store(context, ClientEngagement, [each.plan for each in drawn])
    store(context, ServiceBooking, [row for each in drawn for row in each.bookings])
    store(context, CategoryBudget, [row for each in drawn for row in each.budgets])


def surroundings(context: Context) -> rows.Around:
    """What the rows are drawn with; whoever draws them again with it draws the same."""
    categories = SupportCategory.objects.values_list("number", "pk", "support_purpose")
    return rows.Around(
        contacts=context.series["contacts"],
        clients=context.series["clients"],
        staff=context.series["staff"],
        budget_managers=people.account_managers(context.series["staff"].count),
        categories={number: (key, purpose) for number, key, purpose in categories},
    )


def store(context: Context, model: type[models.Model], drawn: Sequence[rows.Row]) -> None:
    """Insert the rows, taking from each what the model's columns are named."""
    columns = tuple(field.attname for field in model._meta.concrete_fields if not hasattr(field, "of"))
    values: Any = itemgetter(*columns)
    context.insert(model, columns, map(values, drawn), len(drawn))


ENGAGEMENTS = DemoSet("engagements", (), (ClientEngagement, ServiceBooking, CategoryBudget), load)
