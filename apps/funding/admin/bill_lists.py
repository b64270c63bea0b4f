"""The lists of claims and invoices: their search and columns, and a tab for each status."""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any, ClassVar

from django.db.models import Model, Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.http import urlencode
from unfold.decorators import display

from apps.core.admin_base import AmountRangeFilter, ArchivedFilter, DateTimeRangeFilter, RecordFilter
from apps.core.admin_base.display import age, amount_cell, format_amount, list_column, period_cell, two_lines
from apps.core.admin_base.searching import (
    search_records,
    searched_digits,
    sorted_after_search,
    with_small_letters,
)
from apps.core.caseload import visible_rows
from apps.core.models import normalised
from apps.funding.admin.actions import ActionAdmin, SummedChangeList
from apps.funding.admin.bill_filters import (
    AgeFilter,
    BudgetFilter,
    HoldReasonFilter,
    PhaseFilter,
    PlanFilter,
    ResubmissionFilter,
    SelfApprovalFilter,
    ServicesFilter,
    StatusFilter,
    WarningFilter,
    find_budget,
    hold_reason_label,
)
from apps.funding.admin.groups import GroupingAdmin
from apps.funding.admin.queues import (
    REFUSED_BY_AGENCY,
    STATUS,
    WINDOW,
    lapsing_tabs,
    load_hold_reasons,
    load_queues,
    queue_tabs,
)
from apps.funding.admin.remittances import next_steps_of
from apps.funding.models import AcknowledgedWarning, Bill, Claim
from apps.funding.statuses import STATUSES, ClaimStatus
from apps.funding.validation.guards import AnyBill
from apps.funding.validation.warning_codes import warning_label
from apps.people.models import Client, Contact

#: As many people or providers are passed on by their keys.
KEY_LIMIT = 3_000

STATUS_COLOURS = {name: row.colour for name, row in STATUSES.items()}


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
        ("total", AmountRangeFilter),
        BudgetFilter,
        PlanFilter,
        ("start_date", ServicesFilter),
        ("status_date", DateTimeRangeFilter),
        ("creation_date", DateTimeRangeFilter),
        SelfApprovalFilter,
        ("contact", RecordFilter),
        ("staff", RecordFilter),
        ("line_items__product", RecordFilter),
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
        people = {"contact": find_contacts(search_term, request.user)}
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
        budget = find_budget(request)
        bills = visible_rows(request.user, self.model._default_manager.all())
        queues = load_queues(bills)
        reasons = []
        if chosen == ClaimStatus.ON_HOLD:
            reasons = [
                {
                    "label": hold_reason_label(each),
                    "link": f"?{urlencode({STATUS: chosen, 'reason': each['status_reason'] or ''})}",
                    "on": request.GET.get("reason") == each["status_reason"],
                }
                for each in load_hold_reasons(bills)
            ]
        is_lapsing = WINDOW in request.GET
        tabs = queue_tabs(queues, chosen, is_all=not chosen and budget is None and not is_lapsing)
        if is_lapsing and self.model is Claim:
            tabs += lapsing_tabs(bills, is_chosen=True)
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

    amount = list_column("total", "total", amount_cell)

    @display(description="warnings")
    def warning_kinds(self, bill: AnyBill) -> str | None:
        """How many warnings the bill was saved with, and their kinds."""
        warnings = list(bill.acknowledged_warnings.all())
        kinds = ", ".join(dict.fromkeys(warning_label(each.code) for each in warnings))
        return two_lines(format_html("<b data-warnings>{}</b>", len(warnings)), kinds) if warnings else None

    @display(description="status", ordering="funding_status", label=STATUS_COLOURS)
    def status(self, bill: AnyBill) -> tuple[str, str]:
        return bill.funding_status, bill.get_funding_status_display()

    hold_reason = list_column("on hold for", "status_reason", lambda reason: reason or "–")

    @display(description="reason", ordering="status_reason")
    def reason(self, bill: Any) -> str:
        """The agency's text, and what to do next."""
        return two_lines(bill.status_reason or "–", bill.next_steps)

    since = list_column("since", "status_date", age)


def find_contacts(term: str, person: object) -> object:
    """A person's participants of a search: by scheme number however it is written, else by name."""
    columns = ("first_name", "last_name", "unique_code")
    contacts = visible_rows(person, Contact.objects.order_by())
    return limited_keys(search_records(contacts, term, columns, ["scheme_number"]))


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
