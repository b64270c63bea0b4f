"""The lists of claims and invoices: found by what is on the paper, and worked off status by status."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib.admin import ShowFacets
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from unfold.contrib.filters.admin import AutocompleteSelectFilter, RadioFilter, RangeDateFilter
from unfold.decorators import display

from apps.core.admin_base import ArchivedFilter, RecordAdmin
from apps.core.identifiers import normalised
from apps.documents.admin import DateTimeRangeFilter
from apps.engagements.admin import DRAWN_BY, DrawnBy
from apps.engagements.models import Budget, CategoryBudget, ServiceBooking
from apps.funding.admin.lookups import key_in
from apps.funding.admin.prices import MENU, money
from apps.funding.admin.queues import CappedPaginator, days_since, queues, reasons_of_holds
from apps.funding.choices import ClaimStatus, InvoiceStatus
from apps.funding.models import Bill, Claim, Invoice
from apps.funding.services.context import lines_on_budget
from apps.funding.statuses import STATUSES
from apps.funding.validation.bills import ADMINISTER_PERMISSION
from apps.odata import clock
from apps.people.admin import digits_of, searched_digits
from apps.people.models import Client, Contact

STATUS = "status"
DRAWS_ON = "draws_on"
#: As many people or providers as are handed on by their keys.
MOST_NAMED = 500

# A plan's page leads to the lists of what draws on each of its budgets.
DRAWN_BY.extend(DrawnBy(model, DRAWS_ON) for model in (Claim, Invoice))

COLOURS = {name: row.colour for name, row in STATUSES.items()}


class Administered(RecordAdmin):
    """A page only for those who may view or administer funding invoices."""

    menu_group = MENU

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may_administer(request) and super().has_view_permission(request, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return may_administer(request) and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may_administer(request) and super().has_change_permission(request, obj)


def may_administer(request: HttpRequest) -> bool:
    return bool(request.user.has_perm(ADMINISTER_PERMISSION))


# --- filters --------------------------------------------------------------------------------------------


class StatusFilter(RadioFilter):
    """Where bills stand; the list's tabs choose it too."""

    title = "status"
    parameter_name = STATUS

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, str(label)) for value, label in statuses_of(model_admin.model).choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(funding_status=self.value()) if self.value() else queryset


