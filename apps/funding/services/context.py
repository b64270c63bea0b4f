"""What rules and warnings read beside claims and invoices: two trips of batched queries, however many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import QuerySet

from apps.core.identifiers import normalised
from apps.engagements.choices import ManagementType
from apps.engagements.coverage import (
    Coverage,
    Support,
    budget_queries,
    choose_budgets,
    match_plans,
    plan_query,
)
from apps.funding.choices import InvoiceClaimType
from apps.funding.drafts import BillContext, LineContext
from apps.funding.duplicates import (
    CLAIM_REFERENCES,
    DuplicateSearch,
    LineKey,
    ReferenceKey,
)
from apps.funding.models import ZERO, Claim, ClaimLine, InvoiceLine, ProviderInvoice
from apps.funding.pricing import PriceTable, price_zones
from apps.funding.public_holidays import state_code
from apps.funding.services.bill_types import CLAIMS, BillType
from apps.funding.services.records import Records, key_of
from apps.funding.statuses import ENDED
from apps.odata import clock
from apps.odata.any_of import AnyOf
from apps.odata.batched_queries import PreparedQuery, Rows, fetch_all, prepared_query
from apps.odata.write.drafts import Draft


@dataclass(slots=True)
class BillLine:
    """A line without invalid members, with its bill and its number in it."""

    bill: Draft
    context: BillContext
    line: Draft
    number: int


def load_bill_contexts(bills: BillType, drafts: Sequence[Draft], records: Records) -> list[BillContext]:
    """What rules and warnings read beside each draft, which has its defaults.

    Sets the budgets that cover the lines. Each question is asked once, however many drafts depend on it.
    """
    today = clock.today()
    contexts = [build_context(draft, records, today) for draft in drafts]
    lines = [*valid_lines(drafts, contexts)]
    supports = [support_of(each) for each in lines]
    claims = drafts if bills is CLAIMS else ()
    references = new_references(claims)
    existing = {draft.key for draft in drafts} - {None}
    same_reference = DuplicateSearch(CLAIM_REFERENCES, [*map(reference_key, claims)], records.own_bills)
    line_keys = [line_key(bills, each) for each in lines]
    same_line = DuplicateSearch(bills.duplicate_lines, line_keys, records.own_bills)
    plans, invoice_rows, claim_rows, same_reference_rows, same_line_rows, released = fetch_all(
        [
            plan_query({support.contact for support in supports}) if supports else None,
            provider_invoices_with({text for _, text in references.values()}) if references else None,
            claims_with(*map(set, zip(*references.values(), strict=True))) if references else None,
            same_reference.query,
            same_line.query,
            RELEASED[bills.name](existing) if existing else None,
        ]
    )
    matches = match_plans(supports, plans)
    bookings, category_budgets = fetch_all(budget_queries(matches)) if matches else ([], [])
    coverages = choose_budgets(matches, bookings, category_budgets, released_amounts(released))

    find_takers(claims, contexts, records)
    find_reference_owners(claims, contexts, references, invoice_rows, claim_rows)
    add_lines(lines, coverages, records.prices)
    for number, duplicate in same_reference.find(
        same_reference_rows, lambda first, _: bill_label(bills, drafts, first)
    ):
        contexts[number].duplicate = duplicate
    for number, duplicate in same_line.find(
        same_line_rows, lambda first, number: line_label(bills, drafts, lines[first], lines[number])
    ):
        context = lines[number].context.lines[lines[number].number]
        assert context is not None
        context.duplicate = duplicate
    return contexts


def build_context(draft: Draft, records: Records, today: Any) -> BillContext:
    contact, invoice = draft.get("contact"), draft.get("provider_invoice")
    lines = draft.get("line_items") or ()
    for line in lines:
        line.fill("booking", None)
        line.fill("category_budget", None)
    return BillContext(
        today=today,
        permissions=records.permissions.get(key_of(draft, "staff")),
        state=None if contact is None else state_code(contact.state),
        lines=[None] * len(lines),
        differences={} if invoice is None else find_differences(draft, invoice),
    )


def find_differences(claim: Draft, invoice: ProviderInvoice) -> dict[str, str]:
    """The provider invoice's values, in words, of the members that its claim gives differently."""
    found = {}
    if key_of(claim, "contact") not in (None, invoice.contact_id) and invoice.contact is not None:
        found["contact"] = invoice.contact.full_name
    if key_of(claim, "provider") not in (None, invoice.provider_id) and invoice.provider is not None:
        found["provider"] = invoice.provider.business_name
    reference = claim.get("provider_invoice_reference")
    if None not in (reference, invoice.reference) and normalised(reference) != invoice.reference_key:
        found["provider_invoice_reference"] = str(invoice.reference)
    return found


