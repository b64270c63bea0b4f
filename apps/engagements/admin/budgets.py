"""The back office of service bookings, category budgets and support categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from apps.core.admin_base import ArchivedFilter, RecordAdmin
from apps.engagements.admin.spending_bar import spending_bar
from apps.engagements.models import Budget, CategoryBudget, ServiceBooking, SupportCategory
from apps.engagements.services import (
    create_bookings,
    create_category_budgets,
    update_bookings,
    update_category_budgets,
)
from apps.engagements.validation import BudgetDraft
from apps.odata import clock
from apps.people.admin import LookupAdmin


class BudgetAdmin(RecordAdmin):
    """The base of service bookings and category budgets."""

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

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        form = super().get_form(request, obj, change=change, **options)
        form.draft_class = BudgetDraft
        if "used_elsewhere" in form.base_fields:
            form.base_fields["used_elsewhere"].label = "Spent elsewhere"
        return form

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        """A budget stays in its plan, and its amounts are the sums of claims."""
        readonly = (*super().get_readonly_fields(request, obj), "claimed", "paid", "waiting")
        return readonly if obj is None else (*readonly, "engagement")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fieldsets = list(super().get_fieldsets(request, obj))
        if obj is not None:
            claims = ("Claims", {"fields": (("claimed", "paid", "waiting"),)})
            fieldsets.insert(1, claims)
        return fieldsets

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A budget that was entered by mistake may be deleted; not one that money was claimed on."""
        if obj is None or obj.claimed or obj.paid or obj.waiting:
            return False
        return ModelAdmin.has_delete_permission(self, request, obj)

    def record_links(self, request: HttpRequest, object_id: str) -> list[dict[str, str]]:
        budget = self.model._default_manager.filter(pk=object_id).first()
        if budget is None:
            return []
        return [{"title": "Plan", "icon": "bar_chart", "link": plan_url(budget)}]

    def response_post_save_add(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return redirect(plan_url(obj))

    def response_post_save_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return redirect(plan_url(obj))

    @display(description="plan", ordering="engagement__participant__last_name")
    def plan(self, budget: Any) -> str:
        return format_html('<a class="rs-link" href="{}">{}</a>', plan_url(budget), budget.engagement)

    @display(description="budget", ordering="budget")
    def amount(self, budget: Budget) -> str:
        return f"{budget.budget:,.2f}"

    @display(description="left")
    def remaining(self, budget: Budget) -> str:
        return f"{budget.remaining:,.2f}"

    @display(description="spent")
    def spending(self, budget: Budget) -> str:
        return spending_bar(budget.spending(clock.today()), is_small=True)


def plan_url(budget: Any) -> str:
    """The page of the budget's plan."""
    return reverse("admin:engagements_clientengagement_plan", args=[budget.engagement_id])


@admin.register(ServiceBooking)
class ServiceBookingAdmin(BudgetAdmin):
    """Service bookings of all plans."""

    create = staticmethod(create_bookings)
    update = staticmethod(update_bookings)
    menu_order = 50
    icon = "event_available"
    list_display = ("item", "plan", "booking_number", "management_type", "amount", "remaining", "spending")
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
    def item(self, booking: ServiceBooking) -> str:
        return booking.support_item or str(booking.category or booking.support_purpose)


@admin.register(CategoryBudget)
class CategoryBudgetAdmin(BudgetAdmin):
    """Category budgets of PACE plans."""

    create = staticmethod(create_category_budgets)
    update = staticmethod(update_category_budgets)
    menu_order = 60
    icon = "donut_small"
    list_display = ("category", "plan", "management_type", "amount", "remaining", "spending")
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
