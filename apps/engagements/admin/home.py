"""The panel of the home page about plans that end and budgets that are nearly spent."""

from functools import reduce
from operator import or_
from typing import Any

from django.contrib import admin
from django.db.models import Count, F, Model, QuerySet
from django.http import HttpRequest

from apps.base.money import ZERO
from apps.core.admin_base import HOME_PANELS, Conditions, HomeContent, HomePanel, Work
from apps.core.admin_base.display import list_url
from apps.core.caseload import visible_rows
from apps.core.computed import MoneySum
from apps.engagements.admin.budgets import (
    RUNS_OUT,
    RUNS_OUT_LABEL,
    PeriodFilter,
    load_short_components,
    spent_conditions,
)
from apps.engagements.admin.plans import period_conditions
from apps.engagements.models import CategoryBudget, ClientEngagement, FundingPeriod, ServiceBooking

ENDS_WITHIN = ("30", "90")
REMAINING = F("budget") - F("used_elsewhere") - F("claimed") - F("waiting")


def plan_work(request: HttpRequest) -> HomeContent:
    """The plans that end soon with their budgets, and what is left of budgets that are nearly spent."""
    plans = visible_rows(request.user, ClientEngagement.objects.filter(archive_date=None))
    periods = {days: period for days, period in period_conditions().items() if days in ENDS_WITHIN}
    rows = condition_rows(plans, periods, "stage", F("total_budget_amount"))
    for model in (ServiceBooking, CategoryBudget):
        if admin.site.get_model_admin(model).has_view_permission(request):
            budgets = visible_rows(request.user, model._default_manager.all())
            rows += condition_rows(budgets, spent_conditions(), "spent", REMAINING)
    if admin.site.get_model_admin(CategoryBudget).has_view_permission(request):
        rows += short_period_rows(request.user)
    return HomeContent(rows)


def short_period_rows(person: object) -> list[Work]:
    """The components whose funding period runs out before its end, and what is missing by then."""
    short = load_short_components(visible_rows(person, FundingPeriod.objects.all()))
    if not short:
        return []
    link = list_url(CategoryBudget, **{PeriodFilter.parameter_name: RUNS_OUT})
    return [Work(RUNS_OUT_LABEL, len(short), link, sum(short.values(), ZERO))]


def condition_rows(
    records: QuerySet[Model], conditions: Conditions, parameter: str, amount: object
) -> list[Work]:
    """A row for each condition that holds for any record; the parameter chooses it in the list. One query."""
    any_of = reduce(or_, (condition for _, condition in conditions.values()))
    sums: dict[str, object] = {}
    for name, (_, condition) in conditions.items():
        sums[f"count_{name}"] = Count("pk", filter=condition)
        sums[f"amount_{name}"] = MoneySum(amount, filter=condition)
    found = records.order_by().filter(any_of).aggregate(**sums)
    page: Any = admin.site.get_model_admin(records.model)
    return [
        Work(
            f"{page.list_title}: {label.lower()}",
            count,
            list_url(records.model, **{parameter: name}),
            found[f"amount_{name}"],
        )
        for name, (label, _) in conditions.items()
        if (count := found[f"count_{name}"])
    ]


HOME_PANELS.append(HomePanel("Plans and budgets", ClientEngagement, 70, plan_work))
