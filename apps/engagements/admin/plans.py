"""The back office of plans: their list, their form, and the page that shows how their budgets are spent."""

import datetime as dt
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.text import capfirst
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from apps.base import clock
from apps.base.errors import plural
from apps.base.money import ZERO
from apps.core.admin_base import (
    ArchivedFilter,
    ConditionFilter,
    Conditions,
    Page,
    Panel,
    RecordAdmin,
    RecordLink,
    fieldset,
    record_panel,
    register_panels,
)
from apps.core.admin_base.display import (
    admin_url,
    format_amount,
    link,
    list_column,
    list_url,
    period_cell,
    short_day,
    two_lines,
)
from apps.core.admin_base.panels import overview_context
from apps.engagements.admin.budget_grid import BudgetGrid
from apps.engagements.admin.budgets import spending_bar
from apps.engagements.admin.component_pages import components_page
from apps.engagements.admin.period_bars import period_bars, set_bills, waited_for
from apps.engagements.models import Budget, CategoryBudget, ClientEngagement, ended_before
from apps.engagements.services import find_open_money
from apps.people.models import Client, Contact


@dataclass(frozen=True, slots=True)
class BudgetList:
    """A list of records that ``parameter`` filters by the key of a budget."""

    model: type[Model]
    parameter: str


#: The lists that the page of a plan links to; apps that depend on this one add theirs.
BUDGET_LISTS: list[BudgetList] = []

#: ``12 claims`` by the key of a coming funding period: what waits for it, which another app knows.
PERIOD_BILLS: list[Callable[[Collection[UUID]], dict[UUID, str]]] = []

#: From so many days on, the time left of a plan is a warning.
DAYS_LEFT_WARNING = 30

# --- filters --------------------------------------------------------------------------------------------


class PlanPeriodFilter(ConditionFilter):
    """Plans by their dates; without a choice those that have not ended."""

    title = "plan"
    parameter_name = "stage"

    def conditions(self, model: type[Model]) -> Conditions:
        return period_conditions()


def period_conditions() -> Conditions:
    """The conditions of plans by their dates."""
    today = clock.today()
    started, ended = Q(plan_start_date__lte=today), ended_before(today)
    ends_within = {
        str(days): (
            f"Ends within {days} days",
            started & ~ended & ended_before(today + dt.timedelta(days=days + 1)),
        )
        for days in (30, 60, 90)
    }
    return {
        "": ("Not ended", ~ended),
        "current": ("Current", started & ~ended),
        **ends_within,
        "ended": ("Ended", ended),
        "coming": ("Still to start", ~started),
        "all": ("All", Q()),
    }


class ManagementFilter(ConditionFilter):
    """Plans by who pays the providers."""

    title = "managed by"
    parameter_name = "managed"

    def conditions(self, model: type[Model]) -> Conditions:
        return {
            "plan": ("Plan manager", Q(is_plan_managed=True)),
            "agency": ("Agency", Q(is_agency_managed=True)),
            "self": ("Participant", Q(is_self_managed=True)),
        }


# --- plans ----------------------------------------------------------------------------------------------


