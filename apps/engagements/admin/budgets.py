"""The back office of service bookings, category budgets and support categories."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import F, Model, Q
from django.db.models.lookups import LessThan, LessThanOrEqual
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from apps.base import clock
from apps.core.admin_base import (
    ArchivedFilter,
    ConditionFilter,
    Conditions,
    LookupAdmin,
    RecordAdmin,
    RecordLink,
    fieldset,
)
from apps.core.admin_base.display import admin_url, amount_cell, format_amount, link, list_column
from apps.engagements.admin.period_bars import segments_of, spent_amounts
from apps.engagements.drafts import BookingDraft, BudgetDraft, ComponentDraft
from apps.engagements.models import (
    Budget,
    CategoryBudget,
    ClientEngagement,
    FundingPeriod,
    ServiceBooking,
    SupportCategory,
)
from apps.engagements.services import (
    create_bookings,
    create_category_budgets,
    delete_budget,
    update_bookings,
    update_category_budgets,
)
from apps.engagements.short_components import current_plans, load_short_components
from apps.engagements.spending import Spending

#: From this share on, a budget is nearly spent.
NEARLY_SPENT = Decimal("0.9")


class SpentFilter(ConditionFilter):
    """How far the budgets of the current plans are spent."""

    title = "spent"
    parameter_name = "spent"

    def conditions(self, model: type[Model]) -> Conditions:
        return spent_conditions()


def spent_conditions() -> Conditions:
    """The conditions that little or nothing is left of the budgets of plans that cover today."""
    current = current_plans(clock.today())
    spent = F("used_elsewhere") + F("claimed") + F("waiting")
    nearly = Q(budget__gt=0) & Q(LessThanOrEqual(F("budget") * NEARLY_SPENT, spent))
    over = Q(LessThan(F("budget"), spent))
    return {
        "nearly": (f"Nearly spent ({NEARLY_SPENT:.0%} or more)", current & nearly & ~over),
        "over": ("Overspent", current & over),
    }


class PeriodFilter(ConditionFilter):
    """Components by how long the money of today's funding period lasts."""

    title = "funding period"
    parameter_name = "period"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[str, str]]:
        return [("", "All"), (RUNS_OUT, RUNS_OUT_LABEL)]  # by the conditions, all would be forecast twice

    def conditions(self, model: type[Model]) -> Conditions:
        is_chosen = self.value() == RUNS_OUT
        short = load_short_components(FundingPeriod.objects.all(), clock.today()) if is_chosen else {}
        return {RUNS_OUT: (RUNS_OUT_LABEL, Q(pk__in=short))}


#: The choice of components whose funding period runs out before its end.
RUNS_OUT, RUNS_OUT_LABEL = "short", "Funding period runs out early"


class BudgetAdmin(RecordAdmin):
    """The base of service bookings and category budgets."""

    draft_class = BudgetDraft
    menu_group = "Plans"
    record_pages = ()
    actions = ()
    readonly_fields = ("claimed", "paid", "waiting")  # the sums of claims
    list_filter: ClassVar[Sequence[object]] = (SpentFilter, ("management_type", ChoicesDropdownFilter))
    list_select_related = ("engagement__participant", "category")
    search_fields: Any = (
        "engagement__participant__first_name",
        "engagement__participant__last_name",
        "engagement__participant__scheme_number",
    )

    class Media:
        css: ClassVar[dict[str, tuple[str, ...]]] = {"all": ("engagements.css",)}

    def get_form(
        self, request: HttpRequest, obj: Model | None = None, change: bool = False, **options: object
    ) -> object:
        labels = {"used_elsewhere": "Spent elsewhere"}
        return super().get_form(request, obj, change=change, labels=labels, **options)

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> object:
        fieldsets = list(super().get_fieldsets(request, obj))
        if obj is not None:
            fieldsets.insert(1, fieldset("Claims", ("claimed", "paid", "waiting")))
        return fieldsets

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A budget that was entered by mistake may be deleted; not one that money was claimed on."""
        if obj is None or obj.has_claims:
            return False
        return ModelAdmin.has_delete_permission(self, request, obj)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        delete_budget(obj)

    def record_links(self, request: HttpRequest, record: Budget) -> list[RecordLink]:
        return [RecordLink("Plan", plan_url(record))]

    def response_post_save_add(self, request: HttpRequest, obj: Model) -> HttpResponse:
        return redirect(plan_url(obj))

    response_post_save_change = response_post_save_add

    @display(description="plan", ordering="engagement__participant__last_name")
    def plan(self, budget: Any) -> str:
        return link(plan_url(budget), budget.engagement)

    amount = list_column("budget", "budget", format_amount)
    remaining = list_column("left", "remaining", amount_cell, is_sorted=False)

    @display(description="spent")
    def spending(self, budget: Budget) -> str:
        return spending_bar(budget.spending(clock.today()), is_small=True)


def plan_url(budget: Any) -> str:
    """The page of the budget's plan."""
    return admin_url(ClientEngagement, "plan", budget.engagement_id)


