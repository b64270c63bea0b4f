"""Which price holds for a product of a price book, in a zone, on a day."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Q

from apps.funding.models import Price, PriceBookEntry
from apps.odata.among import Among


@dataclass(frozen=True, slots=True)
class PriceRequest:
    """What a line asks: the price of a product in a price book, where, and on which day."""

    price_book_id: UUID
    product_id: UUID
    zone: str
    day: dt.date


@dataclass(frozen=True, slots=True)
class PriceFound:
    """The price that holds then. ``amount`` is null when the product is current and must be quoted."""

    amount: Decimal | None
    start_date: dt.date
    end_date: dt.date | None
    gst_inclusive: bool
    zone: str

    def holds_on(self, day: dt.date) -> bool:
        return self.start_date <= day and (self.end_date is None or day <= self.end_date)


def prices_on(requests: Sequence[PriceRequest]) -> list[PriceFound | None]:
    """The price for each request, in their order; ``None`` where no range covers the day.

    One query, however many requests there are.
    """
    if not requests:
        return []
    ranges: defaultdict[tuple[UUID, UUID, str], list[PriceFound]] = defaultdict(list)
    for book, product, zone, amount, start, end, gst_inclusive in _candidates(requests):
        ranges[book, product, zone].append(PriceFound(amount, start, end, gst_inclusive, zone))
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


def _candidates(requests: Sequence[PriceRequest]) -> Iterable[tuple[Any, ...]]:
    """The prices of all products asked for that hold on any day between the first and the last."""
    days = [each.day for each in requests]
    product = PriceBookEntry._meta.get_field("product")
    entries = PriceBookEntry.objects.filter(Among(product, {each.product_id for each in requests}))
    held = Price.objects.filter(
        Q(end_date=None) | Q(end_date__gte=min(days)),
        entry__in=entries,
        start_date__lte=max(days),
        zone__in={each.zone for each in requests},
    )
    return held.order_by().values_list(
        "entry__price_book_id",
        "entry__product_id",
        "zone",
        "amount",
        "start_date",
        "end_date",
        "entry__gst_inclusive",
    )
