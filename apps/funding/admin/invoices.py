"""The pages of invoices to the agency and to clients."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.decorators import display

from apps.base import clock
from apps.core.admin_base import Page, RecordLink, fieldset
from apps.core.admin_base.display import list_column, record_link, short_day, short_period
from apps.core.downloads import bytes_response
from apps.core.read_log import log_export
from apps.documents.downloads import PDF
from apps.funding.admin.actions import NONE_CHOSEN, ActionButton, ActionOutcome, limited_selection
from apps.funding.admin.bills import BillAdmin
from apps.funding.admin.forms import InvoiceLineForm
from apps.funding.models import CostCentre, Invoice, InvoiceLine
from apps.funding.services.invoice_mail import find_problems, send_invoices
from apps.funding.services.recurring import next_invoice_day
from apps.funding.services.transitions import list_transitions
from apps.funding.statuses import InvoiceStatus
from apps.funding.validation.transitions import TransitionName
from apps.people.admin.staff import staff_of

#: Invoices of one PDF.
PDF_LIMIT = 200


@admin.register(Invoice)
class InvoiceAdmin(BillAdmin):
    """Invoices to the agency and to clients."""

    purpose = "What your organisation bills the agency, other plan managers and clients."
    line_model = InvoiceLine
    line_form = InvoiceLineForm
    record_pages = (
        Page("pdf", "PDF", method="GET"),
        Page("mail", "Send by mail", permission="change"),
        *BillAdmin.record_pages,
    )
    actions: ClassVar[Any] = ("selected_as_pdf", "mail_selected")
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
    def selected_as_pdf(self, request: HttpRequest, selected: QuerySet[Model]) -> HttpResponse | None:
        """One file with all selected invoices, each on a page of its own."""
        if not selected.exists():
            self.message_user(request, NONE_CHOSEN, messages.WARNING)
            return None
        return pdf_response(selected, "invoices.pdf")

    # --- by mail

    def record_links(self, request: HttpRequest, record: Invoice) -> list[RecordLink]:
        """Without the mail where the invoice is none to be sent."""
        rows = list_transitions(record, staff_of(request))
        is_sendable = any(row.name is TransitionName.SEND for row in rows)
        mail = self.page_url("mail", record.pk)
        return [each for each in super().record_links(request, record) if is_sendable or each.link != mail]

    def mail_page(self, request: HttpRequest, record: Invoice) -> HttpResponse:
        """Say where it goes, and why it cannot; when confirmed, let a worker mail it."""
        back = self.page_url("change", record.pk)
        problem = find_problems([record], staff_of(request)).get(record.pk)
        if problem is None and request.method == "POST":
            send_invoices([record.pk], staff_of(request))
            messages.success(request, f"{record} will be mailed to {record.contact}, and is sent then.")
            return redirect(back)
        return self.question_page(
            request,
            "Send by mail",
            None,
            str(record),
            record=record,
            summary=f"{self.record_summary(record)}, to {record.contact.email_address or 'no address'}",
            problems=[problem] if problem else [],
            is_impossible=problem is not None,
            back=back,
        )

    def get_actions(self, request: HttpRequest) -> dict[str, object]:
        """Without the mail in tabs of which no invoice can be sent."""
        actions = super().get_actions(request)
        if request.GET.get("status", InvoiceStatus.APPROVED) != InvoiceStatus.APPROVED:
            actions.pop("mail_selected", None)
        return actions

    @admin.action(description="Send by mail", permissions=["change"])
    def mail_selected(self, request: HttpRequest, selected: QuerySet[Model]) -> HttpResponse | None:
        """Mail those that can be; the others stay as they are, and are named with the reason."""
        keys, remainder = limited_selection(selected)
        result = send_invoices(keys, staff_of(request))
        button = ActionButton("mail_selected", "Send by mail")
        return self.show_outcome(button, request, ActionOutcome(len(result.done), result.refused), remainder)

    bill_to = list_column("bill to", "get_invoice_claim_type_display", ordering="invoice_claim_type")

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
