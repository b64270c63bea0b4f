"""The lists of claims and invoices: their search, filters and columns, and a tab for each status."""

import datetime as dt
from collections.abc import Callable, Collection, Sequence
from functools import reduce
from operator import or_
from typing import Any, ClassVar
from uuid import UUID

from django.contrib.admin import ModelAdmin
from django.db.models import Count, Exists, Model, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.http import urlencode
from unfold.contrib.filters.admin import (
    AutocompleteSelectFilter,
    DropdownFilter,
    RadioFilter,
    RangeNumericFilter,
)
from unfold.decorators import display

from apps.base import clock
from apps.base.errors import plural
from apps.core.admin_base import (
    ArchivedFilter,
    ConditionFilter,
    Conditions,
    DateRangeFilter,
    DateTimeRangeFilter,
)
from apps.core.admin_base.display import age, amount_cell, format_amount, period_cell, two_lines
from apps.core.admin_base.searching import (
    search_records,
    searched_digits,
    sorted_after_search,
    with_small_letters,
)
from apps.core.models import normalised
from apps.engagements.admin import BUDGET_LISTS, PERIOD_BILLS, BudgetList
from apps.engagements.models import Budget, CategoryBudget, ClientEngagement, FundingPeriod, ServiceBooking
from apps.funding.admin.actions import ActionAdmin, SummedChangeList
from apps.funding.admin.autocomplete import read_key
from apps.funding.admin.groups import GroupingAdmin
from apps.funding.admin.queues import (
    REFUSED_BY_AGENCY,
    REFUSED_LABEL,
    STATUS,
    WINDOW,
    choices_of,
    lapse_conditions,
    lapsing_tabs,
    load_hold_reasons,
    load_queues,
    queue_tabs,
    refused_by_agency,
)
from apps.funding.admin.remittances import next_steps_of
from apps.funding.choices import ClaimStatus
from apps.funding.models import (
    AcknowledgedWarning,
    Bill,
    Claim,
    ClaimLine,
    Invoice,
    InvoiceLine,
    LineItem,
    resubmission_exists,
)
from apps.funding.public_holidays import business_days_before
from apps.funding.services.effects import lines_on_budget
from apps.funding.statuses import (
    DAYS_TO_CLAIM,
    DAYS_TO_PAY,
    RESUBMITTABLE,
    STATUSES,
    OpenAmount,
    Phase,
    statuses_where,
)
from apps.funding.validation.guards import AnyBill
from apps.funding.validation.warning_codes import WarningCode, warning_label
from apps.people.models import Client, Contact

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
#: As many people or providers are passed on by their keys.
KEY_LIMIT = 3_000

# A plan's page leads to the lists of the bills on each of its budgets.
BUDGET_LISTS.extend(BudgetList(model, BUDGET) for model in (Claim, Invoice))

WAITING_STATUSES = sorted(statuses_where(lambda row: row.open_amount is OpenAmount.WAITING))


def bills_waiting_for(periods: Collection[UUID]) -> dict[UUID, str]:
    """``12 claims, 1 invoice`` by the key of a funding period: what waits with days in it. One query."""
    numbers = [
        Coalesce(Subquery(number_in_period(line_model, bill)), 0)
        for line_model, bill in ((ClaimLine, "claim"), (InvoiceLine, "invoice"))
    ]
    rows = FundingPeriod.objects.filter(pk__in=periods).order_by().values_list("pk", *numbers)
    return {
        key: ", ".join(
            plural(number, noun) for number, noun in ((claims, "claim"), (invoices, "invoice")) if number
        )
        for key, claims, invoices in rows
    }


def number_in_period(line_model: type[ClaimLine | InvoiceLine], bill: str) -> QuerySet[Any, Any]:
    """How many bills wait with a line on the component and in the days of an outer funding period."""
    lines = line_model._default_manager.filter(
        category_budget=OuterRef("category_budget"),
        first_day__lte=OuterRef("last_day"),
        last_day__gte=OuterRef("first_day"),
        **{f"{bill}__archive_date": None, f"{bill}__funding_status__in": WAITING_STATUSES},
    )
    groups = lines.order_by().values("category_budget")
    return groups.annotate(number=Count(bill, distinct=True)).values("number")


PERIOD_BILLS.append(bills_waiting_for)

STATUS_COLOURS = {name: row.colour for name, row in STATUSES.items()}


