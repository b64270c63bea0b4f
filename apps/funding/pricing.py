"""Which price of a price book holds for a product, in a zone, on a day."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from apps.funding.choices import Zone
from apps.funding.models import Price, PriceBookEntry
from apps.odata.batched_queries import AnyOf, prepared_query

#: Regions of the scheme with prices of their own; they are named as their zones are.
REMOTE_ZONES = frozenset({Zone.REMOTE.value, Zone.VERY_REMOTE.value})


@dataclass(frozen=True, slots=True)
class EffectivePrice:
    """A price and the days it holds. ``amount`` is null when the product is current and must be quoted."""

    amount: Decimal | None
    start_date: dt.date
    end_date: dt.date | None
    gst_inclusive: bool
    zone: str


class PriceTable:
    """Prices by price book, product and zone; made from the rows of ``prices_of_products``."""

    def __init__(self, rows: Iterable[tuple[Any, ...]]) -> None:
        self.prices: defaultdict[tuple[UUID, UUID, str | None], list[EffectivePrice]] = defaultdict(list)
        for book, product, zone, amount, start, end, gst_inclusive in rows:
            self.prices[book, product, zone].append(EffectivePrice(amount, start, end, gst_inclusive, zone))

    def find(self, book: UUID, product: UUID, region: str | None, day: dt.date) -> EffectivePrice | None:
        """The price of the day in a region of the scheme: its own before the national one."""
        national = Zone.NATIONAL.value
        for zone in (region, national) if region in REMOTE_ZONES else (national,):
            for price in self.prices.get((book, product, zone), ()):
                if price.start_date <= day and (price.end_date is None or day <= price.end_date):
                    return price
        return None


@prepared_query
def prices_of_products(products: Any) -> QuerySet[Any, Any]:
    """The prices of products in all price books and zones; rows for a ``PriceTable``."""
    entries = PriceBookEntry.objects.filter(AnyOf(PriceBookEntry._meta.get_field("product"), products))
    entry = ("entry__price_book_id", "entry__product_id")
    columns = (*entry, "zone", "amount", "start_date", "end_date", "entry__gst_inclusive")
    return Price.objects.filter(entry__in=entries).order_by().values_list(*columns)


def load_price_table(products: Iterable[UUID]) -> PriceTable:
    """The prices of products; one query, however many there are."""
    return PriceTable(prices_of_products(set(products)).fetch())
