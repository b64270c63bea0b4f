"""The events that accounts exports book: what the agency paid and took back, what was paid to payees.

Read only. An event is booked once: those that an export has are not loaded again.
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.money import ZERO, to_cents
from apps.core.bulk_insert import in_batches
from apps.funding.choices import InvoiceClaimType, SendPaymentTo, TaxChoice
from apps.funding.models import ClaimLine, InvoiceLine, Product, StatusMove
from apps.funding.models.moves import MOVED_MONEY
from apps.payments.choices import EntryKind, RunStatus
from apps.payments.models import AccountsEntry, PaymentRunItem

DAY = dt.timedelta(days=1)
#: GST is so much of an amount that has it in it.
GST_PART = 11
#: The organisation's own supplies that the agency pays.
OWN_FEE = Q(claim__send_payment_to=SendPaymentTo.PLAN_MANAGER) | Q(
    invoice__invoice_claim_type=InvoiceClaimType.INVOICE_TO_AGENCY
)


@dataclass(frozen=True, slots=True)
class SupplyLine:
    """The amount paid of a line of the organisation's own supplies; below zero, taken back."""

    cost_centre: UUID | None
    category: int | None
    tax_choice: str | None
    amount: Decimal

    @property
    def gst(self) -> Decimal:
        has_gst = self.tax_choice == TaxChoice.GST_ON_INCOME
        return to_cents(self.amount / GST_PART) if has_gst else ZERO


@dataclass(frozen=True, slots=True)
class AccountsSource:
    """An event that was not exported yet, with its key; ``supplies`` of those that pay the own fee."""

    kind: EntryKind
    day: dt.date
    amount: Decimal
    move: int | None = None
    item: int | None = None
    run_number: int | None = None
    supplies: Sequence[SupplyLine] = ()

    @property
    def gst(self) -> Decimal:
        """As ``amount`` above zero in either direction, unless a credit has more GST than the rest."""
        gst = sum((line.gst for line in self.supplies), ZERO)
        return -gst if self.kind == EntryKind.FEE_TAKEN_BACK else gst


def load_sources(first: dt.date, until: dt.date) -> list[AccountsSource]:
    """Events from a day until another that no export has, by day; the statements grow with the data."""
    found = [*load_moves(first, until), *load_items(first, until)]
    return sorted(found, key=lambda each: (each.day, each.kind, each.move or 0, each.item or 0))


def moves_between(first: dt.date, until: dt.date) -> QuerySet[StatusMove]:
    """The changes of what is paid of bills that were recorded on these days."""
    days = Q(at__gte=clock.start_of_day(first), at__lt=clock.start_of_day(until + DAY))
    return StatusMove.objects.filter(MOVED_MONEY, days).order_by("pk")


def load_moves(first: dt.date, until: dt.date) -> list[AccountsSource]:
    """Amounts that the agency paid and took back."""
    of_agency = Q(claim__isnull=False) | OWN_FEE
    moves = moves_between(first, until).filter(of_agency, accounts_entry=None)
    columns = ("pk", "at", "paid_lines", "invoice_id", "claim__send_payment_to")
    rows = list(moves.values_list(*columns))
    own = [row[2] for row in rows if is_own_fee(*row[3:])]
    lines = load_supply_lines(own)
    return [source for row in rows if (source := source_of(row, lines)) is not None]


def is_own_fee(invoice: UUID | None, send_payment_to: str | None) -> bool:
    return invoice is not None or send_payment_to == SendPaymentTo.PLAN_MANAGER


def source_of(row: Sequence[Any], lines: dict[str, SupplyLine]) -> AccountsSource | None:
    """The event of a change of what is paid; nothing where its lines come to nothing."""
    key, at, paid_lines, *of_bill = row
    amount = sum(map(Decimal, paid_lines.values()), ZERO)
    if not amount:
        return None
    is_fee, is_paid = is_own_fee(*of_bill), amount > 0
    kinds = (
        (EntryKind.FEE_TAKEN_BACK, EntryKind.FEE) if is_fee else (EntryKind.TAKEN_BACK, EntryKind.RECEIVED)
    )
    supplies = paid_supplies(paid_lines, lines) if is_fee else ()
    return AccountsSource(
        kinds[is_paid], timezone.localtime(at).date(), abs(amount), move=key, supplies=supplies
    )


def paid_supplies(paid_lines: dict[str, str], lines: dict[str, SupplyLine]) -> tuple[SupplyLine, ...]:
    """The lines of a change of what is paid, with its amounts in place of their own."""
    unknown = SupplyLine(None, None, None, ZERO)
    found = ((lines.get(key, unknown), Decimal(amount)) for key, amount in paid_lines.items())
    return tuple(
        SupplyLine(line.cost_centre, line.category, line.tax_choice, amount)
        for line, amount in found
        if amount
    )


def load_supply_lines(paid_lines: Iterable[dict[str, str]]) -> dict[str, SupplyLine]:
    """The values that decide about the accounts of these lines, by their keys."""
    keys = list({UUID(key) for lines in paid_lines for key in lines})
    found: dict[str, SupplyLine] = {}
    product = ("tax_choice", "product__category_number", "product__code")
    for batch in in_batches(keys):
        of_claims = ClaimLine.objects.filter(AnyOf("pk", batch)).values_list("pk", *product)
        of_invoices = InvoiceLine.objects.filter(AnyOf("pk", batch)).values_list(
            "pk", *product, "cost_centre"
        )
        for key, tax_choice, number, code, *centre in (*of_claims.order_by(), *of_invoices.order_by()):
            category = Product(category_number=number, code=code).category
            found[str(key)] = SupplyLine(centre[0] if centre else None, category, tax_choice, ZERO)
    return found


def load_items(first: dt.date, until: dt.date) -> list[AccountsSource]:
    """Payments of released runs to payees, and those that came back."""
    released = PaymentRunItem.objects.filter(run__status=RunStatus.RELEASED).order_by("pk")
    paid = without_entry(released, EntryKind.PAID).filter(run__day__gte=first, run__day__lte=until)
    back = without_entry(released, EntryKind.RETURNED).filter(
        returned_at__gte=clock.start_of_day(first), returned_at__lt=clock.start_of_day(until + DAY)
    )
    columns = ("pk", "amount", "run__number")
    return [
        AccountsSource(EntryKind.PAID, day, amount, item=key, run_number=number)
        for key, amount, number, day in paid.values_list(*columns, "run__day")
    ] + [
        AccountsSource(EntryKind.RETURNED, timezone.localtime(at).date(), amount, item=key, run_number=number)
        for key, amount, number, at in back.values_list(*columns, "returned_at")
    ]


def without_entry(items: QuerySet[PaymentRunItem], kind: EntryKind) -> QuerySet[PaymentRunItem]:
    return items.filter(~Exists(AccountsEntry.objects.filter(item=OuterRef("pk"), kind=kind)))
