"""The pages of provider invoices: received, approved, and waiting for a claim."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.db.models import Model, Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html, format_html_join
from unfold.decorators import display

from apps.base.batched_queries import AnyOf
from apps.base.drafts import Draft, Issue
from apps.core.admin_base import (
    ArchivedFilter,
    ConditionFilter,
    Conditions,
    DateTimeRangeFilter,
    RecordFilter,
    RecordForm,
    RecordLink,
    fieldset,
)
from apps.core.admin_base.archiving import call_where_allowed
from apps.core.admin_base.display import (
    admin_url,
    age,
    amount_cell,
    link,
    list_column,
    period_cell,
    record_link,
)
from apps.core.admin_base.record_admin import is_autocomplete
from apps.core.admin_base.record_fields import find_visible
from apps.core.caseload import visible_rows
from apps.documents.admin import preview_kind
from apps.documents.models import Document, DocumentCategory
from apps.funding.admin.actions import (
    ActionAdmin,
    ActionButton,
    ActionOutcome,
    format_moment,
)
from apps.funding.admin.bill_filters import ClaimWindowFilter, age_conditions
from apps.funding.admin.bill_lists import find_contacts, find_providers, find_texts
from apps.funding.admin.forms import use_typed_days
from apps.funding.admin.queues import (
    HAS_APPROVED_CLAIM,
    NEEDS_DECISION,
    STATUS,
    UNDECIDED,
    WAITING,
    WINDOW,
    AutocompletePaginator,
    choices_of,
    lapsing_tabs,
    load_provider_invoice_queues,
    new_claim_url,
    queue_tabs,
    waiting_invoices,
)
from apps.funding.admin.rights import may_administer
from apps.funding.admin.stages import StageFilter
from apps.funding.choices import ApprovalAction, ApprovalStatus
from apps.funding.drafts import ApprovalDraft
from apps.funding.models import WAITS_FOR_CLAIM, Claim, ProviderInvoice
from apps.funding.services.duplicates import find_duplicate_invoices
from apps.funding.services.provider_invoices import (
    act_on_provider_invoices,
    archive_provider_invoices,
    find_approval_refusals,
)
from apps.funding.services.transition_requests import RefusedTransition
from apps.funding.validation.duplicates import same_total_issue
from apps.funding.validation.guards import lower_first
from apps.funding.validation.provider_invoices import APPROVAL_TRANSITIONS, possible_actions
from apps.people.admin.staff import staff_of
from apps.people.models import Client, Contact

COLOURS = {
    ApprovalStatus.UNACTIONED.value: "warning",
    ApprovalStatus.APPROVED.value: "success",
    ApprovalStatus.REJECTED.value: "danger",
    ApprovalStatus.ON_HOLD_BY_CLIENT.value: "danger",
    ApprovalStatus.ON_HOLD_BY_PLAN_MANAGER.value: "danger",
}

ARCHIVE, RESTORE = ActionButton("archive", "Archive"), ActionButton("restore", "Restore")
#: The claim form offers these; those on hold as well, since their claims go on hold with them.
MAY_HAVE_CLAIM = ~Q(approval_status=ApprovalStatus.REJECTED) & (Q(is_reusable=True) | Q(is_claimed=False))


class ProviderInvoiceForm(RecordForm):
    """A provider invoice, with dates that are typed."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        use_typed_days(self)


class ApprovalFilter(ConditionFilter):
    """The approval status; and those that wait for a claim."""

    title = "status"
    parameter_name = STATUS

    def conditions(self, model: type[Model]) -> Conditions:
        choices = choices_of(model, "approval_status")
        statuses = {value: (label, Q(approval_status=value)) for value, label in choices}
        return {WAITING: ("To be claimed", WAITS_FOR_CLAIM), **statuses}