@admin.register(ClientEngagement)
class ClientEngagementAdmin(RecordAdmin):
    """Plans; the page of a plan shows how its budgets are spent."""

    purpose = "A plan has a participant's budgets for a period. Claims are charged to them."
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
    search_help_text = "Participant's name, scheme number or code"
    ordering = ("plan_end_date", "guid")
    record_pages = (
        Page("plan", "Budgets"),
        Page("components", "Components and periods"),
        *RecordAdmin.record_pages,
    )
    main_page = "plan"
    confirmed_codes = frozenset({"WaitingOutside"})
    fieldsets = (
        fieldset(
            None,
            ("participant", "participant_type"),
            ("plan_start_date", "plan_end_date"),
            ("total_budget_amount", "endorsement_date"),
            ("is_plan_managed", "is_agency_managed", "is_self_managed"),
            ("plan_manager", "support_coordinator"),
            "person_responsible_for_direct_fees",
        ),
        fieldset(
            "More dates",
            ("booking_start_date", "booking_end_date"),
            ("plan_commencement_date", "no_active_plan_from_date"),
            style="tab",
        ),
    )

    class Media:
        css: ClassVar[dict[str, tuple[str, ...]]] = {"all": ("engagements.css",)}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        plans = super().get_queryset(request)
        return plans.prefetch_related("bookings", "category_budgets") if self.is_list(request) else plans

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, object]:
        """Most plans here are managed by us."""
        return {"is_plan_managed": True, **super().get_changeform_initial_data(request)}

    def response_post_save_add(self, request: HttpRequest, obj: ClientEngagement) -> HttpResponse:
        """The page of the new plan, where its budgets are entered."""
        return redirect(self.record_url(obj))

    def record_links(self, request: HttpRequest, record: ClientEngagement) -> list[RecordLink]:
        """The page of components is that of PACE plans."""
        links = super().record_links(request, record)
        page = self.page_url("components", record.pk)
        return [each for each in links if record.is_pace or each.link != page]

    # --- columns

    @display(description="participant", ordering="participant__last_name")
    def plan(self, plan: ClientEngagement) -> str:
        participant = link(self.page_url("plan", plan.pk), plan.participant)
        return two_lines(participant, plan.participant.scheme_number or "No scheme number")

    @display(description="plan", ordering="plan_start_date")
    def period(self, plan: ClientEngagement) -> str | None:
        return period_cell(plan.plan_start_date, plan.plan_end_date)

    @display(description="managed by")
    def managers(self, plan: ClientEngagement) -> str:
        labels = {
            "Plan manager": plan.is_plan_managed,
            "Agency": plan.is_agency_managed,
            "Participant": plan.is_self_managed,
        }
        return ", ".join(label for label, is_manager in labels.items() if is_manager) or "–"

    total = list_column("budget", "total_budget_amount", format_amount)

    def archiving_effect(self, record: ClientEngagement) -> str:
        return " ".join(issue.message for issue in find_open_money(record))

    @display(description="spent")
    def spending(self, plan: ClientEngagement) -> str:
        return spending_bar(plan.spending(plan.budgets.all(), clock.today()), is_small=True)

    @display(
        description="time left",
        ordering="plan_end_date",
        label={"ended": "danger", "soon": "warning", "later": "info", "coming": "success"},
    )
    def time(self, plan: ClientEngagement) -> tuple[str, str]:
        """(colour of the label, words)"""
        days_to_start = (plan.plan_start_date - clock.today()).days
        if days_to_start > 0:
            return "coming", f"Starts in {plural(days_to_start, 'day')}"
        if not plan.is_current:
            return "ended", f"Ended {short_day(plan.last_day)}"
        if plan.days_left == 0:
            return "soon", "Last day"
        colour = "soon" if plan.days_left <= DAYS_LEFT_WARNING else "later"
        return colour, f"{plural(plan.days_left, 'day')} left"

    # --- the page of a plan

    def plan_page(self, request: HttpRequest, record: ClientEngagement) -> HttpResponse:
        """How a plan and its budgets are spent, what was claimed on them, and the grid to enter them."""
        budgets = load_budgets(record)
        with transaction.atomic():
            if request.method == "POST":
                # Of two people saving together, the second must find what the first has saved.
                ClientEngagement.objects.select_for_update(of=("self",)).get(pk=record.pk)
                budgets = load_budgets(record)
            grid = BudgetGrid(request, record, budgets)
            if grid.data is not None and record.is_archived:
                messages.error(request, "The plan was archived meanwhile: nothing was saved.")
            elif grid.data is not None and grid.is_valid():
                count = grid.save()
                for warning in grid.warnings:
                    messages.warning(request, warning)
                self.message_user(request, f"{plural(count, 'budget')} saved.", messages.SUCCESS)
                return redirect(self.record_url(record))
        allocated = sum((budget.budget for budget in budgets), ZERO)
        has_components = record.is_pace and any(is_component(budget) for budget in budgets)
        return self.render_page(
            request,
            "engagements/plan.html",
            str(record),
            record,
            plan=record,
            plan_spending=record.spending(budgets, clock.today()),
            time_left=self.time(record)[1],
            managers=self.managers(record),
            allocated=allocated,
            unallocated=record.total_budget_amount - allocated,
            over_allocated=allocated - record.total_budget_amount,
            grid=None if has_components else grid,
            has_periods=any(budget.has_periods for budget in budgets),
            components_link=self.page_url("components", record.pk) if record.is_pace else None,
            **overview_context(request, record),
        )

    def components_page(self, request: HttpRequest, record: ClientEngagement) -> HttpResponse:
        """The components of a PACE plan and their funding periods."""
        return components_page(self, request, record) if record.is_pace else redirect(self.record_url(record))


def load_budgets(plan: ClientEngagement) -> list[Budget]:
    """The budgets of a plan by their categories."""
    budgets = plan.budgets.select_related("category", "engagement")
    if plan.is_pace:
        budgets = budgets.prefetch_related("periods")
    return sorted(
        budgets,
        key=lambda budget: (budget.category.number if budget.category else 99, str(budget.pk)),
    )