def find_takers(claims: Sequence[Draft], contexts: Sequence[BillContext], records: Records) -> None:
    """Find the claims that have taken a provider invoice, those before it in the same body included."""
    first: dict[Any, int] = {}
    for number, claim in enumerate(claims):
        context, invoice = contexts[number], key_of(claim, "provider_invoice")
        if invoice is None or not claim.takes_provider_invoice:
            continue
        key, taker = records.takers.get(invoice, (claim.key, None))
        if key != claim.key:
            context.taken_by = f"claim {taker}"
            context.lost_race = invoice not in records.taken_before
        elif first.setdefault(invoice, number) != number:
            context.taken_by = f"record {first[invoice] + 1} of this request"


# --- references -----------------------------------------------------------------------------------------


def new_references(claims: Sequence[Draft]) -> dict[int, tuple[UUID, str]]:
    """(provider, normalised reference) of the claims that use one of them for the first time, by number."""
    found = {}
    for number, claim in enumerate(claims):
        provider, invoice = key_of(claim, "provider"), claim.get("provider_invoice")
        reference = normalised(claim.get("provider_invoice_reference"))
        if provider is None or reference is None or invoice is None:
            continue
        is_known = invoice.provider_id is not None or invoice.is_reusable
        if reference != invoice.reference_key or not is_known:
            found[number] = provider, reference
    return found


@prepared_query
def provider_invoices_with(references: Any) -> QuerySet[Any, Any]:
    field: Any = ProviderInvoice._meta.get_field("reference_key")
    invoices = ProviderInvoice.objects.filter(AnyOf(field, references)).order_by("pk")
    return invoices.values_list("provider", "reference_key", "pk")


@prepared_query
def claims_with(providers: Any, references: Any) -> QuerySet[Any, Any]:
    provider: Any = Claim._meta.get_field("provider")
    reference: Any = Claim._meta.get_field("provider_invoice_reference_key")
    claims = Claim.objects.filter(AnyOf(provider, providers), AnyOf(reference, references), archive_date=None)
    columns = ("provider", "provider_invoice_reference_key", "provider_invoice", "claim_number")
    return claims.order_by("pk").values_list(*columns)


def find_reference_owners(
    claims: Sequence[Draft],
    contexts: Sequence[BillContext],
    references: Mapping[int, tuple[UUID, str]],
    invoice_rows: Rows,
    claim_rows: Rows,
) -> None:
    """A new reference must be that of no other provider invoice and of no current claim built on another."""
    owners: dict[tuple[Any, str], list[tuple[Any, str]]] = defaultdict(list)
    for provider, reference, key in invoice_rows:
        owners[provider, reference].append((key, "another provider invoice of this provider"))
    for provider, reference, key, claim_number in claim_rows:
        owners[provider, reference].append((key, f"claim {claim_number}"))
    first: dict[tuple[Any, str], tuple[int, Any]] = {}
    for number, named in references.items():
        invoice = claims[number].provider_invoice.pk
        others = [label for key, label in owners.get(named, ()) if key != invoice]
        first_number, first_invoice = first.setdefault(named, (number, invoice))
        if others:
            contexts[number].reference_owner = others[0]
        elif first_invoice != invoice:
            contexts[number].reference_owner = f"record {first_number + 1} of this request"


# --- lines ----------------------------------------------------------------------------------------------

#: The members without which a line is neither covered nor compared.
NEEDED = ("product", "price_book", "first_day", "last_day", "quantity", "price", "total")


def valid_lines(drafts: Sequence[Draft], contexts: Sequence[BillContext]) -> Iterator[BillLine]:
    for draft, context in zip(drafts, contexts, strict=True):
        if draft.get("contact") is None:
            continue
        for number, line in enumerate(draft.get("line_items") or ()):
            if "book_price" not in line.invalid and None not in map(line.get, NEEDED):
                yield BillLine(draft, context, line, number)


