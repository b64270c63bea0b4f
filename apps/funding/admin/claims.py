"""The pages of claims."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.views.decorators.http import require_GET

from apps.core.admin_base import MenuPage
from apps.funding.admin import reports
from apps.funding.admin.bill_forms import BillEntry, ClaimForm
from apps.funding.admin.bills import BillAdmin, period
from apps.funding.admin.display import list_url, new_claim_url, record_link, short_day
from apps.funding.admin.line_forms import LineForm
from apps.funding.admin.provider_invoices import find_provider_invoice, provider_invoice_panel
from apps.funding.admin.queues import WAITING, next_waiting_invoice
from apps.funding.choices import SendPaymentTo
from apps.funding.models import Claim, ClaimLine, ProviderInvoice
from apps.funding.services.create import create_claims
from apps.funding.services.update import update_claims
from apps.people.models import Client, Contact


@admin.register(Claim)
class ClaimAdmin(BillAdmin):
    """Claims, most of them entered from a provider's invoice."""

    form = ClaimForm
    line_model = ClaimLine
    line_form = LineForm
    create = staticmethod(create_claims)
    update = staticmethod(update_claims)
    menu_order = 210
    icon = "request_quote"
    menu_pages = (
        MenuPage("Work queues", "funding_claim_queues", "inbox", 190),
        MenuPage("Month end", "funding_claim_month_end", "calendar_month", 230),
    )
    list_display = (
        "number",
        "participant",
        "provider_name",
        "days",
        "amount",
        "status",
        "since",
        "archived",
    )
    list_select_related = ("contact", "provider")
    search_help_text = "Number, reference, participant's name or scheme number, provider"
    number_key = "claim_number_key"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "provider_invoice",
                    ("provider_invoice_reference", "send_payment_to"),
                    ("contact", "provider"),
                    ("start_date", "end_date", "due_date"),
                )
            },
        ),
        (
            "More",
            {"fields": (("staff", "claim_number", "external_invoice_number"),), "classes": ("collapse",)},
        ),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        """The provider invoice of an existing claim stays."""
        readonly = super().get_readonly_fields(request, obj)
        return readonly if obj is None else (*readonly, "provider_invoice")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """What the provider invoice in the address says; the claim is assigned to the signed-in person."""
        initial = {**super().get_changeform_initial_data(request), "staff": request.user.pk}
        invoice = find_provider_invoice(request.GET.get("provider_invoice"))
        if invoice is None:
            return {**initial, "send_payment_to": SendPaymentTo.PROVIDER, "provider_invoice": None}
        return {
            **initial,
            "provider_invoice": invoice.pk,
            "provider_invoice_reference": invoice.reference,
            "contact": invoice.contact_id,
            "provider": invoice.provider_id,
            "start_date": invoice.service_start_date,
            "end_date": invoice.service_end_date or invoice.service_start_date,
            "send_payment_to": invoice.send_payment_to,
        }

    def provider_invoice_context(
        self, request: HttpRequest, entry: BillEntry | None, record: Any
    ) -> dict[str, Any]:
        key = record and record.provider_invoice_id
        if record is None and entry is not None:
            key = entry.form["provider_invoice"].value()
        return provider_invoice_panel(request, find_provider_invoice(str(key or "")))

    def summary(self, record: Any) -> list[tuple[str, Any]]:
        return [
            ("Participant", record_link(Contact, record.contact_id, record.contact)),
            ("Provider", record_link(Client, record.provider_id, record.provider)),
            ("Reference", record.provider_invoice_reference),
            ("Services", period(record)),
            ("Due", short_day(record.due_date)),
            ("Paid to", record.get_send_payment_to_display()),
            ("ABN exemption", record.missing_abn_reason_code or "–"),
        ]

    def response_next(self, request: HttpRequest, record: Any) -> HttpResponse:
        """The form of the next provider invoice without a claim."""
        invoice = next_waiting_invoice(record.provider_invoice)
        if invoice is None:
            self.message_user(request, "No provider invoice waits for a claim.", messages.SUCCESS)
            return redirect(list_url(ProviderInvoice, status=WAITING))
        return redirect(new_claim_url(invoice))

    def get_urls(self) -> list[URLPattern]:
        pages = {
            "queues": reports.work_queues,
            "next": reports.next_claim,
            "month_end": reports.month_end,
        }
        own = [
            path(
                f"{name.replace('_', '-')}/",
                self.admin_site.admin_view(require_GET(partial(view, self))),
                name=self.url_name(name),
            )
            for name, view in pages.items()
        ]
        return [*own, *super().get_urls()]
