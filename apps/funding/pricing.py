"""Which price holds for a product of a price book, in a zone, on a day."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from apps.funding.models import Price, PriceBookEntry
from apps.odata.any_of import AnyOf
from apps.odata.batched_queries import Conversation, alone, prepared_query


@dataclass(frozen=True, slots=True)
class PriceRequest:
    """What a line asks: the price of a product in a price book, where, and on which day."""

    price_book_id: UUID
    product_id: UUID
    zone: str
    day: dt.date


@dataclass(frozen=True, slots=True)
class EffectivePrice:
    """The price that holds then. ``amount`` is null when the product is current and must be quoted."""

    amount: Decimal | None
    start_date: dt.date
    end_date: dt.date | None
    gst_inclusive: bool
    zone: str

    def holds_on(self, day: dt.date) -> bool:
        return self.start_date <= day and (self.end_date is None or day <= self.end_date)


def find_prices(requests: Sequence[PriceRequest]) -> list[EffectivePrice | None]:
    """The price for each request, in their order; ``None`` where no range covers the day.

    One query, however many requests there are.
    """
    return alone(finding_prices(requests))


def finding_prices(requests: Sequence[PriceRequest]) -> Conversation[list[EffectivePrice | None]]:
    """The same as a conversation of one question."""
    if not requests:
        return []
    rows = yield prices_of({each.product_id for each in requests}, {each.zone for each in requests})
    ranges: defaultdict[tuple[UUID, UUID, str], list[EffectivePrice]] = defaultdict(list)
    for book, product, zone, amount, start, end, gst_inclusive in rows:
        ranges[book, product, zone].append(EffectivePrice(amount, start, end, gst_inclusive, zone))
    return [
        next(
            (
                found
                for found in ranges.get((each.price_book_id, each.product_id, each.zone), ())
                if found.holds_on(each.day)
            ),
            None,
        )
        for each in requests
    ]


@prepared_query
def prices_of(products: Any, zones: Any) -> QuerySet[Any, Any]:
    """All prices of products in zones."""
    product, zone = PriceBookEntry._meta.get_field("product"), Price._meta.get_field("zone")
    entries = PriceBookEntry.objects.filter(AnyOf(product, products))
    held = Price.objects.filter(AnyOf(zone, zones), entry__in=entries)
    return held.order_by().values_list(
        "entry__price_book_id",
        "entry__product_id",
        "zone",
        "amount",
        "start_date",
        "end_date",
        "entry__gst_inclusive",
    )