@admin.register(ServiceBooking)
class ServiceBookingAdmin(BudgetAdmin):
    """Service bookings of all plans."""

    draft_class = BookingDraft
    purpose = (
        "A service booking reserves an amount of a plan for one kind of support. Bookings of the "
        "agency's portal can be imported."
    )
    create = staticmethod(create_bookings)
    update = staticmethod(update_bookings)
    confirmed_codes = frozenset({"WaitingOutside"})
    menu_order = 50
    icon = "event_available"
    list_display = ("item", "plan", "booking_number", "management_type", "amount", "remaining", "spending")
    list_filter = (*BudgetAdmin.list_filter, ("support_purpose", ChoicesDropdownFilter))
    search_fields = (*BudgetAdmin.search_fields, "booking_number", "support_item")
    search_help_text = "Participant, scheme number, booking number or support item"
    ordering = ("booking_end_date", "guid")
    fieldsets = (
        fieldset(
            None,
            "engagement",
            ("category", "support_purpose"),
            ("support_item", "booking_number"),
            ("budget", "management_type"),
            ("booking_start_date", "booking_end_date"),
            ("used_elsewhere", "balance_date"),
            "budget_manager",
        ),
    )

    @display(description="booking", ordering="category__number")
    def item(self, booking: ServiceBooking) -> str:
        return booking.support_item or str(booking.category or booking.support_purpose)


@admin.register(CategoryBudget)
class CategoryBudgetAdmin(BudgetAdmin):
    """Category budgets of PACE plans."""

    purpose = "The components of PACE plans: budgets for categories or stated supports."
    draft_class = ComponentDraft
    create = staticmethod(create_category_budgets)
    update = staticmethod(update_category_budgets)
    menu_order = 60
    icon = "donut_small"
    list_display = ("component", "plan", "management_type", "amount", "remaining", "spending")
    list_filter = (*BudgetAdmin.list_filter, PeriodFilter)
    search_help_text = "Participant or scheme number"
    ordering = ("engagement__plan_end_date", "guid")
    fieldsets = (
        fieldset(
            None,
            "engagement",
            ("category", "component_name"),
            ("budget", "management_type"),
            "used_elsewhere",
            ("further_categories", "stated_items"),
        ),
    )

    @display(description="component", ordering="category__number")
    def component(self, budget: CategoryBudget) -> str:
        return str(budget)


@admin.register(SupportCategory)
class SupportCategoryAdmin(LookupAdmin):
    """The scheme's support categories."""

    menu_order = 850
    icon = "category"
    list_display = ("number", "name", "support_purpose", "archived")
    list_display_links = ("number", "name")
    list_filter = (ArchivedFilter, ("support_purpose", ChoicesDropdownFilter))
    search_fields = ("name", "number")
    ordering = ("number",)
    fieldsets = (fieldset(None, "number", "name", "support_purpose"),)


# --- the bar of a budget ---------------------------------------------------------------------------------


def spending_bar(spending: Spending, is_small: bool = False) -> str:
    """How a budget is spent as a bar, with the same in words for screen readers."""
    width = max(spending.budget, spending.spent)
    amounts = spent_amounts(spending.used_elsewhere, spending)
    labels = [f"{amount:,.2f} {label}" for _, label, amount in amounts if amount]
    is_over = spending.remaining < 0
    context = {
        "spending": spending,
        "segments": segments_of(amounts, width),
        "description": ", ".join(labels) or "nothing spent",
        "is_over": is_over,
        "is_small": is_small,
        "limit": f"{100 * spending.budget / width:.2f}" if is_over else None,
    }
    return render_to_string("engagements/bar.html", context)