class DecidedFilter(ConditionFilter):
    """Filters by whether a claim has decided about provider invoices: those have left their queue."""

    title = "claim"
    parameter_name = "claim"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        is_queue = request.GET.get(STATUS) in UNDECIDED
        return super().lookups(request, model_admin) if is_queue else []

    def conditions(self, model: type[Model]) -> Conditions:
        return {
            "": ("Not approved yet", NEEDS_DECISION),
            "approved": ("Approved or further", HAS_APPROVED_CLAIM),
            "all": ("All", Q()),
        }


class ReceivedFilter(ConditionFilter):
    """How long ago provider invoices were received."""

    title = "received"
    parameter_name = "age"

    def conditions(self, model: type[Model]) -> Conditions:
        return age_conditions("creation_date")


@admin.register(ProviderInvoice)
class ProviderInvoiceAdmin(ActionAdmin):
    """Provider invoices, beside their documents."""

    purpose = "What providers bill. Add one with its document, then create its claim."
    form = ProviderInvoiceForm
    menu_order = 200
    icon = "inbox"
    queue_ordering = ("creation_date", "guid")
    sum_column = "invoice_total"
    change_form_template = "funding/provider_invoice.html"
    list_display = (
        "reference_label",
        "provider",
        "participant",
        "services",
        "amount",
        "approval",
        "received",
        "claim_links",
        "archived",
    )
    list_select_related = ("provider", "contact")
    list_filter = (
        ArchivedFilter,
        ApprovalFilter,
        DecidedFilter,
        ReceivedFilter,
        ClaimWindowFilter,
        StageFilter,
        ("provider", RecordFilter),
        ("contact", RecordFilter),
        ("creation_date", DateTimeRangeFilter),
    )
    search_help_text = "Reference, participant's name or scheme number, provider"
    fieldsets = (
        fieldset(
            None,
            "provider",
            "contact",
            "reference",
            "invoice_total",
            "service_start_date",
            "service_end_date",
            "document",
            "send_payment_to",
            "is_reusable",
        ),
    )
    #: Set by the service when somebody acts on a provider invoice.
    readonly_fields = ("approval_status", "rejection_reason", "actioned_by", "actioned_date", "created_by")
    status_field = "approval_status"
    status_labels: ClassVar[Mapping[str, str]] = dict(ApprovalStatus.choices)
    action_labels: ClassVar[Mapping[str, str]] = dict(ApprovalAction.choices)

    # --- the list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        found = super().get_queryset(request)
        if not self.is_list(request):
            return found
        claims = visible_rows(request.user, Claim.objects.filter(archive_date=None))
        claims = claims.only("claim_number", "provider_invoice")
        return found.prefetch_related(
            Prefetch("claims", claims.order_by("creation_date", "pk"), "current_claims")
        )

    def get_paginator(
        self, request: HttpRequest, queryset: QuerySet[Model], per_page: int, *args: Any, **more: Any
    ) -> object:
        paginator = AutocompletePaginator if is_autocomplete(request) else self.paginator
        return paginator(queryset, per_page, *args, **more)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Model], search_term: str
    ) -> tuple[QuerySet[Model], bool]:
        """By reference, by whom it is for, by who billed it; for a new claim only what may be claimed."""
        if is_autocomplete(request):
            queryset = queryset.filter(archive_date=None)
            if request.GET.get("model_name") == "claim":
                queryset = queryset.filter(MAY_HAVE_CLAIM)
        if not search_term.strip():
            return queryset, False
        others = Q(contact__in=find_contacts(search_term, request.user))
        others |= Q(provider__in=find_providers(search_term))
        return find_texts(queryset, self.search_fields, search_term, others), False

    def tabs_context(self, request: HttpRequest) -> dict[str, object]:
        chosen = request.GET.get(STATUS, "")
        is_lapsing = WINDOW in request.GET
        invoices = visible_rows(request.user, ProviderInvoice.objects.all())
        queues = load_provider_invoice_queues(invoices)
        tabs = queue_tabs(queues, chosen, is_all=not chosen and not is_lapsing)
        return {"tabs": [*tabs, *lapsing_tabs(invoices, is_lapsing)]}

    @display(description="reference", ordering="reference")
    def reference_label(self, invoice: ProviderInvoice) -> str:
        return invoice.reference or "Without a reference"

    @display(description="services", ordering="service_start_date")
    def services(self, invoice: ProviderInvoice) -> str | None:
        return period_cell(invoice.service_start_date, invoice.service_end_date)

    amount = list_column("total", "invoice_total", amount_cell)

    @display(description="status", ordering="approval_status", label=COLOURS)
    def approval(self, invoice: ProviderInvoice) -> tuple[str, str]:
        return invoice.approval_status, invoice.get_approval_status_display()

    @display(description="received", ordering="creation_date")
    def received(self, invoice: ProviderInvoice) -> str:
        days = age(invoice.creation_date)
        return days if days == "today" else f"{days} ago"

    @display(description="claim")
    def claim_links(self, invoice: Any) -> str:
        if invoice.current_claims:
            return format_html_join(
                ", ", "{}", ((record_link(claim),) for claim in invoice.current_claims[:3])
            )
        if not invoice.is_claimable:
            return "–"
        return link(new_claim_url(invoice), "Create claim")

    # --- one provider invoice

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> object:
        fieldsets = list(super().get_fieldsets(request, obj))
        if obj is not None:
            fieldsets.insert(1, fieldset("Decision", *self.readonly_fields, style="collapse"))
        return fieldsets

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: object, **options: object
    ) -> HttpResponse:
        invoice = context["original"]
        page = provider_invoice_panel(request, invoice)
        if invoice is not None:
            claims = visible_rows(request.user, invoice.claims.order_by("creation_date", "pk"))[:20]
            page |= self.status_context(request, invoice)
            page["claims"] = [record_link(claim) for claim in claims]
            page["archived"] = archived_parties(invoice)
            page["status_colour"] = COLOURS.get(invoice.approval_status, "")
        return super().render_change_form(request, {**page, **context}, *args, **options)

    def describe(self, request: HttpRequest, record: ProviderInvoice) -> str:
        """With the claims on it, for those who may view them."""
        status = f"{super().describe(request, record)}, {lower_first(record.get_approval_status_display())}"
        claims = self.admin_site.get_model_admin(Claim)
        if not claims.has_view_permission(request):
            return status
        current = record.claims.filter(archive_date=None).order_by("creation_date", "pk")
        named = [
            format_html("; claim {}, {}", record_link(each), lower_first(each.get_funding_status_display()))
            for each in visible_rows(request.user, current)[:3]
        ]
        return format_html("{}{}", status, format_html_join("", "{}", ((each,) for each in named)))

    def record_links(self, request: HttpRequest, record: ProviderInvoice) -> list[RecordLink]:
        links = super().record_links(request, record)
        claims = self.admin_site.get_model_admin(Claim)
        is_waiting = waiting_invoices(ProviderInvoice.objects.filter(pk=record.pk)).exists()
        if not is_waiting or not claims.has_add_permission(request):
            return links
        return [RecordLink("Create claim", new_claim_url(record)), *links]

    def find_warnings_to_confirm(self, draft: Draft, person: object) -> list[Issue]:
        """Another one with the same participant, provider, period and total, with a link to it."""
        return [
            same_total_issue("invoice_total", record_link(other), mark)
            for _, mark, other in find_duplicate_invoices([draft])
        ]

    def response_add(
        self, request: HttpRequest, obj: ProviderInvoice, post_url_continue: object = None
    ) -> HttpResponse:
        answer = super().response_add(request, obj, post_url_continue)
        return redirect(new_claim_url(obj)) if "_claim" in request.POST else answer

    def response_change(self, request: HttpRequest, obj: ProviderInvoice) -> HttpResponse:
        answer = super().response_change(request, obj)
        return redirect(new_claim_url(obj)) if "_claim" in request.POST else answer

    # --- actions

    def list_buttons(self, request: HttpRequest) -> Sequence[ActionButton]:
        if request.GET.get("archived") == "yes":
            return [RESTORE]
        if not may_administer(request):
            return [ARCHIVE]
        status = request.GET.get(STATUS, "")
        possible = possible_actions(status) if status in ApprovalStatus.values else list(ApprovalAction)
        return [*map(approval_button, possible), ARCHIVE]

    def record_buttons(self, request: HttpRequest, record: ProviderInvoice) -> Sequence[ActionButton]:
        if record.is_archived or not may_administer(request):
            return []
        return [*map(approval_button, possible_actions(record.approval_status))]

    def question_form(self, name: str, record: Model | None = None) -> Callable[..., forms.Form]:
        needs_reason = APPROVAL_TRANSITIONS[ApprovalAction(name)].needs_reason
        return super().question_form(name) if needs_reason else forms.Form

    def describe_status(self, record: ProviderInvoice) -> str:
        """Archiving leaves nothing in the status history."""
        if record.archive_date is None:
            return super().describe_status(record)
        return f"archived since {format_moment(record.archive_date)}"

    def find_refusals(self, request: HttpRequest, records: Sequence[Any], name: str) -> Mapping[UUID, str]:
        return find_approval_refusals(records, ApprovalAction(name))

    def run_action(
        self, request: HttpRequest, keys: Sequence[UUID], name: str, answers: Mapping[str, object]
    ) -> ActionOutcome:
        records = ProviderInvoice.objects.filter(AnyOf("pk", keys))
        if name == RESTORE.name:
            return ActionOutcome(self.restore_records(request, records))
        if name == ARCHIVE.name:
            count, issues = call_where_allowed(archive_provider_invoices, records)
            in_use = records.filter(pk__in=issues).select_related("provider", "contact")
            refused = [RefusedTransition(each.pk, str(each), issues[each.pk].message) for each in in_use]
            return ActionOutcome(count, refused)
        draft = ApprovalDraft({"verb": name, "staff": staff_of(request), "reason": answers.get("reason")})
        result = act_on_provider_invoices(keys, draft)
        return ActionOutcome(len(result.done), result.refused)


