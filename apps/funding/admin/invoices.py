"""The pages of invoices to the agency and to clients."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from unfold.decorators import display

from apps.core.admin_base import fieldset
from apps.core.admin_base.display import record_link, short_day, short_period
from apps.funding.admin.bills import BillAdmin
from apps.funding.admin.forms import InvoiceLineForm
from apps.funding.models import CostCentre, Invoice, InvoiceLine


@admin.register(Invoice)
class InvoiceAdmin(BillAdmin):
    """Invoices to the agency and to clients."""

    line_model = InvoiceLine
    line_form = InvoiceLineForm
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
    palette_columns = ("invoice_number",)
    text_columns = ("invoice_number_key",)
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

    def summary(self, record: Any) -> list[tuple[str, Any]]:
        return [
            ("Participant", record_link(record.contact)),
            ("Bill to", record.get_invoice_claim_type_display()),
            ("Services", short_period(record.start_date, record.end_date)),
            ("Due", short_day(record.due_date)),
            ("Recurs", self.recurs(record) or "No"),
            *super().summary(record),
        ]

    @display(description="bill to", ordering="invoice_claim_type")
    def bill_to(self, invoice: Invoice) -> str:
        return invoice.get_invoice_claim_type_display()

    @display(description="recurs")
    def recurs(self, invoice: Invoice) -> str | None:
        return invoice.get_recurring_frequency_display() if invoice.is_recurring else None
