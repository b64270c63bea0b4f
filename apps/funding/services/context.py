"""Records that defaults, rules and warnings read beside claims and invoices, in three trips.

``load_records`` loads and locks what drafts name; once they have their defaults, ``load_bill_contexts`` loads
what exists beside them.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Exists, ExpressionWrapper, OuterRef, Q, QuerySet

from apps.base import clock
from apps.base.batched_queries import (
    AnyOf,
    AnyRowOf,
    PreparedQuery,
    Rows,
    SqlStatement,
    fetch_all,
    prepared_query,
)
from apps.base.declaration.service import get_service
from apps.base.drafts import Issue, References, keys_of, label_of
from apps.base.money import ZERO
from apps.core.models import normalised
from apps.core.saving import Conflicts
from apps.engagements.choices import ManagementType
from apps.engagements.coverage import Coverage, Released, Support, load_coverages, locked_plan_query
from apps.engagements.funding_periods import PeriodAmounts, use_days
from apps.engagements.models import ServiceBooking
from apps.funding.choices import ADMINISTER_PERMISSION, InvoiceClaimType
from apps.funding.drafts import BillContext, BillDraft, DraftBill, DraftLine, LineContext, LineDraft
from apps.funding.models import Claim, ClaimLine, ProviderInvoice
from apps.funding.models.claim_windows import current_windows, windows_of
from apps.funding.models.prices import PriceTable, prices_of_products
from apps.funding.services.duplicates import (
    LINES_OF_DAY,
    claims_with,
    find_duplicate_claims,
    find_duplicate_lines,
    sum_other_claims,
)
from apps.funding.statuses import ENDED
from apps.funding.validation.bills import CLAIMS, CREDIT_PERMISSION, INVOICES, BillType
from apps.people.models import Client, Contact, Role, Staff

# --- records --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Records:
    """The records that drafts name, by key.

    ``claim_of_invoice``: (key, number) of the claims that have taken provider invoices.
    ``taken_before``: the provider invoices that a claim had taken before their lock was waited for.
    ``permissions``: of the staff members who may still log in. ``own_bills``: the drafts' own bills and those
    that they resubmit, which are no duplicates. ``reference_issues``: references that cannot be loaded;
    ``conflicts``: values that must be unique and are not.
    """

    provider_invoices: Mapping[UUID, ProviderInvoice]
    claim_of_invoice: Mapping[UUID, tuple[UUID, str]]
    taken_before: set[UUID]
    today: dt.date
    permissions: Mapping[UUID, frozenset[str]]
    prices: PriceTable
    own_bills: set[UUID]
    reference_issues: list[tuple[int, Issue]]
    conflicts: list[tuple[int, Issue]]


def load_records(bill_type: BillType, drafts: Sequence[BillDraft]) -> Records:
    """Load the records that drafts name, and lock their provider invoices in the order of their keys.

    Those that existing claims were built on are locked as well: nobody else builds on them now.
    """
    updates = [draft for draft in drafts if draft.key is not None]
    invoices = keys_of(drafts, "provider_invoice") | keys_of(updates, "previous_provider_invoice_id")
    products = keys_of((line for draft in drafts for line in vars(draft).get("line_items") or ()), "product")
    own = {draft.key for draft in updates}
    references = References(get_service().by_model[bill_type.model].type, drafts, apart=ProviderInvoice)
    conflicts = Conflicts(bill_type.model, drafts)
    of_invoices = (locked_provider_invoices, claims_of_invoices)
    queries = [
        # PostgreSQL runs queries of a trip one after the other: those after the lock see what it waited for.
        *(query(invoices) if invoices else None for query in of_invoices),
        permissions_of(keys_of(drafts, "staff")),
        prices_of_products(products) if products else None,
        predecessors_query(bill_type.model, own) if own else None,
        *references.queries,
        *conflicts.queries,
    ]
    locked, current_claims, permissions, prices, predecessors, *rows = fetch_all(queries)
    now, today = clock.now(), clock.today()
    provider_invoices = {each.pk: each for each in map(build_provider_invoice, locked)}
    reference_issues = references.attach(rows[: len(references.queries)], provider_invoices)
    conflict_issues = conflicts.issues(rows[len(references.queries) :])
    return Records(
        provider_invoices=provider_invoices,
        claim_of_invoice={invoice: (key, number) for invoice, key, number in current_claims},
        taken_before={row[INVOICE_KEY] for row in locked if row[-1]},
        today=today,
        permissions={
            key: frozenset(name for name, has in zip(PERMISSIONS, granted, strict=True) if has)
            for key, disabled, *granted in permissions
            if disabled is None or disabled > now
        },
        prices=PriceTable(prices),
        own_bills=own | {bill_type.model._meta.pk.to_python(key) for (key,) in predecessors},
        reference_issues=reference_issues,
        conflicts=conflict_issues,
    )


CURRENT_CLAIMS = Claim.objects.filter(takes_provider_invoice=True).order_by()


@prepared_query
def claims_of_invoices(provider_invoices: Iterable[object]) -> QuerySet[models.Model, tuple[object, ...]]:
    claims = CURRENT_CLAIMS.filter(AnyOf("provider_invoice", provider_invoices))
    return claims.values_list("provider_invoice", "pk", "claim_number")


def columns_of(model: type[models.Model], *names: str) -> tuple[str, ...]:
    """The key and these columns, in the order of the model: ``from_db`` expects it."""
    return tuple(f.attname for f in model._meta.concrete_fields if f.primary_key or f.name in names)


#: What defaults, rules and warnings read of the contacts and providers of provider invoices.
CONTACT_COLUMNS = columns_of(Contact, "first_name", "last_name", "scheme_price_guide_region", "state")
PROVIDER_RULE_COLUMNS = ("business_name", "business_number")
PROVIDER_COLUMNS = columns_of(Client, *PROVIDER_RULE_COLUMNS)


INVOICE_COLUMNS = tuple(column.attname for column in ProviderInvoice._meta.concrete_fields)
INVOICE_KEY = INVOICE_COLUMNS.index("guid")
#: Where the contact's and the provider's columns begin in a row of a provider invoice.
CONTACT_START = len(INVOICE_COLUMNS)
PROVIDER_START = CONTACT_START + len(CONTACT_COLUMNS)


@prepared_query
def locked_provider_invoices(keys: Iterable[object]) -> QuerySet[models.Model, tuple[object, ...]]:
    """The columns of invoices, of their contacts and providers, and whether one was taken before its lock."""
    invoices = ProviderInvoice.objects.filter(AnyOf("pk", keys)).order_by("pk")
    return invoices.select_for_update(of=("self",)).values_list(
        *INVOICE_COLUMNS,
        *(f"contact__{name}" for name in CONTACT_COLUMNS),
        *(f"provider__{name}" for name in PROVIDER_COLUMNS),
        Exists(CURRENT_CLAIMS.filter(provider_invoice=OuterRef("pk"))),
    )


def build_provider_invoice(row: Sequence[object]) -> ProviderInvoice:
    invoice: ProviderInvoice = ProviderInvoice.from_db("default", INVOICE_COLUMNS, row[:CONTACT_START])
    if invoice.contact_id is not None:
        columns = row[CONTACT_START:PROVIDER_START]
        invoice.contact = Contact.from_db("default", CONTACT_COLUMNS, columns)
    if invoice.provider_id is not None:
        invoice.provider = Client.from_db("default", PROVIDER_COLUMNS, row[PROVIDER_START:-1])
    return invoice


#: The permissions that rules ask of the staff member of a bill.
PERMISSIONS = (ADMINISTER_PERMISSION, CREDIT_PERMISSION)


@prepared_query
def permissions_of(staff: Any) -> QuerySet[models.Model, tuple[object, ...]]:
    """(key, when the login is disabled, whether each of ``PERMISSIONS`` is granted)."""
    rows = Staff.objects.filter(AnyOf("guid", staff), archive_date=None).order_by()
    return rows.values_list("pk", "disable_login_date", *map(grants, PERMISSIONS))


def grants(permission: str) -> ExpressionWrapper:
    # The codename alone, which no other app has: joins with the app's content types take longer to plan than
    # the whole of the rest takes to run.
    codename = permission.partition(".")[2]
    granted = Role.permissions.through.objects.filter(
        role_id=OuterRef("role_id"), permission__codename=codename
    )
    return ExpressionWrapper(
        Q(role__all_permissions=True) | Q(Exists(granted)), output_field=models.BooleanField()
    )


def predecessors_query(model: type[models.Model], keys: Iterable[UUID]) -> SqlStatement:
    """The keys of the bills that these bills resubmit, and that those resubmit."""
    bills = model._default_manager.filter(AnyOf("guid", keys), resubmission_of__isnull=False)
    # Not public, and the only way to the text of a part of a statement; updates of resubmissions test it.
    sql, params = bills.order_by().values("resubmission_of").query.sql_with_params()
    return SqlStatement(
        f"WITH RECURSIVE earlier(guid) AS ({sql} UNION SELECT bill.resubmission_of_id"  # noqa: S608  our own names
        f" FROM {model._meta.db_table} bill JOIN earlier ON bill.guid = earlier.guid)"
        " SELECT guid FROM earlier WHERE guid IS NOT NULL",
        params,
    )


# --- contexts -------------------------------------------------------------------------------------------


def load_bill_contexts(
    bill_type: BillType, drafts: Sequence[BillDraft], records: Records
) -> list[BillContext]:
    """The context of each draft, which has its defaults, for rules and warnings.

    Sets the budgets that cover the lines. Each question is asked once, however many drafts depend on it.
    """
    bills = [build_bill(bill_type, number, draft, records) for number, draft in enumerate(drafts)]
    lines = [line.draft for bill in bills for line in bill.lines]
    supports = [build_support(bill_type, bill, line.draft) for bill in bills for line in bill.lines]
    contacts = {support.contact for support in supports}
    products, days = {line.product.pk for line in lines}, {line.first_day for line in lines}
    referring = [bill for bill in bills if bill.provider is not None and bill.reference is not None]
    references = {(bill.provider, bill.reference) for bill in referring}
    periods = {
        (bill.contact, bill.provider, bill.context.start_date, bill.context.end_date) for bill in referring
    }
    periods = {row for row in periods if None not in row}
    renamed = []
    for bill in referring:
        invoice = bill.provider_invoice
        is_anybodys = invoice is not None and invoice.provider_id is None and not invoice.is_reusable
        if invoice is None or is_anybodys or bill.reference != invoice.reference_key:
            renamed.append(bill)
    new_references = {(bill.provider, bill.reference) for bill in renamed}
    existing = {draft.key for draft in drafts} - {None}
    lines_of_day, released_amounts = LINES_OF_DAY[bill_type.name], RELEASED_AMOUNTS[bill_type.name]
    windows, plans, same_day_lines, invoices, claims, released = fetch_all(
        [
            current_windows() if lines else None,
            locked_plan_query(contacts) if lines else None,
            lines_of_day(contacts, products, days, records.own_bills) if lines else None,
            provider_invoices_with(new_references) if new_references else None,
            claims_with(references, periods) if references else None,
            released_amounts(existing) if existing else None,
        ]
    )
    windows_now = windows_of(tuple(map(tuple, windows)))
    for bill in bills:
        bill.context.windows = windows_now
    # What existing bills count on each budget is replaced by their updates.
    counted = released_by_budget(released) if existing else {}
    add_lines(bills, load_coverages(supports, plans, counted), records.prices)
    find_other_claims(bills, records)
    find_reference_owners(renamed, invoices, claims)
    find_duplicate_claims(referring, claims, records.own_bills)
    sum_other_claims(referring, claims)
    find_duplicate_lines(bill_type, bills, same_day_lines)
    return [bill.context for bill in bills]


#: The members that are calculated from all the others.
CALCULATED_MEMBERS = frozenset({"book_price", "last_day", "total"})


def build_bill(bill_type: BillType, number: int, draft: BillDraft, records: Records) -> DraftBill:
    members = vars(draft)
    contact, staff = members.get("contact"), members.get("staff")
    provider = provider_invoice = reference = None
    if bill_type is CLAIMS:
        provider, provider_invoice = members.get("provider"), members.get("provider_invoice")
        reference = normalised(members.get("provider_invoice_reference"))
    lines = members.get("line_items") or ()
    for line in lines:
        vars(line).update(booking=None, category_budget=None)
    valid_lines = [
        DraftLine(
            line, position, vars(line).get("claim_type") or "None", bool(vars(line).get("is_credit_item"))
        )
        for position, line in enumerate(lines)
        if contact is not None and line.invalid.isdisjoint(CALCULATED_MEMBERS)
    ]
    context = BillContext(
        today=records.today,
        permissions=staff and records.permissions.get(staff.pk),
        participant_state=contact and contact.state,
        start_date=members.get("start_date"),
        end_date=members.get("end_date"),
        lines=[None] * len(lines),
    )
    keys = contact and contact.pk, provider and provider.pk
    return DraftBill(number, draft, context, *keys, provider_invoice, reference, valid_lines)


# --- lines ----------------------------------------------------------------------------------------------

#: The management type of the bookings that a bill claims on, where several fit; claims have no such type.
MANAGEMENT = {
    None: ManagementType.PLAN.value,
    InvoiceClaimType.INVOICE_TO_AGENCY.value: ManagementType.AGENCY.value,
    InvoiceClaimType.INVOICE_TO_CLIENT.value: ManagementType.SELF.value,
}


def build_support(bill_type: BillType, bill: DraftBill, line: LineDraft) -> Support:
    assert bill.contact is not None
    claim_type = None if bill_type is CLAIMS else bill.draft.get("invoice_claim_type")
    return line.product.support(bill.contact, line.first_day, MANAGEMENT[claim_type])


def released_amounts_query(line_model: type[Any]) -> PreparedQuery:
    """(booking, category budget, first day, last day, total) of lines that still count on their budgets."""
    bill = "claim" if line_model is ClaimLine else "invoice"

    @prepared_query
    def rows(keys: Iterable[object]) -> QuerySet[models.Model, tuple[object, ...]]:
        lines = line_model.objects.filter(AnyOf(bill, keys), **{f"{bill}__archive_date": None})
        counted = lines.exclude(**{f"{bill}__funding_status__in": sorted(ENDED)})
        return counted.order_by().values_list("booking", "category_budget", "first_day", "last_day", "total")

    return rows


RELEASED_AMOUNTS = {each.name: released_amounts_query(each.line_model) for each in (CLAIMS, INVOICES)}


def released_by_budget(rows: Rows) -> Released:
    """The rows of ``released_amounts_query`` by the keys of their budgets."""
    found: defaultdict[UUID, list[tuple[dt.date, dt.date, Decimal]]] = defaultdict(list)
    for booking, category_budget, *line in rows:
        found[booking or category_budget].append(tuple(line))
    return found


def add_lines(bills: Sequence[DraftBill], coverages: Iterable[Coverage], prices: PriceTable) -> None:
    """Set what covers each line, and what remains of it after the lines before it."""
    used: defaultdict[UUID, Decimal] = defaultdict(lambda: ZERO)
    used_periods: dict[UUID, Sequence[PeriodAmounts]] = {}
    of_lines = iter(coverages)
    for bill in bills:
        for each in bill.lines:
            line, coverage, remaining = each.draft, next(of_lines), None
            budget = coverage.budget
            periods: Sequence[PeriodAmounts] = ()
            if budget is not None:
                vars(line)["booking" if budget.model is ServiceBooking else "category_budget"] = budget
                remaining = budget.remaining - used[budget.pk]
                used[budget.pk] += line.total
                if budget.periods:
                    periods = used_periods.get(budget.pk, budget.periods)
                    used_periods[budget.pk] = use_days(periods, line.first_day, line.last_day, line.total)
            last_price = line.book_price
            if line.last_day != line.first_day and last_price is not None:
                region = bill.draft.contact.scheme_price_guide_region
                last_price = prices.find(line.price_book.pk, line.product.pk, region, line.last_day)
            bill.context.lines[each.number] = LineContext(
                each.number, coverage, remaining, last_price, periods
            )


# --- provider invoices and references -------------------------------------------------------------------


def find_other_claims(bills: Sequence[DraftBill], records: Records) -> None:
    """Find the claims that have taken a provider invoice, those before it in the same body included."""
    first: dict[object, DraftBill] = {}
    for bill in bills:
        claim, context, invoice = bill.draft, bill.context, bill.provider_invoice
        if invoice is None or invoice.is_reusable:
            continue
        key, claim_number = records.claim_of_invoice.get(invoice.pk, (claim.key, None))
        if key != claim.key:
            context.taken_by, context.taken_by_record = f"claim {claim_number}", (Claim, key)
            context.lost_race = invoice.pk not in records.taken_before
        elif (earlier := first.setdefault(invoice.pk, bill)) is not bill:
            context.taken_by = label_of(earlier.draft, earlier.number)


@prepared_query
def provider_invoices_with(references: Any) -> QuerySet[models.Model, tuple[object, ...]]:
    """The provider invoices with these pairs of a provider and a normalised reference."""
    invoices = ProviderInvoice.objects.filter(AnyRowOf(("provider", "reference_key"), references))
    return invoices.order_by("pk").values_list("provider", "reference_key", "pk")


def find_reference_owners(claims: Sequence[DraftBill], invoice_rows: Rows, claim_rows: Rows) -> None:
    """A new reference must be that of no other provider invoice and of no current claim built on another."""
    owners: dict[tuple[object, object], list[tuple[UUID, str, tuple[type[models.Model], UUID]]]] = (
        defaultdict(list)
    )
    for provider, reference, key in invoice_rows:
        owners[provider, reference].append((key, f"provider invoice {key}", (ProviderInvoice, key)))
    for provider, reference, key, claim_number, claim, *_ in claim_rows:
        owners[provider, reference].append((key, f"claim {claim_number}", (Claim, claim)))
    first: dict[tuple[object, object], tuple[DraftBill, object]] = {}
    for claim in claims:
        invoice, named = claim.provider_invoice, (claim.provider, claim.reference)
        if invoice is None:
            continue
        others = [(label, record) for key, label, record in owners.get(named, ()) if key != invoice.pk]
        earlier, first_invoice = first.setdefault(named, (claim, invoice.pk))
        if others:
            claim.context.reference_owner, claim.context.reference_record = others[0]
        elif first_invoice != invoice.pk:
            claim.context.reference_owner = label_of(earlier.draft, earlier.number)