#: The management type of the bookings that a bill claims on, where several fit; claims have no such type.
MANAGEMENT = {
    None: ManagementType.PLAN.value,
    InvoiceClaimType.INVOICE_TO_AGENCY.value: ManagementType.AGENCY.value,
    InvoiceClaimType.INVOICE_TO_CLIENT.value: ManagementType.SELF.value,
}


def support_of(bill_line: BillLine) -> Support:
    product = bill_line.line.product
    return Support(
        bill_line.bill.contact.pk,
        bill_line.line.first_day,
        product.code,
        product.category,
        MANAGEMENT[bill_line.bill.get("invoice_claim_type")],
        product.category_number_pace,
    )


def released_query(model: type[models.Model], bill: str) -> PreparedQuery:
    """(booking, category budget, total) of the lines of bills that still count on their budgets."""

    column: Any = model._meta.get_field(bill)

    @prepared_query
    def rows(keys: Any) -> QuerySet[Any, Any]:
        lines = model._default_manager.filter(AnyOf(column, keys))
        current = lines.filter(**{f"{bill}__archive_date": None})
        counted = current.exclude(**{f"{bill}__funding_status__in": sorted(ENDED)})
        return counted.order_by().values_list("booking", "category_budget", "total")

    return rows


RELEASED = {"claim": released_query(ClaimLine, "claim"), "invoice": released_query(InvoiceLine, "invoice")}


def released_amounts(rows: Rows) -> Mapping[UUID, Decimal]:
    """What existing bills count on each budget, which their updates replace."""
    amounts: defaultdict[UUID, Decimal] = defaultdict(lambda: ZERO)
    for booking, category_budget, total in rows:
        amounts[booking or category_budget] += total
    return amounts


def add_lines(lines: Sequence[BillLine], coverages: Sequence[Coverage], prices: PriceTable) -> None:
    """Set what covers each line, and what remains of it after the lines before it."""
    used: defaultdict[UUID, Decimal] = defaultdict(lambda: ZERO)
    for bill_line, coverage in zip(lines, coverages, strict=True):
        line, budget, remaining = bill_line.line, coverage.budget, None
        line.fill("booking", coverage.booking)
        line.fill("category_budget", coverage.category_budget)
        if budget is not None:
            remaining = budget.remaining - used[budget.pk]
            used[budget.pk] += line.total
        last_price = line.book_price
        if last_price is not None and not last_price.holds_on(line.last_day):
            zones = price_zones(bill_line.bill.contact.scheme_price_guide_region)
            last_price = prices.find(line.price_book.pk, line.product.pk, zones, line.last_day)
        bill_line.context.lines[bill_line.number] = LineContext(
            bill_line.number, coverage, remaining, last_price
        )


# --- duplicates -----------------------------------------------------------------------------------------


def reference_key(claim: Draft) -> ReferenceKey | None:
    contact, provider = key_of(claim, "contact"), key_of(claim, "provider")
    reference = normalised(claim.get("provider_invoice_reference"))
    if contact is None or provider is None or reference is None:
        return None
    return ReferenceKey(contact, provider, reference)


def line_key(bills: BillType, bill_line: BillLine) -> LineKey:
    line = bill_line.line
    return LineKey(
        bill_line.bill.contact.pk,
        key_of(bill_line.bill, "provider") if bills is CLAIMS else None,
        line.product.pk,
        line.first_day,
        line.last_day,
        line.quantity,
        str(line.get("claim_type") or "None"),
        bool(line.get("is_credit_item")),
    )


def bill_label(bills: BillType, drafts: Sequence[Draft], number: int) -> str:
    """The number of another bill of the same body, or its place."""
    return str(drafts[number].get(f"{bills.name}_number") or f"record {number + 1} of this request")


def line_label(bills: BillType, drafts: Sequence[Draft], first: BillLine, other: BillLine) -> str:
    same = first.bill is other.bill
    bill = f"this {bills.name}" if same else bill_label(bills, drafts, drafts.index(first.bill))
    return f"line {first.number + 1} of {bill}"