def is_component(budget: Any) -> bool:
    """True for a budget that says more than the grid of categories has: a name, supports or periods."""
    return bool(
        budget.component_name or budget.further_categories or budget.stated_items or budget.periods.exists()
    )


def budget_section(budget: Budget) -> dict[str, Any]:
    """A budget on the page of its plan."""
    today = clock.today()
    spending = budget.spending(today)
    periods = list(budget.periods.all()) if isinstance(budget, CategoryBudget) else []
    return {
        "record": budget,
        "periods": period_bars(periods, budget.used_elsewhere, budget.last_day, today),
        "is_forecast": bool(periods) and today <= budget.last_day,
        "forecast": budget.forecast(today),
        "spending": spending,
        "bar": spending_bar(spending),
        "link": admin_url(budget, "change", budget.pk),
    }


def with_waiting_bills(sections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sections of a plan whose coming periods say how many bills wait for them; one query for all."""
    keys = waited_for(bar for section in sections for bar in section["periods"])
    bills = {key: words for count in PERIOD_BILLS for key, words in count(keys).items()} if keys else {}
    for section in sections:
        section["periods"] = set_bills(section["periods"], bills)
    return sections


# --- panels ---------------------------------------------------------------------------------------------


def budgets_context(request: HttpRequest, plan: ClientEngagement) -> dict[str, object]:
    """The budgets of a plan, and the lists that may be viewed up to the key of a budget."""
    model = plan.budgets.model
    may_add = admin.site.get_model_admin(model).has_add_permission(request)
    return {
        "plan": plan,
        "budgets": with_waiting_bills([budget_section(budget) for budget in load_budgets(plan)]),
        "says_waits": True,
        "add_link": admin_url(model, "add", engagement=plan.pk) if may_add else None,
        "budget_lists": [
            (capfirst(str(each.model._meta.verbose_name_plural)), f"{list_url(each.model)}?{each.parameter}=")
            for each in BUDGET_LISTS
            if admin.site.get_model_admin(each.model).has_view_permission(request)
        ],
    }


def shown_plans(contact: Contact) -> list[ClientEngagement]:
    """The plans that cover today, and the one that ended last: services of its time may still be claimed."""
    started = contact.engagements.filter(archive_date=None, plan_start_date__lte=clock.today())
    plans = sorted(started, key=lambda plan: plan.last_day, reverse=True)
    current = [plan for plan in plans if plan.is_current]
    return [*current, *[plan for plan in plans if not plan.is_current][:1]]


def current_plans_context(request: HttpRequest, contact: Contact) -> dict[str, object] | None:
    """The current plans and the last that ended, each with its budgets and how long they last."""
    page: Any = admin.site.get_model_admin(ClientEngagement)
    sections = []
    for plan in shown_plans(contact):
        budgets = load_budgets(plan)
        spending = plan.spending(budgets, clock.today())
        sections.append(
            {
                "plan": plan,
                "link": page.record_url(plan),
                "spending": spending,
                "bar": spending_bar(spending),
                "has_periods": any(budget.has_periods for budget in budgets),
                "time_left": page.time(plan)[1],
                "budgets": [budget_section(budget) for budget in budgets],
            }
        )
    return {"plans": sections} if sections else None


PLAN_COLUMNS = ("period", "managers", "total", "time")
register_panels(
    ClientEngagement,
    Panel(
        model=ClientEngagement,
        title="Budgets",
        template="engagements/budgets.html",
        context=budgets_context,
        histories=lambda plan: [plan.budgets.all()],
    ),
)
register_panels(
    Contact,
    Panel(
        model=ClientEngagement,
        title="Current plan",
        order=10,
        template="engagements/current_plans.html",
        context=current_plans_context,
    ),
    record_panel(
        ClientEngagement,
        PLAN_COLUMNS,
        column="participant",
        filters={PlanPeriodFilter.parameter_name: "all"},
        order=11,
        can_add=True,
    ),
    record_panel(
        ClientEngagement,
        ("participant", *PLAN_COLUMNS),
        column="support_coordinator",
        filters={PlanPeriodFilter.parameter_name: "all"},
        title="Coordinates plans",
        order=81,
    ),
)
register_panels(
    Client,
    record_panel(
        ClientEngagement,
        ("participant", *PLAN_COLUMNS),
        column="plan_manager",
        filters={PlanPeriodFilter.parameter_name: "all"},
        title="Manages plans",
        order=60,
    ),
)
