"""The filters of the lists of claims and invoices."""

import datetime as dt
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from django.contrib.admin import ModelAdmin
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import DropdownFilter, RadioFilter

from apps.base import clock
from apps.core.admin_base import ConditionFilter, Conditions, DateRangeFilter
from apps.core.admin_base.display import age
from apps.core.admin_base.record_fields import find_visible
from apps.core.caseload import visible_rows
from apps.engagements.models import Budget, CategoryBudget, ClientEngagement, ServiceBooking
from apps.funding.admin.queues import (
    REFUSED_BY_AGENCY,
    REFUSED_LABEL,
    STATUS,
    WINDOW,
    choices_of,
    lapse_conditions,
    load_hold_reasons,
    refused_by_agency,
)
from apps.funding.models import (
    AcknowledgedWarning,
    Bill,
    Claim,
    ClaimLine,
    Invoice,
    InvoiceLine,
    LineItem,
    StatusMove,
    resubmission_exists,
)
from apps.funding.public_holidays import business_days_before
from apps.funding.services.effects import lines_on_budget
from apps.funding.statuses import DAYS_TO_CLAIM, DAYS_TO_PAY, RESUBMITTABLE, STATUSES, ClaimStatus, Phase
from apps.funding.validation.warning_codes import WARNING_LABELS

BUDGET = "draws_on"
PLAN = "plan"
#: How far bills have come: label and phases of each choice.
PROGRESS: dict[str, tuple[str, Sequence[Phase]]] = {
    "paid": ("Paid", [Phase.PAID]),
    "claimed": ("Claimed", [Phase.CLAIMED, Phase.CANCELLING]),
    "approved": ("Approved", [Phase.APPROVED]),
    "entered": ("To approve or on hold", [Phase.ENTERED]),
    "rejected": ("Rejected or cancelled", [Phase.REJECTED, Phase.CANCELLED]),
}
#: Choices of the filter by warnings beside the codes.
ANY_WARNING, NO_WARNING = "any", "none"


class StatusFilter(ConditionFilter):
    """The status of bills; the tabs of the list choose it too."""

    title = "status"
    parameter_name = STATUS

    def conditions(self, model: type[Model]) -> Conditions:
        statuses = {
            value: (label, Q(funding_status=value)) for value, label in choices_of(model, "funding_status")
        }
        return {**statuses, REFUSED_BY_AGENCY: (REFUSED_LABEL, refused_by_agency(model))}


class ResubmissionFilter(ConditionFilter):
    """Filters by whether bills were resubmitted: those that were have left their queue."""

    title = "resubmission"
    parameter_name = "resubmitted"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        can_be_resubmitted = request.GET.get(STATUS) in RESUBMITTABLE
        return super().lookups(request, model_admin) if can_be_resubmitted else []

    def conditions(self, model: type[Claim] | type[Invoice]) -> Conditions:
        resubmitted = Q(resubmission_exists(model))
        return {
            "": ("Not resubmitted", ~resubmitted),
            "yes": ("Resubmitted", resubmitted),
            "all": ("All", Q()),
        }


class HoldReasonFilter(RadioFilter):
    """Why bills are on hold."""

    title = "reason of the hold"
    parameter_name = "reason"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        if request.GET.get(STATUS) != ClaimStatus.ON_HOLD:
            return []
        reasons = load_hold_reasons(visible_rows(request.user, model_admin.model._default_manager.all()))
        return [(each["status_reason"] or "", hold_reason_label(each)) for each in reasons]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        return queryset.filter(status_reason=self.value()) if self.value() else queryset


class PhaseFilter(ConditionFilter):
    """How far bills have come, over all statuses of a phase."""

    title = "progress"
    parameter_name = "phase"

    def conditions(self, model: type[Model]) -> Conditions:
        return {
            name: (label, Q(funding_status__in=[key for key, row in STATUSES.items() if row.phase in phases]))
            for name, (label, phases) in PROGRESS.items()
        }


class AgeFilter(ConditionFilter):
    """For how long bills have had their status."""

    title = "time in this status"
    parameter_name = "age"

    def conditions(self, model: type[Model]) -> Conditions:
        return age_conditions("status_date")


class ClaimWindowFilter(ConditionFilter):
    """Bills that can be claimed for a few days more, and those that could until a few days ago."""

    title = "claim window"
    parameter_name = WINDOW

    def conditions(self, model: type[Model]) -> Conditions:
        return lapse_conditions(model)


