"""Drafts of claims and invoices with what services work out, and the context that rules read beside them."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from django.db import models

from apps.base.drafts import Draft, Extra
from apps.base.money import ZERO
from apps.documents.drafts import DocumentDraft
from apps.documents.models import Document
from apps.engagements.coverage import Coverage, CoveringBudget
from apps.engagements.funding_periods import PeriodAmounts
from apps.funding.models import (
    Claim,
    ClaimWindows,
    Invoice,
    LineItem,
    Price,
    PriceBook,
    Product,
    ProviderInvoice,
)
from apps.funding.models.prices import EffectivePrice
from apps.people.models import Client, Contact, Staff

# --- drafts ---------------------------------------------------------------------------------------------


class LineDraft(Draft):
    """A line of a claim or an invoice.

    ``apply_defaults`` sets the days, the price book's price (``None`` where it has none) and the total, or
    marks them invalid where they depend on an invalid member. ``load_bill_contexts`` sets the budget that
    covers the line. Updates set the line as it is.
    """

    product: Product
    price_book: PriceBook
    quantity: Decimal
    price: Decimal
    claim_type: str | None
    cancellation_reason: str | None
    tax_choice: str | None
    notes: str | None
    first_day: Extra[dt.date]
    last_day: Extra[dt.date]
    book_price: Extra[EffectivePrice | None]
    total: Extra[Decimal]
    booking: Extra[CoveringBudget | None]
    category_budget: Extra[CoveringBudget | None]
    amount_paid: Extra[Decimal]
    existing: Extra[LineItem | None] = None


class BillDraft(Draft):
    """The common part of drafts of claims and of invoices, as rules find them once nothing is missing.

    ``apply_defaults`` sets the total. Updates set the bill as it is.
    """

    contact: Contact
    staff: Staff
    start_date: dt.date
    end_date: dt.date
    line_items: list[LineDraft]
    total: Extra[Decimal]
    existing: Extra[Claim | Invoice | None] = None


class InvoiceDraft(BillDraft):
    invoice_number: str
    invoice_claim_type: str
    is_recurring: bool
    recurring_start_date: dt.date | None
    recurring_end_date: dt.date | None


@dataclass(frozen=True, slots=True)
class InvoiceEntry:
    """The entries of a claim's form about its provider invoice: its total, and its document.

    The document is created with it, or was uploaded before.
    """

    total: Decimal | None
    document: DocumentDraft | Document | None


class ClaimDraft(BillDraft):
    """A claim. ``apply_defaults`` sets the reason code, and whether the claim takes its provider invoice.

    Updates set its ``previous_provider_invoice_id``. With an ``invoice_entry`` the
    provider invoice is created or completed together with the claim.
    """

    provider: Client
    provider_invoice: ProviderInvoice
    provider_invoice_reference: str
    missing_abn_reason_code: Extra[str | None]
    takes_provider_invoice: Extra[bool]
    previous_provider_invoice_id: Extra[UUID | None] = None
    invoice_entry: Extra[InvoiceEntry | None] = None


class ProviderInvoiceDraft(Draft):
    """A provider invoice. Updates set the record as it is, the numbers of the current claims on it, and what
    was paid of those.
    """

    reference: str | None
    contact: Contact | None
    provider: Client | None
    document: Document | None
    service_start_date: dt.date | None
    service_end_date: dt.date | None
    invoice_total: Decimal | None
    is_reusable: bool
    existing: Extra[ProviderInvoice | None] = None
    claim_numbers: Extra[Sequence[str]] = ()
    paid: Extra[Decimal] = ZERO


class ApprovalDraft(Draft):
    """An action on provider invoices, the reason given for it, and who decides."""

    verb: str
    reason: str | None
    staff: Staff


class PriceDraft(Draft):
    """A price of a product from one day to another, in one zone."""

    zone: str
    start_date: dt.date
    end_date: dt.date | None
    amount: Decimal | None


class PriceListDraft(Draft):
    """A product in a price book, with all its prices; services load those that are ``stored``."""

    gst_inclusive: bool
    prices: list[PriceDraft]
    stored: Extra[Sequence[Price]] = ()


class ProductDraft(Draft):
    code: str


class WindowDraft(Draft):
    """A claim window; services set whether another is for the same days."""

    claimed_from: dt.date | None
    supports_from: dt.date | None
    has_same_days: Extra[bool] = False


# --- context --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class LineContext:
    """The values that rules read beside a line.

    ``remaining``: of the budget that covers the line, after the lines before it; ``periods``: the funding
    periods of the component, likewise. ``last_price``: the price book's on the last day. ``duplicate``: the
    line that claims the same support, in words; as another quantity with the same total when ``same_total``.
    """

    number: int
    coverage: Coverage
    remaining: Decimal | None
    last_price: EffectivePrice | None
    periods: Sequence[PeriodAmounts] = ()
    duplicate: str | None = None
    same_total: bool = False


NO_WINDOWS = ClaimWindows()


@dataclass(slots=True)
class BillContext:
    """The values that rules read beside a bill. ``lines`` has ``None`` for lines with invalid members.

    ``permissions`` of the staff member: ``None`` when the login is closed. ``participant_state``: where the
    participant lives, as people wrote it. The dates are ``None`` where they are invalid. ``windows``: those
    within which supports can be claimed.
    ``taken_by``: what has taken the provider invoice; ``lost_race`` when it was free until its lock was
    waited for. ``reference_owner``: what already has the reference. ``taken_by_record`` and
    ``reference_record``: model and key of these, unless of the same body. ``duplicate``: the claim with
    the same reference; or with the same total for the same days when ``same_total``. ``other_claims_total``:
    what the provider invoice's other claims add to what it asks for; ``None`` where there are none.
    """

    today: dt.date
    permissions: frozenset[str] | None
    participant_state: str | None
    start_date: dt.date | None
    end_date: dt.date | None
    lines: list[LineContext | None]
    windows: ClaimWindows = NO_WINDOWS
    taken_by: str | None = None
    taken_by_record: tuple[type[models.Model], UUID] | None = None
    lost_race: bool = False
    reference_owner: str | None = None
    reference_record: tuple[type[models.Model], UUID] | None = None
    duplicate: str | None = None
    same_total: bool = False
    other_claims_total: Decimal | None = None


@dataclass(slots=True)
class DraftLine:
    """A line without invalid members, and its number in its bill."""

    draft: LineDraft
    number: int
    claim_type: str
    is_credit: bool


@dataclass(slots=True)
class DraftBill:
    """A draft with its context, and the keys of what it names; ``None`` for what is missing or invalid.

    ``number``: its place in the body. ``reference`` is normalised; invoices have neither provider nor
    reference. ``lines``: those without invalid members.
    """

    number: int
    draft: BillDraft
    context: BillContext
    contact: UUID | None
    provider: UUID | None
    provider_invoice: ProviderInvoice | None
    reference: str | None
    lines: list[DraftLine]