# --- filters --------------------------------------------------------------------------------------------


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
        reasons = load_hold_reasons(model_admin.model)
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
        return [(ANY_WARNING, "Any warning"), (NO_WARNING, "No warning"), *WarningCode.choices]

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
        budget = find_budget(request.GET.get(BUDGET))
        return [] if budget is None else [(str(budget.pk), str(budget))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Model]:
        budget = find_budget(self.value())
        if budget is None:
            return queryset
        name = queryset.model._meta.model_name
        return queryset.filter(pk__in=lines_on_budget(budget)[f"{name}s"].order_by().values(name))


class PlanFilter(RadioFilter):
    """The plan of bills, from a link on the plan's page."""

    title = "plan"
    parameter_name = PLAN

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        plan = find_plan(request.GET.get(PLAN))
        return [] if plan is None else [(str(plan.pk), str(plan))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Model]:
        plan = find_plan(self.value())
        return queryset if plan is None else queryset.filter(bills_on_plan(queryset.model)(plan))


def find_plan(key: str | None) -> ClientEngagement | None:
    guid = read_key(key)
    return ClientEngagement.objects.select_related("participant").filter(pk=guid).first() if guid else None


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


def find_budget(key: str | None) -> Budget | None:
    """The service booking, or the budget of a category, that has this key."""
    guid = read_key(key)
    if guid is None:
        return None
    related = ("category", "engagement__participant")
    booking = ServiceBooking.objects.filter(pk=guid).select_related(*related).first()
    return booking or CategoryBudget.objects.filter(pk=guid).select_related(*related).first()


class ServicesFilter(DateRangeFilter):
    """When the services began."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        self.title = "first day of services"


def hold_reason_label(group: dict[str, Any]) -> str:
    """A reason with the number of bills on hold for it, and the age of the oldest hold."""
    return f"{group['status_reason'] or 'No reason'} ({group['count']:,}, oldest: {age(group['oldest'])})"


# --- the list -------------------------------------------------------------------------------------------


class BillChangeList(SummedChangeList):
    """The list of what the agency refused says of each bill what to do next."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        if request.GET.get(STATUS) != REFUSED_BY_AGENCY:
            return
        self.result_list = list(self.result_list)
        steps = next_steps_of(self.model, [bill.pk for bill in self.result_list])
        for bill in self.result_list:
            bill.next_steps = steps.get(bill.pk, "")


