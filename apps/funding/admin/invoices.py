"""The pages of invoices to the agency and to clients."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.decorators import display

from apps.base import clock
from apps.core.admin_base import Page, fieldset
from apps.core.admin_base.display import record_link, short_day, short_period
from apps.core.read_log import log_export
from apps.documents.downloads import PDF, bytes_response
from apps.funding.admin.bills import BillAdmin
from apps.funding.admin.forms import InvoiceLineForm
from apps.funding.models import CostCentre, Invoice, InvoiceLine
from apps.funding.services.recurring import next_invoice_day

#: Invoices of one PDF.
PDF_LIMIT = 200


@admin.register(Invoice)
class InvoiceAdmin(BillAdmin):
    """Invoices to the agency and to clients."""

    purpose = "What your organisation bills the agency, other plan managers and clients."
    line_model = InvoiceLine
    line_form = InvoiceLineForm
    record_pages = (Page("pdf", "PDF", method="GET"), *BillAdmin.record_pages)
    actions: ClassVar[Any] = ("selected_as_pdf",)
    menu_order = 220
    icon = "receipt_long"
    list_display = (
        "number",
        "participant",
        "bill_to",
        "days",
        "amount",
        "warning_kinds",
        "recurs",
        "status",
        "since",
        "archived",
    )
    list_select_related = ("contact",)
    search_help_text = "Number, participant's name or scheme number"
    fieldsets = (
        fieldset(None, "contact", "invoice_claim_type", "start_date", "end_date", "due_date"),
        fieldset(
            "More",
            "staff",
            "invoice_number",
            "external_invoice_number",
            "is_recurring",
            "recurring_frequency",
            "recurring_start_date",
            "recurring_end_date",
            style="collapse",
        ),
    )

    def cost_centre_names(self) -> Sequence[str]:
        return list(CostCentre.objects.filter(archive_date=None).values_list("name", flat=True)[:500])

    def summary(self, record: Invoice) -> list[tuple[str, object]]:
        return [
            ("Participant", record_link(record.contact)),
            ("Bill to", record.get_invoice_claim_type_display()),
            ("Services", short_period(record.start_date, record.end_date)),
            ("Due", short_day(record.due_date)),
            ("Recurs", self.recurs(record) or "No"),
            *super().summary(record),
        ]

    def status_context(self, request: HttpRequest, record: Invoice) -> dict[str, object]:
        day = next_invoice_day(record)
        recurrence = {"next_invoice_day": day, "is_invoice_due": day is not None and day <= clock.today()}
        return {**super().status_context(request, record), **recurrence}

    # --- as PDF

    def pdf_page(self, request: HttpRequest, record: Invoice) -> HttpResponse:
        return pdf_response(Invoice.objects.filter(pk=record.pk), f"{record}.pdf")

    @admin.action(description="PDF", permissions=["view"])
    def selected_as_pdf(self, request: HttpRequest, selected: QuerySet[Model]) -> HttpResponse:
        """One file with all selected invoices, each on a page of its own."""
        return pdf_response(selected, "invoices.pdf")

    @display(description="bill to", ordering="invoice_claim_type")
    def bill_to(self, invoice: Invoice) -> str:
        return invoice.get_invoice_claim_type_display()

    @display(description="recurs")
    def recurs(self, invoice: Invoice) -> str | None:
        return invoice.get_recurring_frequency_display() if invoice.is_recurring else None


def pdf_response(selected: QuerySet[Any], file_name: str) -> HttpResponse:
    # Imported with the first PDF: reportlab is a twelfth of a worker's start.
    from apps.funding.invoice_pdf import invoices_pdf

    keys = list(selected.values_list("pk", flat=True)[:PDF_LIMIT])
    invoices = selected.filter(pk__in=keys).select_related("contact")
    log_export(invoices)
    return bytes_response(invoices_pdf(invoices), file_name, PDF)
