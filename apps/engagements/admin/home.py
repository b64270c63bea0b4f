"""The panel of the home page about plans that end and budgets that are nearly spent."""

from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Count, QuerySet
from django.http import HttpRequest

from apps.core.admin_base import HOME_PANELS, Conditions, Figure, FigureGroup, HomeContent, HomePanel
from apps.core.admin_base.display import list_url
from apps.engagements.admin.budgets import spent_conditions
from apps.engagements.admin.plans import period_conditions
from apps.engagements.models import CategoryBudget, ClientEngagement, ServiceBooking

ENDS_WITHIN = ("30", "60", "90")


def plans_and_budgets(request: HttpRequest) -> HomeContent:
    """The plans that end within 30, 60 and 90 days, and budgets of current plans that are nearly spent."""
    plans = ClientEngagement.objects.filter(archive_date=None).order_by()
    periods = {days: period for days, period in period_conditions().items() if days in ENDS_WITHIN}
    counts = count_each(plans, periods)
    figures = [
        Figure(label, counts[days], list_url(ClientEngagement, stage=days))
        for days, (label, _) in periods.items()
    ]
    groups = [FigureGroup("", figures)]
    for model in (ServiceBooking, CategoryBudget):
        if not request.user.has_perm(f"engagements.view_{model._meta.model_name}"):
            continue
        conditions = spent_conditions()
        counts = count_each(model._default_manager.order_by(), conditions)
        figures = [
            Figure(label, counts[choice], list_url(model, spent=choice), is_urgent=choice == "over")
            for choice, (label, _) in conditions.items()
            if counts[choice]
        ]
        if figures:
            groups.append(FigureGroup(f"{str(model._meta.verbose_name_plural).capitalize()} spent", figures))
    return HomeContent(groups)


def count_each(records: QuerySet[Any], conditions: Conditions) -> dict[str, int]:
    """How many records each condition holds for; one query."""
    any_of = reduce(or_, (condition for _, condition in conditions.values()))
    counts = {name: Count("pk", filter=condition) for name, (_, condition) in conditions.items()}
    return records.filter(any_of).aggregate(**counts)


HOME_PANELS.append(HomePanel("Plans", ClientEngagement, 70, plans_and_budgets))
