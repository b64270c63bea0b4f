"""The records that claims and invoices refer to, loaded and locked in one trip of batched queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Exists, OuterRef, QuerySet

from apps.core.unique import Conflicts
from apps.funding.duplicates import predecessors_query
from apps.funding.models import Claim, ProviderInvoice
from apps.funding.pricing import PriceTable, prices_of_products
from apps.funding.services.bill_types import BillType
from apps.funding.validation.bills import ADMINISTER_PERMISSION, CREDIT_PERMISSION
from apps.odata import clock
from apps.odata.any_of import AnyOf
from apps.odata.batched_queries import PreparedQuery, Rows, fetch_groups, prepared_query
from apps.odata.declaration.service import get_service
from apps.odata.write.drafts import Draft, Issue
from apps.odata.write.references import References
from apps.people.models import Client, Contact, Role, Staff

Issues = list[tuple[int, Issue]]


def key_of(draft: Draft, name: str) -> Any:
    """The key of the record that a draft refers to; ``None`` where it names none or an invalid one."""
    value = draft.get(name)
    return value.pk if isinstance(value, models.Model) else value


def keys_of(drafts: Iterable[Draft], name: str) -> set[Any]:
    """The keys of the records that drafts refer to; bodies hold keys until the references are attached."""
    values = [draft.get(name) for draft in drafts]
    return {value.pk if isinstance(value, models.Model) else value for value in values} - {None}


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
    invoices = keys_of(drafts, "provider_invoice") | keys_of(drafts, "previous_provider_invoice_id")
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
