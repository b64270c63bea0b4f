"""The back office of plans: their list, their form, and the page that shows how their budgets are spent."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.text import capfirst
from unfold.contrib.filters.admin import ChoicesDropdownFilter, RadioFilter
from unfold.decorators import display

from apps.core.admin_base import ArchivedFilter
from apps.core.models import Subscriber
from apps.engagements.admin.spending_bar import spending_bar
from apps.engagements.models import ZERO, Budget, ClientEngagement
from apps.engagements.services import create_engagements, update_engagements
from apps.odata import clock
from apps.people.admin import NumberSearchAdmin


@dataclass(frozen=True, slots=True)
class BudgetList:
    """A list of records that ``parameter`` filters by the key of a budget."""

    model: type[Model]
    parameter: str


#: The lists that the page of a plan links to; apps that depend on this one add theirs.
BUDGET_LISTS: list[BudgetList] = []

#: From so many days on, the time left of a plan is a warning.
DAYS_LEFT_WARNING = 30

# --- filters --------------------------------------------------------------------------------------------


class PlanPeriodFilter(RadioFilter):
    """Plans by their dates; without a choice those that have not ended."""

    title = "plan"
    parameter_name = "stage"
    all_option: ClassVar[list[str]] = ["", "Not ended"]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("current", "Current"),
            ("30", "Ends within 30 days"),
            ("60", "Ends within 60 days"),
            ("90", "Ends within 90 days"),
            ("ended", "Ended"),
            ("coming", "Still to start"),
            ("all", "All"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        today = clock.today()
        started = Q(plan_start_date__lte=today)
        if self.value() == "all":
            return queryset
        if self.value() == "coming":
            return queryset.exclude(started)
        if self.value() == "ended":
            return queryset.filter(ended_before(today))
        if self.value() in ("current", "30", "60", "90"):
            queryset = queryset.filter(started)
        if self.value() in ("30", "60", "90"):
            queryset = queryset.filter(ended_before(today + dt.timedelta(days=int(self.value()) + 1)))
        return queryset.exclude(ended_before(today))


def ended_before(day: dt.date) -> Q:
    """Plans whose last day is before that day."""
    return Q(plan_end_date__lt=day) | Q(no_active_plan_from_date__lte=day)


class ManagementFilter(RadioFilter):
    """Plans by who pays the providers."""

    title = "managed by"
    parameter_name = "managed"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("plan", "Plan manager"), ("agency", "Agency"), ("self", "Participant")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() in ("plan", "agency", "self"):
            return queryset.filter(**{f"is_{self.value()}_managed": True})
        return queryset


# --- plans ----------------------------------------------------------------------------------------------


@admin.register(ClientEngagement)
class ClientEngagementAdmin(NumberSearchAdmin):
    """Plans; the page of a plan shows how its budgets are spent."""

    create = staticmethod(create_engagements)
    update = staticmethod(update_engagements)
    menu_group = "Plans"
    menu_order = 40
    icon = "event_note"
    list_display = ("plan", "period", "managers", "total", "spending", "time", "archived")
    list_display_links = None
    list_select_related = ("participant",)
    list_filter = (
        ArchivedFilter,
        PlanPeriodFilter,
        ManagementFilter,
        ("participant_type", ChoicesDropdownFilter),
    )
    list_filter_submit = True
    search_fields = ("participant__first_name", "participant__last_name", "participant__unique_code")
    search_help_text = "Participant's name, scheme number or code"
    number_columns = ("participant__scheme_number",)
    ordering = ("plan_end_date", "guid")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("participant", "participant_type"),
                    ("plan_start_date", "plan_end_date"),
                    ("total_budget_amount", "endorsement_date"),
                    ("is_plan_managed", "is_agency_managed", "is_self_managed"),
                    ("plan_manager", "support_coordinator"),
                    "person_responsible_for_direct_fees",
                )
            },
        ),
        (
            "More dates",
            {
                "fields": (
                    ("booking_start_date", "booking_end_date"),
                    ("plan_commencement_date", "no_active_plan_from_date"),
                ),
                "classes": ("tab",),
            },
        ),
    )

    class Media:
        css: ClassVar[dict[str, tuple[str, ...]]] = {"all": ("engagements.css",)}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        plans = super().get_queryset(request)
        match = request.resolver_match
        if match is None or match.url_name != "engagements_clientengagement_changelist":
            return plans
        return plans.prefetch_related("bookings", "category_budgets")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        """The participant and the type of an existing plan stay: its budgets depend on them."""
        readonly = super().get_readonly_fields(request, obj)
        return readonly if obj is None else (*readonly, "participant", "participant_type")

    # --- columns

    @display(description="participant", ordering="participant__last_name")
    def plan(self, plan: ClientEngagement) -> str:
        return format_html(
            '<a class="rs-link" href="{}">{}</a><br><span class="rs-faint">{}</span>',
            self.page_url("plan", plan.pk),
            plan.participant,
            plan.participant.scheme_number or "No scheme number",
        )

    @display(description="plan", ordering="plan_start_date")
    def period(self, plan: ClientEngagement) -> str:
        return f"{format_date(plan.plan_start_date)} – {format_date(plan.plan_end_date)}"

    @display(description="managed by")
    def managers(self, plan: ClientEngagement) -> str:
        return manager_labels(plan)

    @display(description="budget", ordering="total_budget_amount")
    def total(self, plan: ClientEngagement) -> str:
        return f"{plan.total_budget_amount:,.2f}"

    @display(description="spent")
    def spending(self, plan: ClientEngagement) -> str:
        return spending_bar(plan.spending(plan.budgets.all(), clock.today()), is_small=True)

    @display(
        description="time left",
        ordering="plan_end_date",
        label={"ended": "danger", "soon": "warning", "later": "info", "coming": "success"},
    )
    def time(self, plan: ClientEngagement) -> tuple[str, str]:
        return time_left(plan)

    # --- the page of a plan

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.plan_view)
        return [
            path("<path:object_id>/plan/", view, name="engagements_clientengagement_plan"),
            *super().get_urls(),
        ]

    def record_links(self, request: HttpRequest, object_id: str) -> list[dict[str, str]]:
        link = {"title": "Budgets", "icon": "bar_chart", "link": self.page_url("plan", object_id)}
        return [link, *super().record_links(request, object_id)]

    def plan_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """How a plan and each of its budgets is spent, and how long they will last."""
        plan = self.get_object(request, object_id)
        if plan is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if not self.has_view_permission(request, plan):
            raise PermissionDenied
        today = clock.today()
        budgets = sorted(
            plan.budgets.select_related("category", "engagement"),
            key=lambda budget: (budget.category.number if budget.category else 99, str(budget.pk)),
        )
        allocated = sum((budget.budget for budget in budgets), ZERO)
        context = {
            **self.admin_site.each_context(request),
            "title": str(plan),
            "opts": self.opts,
            "original": plan,
            "plan": plan,
            "plan_spending": plan.spending(budgets, today),
            "time_left": time_left(plan)[1],
            "managers": manager_labels(plan),
            "allocated": allocated,
            "unallocated": plan.total_budget_amount - allocated,
            "over_allocated": allocated - plan.total_budget_amount,
            "budgets": [budget_section(budget, today) for budget in budgets],
            "currency": Subscriber.current().currency,
            "add_link": self.add_budget_url(request, plan),
            "budget_lists": self.budget_list_links(request),
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "engagements/plan.html", context)

    def budget_list_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        """The name of each list that may be viewed, and its address up to the key of a budget."""
        links = []
        for each in BUDGET_LISTS:
            opts = each.model._meta
            if self.admin_site.get_model_admin(each.model).has_view_permission(request):
                address = reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")
                links.append((capfirst(str(opts.verbose_name_plural)), f"{address}?{each.parameter}="))
        return links

    def add_budget_url(self, request: HttpRequest, plan: ClientEngagement) -> str | None:
        opts = plan.budgets.model._meta
        if not self.admin_site.get_model_admin(opts.model).has_add_permission(request):
            return None
        address = reverse(f"admin:{opts.app_label}_{opts.model_name}_add")
        return f"{address}?{urlencode({'engagement': str(plan.pk)})}"


def budget_section(budget: Budget, today: dt.date) -> dict[str, Any]:
    """A budget on the page of its plan."""
    address = f"admin:{budget._meta.app_label}_{budget._meta.model_name}_change"
    spending = budget.spending(today)
    return {
        "record": budget,
        "spending": spending,
        "bar": spending_bar(spending),
        "link": reverse(address, args=[budget.pk]),
    }


def format_date(date: dt.date) -> str:
    return date_format(date, "j M Y")


def manager_labels(plan: ClientEngagement) -> str:
    """Who manages the plan: ``Plan manager, Participant``."""
    labels = {
        "Plan manager": plan.is_plan_managed,
        "Agency": plan.is_agency_managed,
        "Participant": plan.is_self_managed,
    }
    return ", ".join(label for label, is_manager in labels.items() if is_manager) or "–"


def time_left(plan: ClientEngagement) -> tuple[str, str]:
    """(colour of the label, words) for the time left of a plan."""
    days_to_start = (plan.plan_start_date - clock.today()).days
    if days_to_start > 0:
        return "coming", f"Starts in {count_days(days_to_start)}"
    if not plan.is_current:
        return "ended", f"Ended {format_date(plan.last_day)}"
    if plan.days_left == 0:
        return "soon", "Last day"
    colour = "soon" if plan.days_left <= DAYS_LEFT_WARNING else "later"
    return colour, f"{count_days(plan.days_left)} left"


def count_days(number: int) -> str:
    return "1 day" if number == 1 else f"{number:,} days"
