"""What rules and warnings read beside claims and invoices: two trips of batched queries, however many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

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
from apps.funding.models import ZERO, Claim, ClaimLine, Invoice, ProviderInvoice
from apps.funding.pricing import PriceTable, price_zones
from apps.funding.public_holidays import state_code
from apps.funding.services.records import CLAIMS, BillType, Records, any_of, key_of
from apps.funding.statuses import ENDED
from apps.odata import clock
from apps.odata.batched_queries import PreparedQuery, Rows, fetch_all, prepared_query
from apps.odata.write.drafts import Draft

#: The provider and the normalised reference of a claim.
Reference = tuple[UUID, str]


@dataclass(slots=True)
class BillLine:
    """A line without invalid members, with its bill and its number in it."""

    bill: Draft
    context: BillContext
    line: Draft
    number: int


def load_bill_contexts(bill_type: BillType, drafts: Sequence[Draft], records: Records) -> list[BillContext]:
    """What rules and warnings read beside each draft, which has its defaults.

    Sets the budgets that cover the lines. Each question is asked once, however many drafts depend on it.
    """
    today = clock.today()
    contexts = [build_context(draft, records, today) for draft in drafts]
    lines = valid_lines(drafts, contexts)
    supports = [support_of(each) for each in lines]
    claims = drafts if bill_type is CLAIMS else ()
    references = normalised_references(claims)
    named = [set(values) for values in zip(*references.values(), strict=True)]
    existing = {draft.key for draft in drafts} - {None}
    same_day = [
        {support.contact for support in supports},
        {each.line.product.pk for each in lines},
        {each.line.first_day for each in lines},
        records.own_bills,
    ]
    plans, invoice_rows, claim_rows, line_rows, released = fetch_all(
        [
            plan_query(same_day[0]) if lines else None,
            provider_invoices_with(*named) if named else None,
            claims_with(*named) if named else None,
            lines_of_day(bill_type.line_model)(*same_day) if lines else None,
            released_amounts_of(bill_type.line_model)(existing) if existing else None,
        ]
    )
    matches = match_plans(supports, plans)
    bookings, category_budgets = fetch_all(budget_queries(matches)) if matches else ([], [])
    # What existing bills count on each budget is replaced by their updates.
    released_sums: defaultdict[UUID, Decimal] = defaultdict(lambda: ZERO)
    for booking, category_budget, total in released:
        released_sums[booking or category_budget] += total
    coverages = choose_budgets(matches, bookings, category_budgets, released_sums)
    add_lines(lines, coverages, records.prices)
    find_takers(claims, contexts, records)
    find_reference_owners(claims, contexts, references, invoice_rows, claim_rows)
    find_duplicate_references(claims, contexts, references, claim_rows, records.own_bills)
    find_duplicate_lines(bill_type, drafts, lines, line_rows)
    return contexts


def build_context(draft: Draft, records: Records, today: Any) -> BillContext:
    contact, lines = draft.get("contact"), draft.get("line_items") or ()
    for line in lines:
        line.fill("booking", None)
        line.fill("category_budget", None)
    return BillContext(
        today=today,
        permissions=records.permissions.get(key_of(draft, "staff")),
        state=None if contact is None else state_code(contact.state),
        lines=[None] * len(lines),
    )


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


def normalised_references(claims: Sequence[Draft]) -> dict[int, Reference]:
    """The reference of each claim that has a provider and one, by the number of the claim."""
    found = {}
    for number, claim in enumerate(claims):
        provider = key_of(claim, "provider")
        reference = normalised(claim.get("provider_invoice_reference"))
        if provider is not None and reference is not None:
            found[number] = provider, reference
    return found


@prepared_query
def provider_invoices_with(providers: Any, references: Any) -> QuerySet[Any, Any]:
    invoices = ProviderInvoice.objects.filter(
        any_of(ProviderInvoice, "provider", providers), any_of(ProviderInvoice, "reference_key", references)
    )
    return invoices.order_by("pk").values_list("provider", "reference_key", "pk")


@prepared_query
def claims_with(providers: Any, references: Any) -> QuerySet[Any, Any]:
    claims = Claim.objects.filter(
        any_of(Claim, "provider", providers),
        any_of(Claim, "provider_invoice_reference_key", references),
        archive_date=None,
    )
    columns = ("provider_invoice", "claim_number", "pk", "contact", "funding_status")
    return claims.order_by("pk").values_list("provider", "provider_invoice_reference_key", *columns)


def find_reference_owners(
    claims: Sequence[Draft],
    contexts: Sequence[BillContext],
    references: Mapping[int, Reference],
    invoice_rows: Rows,
    claim_rows: Rows,
) -> None:
    """A new reference must be that of no other provider invoice and of no current claim built on another."""
    owners: dict[Reference, list[tuple[Any, str]]] = defaultdict(list)
    for provider, reference, key in invoice_rows:
        owners[provider, reference].append((key, "another provider invoice of this provider"))
    for provider, reference, key, claim_number, *_ in claim_rows:
        owners[provider, reference].append((key, f"claim {claim_number}"))
    first: dict[Reference, tuple[int, Any]] = {}
    for number, named in references.items():
        invoice = claims[number].get("provider_invoice")
        if invoice is None:
            continue
        is_known = invoice.provider_id is not None or invoice.is_reusable
        if is_known and named[1] == invoice.reference_key:
            continue
        others = [label for key, label in owners.get(named, ()) if key != invoice.pk]
        first_number, first_invoice = first.setdefault(named, (number, invoice.pk))
        if others:
            contexts[number].reference_owner = others[0]
        elif first_invoice != invoice.pk:
            contexts[number].reference_owner = f"record {first_number + 1} of this request"


# --- duplicates -----------------------------------------------------------------------------------------


def find_duplicate_references(
    claims: Sequence[Draft],
    contexts: Sequence[BillContext],
    references: Mapping[int, Reference],
    claim_rows: Rows,
    own_bills: set[UUID],
) -> None:
    """Find the claims for the same participant with the same reference of the provider."""
    existing: dict[tuple[Any, ...], str] = {}
    for provider, reference, _, claim_number, key, contact, status in claim_rows:
        if status not in ENDED and key not in own_bills:
            same = (contact, provider, reference)
            existing[same] = min(claim_number, existing.get(same, claim_number))
    first: dict[tuple[Any, ...], int] = {}
    for number, named in references.items():
        same = (key_of(claims[number], "contact"), *named)
        if same[0] is None:
            continue
        if same in existing:
            contexts[number].duplicate = existing[same]
        elif first.setdefault(same, number) != number:
            contexts[number].duplicate = label_bill(CLAIMS, claims, first[same])


@lru_cache(maxsize=2)
def lines_of_day(line_model: type[Any]) -> PreparedQuery:
    """Current lines for any of these participants, products and first days, as ``line_key`` and a number."""
    is_claim = line_model is ClaimLine
    bill, bill_model = ("claim", Claim) if is_claim else ("invoice", Invoice)
    provider_or_credit = "claim__provider" if is_claim else "is_credit_item"

    @prepared_query
    def rows(contacts: Any, products: Any, days: Any, excluded: Any) -> QuerySet[Any, Any]:
        bills = bill_model._default_manager.filter(any_of(bill_model, "contact", contacts), archive_date=None)
        others = bills.exclude(any_of(bill_model, "guid", excluded))
        current = others.exclude(funding_status__in=sorted(ENDED))
        lines = line_model.objects.filter(
            any_of(line_model, "product", products),
            any_of(line_model, "first_day", days),
            archive_date=None,
            **{f"{bill}__in": current},
        )
        return lines.order_by().values_list(
            *(f"{bill}__contact", provider_or_credit, "product", "first_day", "last_day"),
            *("quantity", "claim_type", f"{bill}__{bill}_number"),
        )

    return rows


def line_key(bill_type: BillType, bill_line: BillLine) -> tuple[Any, ...]:
    """What two lines that claim the same support share. Invoices have no provider."""
    bill, line = bill_line.bill, bill_line.line
    is_claim = bill_type is CLAIMS
    return (
        bill.contact.pk,
        key_of(bill, "provider") if is_claim else bool(line.get("is_credit_item")),
        line.product.pk,
        line.first_day,
        line.last_day,
        line.quantity,
        str(line.get("claim_type") or "None"),
    )


def find_duplicate_lines(
    bill_type: BillType, drafts: Sequence[Draft], lines: Sequence[BillLine], rows: Rows
) -> None:
    """Find the lines that claim the same support: those of other bills, and those before it in the body."""
    existing: dict[tuple[Any, ...], str] = {}
    for *members, claim_type, bill_number in rows:
        key = (*members, claim_type or "None")
        existing[key] = min(bill_number, existing.get(key, bill_number))
    first: dict[tuple[Any, ...], BillLine] = {}
    for each in lines:
        key, context = line_key(bill_type, each), each.context.lines[each.number]
        assert context is not None
        earlier = first.setdefault(key, each)
        if key in existing:
            context.duplicate = existing[key]
        elif earlier is not each:
            is_same = earlier.bill is each.bill
            number = drafts.index(earlier.bill)
            bill = f"this {bill_type.name}" if is_same else label_bill(bill_type, drafts, number)
            context.duplicate = f"line {earlier.number + 1} of {bill}"


def label_bill(bill_type: BillType, drafts: Sequence[Draft], number: int) -> str:
    """The number of another bill of the same body, or its place."""
    return str(drafts[number].get(f"{bill_type.name}_number") or f"record {number + 1} of this request")


# --- lines ----------------------------------------------------------------------------------------------

#: The members without which a line is neither covered nor compared.
NEEDED = ("product", "price_book", "first_day", "last_day", "quantity", "price", "total")


def valid_lines(drafts: Sequence[Draft], contexts: Sequence[BillContext]) -> list[BillLine]:
    return [
        BillLine(draft, context, line, number)
        for draft, context in zip(drafts, contexts, strict=True)
        if draft.get("contact") is not None
        for number, line in enumerate(draft.get("line_items") or ())
        if "book_price" not in line.invalid and None not in map(line.get, NEEDED)
    ]


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


@lru_cache(maxsize=2)
def released_amounts_of(line_model: type[Any]) -> PreparedQuery:
    """(booking, category budget, total) of the lines of bills that still count on their budgets."""
    bill = "claim" if line_model is ClaimLine else "invoice"

    @prepared_query
    def rows(keys: Any) -> QuerySet[Any, Any]:
        lines = line_model.objects.filter(any_of(line_model, bill, keys), **{f"{bill}__archive_date": None})
        counted = lines.exclude(**{f"{bill}__funding_status__in": sorted(ENDED)})
        return counted.order_by().values_list("booking", "category_budget", "total")

    return rows


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
