"""The panel of the home page about plans that end and budgets that are nearly spent."""

from django.db.models import Q
from django.http import HttpRequest

from apps.core.admin_base import HOME_PANELS, Figure, FigureGroup, HomeContent, HomePanel
from apps.core.admin_base.display import list_url
from apps.engagements.admin.budgets import spent_conditions
from apps.engagements.admin.plans import period_conditions
from apps.engagements.models import CategoryBudget, ClientEngagement, ServiceBooking

ENDS_WITHIN = ("30", "60", "90")


def plans_and_budgets(request: HttpRequest) -> HomeContent:
    """The plans that end within 30, 60 and 90 days, and budgets of current plans that are nearly spent."""
    plans = ClientEngagement.objects.filter(archive_date=None).order_by()
    periods = period_conditions()
    figures = [
        Figure(label, plans.filter(condition).count(), list_url(ClientEngagement, stage=days))
        for days, (label, condition) in periods.items()
        if days in ENDS_WITHIN
    ]
    groups = [FigureGroup("", figures)]
    for model in (ServiceBooking, CategoryBudget):
        if not request.user.has_perm(f"engagements.view_{model._meta.model_name}"):
            continue
        figures = [
            Figure(label, count, list_url(model, spent=choice), is_urgent=choice == "over")
            for choice, (label, condition) in spent_conditions().items()
            if (count := count_budgets(model, condition))
        ]
        if figures:
            groups.append(FigureGroup(f"{str(model._meta.verbose_name_plural).capitalize()} spent", figures))
    return HomeContent(groups)


def count_budgets(model: type[ServiceBooking | CategoryBudget], condition: Q) -> int:
    return model._default_manager.filter(condition).order_by().count()


HOME_PANELS.append(HomePanel("Plans", ClientEngagement, 70, plans_and_budgets))
