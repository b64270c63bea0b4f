"""What claims and invoices leave out: their provider invoice's values, days, prices and totals.

Members that were given stay as they are. What depends on an invalid member is marked invalid.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP
from typing import Any

from apps.funding.choices import MissingAbnReason, SendPaymentTo
from apps.funding.models import CENT, ZERO, ProviderInvoice
from apps.funding.pricing import PriceTable, price_zones, prices_of_products
from apps.funding.services.bill_types import CLAIMS, BillType
from apps.funding.services.records import Records, key_of, keys_of
from apps.odata.batched_queries import fetch_all
from apps.odata.write.drafts import Draft

#: Members of a claim that its provider invoice has as well, as {the claim's: the provider invoice's}.
SHARED_MEMBERS = {"contact": "contact", "provider": "provider", "provider_invoice_reference": "reference"}

#: Payees who are paid back what they paid the provider.
REIMBURSED = frozenset({SendPaymentTo.CLIENT.value, SendPaymentTo.CLIENT_REPRESENTATIVE.value})


def apply_defaults(bills: BillType, drafts: Sequence[Draft], records: Records) -> None:
    """Fill what drafts leave out, and work out their totals."""
    for claim in drafts if bills is CLAIMS else ():
        invoice = records.provider_invoices.get(key_of(claim, "provider_invoice"))
        claim.fill("takes_provider_invoice", invoice is None or not invoice.is_reusable)
        if invoice is not None:
            apply_provider_invoice(claim, invoice)
        claim.fill("missing_abn_reason_code", missing_abn_reason(claim))
    apply_prices(drafts, records.prices)


def apply_invoice_defaults(drafts: Sequence[Draft]) -> None:
    """Fill what invoices leave out; one query, however many there are."""
    products = {key for draft in drafts for key in keys_of(draft.get("line_items") or (), "product")}
    [rows] = fetch_all([prices_of_products(products)])
    apply_prices(drafts, PriceTable(rows))


def apply_provider_invoice(claim: Draft, invoice: ProviderInvoice) -> None:
    """Fill what a claim leaves out from its provider invoice, also when it moves there from another."""
    claim.fill("provider_invoice", invoice)
    moves = claim.key is not None and claim.get("previous_provider_invoice_id") != invoice.pk
    for name, source in SHARED_MEMBERS.items():
        value = getattr(invoice, source)
        if name in claim.invalid or value is None:
            continue
        if claim.get(name) is None or (moves and name not in claim.given):
            claim.fill(name, value)
            if claim.key is not None:
                claim.given |= {name}
    if claim.key is None and "send_payment_to" not in claim.given | claim.invalid:
        claim.fill("send_payment_to", invoice.send_payment_to)


def missing_abn_reason(claim: Draft) -> str | None:
    """Why the claim goes without the provider's business number (interface.md 2.3)."""
    provider = claim.get("provider")
    if claim.get("send_payment_to") in REIMBURSED:
        return MissingAbnReason.REIMBURSEMENT.value
    if provider is None or (provider.business_number or "").strip():
        return None
    return MissingAbnReason.EXCLUDED.value


def apply_prices(drafts: Sequence[Draft], prices: PriceTable) -> None:
    """Fill the days, price, notes and total of every line, and the total of each draft."""
    for draft in drafts:
        contact, total = draft.get("contact"), ZERO
        zones = price_zones(None if contact is None else contact.scheme_price_guide_region)
        for line in draft.get("line_items") or ():
            apply_line_defaults(draft, line, zones, prices)
            total += line.get("total") or ZERO
        draft.fill("total", total)


def apply_line_defaults(bill: Draft, line: Draft, zones: Sequence[str], prices: PriceTable) -> None:
    fill_or_mark(line, "first_day", first_given((line, "from_date"), (bill, "start_date")))
    fill_or_mark(line, "last_day", first_given((line, "to_date"), (line, "from_date"), (bill, "end_date")))
    product, book, day = line.get("product"), line.get("price_book"), line.get("first_day")
    if product is None or book is None or day is None:
        line.mark_invalid("book_price")
    else:
        line.fill("book_price", prices.find(book.pk, product.pk, zones, day))
    if line.get("price") is None and "price" not in line.invalid:
        if "book_price" in line.invalid:
            line.mark_invalid("price")
        else:
            line.fill("price", line.book_price and line.book_price.amount)
    notes_were_removed = line.key is not None and "notes" in line.given
    if line.get("notes") is None and "notes" not in line.invalid and not notes_were_removed:
        line.fill("notes", product and product.long_description)
    quantity, price = line.get("quantity"), line.get("price")
    if quantity is None or price is None:
        line.mark_invalid("total")
        return
    total = (quantity * price).quantize(CENT, ROUND_HALF_UP)
    line.fill("total", -total if line.get("is_credit_item") else total)


def first_given(*members: tuple[Draft, str]) -> Any:
    """The first value that is given; none when an invalid member might have been the first."""
    for draft, name in members:
        if name in draft.invalid:
            return None
        if (value := draft.get(name)) is not None:
            return value
    return None


def fill_or_mark(line: Draft, name: str, value: Any) -> None:
    if value is None:
        line.mark_invalid(name)
    else:
        line.fill(name, value)
