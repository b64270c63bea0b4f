"""A whole and a bare record of every kind of funding, for the tests over all resources."""

import datetime as dt
from decimal import Decimal

from apps.base import clock
from apps.documents.models import Document
from tests.funding.builders import (
    END_OF_JUNE,
    JULY,
    a_claim,
    a_cost_centre,
    a_price,
    a_price_book,
    a_product,
    a_provider_invoice,
    an_entry,
    an_invoice,
)
from tests.people.builders import a_client, a_contact, a_staff_member


def funding_records():
    """({entity set: key of a whole record}, {entity set: key of a bare one})."""
    book = a_price_book(name="O'Hara's 50% – 🚀")
    entry = an_entry(book, a_product(name="Café & co", long_description="Two\nlines"), gst_inclusive=True)
    a_price(entry)
    a_price(an_entry(book), amount="1616.2612")
    an_entry(book)
    bare_provider_invoice = a_provider_invoice(is_reusable=True)
    return (
        {
            "PriceBook": str(book.pk),
            "PriceBookEntry": str(entry.pk),
            "CostCentre": str(a_cost_centre().pk),
            "ProviderInvoice": str(a_whole_provider_invoice().pk),
            "Claim": str(a_whole_claim(entry).pk),
            "Invoice": str(a_whole_invoice(entry).pk),
        },
        {
            "PriceBook": str(a_price_book(archive_date=clock.now()).pk),
            "CostCentre": str(a_cost_centre(archive_date=clock.now()).pk),
            "ProviderInvoice": str(bare_provider_invoice.pk),
            "Claim": str(a_claim(lines=0, provider_invoice=bare_provider_invoice).pk),
            "Invoice": str(an_invoice(lines=0).pk),
        },
    )


def a_whole_provider_invoice():
    """A provider invoice of which every member is given."""
    staff = a_staff_member()
    return a_provider_invoice(
        service_start_date=JULY,
        service_end_date=END_OF_JUNE,
        invoice_total=Decimal("1234567.80"),
        contact=a_contact(),
        provider=a_client(),
        document=Document.objects.first(),
        created_by=staff,
        approval_status="Rejected",
        rejection_reason="Not ours: 'no such' participant",
        actioned_by=staff,
        actioned_date=clock.now(),
    )


def whole_bill():
    """What is moved and worked out, of a bill that was paid in part."""
    return {
        "contact": a_contact(Client={"ClientGuid": str(a_client().pk)}),
        "external_invoice_number": "XERO-77",
        "due_date": JULY + dt.timedelta(days=44),
        "approved_date": clock.now(),
        "resubmitted": True,
        "funding_status": "AgencyPartiallyPaid",
        "amount_paid": Decimal("100.00"),
    }


def a_whole_line(entry, **columns):
    """A line of which every member is given."""
    return {
        "entry": entry,
        "quantity": "1.2500",
        "price": "70.0004",
        "amount_paid": Decimal("50.00"),
        "from_date": JULY,
        "to_date": JULY + dt.timedelta(days=1),
        "tax_choice": "GstFreeIncome",
        "claim_type": "Cancellation",
        "cancellation_reason": "FamilyIssues",
        "notes": "Café\n“early”",
        **columns,
    }


def a_whole_claim(entry):
    """A claim of which every member has a value."""
    return a_claim(
        lines=[a_whole_line(entry), {"entry": entry}],
        payment_date=clock.now(),
        send_payment_to="ClientRepresentative",
        missing_abn_reason_code="REIMB",
        **whole_bill(),
    )


def a_whole_invoice(entry):
    """An invoice of which every member has a value."""
    return an_invoice(
        lines=[a_whole_line(entry, cost_centre=a_cost_centre()), {"entry": entry, "is_credit_item": True}],
        payment_date=JULY,
        is_recurring=True,
        recurring_start_date=JULY,
        recurring_end_date=END_OF_JUNE,
        recurring_frequency="Monthly",
        **whole_bill(),
    )
