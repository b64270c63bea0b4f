"""The back office's pages of provider invoices: what came in, what was decided, what nobody claimed yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from unfold.contrib.filters.admin import AutocompleteSelectFilter, RadioFilter
from unfold.decorators import display

from apps.core.admin_base import ArchivedFilter, RecordForm
from apps.core.identifiers import normalised
from apps.documents.admin import DateTimeRangeFilter
from apps.funding.admin import inbox
from apps.funding.admin.acting import ActsOnMany, Offered, Outcome
from apps.funding.admin.bill_forms import type_days
from apps.funding.admin.bill_lists import contacts_named, providers_named, two_lines
from apps.funding.admin.bill_moves import move_told
from apps.funding.admin.papers import claim_address, paper_shown
from apps.funding.admin.prices import money
from apps.funding.admin.queues import CappedPaginator, ShortPaginator, days_since, queues
from apps.funding.choices import ApprovalAction, ApprovalStatus
from apps.funding.models import WAITS_FOR_CLAIM, Claim, ProviderInvoice
from apps.funding.services.provider_invoices import (
    act_on_provider_invoices,
    create_provider_invoices,
    update_provider_invoices,
)
from apps.funding.validation.provider_invoices import (
    APPROVAL_TRANSITIONS,
    possible_actions,
)
from apps.odata.any_of import AnyOf
from apps.odata.write.drafts import Draft
from apps.people.models import Staff

STATUS, WAITING = "status", inbox.WAITING

KEY: Any = ProviderInvoice._meta.pk

COLOURS = {
    ApprovalStatus.UNACTIONED.value: "warning",
    ApprovalStatus.APPROVED.value: "success",
    ApprovalStatus.REJECTED.value: "danger",
    ApprovalStatus.ON_HOLD_BY_CLIENT.value: "danger",
    ApprovalStatus.ON_HOLD_BY_PLAN_MANAGER.value: "danger",
}

LABELS: Mapping[str, str] = {
    ApprovalAction.APPROVE.value: "Approve",
    ApprovalAction.REJECT.value: "Reject",
    ApprovalAction.HOLD_BY_CLIENT.value: "Hold for the client",
    ApprovalAction.HOLD_BY_PLAN_MANAGER.value: "Hold for the plan manager",
    ApprovalAction.RELEASE.value: "Release",
}


ARCHIVE, RESTORE = Offered("archive", "Archive"), Offered("restore", "Restore")
CLAIMED_ALREADY = "A claim stands on it: archive the claim first."


class ProviderInvoiceForm(RecordForm):
    """A paper that came in; what is built on it decides what of it may still change."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        type_days(self)


class ApprovalFilter(RadioFilter):
    """What was decided; and those that nobody claimed yet."""

    title = "status"
    parameter_name = STATUS

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(WAITING, "To be claimed"), *((value, str(label)) for value, label in ApprovalStatus.choices)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == WAITING:
            return queryset.filter(WAITS_FOR_CLAIM)
        return queryset.filter(approval_status=self.value()) if self.value() else queryset