def approval_button(action: ApprovalAction) -> ActionButton:
    needs_reason = APPROVAL_TRANSITIONS[action].needs_reason
    # What is on hold or rejected is released again; an approval is not taken back.
    return ActionButton(action.value, action.label, needs_reason, is_final=action is ApprovalAction.APPROVE)


# --- beside the form of a claim -------------------------------------------------------------------------


def find_provider_invoice(key: str | None, person: object) -> ProviderInvoice | None:
    """The provider invoice of a key, if the person sees it."""
    invoices = ProviderInvoice.objects.select_related("document", "contact", "provider")
    return find_visible(invoices, key, person)


def provider_invoice_panel(request: HttpRequest, invoice: ProviderInvoice | None) -> dict[str, object]:
    """A provider invoice beside a form: its total, and its document as browsers show it."""
    if invoice is None:
        return {"provider_invoice": None}
    return {"provider_invoice": invoice, **document_panel(request, invoice.document)}


def archived_parties(bill: Claim | ProviderInvoice) -> list[Client | Contact]:
    """The provider and the participant, where they are archived: what they have open may be claimed."""
    return [each for each in (bill.provider, bill.contact) if each is not None and each.is_archived]


def document_panel(request: HttpRequest, document: Document | None) -> dict[str, object]:
    """A document beside a form, as browsers show it."""
    preview = None
    if document is not None and request.user.has_perm("documents.view_document"):
        kind = preview_kind(document)
        preview = (kind, admin_url(document, "preview", document.pk)) if kind else None
    return {"document": document, "preview": preview}


def usual_document_category(person: object) -> UUID | None:
    """The category of the document of the newest provider invoice that a person sees, else one that is
    called after invoices."""
    newest = ProviderInvoice.objects.filter(document__isnull=False).order_by("-creation_date", "-guid")
    newest = visible_rows(person, newest)
    named = DocumentCategory.objects.filter(archive_date=None, name__icontains="invoice").order_by("name")
    return (
        newest.values_list("document__category", flat=True).first()
        or named.values_list("pk", flat=True).first()
    )