def age_conditions(column: str) -> Conditions:
    """The conditions that a moment is longer ago than some days."""
    business_days = {
        f"{days}b": (f"Over {days} business days", Q(**{f"{column}__lt": over_business_days(days)}))
        for days in (DAYS_TO_CLAIM, DAYS_TO_PAY)
    }
    days_of_the_calendar = {
        str(days): (f"Over {days} days", Q(**{f"{column}__lt": clock.now() - dt.timedelta(days=days)}))
        for days in (7, 14, 30, 90)
    }
    return business_days | days_of_the_calendar


def over_business_days(number: int) -> dt.datetime:
    """The moment before which something has waited for more than so many business days."""
    return clock.start_of_day(business_days_before(clock.today(), number))


class WarningFilter(DropdownFilter):
    """The kinds of warnings that bills were saved with."""

    title = "warnings"
    parameter_name = "warning"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        labels = sorted(WARNING_LABELS.items(), key=itemgetter(1))
        return [(ANY_WARNING, "Any warning"), (NO_WARNING, "No warning"), *labels]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        chosen = self.value()
        if not chosen:
            return queryset
        warnings = AcknowledgedWarning.objects.filter(
            **{str(queryset.model._meta.model_name): OuterRef("pk")}
        )
        if chosen not in (ANY_WARNING, NO_WARNING):
            warnings = warnings.filter(code=chosen)
        return queryset.filter(~Exists(warnings) if chosen == NO_WARNING else Exists(warnings))


class BudgetFilter(RadioFilter):
    """The budget of bills, from a link: a plan's page leads to the bills on each of its budgets."""

    title = "service booking"
    parameter_name = BUDGET

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        budget = find_budget(request)
        return [] if budget is None else [(str(budget.pk), str(budget))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Model]:
        budget = find_budget(request)
        if budget is None:
            return queryset
        name = queryset.model._meta.model_name
        return queryset.filter(pk__in=lines_on_budget(budget)[f"{name}s"].order_by().values(name))


class PlanFilter(RadioFilter):
    """The plan of bills, from a link on the plan's page."""

    title = "plan"
    parameter_name = PLAN

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        plan = find_plan(request)
        return [] if plan is None else [(str(plan.pk), str(plan))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Model]:
        plan = find_plan(request)
        return queryset if plan is None else queryset.filter(bills_on_plan(queryset.model)(plan))


def find_plan(request: HttpRequest) -> ClientEngagement | None:
    """The plan of the filter, if the person sees it."""
    plans = ClientEngagement.objects.select_related("participant")
    return find_visible(plans, request.GET.get(PLAN), request.user)


def bills_on_plan(model: type[Bill]) -> Callable[[ClientEngagement], Q]:
    """The condition that bills have a line on a budget of a plan."""
    line: type[LineItem] = ClaimLine if model is Claim else InvoiceLine
    name = "claim" if model is Claim else "invoice"

    def condition(plan: ClientEngagement) -> Q:
        # By their keys, so that each side of the condition has an index.
        budgets = Q(booking__in=list(plan.bookings.values_list("pk", flat=True)))
        budgets |= Q(category_budget__in=list(plan.category_budgets.values_list("pk", flat=True)))
        return Q(pk__in=line._default_manager.filter(budgets).order_by().values(name))

    return condition


def find_budget(request: HttpRequest) -> Budget | None:
    """The service booking, or the budget of a category, of the filter, if the person sees it."""
    budgets = [
        model._default_manager.select_related("category", "engagement__participant")
        for model in (ServiceBooking, CategoryBudget)
    ]
    found = (find_visible(each, request.GET.get(BUDGET), request.user) for each in budgets)
    return next(filter(None, found), None)


class SelfApprovalFilter(ConditionFilter):
    """Bills that the person who entered them has approved, which auditors ask for."""

    title = "approval"
    parameter_name = "approval"

    def conditions(self, model: type[Model]) -> Conditions:
        name = str(model._meta.model_name)
        own = StatusMove.objects.filter(is_own_approval=True, **{f"{name}__isnull": False})
        return {"own": ("Approved by who entered it", Q(pk__in=own.order_by().values(name)))}


class ServicesFilter(DateRangeFilter):
    """When the services began."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        self.title = "first day of services"


def hold_reason_label(group: dict[str, Any]) -> str:
    """A reason with the number of bills on hold for it, and the age of the oldest hold."""
    return f"{group['status_reason'] or 'No reason'} ({group['count']:,}, oldest: {age(group['oldest'])})"