@admin.register(ProviderInvoice)
class ProviderInvoiceAdmin(ActsOnMany):
    """Provider invoices, beside their documents."""

    form = ProviderInvoiceForm
    create = staticmethod(create_provider_invoices)
    update = staticmethod(update_provider_invoices)
    menu_order = 200
    icon = "inbox"
    paginator = CappedPaginator
    show_facets = admin.ShowFacets.NEVER
    list_before_template = "funding/tabs.html"
    change_form_template = "funding/provider_invoice.html"
    list_display = (
        "named",
        "provider",
        "participant",
        "services",
        "amount",
        "approval",
        "came_in",
        "claimed",
        "archived",
    )
    list_select_related = ("provider", "contact")
    list_filter = (
        ArchivedFilter,
        ApprovalFilter,
        ("provider", AutocompleteSelectFilter),
        ("contact", AutocompleteSelectFilter),
        ("creation_date", DateTimeRangeFilter),
    )
    list_filter_submit = True
    search_fields = ("pk",)  # see get_search_results
    search_help_text = "Reference, participant's name or scheme number, provider"
    ordering = ("-creation_date", "-guid")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("provider", "contact"),
                    ("reference", "invoice_total"),
                    ("service_start_date", "service_end_date"),
                    ("document", "send_payment_to"),
                    "is_reusable",
                )
            },
        ),
    )

    class Media:
        css: ClassVar[Any] = {"all": ("documents.css", "funding.css")}
        js = ("funding_lines.js",)

    # --- the list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        found = super().get_queryset(request)
        match = request.resolver_match
        if match is None or match.url_name != "funding_providerinvoice_changelist":
            return found
        claims = Claim.objects.filter(archive_date=None).only("claim_number", "provider_invoice")
        return found.prefetch_related(Prefetch("claims", claims.order_by("creation_date"), "current_claims"))

    def get_paginator(
        self, request: HttpRequest, queryset: Any, per_page: int, *args: Any, **more: Any
    ) -> Any:
        match = request.resolver_match
        kind = ShortPaginator if match is not None and match.url_name == "autocomplete" else self.paginator
        return kind(queryset, per_page, *args, **more)

    def get_ordering(self, request: HttpRequest) -> Sequence[str]:
        return ("creation_date", "guid") if request.GET.get(STATUS) else super().get_ordering(request)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By reference, by whom it is for, by who billed it; for a new claim only what may be claimed."""
        match = request.resolver_match
        if match is not None and match.url_name == "autocomplete":
            queryset = queryset.filter(archive_date=None)
            if request.GET.get("model_name") == "claim":
                queryset = queryset.filter(inbox.may_be_claimed())
        words = normalised(search_term)
        if words is None:
            return queryset, False
        found = Q(reference_key__contains=words) | Q(contact__in=contacts_named(search_term))
        return queryset.filter(found | Q(provider__in=providers_named(search_term))), False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        chosen = request.GET.get(STATUS, "")
        counted = queues(ProviderInvoice, ApprovalStatus, "approval_status", "creation_date")
        shown = [
            {
                "label": queue.label,
                "count": queue.told,
                "link": f"?{STATUS}={queue.status}",
                "on": queue.status == chosen,
            }
            for queue in counted
            if queue.count or queue.status == chosen
        ]
        tabs = [
            {"label": "All", "count": "", "link": "?", "on": not chosen},
            {
                "label": "To be claimed",
                "count": inbox.waiting_queue().told,
                "link": f"?{STATUS}={WAITING}",
                "on": chosen == WAITING,
            },
            *shown,
        ]
        return super().changelist_view(request, {"tabs": tabs, **(extra_context or {})})

    @display(description="reference", ordering="reference")
    def named(self, invoice: ProviderInvoice) -> str:
        return invoice.reference or "Without a reference"

    @display(description="participant", ordering="contact__last_name")
    def participant(self, invoice: ProviderInvoice) -> str | None:
        return two_lines(invoice.contact, invoice.contact.scheme_number) if invoice.contact else None

    @display(description="services", ordering="service_start_date")
    def services(self, invoice: ProviderInvoice) -> str | None:
        first, last = invoice.service_start_date, invoice.service_end_date
        if first is None or last is None or first == last:
            return f"{first or last:%d %b %Y}" if first or last else None
        return two_lines(f"{first:%d %b %Y}", f"to {last:%d %b %Y}")

    @display(description="total", ordering="invoice_total")
    def amount(self, invoice: ProviderInvoice) -> str | None:
        return money(invoice.invoice_total)

    @display(description="status", ordering="approval_status", label=COLOURS)
    def approval(self, invoice: ProviderInvoice) -> tuple[str, str]:
        return invoice.approval_status, invoice.get_approval_status_display()

    @display(description="came in", ordering="creation_date")
    def came_in(self, invoice: ProviderInvoice) -> str:
        days = days_since(invoice.creation_date)
        return "today" if days <= 0 else "1 day ago" if days == 1 else f"{days:,} days ago"

    @display(description="claim")
    def claimed(self, invoice: Any) -> str:
        if invoice.current_claims:
            links = [(self.claim_link(claim.pk), claim.claim_number) for claim in invoice.current_claims[:3]]
            return format_html_join(", ", '<a class="rs-link" href="{}">{}</a>', links)
        if invoice.archive_date is not None or invoice.approval_status not in inbox.CLAIMABLE:
            return "–"
        return format_html('<a class="rs-link" href="{}">Claim it</a>', claim_address(invoice))

    def claim_link(self, key: Any) -> str:
        return reverse("admin:funding_claim_change", args=[key])

    # --- one of them

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fieldsets = list(super().get_fieldsets(request, obj))
        if obj is not None:
            decided = ("approval_status", "rejection_reason", "actioned_by", "actioned_date", "created_by")
            fieldsets.insert(1, ("Decided", {"fields": (decided[:2], decided[2:]), "classes": ("collapse",)}))
        return fieldsets

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        decided = ("approval_status", "rejection_reason", "actioned_by", "actioned_date", "created_by")
        return (*super().get_readonly_fields(request, obj), *decided)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        invoice = self.get_object(request, object_id)
        if invoice is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        claims = invoice.claims.order_by("creation_date")[:20]
        context = {
            **paper_shown(request, invoice),
            "verbs": self.verbs_context(request, invoice),
            "moves": [told_move(move) for move in invoice.moves.select_related("staff")],
            "claims": [{"number": claim, "link": self.claim_link(claim.pk)} for claim in claims],
            "status_colour": COLOURS.get(invoice.approval_status, ""),
        }
        return super().change_view(request, object_id, form_url, {**context, **(extra_context or {})})

    def record_links(self, request: HttpRequest, object_id: str) -> list[dict[str, str]]:
        links = super().record_links(request, object_id)
        claims = self.admin_site.get_model_admin(Claim)
        invoice = ProviderInvoice.objects.filter(pk=object_id).first()
        if invoice is None or not inbox.is_waiting(invoice) or not claims.has_add_permission(request):
            return links
        return [{"title": "Claim it", "icon": "request_quote", "link": claim_address(invoice)}, *links]

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: Any = None) -> HttpResponse:
        answer = super().response_add(request, obj, post_url_continue)
        return redirect(claim_address(obj)) if "_claim" in request.POST else answer

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        answer = super().response_change(request, obj)
        return redirect(claim_address(obj)) if "_claim" in request.POST else answer

    # --- what is decided about them

    def offered_for_many(self, request: HttpRequest) -> Sequence[Offered]:
        if request.GET.get("archived") == "yes":
            return [RESTORE]
        status = request.GET.get(STATUS, "")
        possible = possible_actions(status) if status in ApprovalStatus.values else list(ApprovalAction)
        return [*(offered(action) for action in possible), ARCHIVE]

    def offered_for_one(self, request: HttpRequest, record: ProviderInvoice) -> Sequence[Offered]:
        if record.is_archived:
            return []
        return [offered(action) for action in possible_actions(record.approval_status)]

    def do(self, request: HttpRequest, keys: Sequence[Any], name: str, told: dict[str, Any]) -> Outcome:
        if name in (ARCHIVE.name, RESTORE.name):
            return self.archive_or_restore(request, keys, name)
        staff = request.user if isinstance(request.user, Staff) else None
        draft = Draft({"verb": name, "staff": staff, "reason": told.get("reason")})
        result = act_on_provider_invoices(keys, draft)
        return Outcome(len(result.done), [(each.key, each.label, each.message) for each in result.refused])

    def archive_or_restore(self, request: HttpRequest, keys: Sequence[Any], name: str) -> Outcome:
        records = ProviderInvoice.objects.filter(AnyOf(KEY, keys))
        if name == RESTORE.name:
            return Outcome(self.restore_records(request, records))
        kept = records.filter(inbox.CLAIMED).select_related("provider", "contact")
        refused = [(each.pk, str(each), CLAIMED_ALREADY) for each in kept]
        return Outcome(super().archive_records(request, records.filter(~inbox.CLAIMED)), refused)

    def archive_records(self, request: HttpRequest, records: QuerySet[Any]) -> int:
        """Those on which no current claim stands."""
        if records.filter(inbox.CLAIMED).exists():
            self.message_user(request, CLAIMED_ALREADY, messages.ERROR)
        return super().archive_records(request, records.filter(~inbox.CLAIMED))


def told_move(move: Any) -> dict[str, Any]:
    told = move_told(move, ApprovalStatus)
    return {**told, "label": LABELS.get(move.verb, told["label"])}


def offered(action: ApprovalAction) -> Offered:
    return Offered(action.value, LABELS[action.value], APPROVAL_TRANSITIONS[action].needs_reason)
