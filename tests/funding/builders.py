"""Price books, provider invoices, claims and invoices, as little of them as will do."""

import datetime as dt
import hashlib
import itertools
from decimal import ROUND_HALF_UP, Decimal

from apps.base import clock
from apps.base.drafts import Draft
from apps.funding.models import (
    AcknowledgedWarning,
    Claim,
    ClaimFile,
    ClaimLine,
    ClaimWindow,
    CostCentre,
    Invoice,
    InvoiceLine,
    Price,
    PriceBook,
    PriceBookEntry,
    Product,
    ProviderInvoice,
    Remittance,
)
from apps.funding.services.provider_invoices import act_on_provider_invoices
from tests.people.builders import a_lookup
from tests.people.records import a_client, a_contact, a_staff_member

_numbers = itertools.count(1)

JULY = dt.date(2025, 7, 1)
END_OF_JUNE = dt.date(2026, 6, 30)


def a_cost_centre(**columns):
    return a_lookup(CostCentre, **columns)


def a_price_book(**columns):
    return a_lookup(PriceBook, **columns)


def a_product(**columns):
    number = next(_numbers)
    record = Product(**{"code": f"09_{number:03}_0116_6_3", "name": f"Support {number}", **columns})
    record.save()
    return record


def an_entry(price_book=None, product=None, **columns):
    record = PriceBookEntry(
        price_book=price_book or a_price_book(), product=product or a_product(), **columns
    )
    record.save()
    return record


def a_price(entry, amount="70.00", start=JULY, end=None, zone="National"):
    amount = None if amount is None else Decimal(amount)
    record = Price(entry=entry, zone=zone, start_date=start, end_date=end, amount=amount)
    record.save()
    return record


def a_claim_window(number, unit, **columns):
    record = ClaimWindow(number=number, unit=unit, **columns)
    record.save()
    return record


def a_provider_invoice(**columns):
    record = ProviderInvoice(**{"reference": f"PI-{next(_numbers)}", **columns})
    record.save()
    return record


def a_claim(lines=1, **columns):
    """A claim as it would have been stored; ``lines`` is how many, or a list of their columns."""
    contact = columns.pop("contact", None) or a_contact()
    provider = columns.pop("provider", None) or a_client()
    provider_invoice = columns.pop("provider_invoice", None) or a_provider_invoice(
        contact=contact, provider=provider
    )
    record = Claim(
        **{
            "claim_number": f"C-{next(_numbers)}",
            "contact": contact,
            "provider": provider,
            "provider_invoice": provider_invoice,
            "provider_invoice_reference": provider_invoice.reference or f"R-{next(_numbers)}",
            "takes_provider_invoice": not provider_invoice.is_reusable,
            **bill_columns(columns),
        }
    )
    made = with_lines(record, ClaimLine, "claim", lines)
    if made.takes_provider_invoice or (provider_invoice.is_reusable and made.archive_date is None):
        ProviderInvoice.objects.filter(pk=provider_invoice.pk).update(is_claimed=True)
        provider_invoice.is_claimed = True
    return made


def a_warned_claim(*codes, **columns):
    """A claim that was saved with warnings of these kinds."""
    claim = a_claim(**columns)
    for code in codes:
        AcknowledgedWarning.objects.create(claim=claim, code=code, message=f"A message of {code}")
    return claim


def an_invoice(lines=1, **columns):
    """An invoice as it would have been stored; ``lines`` is how many, or a list of their columns."""
    record = Invoice(
        **{
            "invoice_number": f"I-{next(_numbers)}",
            "invoice_claim_type": "InvoiceToAgency",
            "contact": columns.pop("contact", None) or a_contact(),
            **bill_columns(columns),
        }
    )
    return with_lines(record, InvoiceLine, "invoice", lines)


def a_claim_file(bills, **columns):
    """A claim file with the lines of bills, as it would have been stored; its bytes have their numbers."""
    number = next(_numbers)
    lines = [(bill, line) for bill in bills for line in bill.line_items.order_by("position")]
    rows = [["RegistrationNumber", "NDISNumber"], *(["405", bill.contact.scheme_number] for bill, _ in lines)]
    content = "".join(f"{','.join(map(str, row))}\r\n" for row in rows).encode()
    file = ClaimFile(
        **{
            "number": number,
            "file_name": f"C{number}.csv",
            "registration_number": "405",
            "content": content,
            "sha256": hashlib.sha256(content).hexdigest(),
            "line_count": len(lines),
            "total": sum((line.total for _, line in lines), Decimal("0.00")),
            "status": "Sent",
            **columns,
        }
    )
    file.save()
    for position, (bill, line) in enumerate(lines, 1):
        name = bill._meta.model_name
        file.lines.create(
            position=position,
            reference=f"C{number}-{position}",
            amount=line.total,
            **{name: bill, f"{name}_line": line},
        )
    return file


def bill_columns(columns):
    staff = columns.pop("staff", None) or a_staff_member()
    return {
        "start_date": JULY,
        "end_date": JULY + dt.timedelta(days=30),
        "staff": staff,
        "entered_by": staff,
        **columns,
    }


def with_lines(bill, model, name, lines):
    """The bill and its lines, stored; its total is their sum."""
    wanted = [{} for _ in range(lines)] if isinstance(lines, int) else lines
    made = [a_line(model, bill, position, **columns) for position, columns in enumerate(wanted)]
    bill.total = sum((line.total for line in made), Decimal("0.00"))
    bill.save()
    for line in made:
        setattr(line, name, bill)
        line.save()
    return bill


def a_line(model, bill, position, entry=None, **columns):
    """A line of the model, not stored yet."""
    entry = entry or an_entry()
    quantity = Decimal(columns.pop("quantity", "2"))
    price = Decimal(columns.pop("price", "70.00"))
    sign = -1 if columns.get("is_credit_item") else 1
    from_date, to_date = columns.get("from_date"), columns.get("to_date")
    return model(
        position=position,
        price_book=entry.price_book,
        product=entry.product,
        quantity=quantity,
        price=price,
        **{
            "total": sign * (quantity * price).quantize(Decimal("0.01"), ROUND_HALF_UP),
            "first_day": from_date or bill.start_date,
            "last_day": to_date or from_date or bill.end_date,
            **columns,
        },
    )


def act(keys, action, staff, reason=None):
    """Take an action on provider invoices as a caller does who fills in no form."""
    return act_on_provider_invoices(keys, Draft({"verb": action, "staff": staff, "reason": reason}))


def a_remittance(*lines, **columns):
    """A remittance that pays these lines of claim files in full, as it would have been stored."""
    number, total = next(_numbers), sum((line.amount for line in lines), Decimal("0.00"))
    given = {
        "file_name": f"remittance-{number}.csv",
        "sha256": hashlib.sha256(str(number).encode()).hexdigest(),
        "day": clock.today(),
        "row_count": len(lines),
        "total": total,
        "unmatched_count": 0,
        "unmatched_total": Decimal("0.00"),
    }
    remittance = Remittance(**{**given, **columns})
    remittance.save()
    for position, line in enumerate(lines, 1):
        remittance.lines.create(
            position=position,
            file_line=line,
            payment_number=f"4{number:08}",
            day=remittance.day,
            amount=line.amount,
            is_applied=True,
        )
    return remittance