class BillListAdmin(GroupingAdmin, ActionAdmin):
    """The lists of claims and invoices, as far as they are the same."""

    queue_ordering = ("status_date", "guid")
    list_filter: ClassVar[Sequence[object]] = (
        ArchivedFilter,
        StatusFilter,
        ResubmissionFilter,
        PhaseFilter,
        HoldReasonFilter,
        AgeFilter,
        WarningFilter,
        ("total", RangeNumericFilter),
        BudgetFilter,
        PlanFilter,
        ("start_date", ServicesFilter),
        ("status_date", DateTimeRangeFilter),
        ("creation_date", DateTimeRangeFilter),
        ("contact", AutocompleteSelectFilter),
        ("staff", AutocompleteSelectFilter),
    )

    def get_list_display(self, request: HttpRequest) -> Sequence[object]:
        """Lists of bills on hold have a column of the reason."""
        columns = list(super().get_list_display(request))
        if request.GET.get(STATUS) and "status" in columns:
            chosen, at = request.GET[STATUS], columns.index("status")
            others = {ClaimStatus.ON_HOLD.value: ["hold_reason"], REFUSED_BY_AGENCY: ["status", "reason"]}
            columns[at : at + 1] = others.get(chosen, [])
        return columns

    def get_changelist(self, request: HttpRequest, **options: object) -> type[BillChangeList]:
        return BillChangeList

    def get_sortable_by(self, request: HttpRequest) -> Sequence[object]:
        return [*super().get_sortable_by(request), "hold_reason"]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Model], search_term: str
    ) -> tuple[QuerySet[Model], bool]:
        """By whom it is for, by who billed it, by its number or reference.

        People and providers are looked up first, so that their bills are found by an index; the name of
        somebody is no number.
        """
        if not search_term.strip():
            return queryset, False
        people = {"contact": find_contacts(search_term)}
        if self.model is Claim:
            people["provider"] = find_providers(search_term)
        of_people = reduce(or_, [Q(**{f"{column}__in": keys}) for column, keys in people.items()])
        is_name = searched_digits(search_term) is None and any(keys != [] for keys in people.values())
        if is_name:
            return queryset.filter(of_people), False
        return find_texts(queryset, self.search_fields, search_term, of_people), False

    def tabs_context(self, request: HttpRequest) -> dict[str, object]:
        """The tabs of the statuses and hold reasons with their counts, and the budget of the filter."""
        chosen = request.GET.get(STATUS, "")
        budget = find_budget(request.GET.get(BUDGET))
        queues = load_queues(self.model)
        reasons = []
        if chosen == ClaimStatus.ON_HOLD:
            reasons = [
                {
                    "label": hold_reason_label(each),
                    "link": f"?{urlencode({STATUS: chosen, 'reason': each['status_reason'] or ''})}",
                    "on": request.GET.get("reason") == each["status_reason"],
                }
                for each in load_hold_reasons(self.model)
            ]
        is_lapsing = WINDOW in request.GET
        tabs = queue_tabs(queues, chosen, is_all=not chosen and budget is None and not is_lapsing)
        if is_lapsing and self.model is Claim:
            tabs += lapsing_tabs(Claim, is_chosen=True)
        return {
            "tabs": tabs,
            "hold_reasons": reasons,
            "budget": budget,
            "group_links": self.group_links(request),
        }

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        """The list has the warnings of its rows."""
        found = super().get_queryset(request)
        if not self.is_list(request):
            return found
        warnings = AcknowledgedWarning.objects.only("code", str(self.opts.model_name))
        return found.prefetch_related(Prefetch("acknowledged_warnings", warnings))

    def palette_label(self, record: Bill) -> str:
        return f"{record} · {record.contact} · {format_amount(record.total)}"

    # --- columns

    @display(description="number")
    def number(self, bill: AnyBill) -> str:
        return str(bill)

    @display(description="provider", ordering="provider__business_name")
    def provider_name(self, claim: Claim) -> str:
        return two_lines(claim.provider, claim.provider_invoice_reference)

    @display(description="services", ordering="start_date")
    def days(self, bill: Bill) -> str:
        return period_cell(bill.start_date, bill.end_date) or ""

    @display(description="total", ordering="total")
    def amount(self, bill: Bill) -> str | None:
        return amount_cell(bill.total)

    @display(description="warnings")
    def warning_kinds(self, bill: AnyBill) -> str | None:
        """How many warnings the bill was saved with, and their kinds."""
        warnings = list(bill.acknowledged_warnings.all())
        kinds = ", ".join(dict.fromkeys(warning_label(each.code) for each in warnings))
        return two_lines(format_html("<b data-warnings>{}</b>", len(warnings)), kinds) if warnings else None

    @display(description="status", ordering="funding_status", label=STATUS_COLOURS)
    def status(self, bill: AnyBill) -> tuple[str, str]:
        return bill.funding_status, bill.get_funding_status_display()

    @display(description="on hold for", ordering="status_reason")
    def hold_reason(self, bill: Bill) -> str:
        return bill.status_reason or "–"

    @display(description="reason", ordering="status_reason")
    def reason(self, bill: Any) -> str:
        """The agency's text, and what to do next."""
        return two_lines(bill.status_reason or "–", bill.next_steps)

    @display(description="since", ordering="status_date")
    def since(self, bill: Bill) -> str:
        return age(bill.status_date)


def find_contacts(term: str) -> object:
    """The participants of a search: by scheme number however it is written, else by name."""
    columns = ("first_name", "last_name", "unique_code")
    return limited_keys(search_records(Contact.objects.order_by(), term, columns, ["scheme_number"]))


def find_providers(term: str) -> object:
    """The providers of a search: by name, or by business number without its blanks."""
    return limited_keys(
        search_records(Client.objects.order_by(), term, ["business_name"], ["business_number"])
    )


def find_texts(records: QuerySet[Model], columns: Sequence[str], term: str, others: Q) -> QuerySet[Model]:
    """The records with a part of a number or reference, as it was written, and those of the other condition.

    An index finds them. Only when there is none all records are compared, in any spelling.
    """
    found = with_small_letters(records, columns).filter(
        reduce(or_, (Q(**{f"{column}_lower__contains": term.strip().lower()}) for column in columns), others)
    )
    if found.order_by()[:KEY_LIMIT].count():
        return sorted_after_search(found)
    spelt = (Q(**{f"{column}_key__contains": normalised(term)}) for column in columns)
    return records.filter(reduce(or_, spelt, others))


def limited_keys(found: QuerySet[Model]) -> object:
    """The keys of what was found; of very many, the query that finds them."""
    keys = list(found.values_list("pk", flat=True)[: KEY_LIMIT + 1])
    return keys if len(keys) <= KEY_LIMIT else found.values("pk")
