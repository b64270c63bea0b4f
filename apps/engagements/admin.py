"""The back office's pages for plans, their service bookings and budgets."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.text import capfirst
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import ChoicesDropdownFilter, RadioFilter
from unfold.decorators import display

from apps.core.admin_base import ArchivedFilter, RecordAdmin
from apps.core.models import Subscriber
from apps.engagements import validation
from apps.engagements.choices import ParticipantType
from apps.engagements.models import (
    ZERO,
    Budget,
    CategoryBudget,
    ClientEngagement,
    ServiceBooking,
    SupportCategory,
)
from apps.engagements.services import (
    create_bookings,
    create_category_budgets,
    create_engagements,
    update_bookings,
    update_category_budgets,
    update_engagements,
)
from apps.engagements.spending import Spending
from apps.odata import clock
from apps.people.admin import LookupAdmin, NumberSearchAdmin


@dataclass(frozen=True, slots=True)
class DrawnBy:
    """Records that draw on budgets; ``parameter`` is what chooses them in their list by a budget's key."""

    model: type[Model]
    parameter: str


#: Apps that stand on this one say here what a plan's page leads to.
DRAWN_BY: list[DrawnBy] = []

#: Below so many days, what is left of a plan's time is worth a look.
SOON = 30


# --- lists --------------------------------------------------------------------------------------------


class StageFilter(RadioFilter):
    """Where plans stand in time: whose end is near, first of all."""

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
    """Plans whose last day comes before that day."""
    return Q(plan_end_date__lt=day) | Q(no_active_plan_from_date__lte=day)


class ManagementFilter(RadioFilter):
    """Who pays the providers."""

    title = "managed by"
    parameter_name = "managed"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("plan", "Plan manager"), ("agency", "Agency"), ("self", "Participant")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() in ("plan", "agency", "self"):
            return queryset.filter(**{f"is_{self.value()}_managed": True})
        return queryset


