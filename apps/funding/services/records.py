"""The records that claims and invoices name, loaded and locked in one trip of batched queries."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Exists, ExpressionWrapper, OuterRef, Q, QuerySet

from apps.core.saving import Conflicts
from apps.funding.choices import ADMINISTER_PERMISSION
from apps.funding.models import Claim, ClaimLine, Invoice, InvoiceLine, ProviderInvoice
from apps.funding.models.prices import PriceTable, prices_of_products
from apps.funding.validation.bills import (
    CLAIM_REQUIREMENTS,
    CLAIM_RULES,
    CREDIT_PERMISSION,
    INVOICE_REQUIREMENTS,
    INVOICE_RULES,
)
from apps.funding.validation.warnings import CLAIM_WARNINGS, INVOICE_WARNINGS
from apps.odata import clock
from apps.odata.batched_queries import AnyOf, Statement, fetch_all, prepared_query
from apps.odata.declaration.service import get_service
from apps.odata.write.drafts import Draft, Issue, Rule, keys_of
from apps.odata.write.references import References
from apps.people.models import Client, Contact, Role, Staff


@dataclass(frozen=True, slots=True)
class BillType:
    """What claims and invoices differ in. ``name``: by which lines and warnings refer to their bill."""

    name: str
    model: type[Any]
    line_model: type[Any]
    requirements: Sequence[Rule]
    rules: Sequence[Rule]
    warnings: Sequence[Rule]


CLAIMS = BillType("claim", Claim, ClaimLine, CLAIM_REQUIREMENTS, CLAIM_RULES, CLAIM_WARNINGS)
INVOICES = BillType("invoice", Invoice, InvoiceLine, INVOICE_REQUIREMENTS, INVOICE_RULES, INVOICE_WARNINGS)


# --- records --------------------------------------------------------------------------------------------


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
    reference_issues: list[tuple[int, Issue]]
    conflicts: list[tuple[int, Issue]]


def load_records(bill_type: BillType, drafts: Sequence[Draft]) -> Records:
    """Load the records that drafts name, and lock their provider invoices in the order of their keys.

    Those that existing claims were built on are locked as well: nobody else builds on them now.
    """
    updates = [draft for draft in drafts if draft.key is not None]
    invoices = keys_of(drafts, "provider_invoice") | keys_of(updates, "previous_provider_invoice_id")
    products = keys_of((line for draft in drafts for line in draft.get("line_items") or ()), "product")
    own = {draft.key for draft in updates}
    references = References(get_service().by_model[bill_type.model].type, drafts)
    conflicts = Conflicts(bill_type.model, drafts)
    of_invoices = (locked_provider_invoices, takers_of)
    queries = [
        # PostgreSQL runs queries of a trip one after the other: those after the lock see what it waited for.
        *(query(invoices) if invoices else None for query in of_invoices),
        permissions_of(keys_of(drafts, "staff")),
        prices_of_products(products) if products else None,
        predecessors_query(bill_type.model, own) if own else None,
        *references.queries,
        *conflicts.queries,
    ]
    locked, takers, permissions, prices, predecessors, *rows = fetch_all(queries)
    now = clock.now()
    reference_issues = references.attach(rows[: len(references.queries)])
    conflict_issues = conflicts.issues(rows[len(references.queries) :])
    return Records(
        provider_invoices={each.pk: each for each in map(build_provider_invoice, locked)},
        takers={invoice: (key, number) for invoice, key, number in takers},
        taken_before={row[INVOICE_KEY] for row in locked if row[-1]},
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


TAKERS = Claim.objects.filter(takes_provider_invoice=True).order_by()


@prepared_query
def takers_of(provider_invoices: Any) -> QuerySet[Any, Any]:
    takers = TAKERS.filter(AnyOf("provider_invoice", provider_invoices))
    return takers.values_list("provider_invoice", "pk", "claim_number")


def columns_of(model: type[models.Model], *names: str) -> tuple[str, ...]:
    """The key and these columns, in the order of the model: ``from_db`` expects it."""
    return tuple(f.attname for f in model._meta.concrete_fields if f.primary_key or f.name in names)


#: What defaults, rules and warnings read of the contacts and providers of provider invoices.
CONTACT_COLUMNS = columns_of(Contact, "first_name", "last_name", "scheme_price_guide_region", "state")
PROVIDER_COLUMNS = columns_of(Client, "business_name", "business_number")


INVOICE_COLUMNS = tuple(column.attname for column in ProviderInvoice._meta.concrete_fields)
INVOICE_KEY = INVOICE_COLUMNS.index("guid")
#: Where the contact's and the provider's columns begin in a row of a provider invoice.
CONTACT_START = len(INVOICE_COLUMNS)
PROVIDER_START = CONTACT_START + len(CONTACT_COLUMNS)


@prepared_query
def locked_provider_invoices(keys: Any) -> QuerySet[Any, Any]:
    """The columns of invoices, of their contacts and providers, and whether one was taken before its lock."""
    invoices = ProviderInvoice.objects.filter(AnyOf("pk", keys)).order_by("pk")
    return invoices.select_for_update(of=("self",)).values_list(
        *INVOICE_COLUMNS,
        *(f"contact__{name}" for name in CONTACT_COLUMNS),
        *(f"provider__{name}" for name in PROVIDER_COLUMNS),
        Exists(TAKERS.filter(provider_invoice=OuterRef("pk"))),
    )


def build_provider_invoice(row: Sequence[Any]) -> ProviderInvoice:
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
def permissions_of(staff: Any) -> QuerySet[Any, Any]:
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


def predecessors_query(model: type[models.Model], keys: Iterable[UUID]) -> Statement:
    """The keys of the bills that these bills resubmit, and that those resubmit."""
    bills = model._default_manager.filter(AnyOf("guid", keys), resubmission_of__isnull=False)
    # Not public, and the only way to the text of a part of a statement; updates of resubmissions test it.
    sql, params = bills.order_by().values("resubmission_of").query.sql_with_params()
    return Statement(
        f"WITH RECURSIVE earlier(guid) AS ({sql} UNION SELECT bill.resubmission_of_id"  # noqa: S608  our own names
        f" FROM {model._meta.db_table} bill JOIN earlier ON bill.guid = earlier.guid)"
        " SELECT guid FROM earlier WHERE guid IS NOT NULL",
        params,
    )
