"""What claims and invoices are validated against: three trips of batched queries, however many there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Exists, OuterRef, QuerySet

from apps.core.identifiers import normalised
from apps.core.unique import Conflicts
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
    LineKey,
    ReferenceKey,
    duplicates_query,
    find_duplicates,
    first_numbers,
    predecessors_query,
)
from apps.funding.models import ZERO, Claim, ClaimLine, InvoiceLine, ProviderInvoice
from apps.funding.pricing import PriceTable, price_zones, prices_of_products
from apps.funding.public_holidays import state_code
from apps.funding.services.bill_types import CLAIMS, BillType
from apps.funding.statuses import ENDED
from apps.funding.validation.bills import ADMINISTER_PERMISSION, CREDIT_PERMISSION
from apps.odata import clock
from apps.odata.any_of import AnyOf
from apps.odata.batched_queries import PreparedQuery, Rows, fetch_all, fetch_groups, prepared_query
from apps.odata.declaration.service import get_service
from apps.odata.write.drafts import Draft, Issue
from apps.odata.write.references import References
from apps.people.models import Client, Contact, Role, Staff


def key_of(draft: Draft, name: str) -> Any:
    """The key of the record that a draft refers to; ``None`` where it names none or an invalid one."""
    value = draft.get(name)
    return value.pk if isinstance(value, models.Model) else value


def keys_of(drafts: Iterable[Draft], name: str) -> set[Any]:
    return {key_of(draft, name) for draft in drafts} - {None}


Issues = list[tuple[int, Issue]]

# --- first trip: the records that drafts name -----------------------------------------------------------


@dataclass(slots=True)
class Records:
    """What drafts name, by key. ``takers``: (key, number) of the claims that took provider invoices.

    ``taken_before``: the provider invoices that a claim had taken before their lock was waited for.
    ``permissions``: of the staff members who may still log in. ``own_bills``: the drafts' own bills and those
    that they resubmit, which are no duplicates. ``reference_issues``: references that cannot be loaded;
    ``conflicts``: values that must be unique and are not.
    """

    provider_invoices: Mapping[UUID, ProviderInvoice]
    takers: Mapping[UUID, tuple[UUID, str]]
    taken_before: set[UUID]
    permissions: Mapping[UUID, frozenset[str]]
    prices: PriceTable
    own_bills: set[UUID]
    reference_issues: Issues
    conflicts: Issues


def load_records(bills: BillType, drafts: Sequence[Draft]) -> Records:
    """Load the records that drafts name, and lock their provider invoices in the order of their keys.

    Those that existing claims were built on are locked as well: nobody else builds on them now.
    """
    invoices = keys_of(drafts, "provider_invoice") | previous_provider_invoices(drafts)
    products = {key for draft in drafts for key in keys_of(draft.get("line_items") or (), "product")}
    own = keys_of(drafts, "resubmission_of") | {draft.key for draft in drafts if draft.key is not None}
    references = References(get_service().by_model[bills.model].type, drafts)
    conflicts = Conflicts(bills.model, drafts)
    own_queries = [
        takers_of(invoices) if invoices else None,
        locked_provider_invoices(invoices) if invoices else None,
        # PostgreSQL runs the queries of a trip one after the other: these see what the lock waited for.
        contacts_of(invoices) if invoices else None,
        providers_of(invoices) if invoices else None,
        takers_of(invoices) if invoices else None,
        permissions_of(keys_of(drafts, "staff")),
        prices_of_products(products) if products else None,
        predecessors_query(bills.model, own) if own else None,
    ]
    rows, referred, owners = fetch_groups(own_queries, references.queries, conflicts.queries)
    takers_before, locked, contacts, providers, takers, permissions, prices, predecessors = rows
    return Records(
        provider_invoices=build_provider_invoices(locked, contacts, providers),
        takers={invoice: (key, number) for invoice, key, number in takers},
        taken_before={invoice for invoice, _, _ in takers_before},
        permissions=granted_permissions(permissions),
        prices=PriceTable(prices),
        own_bills=own | {bills.model._meta.pk.to_python(key) for (key,) in predecessors},
        reference_issues=references.attach(referred),
        conflicts=conflicts.issues(owners),
    )


def previous_provider_invoices(drafts: Iterable[Draft]) -> set[UUID]:
    return {key for draft in drafts if (key := draft.get("previous_provider_invoice_id")) is not None}


@prepared_query
def takers_of(provider_invoices: Any) -> QuerySet[Any, Any]:
    field: Any = Claim._meta.get_field("provider_invoice")
    claims = Claim.objects.filter(AnyOf(field, provider_invoices), takes_provider_invoice=True)
    return claims.order_by().values_list("provider_invoice", "pk", "claim_number")


INVOICE_KEY: Any = ProviderInvoice._meta.pk
INVOICE_COLUMNS = tuple(column.attname for column in ProviderInvoice._meta.concrete_fields)


@prepared_query
def locked_provider_invoices(keys: Any) -> QuerySet[Any, Any]:
    invoices = ProviderInvoice.objects.filter(AnyOf(INVOICE_KEY, keys)).order_by("pk")
    return invoices.select_for_update().values_list(*INVOICE_COLUMNS)


def columns_of(model: type[models.Model], *names: str) -> tuple[str, ...]:
    """The key and these columns, in the order of the model: ``from_db`` expects it."""
    return tuple(f.attname for f in model._meta.concrete_fields if f.primary_key or f.name in names)


#: What defaults, rules and warnings read of the contacts and providers of provider invoices.
CONTACT_COLUMNS = columns_of(Contact, "first_name", "last_name", "scheme_price_guide_region", "state")
PROVIDER_COLUMNS = columns_of(Client, "business_name", "business_number")


def related_query(name: str, model: type[models.Model], columns: Sequence[str]) -> PreparedQuery:
    @prepared_query
    def rows(keys: Any) -> QuerySet[Any, Any]:
        invoices = ProviderInvoice.objects.filter(AnyOf(INVOICE_KEY, keys)).order_by().values(name)
        return model._default_manager.filter(pk__in=invoices).order_by().values_list(*columns)

    return rows


contacts_of = related_query("contact", Contact, CONTACT_COLUMNS)
providers_of = related_query("provider", Client, PROVIDER_COLUMNS)


def build_provider_invoices(
    rows: Rows, contact_rows: Rows, provider_rows: Rows
) -> dict[UUID, ProviderInvoice]:
    contacts = {row[0]: Contact.from_db("default", CONTACT_COLUMNS, row) for row in contact_rows}
    providers = {row[0]: Client.from_db("default", PROVIDER_COLUMNS, row) for row in provider_rows}
    invoices = [ProviderInvoice.from_db("default", INVOICE_COLUMNS, row) for row in rows]
    for invoice in invoices:
        if invoice.contact_id is not None:
            invoice.contact = contacts[invoice.contact_id]
        if invoice.provider_id is not None:
            invoice.provider = providers[invoice.provider_id]
    return {invoice.pk: invoice for invoice in invoices}


#: The permissions that rules ask of the staff member of a bill.
PERMISSIONS = (ADMINISTER_PERMISSION, CREDIT_PERMISSION)


@prepared_query
def permissions_of(staff: Any) -> QuerySet[Any, Any]:
    """(key, when the login is disabled, whether all is granted, whether each of ``PERMISSIONS`` is)."""
    rows = Staff.objects.filter(AnyOf(Staff._meta.get_field("guid"), staff), archive_date=None).order_by()
    granted = {f"grants_{number}": grants(name) for number, name in enumerate(PERMISSIONS)}
    return rows.annotate(**granted).values_list("pk", "disable_login_date", "role__all_permissions", *granted)


def grants(permission: str) -> Exists:
    app, codename = permission.split(".")
    granted = Role.permissions.through.objects.filter(
        role_id=OuterRef("role_id"), permission__content_type__app_label=app, permission__codename=codename
    )
    return Exists(granted)


def granted_permissions(rows: Rows) -> dict[UUID, frozenset[str]]:
    """What staff members may do; those archived or whose login is disabled are left out."""
    now = clock.now()
    return {
        key: frozenset(name for name, has in zip(PERMISSIONS, each, strict=True) if everything or has)
        for key, disabled, everything, *each in rows
        if disabled is None or disabled > now
    }


# --- second and third trip: what follows from them ------------------------------------------------------


@dataclass(slots=True)
class Placed:
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
    lines = [*placed_lines(drafts, contexts)]
    supports = [support_of(placed) for placed in lines]
    line_keys = [line_key(bills, placed) for placed in lines]
    first_lines = first_numbers(line_keys)
    claims = drafts if bills is CLAIMS else ()
    reference_keys = [reference_key(claim) for claim in claims]
    first_claims = first_numbers(reference_keys)
    references = new_references(claims)
    existing = {draft.key for draft in drafts} - {None}
    plans, same_invoices, same_claims, claim_rows, line_rows, released = fetch_all(
        [
            plan_query({support.contact for support in supports}) if supports else None,
            provider_invoices_with({text for _, text in references.values()}) if references else None,
            claims_with(*map(set, zip(*references.values(), strict=True))) if references else None,
            duplicates_query(CLAIM_REFERENCES, first_claims, records.own_bills),
            duplicates_query(bills.duplicate_lines, first_lines, records.own_bills),
            RELEASED[bills.name](existing) if existing else None,
        ]
    )
    matches = match_plans(supports, plans)
    bookings, category_budgets = fetch_all(budget_queries(matches)) if matches else ([], [])
    coverages = choose_budgets(matches, bookings, category_budgets, released_amounts(released))

    find_takers(claims, contexts, records)
    find_reference_owners(claims, contexts, references, same_invoices, same_claims)
    add_lines(lines, coverages, records.prices)
    duplicates = find_duplicates(
        reference_keys, first_claims, claim_rows, lambda first, number: bill_label(bills, drafts, first)
    )
    for number, duplicate in duplicates:
        contexts[number].duplicate = duplicate
    duplicates = find_duplicates(
        line_keys,
        first_lines,
        line_rows,
        lambda first, number: line_label(bills, drafts, lines[first], lines[number]),
    )
    for number, duplicate in duplicates:
        line = lines[number].context.lines[lines[number].number]
        assert line is not None
        line.duplicate = duplicate
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
        differences={} if invoice is None else differences(draft, invoice),
    )


def differences(claim: Draft, invoice: ProviderInvoice) -> dict[str, str]:
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


def placed_lines(drafts: Sequence[Draft], contexts: Sequence[BillContext]) -> Iterator[Placed]:
    for draft, context in zip(drafts, contexts, strict=True):
        if draft.get("contact") is None:
            continue
        for number, line in enumerate(draft.get("line_items") or ()):
            if "book_price" not in line.invalid and None not in map(line.get, NEEDED):
                yield Placed(draft, context, line, number)


#: The management type of the bookings that a bill claims on, where several fit; claims have no such type.
MANAGEMENT = {
    None: ManagementType.PLAN.value,
    InvoiceClaimType.INVOICE_TO_AGENCY.value: ManagementType.AGENCY.value,
    InvoiceClaimType.INVOICE_TO_CLIENT.value: ManagementType.SELF.value,
}


def support_of(placed: Placed) -> Support:
    product = placed.line.product
    return Support(
        placed.bill.contact.pk,
        placed.line.first_day,
        product.code,
        product.category,
        MANAGEMENT[placed.bill.get("invoice_claim_type")],
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


def add_lines(lines: Sequence[Placed], coverages: Sequence[Coverage], prices: PriceTable) -> None:
    """Set what covers each line, and what remains of it after the lines before it."""
    used: defaultdict[UUID, Decimal] = defaultdict(lambda: ZERO)
    for placed, coverage in zip(lines, coverages, strict=True):
        line, budget, remaining = placed.line, coverage.budget, None
        line.fill("booking", coverage.booking)
        line.fill("category_budget", coverage.category_budget)
        if budget is not None:
            remaining = budget.remaining - used[budget.pk]
            used[budget.pk] += line.total
        last_price = line.book_price
        if last_price is not None and not last_price.holds_on(line.last_day):
            zones = price_zones(placed.bill.contact.scheme_price_guide_region)
            last_price = prices.find(line.price_book.pk, line.product.pk, zones, line.last_day)
        placed.context.lines[placed.number] = LineContext(placed.number, coverage, remaining, last_price)


# --- duplicates -----------------------------------------------------------------------------------------


def reference_key(claim: Draft) -> ReferenceKey | None:
    contact, provider = key_of(claim, "contact"), key_of(claim, "provider")
    reference = normalised(claim.get("provider_invoice_reference"))
    if contact is None or provider is None or reference is None:
        return None
    return ReferenceKey(contact, provider, reference)


def line_key(bills: BillType, placed: Placed) -> LineKey:
    line = placed.line
    return LineKey(
        placed.bill.contact.pk,
        key_of(placed.bill, "provider") if bills is CLAIMS else None,
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


def line_label(bills: BillType, drafts: Sequence[Draft], first: Placed, other: Placed) -> str:
    same = first.bill is other.bill
    bill = f"this {bills.name}" if same else bill_label(bills, drafts, drafts.index(first.bill))
    return f"line {first.number + 1} of {bill}"