@admin.register(ClientEngagement)
class ClientEngagementAdmin(NumberSearchAdmin):
    """Plans; a plan's own page shows how its budgets are spent."""

    create = staticmethod(create_engagements)
    update = staticmethod(update_engagements)
    warnings = validation.ENGAGEMENT_WARNINGS
    menu_group = "Plans"
    menu_order = 40
    icon = "event_note"
    list_display = ("plan", "runs", "managers", "total", "spending", "time", "archived")
    list_display_links = None
    list_select_related = ("participant",)
    list_filter = (
        ArchivedFilter,
        StageFilter,
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
        """What a plan's budgets hang on stays as it is."""
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
    def runs(self, plan: ClientEngagement) -> str:
        return f"{day(plan.plan_start_date)} – {day(plan.plan_end_date)}"

    @display(description="managed by")
    def managers(self, plan: ClientEngagement) -> str:
        return managed_by(plan)

    @display(description="budget", ordering="total_budget_amount")
    def total(self, plan: ClientEngagement) -> str:
        return f"{plan.total_budget_amount:,.2f}"

    @display(description="spent")
    def spending(self, plan: ClientEngagement) -> str:
        return bar(plan.spending(budgets_in(plan), clock.today()), is_small=True)

    @display(
        description="time left",
        ordering="plan_end_date",
        label={"ended": "danger", "soon": "warning", "later": "info", "coming": "success"},
    )
    def time(self, plan: ClientEngagement) -> tuple[str, str]:
        return time_left(plan)

    # --- the plan's own page

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
        kind = CategoryBudget if plan.participant_type == ParticipantType.PACE else ServiceBooking
        budgets = sorted(
            kind._default_manager.filter(engagement=plan).select_related("category", "engagement"),
            key=lambda each: (each.category.number if each.category else 99, str(each.pk)),
        )
        whole = plan.spending(budgets, today)
        allocated = sum((each.budget for each in budgets), ZERO)
        context = {
            **self.admin_site.each_context(request),
            "title": str(plan),
            "opts": self.opts,
            "original": plan,
            "plan": plan,
            "whole": whole,
            "time_left": time_left(plan)[1],
            "managers": managed_by(plan),
            "allocated": allocated,
            "unallocated": plan.total_budget_amount - allocated,
            "over_allocated": allocated - plan.total_budget_amount,
            "budgets": [budget_line(each, each.spending(today)) for each in budgets],
            "currency": Subscriber.current().currency,
            "is_pace": kind is CategoryBudget,
            "add_link": self._link_to_add(request, kind, plan),
            "drawn_by": [told for each in DRAWN_BY if (told := self._link_to_drawn_by(request, each))],
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "engagements/plan.html", context)

    def _link_to_drawn_by(self, request: HttpRequest, drawn_by: DrawnBy) -> tuple[str, str] | None:
        """What a list is called, and its address up to the key of a budget."""
        opts = drawn_by.model._meta
        if not self.admin_site.get_model_admin(drawn_by.model).has_view_permission(request):
            return None
        address = reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")
        return capfirst(str(opts.verbose_name_plural)), f"{address}?{drawn_by.parameter}="

    def _link_to_add(self, request: HttpRequest, kind: type[Budget], plan: ClientEngagement) -> str | None:
        if not self.admin_site.get_model_admin(kind).has_add_permission(request):
            return None
        address = reverse(f"admin:{kind._meta.app_label}_{kind._meta.model_name}_add")
        return f"{address}?{urlencode({'engagement': str(plan.pk)})}"


def budgets_in(plan: ClientEngagement) -> list[Budget]:
    """What the plan's budget is divided into."""
    if plan.participant_type == ParticipantType.PACE:
        return list(plan.category_budgets.all())
    return list(plan.bookings.all())


def budget_line(budget: Budget, spending: Spending) -> dict[str, Any]:
    """One budget as the plan's page shows it."""
    address = f"admin:{budget._meta.app_label}_{budget._meta.model_name}_change"
    return {
        "record": budget,
        "spending": spending,
        "bar": bar(spending),
        "link": reverse(address, args=[budget.pk]),
    }


def day(date: dt.date) -> str:
    return date_format(date, "j M Y")


def managed_by(plan: ClientEngagement) -> str:
    """Who manages the plan, in words."""
    told = [
        ("Plan manager", plan.is_plan_managed),
        ("Agency", plan.is_agency_managed),
        ("Participant", plan.is_self_managed),
    ]
    return ", ".join(word for word, is_so in told if is_so) or "–"


def time_left(plan: ClientEngagement) -> tuple[str, str]:
    """(stage, words) for how much of a plan's time is left."""
    today = clock.today()
    left = (plan.last_day - today).days
    if plan.plan_start_date > today:
        return "coming", f"Starts in {days((plan.plan_start_date - today).days)}"
    if left < 0:
        return "ended", f"Ended {day(plan.last_day)}"
    if left == 0:
        return "soon", "Last day"
    return ("soon" if left <= SOON else "later"), f"{days(left)} left"


def days(number: int) -> str:
    return "1 day" if number == 1 else f"{number:,} days"


#: The parts of a bar, in their order, and how each is called.
PARTS = (
    ("elsewhere", "used elsewhere", "used_elsewhere"),
    ("paid", "paid", "paid"),
    ("claimed", "claimed, not yet paid", "unpaid"),
    ("waiting", "waiting", "waiting"),
)


def bar(spending: Spending, is_small: bool = False) -> str:
    """A bar of what is spent, which says the same in words to who cannot see it."""
    full = max(spending.budget, spending.spent)
    amounts = [(name, words, getattr(spending, attribute)) for name, words, attribute in PARTS]
    parts = [
        {"name": name, "width": f"{100 * amount / full:.2f}"} for name, _, amount in amounts if amount > 0
    ]
    told = [f"{amount:,.2f} {words}" for _, words, amount in amounts if amount]
    return render_to_string(
        "engagements/bar.html",
        {
            "spending": spending,
            "parts": parts,
            "told": ", ".join(told) or "nothing spent",
            "is_over": spending.remaining < 0,
            "is_small": is_small,
            "limit": f"{100 * spending.budget / full:.2f}" if spending.remaining < 0 else None,
        },
    )


# --- budgets ------------------------------------------------------------------------------------------


class BudgetAdmin(RecordAdmin):
    """What pages of service bookings and of budgets by category have in common."""

    menu_group = "Plans"
    may_be_archived = False
    actions = ()
    list_filter: ClassVar[Any] = (("management_type", ChoicesDropdownFilter),)
    list_filter_submit = True
    list_select_related = ("engagement__participant", "category")
    search_fields: ClassVar[Any] = (
        "engagement__participant__first_name",
        "engagement__participant__last_name",
        "engagement__participant__scheme_number",
    )

    class Media:
        css: ClassVar[dict[str, tuple[str, ...]]] = {"all": ("engagements.css",)}

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        """A budget stays in its plan, and its amounts are told by the claims."""
        readonly = (*super().get_readonly_fields(request, obj), "claimed", "paid", "waiting")
        return readonly if obj is None else (*readonly, "engagement")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fieldsets = list(super().get_fieldsets(request, obj))
        if obj is not None:
            claims = ("Claims", {"fields": (("claimed", "paid", "waiting"),)})
            fieldsets.insert(1, claims)
        return fieldsets

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """One that was entered by mistake may go; not one that money was claimed on."""
        if obj is None or obj.claimed or obj.paid or obj.waiting:
            return False
        return ModelAdmin.has_delete_permission(self, request, obj)

    def record_links(self, request: HttpRequest, object_id: str) -> list[dict[str, str]]:
        budget = self.model._default_manager.filter(pk=object_id).first()
        if budget is None:
            return []
        return [{"title": "Plan", "icon": "bar_chart", "link": address_of(budget.engagement_id)}]

    def response_post_save_add(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return redirect(address_of(obj.engagement_id))

    def response_post_save_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return redirect(address_of(obj.engagement_id))

    @display(description="plan", ordering="engagement__participant__last_name")
    def plan(self, budget: Any) -> str:
        return format_html(
            '<a class="rs-link" href="{}">{}</a>', address_of(budget.engagement_id), budget.engagement
        )

    @display(description="budget", ordering="budget")
    def amount(self, budget: Budget) -> str:
        return f"{budget.budget:,.2f}"

    @display(description="left")
    def rest(self, budget: Budget) -> str:
        return f"{budget.remaining:,.2f}"

    @display(description="spent")
    def spending(self, budget: Budget) -> str:
        return bar(budget.spending(clock.today()), is_small=True)


def address_of(engagement: Any) -> str:
    """The page of a plan's budgets."""
    return reverse("admin:engagements_clientengagement_plan", args=[engagement])


@admin.register(ServiceBooking)
class ServiceBookingAdmin(BudgetAdmin):
    """Service bookings of all plans."""

    create = staticmethod(create_bookings)
    update = staticmethod(update_bookings)
    warnings = validation.BOOKING_WARNINGS
    menu_order = 50
    icon = "event_available"
    list_display = ("what", "plan", "booking_number", "management_type", "amount", "rest", "spending")
    list_filter = (
        ("management_type", ChoicesDropdownFilter),
        ("support_purpose", ChoicesDropdownFilter),
    )
    search_fields = (*BudgetAdmin.search_fields, "booking_number", "support_item")
    search_help_text = "Participant, scheme number, booking number or support item"
    ordering = ("booking_end_date", "guid")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "engagement",
                    ("category", "support_purpose"),
                    ("support_item", "booking_number"),
                    ("budget", "management_type"),
                    ("booking_start_date", "booking_end_date"),
                    ("used_elsewhere", "balance_date"),
                    "budget_manager",
                )
            },
        ),
    )

    @display(description="booking", ordering="category__number")
    def what(self, booking: ServiceBooking) -> str:
        return booking.support_item or str(booking.category or booking.support_purpose)


@admin.register(CategoryBudget)
class CategoryBudgetAdmin(BudgetAdmin):
    """Budgets by category, which PACE plans have."""

    create = staticmethod(create_category_budgets)
    update = staticmethod(update_category_budgets)
    warnings = validation.CATEGORY_BUDGET_WARNINGS
    menu_order = 60
    icon = "donut_small"
    list_display = ("category", "plan", "management_type", "amount", "rest", "spending")
    search_help_text = "Participant or scheme number"
    ordering = ("engagement__plan_end_date", "guid")
    fieldsets = (
        (
            None,
            {"fields": ("engagement", "category", ("budget", "management_type"), "used_elsewhere")},
        ),
    )


@admin.register(SupportCategory)
class SupportCategoryAdmin(LookupAdmin):
    """The scheme's support categories."""

    menu_order = 850
    icon = "category"
    list_display = ("number", "name", "support_purpose", "archived")
    list_display_links = ("number", "name")
    list_filter = (ArchivedFilter, ("support_purpose", ChoicesDropdownFilter))
    list_filter_submit = True
    search_fields = ("name", "number")
    ordering = ("number",)
    fieldsets = ((None, {"fields": ("number", "name", "support_purpose")}),)
