"""Claims as integrations send and read them: what is asked of both sides, and what is taken away again."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import connection
from stdnum.au import abn

from apps.base import clock
from apps.core.bulk_insert import bulk_insert
from apps.core.models import new_guid
from apps.engagements.models import ServiceBooking
from apps.funding.models import Price, ProviderInvoice
from apps.people.models import Client, Staff
from bench.answers import check_same
from bench.calling import Caller
from bench.measuring import Contender

MARK = "BENCH-"
#: A support may be claimed twice where there are fewer bookings than claims; nothing else warns.
QUERY = "ignoreWarnings=true"
LINES = 3
#: Given anew with every record that is stored; and the keys of parts, which one side calls guid as well.
NEW = frozenset(
    {
        "ClaimGuid",
        "guid",
        "LineItemGuid",
        "PriceBookGuid",
        "ProductGuid",
        "CreationDate",
        "creation_date",
        "ModifyDate",
        "modify_date",
    }
)
MISSING_ABN = frozenset({"MissingAbnReasonCode", "missing_abn_reason_code"})


@dataclass(frozen=True)
class Support:
    """What a participant's booking pays for, so that a claim of it warns of nothing."""

    contact: UUID
    price_book: UUID
    product: UUID
    price: Decimal
    day: dt.date


@dataclass(frozen=True)
class Ground:
    """Records that stand, which new claims refer to; a support and a provider invoice for each claim."""

    supports: Sequence[Support]
    providers: Sequence[UUID]
    staff: UUID
    provider_invoices: Sequence[UUID]


def ground(number: int) -> Ground:
    """What ``number`` claims need; their provider invoices are made."""
    allowed = Staff.objects.filter(role__all_permissions=True, archive_date=None, disable_login_date=None)
    providers = [
        key
        for key, business_number in Client.objects.order_by("guid").values_list("pk", "business_number")
        if abn.is_valid(business_number or "")
    ]
    found = list(islice(supports(), number))
    chosen = [found[at % len(found)] for at in range(number)]
    provider_invoices = [new_guid() for _ in range(number)]
    remove_claims()
    ProviderInvoice.objects.filter(reference__startswith=MARK).delete()
    bulk_insert(
        ProviderInvoice,
        ("guid", "reference", "contact_id", "provider_id"),
        (
            (key, f"{MARK}{at:05}", chosen[at].contact, providers[at % len(providers)])
            for at, key in enumerate(provider_invoices)
        ),
    )
    return Ground(chosen, providers, allowed.values_list("pk", flat=True)[0], provider_invoices)


def supports() -> Iterator[Support]:
    """Supports that plan-managed bookings with money left pay for in these weeks."""
    today = clock.today()
    sold: dict[int | None, tuple[UUID, UUID, Decimal]] = {}
    prices = Price.objects.filter(
        zone="National",
        end_date=None,
        amount__gt=0,
        entry__product__is_quote_required=False,
        entry__product__type="Priced",
    ).exclude(entry__product__name__iregex="weekday|saturday|sunday|holiday")
    for category, *facts in prices.order_by("guid").values_list(
        "entry__product__category_number", "entry__price_book_id", "entry__product_id", "amount"
    ):
        sold.setdefault(category, (facts[0], facts[1], facts[2]))
    bookings = ServiceBooking.objects.filter(
        support_item=None,
        management_type="Plan",
        category__number__in=sold,
        booking_start_date__lt=today - dt.timedelta(days=21),
        booking_end_date__gt=today,
        engagement__no_active_plan_from_date=None,
        engagement__archive_date=None,
    ).exclude(engagement__participant__scheme_price_guide_region__in=("Remote", "Very Remote"))
    for booking in bookings.order_by("guid").select_related("engagement", "category"):
        assert booking.category is not None
        if booking.remaining > 5_000:
            yield Support(
                booking.engagement.participant_id,
                *sold[booking.category.number],
                today - dt.timedelta(days=20),
            )


def entries(on: Ground) -> list[dict[str, Any]]:
    """Claims as the interface takes them."""
    return [
        {
            "ClaimNumber": f"{MARK}{at:05}",
            "StartDate": f"{support.day}",
            "EndDate": f"{support.day + dt.timedelta(days=6)}",
            "DueDate": f"{support.day + dt.timedelta(days=30)}",
            "SendPaymentTo": "Provider",
            "StaffGuid": str(on.staff),
            "ProviderInvoiceGuid": str(on.provider_invoices[at]),
            "LineItems": [line_entry(support, place) for place in range(LINES)],
        }
        for at, support in enumerate(on.supports)
    ]