class HeldForFilter(RadioFilter):
    """Why bills are on hold."""

    title = "reason of the hold"
    parameter_name = "reason"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        if request.GET.get(STATUS) != ClaimStatus.ON_HOLD:
            return []
        return [
            (each["status_reason"] or "", reason_told(each)) for each in reasons_of_holds(model_admin.model)
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(status_reason=self.value()) if self.value() else queryset


class AgeFilter(RadioFilter):
    """For how long bills have stood where they stand."""

    title = "time in this status"
    parameter_name = "age"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("7", "Over 7 days"), ("14", "Over 14 days"), ("30", "Over 30 days"), ("90", "Over 90 days")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in ("7", "14", "30", "90"):
            return queryset
        return queryset.filter(status_date__lt=clock.now() - dt.timedelta(days=int(self.value())))


class DrawsOnFilter(RadioFilter):
    """On which budget bills draw, where a link says so: a plan's page shows what became of each."""

    title = "draws on"
    parameter_name = DRAWS_ON

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        budget = budget_named(request.GET.get(DRAWS_ON))
        return [] if budget is None else [(str(budget.pk), str(budget))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        budget = budget_named(self.value())
        if budget is None:
            return queryset
        name = queryset.model._meta.model_name
        return queryset.filter(pk__in=lines_on_budget(budget)[f"{name}s"].order_by().values(name))


def budget_named(key: str | None) -> Budget | None:
    """The service booking, or the budget of a category, that has this key."""
    guid = key_in(key)
    if guid is None:
        return None
    beside = ("category", "engagement__participant")
    found = ServiceBooking.objects.filter(pk=guid).select_related(*beside).first()
    return found or CategoryBudget.objects.filter(pk=guid).select_related(*beside).first()


class ServicesFilter(RangeDateFilter):
    """When the services began."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.title = "first day of services"


def statuses_of(model: Any) -> type[ClaimStatus] | type[InvoiceStatus]:
    return ClaimStatus if model is Claim else InvoiceStatus


def reason_told(group: dict[str, Any]) -> str:
    """A reason with how many are on hold for it, and for how long the first of them."""
    days = days_since(group["oldest"])
    first = "today" if days <= 0 else "1 day" if days == 1 else f"{days:,} days"
    return f"{group['status_reason'] or 'No reason'} ({group['count']:,}, oldest {first})"


# --- the list -------------------------------------------------------------------------------------------


class BillList(Administered):
    """What the lists of claims and invoices have in common."""

    #: The column of the bill's number, and its folded twin.
    number_column: ClassVar[str]
    number_key: ClassVar[str]
    paginator = CappedPaginator
    show_facets = ShowFacets.NEVER  # the tabs count; facets would count every choice of every filter
    list_before_template = "funding/tabs.html"
    list_filter_submit = True
    ordering = ("-creation_date", "-guid")
    search_fields = ("pk",)  # see get_search_results
    list_filter = (
        ArchivedFilter,
        StatusFilter,
        HeldForFilter,
        AgeFilter,
        DrawsOnFilter,
        ("start_date", ServicesFilter),
        ("status_date", DateTimeRangeFilter),
        ("contact", AutocompleteSelectFilter),
        ("staff", AutocompleteSelectFilter),
    )

    def get_list_filter(self, request: HttpRequest) -> Sequence[Any]:
        provider = [("provider", AutocompleteSelectFilter)] if self.model is Claim else []
        return (*super().get_list_filter(request), *provider)

    def get_list_display(self, request: HttpRequest) -> Sequence[Any]:
        """On hold, why and for how long are what matters."""
        columns = list(super().get_list_display(request))
        if request.GET.get(STATUS) == ClaimStatus.ON_HOLD:
            columns[columns.index("status")] = "held_for"
        elif request.GET.get(STATUS):
            columns.remove("status")
        return columns

    def get_ordering(self, request: HttpRequest) -> Sequence[str]:
        """A queue is worked off from its oldest."""
        return ("status_date", "guid") if request.GET.get(STATUS) else super().get_ordering(request)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By whom it is for, by who billed it, by its number or reference.

        People and providers are looked up first, so that their bills are found by an index; what is called
        like somebody is no number. Only a part of a number or a reference is looked for in all bills.
        """
        words = normalised(search_term)
        if words is None:
            return queryset, False
        contacts = contacts_named(search_term)
        providers = providers_named(search_term) if self.model is Claim else []
        found = Q(contact__in=contacts)
        if self.model is Claim:
            found |= Q(provider__in=providers)
        if searched_digits(search_term) is None and (contacts != [] or providers != []):
            return queryset.filter(found), False
        found |= Q(**{f"{self.number_key}__contains": words})
        if self.model is Claim:
            found |= Q(provider_invoice_reference_key__contains=words)
        return queryset.filter(found), False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        tabs = self.tabs_context(request) if self.has_view_permission(request) else {}
        return super().changelist_view(request, {**tabs, **(extra_context or {})})

    def tabs_context(self, request: HttpRequest) -> dict[str, Any]:
        """The statuses with how many wait in each; those where nothing does are left out."""
        chosen = request.GET.get(STATUS, "")
        shown = [
            {
                "label": queue.label,
                "count": queue.told,
                "link": f"?{urlencode({STATUS: queue.status})}",
                "on": queue.status == chosen,
            }
            for queue in queues(self.model, statuses_of(self.model))
            if queue.count or queue.status == chosen
        ]
        budget = budget_named(request.GET.get(DRAWS_ON))
        is_all = not chosen and budget is None
        tabs = [{"label": "All", "count": "", "link": "?", "on": is_all}, *shown]
        reasons = []
        if chosen == ClaimStatus.ON_HOLD:
            reasons = [
                {
                    "label": reason_told(each),
                    "link": f"?{urlencode({STATUS: chosen, 'reason': each['status_reason'] or ''})}",
                    "on": request.GET.get("reason") == each["status_reason"],
                }
                for each in reasons_of_holds(self.model)
            ]
        return {"tabs": tabs, "reasons": reasons, "draws_on": budget}

    # --- columns

    @display(description="number")
    def number(self, bill: Any) -> str:
        return format_html('<span class="fu-nowrap">{}</span>', bill)

    @display(description="participant", ordering="contact__last_name")
    def participant(self, bill: Bill) -> str:
        return two_lines(bill.contact, bill.contact.scheme_number)

    @display(description="provider", ordering="provider__business_name")
    def provider_name(self, claim: Claim) -> str:
        return two_lines(claim.provider, claim.provider_invoice_reference)

    @display(description="services", ordering="start_date")
    def days(self, bill: Bill) -> str:
        first, last = f"{bill.start_date:%d %b %Y}", f"{bill.end_date:%d %b %Y}"
        return first if first == last else two_lines(first, f"to {last}")

    @display(description="total", ordering="total")
    def amount(self, bill: Bill) -> str | None:
        return money(bill.total)

    @display(description="status", ordering="funding_status", label=COLOURS)
    def status(self, bill: Any) -> tuple[str, str]:
        return bill.funding_status, bill.get_funding_status_display()

    @display(description="on hold for", ordering="status_reason")
    def held_for(self, bill: Bill) -> str:
        return bill.status_reason or "–"

    @display(description="since", ordering="status_date")
    def since(self, bill: Bill) -> str:
        days = days_since(bill.status_date)
        return "today" if days <= 0 else "1 day" if days == 1 else f"{days:,} days"


def contacts_named(term: str) -> Any:
    """The participants whom a search means: by their scheme number as people write it, else by name."""
    digits = searched_digits(term)
    people = Contact.objects.order_by()
    if digits is not None:
        people = people.alias(digits=digits_of("scheme_number")).filter(digits__contains=digits)
    else:
        for word in term.split():
            people = people.filter(
                Q(first_name__icontains=word) | Q(last_name__icontains=word) | Q(unique_code__iexact=word)
            )
    return keys_of(people)


def providers_named(term: str) -> Any:
    """The providers whom a search means: by name, or by business number without its blanks."""
    digits = searched_digits(term)
    providers = Client.objects.order_by()
    if digits is not None:
        providers = providers.alias(digits=digits_of("business_number")).filter(digits__contains=digits)
    else:
        providers = providers.filter(business_name__icontains=term.strip())
    return keys_of(providers)


def keys_of(found: QuerySet[Any]) -> Any:
    """The keys of those that were found; of very many, the question that finds them."""
    keys = list(found.values_list("pk", flat=True)[: MOST_NAMED + 1])
    return keys if len(keys) <= MOST_NAMED else found.values("pk")


def two_lines(first: Any, second: Any) -> str:
    """A cell with something fainter below."""
    if not second:
        return str(first)
    return format_html('{}<br><span class="rs-faint">{}</span>', first, second)


def list_address(model: Any, **asked: str) -> str:
    """A list of this model, as the words choose it."""
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{address}?{urlencode(asked)}" if asked else address
