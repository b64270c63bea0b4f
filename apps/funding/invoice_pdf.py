"""Invoices as PDF, to be sent: sender, participant, lines, GST, and how to pay."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from django.utils.formats import date_format
from reportlab.lib.units import mm
from reportlab.platypus import PageBreak, Spacer, Table, TableStyle

from apps.base.money import ZERO, to_cents
from apps.core.admin_base.display import format_amount, plain_quantity
from apps.core.models import Subscriber
from apps.funding.choices import TaxChoice
from apps.funding.models import Invoice, InvoiceLine, PriceBookEntry
from apps.funding.pdf_styles import (
    FIGURE,
    RULES,
    SMALL,
    STRONG,
    STRONG_FIGURE,
    TITLE,
    build_pdf,
    sender,
    text,
)
from apps.funding.tagged_pdf import data_table

#: The part of a price with GST that is GST: 10 of 110.
GST_PART = Decimal(11)
LINE_COLUMNS = (66 * mm, 30 * mm, 22 * mm, 26 * mm, 30 * mm)


def invoices_pdf(invoices: Iterable[Invoice]) -> bytes:
    """The invoices in one file, each beginning on a page of its own."""
    organisation, numbers = Subscriber.current(), []
    story: list[object] = []
    for invoice in invoices:
        if story:
            story.append(PageBreak())
        story += invoice_story(invoice, organisation)
        numbers.append(invoice.invoice_number)
    title = f"Invoice {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} invoices"
    return build_pdf(story, title, organisation.name)


def invoice_story(invoice: Invoice, organisation: Subscriber) -> list[object]:
    lines = list(invoice.line_items.select_related("product").order_by("position", "pk"))
    gst = gst_included(lines)
    days = {"Services from": invoice.start_date, "Services to": invoice.end_date, "Due": invoice.due_date}
    dated = [f"{label} {date_format(day, 'j M Y')}" for label, day in days.items() if day]
    details = [f"Number {invoice.invoice_number}", *dated]
    return [
        text("Tax invoice" if gst else "Invoice", TITLE),
        Spacer(0, 4 * mm),
        Table(
            [
                [
                    sender(organisation),
                    [text(str(invoice.contact), STRONG), text(recipient(invoice))],
                    [text("\n".join(details))],
                ]
            ],
            colWidths=[66 * mm, 58 * mm, 50 * mm],
            style=TableStyle([("VALIGN", (0, 0), (-1, -1), "TOP")]),
        ),
        Spacer(0, 8 * mm),
        data_table(line_rows(lines), colWidths=LINE_COLUMNS, style=RULES),
        Spacer(0, 4 * mm),
        Table(
            [
                [text("GST included", FIGURE), text(format_amount(gst), FIGURE)],
                [
                    text(f"Total {organisation.currency}", STRONG_FIGURE),
                    text(format_amount(invoice.total), STRONG_FIGURE),
                ],
            ],
            colWidths=[144 * mm, 30 * mm],
        ),
        Spacer(0, 8 * mm),
        text(organisation.payment_details),
    ]


def recipient(invoice: Invoice) -> str:
    """The participant's postal address, else the street address, and the scheme number."""
    contact, postal = invoice.contact, "postal_" if invoice.contact.postal_street_address else ""
    street = [getattr(contact, f"{postal}street_address{number}") for number in ("", "2")]
    place = [getattr(contact, postal + name) for name in ("suburb", "city", "state", "post_code")]
    number = contact.scheme_number and f"Scheme number {contact.scheme_number}"
    return "\n".join(filter(None, [*street, " ".join(dict.fromkeys(filter(None, place))), number]))


def line_rows(lines: Sequence[InvoiceLine]) -> list[list[object]]:
    head = [text("Support", STRONG), text("Days", STRONG)]
    rows: list[list[object]] = [
        [*head, *(text(each, STRONG_FIGURE) for each in ("Quantity", "Price", "Total"))]
    ]
    for line in lines:
        notes = [line.product.code, line.get_tax_choice_display(), "Credit" if line.is_credit_item else ""]
        days = dict.fromkeys(date_format(day, "j M Y") for day in (line.first_day, line.last_day))
        values = (plain_quantity(line.quantity), format_amount(line.price), format_amount(line.total))
        rows.append(
            [
                [text(line.product.name), text(" · ".join(filter(None, notes)), SMALL)],
                text(" –\n".join(days)),
                *(text(each, FIGURE) for each in values),
            ]
        )
    return rows


def gst_included(lines: Sequence[InvoiceLine]) -> Decimal:
    """The GST in the totals of taxed lines whose price book's prices include it."""
    taxed = [line for line in lines if line.tax_choice == TaxChoice.GST_ON_INCOME]
    entries = PriceBookEntry.objects.filter(
        gst_inclusive=True, product__in=[line.product_id for line in taxed]
    )
    inclusive = set(entries.values_list("price_book", "product"))
    parts = (line.total / GST_PART for line in taxed if (line.price_book_id, line.product_id) in inclusive)
    return sum((to_cents(part) for part in parts), ZERO)