def line_entry(support: Support, place: int) -> dict[str, Any]:
    day = support.day + dt.timedelta(days=place)
    return {
        "FromDate": f"{day}",
        "ToDate": f"{day}",
        "Quantity": "0.2500",
        "Price": f"{support.price:.4f}",
        "Notes": f"Support on day {place}",
        "TaxChoice": "GstFreeIncome",
        "ClaimType": "DirectService",
        "PriceBook": {"PriceBookGuid": str(support.price_book)},
        "Product": {"ProductGuid": str(support.product)},
    }


def as_columns(on: Ground, entry: dict[str, Any], at: int) -> dict[str, Any]:
    """An entry for the stock side, with what the product works out."""
    lines = [stock_line(line) for line in entry["LineItems"]]
    return {
        "claim_number": entry["ClaimNumber"],
        "start_date": entry["StartDate"],
        "end_date": entry["EndDate"],
        "due_date": entry["DueDate"],
        "send_payment_to": "Provider",
        "provider_invoice_reference": entry["ClaimNumber"],
        "provider_invoice": entry["ProviderInvoiceGuid"],
        "staff": entry["StaffGuid"],
        "contact": str(on.supports[at].contact),
        "provider": str(on.providers[at % len(on.providers)]),
        "total": str(sum(Decimal(line["total"]) for line in lines)),
        "line_items": lines,
    }


def stock_line(line: dict[str, Any]) -> dict[str, Any]:
    total = (Decimal(line["Quantity"]) * Decimal(line["Price"])).quantize(Decimal("0.01"), "ROUND_HALF_UP")
    return {
        "from_date": line["FromDate"],
        "to_date": line["ToDate"],
        "first_day": line["FromDate"],
        "last_day": line["ToDate"],
        "quantity": line["Quantity"],
        "price": line["Price"],
        "total": str(total),
        "notes": line["Notes"],
        "tax_choice": line["TaxChoice"],
        "claim_type": line["ClaimType"],
        "price_book": line["PriceBook"]["PriceBookGuid"],
        "product": line["Product"]["ProductGuid"],
    }


def poster(caller: Caller, number: int) -> Callable[[], bytes]:
    """A POST of so many new claims by the interface."""
    body = json.dumps({"value": entries(ground(number))}).encode()
    return lambda: caller(caller.request("/api/claim", QUERY, body))


def new_claims(number: int, stock: Callable[[Callable[[], object]], Contender]) -> Any:
    """POST of so many claims with their lines, answered whole; what was stored is taken away after each.

    The product works out its warnings, and finds next to none; the stock side has no such thing.
    """

    def contenders(caller: Caller) -> tuple[Contender, Contender]:
        on = ground(number)
        wanted = entries(on)
        ours = json.dumps({"value": wanted}).encode()
        theirs = json.dumps([as_columns(on, entry, at) for at, entry in enumerate(wanted)]).encode()

        def post_ours() -> bytes:
            return caller(caller.request("/api/claim", QUERY, ours))

        def post_stock() -> bytes:
            return caller(caller.request("/stock/new-claim/", "", theirs))

        answers = []
        for post in (post_ours, post_stock):
            remove_claims()
            answers.append(json.loads(post()))
        check_same(*answers, expected=number, ignored=NEW | MISSING_ABN)
        around: dict[str, Callable[[], object]] = {"prepare": remove_claims, "clean": remove_claims}
        return Contender("ours", post_ours, **around), stock(post_stock, **around)  # type: ignore[call-arg]

    return contenders


def remove_claims() -> None:
    """Whatever a measured POST stored, and what plans and provider invoices say of it."""
    chosen = "(SELECT guid FROM funding_claim WHERE claim_number LIKE %s)"
    with connection.cursor() as cursor:
        for statement in (
            "UPDATE engagements_servicebooking b SET waiting = b.waiting - l.total FROM (SELECT booking_id,"
            f" sum(total) AS total FROM funding_claimline WHERE claim_id IN {chosen} GROUP BY 1) l"
            " WHERE l.booking_id = b.guid",
            "UPDATE engagements_categorybudget b SET waiting = b.waiting - l.total FROM"
            " (SELECT category_budget_id, sum(total) AS total FROM funding_claimline"
            f" WHERE claim_id IN {chosen} GROUP BY 1) l WHERE l.category_budget_id = b.guid",
            "DELETE FROM core_change WHERE record_key IN"
            " (SELECT guid::text FROM funding_claim WHERE claim_number LIKE %s)",
            f"DELETE FROM funding_acknowledgedwarning WHERE claim_id IN {chosen}",
            f"DELETE FROM funding_claimline WHERE claim_id IN {chosen}",
            "DELETE FROM funding_claim WHERE claim_number LIKE %s",
            "UPDATE funding_providerinvoice SET is_claimed = FALSE WHERE is_claimed AND reference LIKE %s",
        ):
            cursor.execute(statement, [f"{MARK}%"])
